"""Fits whose cells select features of their own: what they promise, and what can be done with them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import select_by_cell

import hedgerow as hr
from hedgerow.audit import check_model
from hedgerow.export.archive import read_archive
from hedgerow.parameters import VOTE_STEPS

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records", "ignore:epsilon is")

GENERATOR = np.random.default_rng(3)
ROWS = 3000
X = {
    "a": GENERATOR.uniform(0, 1, ROWS),
    "b": np.where(GENERATOR.random(ROWS) < 0.1, np.nan, GENERATOR.uniform(0, 1, ROWS)),
    "c": GENERATOR.choice(["x", "y", "z", "?"], ROWS),
    "d": GENERATOR.integers(0, 9, ROWS),
}
SIGNAL = 4 * np.where((X["a"] > 0.5) ^ (X["c"] == "x"), np.nan_to_num(X["b"]) - 0.5, X["d"] / 9 - 0.5)
SIGNAL = SIGNAL + GENERATOR.normal(0, 0.3, ROWS)
FEATURES = {
    "a": hr.Numeric(0, 1),
    "b": hr.Numeric(0, 1),
    "c": hr.Categorical(["x", "y", "z"]),
    "d": hr.Integer(0, 8),
}
KINDS = {
    "two": (hr.HedgerowClassifier, {"classes": [False, True]}, SIGNAL > 0),
    "three": (hr.HedgerowClassifier, {"classes": [0, 1, 2]}, np.digitize(SIGNAL, [-0.5, 0.5])),
    "numbers": (hr.HedgerowRegressor, {"outcome": hr.Numeric(-4, 4)}, SIGNAL),
    "counts": (hr.HedgerowRegressor, {"outcome": hr.Integer(0, 20)}, np.floor(np.exp(SIGNAL + 1)).clip(0, 20)),
}


@pytest.fixture(autouse=True)
def by_cell(monkeypatch):
    select_by_cell(monkeypatch, after=2)


def some(first, last):
    return {name: column[first:last] for name, column in X.items()}


def fitted(name, features=FEATURES, **given):
    kind, told, y = KINDS[name]
    given = {"epsilon": 3.0, "delta": 1e-6, "random_state": 1, **given}
    if name == "counts":
        given["loss"] = "poisson"
    groups = {name: given.pop(name) for name in ("groups",) if name in given}
    model = kind(**given, schema=hr.Schema(features, **told))
    model.fit({name: X[name] for name in features}, y, **groups)
    assert any(term.n_codes is not None for term in model.model_.own.terms)
    return model


def said(model, records):
    return model.predict(records) if isinstance(model, hr.HedgerowRegressor) else model.predict_proba(records)


@pytest.mark.parametrize("name", KINDS)
def test_a_model_is_the_same_in_every_form(name, tmp_path):
    model = fitted(name)
    records, expected = some(0, 300), said(model, some(0, 300))
    model.save(tmp_path / "model")
    assert read_archive(tmp_path / "model")[0]["format"] == 5
    again = hr.load(tmp_path / "model")
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert np.array_equal(said(again, records), expected)
    assert np.array_equal(again.feature_importances_, model.feature_importances_)
    form, codes = model.model_.form, model.model_.encoder.transform(records)
    found = form.link(form.sums(codes))
    np.testing.assert_allclose(found if expected.ndim == 2 else np.reshape(found, -1), expected, rtol=1e-12)
    assert [finding.words for finding in check_model(model) if finding.attack == "contents"] == []


@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_off_a_model_adds_up(name):
    model = fitted(name)
    found = model.explain(some(0, 200))
    assert found.deviation is None
    if name in ("two", "three"):
        assert np.array_equal(found.total, model.decision_function(some(0, 200)))
    for feature in FEATURES:
        labels, curve = model.feature_curve(feature)
        assert len(labels) == len(curve)
        assert np.isfinite(curve).all()
    assert model.feature_importances_.sum() == pytest.approx(1)
    found = model.interactions_
    for group in found:
        assert len(repr(group)) < 200
        for part in group.parts:
            assert part.feature in group.features
            assert part.curves.shape[: len(part.conditions) + 1] == (*(2 for _ in part.conditions), len(part.labels))
            assert np.isfinite(part.curves).any()
    for pair, share in found.pairs.items():
        assert share == pytest.approx(sum(group.share for group in found if set(pair) <= set(group.features)))
    assert list(found.pairs.values()) == sorted(found.pairs.values(), reverse=True)
    assert len(repr(found)) < 100
    assert len(str(found).splitlines()) <= 22
    assert (" x ".join(next(iter(found.pairs))) in str(found)) == bool(found)


@pytest.mark.parametrize("name", ["two", "three"])
def test_the_spread_of_a_measured_feature_counts_cells_of_other_features_as_without_it(name):
    """Shares of interactions and importances follow from it. Here cell by cell, with loops."""
    several = 0
    for term in fitted(name).model_.own.terms:
        for place, feature in enumerate(term.features[len(term.cuts) :], start=len(term.cuts)):
            total = np.zeros(term.columns)
            for cell, votes in enumerate(term.votes):
                if term.feature[cell] == feature:
                    total += votes[term.used[cell]].var(axis=0)
            expected = np.sqrt(total / len(term.votes)).sum() / VOTE_STEPS
            assert term.spread()[place] == pytest.approx(expected)
        several += len(set(term.feature.tolist())) > 1
    assert several


@pytest.mark.parametrize("name", ["two", "three", "numbers"])
def test_a_curve_is_shown_by_its_steps(name):
    model = fitted(name)
    for feature in FEATURES:
        curve = model.feature_curve(feature)
        assert len(repr(curve)) < 300
        lines, values = str(curve).splitlines(), curve.values.reshape(len(curve.labels), -1)
        assert len(lines) == 1 + np.any(np.diff(values, axis=0), axis=1).sum()
        assert lines[0].split()[: values.shape[1]] == [f"{value:+.3f}" for value in values[0]]
        assert lines[-1].endswith(curve.labels[-1])


@pytest.mark.parametrize(
    "given", [{}, {"delta": 0.0}, {"adjacency": "replace-one"}, {"class_weight": {True: 3}}], ids=str
)
def test_the_certificate_holds_under_every_claim(given):
    model = fitted("two", random_state=None, **given)
    assert model.certificate_.holds


def test_persons_of_several_records_are_protected():
    model = fitted("two", groups=np.arange(ROWS) // 2, records_per_person=2, random_state=None)
    assert model.certificate_.holds
    assert model.certificate_.records_per_person == 2


@pytest.mark.parametrize("name", ["two", "numbers"])
def test_a_fit_starts_from_such_a_model_on_another_schema(name, tmp_path):
    init = fitted(name)
    wider = {
        "d": hr.Integer(0, 12),
        "c": hr.Categorical(["z", "new", "x"]),
        "b": hr.Numeric(-1, 2),
        "a": hr.Numeric(0, 1),
    }
    kind, told, y = KINDS[name]
    model = kind(1.0, schema=hr.Schema(wider, **told), init=init, random_state=2).fit(X, y)
    whole, records = model.model_, some(0, 400)
    start, own = whole.parts
    both = sum(part.packed.margins(part.encoder.transform(records)) for part in (start, own))
    assert np.array_equal(whole.packed.margins(whole.encoder.transform(records)), both)
    model.save(tmp_path / "model")
    assert np.array_equal(said(hr.load(tmp_path / "model"), records), said(model, records))
    again = kind(1.0, schema=hr.Schema(wider, **told), init=model, random_state=3).fit(X, y).model_
    both = sum(part.packed.margins(part.encoder.transform(records)) for part in again.parts)
    assert np.array_equal(again.packed.margins(again.encoder.transform(records)), both)


def test_constraints_refuse_a_start_whose_cells_have_features_of_their_own():
    init = fitted("two")
    kind, told, y = KINDS["two"]
    for given in ({"interaction_cst": "pairwise"}, {"monotonic_cst": {"a": 1}}):
        with pytest.raises(hr.ConfigurationError):
            kind(1.0, schema=hr.Schema(FEATURES, **told), init=init, **given).fit(X, y)


@pytest.mark.parametrize("names", ["a", "c", "ac"])
def test_few_features_are_cut_and_selected_again(names):
    """A number alone is cut again; a category is not, so a round may have fewer cuts than it may."""
    model = fitted("two", {name: FEATURES[name] for name in names})
    depths = {len(term.cuts) for term in model.model_.terms}
    assert max(depths) == (1 if names == "c" else 2)
