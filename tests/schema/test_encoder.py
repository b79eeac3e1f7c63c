"""Codes of records: exact, the same from every table, and each record's own affair."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import typeof

from hedgerow.errors import ConfigurationError, SchemaError
from hedgerow.reading.cells import category_key, is_missing_key, number, object_array
from hedgerow.reading.kernels import TILE, bin_columns
from hedgerow.schema import Categorical, Encoder, Numeric, Schema
from hedgerow.schema.encoder import BLOCK_ROWS, SLOTS, raw_columns, slots_of

from .odd_cells import CELLS, ODD, WORST, odd_columns

SCHEMA = Schema(
    {
        "age": Numeric(0, 10),
        "work": Categorical(["a", 1, "c"]),
        "gain": Numeric(-1, 1, [0.0, 0.5]),
        "flag": Categorical([False, True]),
    },
    classes=["no", "yes", 3],
    missing=["?", "7"],
)
MAX_BINS = 4
ENCODER = Encoder(SCHEMA, MAX_BINS)


def plain_code(name, cell):
    """The code of one cell, by the definition."""
    feature = SCHEMA.features[name]
    if isinstance(feature, Numeric):
        value = number(cell)
        edges = feature.bin_edges(MAX_BINS).tolist()
        return len(edges) + 1 if value != value or value == 7 else sum(edge <= value for edge in edges)
    key = category_key(cell)
    for code, value in enumerate(feature.values):
        if category_key(value) == key:
            return code
    return len(feature.values) + (0 if is_missing_key(key) or key in ("?", 7) else 1)


def frames(columns):
    """The same records as every kind of table that can hold these cells."""
    rows = list(zip(*columns.values(), strict=True))
    matrix = np.empty((len(rows), len(columns)), dtype=object)
    for i, column in enumerate(columns.values()):
        matrix[:, i] = object_array(column, len(rows))
    yield "rows", rows
    yield "array", matrix
    yield "columns", {name: columns[name] for name in reversed(list(columns))}
    yield "pandas", pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})
    guessed = None
    with suppress(Exception), warnings.catch_warnings(action="ignore"):  # not every cell gets past pandas itself
        guessed = pd.DataFrame({name: pd.Series(column) for name, column in columns.items()})
    if guessed is not None:
        yield "pandas guessed", guessed
    yield "polars objects", pl.DataFrame([pl.Series(name, column, dtype=pl.Object) for name, column in columns.items()])


NUMBER = st.one_of(st.none(), st.integers(-3, 12), st.floats(), st.just(2**53 + 1))
WHOLE = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(0, 9))
TEXT = st.one_of(st.none(), st.sampled_from(["a", " c", "1", "?", "true", "", "nan", "3.5", "x"]), st.text(max_size=3))
TRUTH = st.one_of(st.none(), st.booleans())
TYPES = [(NUMBER, pl.Float64), (WHOLE, pl.Int64), (TEXT, pl.String), (TRUTH, pl.Boolean)]


@st.composite
def typed_columns(draw, n_rows):
    """Four columns, each of one type that typed tables can hold."""
    columns, types = {}, {}
    for name in SCHEMA.names:
        cells, types[name] = draw(st.sampled_from(TYPES))
        column = draw(st.lists(cells, min_size=n_rows, max_size=n_rows))
        columns[name] = [float(cell) if types[name] == pl.Float64 and cell is not None else cell for cell in column]
    return columns, types


@pytest.mark.full
@settings(deadline=None)  # the first call may compile
@given(st.integers(1, 8).flatmap(typed_columns))
def test_typed_tables_give_the_codes_of_the_definition(drawn):
    columns, types = drawn
    expected = np.array(
        [
            [plain_code(n, cell) for n, cell in zip(SCHEMA.names, row, strict=True)]
            for row in zip(*columns.values(), strict=True)
        ]
    )
    polars = pl.DataFrame(columns, schema=types)
    arrow = polars.to_arrow()
    numpy_backed = polars.to_pandas()
    arrow_backed = polars.to_pandas(use_pyarrow_extension_array=True)
    with np.errstate(invalid="ignore"):  # pandas 2.2 casts 2**63 as if it were below
        nullable = numpy_backed.convert_dtypes()
    dictionary = arrow.set_column(
        0, arrow.column_names[0], pa.chunked_array([arrow.column(0).combine_chunks()]).dictionary_encode()
    )
    tables = {
        "polars": polars,
        "reordered": polars.select(list(reversed(polars.columns))),
        "arrow": arrow,
        "arrow dictionary": dictionary,
        "pandas": numpy_backed,
        "pandas nullable": nullable,
        "pandas arrow": arrow_backed,
        "pandas categories": numpy_backed.astype("category"),
        "polars categories": polars.with_columns(pl.col(pl.String).cast(pl.Categorical)),
        **dict(frames(columns)),
    }
    for kind, table in tables.items():
        assert np.array_equal(ENCODER.transform(table), expected), kind
        raw = raw_columns(table, SCHEMA)
        assert np.array_equal(raw[:, [1, 3]], expected[:, [1, 3]]), kind
        assert np.array_equal(np.isnan(raw[:, 0]), expected[:, 0] == 4), kind


def refused_as_a_type(dtype):
    return dtype.kind in "mMc" or isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype)


@settings(deadline=None)  # the first call may compile
@given(
    st.integers(1, 6).flatmap(typed_columns),
    st.tuples(*[CELLS] * len(SCHEMA.names)),
)
def test_an_odd_record_changes_no_other_record(drawn, odd):
    """Whatever the new record makes of a column's dtype, the old records keep their codes."""
    columns, types = drawn
    before = ENCODER.transform(pl.DataFrame(columns, schema=types))
    wider = {name: [*column, cell] for (name, column), cell in zip(columns.items(), odd, strict=True)}
    odd_codes = None
    for kind, table in frames(wider):
        if kind == "pandas guessed" and any(map(refused_as_a_type, table.dtypes)):
            continue  # a type that was guessed from cells of one kind and is refused: certificates say what rests on it
        codes = ENCODER.transform(table)
        assert np.array_equal(codes[:-1], before), kind
        if kind != "pandas guessed":  # pandas may already have changed the odd cell itself
            odd_codes = codes[-1] if odd_codes is None else odd_codes
            assert np.array_equal(codes[-1], odd_codes), kind
        assert np.array_equal(
            raw_columns(table, SCHEMA)[:-1], raw_columns(pl.DataFrame(columns, schema=types), SCHEMA), equal_nan=True
        ), kind


