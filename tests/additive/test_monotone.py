"""Curves that may only rise or fall: every model keeps to it, whatever the records say, and so does what is read off it."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import thinned

import hedgerow as hr
from hedgerow.additive import monotone, plan
from hedgerow.additive.curves import curve_of
from hedgerow.additive.monotone import holds, projected, signs_of
from hedgerow.additive.round import Term
from hedgerow.curator import Cut
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.systems import hedgerow

SCHEMA = hr.Schema(
    {
        "a": hr.Numeric(0, 1),
        "b": hr.Integer(0, 9),
        "c": hr.Categorical(["x", "y", "z"]),
        "d": hr.Date("2020-01-01", "2020-12-31"),
    },
    classes=["no", "yes"],
)
CONSTRAINTS = {"a": 1, "b": -1, "d": 1}


@pytest.fixture(autouse=True)
def cuts_from_the_first_rounds_on(monkeypatch):
    monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, rounds_before_cuts=1, min_snr_for_cuts=0.0))
    monkeypatch.setattr(plan, "CUT_INTERVAL", 1)


def records(count, seed):
    """Records that go against the constraints in places, with interactions and missing cells."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "a": np.where(generator.uniform(size=count) < 0.1, np.nan, generator.uniform(size=count)),
            "b": generator.integers(0, 10, count),
            "c": generator.choice(list("xyz"), count),
            "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 366, count), unit="D"),
        }
    )
    odds = 3 * np.sin(9 * table["a"].fillna(0.5)) + (table["b"] - 4) * np.where(table["c"] == "x", 0.7, -0.7)
    odds += 2 * ((table["a"].fillna(0) > 0.5) ^ (table["d"].dt.month > 6))
    return table, np.where(generator.logistic(size=count) < odds, "yes", "no")


def fitted(seed=0, count=3000, **given):
    table, y = records(count, seed)
    settings = {"epsilon": 4.0, "n_estimators": 18, "schema": SCHEMA, "monotonic_cst": CONSTRAINTS, **given}
    return hr.HedgerowClassifier(random_state=seed, **settings).fit(table, y)


def is_monotone(model, constraints=CONSTRAINTS):
    """Whether every record's odds go as they may when one of its cells moves along a feature, and all its others stay."""
    base, _ = records(40, 99)
    grids = {"a": np.linspace(0, 1, 60), "b": np.arange(10), "d": pd.date_range("2020-01-01", "2020-12-31", periods=60)}
    for name, sign in constraints.items():
        grid = grids[name]
        moved = base.loc[base.index.repeat(len(grid))].reset_index(drop=True)
        moved[name] = np.tile(grid, len(base))
        said = model.decision_function(moved).reshape(len(base), len(grid))
        shares = model.predict_proba(moved)[:, 1].reshape(len(base), len(grid))
        if (sign * np.diff(said) < 0).any() or (sign * np.diff(shares) < -1e-12).any():
            return False
    return True


@pytest.mark.parametrize(("seed", "delta"), thinned(product(range(4), [0.0, 1e-6]), 3))
def test_every_record_s_odds_go_as_they_may(seed, delta):
    model = fitted(seed, delta=delta)
    assert is_monotone(model)
    assert (
        model.certificate_.event
        == fitted(seed, delta=delta, monotonic_cst=None, interaction_cst="pairwise").certificate_.event
    )
    assert any(term.cuts for term in model.model_.terms) or not delta
    assert not any(len(term.cuts) > 1 for term in model.model_.terms)


def test_without_constraints_the_same_records_do_not():
    assert not is_monotone(fitted(monotonic_cst=None))


def without(signs, feature):
    return tuple(0 if place == feature else sign for place, sign in enumerate(signs))


BUGS = {
    "curves": lambda term, signs, before: projected(term, signs, before) if term.cuts else term,
    "cells": lambda term, signs, before: projected(
        term, without(signs, int(term.feature[0])) if term.cuts else signs, before
    ),
    "across cells": lambda term, signs, before: projected(
        term, without(signs, term.cuts[0].by) if term.cuts else signs, before
    ),
}


@pytest.mark.parametrize("bug", thinned(BUGS, 3))
def test_a_planted_bug_is_seen(bug, monkeypatch):
    """A projection that leaves out one of its parts makes models that both checks tell."""
    monkeypatch.setattr(plan, "projected", BUGS[bug])
    models = [fitted(seed) for seed in range(4)]
    assert not all(holds(model.model_.terms, model.model_.signs) for model in models)
    assert not all(map(is_monotone, models))


