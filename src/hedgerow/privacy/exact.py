"""Exact numbers: what a user writes as 0.1 is one tenth, and every rounding is downwards and visible."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from hedgerow.errors import ConfigurationError

__all__ = ["Dyadic", "decimal_text", "dyadic_below", "exact", "exact_delta"]

LARGEST = Fraction(10**9)
SMALLEST = Fraction(1, 10**9)


def exact(value: object, name: str = "epsilon") -> Fraction:
    """Return a budget as a fraction; a float is read as its shortest decimal, so 0.1 is exactly 1/10.

    Raises
    ------
    ConfigurationError
        If the value is not a finite number from 1e-9 to 1e9.
    """
    number: Fraction | None = None
    if not isinstance(value, bool):
        if isinstance(value, numbers.Rational | Decimal | str):
            try:
                number = Fraction(value)
            except (ValueError, OverflowError, ZeroDivisionError):
                number = None
        elif isinstance(value, numbers.Real) and math.isfinite(value):
            number = Fraction(repr(float(value)))
    if number is None or not SMALLEST <= number <= LARGEST:
        raise ConfigurationError(
            f"{name} is {value!r}, but it is the privacy budget and must be a number from 1e-9 to 1e9; "
            f"pass for example {name}=1.0."
        )
    return number


def exact_delta(value: object) -> Fraction:
    """Return a delta as a fraction; 0 is allowed.

    Raises
    ------
    ConfigurationError
        If the value is not a number from 0 to below 1.
    """
    if not isinstance(value, bool) and isinstance(value, numbers.Real | Decimal | str):
        try:
            number = Fraction(value if isinstance(value, numbers.Rational | Decimal | str) else repr(float(value)))
        except (ValueError, OverflowError, ZeroDivisionError):
            number = Fraction(-1)
        if 0 <= number < 1:
            return number
    raise ConfigurationError(
        f"delta is {value!r}, but it is the probability that the guarantee fails and must be from 0 to below 1; "
        "pass delta=0 or something like 1e-6."
    )


class Dyadic(NamedTuple):
    """The number ``numerator / 2**bits``."""

    numerator: int
    bits: int

    @property
    def fraction(self) -> Fraction:
        """The same number as a fraction."""
        return Fraction(self.numerator, 2**self.bits)


def dyadic_below(value: Fraction, *, digits: int, bits: int) -> Dyadic:
    """Return the largest dyadic number at most ``value`` with so many digits in its numerator and bits in its denominator.

    The numerator is reduced to lowest terms. Raises ValueError where no positive number fits.
    """
    shift = bits
    numerator = int(value * 2**shift)
    if numerator >= 2**digits:
        shift -= numerator.bit_length() - digits
        if shift < 0:
            raise ValueError(f"{value} is too large for {digits} digits")
        numerator = int(value * 2**shift)
    if numerator == 0:
        raise ValueError(f"{value} is too small for {bits} bits")
    while shift > 0 and numerator % 2 == 0:
        numerator //= 2
        shift -= 1
    return Dyadic(numerator, shift)


def decimal_text(value: Fraction, digits: int = 6) -> str:
    """Return a fraction as text: in full where it is a short decimal, otherwise cut (never rounded up) to so many digits."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(value)) if value > 0 else digits
    scaled = value * Fraction(10) ** max(places, 0)
    cut = Decimal(int(scaled)).scaleb(-max(places, 0))
    short = format(cut.normalize(), "f") if abs(cut) >= Decimal("1e-4") else format(cut.normalize(), "e")
    return short if Fraction(cut) == value else f"{short}..."
