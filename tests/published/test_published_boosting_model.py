"""Saved boosted models come back whole, damage is noticed, and certificates name every unprotected step."""

from fractions import Fraction

import numpy as np
import pytest
from hedgerow.published.boosting import CartTree, LessLogAlpha, PublishedBoosting, PublishedBoostingPlan
from published_boosting_recipes import SYSTEMS, adaboost, cart_dps_adaboost, dp_adaboost, dpada

from hedgerow.archive import read_archive, write_archive
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import cost, unprotected
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import Parallel, Pure, Sequence, Unprotected, event_from_dict, event_to_dict
from hedgerow.schema import Categorical, Numeric, Schema

SCHEMA = Schema({"x": Numeric(0, 1), "c": Categorical(["a", "b", "d"])}, classes=["no", "yes"])


def plan(recipe, epsilon=1, rounds=5):
    return PublishedBoostingPlan(recipe, SCHEMA, Fraction(epsilon), rounds=rounds)


PLAN = plan(cart_dps_adaboost(max_depth=2), 5)


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(0)
    X = {"x": generator.random(90), "c": generator.choice(["a", "b", "d"], 90)}
    return X, np.where((X["x"] > 0.5) ^ (X["c"] == "b"), "yes", "no")


@pytest.fixture(scope="module")
def model(records):
    """The first of 100 fits with a test at its root and two trees; four in five have them, whatever the seed is."""
    for seed in range(100):
        model = PLAN.fit_raw(*records, Randomness(seed))
        if len(model.to_arrays()["roots"]) > 1 and model.to_arrays()["feature"][ROOT] >= 0:
            return model
    raise AssertionError("no fit has two trees and a test at its root")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_saved_model_answers_as_before(tmp_path, records, system):
    own = plan(SYSTEMS[system].recipe)
    model = own.fit_raw(*records, Randomness(1))
    write_archive(tmp_path / "model", {}, model.to_arrays())
    restored = own.restore(read_archive(tmp_path / "model")[1])
    np.testing.assert_array_equal(restored.probabilities(records[0]), model.probabilities(records[0]))
    for name, array in model.to_arrays().items():
        np.testing.assert_array_equal(restored.to_arrays()[name], array)
        assert restored.to_arrays()[name].dtype == array.dtype


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
        arrays[name] = arrays[name].reshape(-1, 1, 1)

    return damage


def more_trees(arrays):
    extra = 6 - len(arrays["roots"])
    nodes = len(arrays["feature"])
    arrays["roots"] = np.append(arrays["roots"], np.arange(nodes, nodes + extra)).astype(np.int32)
    for name, value in {"feature": -1, "first_child": 0, "label": 0, "cut": 0.0}.items():
        arrays[name] = np.append(arrays[name], np.full(extra, value)).astype(arrays[name].dtype)
    arrays["left"] = np.pad(arrays["left"], ((0, extra), (0, 0)))
    arrays["alphas"] = np.append(arrays["alphas"], np.zeros(extra))


