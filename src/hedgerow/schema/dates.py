"""The moment that a single cell means: a whole number of days or seconds since 1970, or missing.

As for numbers and categories, the rule depends on that cell alone. A cell is a moment if its text is an ISO 8601 date with
hyphens, "2024-12-31", or a date and time, "2024-12-31T23:59:59.5", with or without an offset from UTC. (``cells`` defines the
text of a date in any table.) Moments with an offset are converted to UTC; others are not converted. Text in a format that the
schema declares is read by that format. Everything else is missing, including numbers, because nothing says whether they count
days, seconds or milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.schema.cells import (
    HASHABLE_IDS,
    MACHINE_NUMBERS,
    TIMES,
    CellCache,
    Cells,
    as_objects,
    category_key,
    text_or_key,
    time_cells,
)
from hedgerow.schema.formats import DateFormat

Unit = Literal["day", "second"]
SECONDS = {"day": 86_400, "second": 1}

ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)[0-9]{0,3}(Z|[+-][0-9]{2}:?[0-9]{2}(?::[0-9]{2})?)?)?"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NO_MOMENT = -(2**62)  # earlier than any date


def microseconds(cell: object, form: DateFormat | None = None) -> int:
    """Return the moment of one cell, in microseconds since 1970 rounded down, or ``NO_MOMENT``.

    ``form`` is the format of text that is not in ISO 8601. None: no such text is read.
    """
    try:
        key = text_or_key(cell) if form is not None else category_key(cell)
        found = ISO.fullmatch(key) if isinstance(key, str) else None
        if found is None and form is not None and isinstance(key, str):
            key = form.iso(key)
            found = None if key is None else ISO.fullmatch(key)
        if found is None:
            return NO_MOMENT
        day, time, zone = found.groups()
        moment = datetime.fromisoformat(f"{day} {time or '00:00'}{zone or '+00:00'}")
        return (moment - EPOCH) // MICROSECOND
    except Exception:
        return NO_MOMENT


def date_text(count: int, unit: Unit) -> str:
    """Return the text of this number of days or seconds since 1970; ``microseconds`` reads it."""
    moment = EPOCH + timedelta(seconds=count * SECONDS[unit])
    return str(moment.date()) if unit == "day" else str(moment.replace(tzinfo=None))


class DateReader:
    """Reads one column of moments in one call, and caches distinct cells during the call.

    Parameters
    ----------
    unit : {"day", "second"}
        The unit of the count since 1970, rounded down.
    missing : sequence of str
        Further markers of a missing cell. A marker that is a date matches every text of that moment.
    form : DateFormat or None
        The format of text that is not in ISO 8601. None: no such text is read.
    """

    def __init__(self, unit: Unit, missing: Sequence[str] = (), form: DateFormat | None = None) -> None:
        self._step = 10**6 * SECONDS[unit]
        self._read = microseconds if form is None else partial(microseconds, form=form)
        self._markers = np.array([self._read(marker) for marker in missing], dtype=np.int64)
        self._cache = CellCache(self._read)

    def __call__(self, cells: Cells) -> npt.NDArray[np.float64]:
        """Return the counts of a 1-D array of cells, NaN where missing."""
        if cells.dtype.kind in MACHINE_NUMBERS:
            return np.full(cells.shape, np.nan)
        objects: list[Any] = (time_cells(cells) if cells.dtype.kind in TIMES else as_objects(cells)).tolist()
        known: Callable[[Any], int] = self._cache.__getitem__
        moments = np.fromiter(
            (known(cell) if id(type(cell)) in HASHABLE_IDS else self._read(cell) for cell in objects),
            dtype=np.int64,
            count=len(objects),
        )
        counts = (moments // self._step).astype(np.float64)
        counts[(moments == NO_MOMENT) | np.isin(moments, self._markers)] = np.nan
        return counts