@settings(deadline=None)  # the first call may compile
@given(st.lists(CELLS, min_size=1, max_size=6), st.lists(CELLS, max_size=1))
def test_an_odd_label_changes_no_other_label(labels, odd):
    before = ENCODER.labels(labels)
    after = ENCODER.labels(pd.Series([*labels, *odd], dtype=object))
    assert np.array_equal(after[: len(labels)], before)


def test_labels():
    expected = [0, 1, 2, 2, -1, -1, -1]
    labels = ["no", " yes", 3, "3.0", None, "?", "maybe"]
    for y in (labels, pd.Series(labels), object_array(labels, 7), object_array(labels, 7).reshape(-1, 1)):
        assert ENCODER.labels(y).tolist() == expected
    texts = ["no", "yes", None, "3"]
    for y in (
        pl.Series(texts),
        pl.DataFrame({"y": texts}),
        pa.chunked_array([texts]),
        pa.array(texts),
        pa.array(texts).dictionary_encode(),
        pd.Series(texts, dtype="category"),
        pd.DataFrame({"y": texts}),
    ):
        assert ENCODER.labels(y).tolist() == [0, 1, -1, 2]
    assert ENCODER.labels(np.array([3.0, np.nan])).tolist() == [2, -1]
    assert ENCODER.labels(labels).dtype == np.int16
    assert Encoder(Schema({"a": Numeric(0, 1)}, range(40_000)), 2).labels([39_999, -1]).tolist() == [39_999, -1]
    for y in (None, np.ones((2, 2)), pd.DataFrame({"a": [1], "b": [2]})):
        with pytest.raises(ConfigurationError, match="y"):
            ENCODER.labels(y)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2 * TILE + 3),
    st.sampled_from([1, 2, 3, 33, 255, SLOTS, SLOTS + 1, SLOTS + 2, 3 * SLOTS]),
    st.sampled_from([(0, 1), (17, 90), (-1e308, 1e308), (0, 5e-324 * 500), (1, 1 + 2**-40)]),
    st.sampled_from(["even", "nearly", "spiked", "narrow"]),
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from([0.0, 0.5, -1.0, np.inf]), max_size=2),
)
def test_kernel_is_its_plain_twin(n_rows, max_bins, ends, spacing, seed, markers):
    generator = np.random.default_rng(seed)
    own = Numeric(*ends).bin_edges(max_bins)
    if spacing == "nearly" and len(own) > 1:
        own = np.unique(own + np.diff(own, append=own[-1]) * generator.uniform(0, 0.9, len(own)))
    if spacing == "spiked":
        own = np.unique(np.append(own, ends[0] + generator.random(9) ** 9 * min(ends[1] - ends[0], 1e300)))
    if spacing == "narrow":
        own = np.unique(
            np.append(own, ends[0] + min(ends[1] - ends[0], 1e300) * 0.5 ** np.arange(0, 60, 60 / max_bins))
        )
    edges = [own, np.empty(0), Numeric(-1, 1).bin_edges(3)]
    beside = [*np.nextafter(own, -np.inf), *np.nextafter(own, np.inf)]
    cells = generator.choice(
        [np.nan, np.inf, -np.inf, 0.0, *ends, -0.0, 0.5, *own, *beside, *generator.uniform(0, 1, 8)], (n_rows, 2)
    )
    starts = np.cumsum([0, *map(len, edges)])
    out = np.full((n_rows, 3), 999, dtype=np.uint16)
    columns = cells, np.array([1, 0]), np.array([0, 2])
    tables = np.concatenate(edges), starts
    bin_columns(
        *columns, *tables, *slots_of(*tables), np.array(markers, dtype=float), np.array([3, 1]), out.reshape(-1)
    )
    expected = np.full((n_rows, 3), 999)
    for row in range(n_rows):
        for source, target in ((1, 0), (0, 2)):
            value, own = cells[row, source], edges[target]
            absent = np.isnan(value) or value in markers
            expected[row, target] = len(own) + 1 if absent else sum(1 for edge in own if edge <= value)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_threads_blocks_and_layouts_change_nothing(order, dtype, monkeypatch):
    generator = np.random.default_rng(0)
    X = (generator.random((2 * BLOCK_ROWS + 5, 4)) * 12 - 1).astype(dtype)
    if dtype == np.float64:
        X[::7, 0] = np.nan
    given_X = {"C": X, "F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2]}[order]
    monkeypatch.setattr("hedgerow.schema.encoder.SMALL_CELLS", 10**9)  # one thread
    codes = ENCODER.transform(given_X)
    monkeypatch.setattr("hedgerow.schema.encoder.SMALL_CELLS", 0)
    assert codes.flags.c_contiguous
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, ENCODER.transform(X.astype(object)))
    assert np.array_equal(codes, ENCODER.transform(given_X))
    frame = pd.DataFrame(given_X, columns=list(SCHEMA.names))
    for table in (frame, pl.from_pandas(frame), pa.table(dict(frame.items()))):
        assert np.array_equal(codes, ENCODER.transform(table))
        for by_column in (False, True):
            assert np.array_equal(codes, ENCODER.answers(table, lambda block: block, by_column=by_column))


