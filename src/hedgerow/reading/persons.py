"""The persons of records: ids, read cell by cell, by the rule in docs/proofs/persons.md.

If two persons are read as one id, or one person is read as two, there is no guarantee. So cells that are stored differently
can be one id, but cells that are written differently never are.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError
from hedgerow.files import LONGEST_WORDS
from hedgerow.reading.cells import ASCII_SPACE, Cells, Rule, plain_cell
from hedgerow.reading.columns import Columns, as_native, one_column

Ids = npt.NDArray[np.uint64]  # (records, 2): 128 bits; all zero if there is no id

LONGEST = 256  # characters of an id
NOBODY = (0, 0)
REPLACED = "\ufffd"  # what readers of files put in the place of bytes that are not UTF-8
LARGEST_EXPONENT = 400  # of a Decimal; beyond it, writing its digits would take long
# In lower case: what files, spreadsheets, databases and pandas write for a missing cell.
MARKERS = frozenset({"", "#n/a n/a"}).union(
    "? ?? - -- --- \u2013 \u2014 . .. * \\n na n/a n.a. <na> nan -nan +nan nat none null (null) <null> nil missing".split(),
    "unknown undefined #n/a #na #null! #value! #ref! #name? #div/0! #num! 1.#ind -1.#ind 1.#qnan -1.#qnan".split(),
)
# NFC turns each of these into another ideograph, although names are written with both.
COMPATIBILITY_IDEOGRAPH = re.compile("[\uf900-\ufaff\U0002f800-\U0002fa1f]")
INVISIBLE = ("Zs", "Zl", "Zp", "Cc", "Cf")  # white space, controls and formats; text of these alone is a blank
ZERO_FRACTION = re.compile(r"([+-]?[0-9]+)\.0*(?![0-9])")
FLOATS = (float, np.float16, np.float32, np.float64)
EXACT_BITS = {id(kind): np.finfo(kind).nmant + 1 for kind in FLOATS}  # of the integers that each holds without gaps


@dataclass(frozen=True, eq=False)
class Groups:
    """The ids of the records' persons; None if the records themselves hold them. ``name`` is the column's, "" if it has none."""

    name: str
    cells: Cells | None = field(repr=False)
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.name) > LONGEST_WORDS or any("\ud800" <= letter <= "\udfff" for letter in self.name):
            raise ConfigurationError(
                "the column of persons has a name that no certificate can hold; names have at most "
                f"{LONGEST_WORDS} letters, all of UTF-8. Rename it."
            )


def person_text(cell: object, missing: Sequence[str] = ()) -> str | None:
    """Return the key by which one cell is compared, or None if it is no id. No method of a class of the caller's is called."""
    try:
        plain = UUID.__str__(cell) if type(cell) is UUID else plain_cell(cell)
        if plain is None:
            return None
        bits = EXACT_BITS.get(id(type(cell)), EXACT_BITS[id(float)])
        text = _of_text(plain) if isinstance(plain, str) else _of_number(plain, bits)
        text.encode()
    except Exception:
        return None
    return None if len(text) > LONGEST or _is_marker(text, tuple(missing)) else text


def _is_marker(text: str, missing: tuple[str, ...]) -> bool:
    """Return whether a cell is missing, by itself or by the schema's markers. -1.0 declares "-1", too."""
    plain = text.isascii() and text.isprintable()
    shown = text if plain else "".join(c for c in text if unicodedata.category(c) not in INVISIBLE)
    whole = ZERO_FRACTION.sub(r"\1", text)
    return shown.lower() in MARKERS or not {text, whole}.isdisjoint(_declared(missing))


@lru_cache(maxsize=64)
def _declared(missing: tuple[str, ...]) -> frozenset[str]:
    """Return the keys of the markers that a schema declares; of numbers, without a fraction of zeros."""
    texts = set(map(_of_text, missing))
    return frozenset(texts | {ZERO_FRACTION.sub(r"\1", text) for text in texts})


