"""Ends of released ranges as entries of a schema: rounded outwards, and never a range of nothing."""

from __future__ import annotations

import pytest

from hedgerow.analysis.ranges import entry_of
from hedgerow.schema import Date, Integer, Numeric

RELEASE = "0" * 64
MOST = 2**51
LINE, DAYS = Numeric(0, 1), Date("2000-01-01", "2000-01-02")


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (1.2, 3.4, (1, 4)),
        (-5.5, -1.2, (-6, -1)),
        (2.0, 2.0, (2, 3)),  # an Integer has two values at least
        (-float(MOST), float(MOST), (-MOST, MOST)),
    ],
)
def test_whole_numbers_are_rounded_outwards(low, high, ends):
    entry = entry_of(LINE, low, high, True, RELEASE)
    assert type(entry) is Integer
    assert (entry.low, entry.high, entry.origin, entry.release) == (*ends, "released", RELEASE)


@pytest.mark.parametrize(
    ("low", "high", "whole"), [(0.0, MOST + 1.0, True), (-MOST - 1.0, 0.0, True), (1.2, 3.4, False)]
)
def test_ends_that_no_integer_has_are_those_of_numbers(low, high, whole):
    entry = entry_of(LINE, low, high, whole, RELEASE)
    assert type(entry) is Numeric
    assert (entry.low, entry.high, entry.origin, entry.release) == (low, high, "released", RELEASE)


SECOND = 1 / 86400


@pytest.mark.parametrize(
    ("low", "high", "whole", "ends"),
    [
        (0.2, 1.5, True, ("2000-01-01", "2000-01-03")),
        (-0.5, 0.0, True, ("1999-12-31", "2000-01-01")),
        (3.0, 3.0, True, ("2000-01-04", "2000-01-05")),
        (0.25 + 10.5 * SECOND, 0.25 + 20.5 * SECOND, False, ("2000-01-01 06:00:10", "2000-01-01 06:00:21")),
        (0.25, 0.25, False, ("2000-01-01 06:00:00", "2000-01-01 06:00:01")),
    ],
)
def test_dates_are_rounded_outwards_to_days_or_seconds(low, high, whole, ends):
    entry = entry_of(DAYS, low, high, whole, RELEASE)
    assert type(entry) is Date
    assert tuple(end.replace("T", " ") for end in entry.ends) == ends
    assert (entry.origin, entry.release) == ("released", RELEASE)
