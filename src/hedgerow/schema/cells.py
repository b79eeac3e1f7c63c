"""What a single cell means: a number, a category, or nothing.

The rule depends on that cell alone. Neither the column's dtype nor any other record changes how a cell is read. No
cell can raise an error, cause a warning or run code of its own, because only types that cannot do so are read.
Nothing here changes the filters of ``warnings``, which belong to the process. Tests compare the fast paths below with
``number`` and ``category_key``, which state the rule for one cell.

Types
    Python's bool, int, float, complex, str, bytes, Decimal, date, datetime, timedelta and time;
    numpy's numbers, texts, dates and durations; pandas' NA, NaT, Timestamp and Timedelta. An instance of a class derived
    from int, float, str or bytes is read as a value of that type, whatever its own methods return. A cell of any other type
    is no number and an undeclared category.
Numbers
    Truth values, numbers and text that Python's ``float`` reads are numbers. The texts true and false (in any case) are 1
    and 0. A number that is too large for float64 is infinite. Everything else is missing, including dates. A complex number
    without an imaginary part is its real part, because one complex cell makes a whole column complex, and the numbers in it
    must not change.
Categories
    Truth values, numbers and text that is a decimal number are compared as float64, so 1, 1.0, True, "1" and "true" are
    one category, and so are infinity and "inf". Other text is compared without the white space around it. None, NaN,
    "", "nan", "<NA>", "None" and "NaT" are missing unless the schema declares that text.
Times
    As categories, dates, moments, durations and times of day are the text that ``str`` makes of Python's own types:
    "2020-01-01", "2020-01-01 12:30:00+01:00". Nanoseconds that are not whole microseconds add three digits. A time that
    Python's types cannot hold is undeclared, and so is a time zone other than those of ``datetime`` and ``zoneinfo``.
    pytz's zones are read as those of the same name or offset.
"""

from __future__ import annotations

import math
import numbers as abstract
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas

Cells = npt.NDArray[Any]
Key = float | str | None

MACHINE_NUMBERS = "biuf"  # dtype kinds that cast to float64 cell by cell
NARROW = (
    np.float16,
    np.float32,
    np.complex64,
)  # converted to Python's floats, they would seem to hold more integers than they do
TIMES = "Mm"  # dates and durations are no numbers, although numpy would cast them
NUMBER = (float, int, np.bool_, np.floating, np.integer, Decimal, abstract.Real)  # what public values may be

WHOLE: tuple[type, ...] = (
    *(np.int8, np.int16, np.int32, np.int64, np.intc, np.longlong),
    *(np.uint8, np.uint16, np.uint32, np.uint64, np.uintc, np.ulonglong),
)
BROKEN: tuple[type, ...] = (np.float16, np.float32, np.float64)


def _ids(*types: type) -> frozenset[int]:
    """Return the identities of types; comparing or hashing a cell's own type could run code of its class."""
    return frozenset(map(id, types))


# Types whose conversion by numpy runs no foreign code and never warns; only their exact instances take the fast paths.
CASTABLE = _ids(bool, int, float, str, bytes, type(None), Decimal, np.bool_, np.str_, *WHOLE, *BROKEN)
# Of those, the types of which equal cells are always the same category, so that a dict may stand for the rule.
# bytes are left out: comparing them with text can warn.
HASHABLE: frozenset[type] = frozenset({bool, int, float, str, type(None), np.bool_, np.str_, np.float64, np.int64})
HASHABLE_IDS = _ids(*HASHABLE)
ZONES = _ids(type(None), timezone, ZoneInfo)

UNREADABLE = object()  # a present cell without a meaning: no number, and an undeclared category

CHUNK = 1024  # cells cast at once; if one of them does not cast, they are cast in smaller pieces
PIECE = 32
CACHE_CELLS = 65_536  # bounds on what a cache of distinct cells may hold
CACHE_LENGTH = 256

DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
SPACE = " \t\n\r\x0b\x0c"
WORDS = {"true": 1.0, "false": 0.0} | {
    sign + word: float(sign + word) for sign in ("", "+", "-") for word in ("inf", "infinity")
}
MISSING_TEXTS = frozenset({"", "<NA>", "None", "NaT"})

