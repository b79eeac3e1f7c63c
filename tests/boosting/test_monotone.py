"""Curves that may only rise or fall: every model keeps to it, whatever the records say, and so does what is read off it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.boosting import monotone
from hedgerow.boosting.curves import curve_of, pieces_of
from hedgerow.boosting.monotone import Monotone, averages_of
from hedgerow.boosting.steps import Step
from hedgerow.curator import Cut
from hedgerow.errors import ConfigurationError, FileFormatError

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


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_every_record_s_odds_go_as_they_may(seed, delta):
    model = fitted(seed, delta=delta)
    assert is_monotone(model)
    assert model.certificate_.event == fitted(seed, delta=delta, monotonic_cst=None).certificate_.event
    features = {name for piece in pieces_of(model.model_) if piece.cuts for name in piece.features}
    assert features  # some rounds were two-sided


def test_without_constraints_the_same_records_do_not():
    assert not is_monotone(fitted(monotonic_cst=None))


RIGHT = Monotone.projected


def without(signs, feature):
    return Monotone(tuple(0 if place == feature else sign for place, sign in enumerate(signs.signs)))


BUGS = {
    "one-sided steps": lambda signs, step, before: step if len(step.votes) == 1 else RIGHT(signs, step, before),
    "sides": lambda signs, step, before: RIGHT(
        signs if len(step.votes) == 1 else without(signs, step.feature), step, before
    ),
    "across sides": lambda signs, step, before: RIGHT(
        signs if len(step.votes) == 1 else without(signs, step.cuts[0].by), step, before
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_seen(bug, monkeypatch):
    """A projection that leaves out one of its three parts makes models that both checks tell."""
    monkeypatch.setattr(Monotone, "projected", BUGS[bug])
    models = [fitted(seed) for seed in range(4)]
    assert not all(model.model_.monotone.holds(model.model_.steps()) for model in models)
    assert not all(map(is_monotone, models))


VOTES = st.lists(st.integers(-500, 500), min_size=6, max_size=6)
WEIGHTS = st.lists(st.integers(-50, 50), min_size=12, max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    VOTES, VOTES, VOTES, WEIGHTS, st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1]), st.booleans(), st.booleans()
)
def test_projected_steps_are_monotone_whatever_was_released(earlier, first, second, weights, own, by, twice, last):
    """Of any votes and any noisy curvatures: one-sided, two-sided, cut between values or missing cells from the rest."""
    signs, into = Monotone((own, by)), np.arange(6)
    sums = np.array(weights, dtype=np.int64)

    def step(sides):
        votes = np.array(sides, dtype=np.int64)
        votes = np.stack([-votes, votes], axis=2)
        side = np.array([0, 0, 0, 0, 1]) if last else np.array([0, 0, 1, 1, 1])
        of = np.stack([sums, sums], axis=1)[: 6 * len(sides)]
        return Step((Cut(1, side),) if len(sides) > 1 else (), 0, votes, into, of)

    before = [signs.projected(step([earlier]), [])]
    found = signs.projected(step([first, second] if twice else [first]), before)
    assert signs.holds([*before, found])
    assert np.array_equal(found.votes[..., 0], -found.votes[..., 1])
    assert np.abs(found.votes).max() <= 500 + np.abs(before[0].votes).max()
    if not twice:
        assert np.abs(found.votes).max() <= 500  # a projection moves no further than what it projects
        assert found.votes[0, -1].tolist() == step([first]).votes[0, -1].tolist()  # missing cells stay
    again = signs.projected(replace(found, sums=found.sums), before)
    assert np.array_equal(again.votes, found.votes)


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
        found = monotone._isotonic(np.append(values, 0), np.append(weights, 1), 1)[:-1]
        assert weights @ (found - values) ** 2 == pytest.approx(best)


def test_averages_are_what_a_projection_does_to_small_errors():
    """Noise that leaves the equal cells equal moves a projected step by these averages."""
    generator = np.random.default_rng(5)
    signs, into = Monotone((1, 1)), np.arange(6)
    side = np.array([0, 0, 1, 1, 1])
    sums = np.stack([np.zeros(12), generator.integers(50, 150, 12)], axis=1).astype(np.int64)
    weights = monotone.cell_weights(sums).reshape(2, 6)
    for _ in range(50):
        votes = generator.integers(-(10**9), 10**9, (2, 6))
        noise = generator.integers(-1000, 1000, (2, 6))

        def after(second):
            step = Step((Cut(1, side),), 0, np.stack([-second, second], axis=2), into, sums)
            return signs.projected(step, []).votes[..., 1].astype(float)

        found, moved = after(votes), after(votes + noise)
        expected = averages_of(votes.astype(float), weights, 1, 1) @ noise.ravel()
        np.testing.assert_allclose((moved - found).ravel(), expected, atol=2)


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
    (tmp_path / "m.json").write_text(model.to_json(), "utf-8")
    for file in ("m.hedgerow", "m.json"):
        again = hr.load(tmp_path / file)
        assert again.monotonic_cst == CONSTRAINTS
        assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
        assert np.array_equal(again.explain(table).deviation, found.deviation)
    assert json.loads(model.to_json())["parameters"]["monotonic_cst"] == CONSTRAINTS
    form = model.model_.scoring()
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
    assert not Monotone.of([0], schema)