@pytest.mark.parametrize("odd", [0.5, "abc", None, 2**70])
def test_what_numpy_makes_of_a_column_changes_no_number(odd):
    """One cell can turn a whole array into text or into objects."""
    rows = [[3, 1, 0, 1], [12, 0, 1, 0]]
    assert np.array_equal(ENCODER.transform(np.array([*rows, [odd] * 4]))[:2], ENCODER.transform(np.array(rows)))


@pytest.mark.parametrize(
    "column",
    [
        pd.cut(pd.Series([0.5, 1.5]), [0, 1, 2]),
        pd.Series([pd.Interval(0, 1), pd.Interval(1, 2)]),
        pd.Series(pd.period_range("2020-01", periods=2, freq="M")),
        pd.Series([[1], [2]]),
        pa.array([[1], [2]]),
        pl.Series([[1], [2]]),
    ],
    ids=lambda column: str(getattr(column, "dtype", "arrow")),
)
def test_intervals_periods_and_lists_are_missing(column):
    """As objects, one by one; where the type says so, the column is refused."""
    texts = ["(0, 1]", "(1, 2]", "2020-01", "2020-02", "[1]", "[2]"]
    encoder = Encoder(Schema({"x": Categorical(texts)}, classes=[0, 1]), 2)
    missing = len(texts)
    assert encoder.transform({"x": list(column)}).tolist() == [[missing], [missing]]
    if str(column.type if isinstance(column, pa.Array) else column.dtype) == "object":
        assert encoder.transform({"x": column}).tolist() == [[missing], [missing]]
    else:
        with pytest.raises(SchemaError, match="'x' has a type of lists"):
            encoder.transform({"x": column})
    if isinstance(column, pd.Series):  # what docs/pitfalls.md advises
        assert missing not in encoder.transform({"x": column.astype(str)})


