"""Tables of every kind, matched to the schema by what is public about them."""

from __future__ import annotations

import re
from array import array
from collections import UserList, deque, namedtuple
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading.columns import read_columns, read_labels, read_records
from hedgerow.reading.persons import read_groups
from hedgerow.schema import Categorical, Encoder, Numeric, Schema

FEATURES = {"a": Categorical(["x"]), "b": Categorical(["x"])}


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
        ({"a": np.ones((1, 2)), "b": [1]}, ConfigurationError, "more than one column"),
        (
            np.ones((2, 0)),
            ConfigurationError,
            r"0 feature\(s\) \(shape=\(\d*, 0\)\) while a minimum of \d* is required",
        ),
        (pd.DataFrame(index=[0]), ConfigurationError, r"0 feature\(s\)"),
        ({}, ConfigurationError, r"0 feature\(s\)"),
        (pl.LazyFrame({"a": [1], "b": [2]}), ConfigurationError, "collect"),
        (np.ones((2, 3)), SchemaError, "X has 3 features, but Schema is expecting 2 features as input"),
        (pd.DataFrame({"a": [1]}), SchemaError, "lacks the column 'b'"),
        (pd.DataFrame({"c": [1]}), SchemaError, "lacks the columns 'a', 'b'"),
        (
            pl.DataFrame({"a": [1], "b": [1], "id": [1]}),
            SchemaError,
            "the column 'id', which the schema does not declare.* Drop it from X, or declare it",
        ),
        (
            pd.DataFrame({"a": [1], "b": [1]} | {f"c{i}": [1] for i in range(12)}),
            SchemaError,
            "'c9' and 2 more.* Drop them from X, or declare them",
        ),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), SchemaError, "same name"),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), SchemaError, "same name"),
        (pa.table([[1], [2]], names=["a", "a"]), SchemaError, "same name"),
    ],
)
def test_what_is_no_table_of_the_schema_is_refused(X, error, words):
    with pytest.raises(error, match=words):
        read_columns(X, FEATURES)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1, 2], "Reshape your data"),
        (["ab", "cd"], "Reshape your data"),
    ],
)
def test_without_names_rows_must_agree(X, words):
    with pytest.raises(ConfigurationError, match=words):
        read_columns(X)


def test_without_names_rows_are_columns_by_their_places():
    for rows in ([[1, 2], (3, 4)], [np.array([1, 2]), [3, 4]], np.array([[1, 2], [3, 4]])):
        columns = read_columns(rows)
        assert columns.names == ("x0", "x1")
        assert [columns.cells(i).tolist() for i in range(2)] == [[1, 3], [2, 4]]


@pytest.mark.parametrize("X", [np.empty((0, 2)), {"a": [], "b": []}, pd.DataFrame({"a": [], "b": []})])
def test_there_is_a_record_where_there_must_be_one(X):
    assert read_columns(X, FEATURES).n_rows == 0
    assert read_columns(np.ones((1, 2)), FEATURES, allow_empty=False).n_rows == 1
    with pytest.raises(ConfigurationError, match="a minimum of 1 is required"):
        read_columns(X, FEATURES, allow_empty=False)
    with pytest.raises(ConfigurationError, match="a minimum of 1 is required"):
        read_records(X, [], FEATURES, Categorical(["no", "yes"]))


def test_every_record_has_a_label_and_every_label_a_record():
    X, y = {"a": ["x", "z"], "b": ["z", "x"]}, ["no", "yes"]
    columns, labels = read_records(X, y, FEATURES, Categorical(["no", "yes"]))
    assert columns.n_rows == 2
    assert labels.tolist() == y
    for wrong in (y[:1], [*y, "no"], []):
        with pytest.raises(ConfigurationError, match="X and y have different lengths"):
            read_records(X, wrong, FEATURES, Categorical(["no", "yes"]))


@pytest.mark.parametrize(
    "y", [5, "no", b"no", np.array("no"), np.ones((2, 1, 1)), np.ones((2, 0)), pd.DataFrame(index=[0])]
)
def test_labels_are_one_column(y):
    """A text is no column of its letters."""
    with pytest.raises(ConfigurationError, match="y has more than one column, or no dimension"):
        read_labels(y)


def test_what_is_absent_or_no_column_is_named():
    with pytest.raises(ConfigurationError, match="requires y to be passed, but the target y is None"):
        read_labels(None)
    for groups, kind in (("patient", "str"), ({"a": [1], "b": [1]}, "dict")):
        with pytest.raises(ConfigurationError, match=f"groups is a {kind}"):
            read_groups(groups, 1, ())