ROOT, LAST = 0, -1  # a node with a test, and a leaf
DAMAGE = {
    "no labels": lambda arrays: arrays.pop("label"),
    "no weights": lambda arrays: arrays.pop("alphas"),
    "no groups": lambda arrays: arrays.pop("left"),
    "fewer labels than nodes": cut("label"),
    "fewer cuts than nodes": cut("cut"),
    "fewer groups than nodes": cut("left"),
    "fewer children than nodes": cut("first_child"),
    "fewer nodes than cuts": cut("feature"),
    "fewer roots than weights": cut("roots"),
    "fewer weights than roots": cut("alphas"),
    "more trees than rounds": more_trees,
    "a root outside": put("roots", 0, 10**6),
    "a root below 0": put("roots", 0, -1),
    "a root twice": lambda arrays: put("roots", -1, arrays["roots"][0])(arrays),
    "an unknown feature": put("feature", ROOT, 2),
    "a feature below -1": put("feature", ROOT, -2),
    "a child that is its parent": put("first_child", ROOT, 0),
    "children outside": put("first_child", ROOT, 10**6),
    "children that overflow": put("first_child", ROOT, 2**31 - 1),
    "a label that is no class": put("label", LAST, 2),
    "a label below 0": put("label", LAST, -1),
    "a cut that is no number": put("cut", ROOT, np.nan),
    "a weight without an end": put("alphas", 0, np.inf),
    "a weight that is no number": put("alphas", 0, np.nan),
    "fewer codes than the schema has": lambda arrays: arrays.update(left=arrays["left"][:, :-1]),
    "labels that are floats": retype("label", float),
    "labels that are text": retype("label", str),
    "weights that are text": retype("alphas", str),
    "groups that are numbers": retype("left", float),
    "nodes in three dimensions": reshape("feature"),
    "roots in three dimensions": reshape("roots"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damage_is_noticed(model, damage):
    arrays = {name: array.copy() for name, array in model.to_arrays().items()}
    assert arrays["feature"][ROOT] >= 0 > arrays["feature"][LAST]
    assert len(arrays["roots"]) > 1
    PLAN.restore(arrays)
    damage(arrays)
    with pytest.raises(FileFormatError, match=r"the file's trees are damaged; fit the model again\."):
        PLAN.restore(arrays)


# --- certificates -----------------------------------------------------------------------------------------------------


def stated(event):
    """The sum of the budgets that the paper states."""
    match event:
        case Pure():
            return event.epsilon
        case Unprotected():
            return 0
        case Sequence(parts):
            return sum(map(stated, parts))
        case Parallel(parts):
            return max(map(stated, parts))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_the_certificate_never_holds(system, rounds):
    event = plan(SYSTEMS[system].recipe, rounds=rounds).event
    certificate = Certificate("DPAda", "published", Fraction(1), Fraction(0), "add-remove", event)
    assert not certificate.holds
    assert certificate.spent is None
    assert event_from_dict(event_to_dict(event)) == event
    assert cost(event) is not None
    assert all(reason in certificate.details() for reason in unprotected(event))


@pytest.mark.parametrize(
    ("system", "rounds", "share"),
    [
        ("dp-adaboost", 10, 1),
        ("dpada", 30, Fraction(29, 30)),
        ("dpada-swing", 30, Fraction(1, 2)),
        ("dpada-random", 30, Fraction(29, 30)),
        ("dpada-improved", 30, Fraction(1, 2)),
        ("adaboost", 30, 0),
    ],
)
def test_the_stated_budgets_add_up_to_at_most_the_total(system, rounds, share):
    assert stated(plan(SYSTEMS[system].recipe, 2, rounds).event) == 2 * share


def test_the_stated_budgets_of_cart_dps_adaboost():
    # d = 4: five sizes of e' / 2, four cuts of e' / 4 (one number), class counts of e' / 2, with e' = eps / T / 5.
    event = plan(cart_dps_adaboost(), 1, 10).event
    assert stated(event) == Fraction(5, 2) / 5 + Fraction(4, 4) / 5 + Fraction(1, 2) / 5


def reasons(recipe, rounds=10, epsilon=1):
    return unprotected(plan(recipe, epsilon, rounds).event)


def test_every_unprotected_step_of_dpada_is_named():
    stump, scale, budgets, weights, ends, floats = reasons(dpada(), 30)
    assert "best one by the raw records" in stump
    assert "0.297" in scale
    assert "bound nothing" in budgets
    assert "delta = 1" in weights
    assert "number of rounds" in ends
    assert "floating point" in floats
    assert not any("scale" in reason for reason in reasons(dpada(), 1))
    assert not any("scale" in reason for reason in reasons(adaboost(), 30))


def test_every_unprotected_step_of_dp_adaboost_is_named():
    feature, scale, weights, ends, floats = reasons(dp_adaboost())
    assert "feature of every stump" in feature
    assert ".983" in scale
    assert "delta = 1" in weights
    assert "number of rounds" in ends
    assert "floating point" in floats


def test_every_unprotected_step_of_cart_dps_adaboost_is_named():
    sample, single, split, overspent, scale, pruning, budgets, weights, ends, floats = reasons(cart_dps_adaboost())
    assert "with replacement" in sample
    assert ".63" in single
    assert "least raw Gini" in split
    assert "times the tree's budget" in overspent
    assert "max w / e'" in scale
    assert "held out" in pruning
    assert "0.4665 after an error of 0.2" in budgets
    assert "0.0988 it is negative" in budgets
    assert "delta = 1" in weights
    assert "number of rounds" in ends
    assert "floating point" in floats
    bare = PublishedBoosting(CartTree(max_depth=0, pruning=None), budgets=LessLogAlpha())
    assert not any("single class" in reason or "held out" in reason for reason in reasons(bare))
    assert not any("read off the raw training error" in reason for reason in reasons(bare, rounds=1))
    assert not any("negative" in reason for reason in reasons(cart_dps_adaboost(), epsilon=1000))


def test_the_papers_tree_spends_more_than_its_budget():
    schema = Schema({str(i): Numeric(0, 1) for i in range(5)}, classes=[0, 1])
    event = PublishedBoostingPlan(cart_dps_adaboost(), schema, Fraction(1), rounds=10).event
    assert any("1.73 times" in reason for reason in unprotected(event))


def test_every_unprotected_step_of_the_code_with_noise_on_votes_is_named():
    found = reasons(SYSTEMS["cart-dps-adaboost as coded"].recipe)
    raw, midpoints, single, pruning, answers, whole, weights, floats = found
    assert "without any noise" in raw
    assert "midpoints" in midpoints
    assert "single class" in single
    assert "lacks" not in single
    assert "held out" in pruning
    assert "what it stores is raw" in answers
    assert "of 10 trees spends the whole epsilon" in whole
    assert "200 epsilon" in whole
    assert "log10" in weights
    assert "floating point" in floats


def test_every_unprotected_step_of_the_code_is_named():
    mean, midpoints, single, pruning, whole, weights, floats = reasons(SYSTEMS["cart-dps-adaboost, noisy gini"].recipe)
    assert "100 epsilon" in mean
    assert "midpoints" in midpoints
    assert "single class" in single
    assert "held out" in pruning
    assert "whole epsilon" in whole
    assert "log10" in weights
    assert "floating point" in floats