def test_masked_cells_are_missing():
    X = np.ma.array([[1.0, 1, 0, 1]] * 2, mask=[[True] * 4, [False] * 4])
    assert ENCODER.transform(X).tolist() == [[4, 3, 3, 2], [0, 1, 1, 1]]
    assert Encoder(Schema({"a": Categorical(["b"])}, [0]), 2).transform(X[:, :1]).tolist() == [[1], [2]]


def test_codes_take_the_narrowest_type_that_holds_them_and_too_many_are_refused():
    assert ENCODER.n_codes.tolist() == [5, 5, 4, 4]
    wide = Schema({"a": Numeric(0, 1)}, [0, 1])
    assert Encoder(wide, 255).dtype == np.uint8
    assert Encoder(wide, 256).dtype == np.uint16
    assert Encoder(wide, 65_535).transform([[1]]).tolist() == [[65_534]]
    assert Encoder(wide, 65_535).transform([[None]]).tolist() == [[65_535]]
    assert Encoder(wide, 65_535).dtype == np.uint16
    assert Encoder(wide, 65_536).dtype == np.uint32
    assert Encoder(wide, 65_536).transform([[1], [None]]).tolist() == [[65_535], [65_536]]
    for max_bins in (2**24, 10**12):
        with pytest.raises(SchemaError, match="'a' needs"):
            Encoder(wide, max_bins)
    assert Encoder(Schema({"a": Numeric(0, 1, [0.5])}, [0]), 10**12).n_codes.tolist() == [3]


def test_more_declared_values_than_16_bits_can_number():
    values = list(range(70_000))
    encoder = Encoder(Schema({"a": Categorical(values), "b": Numeric(0, 1)}, [0, 1]), 4)
    codes = encoder.transform({"a": [0, 65_535, 65_536, 69_999, None, 70_000], "b": [0.0] * 6})
    assert codes.dtype == np.uint32
    assert codes[:, 0].tolist() == [0, 65_535, 65_536, 69_999, 70_000, 70_001]


def test_no_records():
    assert ENCODER.transform(np.empty((0, 4))).shape == (0, 4)
    assert ENCODER.transform(pd.DataFrame(columns=list(SCHEMA.names))).shape == (0, 4)
    assert ENCODER.answers(np.empty((0, 4)), lambda codes: codes[:, 1:]).shape == (0, 3)


