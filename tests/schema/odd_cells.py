"""Cells that a table may hold although no schema expects them."""

from __future__ import annotations

import datetime
import enum
import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st


class Hostile:
    """Raises or warns wherever Python lets a cell run code."""

    def __float__(self):
        warnings.warn("a record is talking", stacklevel=1)
        raise RuntimeError

    __str__ = __hash__ = __bool__ = __index__ = __len__ = __iter__ = __float__

    def __eq__(self, other):
        return True


class Impostor:
    """Equal to a declared value without being one."""

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        return True


class Named(type):
    """A class of classes that raises where a class itself is compared or looked up."""

    def __hash__(cls):
        raise RuntimeError

    def __eq__(cls, other):
        raise RuntimeError

    __subclasscheck__ = __instancecheck__ = __eq__


class OfNamed(metaclass=Named):
    """Its type cannot be hashed or compared."""

    @property
    def __class__(self):
        return str


class TalkingNumber(float):
    """A number that runs code when it is converted."""

    def __float__(self):
        warnings.warn("a record is talking", stacklevel=1)
        raise RuntimeError

    __str__ = __repr__ = __index__ = __int__ = __bool__ = __hash__ = __float__

    def __eq__(self, other):
        raise RuntimeError


class Zone(datetime.tzinfo):
    """A time zone that runs code."""

    def utcoffset(self, moment):
        warnings.warn("a record is talking", stacklevel=1)
        raise RuntimeError


class Color(str, enum.Enum):  # noqa: UP042 - the old mixin is the odd one: its str differs from its text
    RED = "a"


class Level(enum.IntEnum):
    ONE = 1


# Without a unit, as np.datetime64("NaT") was until numpy 2.5 began to warn of that.
NOT_A_TIME = np.array([np.iinfo(np.int64).min]).view("M8")[0]

ODD = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    pd.NA,
    pd.NaT,
    10**400,
    -(10**400),
    Fraction(10**400, 3),
    Decimal("1.5"),
    Decimal("sNaN"),
    1 + 2j,
    1 + 0j,
    complex(1, math.nan),
    np.complex128(1),
    np.datetime64("2020-01-01"),
    np.timedelta64(1, "s"),
    pd.Timestamp("2020-01-01"),
    datetime.date(2020, 1, 1),
    [1],
    [],
    {"a": 1},
    (1,),
    np.array([1.0]),
    np.array(1.0),
    Hostile(),
    Impostor(),
    Color.RED,
    Level.ONE,
    object(),
    Hostile,
    datetime.datetime(2020, 1, 1, tzinfo=Zone()),
    datetime.datetime(1, 1, 1, tzinfo=datetime.UTC),
    datetime.time(1, tzinfo=Zone()),
    datetime.timedelta(-1),
    pd.Timestamp("2020-01-01", tz="Europe/Berlin"),
    pd.Timedelta(1, "s"),
    pd.Interval(0, 1),
    pd.Period("2020"),
    np.datetime64(2**62, "s"),
    np.datetime64(1, "as"),
    np.timedelta64(1, "Y"),
    NOT_A_TIME,
    np.void(b"a"),
    memoryview(b"a"),
    np.longdouble("1e4000"),
    np.float32(0.1),
    np.str_("b"),
    b"a",
    b"1",
    b"\xff",
    bytearray(b"a"),
    "",
    " ",
    "?",
    "abc",
    "2020-01-01",
    "nan",
    "NaN",
    "None",
    "<NA>",
    "NaT",
    "inf",
    "-Infinity",
    "1e999",
    "1_0",
    "\u0661",
    "\ud800",
    "a\x00",
    "1\x00",
    " 1.0\t",
    "TRUE ",
    "false",
    "0x10",
    "+1.e0",
    ".5",
    ".",
    "1" * 5000,
    "x" * 100_000,
]
WORST = [OfNamed(), TalkingNumber(1)]  # not for hypothesis and pytest, which let them run their code
CELLS = st.one_of(
    st.integers(0, len(ODD) - 1).map(ODD.__getitem__),  # hypothesis would hash what is sampled
    st.integers(-3, 3),
    st.sampled_from(["a", "b", " a", "c", "1", "-1.0"]),
    st.booleans(),
    st.floats(),
    st.text(max_size=6),
    st.integers(),
)


def _not_text():
    """Text of which the last cell is not UTF-8, as a file or another program may deliver it."""
    offsets = np.array([0, 1, 2, 3], dtype=np.int32).tobytes()
    return pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"ab\xff")])


def _arrow(kind, odd):
    return pa.array([0, 1, odd], kind)


