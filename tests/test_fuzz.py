"""Frames of odd types, values and labels: only documented errors, no other record's code moved, one model for all containers."""

from __future__ import annotations

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_strategies import cells, texts

import hedgerow as hr
from hedgerow.errors import UnreadColumnWarning
from hedgerow.schema import Encoder

SCHEMA = hr.Schema(
    {
        "n": hr.Numeric(-5, 5),
        "c": hr.Categorical(["a", 1, "yes", "ä b"]),
        "m": hr.Numeric(0, 1e6, cuts=(10, 1000)),
        "i": hr.Integer(-3, 9),
        "d": hr.Date("1990-01-01", "2030-12-31"),
        "b": hr.Boolean(),
    },
    classes=["no", 7],
    missing=("?",),
)
ENCODER = Encoder(SCHEMA, 4)
WIDTH = len(SCHEMA.names)

rows = st.lists(st.tuples(*[cells] * (WIDTH + 1)), min_size=1, max_size=6)
plain_rows = st.lists(st.tuples(*[st.one_of(st.none(), texts)] * WIDTH), min_size=1, max_size=6)


def object_array(table):
    array = np.empty((len(table), WIDTH), dtype=object)
    for i, row in enumerate(table):
        for j in range(WIDTH):
            array[i, j] = row[j]
    return array


def check_any_frame(table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnreadColumnWarning)  # odd cells are what they are
        X, y = object_array(table), [row[WIDTH] for row in table]
        whole = ENCODER.transform(X)
        for i in range(len(table)):
            assert np.array_equal(ENCODER.transform(X[i : i + 1])[0], whole[i])
        frame = pd.DataFrame({name: pd.Series(list(X[:, j]), dtype=object) for j, name in enumerate(SCHEMA.names)})
        assert np.array_equal(ENCODER.transform(frame), whole)
        model = hr.PFDPDTClassifier(schema=SCHEMA, max_depth=1).fit(X, y)
        assert model.certificate_.holds
        assert len(model.predict(X)) == len(table)


def check_text_frame(table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnreadColumnWarning)  # odd cells are what they are
        columns = {name: [row[j] for row in table] for j, name in enumerate(SCHEMA.names)}
        codes = ENCODER.transform(object_array(table))
        strings = {name: pa.array(values, pa.string()) for name, values in columns.items()}
        frames = [
            pd.DataFrame({name: pd.Series(values, dtype="str") for name, values in columns.items()}),
            pl.DataFrame({name: pl.Series(values, dtype=pl.String) for name, values in columns.items()}),
            pa.table(strings),
        ]
        for frame in frames:
            assert np.array_equal(ENCODER.transform(frame), codes)


@pytest.mark.full
@given(rows)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_odd_frames(table):
    check_any_frame(table)


@given(plain_rows)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_text_frames(table):
    check_text_frame(table)


@pytest.mark.slow
@given(rows)
@settings(max_examples=7000, deadline=None, suppress_health_check=list(HealthCheck))
def test_seven_thousand_odd_frames(table):
    check_any_frame(table)


@pytest.mark.slow
@given(plain_rows)
@settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck))
def test_three_thousand_text_frames(table):
    check_text_frame(table)


def test_cells_that_most_libraries_stumble_over():
    row = [decimal.Decimal("sNaN"), "a", datetime.date(2020, 1, 1), "2", datetime.date(2020, 1, 1), 1]
    assert ENCODER.transform([row]).tolist() == [[4, 0, 3, 1, 2, 1]]
