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


class Color(str, enum.Enum):  # noqa: UP042 - the old mixin is the odd one: its str differs from its text
    RED = "a"


class Level(enum.IntEnum):
    ONE = 1


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
CELLS = st.one_of(
    st.integers(0, len(ODD) - 1).map(ODD.__getitem__),  # hypothesis would hash what is sampled
    st.integers(-3, 3),
    st.sampled_from(["a", "b", " a", "c", "1", "-1.0"]),
    st.booleans(),
    st.floats(),
    st.text(max_size=6),
    st.integers(),
)
