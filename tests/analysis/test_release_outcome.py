"""The range of an outcome, released like that of a column: its share, its promise, its law, and nothing else of the labels."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers import exact_law
from release_helpers import Scripted, beyond

import hedgerow as hr
from hedgerow.analysis import ranges
from hedgerow.analysis.ranges import RangeGrid as Cells
from hedgerow.analysis.ranges import RangePlan
from hedgerow.analysis.release import private_schema
from hedgerow.audit import Grid
from hedgerow.audit.exact import worst_loss
from hedgerow.mechanisms import Geometric
from hedgerow.reading.columns import read_records

pytestmark = [pytest.mark.filterwarnings("ignore:no range is promised"), pytest.mark.filterwarnings("ignore:delta is")]

rng = np.random.default_rng(0)
X = {"size": rng.uniform(20, 200, 6000), "kind": np.where(np.arange(6000) % 3, "flat", "house")}
PRICES = 1000 * X["size"] + rng.gamma(2, 9000, 6000)
SIZES = {"size": X["size"]}


def prices_schema(X=X, y=PRICES, **changes):
    settings = {"epsilon": 4, "delta": 1e-6, "numeric": ["size"], "categorical": ["kind"], "target": "price"}
    return private_schema(X, y, **{**settings, "outcome": True, "random_state": 0, **changes})


def test_an_outcome_is_released_with_its_origin_and_survives_files():
    made = prices_schema(missing=["?"])
    assert type(made.outcome) is hr.Numeric
    assert made.classes == ()
    assert made.outcome.origin == "released"
    assert 15_000 < made.outcome.low < 40_000 < 200_000 < made.outcome.high < 300_000
    assert made.ranges_["price"].promised
    assert made.ranges_["price"].records == pytest.approx(6000, abs=100)
    assert made.releases == {made.certificate_.digest: ["size", "kind", "outcome"]}
    again = hr.Schema.from_toml(made.to_toml())
    assert again == made
    assert again.outcome.release == made.certificate_.digest


def test_files_and_batches_give_the_bits_of_memory(tmp_path):
    people = pd.DataFrame({**X, "price": PRICES})
    people.to_csv(tmp_path / "people.csv", index=False)
    whole = prices_schema()
    for records in (
        hr.Records.from_csv(tmp_path / "people.csv", "price"),
        hr.Records.from_batches([people[:1000], people[1000:]], "price"),
    ):
        assert prices_schema(X=records, y=None).to_toml() == whole.to_toml()


def test_counts_are_an_integer_and_cells_without_a_number_are_none():
    visits = rng.poisson(3, 6000).astype(object)
    visits[::3] = "many"
    made = prices_schema(y=visits)
    assert type(made.outcome) is hr.Integer
    assert made.outcome.low <= 0
    assert made.ranges_["price"].records == pytest.approx(4000, abs=100)


def test_a_fit_on_it_names_the_release_and_holds():
    made = private_schema(SIZES, PRICES, epsilon=4, numeric=["size"], outcome=True, target="price")
    assert made.certificate_.holds
    model = hr.HedgerowRegressor(epsilon=2.0, schema=made).fit(SIZES, PRICES)
    assert model.certificate_.holds
    assert made.certificate_.digest[:8] in model.certificate_.details()
    assert model.score(SIZES, PRICES) > 0.8


def test_a_public_outcome_costs_nothing_and_needs_no_labels():
    made = private_schema(SIZES, epsilon=1, numeric=["size"], outcome=hr.Numeric(0, 500_000), random_state=0)
    assert made.outcome == hr.Numeric(0, 500_000)
    assert set(made.ranges_) == {"size"}
    assert made.releases == {made.certificate_.digest: ["size"]}
    whole = private_schema(SIZES, epsilon=1, numeric=["size"], classes=[0, 1], random_state=0)
    assert made.ranges_ == whole.ranges_


@pytest.mark.parametrize("names", [["size"], ["size", "kind"]])
def test_an_outcome_has_a_share_of_the_budget_like_a_column(names):
    categorical = names[1:]
    made = private_schema(
        {name: X[name] for name in names},
        PRICES,
        epsilon=3,
        delta=1e-6 if categorical else 0,
        numeric=["size"],
        categorical=categorical,
        outcome=True,
        target="price",
    )
    assert made.certificate_.spent == pytest.approx(3, abs=1e-9)
    assert made.certificate_.spent <= 3
    schema = hr.Schema({"size": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 1))
    plan = RangePlan(Fraction(1), (0,), 0.01, 0.05, schema, with_outcome=True)
    assert (plan.coarse.sensitivity, plan.fine.sensitivity) == (2, 2)


def test_noise_for_the_columns_alone_is_caught(monkeypatch):
    """The curator refuses a planted bug: noise for one column where a record is in a cell of its outcome, too."""
    monkeypatch.setattr(RangePlan, "coarse", property(lambda self: Geometric(self.epsilon / 2, 1)))
    with pytest.raises(hr.ConfigurationError, match="in 2 counts"):
        private_schema({"a": [1.0]}, [2.0], epsilon=1, numeric=["a"], outcome=True, target="b", random_state=0)


def test_the_range_of_an_outcome_follows_from_noisy_counts_alone(monkeypatch):
    monkeypatch.setattr("hedgerow.curator.given.Randomness", Scripted)
    made = []
    for size, scale in ((30, 1.0), (500, 1e6)):
        labels = scale * np.random.default_rng(size).random(size)
        one = private_schema({"a": labels}, labels, epsilon=1, numeric=["a"], outcome=True, target="b", random_state=5)
        made.append((one, dict(one.ranges_)))
    assert made[0] == made[1]


@pytest.mark.parametrize("shape", ["log-normal", "counts"])
def test_promised_ranges_of_outcomes_hold(shape):
    """30 runs: at most failure of them break the promise (two standard errors of tolerance), and promises are made."""
    values = {"log-normal": np.exp(2 * rng.normal(size=4000)), "counts": rng.poisson(2, 4000)}[shape]
    promised = broken = 0
    for seed in range(30):
        made = private_schema(
            {"a": values}, values, epsilon=8, numeric=["a"], outcome=True, target="b", random_state=seed
        )
        one = made.ranges_["b"]
        promised += one.promised
        broken += one.promised and beyond(values, made.outcome) > 0.01 * one.records + one.error
    assert promised >= 27
    assert broken <= 30 * 0.05 + 2 * math.sqrt(30 * 0.05 * 0.95)


LINE = hr.Schema({"a": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 1), target="b")


def law_of(labels, plan):
    """The law of an outcome's range, its randomness following a script."""
    columns, cells = read_records({"a": [0.5] * len(labels)}, labels, LINE.features, None)

    def once(replay):
        return repr(plan.release(columns, cells, replay))

    return exact_law(once, Grid((1,), (0, 9)))


