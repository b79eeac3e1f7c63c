"""What a single cell means: a number, a category, or nothing.

The rule depends on that cell alone. Neither the column's dtype nor any other record changes how a cell is read. No
cell can raise an error, cause a warning or run code of its own, because only types that cannot do so are read.
Nothing here changes the filters of ``warnings``, which belong to the process. Tests compare the fast paths below with
``number`` and ``category_key``, which state the rule for one cell.

Types
    Python's bool, int, float, str, bytes, Decimal, date and datetime; numpy's numbers of up to 64 bits, texts and dates;
    pandas' NA, NaT and Timestamp. An instance of a class derived from int, float, str or bytes is read as a value of that
    type, whatever its own methods return. A cell of any other type is missing.
Numbers
    Truth values, numbers and text that Python's ``float`` reads are numbers. The texts true and false (in any case) are 1
    and 0. A number that is too large for float64 is infinite. Everything else is missing, including dates.
Categories
    Truth values, numbers and text that is a decimal number are compared as float64, so 1, 1.0, True, "1" and "true" are
    one category, and so are infinity and "inf". Other text is compared without the white space around it. None, NaN,
    "", "nan", "<NA>", "None" and "NaT" are missing unless the schema declares that text.
Times
    As categories, dates and moments are the text that ``str`` makes of Python's own types: "2020-01-01",
    "2020-01-01 12:30:00+01:00". Nanoseconds that are not whole microseconds add three digits. A time that Python's types
    cannot hold is missing, and so is one in a time zone other than those of ``datetime`` and ``zoneinfo``.
"""

from __future__ import annotations

import math
import numbers as abstract
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas

from hedgerow.arrays import Array, Floats, lazy
from hedgerow.reading.kernels import ASCII, FLOAT, KNOWN, POWERS, read_numbers
from hedgerow.reading.text_cells import (
    REPLACING,
    CodedTexts,
    Texts,
    addresses,
    joined,
    no_spellings,
    read_plain,
    ready,
    spelling_table,
)

Cells = Array | Texts  # of one column
Key = float | str | None
Plain = float | Decimal | str | None  # a float also stands for an int

MACHINE_NUMBERS = "biuf"  # dtype kinds that cast to float64 cell by cell
NARROW = (np.float16, np.float32)  # as Python's floats, they would seem to hold more integers than they do
NUMBER = (float, int, np.bool_, np.floating, np.integer, Decimal, abstract.Real)  # what public values may be

WHOLE: tuple[type, ...] = (
    *(np.int8, np.int16, np.int32, np.int64, np.intc, np.longlong),
    *(np.uint8, np.uint16, np.uint32, np.uint64, np.uintc, np.ulonglong),
)
# Types are known by their identities; comparing or hashing a cell's own type could run code of its class.
# Those whose conversion by numpy runs no foreign code and never warns; only their exact instances are cast together.
CASTABLE = frozenset({FLOAT, *map(id, (bool, int, float, type(None), Decimal, np.bool_, *WHOLE, *NARROW, np.float64))})
# Of those, the types of which equal cells are always the same category, so that a dict may stand for the rule.
# bytes are left out: comparing them with text can warn.
HASHABLE = frozenset(map(id, (bool, int, float, str, type(None), np.bool_, np.str_, np.float64, np.int64)))
ZONES = frozenset(map(id, (type(None), timezone, ZoneInfo)))

LONGEST_VALUE = 256  # characters of a text that is counted
AT_ONCE = 1 << 20  # objects that are read together: their text is joined

DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
ASCII_SPACE = " \t\n\r\x0b\x0c"
SPACE = ASCII_SPACE + "\u00a0\u202f"  # no-break spaces come from web pages and spreadsheets
WORDS = {"true": 1.0, "false": 0.0} | {
    sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "infinity")
}
MISSING_TEXTS = frozenset({"", "<NA>", "None", "NaT"})

NOT_A_TIME = np.iinfo(np.int64).min
EPOCH = datetime(1970, 1, 1)  # moments without a zone stay without one
NANOSECONDS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
DAY = 24 * NANOSECONDS["h"]
NANOSECONDS |= {"D": DAY, "W": 7 * DAY}


def object_array(cells: Iterable[Any], count: int) -> Array:
    """Return ``count`` Python objects as a 1-D array, whatever they are (``np.array`` would look into lists)."""
    return np.fromiter(cells, dtype=object, count=count)


def is_read(dtype: np.dtype[Any]) -> bool:
    """Whether cells of a numpy type mean anything: those of complex numbers, long doubles, durations and records do not."""
    return dtype.kind not in "cmV" and not (dtype.kind == "f" and dtype.itemsize > 8)