NOT_A_TIME = np.iinfo(np.int64).min
EPOCH = datetime(1970, 1, 1)  # moments without a zone stay without one
NANOSECONDS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
DAY = 24 * NANOSECONDS["h"]
NANOSECONDS |= {"D": DAY, "W": 7 * DAY}


def object_array(cells: Iterable[Any], count: int) -> Cells:
    """Return ``count`` Python objects as a 1-D array, whatever they are (``np.array`` would look into lists)."""
    return np.fromiter(cells, dtype=object, count=count)


def _all_of(types: frozenset[int], cells: list[Any]) -> bool:
    return types.issuperset(map(id, map(type, cells)))


def _date_text(nanoseconds: int) -> str:
    return str(EPOCH.date() + timedelta(days=nanoseconds // DAY))


def _moment_text(nanoseconds: int, zone: tzinfo | None = None) -> str:
    microseconds, rest = divmod(nanoseconds, 1000)
    moment = EPOCH + timedelta(microseconds=microseconds)
    if zone is not None:
        moment = moment.replace(tzinfo=UTC).astimezone(zone)
    if not rest:
        return str(moment)
    text = moment.isoformat(" ", "microseconds")
    return f"{text[:26]}{rest:03d}{text[26:]}"


def _duration_text(nanoseconds: int) -> str:
    microseconds, rest = divmod(nanoseconds, 1000)
    duration = timedelta(microseconds=microseconds)
    if not rest:
        return str(duration)
    return f"{duration}{'' if duration.microseconds else '.000000'}{rest:03d}"


def _time_of_day_text(nanoseconds: int) -> str:
    if not 0 <= nanoseconds < DAY:
        raise OverflowError
    return _moment_text(nanoseconds).partition(" ")[2]


def _time_rule(dtype: np.dtype[Any], zone: tzinfo | None, of_day: bool) -> Callable[[int], str]:
    """Return how the counts of a dtype of numpy's times become text; the text of one count may raise."""
    unit, many = np.datetime_data(dtype)
    each = many * NANOSECONDS.get(unit, 0)
    if not each:  # months have no fixed length, and Python's times know nothing below a nanosecond

        def no_text(count: int) -> str:
            raise OverflowError

        return no_text
    if dtype.kind == "m":
        text = _time_of_day_text if of_day else _duration_text
        return lambda count: text(count * each)
    if each % DAY == 0:
        return lambda count: _date_text(count * each)
    return lambda count: _moment_text(count * each, zone)


def time_cells(times: Cells, zone: tzinfo | None = None, *, of_day: bool = False) -> Cells:
    """Return numpy's dates, moments or durations as text, None for NaT, and ``UNREADABLE`` for cells without a text.

    Moments are in UTC if a ``zone`` is given. Durations are times of day if ``of_day`` is set.
    """
    rule = _time_rule(times.dtype, zone, of_day)

    def text(count: int) -> object:
        if count == NOT_A_TIME:
            return None
        try:
            return rule(count)
        except Exception:
            return UNREADABLE

    counts, places = np.unique(times.astype(np.int64), return_inverse=True)
    cells: Cells = object_array(map(text, counts.tolist()), counts.shape[0])[places]
    return cells


def _of_int(cell: Any) -> float:
    whole = int.__int__(cell)
    try:
        return float(whole)
    except OverflowError:
        return math.inf if whole > 0 else -math.inf


def _of_complex(cell: Any) -> float:
    if cell.imag == 0:
        return float(cell.real)
    if cell != cell:
        return math.nan
    raise TypeError


def _of_bytes(cell: bytes) -> str:
    return bytes.decode(cell, "utf-8", "replace")


def known_zone(zone: tzinfo | None) -> tzinfo | None:
    """Return a time zone as one of Python's own, which run no foreign code.  Raise if it is none of them.

    pytz's zones are read by their name. pandas 2 and older versions of pyarrow make these, later versions ``zoneinfo``'s.
    """
    if id(type(zone)) in ZONES:
        return zone
    pytz, kind = sys.modules.get("pytz"), type(zone)  # without that module nobody has such a zone
    if pytz is None or type(kind) is not type:
        raise TypeError
    if kind is type(pytz.FixedOffset(1)):
        return _fixed(zone, None)
    name = kind.__dict__.get("zone")
    if type(name) is not str or kind is not type(pytz.timezone(name)):  # each of pytz's zones has a class of its own
        raise TypeError
    return ZoneInfo(name)


def _fixed(zone: Any, moment: datetime | None) -> timezone:
    """Return the offset of a zone of pytz, by the method of its class: the object's own may be foreign."""
    return timezone(type(zone).utcoffset(zone, moment))


def _of_zoned(cell: datetime | time) -> str:
    zone = known_zone(cell.tzinfo)
    if zone is cell.tzinfo:
        return str(cell)
    if isinstance(cell, time):
        raise TypeError
    return str(cell.replace(tzinfo=_fixed(cell.tzinfo, cell)).astimezone(zone))


def _of_numpy_time(cell: Any, zone: tzinfo | None = None) -> str | None:
    count = int(cell.astype(np.int64))
    return None if count == NOT_A_TIME else _time_rule(cell.dtype, zone, of_day=False)(count)


RULES: dict[int, Callable[[Any], Key]] = {
    id(kind): rule
    for rule, kinds in (
        (lambda cell: None, [type(None)]),
        (float, [bool, float, np.bool_, np.longdouble, *WHOLE, *BROKEN, Decimal]),
        (_of_int, [int]),
        (_of_complex, [complex, np.complex64, np.complex128, np.clongdouble]),
        (str, [str, np.str_, date, timedelta]),
        (_of_bytes, [bytes, np.bytes_]),
        (_of_zoned, [datetime, time]),
        (_of_numpy_time, [np.datetime64, np.timedelta64]),
    )
    for kind in kinds
}
# The base types of derived classes. Their values are read without the derived class's own methods.
BASES: tuple[tuple[type, Callable[[Any], Key]], ...] = (
    (str, str.__str__),
    (float, float.__float__),
    (int, _of_int),
    (bytes, _of_bytes),
)


def _plain(cell: object) -> Key:
    """Return a cell as a number, a text or None; raise Python's error if it is none of them."""
    rule = RULES.get(id(type(cell)))
    if rule is not None:
        return rule(cell)
    for base, base_rule in BASES:
        if issubclass(type(cell), base):  # isinstance could run the cell's own code
            return base_rule(cell)
    return _of_pandas(cell)


def _of_pandas(cell: Any) -> str | None:
    pandas = get_pandas()  # None unless it was imported, and without it nobody has such a cell
    if pandas is None:
        raise TypeError
    if cell is pandas.NA or cell is pandas.NaT:
        return None
    if type(cell) is pandas.Timestamp:
        return _of_numpy_time(cell.to_datetime64(), known_zone(cell.tzinfo))
    if type(cell) is pandas.Timedelta:
        return _of_numpy_time(cell.to_timedelta64())
    raise TypeError


def number(cell: object) -> float:
    """Return the number that one cell holds, or NaN."""
    return number_by(cell, _of_text)


def number_by(cell: object, of_text: Callable[[str], float]) -> float:
    """Return the number that one cell holds, or NaN; ``of_text`` reads text."""
    try:
        plain = _plain(cell)
        if isinstance(plain, str):
            return of_text(plain)
    except Exception:
        return math.nan
    return math.nan if plain is None else plain


def _of_text(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return WORDS.get(text.strip(SPACE).lower(), math.nan)


def numbers(cells: Cells) -> npt.NDArray[np.float64]:
    """Read a 1-D array of cells as float64. Missing and unparsable cells are NaN; infinities stay."""
    kind = cells.dtype.kind
    if kind in TIMES:
        return np.full(cells.shape, math.nan)
    with np.errstate(all="ignore"):
        if kind in MACHINE_NUMBERS:
            return cells.astype(np.float64, copy=False)
        if kind == "c":
            return np.where(cells.imag == 0, cells.real, math.nan).astype(np.float64, copy=False)
        objects = as_objects(cells)
        result = np.empty(objects.shape[0], dtype=np.float64)
        for start in range(0, objects.shape[0], CHUNK):
            _cast(objects[start : start + CHUNK], result[start : start + CHUNK])
    return result


def numeric_markers(missing: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the numbers among markers of missing cells."""
    markers = np.array([number(marker) for marker in missing], dtype=np.float64)
    return markers[~np.isnan(markers)]


def as_objects(cells: Cells) -> Cells:
    """Return cells as Python objects. numpy's own text can hold code points that are no characters."""
    try:
        return cells.astype(object, copy=False)
    except Exception:
        return object_array((_object(cells, i) for i in range(cells.shape[0])), cells.shape[0])


def typed_objects(cells: Cells) -> Cells:
    """Return cells as objects. Narrow floats keep their type, which determines the integers that they hold exactly."""
    return object_array(cells, len(cells)) if cells.dtype in NARROW else as_objects(cells)


def _object(cells: Cells, i: int) -> object:
    try:
        cell: object = cells[i]
    except Exception:
        return UNREADABLE
    return cell


def _cast(cells: Cells, result: npt.NDArray[np.float64]) -> None:
    """Write the numbers of object cells into ``result``. A cell that does not cast only takes time."""
    if _all_of(CASTABLE, cells.tolist()):
        try:
            result[:] = cells
        except Exception:
            if cells.shape[0] > PIECE:
                for start in range(0, cells.shape[0], PIECE):
                    _cast(cells[start : start + PIECE], result[start : start + PIECE])
                return
        else:
            return
    result[:] = np.fromiter(map(number, cells.tolist()), dtype=np.float64, count=cells.shape[0])


def category_key(cell: object) -> Key:
    """Return what one cell is compared as: a float64 value, a text, or None.  Raise if it is none of them."""
    plain = _plain(cell)
    return _text_key(plain) if isinstance(plain, str) else plain


def _text_key(text: str) -> Key:
    text = text.strip(SPACE)
    if DECIMAL.fullmatch(text):
        return float(text)
    return WORDS.get(text.lower(), text)


def text_or_key(cell: object) -> Key:
    """Return ``category_key`` of a cell, but text stays text, without the white space around it ("01.02" is no number)."""
    plain = _plain(cell)
    return plain.strip(SPACE) if isinstance(plain, str) else plain


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
        Further markers of a missing cell. A declared value is never a marker.

    A reader holds the schema only. What it caches of the records is in the session of one call.
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
        """Return a reader that caches distinct cells, for the blocks of one column in one call."""
        return CategorySession(self)

    def codes_of_numbers(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """Return the codes of float64 values; NaN is missing."""
        absent = np.isnan(values)
        if not self._keys.size:
            return np.where(absent, self.missing, self.undeclared).astype(np.int32)
        places = np.minimum(np.searchsorted(self._keys, values), self._keys.size - 1)
        codes = np.where(self._keys[places] == values, self._codes[places], np.int32(self.undeclared))
        codes[absent] = self.missing
        return codes


class CellCache(dict[Any, int]):
    """Codes by cell, so that Python code runs once per distinct cell. The cache is bounded and ends with its session."""

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
        self._cache = CellCache(reader.code)

    def codes(self, cells: Cells) -> npt.NDArray[np.int32]:
        """Return the codes of a 1-D array of cells."""
        kind = cells.dtype.kind
        if kind in MACHINE_NUMBERS:
            return self._reader.codes_of_numbers(numbers(cells))
        objects = (time_cells(cells) if kind in TIMES else as_objects(cells)).tolist()
        result = np.empty(len(objects), dtype=np.int32)
        for start in range(0, len(objects), CHUNK):
            chunk = objects[start : start + CHUNK]
            result[start : start + CHUNK] = np.fromiter(self._chunk(chunk), dtype=np.int32, count=len(chunk))
        return result

    def _chunk(self, cells: list[Any]) -> Iterable[int]:
        known = self._cache.__getitem__
        if _all_of(HASHABLE_IDS, cells):
            return map(known, cells)
        code = self._reader.code
        return [known(cell) if id(type(cell)) in HASHABLE_IDS else code(cell) for cell in cells]