@pytest.mark.full  # tests/audit/test_exact_analysis.py has the law of a column's range
def test_the_exact_law_of_an_outcomes_range_on_neighbors(monkeypatch):
    """One record more, far outside: at most epsilon; with noise of half its scale in both questions it is more."""
    monkeypatch.setattr(ranges, "exponential_grid", lambda: Cells(np.array([4.0])))
    monkeypatch.setattr(ranges, "uniform_grid", lambda low, high: Cells(np.array([0.0, 4.0]), doubled=True))
    monkeypatch.setattr(ranges, "occupied", lambda counts, errors: (0, 1) if counts[1] > 0 else (0, 0))
    plan = RangePlan(Fraction(1), (), 0.01, 0.4, LINE, with_outcome=True)
    assert 0.1 < worst_loss(law_of([0.5], plan), law_of([0.5, 9.0], plan), 0.0) <= 1 + 1e-9
    for name in ("coarse", "fine"):
        monkeypatch.setattr(RangePlan, name, property(lambda self: Geometric(2 * self.epsilon)))
    assert worst_loss(law_of([0.5], plan), law_of([0.5, 9.0], plan), 0.0) > 1.05


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": None}, "needs classes or an outcome"),
        ({"target": None}, "target='price'"),
        ({"classes": [0, 1]}, "not both"),
        ({"outcome": hr.Categorical(["a"])}, "number with a public range"),
        ({"categorical": [], "X": SIZES}, "takes no delta"),
    ],
)
def test_wrong_questions_are_refused_and_not_booked(changes, words):
    ledger = hr.Ledger(epsilon=10, delta=0.5)
    with warnings.catch_warnings(), pytest.raises((hr.ConfigurationError, hr.SchemaError), match=words):
        prices_schema(**{"ledger": ledger, **changes})
    assert ledger.entries == ()