def _odd_arrays():
    """Yield (name, pyarrow array): its last cell has no Python object, or one that does not come easily."""
    far = 2**62
    yield "date32", _arrow(pa.date32(), 2**31 - 1)
    yield "date64", _arrow(pa.int64(), far).view(pa.date64())
    for unit in ("s", "ms", "us", "ns"):
        yield f"timestamp {unit}", _arrow(pa.timestamp(unit), far + 1)
        yield f"timestamp {unit} zone", _arrow(pa.timestamp(unit, "Europe/Berlin"), far)
        yield f"timestamp {unit} offset", _arrow(pa.timestamp(unit, "+01:00"), -far)
        yield f"duration {unit}", _arrow(pa.duration(unit), far)
    yield "timestamp unknown zone", _arrow(pa.timestamp("s", "Nowhere/None"), far)
    yield "time32", _arrow(pa.int32(), 86_400_000).view(pa.time32("ms"))
    yield "time64 us", _arrow(pa.int64(), far).view(pa.time64("us"))
    yield "time64 ns", _arrow(pa.int64(), -1).view(pa.time64("ns"))
    text = _not_text()
    yield "text", text
    yield "long text", pa.concat_arrays([text.cast(pa.binary()).cast(pa.large_binary()).view(pa.large_string())])
    yield "text view", text.cast(pa.binary()).cast(pa.binary_view()).view(pa.string_view())
    yield "dictionary", pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), text)
    yield (
        "dictionary of dates",
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), _arrow(pa.date32(), 2**31 - 1)),
    )
    yield "list", pa.ListArray.from_arrays([0, 1, 2, 3], _arrow(pa.date32(), 2**31 - 1))
    yield "struct", pa.StructArray.from_arrays([_arrow(pa.timestamp("us"), far)], ["a"])
    yield "interval", pa.array([(1, 1, 1), (2, 1, 1), (2**31 - 1, 2**31 - 1, far)], pa.month_day_nano_interval())


def odd_columns():
    """Yield (name, column of three cells), the last of which is the odd one."""
    for name, array in _odd_arrays():
        yield f"pyarrow {name}", pa.chunked_array([array])
        yield f"pyarrow array {name}", array
        yield f"pandas {name}", pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))
        yield f"pandas array {name}", pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))
    whole = pl.Series([0, 1, 2**62])
    yield "polars date", pl.Series([0, 1, 2**31 - 1], dtype=pl.Int32).cast(pl.Date)
    yield "polars time", pl.Series([datetime.time(0), datetime.time(1), datetime.time.max])
    for unit in ("ms", "us", "ns"):
        yield f"polars datetime {unit}", whole.cast(pl.Datetime(unit))
        yield f"polars datetime {unit} zone", whole.cast(pl.Datetime(unit, "Europe/Berlin"))
        yield f"polars duration {unit}", whole.cast(pl.Duration(unit))
    yield "polars text", pl.Series(_not_text())
    yield (
        "polars categorical",
        pl.from_arrow(pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), _not_text())),
    )
    # While tests are collected, no thread of polars may start, as by reshape: mutation trials are forks, which would wait for it.
    yield "polars list", pl.Series([[0], [1], [2**31 - 1]], dtype=pl.List(pl.Int32)).cast(pl.List(pl.Date))
    yield "polars struct", pl.DataFrame({"a": whole.cast(pl.Datetime("ms"))}).to_struct("s")
    yield "polars object", pl.Series([0, 1, Hostile()], dtype=pl.Object)
    yield "polars decimal", pl.Series([Decimal(0), Decimal(1), Decimal(10**30)])
    moments = np.array([0, 1, 2**62], dtype="M8[s]")
    yield "pandas numpy moments", pd.Series(moments)
    yield "pandas numpy durations", pd.Series(moments.view("m8[s]"))
    yield "pandas zone", pd.Series(moments).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    yield "pandas index", pd.Index(pd.arrays.ArrowExtensionArray(pa.chunked_array([_arrow(pa.date32(), 2**31 - 1)])))
    yield "pandas periods", pd.Series(pd.period_range("2020", periods=3))
    yield "pandas intervals", pd.Series(pd.interval_range(0, 3))
    yield (
        "pandas categories",
        pd.Series(pd.Categorical.from_codes([1, 0, 2], pd.Index(["b", "a", "\ud800"], dtype=object))),
    )
    yield "pandas categories of moments", pd.Series(pd.Categorical.from_codes([0, 1, 2], pd.Index(moments)))
    yield "pandas sparse", pd.Series(pd.arrays.SparseArray([0.0, 1.0, np.nan]))
    yield "numpy moments", moments
    yield "numpy text", np.array([ord("a"), ord("b"), 0x110000], dtype=np.uint32).view("U1")
