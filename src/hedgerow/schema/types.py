"""Numbers and categories with a meaning of their own: whole numbers, dates, truth values, and the outcome of a regression."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.errors import SchemaError, require
from hedgerow.reading.cells import Cells
from hedgerow.reading.columns import Holds
from hedgerow.reading.formats import NO_MOMENT, SECONDS, DateFormat, Unit, date_reader, date_text, microseconds
from hedgerow.schema.features import Categorical, Feature, Numeric, Value

LARGEST = 2**51  # halves between whole numbers are exact up to here
# Of the grid of an outcome at most: a millionth of the range is below any noise, and sums of 2**31 residuals fit 64 bits.
STEPS = 1 << 20
NARROWEST, FARTHEST = 1e-30, 1e30  # between them fourth powers of steps and of ranges are finite and not zero


class _Whole(Numeric):
    """A range of whole numbers. The numbers of values in two bins differ by at most one."""

    below = 0.0  # the distance from the start of a bin to its first whole number

    def bin_edges(self, max_bins: int) -> Floats:
        if self.cuts is not None:
            return super().bin_edges(max_bins)
        count = int(self.high - self.low) + 1
        bins = min(max_bins, count)
        super().bin_edges(min(bins, 1))  # raises an error for an invalid number of bins
        steps = np.arange(1, bins, dtype=np.int64)
        firsts = steps * (count // bins) + steps * (count % bins) // bins
        return np.asarray(self.low + firsts - self.below, dtype=np.float64)

    def _has_value_from(self, cut: float) -> bool:
        return cut <= self.high

    def interval_label(self, first: int, last: int, max_bins: int) -> str:
        ends = [self.low, *self.bin_edges(max_bins).tolist(), self.high + 1]
        low, high = math.ceil(ends[first]), math.ceil(ends[last + 1]) - 1
        if low > high:  # between cut points without a whole number between them
            return super().interval_label(first, last, max_bins)
        return self.end_text(low) if low == high else f"{self.end_text(low)} to {self.end_text(high)}"

    def edge_label(self, edge: float) -> str:
        return self.end_text(math.ceil(edge))

    def end_text(self, end: float) -> str:
        return str(int(end))


@dataclass(frozen=True, repr=False)
class Integer(_Whole):
    """A feature of whole numbers with a public range, both ends included.

    Parameters
    ----------
    low, high
        The range. Values outside it are clipped to it. Values that are not numbers are missing.
    cuts
        Public cut points in ascending order, above ``low`` and at most ``high``: 18 separates 17 from 18. Without them, all bins
        have the same number of values, or one more, and cut points are between whole numbers, so that 4.9999 is read as 5.
    decimal, thousands, amounts, missing, origin, release, reason
        As for ``Numeric``.

    Raises
    ------
    SchemaError
        As for ``Numeric``, and if an end is not a whole number or is beyond 2**51.

    Examples
    --------
    >>> children = Integer(0, 8)
    >>> [children.code_label(code, 3) for code in range(4)]
    ['0 to 2', '3 to 5', '6 to 8', 'missing']
    """

    below = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for end in (self.low, self.high):
            is_whole = end.is_integer() and abs(end) <= LARGEST
            require(
                is_whole, "an end of hr.Integer", end, "a whole number up to 2**51; use hr.Numeric for other ranges"
            )

    def _plain(self, name: str) -> Any:
        value = super()._plain(name)
        return int(value) if name in ("low", "high") else value


@dataclass(frozen=True, repr=False)
class Date(_Whole):
    """A feature of dates or moments with a public range, both ends included.

    Parameters
    ----------
    low, high
        The range: dates and moments of Python, numpy or pandas, or ISO 8601 text. If both ends are dates, bins are of whole days;
        if an end has a time of day, bins are of whole seconds. The ends are stored as days or seconds since 1970.
    cuts
        Public cut points in ascending order, after ``low`` and at most ``high``. Each of them begins a bin.
    date_format
        The format of text that is not in ISO 8601, such as "%d.%m.%Y", with ``%d %m %Y %y %H %M %S``. None: no such text is read.
    missing, origin, release, reason
        As for ``Numeric``.

    Attributes
    ----------
    unit : {"day", "second"}
        The unit in which the range counts.

    Raises
    ------
    SchemaError
        If an end or a cut is not a date, the range is empty, or the format is invalid.

    Notes
    -----
    A cell is a date, a moment, or ISO 8601 text of one. A moment with an offset is converted to UTC; without one, it is not
    converted. Everything else is missing, including numbers. A marker in ``Schema.missing`` that is a date, such as "9999-12-31",
    matches every text of that moment.

    Examples
    --------
    >>> admitted = Date("2020-01-01", "2023-12-31")
    >>> admitted.code_label(0, 4)
    '2020-01-01 to 2020-12-30'
    """

    unit: Unit = field(default="day", init=False)
    date_format: str | None = field(default=None, kw_only=True)
    decimal: str = field(default=".", init=False)
    thousands: str = field(default="", init=False)
    amounts: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.date_format is not None:
            DateFormat(self.date_format)
        ends = [_moment(end, "end") for end in (self.low, self.high)]
        unit: Unit = "second" if any(has_time for _, has_time in ends) else "day"
        object.__setattr__(self, "unit", unit)
        for name, (moment, _) in zip(("low", "high"), ends, strict=True):
            object.__setattr__(self, name, float(moment // (10**6 * SECONDS[unit])))
        super().__post_init__()

    def _checked_cuts(self, given: Iterable[Any]) -> tuple[float, ...] | None:
        unit = 10**6 * SECONDS[self.unit]
        if isinstance(given, Iterable) and not isinstance(given, str):
            given = [cut if isinstance(cut, float) else float(_moment(cut, "cut point")[0] // unit) for cut in given]
        return super()._checked_cuts(given)

    def end_text(self, end: float) -> str:
        return date_text(int(end), self.unit)

    @property
    def ends(self) -> tuple[str, str]:
        """The ends as text."""
        return self.end_text(self.low), self.end_text(self.high)

    @property
    def end(self) -> float:
        """Where the last bin ends: a day or a second after its last one begins."""
        return self.high + 1

    def reader(self, missing: Sequence[str] = ()) -> Callable[[Cells], Floats]:
        """Return a function that reads the cells of one column as float64, NaN if missing; ``missing`` are further markers."""
        form = None if self.date_format is None else DateFormat(self.date_format)
        return date_reader(self.unit, (*missing, *self.missing), form)

    @property
    def reads_text(self) -> bool:
        """Whether columns need the feature's own ``reader``: always, because a date is not a number."""
        return True

    def takes(self, holds: Holds) -> bool:
        """Return whether a column whose cells are all of one kind, by its type, can hold dates."""
        return holds != "unreadable"

    def _plain(self, name: str) -> Any:
        if name in ("low", "high"):
            return self.end_text(getattr(self, name))
        if name == "cuts":  # a cut point within a day or a second stays a number
            return [self.end_text(cut) if float(cut).is_integer() else cut for cut in self.cuts or ()]
        return super()._plain(name)


