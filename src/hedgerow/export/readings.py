"""How the cells of a feature become codes, for other programs, and the spellings of a category as regular expressions.

These are written in what RE2, Python and others read alike: every letter that is not a plain one stands as its number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, ClassVar

from hedgerow.errors import ConfigurationError
from hedgerow.reading.cells import ASCII_SPACE, MISSING_TEXTS, SPACE
from hedgerow.reading.formats import NO_MOMENT, DateFormat, Unit, microseconds
from hedgerow.schema import Boolean, Categorical, Date, Encoder, Integer, Numeric, Schema
from hedgerow.schema.features import Value


@dataclass(frozen=True)
class NumberReading:
    """A number's code is how many edges are not above it; what is no number, or a marker, has the code behind the bins."""

    name: str
    edges: tuple[float, ...]  # where bins begin, ascending and finite; a bin holds its lower edge
    markers: tuple[float, ...]  # numbers that stand for a missing cell
    unit: Unit | None = None  # of a date: it is given as so many whole days or seconds since 1970, and a marker as none
    moments: tuple[int, ...] = ()  # microseconds since 1970 that stand for a missing cell, for readers of dates as text
    text: dict[str, Any] = field(default_factory=dict)  # the declared format of text, as the schema's TOML names it

    @property
    def missing(self) -> int:
        return len(self.edges) + 1


@dataclass(frozen=True)
class ValueReading:
    """A category's code is that of its text or number; others have the code of what is undeclared.

    Text is taken without the white space around it. Decimal numbers are compared as float64, true and false being 1 and 0.
    """

    name: str
    values: tuple[Value, ...]  # what is declared, in the order of its codes
    texts: tuple[tuple[str, int], ...]  # the code of each text, those of missing cells among them
    numbers: tuple[tuple[float, int], ...]

    unit: ClassVar[None] = None  # no date

    @property
    def missing(self) -> int:
        return len(self.values)

    @property
    def undeclared(self) -> int:
        return len(self.values) + 1


Reading = NumberReading | ValueReading


def readings_of(encoder: Encoder) -> tuple[Reading, ...]:
    schema = encoder.schema
    readings: list[Reading] = []
    schema.check_text()
    for (name, feature), cuts in zip(schema.features.items(), encoder.edges, strict=True):
        edges = tuple(cuts.tolist())
        # By the type itself: a type derived from these may read cells in another way.
        if type(feature) is Date:
            form = None if feature.date_format is None else DateFormat(feature.date_format)
            moments = dict.fromkeys(microseconds(marker, form) for marker in (*schema.missing, *feature.missing))
            known = tuple(one for one in moments if one != NO_MOMENT)
            text = {} if form is None else {"date_format": form.text}
            readings.append(NumberReading(name, edges, (), feature.unit, known, text))
        elif type(feature) in (Numeric, Integer):
            assert isinstance(feature, Numeric)
            markers = dict.fromkeys(feature.number_format.markers((*schema.missing, *feature.missing)).tolist())
            text = asdict(feature.number_format) if feature.reads_text else {}
            readings.append(NumberReading(name, edges, tuple(markers), text=text))
        elif type(feature) in (Categorical, Boolean):
            assert isinstance(feature, Categorical)
            readings.append(_value_reading(name, feature, schema))
        else:
            raise ConfigurationError(
                f"feature {name!r} is of the type {type(feature).__name__}, which cannot be exported yet; keep the model in "
                "hedgerow, by model.save(path)."
            )
    return tuple(readings)


def _value_reading(name: str, feature: Categorical, schema: Schema) -> ValueReading:
    missing = len(feature.values)
    spellings = {"".join(letters) for letters in product("nN", "aA", "nN")} | MISSING_TEXTS
    codes = dict.fromkeys(sorted(spellings), missing)
    keys = {feature.key(marker): missing for marker in (*schema.missing, *feature.missing)}
    keys.update((feature.key(value), code) for code, value in enumerate(feature.values))
    codes.update((key, code) for key, code in keys.items() if isinstance(key, str))
    numbers = tuple((key, code) for key, code in keys.items() if isinstance(key, float))
    return ValueReading(name, tuple(feature.values), tuple(codes.items()), numbers)


NO_BREAK_SPACES = SPACE.removeprefix(ASCII_SPACE)
SPACES, ASCII_SPACES = f"[{SPACE}]*", f"[{ASCII_SPACE}]*"
# Decimal numbers that cannot be too large or too small for a float, and those that are zero to one. What neither holds (exponents
# far beyond 100 behind many digits) is no number here; nobody declares such a category.
FEW, MANY = r"[0-9]{1,20}(?:\.[0-9]{0,200})?|\.[0-9]{1,20}", r"0*[0-9]{1,200}(?:\.[0-9]{0,200}0*)?|\.[0-9]{1,200}0*"
DECIMAL = rf"[+-]?(?:(?:{MANY})(?:[eE][+-]?0*[0-9]{{1,2}})?|(?:{FEW})[eE][+-]?0*(?:1[0-9]{{2}}|2[0-7][0-9]))"
ZERO = rf"[+-]?(?:(?:0+(?:\.0*)?|\.0+)(?:[eE][+-]?[0-9]+)?|(?:{FEW})[eE]-0*(?:3[5-9][0-9]|[4-9][0-9]{{2}}|[1-9][0-9]{{3,}}))"

WORDS = {
    1.0: ("true",),
    0.0: ("false",),
    math.inf: ("inf", "infinity", "+inf", "+infinity"),
    -math.inf: ("-inf", "-infinity"),
}


def exact_texts(reading: ValueReading) -> dict[str, int]:
    texts = dict(reading.texts)
    for number, code in reading.numbers:
        texts[repr(number)] = code
        if number.is_integer() and abs(number) < 1e16:
            texts[str(int(number))] = code
        for low in WORDS.get(number, ()):
            texts |= dict.fromkeys((low, low.capitalize(), low.upper()), code)
    return texts


def spellings(reading: ValueReading) -> Iterator[tuple[str, int]]:
    """Yield a regular expression for each text of a reading and each word for a number, with its code; decimals are no words."""
    for text, code in reading.texts:
        yield "".join(map(_escaped, text)), code
    for number, code in reading.numbers:
        for word in WORDS.get(number, ()):
            yield "".join(f"[{one}{one.upper()}]" if one.isalpha() else _escaped(one) for one in word), code
        if number == 0:
            yield ZERO, code


def _escaped(letter: str) -> str:
    return letter if letter.isascii() and letter.isalnum() else rf"\x{{{ord(letter):x}}}"
