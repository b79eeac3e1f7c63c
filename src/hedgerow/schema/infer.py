"""Guess a schema from records, for exploration, outside every guarantee."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from hedgerow.errors import ConfigurationError
from hedgerow.schema.cells import (
    HASHABLE,
    MACHINE_NUMBERS,
    SPACE,
    TIMES,
    Cells,
    Key,
    category_key,
    is_missing_key,
    numbers,
    object_array,
    time_cells,
)
from hedgerow.schema.dates import NO_MOMENT, SECONDS, Unit, date_text, microseconds
from hedgerow.schema.features import Categorical, Feature, Numeric, Value
from hedgerow.schema.recognize import written
from hedgerow.schema.types import LARGEST, Boolean, Date, Integer

LAST = "9999-12-31 23:59:59"
FEW_NUMBERS = 10  # text of at most this many different numbers is read as categories


def guess_feature(cells: Cells, max_categories: int) -> Feature:
    """Return the entry that the cells of a column suggest.

    Truth values and words for them give ``Boolean``. Dates, and text of dates, give their range. Numbers give their range, of
    whole numbers if all are whole. Another column is numeric if each cell is missing or a number, and more than 10 are distinct.
    Otherwise the entry is the sorted values, at most the ``max_categories`` most frequent ones. Numbers with a decimal comma or
    thousands separators, and dates in formats other than ISO 8601, are read if all cells of the column have the same format.
    """
    form = written(cells, share=1.0)
    if form is not None:
        feature = guess_feature(form.plain(cells), max_categories)
        if isinstance(feature, Numeric):
            return form.put_on(feature)
    kind = cells.dtype.kind
    if _are_truths(cells):
        return Boolean(origin="inferred")
    moments = _moments(cells)
    if moments:
        return _dates(moments)
    if kind in MACHINE_NUMBERS + TIMES:
        return _range(cells)
    counts = _distinct(cells)
    if not counts:
        return _range(cells)
    if len(counts) > FEW_NUMBERS and all(isinstance(key, float) for key in counts):
        return _range(cells)
    frequent = sorted(counts, key=lambda key: (-counts[key], _rank(key)))[:max_categories]
    return Categorical([_public(key) for key in sorted(frequent, key=_rank)], origin="inferred")


def is_truth(cell: Any) -> bool:
    """Return whether a cell is a truth value, or a word for one as written in files."""
    if type(cell) in (str, np.str_):
        return cell.strip(SPACE).lower() in ("true", "false")
    return type(cell) in (bool, np.bool_)


def _are_truths(cells: Cells) -> bool:
    """Return whether the column has cells that are not missing and all of these are truth values or words for them."""
    if cells.dtype.kind in MACHINE_NUMBERS + TIMES:
        return cells.dtype.kind == "b"
    found = False
    for cell in cells.tolist():
        if is_truth(cell):
            found = True
        elif not is_missing_key(_key(cell)):
            return False
    return found


def plain_values(cells: Cells) -> Cells:
    """Return each cell as the simplest value of the same category, whatever the type of its column; None if it is missing."""
    as_bool = _are_truths(cells)

    def plain(cell: Any) -> Value | None:
        key = _key(cell)
        return None if key is None or is_missing_key(key) else _public(key, as_bool)

    return object_array(map(plain, cells.tolist()), len(cells))


def _range(cells: Cells) -> Numeric:
    values = numbers(cells)
    values = values[np.isfinite(values)]
    if not values.size:
        return Numeric(0, 1, origin="inferred")
    low, high = float(values.min()), float(values.max())
    if max(-low, high) < LARGEST and (values == np.rint(values)).all():
        return Integer(low, max(high, low + 1), origin="inferred")
    if high <= low:  # a single value: any range around it is valid
        low, high = low - max(abs(low) * 1e-6, 0.5), high + max(abs(high) * 1e-6, 0.5)
        largest = float(np.finfo(np.float64).max)
        low, high = max(low, -largest), min(high, largest)
    return Numeric(low, high, origin="inferred")


def _moments(cells: Cells) -> set[int]:
    """Return the distinct moments of a column, in microseconds since 1970; empty unless all present cells are dates."""
    if cells.dtype.kind in MACHINE_NUMBERS:
        return set()
    found: set[int] = set()
    seen: set[str] = set()
    for cell in (time_cells(cells) if cells.dtype.kind in TIMES else cells).tolist():
        if type(cell) is str:
            if cell in seen:
                continue
            seen.add(cell)
        if is_missing_key(_key(cell)):
            continue
        moment = microseconds(cell)
        if moment == NO_MOMENT:
            return set()
        found.add(moment)
    return found


def _dates(moments: set[int]) -> Date:
    """Return the range of moments, of days if none has a time of day."""
    unit: Unit = "day" if all(moment % (10**6 * SECONDS["day"]) == 0 for moment in moments) else "second"
    low, high, last = (moment // (10**6 * SECONDS[unit]) for moment in (min(moments), max(moments), microseconds(LAST)))
    if high <= low:  # a single value: any range with it is valid
        low, high = (low, low + 1) if low < last else (low - 1, low)
    ends = (date_text(end, unit) for end in (low, high))
    return Date(*ends, origin="inferred")  # type: ignore[arg-type]


def _distinct(cells: Cells) -> Counter[float | str]:
    """Count the cells per key, without those that are missing, infinite or unreadable."""
    objects = cells.astype(object).tolist()
    plain = Counter(cell for cell in objects if type(cell) in HASHABLE)
    odd = [cell for cell in objects if type(cell) not in HASHABLE]
    counts: Counter[float | str] = Counter()
    for cell, count in [*plain.items(), *((cell, 1) for cell in odd)]:
        key = _key(cell)
        if key is not None and not is_missing_key(key) and not (isinstance(key, float) and np.isinf(key)):
            counts[key] += count
    return counts


def _key(cell: Any) -> Key:
    try:
        return category_key(cell)
    except Exception:
        return None


def _rank(key: float | str) -> tuple[bool, float, str]:
    """Sort numbers before text."""
    return (True, 0.0, key) if isinstance(key, str) else (False, key, "")


def _public(key: float | str, as_bool: bool = False) -> Value:
    """Return the simplest value with this key."""
    if isinstance(key, str):
        return key
    if as_bool:
        return bool(key)
    return int(key) if key.is_integer() else key


def guess_outcome(labels: Cells) -> Numeric:
    """Return the range of numeric labels, of whole numbers if all are whole."""
    return _range(labels)


def guess_classes(labels: Cells) -> list[Value]:
    """Return the sorted distinct labels, as ``numpy.unique`` does, without missing ones."""
    if labels.dtype.kind in MACHINE_NUMBERS:
        found = np.unique(labels)
        classes: list[Value] = [label for label in found.tolist() if np.isfinite(label)]
    else:
        first: dict[float | str, Value] = {}
        for label in labels.astype(object).tolist():
            key = _key(label)
            if key is not None and not is_missing_key(key) and not (isinstance(key, float) and np.isinf(key)):
                first.setdefault(key, label if isinstance(label, bool | int | float | str) else _public(key))
        classes = [first[key] for key in sorted(first, key=_rank)]
        if all(isinstance(label, str) for label in classes):
            classes.sort()
    if not classes:
        raise ConfigurationError("y holds no label, so there is no class to learn. Pass one label per record.")
    return classes