@dataclass(frozen=True, repr=False)
class Boolean(Categorical):
    """A feature that is true or false.

    Its categories are False and True. 0 and 1, and the texts "true" and "false" in any case, are the same values.

    Parameters
    ----------
    missing, origin, release, reason
        As for ``Numeric``.

    Examples
    --------
    >>> Boolean().values
    (False, True)
    """

    values: Sequence[Value] = field(default=(False, True), init=False)
    as_text: bool = field(default=False, init=False)


def _moment(value: Any, what: str) -> tuple[int, bool]:
    found = microseconds(value)
    require(found != NO_MOMENT, f"the {what} of a date feature", value, 'a date or ISO 8601 text such as "2024-12-31"')
    plain = isinstance(value, date) and not isinstance(value, datetime)
    has_time = ":" in value if isinstance(value, str) else not plain and ":" in str(value)
    require(not has_time or found % 10**6 == 0, f"the {what} of a date feature", value, "a moment of whole seconds")
    return found, has_time


@dataclass(frozen=True)
class OutcomeGrid:
    """The public grid on which outcomes are integers: the codes 0 and ``steps`` are the ends of the range.

    Examples
    --------
    >>> grid = OutcomeGrid(0, 10, 100)
    >>> grid.codes(np.array([-3, 0.12, 10, np.nan]))
    array([  0,   1, 100,  -1])
    """

    low: float
    high: float
    steps: int

    @property
    def step(self) -> float:
        return (self.high - self.low) / self.steps

    def codes(self, values: npt.ArrayLike) -> Integers:
        """Return the nearest point of each value, of the same shape. A value beyond the range gets an end, NaN gets -1."""
        given = np.asarray(values, dtype=np.float64)
        known = np.where(np.isnan(given), self.low, given).clip(self.low, self.high)
        codes = np.rint((known - self.low) / (self.high - self.low) * self.steps).astype(np.int64)
        return np.where(np.isnan(given), -1, codes)

    def values(self, codes: npt.ArrayLike) -> Floats:
        """Return the values of codes, of the same shape. A code may be beyond the ends, or between two points."""
        share = np.asarray(codes, dtype=np.float64) / self.steps
        return np.asarray(self.low * (1 - share) + self.high * share)


def grid_of(outcome: Numeric) -> OutcomeGrid:
    steps = STEPS
    if isinstance(outcome, Integer):
        width = int(outcome.high - outcome.low)
        steps = width * max(1, STEPS // width) if width < STEPS else STEPS
    return OutcomeGrid(outcome.low, outcome.high, steps)


def check_outcome(outcome: Feature) -> Numeric:
    if not isinstance(outcome, Numeric) or isinstance(outcome, Date):
        raise SchemaError(
            f"The outcome is {outcome!r}, but it is a number with a public range. Pass hr.Numeric(low, high), or hr.Integer(low, "
            "high) for counts; for labels pass classes."
        )
    if outcome.cuts is not None:
        raise SchemaError(
            f"The outcome has cut points, but it is never in bins. Pass hr.{type(outcome).__name__}({outcome.low:g}, "
            f"{outcome.high:g})."
        )
    if max(-outcome.low, outcome.high) > FARTHEST or outcome.high - outcome.low < NARROWEST:
        raise SchemaError(
            f"The outcome's range is {outcome.in_words()}, but it must be at least {NARROWEST:g} wide and within {-FARTHEST:g} "
            f"and {FARTHEST:g}, so that squared errors are finite. Pass the outcome, and its range, in another unit."
        )
    return outcome


def as_outcome(released: Numeric) -> Numeric:
    """Return a released range as that of an outcome: what is too far or too narrow is moved, because the budget is spent."""
    low = min(max(released.low, -FARTHEST), FARTHEST / 2)
    high = max(min(released.high, FARTHEST), -FARTHEST / 2)
    if high - low < NARROWEST:
        low, high = low - NARROWEST, high + NARROWEST
    return replace(released, low=low, high=high)
