"""Whole numbers, dates and truth values: their bins, labels and files, and how odd cells are read."""

from __future__ import annotations

import math
import pickle
import warnings
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading.cells import object_array
from hedgerow.schema import Boolean, Categorical, Date, Encoder, Integer, Numeric, Schema
from hedgerow.schema.encoder import raw_columns

from .odd_cells import CELLS, ODD, WORST, odd_columns

SCHEMA = Schema(
    {
        "children": Integer(0, 8),
        "born": Date("1930-01-01", "2009-12-31"),
        "seen": Date("2024-01-01 08:00", "2024-01-01T18:00:00", cuts=["2024-01-01 12:00"]),
        "smokes": Boolean(),
    },
    classes=["no", "yes"],
    missing=["?", "9999-12-31", "7"],
)
ENCODER = Encoder(SCHEMA, 4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Integer(0, 2.5), "whole number"),
        (lambda: Integer(0, 2**52), r"2\*\*51"),
        (lambda: Integer(3, 3), "its range is empty"),
        (lambda: Integer(None, 3), "low end of a numeric feature is None"),
        (lambda: Integer(0, 8, [3, 3]), "ascend"),
        (lambda: Date(None, "2020-01-01"), "end of a date feature is None"),
        (lambda: Date(2020, 2024), "is 2020, but it must be a date"),
        (lambda: Date(18262.0, 18263.0), "must be a date"),
        (lambda: Date("2020", "2024"), "must be a date"),
        (lambda: Date("2020-02-30", "2024-01-01"), "must be a date"),
        (lambda: Date("2024-01-01", "2020-01-01"), "low 2024-01-01 and high 2020-01-01"),
        (lambda: Date("2024-01-01", "2024-01-01"), "range is empty"),
        (lambda: Date("2024-01-01", "2024-01-02 00:00:00.5"), "whole seconds"),
        (lambda: Date("2020-01-01", "2024-01-01", ["2019-01-01"]), "strictly inside"),
        (lambda: Date("2020-01-01", "2024-01-01", "2021-01-01"), "list"),
        (lambda: Date("2020-01-01", "2024-01-01", [2021]), "cut point.*must be a date"),
        (lambda: Boolean(origin="guess"), "origin"),
        (lambda: Integer(0, 8, origin="released"), "no release"),
        (lambda: Integer(0, 8, release="a" * 64), "a release"),
        (lambda: Integer(0, 8, origin="released", release="A" * 64), "a release"),
        (lambda: Schema({"a": Boolean()}, [0, 1], classes_origin="released"), "no release"),
    ],
)
def test_wrong_entries_are_refused(make, words):
    with pytest.raises(SchemaError, match=words):
        make()


def test_bins_fall_between_whole_numbers():
    children = Integer(0, 8)
    assert children.bin_edges(3).tolist() == [2.5, 5.5]
    assert [children.code_label(code, 3) for code in range(4)] == ["0 to 2", "3 to 5", "6 to 8", "missing"]
    assert children.interval_label(1, 2, 3) == "3 to 8"
    assert children.edge_label(2.5) == "3"
    assert [children.code_label(code, 100) for code in range(10)] == [*map(str, range(9)), "missing"]
    assert Integer(0, 100, [18, 65]).code_label(1, 10) == "18 to 64"
    assert Integer(0, 10, [2.2, 2.6]).code_label(1, 10) == "[2.2, 2.6)"
    with pytest.raises(ConfigurationError, match="max_bins"):
        children.bin_edges(0)


@given(st.integers(-(2**51), 2**51), st.integers(1, 2**52), st.integers(1, 300))
@settings(max_examples=200, deadline=None)
def test_every_bin_holds_as_many_whole_numbers_within_one(low, width, max_bins):
    feature = Integer(low, min(low + width, 2**51)) if low < 2**51 else Integer(low - 1, low)
    edges = feature.bin_edges(max_bins)
    firsts = [int(feature.low), *(math.ceil(edge) for edge in edges.tolist()), int(feature.high) + 1]
    held = np.diff(firsts)
    assert np.array_equal(edges * 2, np.rint(edges * 2))
    assert len(held) == min(max_bins, int(feature.high - feature.low) + 1)
    assert held.min() > 0
    assert held.max() - held.min() <= 1


def test_bins_of_dates_and_moments():
    years = Date("2020-01-01", date(2023, 12, 31))
    assert years.unit == "day"
    assert years.code_label(3, 4) == "2022-12-31 to 2023-12-31"
    seen = SCHEMA.features["seen"]
    assert seen.unit == "second"
    assert seen.code_label(0, 4) == "2024-01-01 08:00:00 to 2024-01-01 11:59:59"
    assert seen.edge_label(seen.cuts[0]) == "2024-01-01 12:00:00"
    assert Date(np.datetime64("2020-01-01"), pd.Timestamp("2020-01-03")).unit == "second"
    assert Date(np.datetime64("2020-01-01"), np.datetime64("2020-01-03")).unit == "day"