def test_encoding_needs_little_memory_beside_its_result():
    X = np.random.default_rng(0).random((200_000, 20))
    encoder = Encoder(Schema({f"x{i}": Numeric(0, 1) for i in range(20)}, [0, 1]), 5)
    encoder.transform(X[:1])
    tracemalloc.start()
    codes = encoder.transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - codes.nbytes < 2**23


def test_an_encoder_keeps_nothing_of_the_records():
    encoder = Encoder(SCHEMA, MAX_BINS)
    before = pickle.dumps(encoder)
    secret = "the secret cell"
    rows = [[secret, secret, [secret], secret]] * 3
    encoder.transform(rows)
    encoder.labels([secret] * 3)
    raw_columns(rows, SCHEMA)
    assert pickle.dumps(encoder) == before
    del rows
    gc.collect()
    assert not [holder for holder in gc.get_objects() if isinstance(holder, dict) and type(holder).__name__ == "_Cache"]


ODD_COLUMNS = dict(odd_columns())
TIMES = ["1970-01-01", "1970-01-01 00:00:00", "1970-01-01 01:00:00+01:00"]
ODD_SCHEMA = Schema({"number": Numeric(0, 10), "text": Categorical([*TIMES, "a", "b", 0])}, classes=[*TIMES, "a", 0])


TIME_WORDS = ("date", "time", "zone", "moments", "index")
NO_READING = ("list", "struct", "interval", "period", "duration", "time32", "time64", "polars time", "unknown zone")
UNREADABLE = [name for name in ODD_COLUMNS if any(word in name for word in NO_READING)]


@pytest.mark.parametrize("name", [name for name in ODD_COLUMNS if name not in UNREADABLE])
def test_an_odd_cell_of_a_typed_column_changes_no_other(name, capfd):
    """A cell that Python cannot hold raises nothing, prints nothing, and moves no other record's code or label."""
    column = ODD_COLUMNS[name]
    encoder = Encoder(ODD_SCHEMA, 4)
    times = any(word in name for word in TIME_WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number = [0, 1, 2] if times else column
        codes = encoder.transform({"number": number, "text": column})
        plain = encoder.transform({"number": number[:2], "text": column[:2]})
        labels, plain_labels = encoder.labels(column), encoder.labels(column[:2])
        raw = raw_columns({"number": number, "text": column}, ODD_SCHEMA)
    assert np.array_equal(codes[:2], plain)
    assert np.array_equal(labels[:2], plain_labels)
    assert np.array_equal(raw[:, 1], codes[:, 1])
    assert plain[0, 1] < encoder.n_codes[1] - 2
    assert codes[2, 1] >= encoder.n_codes[1] - 2 or "object" in name
    if times:
        for cells in (column, column[:2], column[2:]):
            with pytest.raises(SchemaError, match="'number' has a type of dates"):
                encoder.transform({"number": cells, "text": ["a"] * len(cells)})
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_column_whose_type_has_no_reading_is_refused_whatever_it_holds(name, capfd):
    column = ODD_COLUMNS[name]
    encoder = Encoder(ODD_SCHEMA, 4)
    for cells in (column, column[:2], column[2:], column[:0]):
        for read in (
            lambda cells: encoder.transform({"number": [1] * len(cells), "text": cells}),
            lambda cells: encoder.transform({"number": cells, "text": ["a"] * len(cells)}),
            lambda cells: raw_columns({"number": [1] * len(cells), "text": cells}, ODD_SCHEMA),
            encoder.labels,
        ):
            with pytest.raises(SchemaError, match="lists, structs"):
                read(cells)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ([date(2020, 1, 1), None], "2020-01-01"),
        ([datetime(2020, 1, 1, 12, 30), None], "2020-01-01 12:30:00"),
        ([datetime(2020, 1, 1, 12, 30, 0, 7), None], "2020-01-01 12:30:00.000007"),
        ([datetime(2020, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")), None], "2020-07-01 12:00:00+02:00"),
        ([datetime(1900, 1, 1), None], "1900-01-01 00:00:00"),
    ],
)
def test_times_have_one_text_in_every_table(cells, text):
    schema = Schema({"number": Numeric(0, 10), "text": Categorical(["a", text])}, classes=["a", text])
    encoder = Encoder(schema, 4)
    polars, arrow = pl.Series(cells), pa.array(cells)
    if getattr(cells[0], "tzinfo", None):
        polars = polars.dt.convert_time_zone("Europe/Berlin")
    columns = {
        "list": cells,
        "objects": object_array(cells, 2),
        "pandas": pd.Series(cells),
        "pandas objects": pd.Series(cells, dtype=object),
        "pandas arrow": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow]))),
        "pandas categories": pd.Series(cells).astype("category"),
        "pandas index": pd.Index(cells),
        "polars": polars,
        "pyarrow": pa.chunked_array([arrow, arrow])[:2],
        "pyarrow array": arrow,
        "dictionary": arrow.dictionary_encode(),
    }
    for kind, column in columns.items():
        assert encoder.transform({"number": [None, None], "text": column}).tolist() == [[4, 1], [4, 2]], kind
        assert encoder.labels(column).tolist() == [1, -1], kind


