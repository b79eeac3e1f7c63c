"""The rule for one cell, and that every fast path is that rule."""

from __future__ import annotations

import math
import time as clock
import warnings
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.reading.cells import (
    CategoryReader,
    as_objects,
    category_key,
    number,
    numbers,
    object_array,
    time_cells,
)
from hedgerow.reading.formats import PLAIN

from .odd_cells import CELLS, NOT_A_TIME, ODD, WORST, Color, Hostile, Impostor, Level, TalkingNumber


def same(left, right):
    return np.array_equal(left, right, equal_nan=True)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (1, 1),
        ("1", 1),
        (" 1e3 ", 1000),
        (True, 1),
        ("tRuE", 1),
        ("False\n", 0),
        (b"true", 1),
        (b" 2", 2),
        (Decimal("1.5"), 1.5),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        ("-1e999", -math.inf),
        (np.float32(0.5), 0.5),
        (Level.ONE, 1),
        *((cell, math.nan) for cell in (None, pd.NA, pd.NaT, "", "?", [1], 1j, complex(1, np.nan), Hostile(), "1 2")),
        *(
            (cell, math.nan)
            for cell in (
                np.array(1.0),
                memoryview(b"1"),
                bytearray(b"1"),
                Fraction(1, 4),
                pd.Timedelta(1),
                np.longdouble(1),
                np.clongdouble(2),
                np.complex64(2),
                2 + 0j,
                date(2020, 1, 1),
            )
        ),
        (np.datetime64("2020-01-01"), math.nan),
        (np.timedelta64(1, "s"), math.nan),
        (pd.Timestamp("2020-01-01"), math.nan),
        (np.array([1.0]), math.nan),
    ],
)
def test_one_number(cell, value):
    assert same(numbers(object_array([cell], 1)), [value])


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        *((cell, 0) for cell in ("a", " a\t", b"a", Color.RED, np.str_("a"))),
        *((cell, 1) for cell in (1, 1.0, True, "1", "true", "1.00", "+1e0", np.int8(1), b"1", Level.ONE, Decimal(1))),
        *((cell, 2) for cell in (-0.5, "-.5", np.float16(-0.5))),
        *((cell, 3) for cell in ("None", " None ")),
        *(
            (cell, 4)
            for cell in (None, math.nan, pd.NA, pd.NaT, "", " ", "nan", "NAN", "<NA>", "NaT", "?", " ?", 99, "99.0")
        ),
        *(
            (cell, 5)
            for cell in (
                "A",
                "b",
                2,
                "1_0",
                "\u0661",
                math.inf,
                "none",
                "abc",
                "na",
                "nann",
                "\ud800",
                "inf",
            )
        ),
        (NOT_A_TIME, 4),
        (np.datetime64("NaT", "s"), 4),
        *((cell, 4) for cell in ([1], Hostile(), Impostor(), object(), 1j, 1 + 0j, np.complex64(1), np.longdouble(1))),
        *((cell, 4) for cell in (timedelta(1), pd.Timedelta(1), np.timedelta64(1, "s"), time(12), Fraction(1, 4))),
        (np.float32(0.1), 5),
    ],
)
def test_one_category(cell, code):
    reader = CategoryReader(["a", 1, -0.5, "None"], ["?", "99", "a"])
    assert reader.code(cell) == code
    assert reader.codes(object_array([cell], 1)).tolist() == [code]


@settings(deadline=None)
@given(st.lists(CELLS, max_size=40), st.integers(0, 2))
def test_fast_paths_follow_the_rule_for_one_cell(cells, padding):
    """Blocks with odd cells at any place, beside much text or none, are read cell by cell."""
    cells = cells + [["1.5", "a", "1.5", None], [2, 3.5, True, None]][padding % 2] * (16 * padding) + cells
    array = object_array(cells, len(cells))
    reader = CategoryReader(["a", 1, -1, "c"], ["?"])
    values = [number(cell) for cell in cells]
    codes = [reader.code(cell) for cell in cells]
    assert same(numbers(array), values)
    assert reader.codes(array).tolist() == codes


@settings(deadline=None)
@given(
    st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.uint64, np.int8, np.bool_]),
    st.lists(st.one_of(st.integers(-3, 3), st.integers(0, 2**64 - 1), st.floats(), st.just(2**53 + 1)), max_size=20),
)
def test_machine_numbers_are_read_like_objects(dtype, values):
    with np.errstate(all="ignore"):
        array = object_array(values, len(values)).astype(np.float64).astype(dtype)
    objects = object_array(list(array), len(values))
    reader = CategoryReader(["a", 1, -1, 2.0**53], ["3"])
    assert same(numbers(array), numbers(objects))
    assert reader.codes(array).tolist() == reader.codes(objects).tolist()
    assert CategoryReader(["a"]).codes(array).tolist() == CategoryReader(["a"]).codes(objects).tolist()


