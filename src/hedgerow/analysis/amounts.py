"""Columns as numbers on a line: numbers themselves, and moments as days since 2000, of which a fraction is a time of day."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.schema import Date, Integer, Numeric
from hedgerow.schema.cells import Cells
from hedgerow.schema.features import Feature
from hedgerow.schema.formats import SECONDS, DateFormat, DateReader, date_text

DAY = SECONDS["day"]
ORIGIN = (date(2000, 1, 1) - date(1970, 1, 1)).days  # most dates lie near it, where an exponential grid is fine
FIRST, LAST = ((day - date(2000, 1, 1)).days for day in (date.min, date.max))
MOST_WHOLE = 2**51  # ends of ``Integer``


def reader_of(feature: Feature, missing: Sequence[str]) -> Callable[[Cells], npt.NDArray[np.float64]]:
    """Return what reads the cells of a column as numbers on its line, each by itself; NaN where there is none."""
    if not isinstance(feature, Date):
        assert isinstance(feature, Numeric), "categories are on no line"
        return feature.reader(missing)
    read = DateReader("second", missing, None if feature.date_format is None else DateFormat(feature.date_format))
    return lambda cells: read(cells) / DAY - ORIGIN


def bounded(feature: Feature, low: float, high: float) -> tuple[float, float] | None:
    """Return what is left of a range within the line of a column, None where nothing is."""
    if isinstance(feature, Date):
        low, high = max(low, FIRST), min(high, LAST)
    return (low, high) if low < high else None


def entry_of(feature: Feature, low: float, high: float, whole: bool, release: str) -> Numeric:
    """Return the released entry of a schema for a range on a column's line; ``whole`` says that hardly a number is fractional."""
    if isinstance(feature, Date):
        ends = _moments(low, high, whole)
        return Date(*ends, date_format=feature.date_format, origin="released", release=release)  # type: ignore[arg-type]
    assert isinstance(feature, Numeric), "categories are on no line"
    written: dict[str, Any] = {"decimal": feature.decimal, "thousands": feature.thousands}
    below, above = math.floor(low), math.ceil(high)
    if whole and max(-below, above) <= MOST_WHOLE:
        return Integer(below, max(above, below + 1), **written, origin="released", release=release)
    return Numeric(low, high, **written, origin="released", release=release)


def _moments(low: float, high: float, whole: bool) -> tuple[str, str]:
    """Return both ends as text: days, or seconds where there are times of day."""
    if whole:
        first, last = math.floor(low), math.ceil(high)
        return date_text(first + ORIGIN, "day"), date_text(max(last, first + 1) + ORIGIN, "day")
    seconds = [math.floor((low + ORIGIN) * DAY), math.ceil((high + ORIGIN) * DAY)]
    return date_text(seconds[0], "second"), date_text(max(seconds[1], seconds[0] + 1), "second")
