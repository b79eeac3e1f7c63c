"""Saved published forests come back whole, and damage is noticed."""

from fractions import Fraction

import numpy as np
import pytest
from hedgerow.published import PublishedForestPlan
from published_recipes import shipped

from hedgerow.archive import read_archive, write_archive
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Randomness
from hedgerow.schema import Categorical, Numeric, Schema

SCHEMA = Schema({"x": Numeric(0, 1), "c": Categorical(["a", "b"])}, classes=["no", "yes"])
PLAN = PublishedForestPlan(shipped("edprf"), SCHEMA, Fraction(5), n_estimators=3, max_depth=2)


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(0)
    X = {"x": generator.random(90), "c": generator.choice(["a", "b"], 90)}
    return X, np.where(X["x"] > 0.5, "yes", "no")


@pytest.fixture(scope="module")
def model(records):
    return PLAN.fit_raw(
        *records, Randomness(1)
    )  # a root of 30 records is split but for one seed in 10**8, if all are alike


def test_a_saved_forest_answers_as_before(tmp_path, records, model):
    write_archive(tmp_path / "model", {}, model.to_arrays())
    restored = PLAN.restore(read_archive(tmp_path / "model")[1])
    np.testing.assert_array_equal(restored.probabilities(records[0]), model.probabilities(records[0]))
    for name, array in model.to_arrays().items():
        np.testing.assert_array_equal(restored.to_arrays()[name], array)


def put(name, place, value):
    def damage(arrays):
        arrays[name][place] = value

    return damage


def cut(name):
    def damage(arrays):
        arrays[name] = arrays[name][:-1]

    return damage


def retype(name, kind):
    def damage(arrays):
        arrays[name] = arrays[name].astype(kind)

    return damage


def reshape(name):
    def damage(arrays):
        arrays[name] = arrays[name][:, None]

    return damage


ROOT, LAST = 0, -1  # a node with a test, and a leaf
DAMAGE = {
    "no labels": lambda arrays: arrays.pop("label"),
    "fewer labels than nodes": cut("label"),
    "fewer edges than nodes": cut("high"),
    "fewer nodes than edges": cut("feature"),
    "fewer roots than trees": cut("roots"),
    "no roots": lambda arrays: arrays.update(roots=arrays["roots"][:0]),
    "a root outside": put("roots", 0, 10**6),
    "a root below 0": put("roots", 0, -1),
    "an unknown feature": put("feature", ROOT, 2),
    "a feature below -1": put("feature", ROOT, -2),
    "a child that is its parent": put("first_child", ROOT, 0),
    "children outside": put("first_child", ROOT, 10**6),
    "children that overflow": put("first_child", ROOT, 2**31 - 1),
    "a leaf without a label": put("label", LAST, -1),
    "a label that is no class": put("label", LAST, 2),
    "a label of a test that is no class": put("label", ROOT, 2),
    "a label of a test far from any class": put("label", ROOT, 10**6),
    "a label of a test below -1": put("label", ROOT, -2),
    "a range without an end": put("high", ROOT, np.inf),
    "a range that is no number": put("low", ROOT, np.nan),
    "a range upside down": put("low", ROOT, 1e9),
    "labels that are floats": retype("label", float),
    "labels that are text": retype("label", str),
    "edges that are text": retype("low", str),
    "nodes in two dimensions": reshape("feature"),
    "roots in two dimensions": reshape("roots"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_noticed(model, damage):
    arrays = {name: array.copy() for name, array in model.to_arrays().items()}
    assert arrays["feature"][ROOT] >= 0 > arrays["feature"][LAST]
    PLAN.restore(arrays)
    damage(arrays)
    with pytest.raises(FileFormatError, match=r"the file's trees are .*; fit the model again\."):
        PLAN.restore(arrays)
