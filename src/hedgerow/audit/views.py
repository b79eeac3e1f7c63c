"""What an attacker looks at in an answer: each array as a whole, its numbers, and the digits of floats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Columns", "join_columns", "look"]

Columns = dict[str, npt.NDArray[Any]]  # one array of shape (runs,) per view: floats, or texts

ELEMENTS = 12  # of an array that are looked at one by one
TEXT = 60  # characters of an array that are shown as they are
ABSENT = "absent"


def look(answers: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the views of some answers: texts where only equality counts, floats where the order counts too.

    Parameters
    ----------
    answers : sequence of mapping
        Everything that each attacked model released, by name: arrays, numbers, texts, or anything whose ``repr`` says what
        it is.
    """
    seen: Columns = {}
    for name in sorted({name for answer in answers for name in answer}):
        arrays = [np.asarray(answer[name]) if name in answer else None for answer in answers]
        seen[name] = np.array([ABSENT if array is None else _text(array) for array in arrays])
        if all(array is None or array.dtype.kind in "biuf" for array in arrays):
            digits = any(array is not None and array.dtype.kind == "f" for array in arrays)
            seen |= _numbers(name, _table(arrays), digits)
    together = zip(*(column for column in seen.values() if column.dtype.kind == "U"), strict=True)
    return {"everything": np.array([_short(";".join(row)) for row in together]), **seen}


def _text(array: npt.NDArray[Any]) -> str:
    shown = str(array.tolist())
    return shown if len(shown) <= TEXT else f"#{_short(shown)}"


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _table(arrays: Sequence[npt.NDArray[Any] | None]) -> npt.NDArray[np.float64]:
    """Return the numbers of each array in a row, NaN behind them."""
    rows = [np.empty(0) if array is None else array.reshape(-1) for array in arrays]
    table = np.full((len(rows), max(1, *(len(row) for row in rows))), np.nan)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _numbers(name: str, table: npt.NDArray[np.float64], digits: bool) -> Columns:
    present, ordered = ~np.isnan(table), np.sort(table, axis=1)
    size = present.sum(axis=1)
    seen = {
        f"the size of {name}": size,
        f"the sum of {name}": np.where(present, table, 0.0).sum(axis=1),
        f"the least of {name}": ordered[:, 0],
        f"the largest of {name}": ordered[np.arange(len(table)), np.maximum(size - 1, 0)],
        f"the different values in {name}": (np.diff(ordered, axis=1) > 0).sum(axis=1) + (size > 0),
    }
    few = table[:, :ELEMENTS]
    seen |= {f"{name}[{i}]": few[:, i] for i in range(few.shape[1])}
    if digits:
        last = _last_digits(few)
        seen |= {f"the last binary digit of {name}[{i}]": last[:, i] for i in range(few.shape[1])}
    return {view: column.astype(np.float64) for view, column in seen.items()}


def _last_digits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the exponent of the last binary digit of each float: noise on a count of 0 has finer ones than on 1."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1))
    return np.where(whole == 0, np.nan, exponent - 53 + lowest)


def join_columns(parts: Iterable[Mapping[str, npt.NDArray[Any]]]) -> Columns:
    """Return the views of all runs by name; a view that a run lacks is NaN, or the text ``"absent"``."""
    parts = list(parts)
    names = sorted({name for part in parts for name in part})
    return {name: _joined([(part.get(name), len(next(iter(part.values())))) for part in parts]) for name in names}


def _joined(parts: Sequence[tuple[npt.NDArray[Any] | None, int]]) -> npt.NDArray[Any]:
    is_text = any(part is not None and part.dtype.kind == "U" for part, _ in parts)
    filler: Any = ABSENT if is_text else np.nan
    return np.concatenate([np.full(runs, filler) if part is None else part for part, runs in parts])
