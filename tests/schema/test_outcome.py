"""Outcomes: a public range, a public grid, each cell read by itself, and schemas that hold one in place of classes."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.mechanisms import PerRecordCoin, Randomness
from hedgerow.schema import Encoder
from hedgerow.schema.types import STEPS, OutcomeGrid, grid_of
from hedgerow.table import ClassCounts, Coded, Histogram, MemoryTable, Sums

FEATURES = {"a": hr.Numeric(0, 1)}
PRICE = hr.Schema(FEATURES, outcome=hr.Numeric(0, 20_000), target="price", missing=["-9"])
COUNT = hr.Schema(FEATURES, outcome=hr.Integer(0, 50), target="visits")


def test_a_schema_has_classes_or_an_outcome():
    assert PRICE.outcome == hr.Numeric(0, 20_000)
    assert PRICE.classes == ()
    assert PRICE.labels is PRICE.outcome
    both = {"classes": [0, 1], "outcome": hr.Numeric(0, 1)}
    for wrong in ({}, both):
        with pytest.raises(hr.SchemaError, match=r"Pass classes=.*outcome="):
            hr.Schema(FEATURES, **wrong)
    with pytest.raises(hr.SchemaError, match="no grid of outcomes"):
        _ = hr.Schema(FEATURES, [0, 1]).outcome_grid


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (hr.Categorical([0, 1]), "a number with a public range"),
        (hr.Date("2020-01-01", "2021-01-01"), "a number with a public range"),
        ((0, 1), "a number with a public range"),
        (hr.Numeric(0, 1, [0.5]), "cut points"),
        (hr.Numeric(-1.7e308, 1.7e308), "in another unit"),
        (hr.Numeric(0, 1.1e30), "in another unit"),
        (hr.Numeric(0, 0.9e-30), "in another unit"),
    ],
)
def test_what_is_no_outcome_is_refused(outcome, words):
    with pytest.raises(hr.SchemaError, match=words):
        hr.Schema(FEATURES, outcome=outcome)


@pytest.mark.parametrize("schema", [PRICE, COUNT])
def test_files_and_copies_are_the_same_schema(schema, tmp_path):
    schema.save(tmp_path / "schema.toml")
    assert "[outcome]" in (tmp_path / "schema.toml").read_text()
    assert hr.Schema.load(tmp_path / "schema.toml") == schema
    assert hr.Schema.from_dict(schema.to_dict()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert copy.deepcopy(schema) is schema
    assert hash(schema.replace()) == hash(schema)
    assert schema.replace(outcome=hr.Numeric(0, 1)) != schema
    assert schema.replace(classes=[0, 1]).outcome is None
    assert repr(schema.outcome) in repr(schema)


@pytest.mark.parametrize(
    "text",
    [
        "outcome = 3\n[features.a]\nlow = 0\nhigh = 1\n",
        "classes = [0, 1]\n[outcome]\nlow = 0\nhigh = 1\n[features.a]\nlow = 0\nhigh = 1\n",
        "[outcome]\nlow = 0\n[features.a]\nlow = 0\nhigh = 1\n",
        '[outcome]\nname = "y"\nlow = 0\nhigh = 1\n[features.a]\nlow = 0\nhigh = 1\n',
    ],
)
def test_a_wrong_outcome_in_a_file_is_refused(text):
    with pytest.raises(hr.SchemaError):
        hr.Schema.from_toml(text)


def test_an_inferred_outcome_is_listed_until_it_is_confirmed():
    with pytest.warns(hr.PrivacyLeakWarning):
        schema = hr.Schema.infer(pd.DataFrame({"a": [0.5, 1.5]}), pd.Series([2.5, 7.25], name="price"), outcome=True)
    assert schema.outcome == hr.Numeric(2.5, 7.25, origin="inferred")
    assert schema.target == "price"
    assert schema.inferred == ["a", "outcome"]
    assert schema.confirm("outcome").inferred == ["a"]
    assert schema.confirm().is_given


def test_a_released_outcome_names_its_release():
    released = hr.Schema(FEATURES, outcome=hr.Numeric(0, 1, origin="released", release="0" * 64))
    assert released.releases == {"0" * 64: ["outcome"]}


CELLS = [
    0,
    20_000,
    5_000.25,
    -3,
    1e300,
    np.inf,
    -np.inf,
    np.nan,
    None,
    "",
    "12.5",
    " 7 ",
    "-9",
    -9,
    "no number",
    True,
    b"3",
]
READ = [0, 20_000, 5_000.25, 0, 20_000, 20_000, 0, -1, -1, -1, 12.5, 7, -1, -1, -1, 1, 3]


def codes(schema, y):
    return Encoder(schema, 2).labels(y)


def test_each_cell_is_read_by_itself():
    grid = PRICE.outcome_grid
    wanted = [-1 if value == -1 else round(value / grid.step) for value in READ]
    assert codes(PRICE, CELLS).tolist() == wanted
    assert [int(codes(PRICE, [cell])[0]) for cell in CELLS] == wanted
    assert codes(PRICE, CELLS).dtype == np.int32


@pytest.mark.parametrize("form", [np.array, list, pd.Series, pl.Series, lambda y: pd.DataFrame({"price": y})])
def test_every_container_is_read_alike(form):
    y = [0.0, 12.5, 20_001.0, float("nan")]
    assert codes(PRICE, form(y)).tolist() == codes(PRICE, y).tolist()


@pytest.mark.parametrize("y", [pd.Series(pd.to_datetime(["2020-01-01"])), pl.Series([[1, 2]])])
def test_a_type_that_is_no_number_is_refused(y):
    with pytest.raises(hr.SchemaError, match=r"declares \["):
        codes(PRICE, y)


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-6, 1e12),
    st.integers(1, STEPS),
    st.lists(st.floats(allow_nan=True), max_size=20),
)
def test_values_are_within_half_a_step_and_codes_are_their_own(low, width, steps, values):
    grid = OutcomeGrid(low, low + width, steps)
    if not grid.high > grid.low:
        return
    found = grid.codes(np.array(values))
    assert np.all((found >= -1) & (found <= steps))
    for value, code in zip(values, found.tolist(), strict=True):
        assert (code == -1) == np.isnan(value)
        if code >= 0:
            back = float(grid.values(code))
            slack = 1e-9 * max(abs(grid.low), abs(grid.high))
            assert abs(back - min(max(value, grid.low), grid.high)) <= grid.step * 0.5001 + slack
    if width > 1e-3 * abs(low):
        every = np.unique(np.linspace(0, steps, 50).astype(np.int64))
        assert np.array_equal(grid.codes(grid.values(every)), every)


@pytest.mark.parametrize("high", [1, 3, 50, 1000, STEPS - 1, STEPS, 10**9])
def test_whole_numbers_are_points_of_their_grid(high):
    grid = grid_of(hr.Integer(0, high))
    assert grid.steps <= STEPS
    whole = np.unique(np.linspace(0, high, 40).astype(np.int64))
    if high <= STEPS:
        assert np.array_equal(grid.codes(whole) * high % grid.steps, np.zeros(len(whole)))
        assert np.array_equal(np.rint(grid.values(grid.codes(whole))), whole)


def test_a_table_holds_outcomes_and_its_frontiers_one_class():
    encoder = Encoder(COUNT, 4)
    table = MemoryTable.by(Coded(encoder), [[0.1], [0.3], [0.9], [0.9]], [50, 0, 7, None])
    assert table.n_classes == Coded(encoder).n_classes == 1
    assert Coded(encoder).label_dtype == np.int32

    class Told:
        columns, scored, channels, scored_l1, l1, l2_squared = 0, 0, 1, 0, STEPS, STEPS**2

        def __call__(self, margins, labels):
            return np.maximum(labels, 0).astype(np.int64)[:, None]

    grid = COUNT.outcome_grid
    assert table.answer(Sums(Told()))[0, :, 0].tolist() == [
        *(grid.codes([50, 0]).astype(int)),
        0,
        grid.codes([7])[0],
        0,
    ]
    everyone = table.assign(Randomness(0).coins(PerRecordCoin(1)))
    assert table.answer(ClassCounts(everyone)).tolist() == [[3]]
    assert table.answer(Histogram(everyone))[0, :, 0].tolist() == [1, 1, 0, 1, 0]


def test_check_counts_what_is_out_of_range_and_what_is_no_number():
    report = PRICE.check({"a": [0.5] * 5}, [10, -1, 30_000, "free", None])
    assert (report.labels.below, report.labels.above) == (1, 1)
    assert (report.labels.missing, report.labels.undeclared) == (1, 1)
    assert not report.unlabeled
    assert not report.findings
    nothing = PRICE.check({"a": [0.5] * 3}, ["dear", "cheap", None])
    assert nothing.unlabeled
    assert "NO LABEL in y is a number" in nothing.findings[0]
    beyond = PRICE.check({"a": [0.5] * 3}, [30_000, 40_000, 50_000])
    assert "another unit" in beyond.findings[0]
    assert "1 below and 1 above the range" in str(report)


@pytest.mark.parametrize(
    ("kind", "schema", "words"),
    [
        (hr.HedgerowClassifier, PRICE, "predicts classes, but the schema declares an outcome"),
        (hr.ForestClassifier, PRICE, "predicts classes, but the schema declares an outcome"),
        (hr.HedgerowRegressor, hr.Schema(FEATURES, [0, 1]), "predicts a number, but the schema declares classes"),
        (
            hr.HedgerowRegressor,
            hr.Schema(FEATURES, ["no", "yes"]),
            "predicts a number, but the schema declares classes",
        ),
    ],
)
def test_an_estimator_refuses_labels_of_another_kind_before_it_books(kind, schema, words):
    ledger = hr.Ledger(epsilon=5)
    with pytest.raises(hr.ConfigurationError, match=words):
        kind(schema=schema, ledger=ledger).fit([[0.5], [0.6]], [1, 0])
    assert ledger.remaining == 5