VOTES = st.lists(st.integers(-500, 500), min_size=6, max_size=6)
WEIGHTS = st.lists(st.integers(-50, 50), min_size=12, max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    VOTES, VOTES, VOTES, WEIGHTS, st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1]), st.booleans(), st.booleans()
)
def test_projected_steps_are_monotone_whatever_was_released(earlier, first, second, weights, own, by, twice, last):
    """Of any votes and any noisy curvatures: without a cut, with one between values, and with missing cells cut from the rest."""
    signs, sums = (own, by), np.array(weights, dtype=np.int64)

    def term(cells):
        votes = np.array(cells, dtype=np.int64)[..., None]
        side = np.array([0, 0, 0, 0, 1]) if last else np.array([0, 0, 1, 1, 1])
        of = np.stack([sums, sums], axis=1)[: 6 * len(cells)].reshape(len(cells), 6, 2)
        return Term((Cut(1, side),) if len(cells) > 1 else (), 0, votes, of)

    before = projected(term([earlier]), signs, np.zeros(6, dtype=np.int64))
    curve = before.votes[0, :, 0]
    given = term([first, second] if twice else [first])
    found = projected(given, signs, curve)
    assert holds([before, found], signs)
    assert np.abs(found.votes).max() <= 500 + np.abs(before.votes).max()
    if not twice:
        assert np.abs(found.votes).max() <= 500  # a projection moves no further than what it projects
        assert found.votes[0, -1] == given.votes[0, -1]  # missing cells stay
    assert np.array_equal(projected(found, signs, curve).votes, found.votes)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("weights", [(900, 100), (100, 900), (1, 3)])
def test_two_sides_that_break_the_order_meet_at_the_mean_of_their_records(weights, sign):
    """The least squares solution for two values out of order: their mean, weighted by released curvatures."""
    values = np.array([1000, -1000]) * sign
    votes = np.repeat(values[:, None, None], 6, axis=1)
    sums = np.repeat(np.array([(0, weight) for weight in weights])[:, None], 6, axis=1)
    side = np.array([0, 0, 1, 1, 1, 1])
    found = projected(Term((Cut(1, side),), 0, votes, sums), (0, sign), np.zeros(6, dtype=np.int64))
    assert found.votes == pytest.approx(np.average(values, weights=weights), abs=1)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=12, max_size=12),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([0, 1, 2]),
)
def test_what_a_file_must_hold_is_that_no_curve_goes_the_wrong_way(votes, own, by, cuts):
    """Beside a plain loop over all pairs of neighboring cells."""
    codes, cells = 3, 1 << cuts
    term = Term(
        tuple(Cut(1 + level, np.array([0, 1, 1])) for level in range(cuts)),
        0,
        np.array(votes[: cells * codes]).reshape(cells, codes, 1),
    )
    right = all(own * (term.votes[cell, 1, 0] - term.votes[cell, 0, 0]) >= 0 for cell in range(cells))
    if cuts:
        half = cells // 2
        right &= all(
            by * (term.votes[half + cell, code, 0] - term.votes[cell, code, 0]) >= 0
            for cell in range(half)
            for code in range(codes)
        )
    assert holds([term], (own, by, 0)) == right


def test_a_projection_is_the_nearest_curve():
    """Beside quadratic programming by brute force over which neighbors are equal."""
    generator = np.random.default_rng(3)
    for _ in range(50):
        values, weights = generator.normal(size=6), generator.uniform(0.1, 3, 6)
        best = np.inf
        for equal in range(32):
            run = np.cumsum([0, *(not equal >> place & 1 for place in range(5))])
            means = np.array([np.average(values[run == block], weights=weights[run == block]) for block in run])
            if (np.diff(means) >= -1e-12).all():
                best = min(best, float(weights @ (means - values) ** 2))
        found = monotone.isotonic(np.append(values, 0), np.append(weights, 1), 1)[:-1]
        assert weights @ (found - values) ** 2 == pytest.approx(best)


def test_a_curve_comes_back_from_an_overshoot():
    """The whole curve is kept in order, not each step: a later round may take back what an earlier one added too much."""
    before = np.array([0, 100, 300, 600, 0])
    back = Term((), 0, np.array([[[0], [-20], [-60], [-120], [7]]]), np.ones((1, 5, 2), dtype=np.int64))
    assert np.array_equal(projected(back, (1,), before).votes, back.votes)


# Cells of a cut that are out of order meet at the mean that records weigh.

SIDE = np.array([0, 0, 1, 1, 1])  # the last code stands for missing cells
MASSES = {"even": (50, 50), "nine times the first": (90, 10), "nine times the second": (10, 90)}