def test_a_table_that_was_read_is_not_read_again_by_the_same_names():
    columns = read_columns([["x", "z"]], FEATURES)
    assert read_columns(columns, FEATURES) is columns
    assert read_columns(columns) is columns
    with pytest.raises(ConfigurationError, match="Pass X as a pandas"):
        read_columns(columns, {"b": FEATURES["b"], "a": FEATURES["a"]})


@pytest.mark.parametrize(
    ("X", "named"),
    [
        (pd.DataFrame({"a": [1], "b": [1]}), True),
        (pl.DataFrame({"a": [1], "b": [1]}), True),
        ({"b": [1], "a": [1]}, True),
        (pd.DataFrame([[1, 1]], columns=["a", 0]), False),
        (pd.DataFrame([[1, 1]]), False),
        ({"a": [1], 0: [1]}, False),
        ({1: [1], 0: [1]}, False),
        ([[1, 1]], False),
        (np.ones((1, 2)), False),
    ],
)
def test_columns_are_named_where_all_their_names_are_text(X, named):
    assert read_columns(X).named is named


class Dense:
    """An array with a method of sparse ones, and none of their cells."""

    def __array__(self, dtype=None, copy=None):
        return np.array([[1, 2]])

    toarray = __array__


def test_what_has_a_method_of_sparse_matrices_may_be_none():
    assert read_columns(Dense(), FEATURES).n_rows == 1


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
    columns = read_columns(rows, FEATURES)
    assert columns.n_rows == 3
    expected = [[1, 3], [2, 4]]
    for i in range(2):
        expected[i].insert(place, None)
        assert columns.cells(i).tolist() == expected[i]


def test_rows_of_derived_classes_are_read():
    Pair = namedtuple("Pair", ["a", "b"])  # as pandas' itertuples makes them
    rows = [Pair(1, 2), OddList([3, 4]), np.ma.array([5, 6], mask=[True, False])]
    columns = read_columns(rows, FEATURES)
    assert [columns.cells(i).tolist() for i in range(2)] == [[1, 3, None], [2, 4, 6]]