@pytest.mark.parametrize(
    "array",
    [
        np.array(["1", "a", "nan", "true"]),
        np.array([b"1", b"a", b""]),
        np.array([1 + 0j, 2, 1j, np.nan, complex(1, np.nan)]),
        np.array([1, np.nan, 7], dtype=np.longdouble),
        np.array([(1, 2)], dtype="i8, i8"),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.array([1, 2], dtype="m8[s]"),
    ],
)
def test_other_dtypes_are_read_like_objects(array):
    objects = object_array(list(array), len(array))
    reader = CategoryReader(["a", 1, "2020-01-01 00:00:00"])
    assert same(numbers(array), numbers(objects))
    assert reader.codes(array).tolist() == reader.codes(objects).tolist()


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789+-.eE _x", max_size=8))
def test_decimal_text_is_what_float_reads_without_its_liberties(text):
    key = category_key(text)
    if isinstance(key, float):
        assert key == float(text)
    elif "_" not in text:
        with pytest.raises(ValueError, match="could not convert"):
            float(text)


HOUR = timezone(timedelta(hours=1))
MOMENT = datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (date(2020, 1, 1), "2020-01-01"),
        (np.datetime64("2020-01-01"), "2020-01-01"),
        (np.datetime64("2020-01-02", "W"), "2020-01-02"),  # a Thursday, with which numpy's weeks begin
        *((cell, "2020-01-01 12:00:00") for cell in (MOMENT, pd.Timestamp(MOMENT), np.datetime64(MOMENT, "h"))),
        (datetime(1, 1, 1), "0001-01-01 00:00:00"),
        (MOMENT.replace(microsecond=5), "2020-01-01 12:00:00.000005"),
        (np.datetime64("2020-01-01T12:00:00.000000001"), "2020-01-01 12:00:00.000000001"),
        (pd.Timestamp("2020-01-01 12:00:00.000000001"), "2020-01-01 12:00:00.000000001"),
        (pd.Timestamp("2020-01-01 12:00:00.000000001", tz=HOUR), "2020-01-01 12:00:00.000000001+01:00"),
        *((cell, "2020-01-01 12:00:00+01:00") for cell in (MOMENT.replace(tzinfo=HOUR), pd.Timestamp(MOMENT, tz=HOUR))),
        (pd.Timestamp(MOMENT, tz="Europe/Berlin"), "2020-01-01 12:00:00+01:00"),
        (MOMENT.replace(tzinfo=UTC), "2020-01-01 12:00:00+00:00"),
    ],
)
def test_times_are_the_text_of_pythons_own(cell, text):
    assert category_key(cell) == text
    assert CategoryReader([text]).codes(object_array([cell], 1)).tolist() == [0]
    if isinstance(cell, np.generic):
        assert CategoryReader([text]).codes(np.array([cell])).tolist() == [0]


@pytest.mark.parametrize("dtype", ["M8[Y]", "M8[W]", "M8[D]", "M8[s]", "M8[as]", "m8[Y]", "m8[D]", "m8[s]", "m8"])
def test_times_without_a_text_are_missing(dtype):
    times = np.array([2**62, -(2**62), np.iinfo(np.int64).min]).view(dtype)
    for cells in (times, times.astype(times.dtype.newbyteorder()), object_array(times, 3)):
        assert CategoryReader(["a"]).codes(cells).tolist() == [1, 1, 1]
        assert np.isnan(numbers(cells)).all()


MICROSECONDS = {
    "ns": Fraction(1, 1000),
    "us": 1,
    "ms": 1000,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 3600 * 10**6,
    "D": 86_400 * 10**6,
    "W": 7 * 86_400 * 10**6,
}


@settings(deadline=None)
@given(
    st.sampled_from(list(MICROSECONDS)),
    st.integers(1, 3),
    st.one_of(st.integers(-50, 50), st.integers(-(2**44), 2**44)),
)
def test_counts_of_any_unit_are_the_text_of_the_same_time(unit, many, count):
    """numpy's times are counts of a unit; Python's know microseconds, behind which nanoseconds are three digits more."""
    whole, rest = divmod(count * many * MICROSECONDS[unit], 1)
    digits = f"{int(rest * 1000):03d}" if rest else ""
    point = zoned = None
    with suppress(OverflowError):  # what Python's types cannot hold has no text
        span = timedelta(microseconds=int(whole))
        fraction = "" if span.microseconds or not digits else ".000000"
        moment = datetime(1970, 1, 1) + span
        point = zoned = str(moment.date()) if unit in "DW" else f"{moment}{fraction}{digits}"
        if unit not in "DW":
            zoned = None
            there = str(moment.replace(tzinfo=UTC).astimezone(HOUR))
            zoned = f"{there[:-6]}{fraction}{digits}{there[-6:]}"
    nothing = np.iinfo(np.int64).min
    moments = np.array([count, nothing, count]).view(f"M8[{many}{unit}]")
    assert time_cells(moments).tolist() == [point, None, point]
    assert time_cells(moments, HOUR).tolist() == [zoned, None, zoned]


