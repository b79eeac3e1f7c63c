"""Exact numbers: what a user writes as 0.1 is one tenth, and every rounding is downwards and visible."""

from __future__ import annotations

import math
import numbers
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hedgerow.errors import ConfigurationError, shown

LARGEST = Fraction(10**9)
SMALLEST = Fraction(1, 10**9)
LONGEST_TEXT = 4000
LARGEST_EXPONENT = 1000
LONGEST_WHOLE = 6  # powers of ten that are written out when a number is rounded up
# Of a budget's numerator and denominator, 1053 digits: what is made of it can be written, read and added.
MOST_BITS = 3500


def exact(value: object, name: str = "epsilon") -> Fraction:
    """Return a budget as a fraction, or raise ConfigurationError.

    A float is read as its shortest decimal, so 0.1 is exactly 1/10.
    """
    number = _fraction(value)
    if number is None or not SMALLEST <= number <= LARGEST:
        raise ConfigurationError(f"{name} is {shown(value)}; pass a privacy budget from 1e-9 to 1e9, as in {name}=1.0.")
    return number


def exact_delta(value: object) -> Fraction:
    number = _fraction(value)
    if number is not None and 0 <= number < 1:
        return number
    raise ConfigurationError(
        f"delta is {shown(value)}; pass a probability of failure, from 0 to below 1, such as 1e-6."
    )


def _fraction(value: object) -> Fraction | None:
    """Return a number as a fraction, a float as its shortest decimal; None where it is no finite number of few digits."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | Decimal | str):
        return None
    try:
        if isinstance(value, numbers.Rational):  # numpy's integers would overflow inside a fraction
            number = Fraction(int(value.numerator), int(value.denominator))
        else:
            number = read_fraction(str(value) if isinstance(value, str | Decimal | np.floating) else repr(float(value)))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    return None if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS else number


def read_fraction(text: object) -> Fraction:
    """Return the fraction that a short text spells, or raise ValueError, also for numbers that would fill the memory."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ValueError("no short text")
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
        raise ValueError("an exponent out of all bounds")
    return Fraction(text)


def check_positive(what: str, budget: Fraction, change: Fraction | int) -> None:
    if budget <= 0 or change <= 0:
        raise ConfigurationError(f"{what} has the budget {budget} for a change of {change}; both must be positive.")


class Dyadic(NamedTuple):
    numerator: int
    bits: int

    @property
    def fraction(self) -> Fraction:
        return Fraction(self.numerator << max(-self.bits, 0), 1 << max(self.bits, 0))


def dyadic_below(value: Fraction, *, digits: int, bits: int) -> Dyadic:
    """Return the largest dyadic number at most ``value`` with so many digits in its numerator and bits in its denominator.

    The numerator is reduced to lowest terms. Raises ConfigurationError where no positive number fits.
    """
    shift = bits
    numerator = int(value * 2**shift)
    if numerator >= 2**digits:
        shift -= numerator.bit_length() - digits
        if shift < 0:
            raise ConfigurationError(f"a budget of {float(value):.3g} is too large for samplers; pass a smaller one.")
        numerator = int(value * 2**shift)
    if numerator <= 0:
        raise ConfigurationError(f"a budget of {float(value):.3g} is too small for the samplers; pass a larger one.")
    while shift > 0 and numerator % 2 == 0:
        numerator //= 2
        shift -= 1
    return Dyadic(numerator, shift)


def decimal_text(value: Fraction, digits: int = 6) -> str:
    """Return a fraction as text: in full where it is a short decimal, otherwise rounded down to so many digits, and "..."."""
    exponent = _quotient(value, 1, ROUND_DOWN)[0].adjusted()
    number, inexact = _quotient(value, max(digits, exponent + 1), ROUND_FLOOR)
    return f"{number:{'e' if exponent < -4 else 'f'}}{'...' if inexact else ''}"


def upper_text(value: Fraction | float, digits: int = 4) -> str:
    """Return a number that is not negative as text of so many digits, rounded up, so that no cost reads as less than it is.

    What is below 1 is shown with as many digits as it takes to read so. A float is read as its shortest decimal.
    """
    if value == math.inf:
        return "infinity"
    number = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    while (raised := Fraction(_quotient(number, digits, ROUND_CEILING)[0])) == 1 > number:
        digits += 1
    exponent = _quotient(raised, 1, ROUND_DOWN)[0].adjusted()
    if exponent <= LONGEST_WHOLE:
        return decimal_text(raised, digits)
    return f"{decimal_text(raised / 10**exponent, digits)}e{exponent}"


def _quotient(value: Fraction, digits: int, rounding: str) -> tuple[Decimal, bool]:
    """Return a fraction as a decimal of so many digits without zeros at its end, and whether it was rounded."""
    context = Context(digits, rounding, MIN_EMIN, MAX_EMAX, traps=[])
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return number.normalize(context), bool(context.flags[Inexact])