def _time_text(count: int, dtype: np.dtype[Any], zone: tzinfo | None) -> str | None:
    name, many = np.datetime_data(dtype)
    unit = many * NANOSECONDS.get(name, 0)  # of months, which have no fixed length, and below a nanosecond: 0
    if count == NOT_A_TIME or not unit:
        return None
    try:
        if unit % DAY == 0:
            return str(EPOCH.date() + timedelta(days=count * unit // DAY))
        microseconds, rest = divmod(count * unit, 1000)
        moment = EPOCH + timedelta(microseconds=microseconds)
        if zone is not None:
            moment = moment.replace(tzinfo=UTC).astimezone(zone)
    except Exception:
        return None
    text = moment.isoformat(" ", "microseconds")
    return f"{text[:26]}{rest:03d}{text[26:]}" if rest else str(moment)


def time_cells(times: Array, zone: tzinfo | None = None) -> Array:
    """Return numpy's dates or moments as text, None for NaT and for cells without a text; in UTC if there is a ``zone``."""
    counts, places = np.unique(times.astype(np.int64), return_inverse=True)
    texts = (_time_text(count, times.dtype, zone) for count in counts.tolist())
    return np.asarray(object_array(texts, len(counts))[places])


def _of_numpy_time(cell: Any, zone: tzinfo | None = None) -> str | None:
    return _time_text(int(cell.astype(np.int64)), cell.dtype, zone)


def _of_bytes(cell: bytes) -> str:
    return bytes.decode(cell, "utf-8", "replace")


RULES: dict[int, Callable[[Any], Plain]] = {
    id(kind): rule
    for rule, kinds in (
        (lambda cell: None, [type(None)]),
        (int, [bool, int, np.bool_, *WHOLE]),
        (float, [float, *NARROW, np.float64]),
        (lambda cell: cell, [Decimal]),
        (str, [str, np.str_, date]),
        (_of_bytes, [bytes, np.bytes_]),
        (lambda moment: str(moment) if id(type(moment.tzinfo)) in ZONES else None, [datetime]),
        (_of_numpy_time, [np.datetime64]),
    )
    for kind in kinds
}
# The base types of derived classes. Their values are read without the derived class's own methods.
BASES: tuple[tuple[type, Callable[[Any], Plain]], ...] = (
    (str, str.__str__),
    (float, float.__float__),
    (int, int.__int__),
    (bytes, _of_bytes),
)


def plain_cell(cell: Any) -> Plain:
    """Return a cell as a number, exactly, a text or None; the conversion of some cells raises Python's error."""
    rule = RULES.get(id(type(cell)))
    if rule is not None:
        return rule(cell)
    for base, base_rule in BASES:
        if issubclass(type(cell), base):  # isinstance could run the cell's own code
            return base_rule(cell)
    pandas: Any = get_pandas()  # None unless it was imported, and without it nobody has such a cell
    if pandas is not None and type(cell) is pandas.Timestamp and id(type(cell.tzinfo)) in ZONES:
        return _of_numpy_time(cell.to_datetime64(), cell.tzinfo)
    return None


def _float(plain: float | Decimal) -> float:
    try:
        return float(plain)
    except OverflowError:
        return math.inf if plain > 0 else -math.inf


def _of_text(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return WORDS.get(text.strip(SPACE).lower(), math.nan)


def number(cell: object, of_text: Callable[[str], float] = _of_text) -> float:
    try:
        plain = plain_cell(cell)
        return math.nan if plain is None else of_text(plain) if isinstance(plain, str) else _float(plain)
    except Exception:
        return math.nan


def is_machine(cells: Cells) -> bool:
    return cells.dtype.kind in MACHINE_NUMBERS and is_read(cells.dtype)


class Rule:
    """How the cells of a column are read: ``one`` reads a single cell, and the others read many at once with the same result.

    ``texts`` reads text, and ``numbers`` reads machine numbers; by default each distinct one is read once. ``floats``: numbers
    among objects are read as float64. ``known`` returns a table of ``spelling_table`` with the results of likely texts.
    """

    def __init__(
        self,
        one: Callable[[object], Any],
        dtype: Any,
        texts: Callable[[Texts], Array] | None = None,
        numbers: Callable[[Array], Array] | None = None,
        *,
        floats: bool = False,
        known: Callable[[], tuple[Any, ...]] = no_spellings,
    ) -> None:
        self.dtype, self._one, self._floats, self._known = dtype, one, floats, known
        self._texts = texts or (lambda cells: cells.through(self.each))
        self._numbers = numbers or self._distinct_numbers

    def __call__(self, cells: Cells) -> Array:
        if isinstance(cells, Texts):
            return self._texts(cells)
        return self._numbers(cells) if is_machine(cells) else self._objects(as_objects(cells))

    def each(self, cells: Cells) -> Array:
        return np.fromiter(map(self._one, cells.tolist()), dtype=self.dtype, count=len(cells))

    def _distinct_numbers(self, cells: Array) -> Array:
        values, places = np.unique(cells, return_inverse=True)
        return np.asarray(self.each(as_objects(values))[places.reshape(-1)])

    def _objects(self, objects: Array) -> Array:
        ready()
        if len(objects) > AT_ONCE:
            parts = [self._objects(objects[start : start + AT_ONCE]) for start in range(0, len(objects), AT_ONCE)]
            return np.concatenate(parts)
        objects = np.ascontiguousarray(objects)
        kinds, bits, n_known, rows, texts = read_plain(objects, self._known())
        result = bits.astype(self.dtype) if n_known else np.empty(len(objects), dtype=self.dtype)
        result[rows] = self._texts(texts)  # also of none, so that no record decides whether a kernel runs
        if n_known + len(rows) < len(objects):
            rest = np.flatnonzero((kinds != KNOWN) & (kinds != ASCII)) if n_known + len(rows) else slice(None)
            result[rest] = self._others(objects[rest], kinds[rest], bits[rest])
        return result

    def _others(self, objects: Array, kinds: Array, bits: Array) -> Array:
        if self._floats and (kinds == FLOAT).all():
            return self._numbers(bits.view(np.float64))
        is_text = kinds == id(str)
        if is_text.any() and (texts := joined(objects[is_text].tolist())) is not None:
            result, rest = np.empty(len(objects), dtype=self.dtype), ~is_text
            result[is_text] = self._texts(texts)
            result[rest] = self._others(objects[rest], kinds[rest], bits[rest])
            return result
        if self._floats and CASTABLE.issuperset(np.unique(kinds).tolist()):
            with suppress(Exception), np.errstate(all="ignore"):
                return self._numbers(objects.astype(np.float64))
        _, firsts, places = np.unique(addresses(objects), return_index=True, return_inverse=True)
        return self.each(objects[firsts])[places]  # each object is read once


def number_rule(
    one: Callable[[object], float] = number, decimal: str = ".", thousands: str = ""
) -> Callable[[Cells], Floats]:
    """Return the rule by which cells are float64, NaN if missing or unparsable. ``one`` reads text with the same marks."""
    marks = np.array([ord(mark) if mark and mark.isascii() else 0 for mark in (decimal, thousands)], dtype=np.uint8)

    def of_texts(cells: Texts) -> Floats:
        out, odd = np.empty(len(cells), dtype=np.float64), np.empty(len(cells), dtype=np.bool_)
        read_numbers(*cells.places, marks, POWERS, out, odd)
        return cells.fill(out, odd, one)

    def floats(cells: Array) -> Floats:
        with np.errstate(all="ignore"):
            return cells.astype(np.float64, copy=False)

    return Rule(one, np.float64, of_texts, floats, floats=True)


numbers = number_rule()


def as_objects(cells: Cells) -> Array:
    """Return cells as Python objects, times as their text.

    Narrow floats keep their type, which determines the integers that they hold exactly. numpy's own text can hold code points
    that are no characters; such a cell is missing.
    """
    if isinstance(cells, Texts):
        return cells.astype(object)
    if cells.dtype.kind == "M":
        return time_cells(cells)
    if not is_read(cells.dtype):
        return np.full(cells.shape, None, dtype=object)
    if cells.dtype in NARROW:
        return object_array(cells, len(cells))
    try:
        return cells.astype(object, copy=False)
    except Exception:
        objects = np.full(len(cells), None, dtype=object)
        for i in range(len(cells)):
            with suppress(Exception):
                objects[i] = cells[i]
        return objects


def category_key(cell: object) -> Key:
    """Return what one cell is compared as: a float64 value, a text, or None; some cells raise Python's error."""
    plain = plain_cell(cell)
    if not isinstance(plain, str):
        return None if plain is None else _float(plain)
    text = plain.strip(SPACE)
    return float(text) if DECIMAL.fullmatch(text) else WORDS.get(text.lower(), text)


def text_key(cell: object) -> Key:
    """Return what one cell is compared as where codes are text: 345.1 and 345.10 differ. Some cells raise Python's error."""
    plain = plain_cell(cell)
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)  # a table that has missing cells holds whole numbers as floats
    return None if plain is None or plain != plain else str(plain).strip(SPACE)


def known_key(cell: object) -> Key:
    try:
        key = category_key(cell)
    except Exception:
        return None
    return None if is_missing_key(key) else key


def is_missing_key(key: Key) -> bool:
    """Return whether a key that the schema does not declare stands for a missing cell."""
    if isinstance(key, str):
        return key in MISSING_TEXTS or (len(key) == 3 and key.lower() == "nan")
    return key is None or key != key


class CategoryReader:
    """The codes of one categorical column: the position of a value, then missing, then undeclared.

    ``values`` must have different keys. ``markers`` are further markers of a missing cell; a declared value is never one.
    ``as_text``: cells are compared as text. ``codes`` returns those of a 1-D array of cells.
    """

    def __init__(self, values: Sequence[object], markers: Sequence[object] = (), *, as_text: bool = False) -> None:
        self.missing = len(values)
        self.undeclared = len(values) + 1
        self.key = text_key if as_text else category_key
        self._table: dict[Key, int] = dict.fromkeys(map(self.key, markers), self.missing)
        self._table.update(zip(map(self.key, values), range(len(values)), strict=True))
        of_numbers = {key: code for key, code in self._table.items() if isinstance(key, float)}
        order = np.argsort(np.array([*of_numbers], dtype=np.float64))
        self._keys = np.array([*of_numbers], dtype=np.float64)[order]
        self._codes = np.array([*of_numbers.values()], dtype=np.int32)[order]
        self._values = *values, *markers
        of_floats = None if as_text else self._codes_of_numbers
        self.codes = Rule(
            self.code, np.int32, self._codes_of_texts, of_floats, floats=not as_text, known=self._spellings
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_known"}  # it follows from the others

    def code(self, cell: object) -> int:
        try:
            key = self.key(cell)
        except Exception:
            return self.missing
        code = self._table.get(key)
        if code is not None:
            return code
        return self.missing if is_missing_key(key) else self.undeclared

    @lazy
    def _known(self) -> tuple[tuple[Any, ...], ...]:
        """The likely texts of the schema's values, as ``look_up`` takes them: for any encoding, and for UTF-8."""
        texts = sorted({text for value in (*self._values, "", "nan", "NaN") for text in spellings(value)})
        known = {text.encode(): self.code(text) for text in texts if "\0" not in text and text.isprintable()}
        return spelling_table({text: code for text, code in known.items() if text.isascii()}), spelling_table(known)

    def _spellings(self) -> tuple[Any, ...]:
        return self._known[True]

    def _codes_of_texts(self, cells: Texts) -> npt.NDArray[np.int32]:
        if isinstance(cells, CodedTexts):
            return cells.through(self._codes_of_texts)
        codes, any_other = cells.known_codes(self._known[cells.decode is REPLACING], self.missing)
        return cells.fill(codes, codes < 0, self.code) if any_other else codes

    def _codes_of_numbers(self, cells: Array) -> npt.NDArray[np.int32]:
        values = numbers(cells)
        absent = np.isnan(values)
        if not self._keys.size:
            return np.where(absent, self.missing, self.undeclared).astype(np.int32)
        places = np.minimum(np.searchsorted(self._keys, values), self._keys.size - 1)
        codes = np.where(self._keys[places] == values, self._codes[places], np.int32(self.undeclared))
        codes[absent] = self.missing
        return codes


def count_values(cells: Cells, missing: Sequence[str] = (), weights: Array | None = None) -> dict[float | str, int]:
    """Return how many cells have each value, as categories are compared; numbers come before text.

    These are left out: missing cells, infinities, text of more than 256 letters, and text that UTF-8 cannot hold. This depends on
    each cell alone. The counts are exact: the caller adds noise to them.
    """
    markers = CategoryReader((), missing)
    places: dict[float | str, int] = {}

    def place(cell: object) -> int:
        key = known_key(cell)
        if key is None or markers.code(cell) == markers.missing:
            return -1
        if isinstance(key, str):
            has_value = len(key) <= LONGEST_VALUE and not any("\ud800" <= letter <= "\udfff" for letter in key)
        else:
            has_value, key = math.isfinite(key), key + 0.0
        return places.setdefault(key, len(places)) if has_value else -1

    codes = Rule(place, np.int64, floats=True)(cells)
    counts = np.bincount(codes + 1, weights, minlength=len(places) + 1)[1:].astype(np.int64)
    # Values that no counted cell has, such as unused ones of a dictionary, are left out: thresholds are proved for others only.
    counted = [(key, count) for key, count in zip(places, counts.tolist(), strict=True) if count]
    return dict(sorted(counted, key=lambda pair: (isinstance(pair[0], str), pair[0])))


def spellings(value: Any) -> set[str]:
    key = known_key(value)
    return {str(value), str(value).lower()} | (set() if key is None else {str(public_value(key))})


def public_value(key: float | str) -> bool | int | float | str:
    if isinstance(key, str):
        return key
    return int(key) if key.is_integer() else key
