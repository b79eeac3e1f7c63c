"""The normal law to fifty digits."""

from decimal import Decimal

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def as_decimal(number):
    return Decimal(number.numerator) / Decimal(number.denominator)


def upper_tail(x: Decimal) -> Decimal:
    """1 - Phi(x) to fifty digits: a series near zero, a continued fraction far out."""
    if x < 0:
        return 1 - upper_tail(-x)
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    if x < 6:
        term = total = x
        n = 1
        while term > Decimal("1e-62"):
            term *= x * x / (2 * n + 1)
            total += term
            n += 1
        return Decimal("0.5") - density * total
    fraction = x
    for k in range(300, 0, -1):
        fraction = x + k / fraction
    return density / fraction
