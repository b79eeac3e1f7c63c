"""Tables of every kind, matched to the schema by what is public about them."""

from __future__ import annotations

import re
from collections import UserList, deque, namedtuple
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.schema import Categorical, Encoder, Schema
from hedgerow.schema.columns import read_columns, read_labels

NAMES = ["a", "b"]


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (sparse.eye(2).tocsr(), ConfigurationError, "sparse"),
        (sparse.coo_array(np.eye(2)), ConfigurationError, "sparse"),
        (np.ones(2), ConfigurationError, "Reshape your data"),
        (np.ones((2, 2, 2)), ConfigurationError, "Reshape your data"),
        ([], ConfigurationError, "Reshape your data"),
        (pd.Series([1, 2]), ConfigurationError, "Reshape your data"),
        (pl.Series([1, 2]), ConfigurationError, "Reshape your data"),
        (3, ConfigurationError, "Reshape your data"),
        ({"a": [1], "b": [1, 2]}, ConfigurationError, "different lengths"),
        ({"a": np.ones((1, 1)), "b": [1]}, ConfigurationError, "Reshape your data"),
        (
            np.ones((2, 0)),
            ConfigurationError,
            r"0 feature\(s\) \(shape=\(\d*, 0\)\) while a minimum of \d* is required",
        ),
        (pd.DataFrame(index=[0]), ConfigurationError, r"0 feature\(s\)"),
        (pl.LazyFrame({"a": [1], "b": [2]}), ConfigurationError, "collect"),
        (np.ones((2, 3)), SchemaError, "X has 3 features, but Schema is expecting 2 features as input"),
        (pd.DataFrame({"a": [1]}), SchemaError, "lacks the column 'b'"),
        (pd.DataFrame({"c": [1]}), SchemaError, "lacks the columns 'a', 'b'"),
        (
            pl.DataFrame({"a": [1], "b": [1], "id": [1]}),
            SchemaError,
            "the column 'id', which the schema does not declare",
        ),
        (pd.DataFrame({"a": [1], "b": [1]} | {f"c{i}": [1] for i in range(12)}), SchemaError, "'c9' and 2 more"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), SchemaError, "same name"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), SchemaError, "same name"),
        (pa.table([[1], [2]], names=["a", "a"]), SchemaError, "same name"),
    ],
)
def test_what_is_no_table_of_the_schema_is_refused(X, error, words):
    with pytest.raises(error, match=words):
        read_columns(X, NAMES)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1, 2], "Reshape your data"),
        (["ab", "cd"], "Reshape your data"),
        ([[1, 2], None], "Reshape your data"),
        ([[1, 2], [1]], "different lengths"),
    ],
)
def test_without_names_rows_must_agree(X, words):
    with pytest.raises(ConfigurationError, match=words):
        read_columns(X)


class Odd:
    """Rows that run code."""

    def __len__(self):
        raise RuntimeError

    __iter__ = __getitem__ = __len__


class OddList(Odd, list):
    """A list by what it holds."""


