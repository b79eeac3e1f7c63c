"""Who records are of: ids of persons, read cell by cell.

Ids are compared exactly, unlike categories, for which 64-bit floats are enough: two persons that are taken for one have no
guarantee, and neither has one person that is taken for two.

Numbers
    Truth values and numbers of any type are one id where they are equal, and so is text that is a decimal number without an
    exponent: 7, 7.0, "7" and "007" are one.
Text
    Other text, dates and times as text, without the white space around it; bytes that are UTF-8 are text, others are themselves;
    a UUID is its text. At most 256 letters.
None
    A missing cell, infinity, longer text, and a cell of any other type, is no id. The record is then nobody's. So is text with
    U+FFFD, which readers of files put in the place of bytes that are no UTF-8: it may stand for several ids.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError
from hedgerow.limits import LONGEST_WORDS
from hedgerow.schema.cells import (
    DECIMAL,
    HASHABLE_IDS,
    MACHINE_NUMBERS,
    SPACE,
    TIMES,
    WHOLE,
    Cells,
    as_objects,
    category_key,
    is_missing_key,
    time_cells,
)

__all__ = ["Groups", "Ids", "person_ids", "person_text"]

Ids = npt.NDArray[np.uint64]  # (records, 2): 128 bits, all zero where there is none

LONGEST = 256  # letters of an id
MOST_KNOWN = 1 << 20  # distinct cells that are remembered
NOBODY = (0, 0)
REPLACED = "\ufffd"  # what readers of files put in the place of bytes that are no text
LARGEST_EXPONENT = 400  # of a Decimal: beyond it, its digits would take long to write
# Types by their identity: comparing a cell's own could run code of its class.
EXACT = frozenset(map(id, (bool, int, np.bool_, *WHOLE)))
BYTES = frozenset(map(id, (bytes, bytearray, np.bytes_)))


@dataclass(frozen=True, eq=False)
class Groups:
    """Who each record is of.

    Parameters
    ----------
    name : str
        The column's name, "" where it has none.
    cells : ndarray of shape (records,), or None
        The ids; None where the records themselves hold them.
    missing : tuple of str
        What else stands for a missing cell.
    """

    name: str
    cells: Cells | None = field(repr=False)
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.name) > LONGEST_WORDS or not _is_utf8(self.name):
            raise ConfigurationError(
                f"the column that says who the records are of has a name that no certificate holds; names have at most "
                f"{LONGEST_WORDS} letters, all of UTF-8. Rename it."
            )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def person_text(cell: object, missing: Sequence[str] = ()) -> str | None:
    """Return what one cell is compared as, or None where it is no id."""
    try:
        text = _text(cell)
        text.encode()
    except Exception:
        return None
    return None if len(text) > LONGEST + 2 or (missing and text in _markers(tuple(missing))) else text


@lru_cache(maxsize=64)
def _markers(missing: tuple[str, ...]) -> frozenset[str | None]:
    """Return what markers of missing cells are compared as: "-1.0" stands for -1 as well."""
    return frozenset(map(person_text, missing))


def _text(cell: object) -> str:
    """Return a cell's kind and what it is compared as; raise where it is no id."""
    if id(type(cell)) in EXACT:
        return _number(Fraction(int(cell)))  # type: ignore[call-overload]
    if type(cell) is Decimal:
        if abs(cell.adjusted()) > LARGEST_EXPONENT:
            raise OverflowError
        return _number(Fraction(cell))
    if type(cell) is np.clongdouble and cell.imag == 0:
        cell = cell.real
    if type(cell) is np.longdouble:
        return _number(Fraction(*cell.as_integer_ratio()))
    if type(cell) is Fraction and {id(type(cell.numerator)), id(type(cell.denominator))} <= EXACT:
        return _number(Fraction(int(cell.numerator), int(cell.denominator)))
    if type(cell) is UUID:
        return f"t:{UUID.__str__(cell)}"
    if id(type(cell)) in BYTES:
        raw = bytes(cell)  # type: ignore[call-overload]
        try:
            return _of_text(raw.decode())
        except UnicodeDecodeError:
            return f"b:{raw.hex()}"
    if issubclass(type(cell), str):
        return _of_text(str.__str__(cell))
    if issubclass(type(cell), int):  # a class derived from it; its own methods stay out of it
        return _number(Fraction(int.__int__(cell)))  # type: ignore[arg-type]
    key = category_key(cell)
    if key is None or is_missing_key(key):
        raise ValueError("missing")
    return _of_text(key) if isinstance(key, str) else _number(Fraction(key))


def _of_text(text: str) -> str:
    text = text.strip(SPACE)
    if is_missing_key(text) or len(text) > LONGEST or REPLACED in text:
        raise ValueError("missing")
    if DECIMAL.fullmatch(text) and "e" not in text.lower():
        return _number(Fraction(text))
    return f"t:{text}"


def _number(value: Fraction) -> str:
    return f"n:{value}"


def person_ids(cells: Cells, key: bytes, missing: Sequence[str] = ()) -> Ids:
    """Return for each cell 128 bits by a keyed hash of its id, equal where ids are and nothing else; zeros where there is none.

    Parameters
    ----------
    cells : ndarray of shape (records,)
        The ids as they stand.
    key : bytes
        Of 32 bytes; whoever lacks it learns nothing from the bits.
    missing : sequence of str
        What else stands for a missing cell.
    """

    def hashed(cell: object) -> tuple[int, int]:
        text = person_text(cell, missing)
        if text is None:
            return NOBODY
        digest = hashlib.blake2b(text.encode(), key=key, digest_size=16, person=b"hedgerow persons").digest()
        return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")

    if cells.dtype.kind in MACHINE_NUMBERS and cells.dtype.itemsize <= 8:
        distinct, place = np.unique(cells, return_inverse=True)
        return _rows(map(hashed, distinct.tolist()), len(distinct))[place.reshape(-1)]
    objects = (time_cells(cells) if cells.dtype.kind in TIMES else as_objects(cells)).tolist()
    known: dict[Any, tuple[int, int]] = {}

    def remembered(cell: Any) -> tuple[int, int]:
        found = known.get(cell)
        if found is None:
            found = hashed(cell)
            if len(known) < MOST_KNOWN:
                known[cell] = found
        return found

    return _rows((remembered(cell) if _is_plain(cell) else hashed(cell) for cell in objects), len(objects))


def _is_plain(cell: object) -> bool:
    """Say whether equal cells of this type are surely one id, so that one stands for all."""
    return id(type(cell)) in HASHABLE_IDS and not (isinstance(cell, float) and math.isnan(cell))


def _rows(pairs: Iterable[tuple[int, int]], count: int) -> Ids:
    ids = np.fromiter((word for pair in pairs for word in pair), dtype=np.uint64, count=2 * count)
    return ids.reshape(count, 2)