def _of_number(value: float | Decimal, bits: int) -> str:
    if isinstance(value, Decimal) and abs(value.adjusted()) > LARGEST_EXPONENT:
        raise ValueError("too many digits")
    if int(value) != value or (isinstance(value, float) and abs(value) >= 2**bits):
        raise ValueError("how it was written is lost")
    return str(int(value))


def _of_text(text: str) -> str:
    text = text.strip(ASCII_SPACE)  # docs/proofs/persons.md
    if len(text) > LONGEST or REPLACED in text:
        raise ValueError("no id")
    if not text.isascii() and not COMPATIBILITY_IDEOGRAPH.search(text):
        text = unicodedata.normalize("NFC", text)
    return text


def person_ids(cells: Cells, key: bytes, missing: Sequence[str] = ()) -> Ids:
    """Return 128 bits of each cell by a keyed hash of its id, equal if and only if ids are equal; zeros if there is no id.

    Without the key, which has 32 bytes, the bits tell nothing.
    """

    def hashed(cell: object) -> tuple[int, int]:
        text = person_text(cell, missing)
        if text is None:
            return NOBODY
        digest = hashlib.blake2b(f"t:{text}".encode(), key=key, digest_size=16, person=b"hedgerow persons").digest()
        return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")

    # Not by floats: 2**53 and 2.0**53 are equal, and not the same id.
    return Rule(hashed, np.dtype("u8,u8"), floats=False)(cells).view(np.uint64).reshape(-1, 2)


def without_column(X: Any, name: str | None) -> tuple[Any, Any]:
    if name is None or isinstance(X, Columns):
        return X, None
    if isinstance(X, Mapping):
        if name not in X:
            return X, None
        return {other: column for other, column in X.items() if other != name}, X[name]
    frame = as_native(X, "X")
    if not isinstance(frame, nw.DataFrame) or name not in frame.columns:
        return X, None
    return frame.drop([name]).to_native(), frame[name].to_native()


def split_groups(X: Any, groups: Any, person: str | None) -> tuple[Any, Any]:
    X, own = without_column(X, person)
    if person is None:
        return X, groups
    if own is not None and groups is not None:
        raise ConfigurationError(
            f"X has the column of persons, {person!r}, so groups must be left out. Pass one of the two."
        )
    if own is None and groups is None:
        raise ConfigurationError(
            f"The schema says that {person!r} tells persons apart, but X has no such column. Add it to X, or pass it as groups=."
        )
    return X, groups if own is None else own


def read_groups(
    groups: Any, rows: int, missing: Sequence[str], person: str | None = None, *, warn: bool = True
) -> Groups | None:
    """Return the person of each record; None without groups."""
    if groups is None:
        return None
    name: Any = getattr(groups, "name", None)
    if isinstance(groups, Mapping) and len(groups) == 1:
        ((name, groups),) = groups.items()
    if isinstance(groups, str | Mapping):
        raise ConfigurationError(
            f"groups is a {type(groups).__name__}, but it holds an id for each record; pass the column, and leave it out of X."
        )
    if isinstance(frame := as_native(groups, "groups"), nw.DataFrame):
        name = next(iter(frame.columns), None)
    column = one_column(groups, "groups")
    if len(column) != rows:
        raise ConfigurationError("X and groups have different lengths, so ids cannot be matched to records.")
    cells = column.read(0, rows)
    if column.whole is not None and cells.dtype.kind == "f":
        cells = column.whole(0, rows)  # a missing cell must not take digits from the other ids
    if warn and cells.dtype.kind == "f":
        warnings.warn(
            f"{person or 'groups'} is a column of floating-point numbers, in which only whole numbers are ids and "
            "records with any other cell are left out. Read ids as text, for example with "
            f"pandas.read_csv(path, dtype={{{person or 'patient'!r}: str}}).",
            UserWarning,
            stacklevel=2,
        )
    name = name if isinstance(name, str) else ""
    if person is not None and name not in ("", person):
        raise another_person(person, name)
    return Groups(person or name, cells, tuple(missing))


def another_person(person: str, name: str) -> ConfigurationError:
    return ConfigurationError(
        f"The schema says that {person!r} tells persons apart, but {name!r} was passed. A guarantee is for the persons of one "
        "column: leave it out, or pass a schema that names it."
    )
