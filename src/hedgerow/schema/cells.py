"""What a single cell means: a number, a category, or nothing.

The rule looks at that cell alone. Neither the column's dtype nor any other record changes how a cell is read, and no
cell can raise an error or cause a warning. The fast paths below are checked against ``number`` and ``category_key``,
which state the rule for one cell.

Numbers
    Truth values, numbers and text that Python's ``float`` reads; the texts true and false (in any case) are 1 and 0;
    what is too large for float64 is infinite; everything else is missing, dates included. A complex number without an
    imaginary part is its real part: one complex cell makes whole columns complex, and their numbers stay what they are.
Categories
    Truth values, numbers and text that is a decimal number are compared as float64, so 1, 1.0, True, "1" and "true" are
    one category. Other text is compared without the white space around it. None, NaN, "", "nan", "<NA>", "None" and
    "NaT" are missing unless the schema declares that text. Anything else is compared as its ``str``.
"""

from __future__ import annotations

import math
import numbers as abstract
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["CategoryReader", "CategorySession", "category_key", "is_missing_key", "number", "numbers", "object_array"]

Cells = npt.NDArray[Any]
Key = float | str | None

MACHINE_NUMBERS = "biuf"  # dtype kinds that cast to float64 cell by cell
TIMES = "Mm"  # dates and durations are no numbers, although numpy would cast them
TIME = (np.datetime64, np.timedelta64)
COMPLEX = (complex, np.complexfloating)
NUMBER = (float, int, np.bool_, np.floating, np.integer, Decimal, abstract.Real)

# Types whose conversion runs no foreign code and never warns; only their exact instances take the fast paths.
CASTABLE: frozenset[type] = frozenset(
    {bool, int, float, str, bytes, type(None), Decimal, np.bool_, np.str_, np.float64, np.int64}
)
# Of those, the types of which equal cells are always the same category, so that a dict may stand for the rule.
# bytes are left out: comparing them with text can warn.
HASHABLE: frozenset[type] = frozenset({bool, int, float, str, type(None), np.bool_, np.str_, np.float64, np.int64})

CHUNK = 1024  # cells cast at once, and again in smaller pieces where one of them does not cast
PIECE = 32
CACHE_CELLS = 65_536  # bounds on what a cache of distinct cells may hold
CACHE_LENGTH = 256

DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
SPACE = " \t\n\r\x0b\x0c"
TRUTH = {"true": 1.0, "false": 0.0}
MISSING_TEXTS = frozenset({"", "<NA>", "None", "NaT"})


def object_array(cells: Iterable[Any], count: int) -> Cells:
    """Return ``count`` Python objects as a 1-D array, whatever they are (``np.array`` would look into lists)."""
    return np.fromiter(cells, dtype=object, count=count)


def _all_of(types: frozenset[type], cells: list[Any]) -> bool:
    try:
        return types.issuperset(map(type, cells))
    except Exception:  # a class can be unhashable
        return False


def _is_hashable(cell: object) -> bool:
    try:
        return type(cell) in HASHABLE
    except Exception:
        return False


def number(cell: object) -> float:
    """Return the number that one cell holds, or NaN."""
    try:
        if isinstance(cell, TIME) or (isinstance(cell, np.ndarray) and cell.ndim):
            return math.nan
        if isinstance(cell, COMPLEX):
            return float(cell.real) if cell.imag == 0 else math.nan
        return _as_float(cell)
    except Exception:
        return _truth(cell)


def _as_float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _truth(cell: object) -> float:
    """Return 1 or 0 for the texts true and false, otherwise NaN."""
    try:
        if isinstance(cell, bytes):
            cell = cell.decode("utf-8", "replace")
        return TRUTH.get(str.__str__(cell).strip(SPACE).lower(), math.nan) if isinstance(cell, str) else math.nan
    except Exception:
        return math.nan


def numbers(cells: Cells) -> npt.NDArray[np.float64]:
    """Read a 1-D array of cells as float64: NaN where missing or unparsable, infinities kept."""
    kind = cells.dtype.kind
    if kind in MACHINE_NUMBERS:
        with np.errstate(all="ignore"):
            return cells.astype(np.float64, copy=False)
    if kind == "c":
        with np.errstate(all="ignore"):
            return np.where(cells.imag == 0, cells.real, math.nan).astype(np.float64, copy=False)
    if kind in TIMES:
        return np.full(cells.shape, math.nan)
    objects = cells if kind == "O" else cells.astype(object)
    result = np.empty(objects.shape[0], dtype=np.float64)
    for start in range(0, objects.shape[0], CHUNK):
        _cast(objects[start : start + CHUNK], result[start : start + CHUNK])
    return result


