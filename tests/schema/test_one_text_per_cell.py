"""A cell has one meaning, whatever holds it: each dtype's cells are what this table says, under every tested version."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hedgerow.errors import SchemaError
from hedgerow.reading import cells
from hedgerow.reading.cells import category_key
from hedgerow.reading.columns import read_columns

BERLIN = "Europe/Berlin"
SUMMER = datetime(2020, 7, 1, 12, 30)  # in UTC; without it, where nothing has a zone
LATE = datetime(2055, 7, 1, 12, 30)  # pytz knows no daylight saving time then, zoneinfo does
DAYS = [timedelta(1, 5), None, -timedelta(1, 5)]
HOURS = [time(12, 30), None, time(0, 0, 0, 5)]
DECIMALS = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}  # the first two came with pyarrow 19


def arrow(values, kind):
    return pa.array(values, kind)


def behind_pandas(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, kind)])))


def in_zone(values, zone):
    return pd.Series(pd.DatetimeIndex(values).tz_localize("UTC").tz_convert(zone))


def texts():
    cells = ["b ", None, "1.0"]
    kinds = ["object", "string", "string[python]", "string[pyarrow]", "category", None]
    kinds += [pd.StringDtype("pyarrow_numpy")] if pd.__version__.startswith("2.") else []
    kinds += (
        [] if pd.__version__.startswith("2.2") else [pd.StringDtype(kind, np.nan) for kind in ("python", "pyarrow")]
    )
    for kind in kinds:
        yield f"pandas {kind!r}", pd.Series(cells, dtype=kind)
    yield "pandas index", pd.Index(cells)
    for name in ("string", "large_string", "string_view"):
        yield f"pyarrow {name}", arrow(cells, getattr(pa, name)())
        yield f"pandas pyarrow {name}", behind_pandas(cells, getattr(pa, name)())
    yield "pyarrow dictionary", arrow(cells, pa.string()).dictionary_encode()
    for kind in (pl.String, pl.Categorical, pl.Enum(["1.0", "b "])):
        yield f"polars {kind}", pl.Series(cells, dtype=kind)
    yield "numpy StringDType", np.array(cells, dtype=np.dtypes.StringDType(na_object=None))
    cells = [b"b ", None, b"1.0"]
    yield "polars bytes", pl.Series(cells)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield f"pyarrow {kind}", arrow(cells, kind)
        yield f"pandas pyarrow {kind}", behind_pandas(cells, kind)
    cells = [b"b  ", None, b"1.0"]
    yield "pyarrow fixed length", arrow(cells, pa.binary(3))
    yield "pandas pyarrow fixed length", behind_pandas(cells, pa.binary(3))


def truths():
    cells = [True, None, False]
    for kind in ("object", "boolean", "category", None):
        yield f"pandas {kind}", pd.Series(cells, dtype=kind)
    yield "pandas pyarrow", behind_pandas(cells, pa.bool_())
    yield "pyarrow", arrow(cells, pa.bool_())
    yield "polars", pl.Series(cells)


def whole_numbers():
    cells = [3, None, 120]
    for kind in ("Int8", "UInt8", "Int64", "UInt64", "Float32", "Float64", "object", "category", None):
        yield f"pandas {kind}", pd.Series(cells, dtype=kind)
    yield "pandas sparse", pd.Series(pd.arrays.SparseArray([3, np.nan, 120]))
    kinds = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]
    decimals = [(name, digits) for name, digits in DECIMALS.items() if hasattr(pa, name)]
    for kind in kinds + [getattr(pa, name)(digits, 2) for name, digits in decimals]:
        change = np.float16 if pa.types.is_float16(kind) else Decimal if pa.types.is_decimal(kind) else int
        changed = [None if cell is None else change(cell) for cell in cells]
        yield f"pyarrow {kind}", arrow(changed, kind)
        yield f"pandas pyarrow {kind}", behind_pandas(changed, kind)
    yield "pyarrow dictionary", arrow(cells, pa.int64()).dictionary_encode()
    kinds = [pl.Int8, pl.UInt64, pl.Float32, pl.Decimal(10, 1)]
    for kind in kinds + [getattr(pl, name) for name in ("Float16",) if hasattr(pl, name)]:
        yield f"polars {kind}", pl.Series(cells, dtype=pl.Int64).cast(kind)


def moments():
    cells = [SUMMER, None, LATE]
    for unit in ("s", "ms", "us", "ns"):
        times = np.array(cells, dtype=f"M8[{unit}]")
        yield f"numpy {unit}", times
        yield f"pandas {unit}", pd.Series(times)
        yield f"pandas objects {unit}", pd.Series(times).astype(object)
        yield f"pandas categories {unit}", pd.Series(times).astype("category")
        yield f"pyarrow {unit}", arrow(cells, pa.timestamp(unit))
        yield f"pandas pyarrow {unit}", behind_pandas(cells, pa.timestamp(unit))
    # polars' own reading of moments would start threads, for which a fork of this process, as of mutation trials, would wait.
    for unit in ("ms", "us", "ns"):
        yield f"polars {unit}", pl.from_arrow(arrow(cells, pa.timestamp(unit)))
    yield "pandas guessed", pd.Series(cells)
    yield "pandas parsed", pd.to_datetime(pd.Series(["2020-07-01 12:30", None, "2055-07-01 12:30"]))


def zoned_moments(zone):
    cells = [SUMMER, None, LATE]
    for unit in ("s", "ms", "us", "ns"):
        series = in_zone(np.array(cells, dtype=f"M8[{unit}]"), zone)
        yield f"pandas {unit}", series
        yield f"pandas objects {unit}", series.astype(object)
        yield f"pandas categories {unit}", series.astype("category")
        yield f"pyarrow {unit}", arrow(cells, pa.timestamp(unit, zone))
        yield f"pandas pyarrow {unit}", behind_pandas(cells, pa.timestamp(unit, zone))
    series = in_zone(cells, zone)
    yield "pandas list", series.tolist()
    yield "pandas index", pd.Index(series)
    yield "pandas as Python", [cell.to_pydatetime() for cell in series]
    yield "pyarrow as Python", arrow(cells, pa.timestamp("us", zone)).to_pylist()
    yield "pyarrow as pandas", arrow(cells, pa.timestamp("us", zone)).to_pandas()
    if ":" not in zone:  # polars has names only
        yield "polars", pl.from_arrow(arrow(cells, pa.timestamp("us", zone)))


def dates():
    cells = [date(2020, 7, 1), None, date(1, 1, 1)]
    yield "numpy", np.array(cells, dtype="M8[D]")
    yield "pandas", pd.Series(cells)
    for kind in (pa.date32(), pa.date64()):
        yield f"pyarrow {kind}", arrow(cells, kind)
        yield f"pandas pyarrow {kind}", behind_pandas(cells, kind)
    yield "polars", pl.Series(cells)


def without_meaning():
    yield "pandas periods", pd.Series(pd.PeriodIndex(["2020-01", None, "2020-03"], freq="M"))
    yield "pandas intervals", pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), None, (1, 2)]))
    yield "pyarrow lists", arrow([[1], None, []], pa.list_(pa.int64()))
    yield "pyarrow structs", arrow([{"a": 1}, None, {"a": 2}], pa.struct({"a": pa.int64()}))
    yield "polars lists", pl.Series([[1], None, [2]])
    yield "polars structs", pl.Series([{"a": 1}, None, {"a": 2}], dtype=pl.Struct({"a": pl.Int64}))
    yield "numpy complex numbers", np.array([1 + 0j, 2])
    yield "numpy long doubles", np.array([1, 2], dtype=np.longdouble)
    yield "masked complex numbers", np.ma.array([1j, 2], mask=[True, False])
    for kind in ("Int128", "UInt128"):
        if hasattr(pl, kind):
            yield f"polars {kind}", pl.Series([3, None, 120], dtype=pl.Int64).cast(getattr(pl, kind))
    yield "pyarrow runs", pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(["a", "b"]))
    yield "pandas zone of dateutil", in_zone([SUMMER, None, LATE], f"dateutil/{BERLIN}")
    for unit in ("s", "ms", "us", "ns"):
        times = np.array(DAYS, dtype=f"m8[{unit}]")
        yield f"numpy durations {unit}", times
        yield f"pandas durations {unit}", pd.Series(times)
        yield f"pyarrow durations {unit}", arrow(DAYS, pa.duration(unit))
        yield f"pandas pyarrow durations {unit}", behind_pandas(DAYS, pa.duration(unit))
    yield "polars durations", pl.Series(DAYS)
    for kind in (pa.time64("us"), pa.time64("ns")):
        yield f"pyarrow {kind}", arrow(HOURS, kind)
        yield f"pandas pyarrow {kind}", behind_pandas(HOURS, kind)
    yield "polars times of day", pl.Series(HOURS)


TABLE = {
    "texts": (texts(), ["b", None, 1.0]),
    "truths": (truths(), [1.0, None, 0.0]),
    "whole numbers": (whole_numbers(), [3.0, None, 120.0]),
    "moments": (moments(), ["2020-07-01 12:30:00", None, "2055-07-01 12:30:00"]),
    "Berlin": (zoned_moments(BERLIN), ["2020-07-01 14:30:00+02:00", None, "2055-07-01 14:30:00+02:00"]),
    "UTC": (zoned_moments("UTC"), ["2020-07-01 12:30:00+00:00", None, "2055-07-01 12:30:00+00:00"]),
    "offset": (zoned_moments("-03:30"), ["2020-07-01 09:00:00-03:30", None, "2055-07-01 09:00:00-03:30"]),
    "dates": (dates(), ["2020-07-01", None, "0001-01-01"]),
}
ROWS = [
    pytest.param(column, expected, id=f"{kind}: {name}")
    for kind, (columns, expected) in TABLE.items()
    for name, column in columns
]


@pytest.mark.parametrize(("column", "expected"), ROWS)
def test_a_cell_is_what_the_table_says(column, expected):
    columns = read_columns({"a": column})
    keys = [None if isinstance(one, float) and math.isnan(one) else one for one in map(category_key, columns.cells(0))]
    assert keys == expected
    numbers = [one if isinstance(one, float) else math.nan for one in expected]
    assert np.array_equal(cells.numbers(columns.cells(0)), numbers, equal_nan=True)


@pytest.mark.parametrize("column", [pytest.param(column, id=name) for name, column in without_meaning()])
def test_a_type_without_meaning_is_refused(column):
    with pytest.raises(SchemaError, match="no cell could be read"):
        read_columns({"a": column})
    columns = read_columns({"a": column}, check_types=False)  # as batches are read, of which nothing may be refused
    assert columns.cells(0).tolist() == [None] * len(column)
    assert np.isnan(cells.numbers(columns.cells(0))).all()


def test_a_cell_without_meaning_in_a_column_of_objects_is_missing_alone():
    cells = [
        1,
        1j,
        np.longdouble(1),
        timedelta(1),
        time(12),
        np.timedelta64(1, "s"),
        pd.Timedelta(1),
        pd.Period("2020"),
        [1],
    ]
    keys = [category_key(cell) for cell in read_columns({"a": pd.Series([*cells, "1"], dtype=object)}).cells(0)]
    assert keys == [1.0, *[None] * (len(cells) - 1), 1.0]
