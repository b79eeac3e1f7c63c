"""The values of a column and their exact counts, cell by cell. The caller adds noise to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.schema.cells import (
    HASHABLE_IDS,
    MACHINE_NUMBERS,
    TIMES,
    CategoryReader,
    CellCache,
    Cells,
    as_objects,
    category_key,
    is_missing_key,
    numbers,
    time_cells,
)
from hedgerow.schema.features import Value

LONGEST = 256  # letters of a value
NOTHING: Any = object()


def count_values(cells: Cells, missing: Sequence[str] = ()) -> dict[float | str, int]:
    """Return how many cells have each value, as categories are compared; numbers come before text.

    These are left out: missing cells, cells that no category can have (infinities, cells of other types), text of more than 256
    letters, and text that UTF-8 cannot hold. This depends on each cell alone.
    """
    markers = CategoryReader((), missing)
    found: dict[float | str, int] = {}
    if cells.dtype.kind in MACHINE_NUMBERS:
        keys, counts = np.unique(numbers(cells), return_counts=True)
        pairs = zip(keys.tolist(), counts.tolist(), strict=True)
        found = {_value(key, markers): count for key, count in pairs if _value(key, markers) is not NOTHING}
    else:
        # One count for each distinct cell, if equal cells are surely one value. The codes are the positions of cells among these.
        seen: list[float | str] = []
        place: dict[float | str, int] = {}

        def number_of(cell: object) -> int:
            key = _value(cell, markers)
            if key is NOTHING:
                return -1
            if key not in place:
                place[key] = len(seen)
                seen.append(key)
            return place[key]

        cache = CellCache(number_of)
        objects = (time_cells(cells) if cells.dtype.kind in TIMES else as_objects(cells)).tolist()
        places = [cache[cell] if id(type(cell)) in HASHABLE_IDS else number_of(cell) for cell in objects]
        counts = np.bincount(np.array(places, dtype=np.int64) + 1, minlength=len(seen) + 1)[1:]
        found = dict(zip(seen, counts.tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))


def _value(cell: object, markers: CategoryReader) -> Any:
    """Return the number or the text by which a cell is compared, or ``NOTHING``."""
    try:
        key = category_key(cell)
        if key is None or is_missing_key(key) or markers.code(cell) == markers.missing:
            return NOTHING
        if isinstance(key, str):
            key.encode()
            return key if len(key) <= LONGEST else NOTHING
        return key + 0.0 if np.isfinite(key) else NOTHING
    except Exception:
        return NOTHING


def public_value(key: float | str) -> Value:
    """Return the simplest value that is compared as this key."""
    if isinstance(key, str):
        return key
    return int(key) if key.is_integer() else key