@pytest.mark.parametrize(
    "row",
    [None, 3, "ab", {"a": 1, "b": 2}, {1, 2}, [], [1], (1, 2, 3), np.array(1), np.ones(3), Odd(), OddList([1]), Odd],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_row_of_another_length_is_a_record_without_cells(row, place):
    rows = [[1, 2], (3, 4)]
    rows.insert(place, row)
    columns = read_columns(rows, NAMES)
    assert columns.n_rows == 3
    expected = [[1, 3], [2, 4]]
    for i in range(2):
        expected[i].insert(place, None)
        assert columns.cells(i).tolist() == expected[i]


def test_rows_of_derived_classes_are_read():
    Pair = namedtuple("Pair", ["a", "b"])  # as pandas' itertuples makes them
    rows = [Pair(1, 2), OddList([3, 4]), np.ma.array([5, 6], mask=[True, False])]
    columns = read_columns(rows, NAMES)
    assert [columns.cells(i).tolist() for i in range(2)] == [[1, 3, None], [2, 4, 6]]


@pytest.mark.parametrize(
    "read",
    [
        lambda: read_columns({"a": [1] * 499, "b": [1] * 500}, NAMES),
        lambda: read_columns([[1]] * 499 + [[1, 2]]),
        lambda: read_columns(np.ones((499, 0))),
        lambda: read_columns(np.ones(499), NAMES),
        lambda: read_columns([1] * 499),
        lambda: read_labels(np.ones((499, 500))),
        lambda: read_labels(pd.DataFrame(np.ones((499, 2)))),
        lambda: read_columns(Unarrayed(), NAMES),
    ],
)
def test_no_message_counts_records(read):
    with pytest.raises(ConfigurationError) as caught:
        read()
    assert not {"499", "500"} & set(re.findall(r"\d+", str(caught.value)))


class Unarrayed:
    """Tells about its records when it is made an array."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("499 records")


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, 2], [3, 4]]),
        [[1, 2], (3, 4)],
        [np.array([1, 2]), np.array([3, 4])],
        np.ma.array([[1, 2], [3, 4]]),
        {"b": [2, 4], "a": (1, 3)},
        {"b": pl.Series([2, 4]), "a": pa.array([1, 3])},
        pd.DataFrame({"b": [2, 4], "a": [1, 3]}),
        pl.DataFrame({"b": [2, 4], "a": [1, 3]}),
        pa.table({"b": [2, 4], "a": [1, 3]}),
        pa.record_batch({"b": [2, 4], "a": [1, 3]}),
    ],
)
def test_columns_come_in_the_order_of_the_schema(X):
    columns = read_columns(X, NAMES)
    assert columns.n_rows == 2
    assert [columns.cells(i).tolist() for i in range(2)] == [[1, 3], [2, 4]]
    assert columns.cells(1, 1, 2).tolist() == [4]


def test_names_of_frames_are_compared_as_text():
    columns = read_columns(pd.DataFrame([[1, 2]], columns=[1, 0]), ["0", "1"])
    assert [columns.cells(i).tolist() for i in range(2)] == [[2], [1]]


def test_a_cell_that_is_a_list_does_not_add_a_dimension():
    columns = read_columns([[[1], [2]]], NAMES)
    assert [columns.cells(i).tolist() for i in range(2)] == [[[1]], [[2]]]


def test_nulls_of_dictionaries_survive():
    cells = pa.chunked_array([["x", None, "y"]]).dictionary_encode()
    columns = read_columns(pa.table({"a": cells, "b": cells}), NAMES)
    assert columns.cells(0).tolist() == ["x", None, "y"]


def test_arrays_are_not_copied():
    X = np.ones((4, 2))
    assert np.shares_memory(read_columns(X, NAMES).cells(0), X)
    frame = pd.DataFrame({"a": np.ones(4), "b": np.ones(4)})
    assert np.shares_memory(read_columns(frame, NAMES).cells(0), frame["a"].to_numpy())


def test_wide_numbers_keep_their_values():
    wide = pl.DataFrame({"a": pl.Series([2**100, None], dtype=pl.Int128), "b": pl.Series([Decimal("0.1"), None])})
    columns = read_columns(wide, NAMES)
    assert columns.cells(0).tolist() == [2**100, None]
    assert columns.cells(1).tolist() == [Decimal("0.1"), None]


def test_a_sequence_of_any_kind_is_read_like_a_list():
    schema = Schema({"t": Categorical(["2020-01-01", "2020-01-01 00:00:00", "a"])}, classes=[0, 1])
    encoder = Encoder(schema, 2)
    for cells in (
        [np.datetime64("2020-01-01")],
        [np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00")],
        ["a", ["b", "c"]],
        ["a", b"\xff"],
    ):
        assert np.array_equal(encoder.transform({"t": deque(cells)}), encoder.transform({"t": cells}))
        assert np.array_equal(encoder.transform({"t": UserList(cells)}), encoder.transform({"t": cells}))
