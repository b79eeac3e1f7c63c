"""Fitted classifiers that release cells: answers, tables for other learners, files, and files that lie."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers import plan_at
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow.errors import FileFormatError
from hedgerow.systems.cells import class_shares

SCHEMA = hr.Schema(
    {
        "n": hr.Numeric(0, 10),
        "c": hr.Categorical(["a", "b", "c", "d"]),
        "noise": hr.Numeric(0, 1),
    },
    ["no", "yes"],
)
CLASSES = [hr.DiffGenClassifier, hr.DTDiffClassifier]


def data(count=4000, seed=0):
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "n": generator.uniform(0, 10, count),
            "c": generator.choice(["a", "b", "c", "d"], count),
            "noise": generator.uniform(0, 1, count),
        }
    )
    yes = (frame["n"] > 4) ^ frame["c"].isin(["a", "c"])
    return frame, np.where(yes ^ (generator.uniform(size=count) < 0.05), "yes", "no")


X, Y = data()
X_TEST, Y_TEST = data(2000, 1)


@pytest.fixture(scope="module", params=CLASSES)
def model(request):
    return request.param(epsilon=4, schema=SCHEMA, criterion="max", random_state=5).fit(X, Y)


def test_it_learns_an_interaction_that_single_features_do_not_show():
    # No feature alone tells the classes apart, so the steps are close to random; cells still show the interaction.
    found = [
        hr.DTDiffClassifier(epsilon=8, schema=SCHEMA, specializations=8, random_state=seed)
        .fit(X, Y)
        .score(X_TEST, Y_TEST)
        for seed in range(5)
    ]
    assert max(found) > 0.8


def test_probabilities_are_shares(model):
    shares = model.predict_proba(X_TEST)
    assert shares.shape == (2000, 2)
    assert np.all(shares >= 0)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_released_cells_are_all_there_is(model):
    columns, y, weight = model.released_cells()
    cells = model.model_.cut.n_cells
    assert len(y) == len(weight) == 2 * cells
    assert all(len(column) == 2 * cells for column in columns.values())
    assert set(columns) == {SCHEMA.names[i] for i in model.model_.cut.divided}
    assert abs(weight.sum() - len(X)) < 6 * model.model_.deviation * np.sqrt(len(weight))


def test_records_generalize_to_the_released_cells(model):
    columns = pd.DataFrame(model.released_cells()[0])
    records = pd.DataFrame(model.generalize(X_TEST))
    assert list(records.columns) == list(columns.columns)
    assert set(records.itertuples(index=False, name=None)) <= set(columns.itertuples(index=False, name=None))
    if "n" in records and not records["n"].isna().any():
        assert np.corrcoef(records["n"], X_TEST["n"])[0, 1] > 0.3


def test_groups_of_numbers_are_told_by_their_middles_and_cover_the_range(model):
    columns = model.released_cells()[0]
    assert {"n", "noise"} & set(columns)
    for name in {"n", "noise"} & set(columns):
        end = SCHEMA.features[name].low
        for middle in np.unique(columns[name][~np.isnan(columns[name])]):
            end = 2 * middle - end
        assert end == pytest.approx(SCHEMA.features[name].high)


def test_another_learner_can_be_trained_on_what_was_released():
    y = np.where(X["n"] > 4, "yes", "no")
    model = hr.DTDiffClassifier(epsilon=1, schema=SCHEMA, random_state=0).fit(X, y)
    columns, labels, weight = model.released_cells()
    table, shown = pd.get_dummies(pd.DataFrame(columns)).fillna(0), weight > 0
    other = LogisticRegression(max_iter=1000).fit(table[shown], labels[shown], sample_weight=weight[shown])
    records = (
        pd.get_dummies(pd.DataFrame(model.generalize(X_TEST))).fillna(0).reindex(columns=table.columns, fill_value=0)
    )
    assert np.mean(other.predict(records) == np.where(X_TEST["n"] > 4, "yes", "no")) > 0.85


def test_files_give_the_same_model(model, tmp_path):
    model.save(tmp_path / "m.hedgerow")
    again = hr.load(tmp_path / "m.hedgerow")
    np.testing.assert_array_equal(again.predict_proba(X_TEST), model.predict_proba(X_TEST))
    for one, other in zip(model.released_cells(), again.released_cells(), strict=True):
        assert str(one) == str(other)
    again.save(tmp_path / "n.hedgerow")
    assert (tmp_path / "m.hedgerow").read_bytes() == (tmp_path / "n.hedgerow").read_bytes()


def without(arrays, name):
    return {key: value for key, value in arrays.items() if key != name}


def changed(arrays, name, place, value):
    array = arrays[name].copy()
    array[place] = value
    return {**arrays, name: array}


DAMAGES = {
    "no counts": lambda a: without(a, "counts"),
    "no edges": lambda a: without(a, "edges"),
    "no branches": lambda a: without(a, "branches"),
    "floats for edges": lambda a: {**a, "edges": a["edges"].astype(float)},
    "wide edges": lambda a: {**a, "edges": a["edges"].astype(np.int64)},
    "text": lambda a: {**a, "counts": a["counts"].astype("U")},
    "another kind of counts": lambda a: {**a, "counts": a["counts"].astype(np.int16)},
    "fewer counts": lambda a: {**a, "counts": a["counts"][1:]},
    "another class": lambda a: {**a, "counts": np.hstack([a["counts"], a["counts"]])},
    "flat counts": lambda a: {**a, "counts": a["counts"].ravel()},
    "fewer edges": lambda a: {**a, "edges": a["edges"][:-1]},
    "one branch": lambda a: changed(a, "branches", 0, 1),
    "negative branches": lambda a: changed(a, "branches", 0, -5),
    "huge branches": lambda a: changed(a, "branches", 0, 2**31 - 1),
    "an edge elsewhere": lambda a: changed(a, "edges", 1, 10_000),
    "a negative edge": lambda a: changed(a, "edges", 0, -1),
    "a root that is none": lambda a: changed(a, "edges", 0, 1),
    "a step twice": lambda a: {
        **a,
        "branches": np.append(a["branches"], a["branches"][0]),
        "edges": np.append(a["edges"], a["edges"][: a["branches"][0] + 1]),
    },
    "matrix of edges": lambda a: {**a, "edges": a["edges"][None]},
    "too many steps": lambda a: {
        **a,
        "branches": np.tile(a["branches"], 200),
        "edges": np.tile(a["edges"], 200),
    },
}


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_arrays_that_no_fit_could_have_made_are_refused(model, damage):
    plan = plan_at(model, SCHEMA, Fraction(4))
    arrays = model.model_.to_arrays()
    plan.restore(arrays)
    with pytest.raises(FileFormatError):
        plan.restore(DAMAGES[damage](arrays))


def test_missing_and_undeclared_cells_are_answered(model):
    odd = pd.DataFrame({"n": [np.nan, -5.0, 1e9], "c": [None, "zzz", "a"], "noise": [np.nan, 0.5, 0.5]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(model.predict(odd)) == 3
        model.generalize(odd)


def test_shares_of_almost_exact_counts_are_the_cells_own():
    model = hr.DTDiffClassifier(epsilon=10_000, schema=SCHEMA, random_state=0).fit(X, Y).model_
    counts = model.counts
    shares = class_shares(model.cuts, counts, 1e-9)
    large = counts.sum(axis=1) > 50
    expected = counts[large] / counts[large].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares[large], expected, atol=0.03)


def test_a_class_without_records_has_what_the_surroundings_give_it_and_no_more():
    model = hr.DTDiffClassifier(epsilon=10_000, schema=SCHEMA, random_state=0).fit(X, Y).model_
    counts = np.maximum(model.counts, 0) * np.array([1, 0])
    shares = class_shares(model.cuts, counts, 1e-9)
    assert shares[:, 1].max() < 1 / counts.sum()  # half a record of all, shared out ever further


def test_shares_under_much_noise_are_those_of_all_records():
    model = hr.DTDiffClassifier(epsilon=10_000, schema=SCHEMA, random_state=0).fit(X, Y).model_
    shares = class_shares(model.cuts, model.counts, 1e12)
    np.testing.assert_allclose(shares, 0.5, atol=1e-3)