def of_one_cut(first, second, masses):
    """A term of one cut and a feature of two codes and missing ones, with so much curvature in each cell."""
    sums = np.array([[[0, mass]] * 3 for mass in masses], dtype=np.int64)
    return Term((Cut(1, SIDE),), 0, np.array([[[first]] * 3, [[second]] * 3]), sums)


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("own", [-1, 0, 1])
@pytest.mark.parametrize("across", [-1, 1])
def test_cells_meet_at_their_weighted_mean(across, own, masses):
    one, other = MASSES[masses]
    low, high = (100_000, -100_000) if across > 0 else (-100_000, 100_000)  # out of order
    found = projected(of_one_cut(low, high, (one, other)), (own, across), np.zeros(3, dtype=np.int64)).votes
    assert np.abs(found - (one * low + other * high) / (one + other)).max() <= 1


@pytest.mark.parametrize("across", [-1, 1])
def test_cells_that_are_in_order_stay(across):
    given = of_one_cut(-across * 500, across * 500, (90, 10))
    assert np.array_equal(projected(given, (0, across), np.zeros(3, dtype=np.int64)).votes, given.votes)


def test_what_is_read_off_the_model_is_the_constrained_one(tmp_path):
    model = fitted()
    table, _ = records(200, 5)
    found = model.explain(table)
    assert np.array_equal(found.baseline + found.contributions.sum(axis=1), model.decision_function(table))
    for name in ("a", "d"):
        curve = curve_of(model.model_, SCHEMA.names.index(name))
        assert (np.diff(curve.values[:-1, 0]) >= -1e-12).all()
        assert curve.deviation is not None
    assert (found.deviation > 0).any(axis=0).sum() >= 3
    model.save(tmp_path / "m.hedgerow")
    again = hr.load(tmp_path / "m.hedgerow")
    assert again.monotonic_cst == CONSTRAINTS
    assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
    assert np.array_equal(again.explain(table).deviation, found.deviation)
    assert json.loads(model.to_json())["parameters"]["monotonic_cst"] == CONSTRAINTS
    form = model.model_.form
    sums = form.sums(model.model_.encoder.transform(table))
    np.testing.assert_allclose(form.link(sums), model.predict_proba(table), rtol=0, atol=1e-12)


def test_a_file_whose_curves_break_its_constraints_is_refused(tmp_path):
    free = fitted(monotonic_cst=None)
    free._fitted = replace(free._fitted, parameters={**free._fitted.parameters, "monotonic_cst": CONSTRAINTS})
    free.save(tmp_path / "m.hedgerow")
    with pytest.raises(FileFormatError, match="monotonic_cst"):
        hr.load(tmp_path / "m.hedgerow")


def test_an_array_is_in_the_schema_s_order_and_partitions_give_the_same_bits():
    table, y = records(3000, 0)
    signs = np.array([1, -1, 0, 1])
    model, parts = fitted(monotonic_cst=signs), table.assign(y=y)
    rows = hr.Records.from_batches([parts.iloc[:1000], parts.iloc[1000:]], label="y")
    other = hr.HedgerowClassifier(4.0, n_estimators=18, schema=SCHEMA, monotonic_cst=CONSTRAINTS, random_state=0).fit(
        rows
    )
    assert np.array_equal(model.decision_function(table), other.decision_function(table))
    signs[:] = 0
    assert is_monotone(model)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ({"e": 1}, "'e', which is no feature"),
        ({"c": 1}, "'c', whose values have no order"),
        ([1, 0], "2 entries for 4 features"),
        ({"a": 2}, "-1, 0 or 1"),
        ({"a": True}, "-1, 0 or 1"),
        ({1: 1}, "a dict of features' names"),
        ("a", "a dict of features' names"),
        (1, "a dict of features' names"),
    ],
)
def test_wrong_constraints_are_refused_before_anything_is_booked(constraints, words):
    table, y = records(50, 0)
    ledger = hr.Ledger(epsilon=1)
    with pytest.raises(ConfigurationError, match=words):
        hr.HedgerowClassifier(schema=SCHEMA, ledger=ledger, monotonic_cst=constraints).fit(table, y)
    assert ledger.spent == 0


def test_three_classes_have_no_order():
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1, 2])
    with pytest.raises(ConfigurationError, match="there are 3"):
        hr.HedgerowClassifier(schema=schema, monotonic_cst={"a": 1}).fit([[0.1]], [0])
    assert signs_of([0], schema) == ()