MOMENT = datetime(1980, 5, 17, 23, 59, 59, 999999)


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("1980-05-17", "1980-05-17"),
        (" 1980-05-17 ", "1980-05-17"),
        (b"1980-05-17", "1980-05-17"),
        (MOMENT, "1980-05-17"),
        (MOMENT.date(), "1980-05-17"),
        (MOMENT.isoformat(), "1980-05-17"),
        (str(MOMENT) + "999", "1980-05-17"),
        (np.datetime64(MOMENT), "1980-05-17"),
        (np.datetime64("1980-05-17T23:59:59.999999999"), "1980-05-17"),
        (pd.Timestamp(MOMENT), "1980-05-17"),
        (MOMENT.replace(tzinfo=UTC), "1980-05-17"),
        (MOMENT.replace(tzinfo=timezone(timedelta(hours=-1))), "1980-05-18"),
        ("1980-05-17T23:30-01:00", "1980-05-18"),
        ("1980-05-17T23:30Z", "1980-05-17"),
        ("9999-12-31 00:00:00", None),
        *((cell, None) for cell in ("9999-12-31", "?", "19800517", "17.05.1980", "1980-05", "1980-13-01", "", None)),
        *(
            (cell, None)
            for cell in ("1980-05-17 25:00", "23:59:59", 1980, 3789.0, True, timedelta(3), pd.NaT, math.nan)
        ),
        ("0001-01-01T00:00+14:00", "before"),
    ],
)
def test_what_is_a_date(cell, day):
    schema = Schema({"d": Date("1980-05-17", "1980-05-19")}, [0, 1], missing=SCHEMA.missing)
    code = {"before": 0, "1980-05-17": 0, "1980-05-18": 1, None: 3}[day]
    assert Encoder(schema, 3).transform([[cell]]).tolist() == [[code]]


def test_a_day_before_1970_and_a_number_for_marker():
    """A marker that is a number says nothing of days: 7 is no 1970-01-08."""
    schema = Schema({"d": Date("1969-12-30", "1970-01-09")}, [0, 1], missing=["7"])
    cells = [["1969-12-31 12:00"], ["1970-01-08"], ["7"]]
    assert Encoder(schema, 11).transform(cells).tolist() == [[1], [9], [11]]
    assert raw_columns(cells, schema)[:, 0].tolist()[:2] == [-1, 7]


def test_a_record_is_read_the_same_from_every_table():
    days = [date(1950, 1, 1), date(2000, 1, 1), None]
    moments = [datetime(2024, 1, 1, 9), datetime(2024, 1, 1, 15), None]
    plain = {"children": [3, 8, None], "born": days, "seen": moments, "smokes": [True, False, None]}
    codes = ENCODER.transform(plain)
    texts = {name: [None if cell is None else str(cell) for cell in cells] for name, cells in plain.items()}
    arrow = pa.table({name: pa.array(cells) for name, cells in plain.items()})
    frames = [
        texts,
        arrow,
        pl.from_arrow(arrow),
        arrow.to_pandas(),
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame(plain).astype({"born": "datetime64[s]", "seen": "datetime64[ms]"}),
        pa.table(texts),
        pd.DataFrame(texts, dtype="str"),
        {**plain, "born": np.array(days, dtype="M8[D]"), "seen": pa.array(moments, pa.timestamp("ns"))},
        {**plain, "seen": pa.array(moments, pa.timestamp("us", "UTC"))},
    ]
    assert codes.tolist() == [[1, 1, 0, 1], [3, 3, 1, 0], [4, 4, 2, 2]]
    for frame in frames:
        assert np.array_equal(ENCODER.transform(frame), codes)
        assert SCHEMA.check(frame).features["born"].missing == 1