@pytest.mark.parametrize("threads", [1, 4])
def test_no_cell_touches_the_filters_of_the_process(threads):
    """Their version tells which warnings were shown before; a copy restored by a thread could silence them for good."""
    odd = [[cell] * len(SCHEMA.names) for cell in ODD + WORST] * 3
    plain = [[1, "a", 0.5, True]] * len(odd)
    ENCODER.transform(plain)
    registry = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.filterwarnings("default", "note")

        def state():
            warnings.warn_explicit("note", UserWarning, "file", 1, registry=registry)
            return list(warnings.filters), registry["version"], getattr(warnings, "_filters_version", None)

        before = state()
        with ThreadPoolExecutor(threads) as pool:
            jobs = [pool.submit(ENCODER.transform, odd) for _ in range(2 * threads)]
            jobs += [pool.submit(ENCODER.labels, ODD) for _ in range(2 * threads)]
            assert all(job.exception() is None for job in jobs)
        assert state() == before
    assert len(caught) == 1


def test_a_null_shows_in_no_kernel(monkeypatch):
    """numba's cache on disk tells which kinds of array a kernel has seen."""
    seen = set()

    def spy(*arrays):
        assert all(array.flags.aligned for array in arrays)  # which numba takes for granted
        seen.add(tuple(map(typeof, arrays)))
        bin_columns(*arrays)

    monkeypatch.setattr("hedgerow.schema.encoder.bin_columns", spy)
    encoder = Encoder(Schema({"a": Numeric(0, 1)}, [0, 1]), 4)
    unaligned = np.frombuffer(b"\0" + np.ones(3).tobytes(), offset=1)
    tables = [[[0.1]], [[None]], np.ones((3, 1)), np.ones((3, 2))[:, 1:], {"a": np.ones(6)[::2]}, {"a": unaligned}]
    tables.append(unaligned.reshape(-1, 1))
    for cells in ([0.1, 0.2, 0.3], [0.1, 0.2, None]):
        tables += [
            pl.DataFrame({"a": pl.Series(cells, dtype=pl.Float64)}),
            pl.DataFrame({"a": pl.Series(cells, dtype=pl.Float32)}),
            pa.table({"a": pa.array(cells, pa.float64())}),
            pd.DataFrame({"a": pd.array(cells, dtype="Float64")}),
            pd.DataFrame({"a": pd.Series(cells, dtype="float64[pyarrow]")}),
            pd.DataFrame({"a": cells}),
        ]
    encoder.transform(tables[0])
    compiled = list(bin_columns.signatures)
    for table in tables:
        encoder.transform(table)
    assert len(seen) == 1
    assert bin_columns.signatures == compiled
    frozen = np.ones((3, 1))
    encoder.transform(frozen)
    assert frozen.flags.writeable