@pytest.mark.parametrize(
    "read",
    [
        lambda: read_columns({"a": [1] * 499, "b": [1] * 500}, FEATURES),
        lambda: read_columns(np.ones((499, 0))),
        lambda: read_columns(np.ones(499), FEATURES),
        lambda: read_columns([1] * 499),
        lambda: read_labels(np.ones((499, 500))),
        lambda: read_labels(pd.DataFrame(np.ones((499, 2)))),
        lambda: read_columns(Unarrayed(), FEATURES),
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
    columns = read_columns(X, FEATURES)
    assert columns.n_rows == 2
    assert [columns.cells(i).tolist() for i in range(2)] == [[1, 3], [2, 4]]
    assert columns.cells(1, 1, 2).tolist() == [4]


def test_names_of_frames_are_compared_as_text():
    columns = read_columns(pd.DataFrame([[1, 2]], columns=[1, 0]), {"0": Categorical(["x"]), "1": Categorical(["x"])})
    assert [columns.cells(i).tolist() for i in range(2)] == [[2], [1]]


def test_a_cell_that_is_a_list_does_not_add_a_dimension():
    columns = read_columns([[[1], [2]]], FEATURES)
    assert [columns.cells(i).tolist() for i in range(2)] == [[[1]], [[2]]]


def test_nulls_of_dictionaries_survive():
    cells = pa.chunked_array([["x", None, "y"]]).dictionary_encode()
    columns = read_columns(pa.table({"a": cells, "b": cells}), FEATURES)
    assert columns.cells(0).tolist() == ["x", None, "y"]


def test_arrays_are_not_copied():
    X = np.ones((4, 2))
    assert np.shares_memory(read_columns(X, FEATURES).cells(0), X)
    frame = pd.DataFrame({"a": np.ones(4), "b": np.ones(4)})
    assert np.shares_memory(read_columns(frame, FEATURES).cells(0), frame["a"].to_numpy())


def test_wide_numbers_keep_their_values():
    wide = pl.DataFrame({"a": pl.Series([2**60 + 1, None]), "b": pl.Series([Decimal("0.1"), None])})
    columns = read_columns(wide, FEATURES)
    assert columns.columns[0].whole(0, 2).tolist() == [2**60 + 1, None]
    assert columns.cells(1).tolist() == [Decimal("0.1"), None]


CODES = [2**53 + 1, 2**53 + 3, -(2**60) - 1, 7]


@pytest.mark.parametrize(
    "column",
    [
        pa.array,
        lambda cells: pa.chunked_array([cells[:2], cells[2:]], pa.int64()),
        lambda cells: pd.Series(cells, dtype="Int64"),
        pl.Series,
    ],
    ids=["Arrow", "chunks", "pandas", "polars"],
)
def test_a_missing_cell_takes_no_digits_from_codes_of_other_records(column):
    """By 64-bit floats, which would hold integers with missing cells, codes of 17 digits would be others."""
    values = [str(code) for code in (*CODES, 2**53, 2**53 + 4)]
    schema = Schema({"a": Categorical(values, as_text=True)}, classes=[0, 1])
    for cells in (CODES, [*CODES, None]):
        table = {"a": column(cells)}
        for given in (table, read_columns(table)):
            assert Encoder(schema, 2).transform(given)[:4, 0].tolist() == [0, 1, 2, 3]


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


def test_a_list_of_records_that_are_no_rows_is_refused():
    """The whole list decides, by the types of its items: the first does not, and one row makes it a list of rows."""
    for rows in (
        [{"a": 1, "b": 2}] * 3,
        deque([{"a": 1, "b": 2}]),
        [pd.Series([1, 2])],
        [1.0, 2.0],
        ["1,2", "3,4"],
        [Odd(), {}],
    ):
        for features in (FEATURES, None):
            with pytest.raises(ConfigurationError, match=r"pandas\.DataFrame\(X\)"):
                read_columns(rows, features)
    for rows in ([{"a": 1}, [1, 2]], [[1, 2], {"a": 1}], [{"a": 1}, None], [None], [[1]], [{}, np.ones(3)]):
        assert read_columns(rows, FEATURES).n_rows == len(rows)


def test_a_structured_array_is_refused():
    X = np.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")])
    with pytest.raises(ConfigurationError, match="X has 1 dimension"):
        read_columns(X, FEATURES)
    assert read_columns({name: X[name] for name in X.dtype.names}, FEATURES).n_rows == 1
    with pytest.raises(SchemaError, match="'a' has a type of lists"):
        read_columns({"a": X, "b": [1]}, FEATURES)
    with pytest.raises(SchemaError, match="y has a type of lists"):
        read_labels(X, Categorical(["x"]))


MOMENTS = np.array(["2020-01-01", "NaT"], dtype="M8[D]")
TIMES = {
    "numpy": MOMENTS,
    "masked": np.ma.array(MOMENTS, mask=[True, False]),
    "pandas": pd.Series(MOMENTS.astype("M8[s]")),
    "pandas index": pd.Index(MOMENTS.astype("M8[s]")),
    "pandas zone": pd.Series(MOMENTS.astype("M8[s]")).dt.tz_localize("UTC"),
    "pandas categories": pd.Series(MOMENTS.astype("M8[s]")).astype("category"),
    "pandas array": pd.array(pd.Series(MOMENTS.astype("M8[s]")).dt.tz_localize("UTC")),
    "pandas arrow": pd.Series(MOMENTS.astype("M8[s]")).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.Series(MOMENTS.tolist()),
    "arrow": pa.array(MOMENTS),
    "arrow dictionary": pa.array(MOMENTS).dictionary_encode(),
}


@pytest.mark.parametrize("kind", list(TIMES))
def test_times_are_no_numbers_by_their_type(kind):
    times = TIMES[kind]
    for a in (Numeric(0, 1), Categorical([1, "2"])):
        with pytest.raises(SchemaError, match="'a' has a type of dates"):
            read_columns({"a": times}, {"a": a})
    assert read_columns({"a": times}, {"a": Categorical([1, "2020-01-01"])}).n_rows == 2
    assert read_columns({"a": times}).n_rows == 2
    with pytest.raises(SchemaError, match="y has a type of dates"):
        read_labels(times, Categorical([0, "1"]))
    assert len(read_labels(times, Categorical([0, "2020-01-01"]))) == 2


def test_a_matrix_of_times_is_no_table_of_numbers():
    for matrix in (MOMENTS[:, None], np.ma.array(MOMENTS[:, None])):
        with pytest.raises(SchemaError, match="'a' has a type of dates"):
            read_columns(matrix, {"a": Numeric(0, 1)})


NUMBERS = {
    "integers": np.array([0, 1]),
    "floats": np.array([0, np.nan]),
    "truth values": np.array([True, False]),
    "masked": np.ma.array([0, 1], mask=[True, False]),
    "column": np.array([[0], [1]]),
    "pandas": pd.Series([0.0, None]),
    "pandas nullable": pd.Series([True, None], dtype="boolean"),
    "pandas array": pd.array([True, None], dtype="boolean"),
    "pandas index": pd.Index([0, 1]),
    "array": array("d", [0, 1]),
    "bytes in memory": memoryview(b"\0\1"),
    "pandas categories": pd.Series([0, 1]).astype("category"),
    "polars": pl.Series([True, False]),
    "polars frame": pl.DataFrame({"y": [0, None]}),
    "polars decimals": pl.Series([Decimal("0.1"), None]),
    "arrow": pa.array([1, None]),
    "arrow dictionary": pa.array([1, None]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", list(NUMBERS))
def test_labels_whose_type_is_a_number_need_a_class_that_is_one(kind):
    labels = NUMBERS[kind]
    for classes in (["no", "yes"], ["<=50K", ">50K"]):
        with pytest.raises(SchemaError, match=f"y has a type of numbers, but the schema declares {classes[0]}, "):
            read_labels(labels, Categorical(classes))
    for classes in (["no", 1], ["0", "1"], ["true", "x"]):
        assert len(read_labels(labels, Categorical(classes))) == 2
    objects = list(np.asarray(labels).ravel())
    for untyped in (objects, np.array(objects, dtype=object), pd.Series(objects, dtype=object)):
        assert len(read_labels(untyped, Categorical(["no", "yes"]))) == 2


def test_many_classes_are_not_all_listed():
    with pytest.raises(SchemaError, match="k, l and 14 more"):
        read_labels(np.ones(2), Categorical(list("abcdefghijklmnopqrstuvwxyz")))


@pytest.mark.parametrize(
    "column", [[1], [1.5], [True], np.array([1], dtype=object), ["a"], pa.nulls(1), pl.Series([None])]
)
@pytest.mark.parametrize("feature", [Numeric(0, 1), Categorical(["a"]), Categorical([1])])
def test_numbers_truth_values_objects_and_nulls_never_differ_as_features(column, feature):
    assert read_columns({"a": column}, {"a": feature}).n_rows == 1
    assert read_columns({"a": np.asarray(column)}, {"a": feature}).n_rows == 1


class Computed:
    """A frame that would become an array, which has lost the names of its columns."""

    columns = ("b", "a")

    def compute(self):
        raise AssertionError

    __array__ = compute


WAY = r"Pass X as a pandas, .* its method collect, "


@pytest.mark.parametrize(
    ("given", "way"),
    [
        (pl.LazyFrame({"a": [1], "b": [2]}), WAY),
        (nw.from_native(pl.LazyFrame({"a": [1], "b": [2]})), WAY),
        ((row for row in [[1, 2]]), r"list\(X\)"),
        (iter([[1, 2]]), r"list\(X\)"),
        (zip([1], [2], strict=True), r"list\(X\)"),
        (Computed(), WAY),
    ],
)
def test_what_holds_no_records_yet_names_the_way_to_them(given, way):
    with pytest.raises(ConfigurationError, match=way):
        read_columns(given, FEATURES)
    if not isinstance(given, nw.LazyFrame):  # narwhals itself warns of it
        with pytest.raises(ConfigurationError, match=way.replace("X", "y")):
            read_labels(given)


def test_a_column_that_holds_no_cells_yet_names_the_way_to_them():
    with pytest.raises(ConfigurationError, match=r"list\(a column of X\)"):
        read_columns({"a": iter([1]), "b": [1]}, FEATURES)


class Exported:
    """What a query of DuckDB and the like is: it hands out its records by the Arrow interface alone."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table({"b": ["z"], "a": [1]}).__arrow_c_stream__(requested_schema)


def test_records_are_read_by_the_arrow_interface():
    columns = read_columns(Exported(), FEATURES)
    assert [columns.cells(place).tolist() for place in (0, 1)] == [[1], ["z"]]
    duckdb = pytest.importorskip("duckdb")
    assert read_columns(duckdb.sql("select 1 as a, 2 as b"), FEATURES).cells(0).tolist() == [1]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # narwhals is about to leave dask to another package
def test_frames_of_dask_name_the_way():
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(ConfigurationError, match=WAY):
        read_columns(dask.from_pandas(pd.DataFrame({"a": [1], "b": [2]}), npartitions=1), FEATURES)


def test_no_row_decides_by_its_own_kind_whether_it_is_one():
    class Odd(type):
        def __eq__(cls, other):
            raise RuntimeError

        __hash__ = type.__hash__

    class Row(list, metaclass=Odd):
        pass

    columns = read_columns([[1.0, 2.0], Row([3.0, 4.0])])
    assert columns.n_rows == 2
    assert "3.0" not in repr(columns)