def check_alone(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        column = object_array(cells, len(cells))
        X = dict.fromkeys(SCHEMA.names, column)
        whole = ENCODER.transform(X)
        for i in range(len(cells)):
            alone = {name: object_array([cells[i]], 1) for name in SCHEMA.names}
            assert np.array_equal(ENCODER.transform(alone)[0], whole[i])
        raw_columns(X, SCHEMA)


def test_odd_cells_move_no_other_cell():
    check_alone(ODD + WORST)


@given(st.lists(CELLS, min_size=1, max_size=8))
@settings(max_examples=200, deadline=None)
def test_any_cells_move_no_other_cell(cells):
    check_alone(cells)


@pytest.mark.parametrize(("name", "column"), [pytest.param(*pair, id=pair[0]) for pair in odd_columns()])
def test_odd_columns_are_read_or_refused_by_type(name, column):
    for feature in (Integer(0, 8), Date("2020-01-01", "2024-01-01"), Boolean()):
        encoder = Encoder(Schema({"a": feature}, [0, 1]), 4)
        with suppress(SchemaError):  # by the column's type alone, as test_columns.py has it
            assert encoder.transform({"a": column}).shape == (3, 1)


def test_types_that_hold_no_dates():
    """Numbers under a date are missing and refused by no type: one cell could turn a column of text into one of numbers."""
    schema = Schema({"d": Date("2020-01-01", "2024-01-01")}, [0, 1])
    assert Encoder(schema, 4).transform({"d": np.array([18262, 5])}).tolist() == [[4], [4]]
    with pytest.raises(SchemaError, match=r"hr\.Date"):
        Encoder(Schema({"d": Integer(0, 4)}, [0, 1]), 4).transform({"d": np.array(["2020-01-01"], dtype="M8[D]")})


def test_files():
    text = SCHEMA.to_toml()
    assert Schema.from_toml(text) == SCHEMA
    assert Schema.from_toml(text.replace('"1930-01-01"', "1930-01-01").replace('"2009-12-31"', "2009-12-31")) == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert eval(repr(SCHEMA), vars(hr.schema)) == SCHEMA
    assert Schema.from_toml('classes = [0, 1]\n[features.a]\ntype = "numeric"\nlow = 0\nhigh = 1').features[
        "a"
    ] == Numeric(0, 1)
    for entry, words in (
        ('type = "whole"\nlow = 0\nhigh = 1', "type 'whole'"),
        ('type = "boolean"\nvalues = [0, 1]', "unknown key 'values'"),
        ('type = "integer"\nvalues = [0, 1]', "lacks 'high'"),
        ("type = [1]", "type"),
    ):
        with pytest.raises(SchemaError, match=words):
            Schema.from_toml(f"classes = [0, 1]\n[features.a]\n{entry}")


def test_where_entries_come_from():
    release = "0123456789abcdef" * 4
    schema = Schema(
        {
            "a": Date("2020-01-01", "2024-01-01", ["2021-01-01"], origin="released", release=release),
            "b": Boolean(origin="inferred"),
            "c": Categorical(["x"], origin="released", release=release),
        },
        [0, 1],
        classes_origin="released",
        classes_release=release,
    )
    assert schema.releases == {release: ["a", "c", "classes"]}
    assert schema.inferred == ["b"]
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert eval(repr(schema), vars(hr.schema)) == schema
    assert schema.cut_at({"a": [18300.0]}).features["a"].release == release
    assert schema.confirm("a").releases == {release: ["c", "classes"]}
    assert schema.replace(classes=[1, 2]).releases == {release: ["a", "c"]}
    assert schema.replace(target="t").classes_release == release
    given = schema.confirm()
    assert (given.releases, given.inferred) == ({}, [])
    assert given.features["a"] == Date("2020-01-01", "2024-01-01", ["2021-01-01"])


@pytest.mark.parametrize(
    "kind", [hr.EDPRFClassifier, hr.HedgerowClassifier, hr.DiffGenClassifier, hr.SmoothBoostClassifier]
)
def test_learners_read_them_and_keep_them(kind, tmp_path):
    generator = np.random.default_rng(0)
    born = generator.integers(-14_000, 14_000, size=400)
    X = {
        "children": generator.integers(0, 9, size=400),
        "born": born.astype("M8[D]"),
        "seen": np.datetime64("2024-01-01T08:00") + generator.integers(0, 36_000, size=400).astype("m8[s]"),
        "smokes": generator.random(400) < 0.5,
    }
    y = np.where(born < 0, "no", "yes")
    model = kind(epsilon=20, schema=SCHEMA).fit(X, y)
    assert model.certificate_.holds
    model.save(tmp_path / "m")
    loaded = hr.load(tmp_path / "m")
    assert loaded.schema_ == SCHEMA
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    if kind is not hr.DiffGenClassifier:
        assert (model.predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("name", ["diffprf-linear", "tradition", "dp-adaboost"])
def test_published_forms_read_them(name):
    kind = getattr(hr, next(info.class_name for info in hr.list_systems() if info.name == name))
    generator = np.random.default_rng(1)
    days = generator.integers(0, 1400, size=200)
    schema = Schema({"d": Date("2020-01-01", "2023-12-31"), "i": Integer(0, 9), "b": Boolean()}, ["no", "yes"])
    X = {
        "d": np.datetime64("2020-01-01") + days.astype("m8[D]"),
        "i": generator.integers(0, 10, size=200),
        "b": days % 2 == 0,
    }
    model = kind(epsilon=5, schema=schema, variant="published", random_state=0).fit(
        X, np.where(days < 700, "no", "yes")
    )
    assert model.predict_proba(X).shape == (200, 2)


def test_trees_name_them():
    from hedgerow.additive.curves import condition
    from hedgerow.curator import Cut
    from hedgerow.plots.model import branch_text

    assert branch_text("children", SCHEMA.features["children"], [0, 1, 4], 4) == "children = 0 to 3 or missing"
    assert branch_text("born", SCHEMA.features["born"], [3], 4) == "born = 1990-01-01 to 2009-12-31"
    assert branch_text("x", Numeric(0, 1), [0, 1], 4) == "x in [0, 0.5)"
    codes = ENCODER.n_codes.tolist()
    assert condition(ENCODER, Cut.at(0, 0, codes[0], ordered=True)) == "children < 2"
    assert condition(ENCODER, Cut.at(1, 2, codes[1], ordered=True)) == "born < 1990-01-01"