def _cast(cells: Cells, result: npt.NDArray[np.float64]) -> None:
    """Write the numbers of object cells into ``result``; a cell that does not cast costs its neighbors time only."""
    if not _all_of(CASTABLE, cells.tolist()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result[:] = np.fromiter(map(number, cells.tolist()), dtype=np.float64, count=cells.shape[0])
        return
    try:
        result[:] = cells
    except Exception:
        if cells.shape[0] <= PIECE:
            result[:] = np.fromiter(map(number, cells.tolist()), dtype=np.float64, count=cells.shape[0])
            return
        for start in range(0, cells.shape[0], PIECE):
            _cast(cells[start : start + PIECE], result[start : start + PIECE])


def category_key(cell: Any) -> Key:
    """Return what one cell is compared as: a float64 value, a text, or None.  May raise for a hostile object."""
    if cell is None:
        return None
    if isinstance(cell, str):
        return _text_key(str.__str__(cell))
    if isinstance(cell, bytes | bytearray):
        return _text_key(bytes(cell).decode("utf-8", "replace"))
    if isinstance(cell, COMPLEX) and (cell.imag == 0 or cell != cell):
        return float(cell.real) if cell.imag == 0 else math.nan
    if isinstance(cell, NUMBER) and not isinstance(cell, TIME):
        return _as_float(cell)
    return _text_key(str.__str__(str(cell)))


def _text_key(text: str) -> Key:
    text = text.strip(SPACE)
    if DECIMAL.fullmatch(text):
        return float(text)
    return TRUTH.get(text.lower(), text)


def is_missing_key(key: Key) -> bool:
    """Return whether a key that the schema does not declare stands for a missing cell."""
    if isinstance(key, str):
        return key in MISSING_TEXTS or (len(key) == 3 and key.lower() == "nan")
    return key is None or key != key


class CategoryReader:
    """The codes of one categorical column: the position of a value, then missing, then undeclared.

    Parameters
    ----------
    values
        The declared values; their keys must differ.
    missing_markers
        What else stands for a missing cell. A declared value is never a marker.

    A reader knows the schema only. What it saw of the records lives in the session of one call.
    """

    def __init__(self, values: Sequence[object], missing_markers: Sequence[object] = ()) -> None:
        self.missing = len(values)
        self.undeclared = len(values) + 1
        table: dict[Key, int] = {category_key(marker): self.missing for marker in missing_markers}
        table.update((category_key(value), code) for code, value in enumerate(values))
        self._table = table
        pairs = sorted((key, code) for key, code in table.items() if isinstance(key, float))
        self._keys = np.array([key for key, _ in pairs], dtype=np.float64)
        self._codes = np.array([code for _, code in pairs], dtype=np.int32)

    def code(self, cell: object) -> int:
        """Return the code of one cell."""
        try:
            key = category_key(cell)
        except Exception:
            return self.undeclared
        code = self._table.get(key)
        if code is not None:
            return code
        return self.missing if is_missing_key(key) else self.undeclared

    def codes(self, cells: Cells) -> npt.NDArray[np.int32]:
        """Return the codes of a 1-D array of cells."""
        return self.session().codes(cells)

    def session(self) -> CategorySession:
        """Return a short-lived reader that remembers distinct cells, for the blocks of one column in one call."""
        return CategorySession(self)

    def codes_of_numbers(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """Return the codes of float64 values, NaN being missing."""
        absent = np.isnan(values)
        if not self._keys.size:
            return np.where(absent, self.missing, self.undeclared).astype(np.int32)
        places = np.minimum(np.searchsorted(self._keys, values), self._keys.size - 1)
        codes = np.where(self._keys[places] == values, self._codes[places], np.int32(self.undeclared))
        codes[absent] = self.missing
        return codes


class _Cache(dict[Any, int]):
    """Codes by cell, so that Python code runs per distinct cell; bounded, and gone with its session."""

    def __init__(self, code: Callable[[object], int]) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, cell: Any) -> int:
        code = self._code(cell)
        small = not (isinstance(cell, str) and len(cell) > CACHE_LENGTH)
        if small and cell == cell and len(self) < CACHE_CELLS:  # two NaN objects never match
            self[cell] = code
        return code


class CategorySession:
    """The codes of one column, block by block, within one call."""

    def __init__(self, reader: CategoryReader) -> None:
        self._reader = reader
        self._cache = _Cache(reader.code)

    def codes(self, cells: Cells) -> npt.NDArray[np.int32]:
        """Return the codes of a 1-D array of cells."""
        kind = cells.dtype.kind
        if kind in MACHINE_NUMBERS:
            return self._reader.codes_of_numbers(numbers(cells))
        # Dates stay numpy scalars: tolist would turn some of them into integers.
        objects = list(cells) if kind in TIMES else cells.astype(object, copy=False).tolist()
        result = np.empty(len(objects), dtype=np.int32)
        for start in range(0, len(objects), CHUNK):
            chunk = objects[start : start + CHUNK]
            result[start : start + CHUNK] = np.fromiter(self._chunk(chunk), dtype=np.int32, count=len(chunk))
        return result

    def _chunk(self, cells: list[Any]) -> Iterable[int]:
        known = self._cache.__getitem__
        if _all_of(HASHABLE, cells):
            return map(known, cells)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [known(cell) if _is_hashable(cell) else self._reader.code(cell) for cell in cells]
