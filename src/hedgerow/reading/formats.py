"""Numbers and dates in text, by public rules that an entry of a schema declares. A rule reads each cell alone.

Formats apply to text only. A cell whose type is a number or a date is unaffected, and so is a date in ISO 8601 text.

A date cell means a whole number of days or seconds since 1970, or is missing. It is a moment if its text is an ISO 8601 date with
hyphens, "2024-12-31", or a date and time, "2024-12-31T23:59:59.5", with or without an offset from UTC. (``cells`` defines the
text of a date in any table.) Moments with an offset are converted to UTC; others are not converted. Text in a format that the
schema declares is read by that format. Everything else is missing, including numbers, because nothing says whether they count
days, seconds or milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.errors import require
from hedgerow.reading.cells import SPACE, WORDS, Cells, Rule, category_key, number, number_rule, numbers, plain_cell
from hedgerow.reading.kernels import read_moments
from hedgerow.reading.text_cells import Texts

# Characters that look alike are read as one.
GROUP_MARKS = {" ": "[ \u00a0\u202f]", "'": "['\u2019]", "\u2019": "['\u2019]"}
GROUP_MARKS |= dict.fromkeys("\u00a0\u202f", GROUP_MARKS[" "])
# What an amount may have besides digits: a minus sign of any kind on one side, or brackets for it, and a unit, which is dropped.
# Digits end at no white space, so that no place of many spaces is tried twice.
MINUS, UNIT = "[-\u2212\u2013]", r"\s*+(?:[$€£¥₹%‰]|EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK)?+\s*+"
AMOUNT = re.compile(
    rf"{UNIT}(\(?)({MINUS}?){UNIT}({MINUS}?)([0-9](?:[^-()]*?[^-()\s])??|[.,][0-9]+)({MINUS}?){UNIT}({MINUS}?)(\)?){UNIT}"
)
FIELDS = {
    "%d": "(?P<day>[0-9]{1,2})",
    "%m": "(?P<month>[0-9]{1,2})",
    "%Y": "(?P<year>[0-9]{4})",
    "%y": "(?P<short>[0-9]{2})",
    "%H": "(?P<hour>[0-9]{1,2})",
    "%M": "(?P<minute>[0-9]{2})",
    "%S": "(?P<second>[0-9]{2})",
}
LONGEST = 40  # characters of a format
NO_FIELDS: Integers = np.empty(0, dtype=np.int64)
CENTURY = 69  # two-digit years from here on are 19.., as in POSIX

Unit = Literal["day", "second"]
SECONDS = {"day": 86_400, "second": 1}
ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)[0-9]{0,3}(Z|[+-][0-9]{2}:?[0-9]{2}(?::[0-9]{2})?)?)?"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NO_MOMENT = -(2**62)  # earlier than any date


@dataclass(frozen=True)
class NumberFormat:
    """The format of numbers in text: the decimal separator, and the separator of groups of three digits.

    A space as separator matches a space of any width. ``amounts``: text may also be an amount, as ``AMOUNT`` says.
    """

    decimal: str = "."
    thousands: str = ""
    amounts: bool = False

    def __post_init__(self) -> None:
        decimal, thousands, marks = self.decimal, self.thousands, ("", ".", ",", *GROUP_MARKS)
        require(isinstance(decimal, str) and decimal in (".", ","), "decimal", decimal, "'.' or ','")
        require(isinstance(thousands, str) and thousands in marks, "thousands", thousands, "'', '.', ',', ' ' or \"'\"")
        require(decimal != thousands, "thousands", thousands, "another mark than decimal")

    @lazy
    def _pattern(self) -> re.Pattern[str]:
        mark, point = GROUP_MARKS.get(self.thousands, re.escape(self.thousands)), re.escape(self.decimal)
        whole = f"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+|[0-9]+" if mark else "[0-9]+"
        return re.compile(rf"([+-]?)(?:({whole})(?:{point}([0-9]*))?|{point}([0-9]+))([eE][+-]?[0-9]+)?")

    def _of_text(self, text: str) -> float:
        text = text.strip(SPACE)
        found = self._pattern.fullmatch(text)
        if found is None and self.amounts and (amount := AMOUNT.fullmatch(text)):
            opened, *first, digits, last, end, closed = amount.groups()
            signs = sum(map(bool, (opened, *first, last, end)))
            if bool(opened) == bool(closed) and signs <= 1:
                found = self._pattern.fullmatch("-" * signs + digits)
        if found is None:
            return WORDS.get(text.lower(), np.nan)
        sign, whole, fraction, only, power = (part or "" for part in found.groups())
        digits = re.sub("[^0-9]", "", whole)
        return float(f"{sign}{digits or '0'}.{fraction or only or '0'}{power}")

    def number(self, cell: object) -> float:
        return number(cell) if self == PLAIN else number(cell, self._of_text)

    @lazy
    def numbers(self) -> Callable[[Cells], Floats]:
        if self.amounts:  # the kernel takes what begins with a letter for no number
            return Rule(self.number, np.float64, floats=True, numbers=numbers)
        return number_rule(self.number, self.decimal, self.thousands)

    def markers(self, missing: Sequence[str]) -> Floats:
        markers = np.fromiter(map(self.number, missing), dtype=np.float64, count=len(missing))
        return markers[~np.isnan(markers)]


PLAIN = NumberFormat()


@dataclass(frozen=True)
class DateFormat:
    """The format of dates in text, such as "%d.%m.%Y".

    ``%d`` day, ``%m`` month, ``%Y`` year, ``%y`` the last two digits of a year from 1969 to 2068, ``%H`` hour, ``%M`` minute,
    ``%S`` second. Any other character matches itself. Leading zeros of days, months and hours are optional.
    """

    text: str

    def __post_init__(self) -> None:
        is_short = isinstance(self.text, str) and len(self.text) <= LONGEST
        parts = re.findall("%.?", self.text) if is_short else []
        fields = sorted(part for part in parts if part not in ("%Y", "%y"))
        is_format = len(parts) == len(fields) + 1 and "".join(fields) in ("%d%m", "%H%M%d%m", "%H%M%S%d%m")
        rule = "a short text with %d, %m and one of %Y and %y, perhaps with %H and %M, and then %S, such as '%d.%m.%Y'"
        require(is_format, "date_format", self.text, rule)
        rule = "one that reads 2004-05-06 as ISO 8601 does, because such text is always read so"
        require(self.moment("2004-05-06") in (None, datetime(2004, 5, 6)), "date_format", self.text, rule)

    @lazy
    def _pattern(self) -> re.Pattern[str]:
        pieces = re.split("(%.)", self.text)
        return re.compile("".join(FIELDS.get(piece, re.escape(piece)) for piece in pieces))

    @lazy
    def fields(self) -> Integers:
        """The format as ``read_moments`` takes it; nothing where the end of a field depends on what follows it."""
        pieces = [piece for piece in re.split("(%.)", self.text) if piece]
        ambiguous = any(
            piece in FIELDS and (after in FIELDS or after[0].isdigit()) for piece, after in pairwise(pieces)
        )
        if ambiguous or not self.text.isascii():
            return NO_FIELDS
        places = {field: [-1 - place] for place, field in enumerate(FIELDS)}
        return np.array([code for piece in pieces for code in places.get(piece, piece.encode())], dtype=np.int64)

    def moment(self, text: str) -> datetime | None:
        found = self._pattern.fullmatch(text.strip(SPACE))
        if found is None:
            return None
        part: dict[str, Any] = {name: int(digits) for name, digits in found.groupdict().items()}
        if (short := part.pop("short", None)) is not None:
            part["year"] = short + (1900 if short >= CENTURY else 2000)
        try:
            return datetime(**part)
        except ValueError:
            return None


def microseconds(cell: object, form: DateFormat | None = None) -> int:
    """Return the moment of one cell, in microseconds since 1970 rounded down, or ``NO_MOMENT``."""
    try:
        key = category_key(cell) if form is None else plain_cell(cell)  # as a category, "01.02" is a number
        text = key.strip(SPACE) if isinstance(key, str) else ""
        if match := ISO.fullmatch(text):
            day, time, zone = match.groups()
            moment = datetime.fromisoformat(f"{day} {time or '00:00'}{zone or '+00:00'}")
        elif form is not None and (found := form.moment(text)) is not None:
            moment = found.replace(tzinfo=UTC)
        else:
            return NO_MOMENT
        return (moment - EPOCH) // MICROSECOND
    except Exception:
        return NO_MOMENT


def date_text(count: int, unit: Unit) -> str:
    moment = EPOCH + timedelta(seconds=count * SECONDS[unit])
    return str(moment.date()) if unit == "day" else str(moment.replace(tzinfo=None))


def date_reader(unit: Unit, missing: Sequence[str] = (), form: DateFormat | None = None) -> Callable[[Cells], Floats]:
    """Return a function that reads the cells of one column as moments.

    A cell is the number of ``unit`` since 1970, rounded down, NaN where missing. A marker in ``missing`` that is a date matches
    every text of that moment. ``form`` is the format of text that is not in ISO 8601. None: no such text is read.
    """
    moment = partial(microseconds, form=form)
    markers = np.array([moment(marker) for marker in missing], dtype=np.int64)
    fields = NO_FIELDS if form is None else form.fields
    letters = form is not None and not form.text.startswith("%")

    def of_texts(cells: Texts) -> Integers:
        out, odd = np.full(len(cells), NO_MOMENT), np.empty(len(cells), dtype=np.bool_)
        read_moments(*cells.places, fields, letters, out, odd)
        return cells.fill(out, odd, moment)

    rule = Rule(moment, np.int64, of_texts, lambda cells: np.full(cells.shape, NO_MOMENT), floats=True)

    def read(cells: Cells) -> Floats:
        moments = rule(cells)
        counts = (moments // (10**6 * SECONDS[unit])).astype(np.float64)
        counts[(moments == NO_MOMENT) | np.isin(moments, markers)] = np.nan
        return counts

    return read