def test_a_derived_class_is_read_as_what_lies_beneath():
    cells = object_array([TalkingNumber(2), Color.RED, Level.ONE], 3)  # not as parameters: pytest would convert them
    assert same(numbers(cells), [2, np.nan, 1])
    assert CategoryReader(["a", 1, 2]).codes(cells).tolist() == [2, 0, 1]


@pytest.mark.parametrize("action", ["error", "always"])
def test_no_cell_makes_the_library_warn_or_runs_its_own_code(action):
    class Talker:
        def __float__(self):
            calls.append(self)
            warnings.warn("a record is talking", stacklevel=1)
            return 2.0

        __str__ = __repr__ = __hash__ = __index__ = __int__ = __bool__ = __len__ = __float__

        def __eq__(self, other):
            calls.append(self)
            return True

    calls = []
    cells = object_array([Talker(), "a", np.complex128(1), 10**400], 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        assert same(numbers(cells), [np.nan, np.nan, np.nan, np.inf])
        assert CategoryReader(["a", 1]).codes(cells).tolist() == [2, 0, 2, 3]
        odd = object_array(ODD + WORST, len(ODD + WORST))
        numbers(odd)
        CategoryReader(["a", 1]).codes(odd)
    assert caught == []
    assert calls == []


def test_moments_of_a_zone_are_in_utc_wherever_this_process_runs(monkeypatch):
    times, zone = np.array(["2020-01-01T12:00"], dtype="M8[m]"), timezone(timedelta(hours=3))
    try:
        for here in ("UTC", "XYZ-9"):
            monkeypatch.setenv("TZ", here)
            clock.tzset()
            assert time_cells(times, zone).tolist() == ["2020-01-01 15:00:00+03:00"]
    finally:
        monkeypatch.undo()
        clock.tzset()


@pytest.mark.parametrize("unit", ["Y", "M", "ps"])
def test_times_of_a_length_that_python_does_not_know_have_no_text(unit):
    assert time_cells(np.array([0, 1], dtype="i8").view(f"M8[{unit}]")).tolist() == [None] * 2


class Listening(type):
    """A kind of classes that notices who reads their attributes."""

    asked: ClassVar[list[str]] = []

    def __getattribute__(cls, name):
        type.__getattribute__(Listening, "asked").append(name)
        return type.__getattribute__(cls, name)


@pytest.mark.parametrize("kind", [type, Listening])
def test_a_zone_of_another_class_runs_no_code(kind):
    asked = []

    class Berlin(tzinfo, metaclass=kind):
        zone = "Europe/Berlin"

        def utcoffset(self, moment):
            asked.append(moment)
            return timedelta(hours=1)

    reader, cell = CategoryReader(["2020-01-01 12:00:00+01:00"]), datetime(2020, 1, 1, 12, tzinfo=Berlin())
    Listening.asked.clear()
    assert reader.code(cell) == reader.missing
    assert not asked
    assert not Listening.asked


def test_markers_of_missing_cells_that_are_numbers():
    found = PLAIN.markers(["?", "-1", "", "9.5"])
    assert found.tolist() == [-1, 9.5]
    assert PLAIN.markers([]).dtype == np.float64


def test_text_of_numpy_that_holds_no_character_costs_its_own_cell_alone():
    cells = np.array(["a", "b", "c"])
    cells.view(np.uint32)[1] = 0x110000  # beyond the last character
    assert as_objects(cells).tolist() == ["a", None, "c"]
    assert CategoryReader(["a", "c"]).codes(cells).tolist() == [0, 2, 1]


def test_codes_of_numbers_are_32_bits_wide_and_a_nan_is_missing():
    reader = CategoryReader([1, 2.5, "x"])
    codes = reader.codes(np.array([math.nan, 2.5, 1, 7]))
    assert codes.tolist() == [reader.missing, 1, 0, reader.undeclared]
    assert codes.dtype == np.int32
    assert reader.codes(object_array(["x", None, 1], 3)).dtype == np.int32
    assert reader.codes(object_array(["x", None, 1], 3)).tolist() == [2, reader.missing, 0]
