"""The spellings of a category as regular expressions, for programs that compare text letter by letter.

They are written in what RE2, Python and others read alike: every letter that is not a plain one stands as its number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from hedgerow.export.form import ValueReading

SPACE = " \t\n\r\x0b\x0c"  # what stands around text without being part of it
SPACES = r"[ \t\n\r\x0b\x0c]*"
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
    """Return the code of every text that is one as it stands, the usual spellings of numbers among them."""
    texts = dict(reading.texts)
    for number, code in reading.numbers:
        texts.update(dict.fromkeys(_usual(number), code))
    return texts


def _usual(number: float) -> Iterable[str]:
    yield repr(number)
    if number.is_integer() and abs(number) < 1e16:
        yield str(int(number))
    yield from (word for low in WORDS.get(number, ()) for word in (low, low.capitalize(), low.upper()))


def spellings(reading: ValueReading) -> Iterator[tuple[str, int]]:
    """Yield a regular expression for each text of a reading and each word for a number, with its code; decimals are no words."""
    for text, code in reading.texts:
        yield _escaped(text), code
    for number, code in reading.numbers:
        for word in WORDS.get(number, ()):
            yield "".join(map(_either_case, word)), code
        if number == 0:
            yield ZERO, code


def _escaped(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else rf"\x{{{ord(letter):x}}}" for letter in text)


def _either_case(letter: str) -> str:
    return f"[{letter}{letter.upper()}]" if letter.isalpha() else _escaped(letter)
