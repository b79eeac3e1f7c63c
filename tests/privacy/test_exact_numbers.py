"""Budgets are read as what the user wrote, and every rounding goes down."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.exact import decimal_text, dyadic_below, exact, exact_delta, read_fraction, upper_text

positive = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
        (1, Fraction(1)),
        (2.5, Fraction(5, 2)),
        (1e-9, Fraction(1, 10**9)),
        (1e9, Fraction(10**9)),
        (0.30000000000000004, Fraction("0.30000000000000004")),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
    ],
)
def test_budgets_are_read_as_written(value, fraction):
    assert exact(value) == fraction


@given(st.floats(1e-9, 1e9))
def test_a_float_is_its_shortest_decimal(value):
    assert float(exact(value)) == value
    assert exact(value) == Fraction(repr(value))


class Endless(float):
    """A number of a library of its own, beyond every float."""

    def __float__(self):
        raise OverflowError


REFUSED = [True, False, np.bool_(True), math.nan, math.inf, -math.inf, 0, 0.0, -1, -0.1, "", "one", "1,0", "nan", "1/0"]
REFUSED += [None, [1.0], 1j, b"1", Decimal("NaN"), Decimal("Infinity"), 9.99e-10, 10**9 + 1, Fraction(-1, 3)]
REFUSED += [np.float64("nan"), Endless(1)]


@pytest.mark.parametrize("value", REFUSED)
def test_anything_else_is_no_budget(value):
    with pytest.raises(ConfigurationError, match=r"epsilon is .* privacy budget.* as in epsilon=1\.0"):
        exact(value)


def test_the_message_names_the_parameter():
    with pytest.raises(ConfigurationError, match=r"share is -1; .*share=1\.0"):
        exact(-1, "share")


@pytest.mark.parametrize("value", [np.int64(1), np.int32(2), np.uint8(1), np.uint8(200), np.int16(3)])
def test_numpy_integers_become_python_integers(value):
    """A fraction of numpy's integers would overflow in the first sum or product."""
    number = exact(value)
    assert type(number.numerator) is int
    assert type(number.denominator) is int
    assert dyadic_below(number / 2048, digits=43, bits=120).fraction == number / 2048
    assert type(exact_delta(np.int64(0)).numerator) is int


@pytest.mark.parametrize("value", [True, False, math.nan, math.inf, -1e-9, 1, 1.0, 2, "x", None, Decimal("NaN"), "1/0"])
def test_anything_else_is_no_delta(value):
    assert (exact_delta(0.0), exact_delta("1e-6"), exact_delta(0.999)) == (0, Fraction(1, 10**6), Fraction(999, 1000))
    with pytest.raises(ConfigurationError, match="delta is"):
        exact_delta(value)


@given(positive, st.integers(2, 60), st.integers(60, 200))
def test_dyadic_below_is_below_and_close(value, digits, bits):
    try:
        dyadic = dyadic_below(value, digits=digits, bits=bits)
    except ValueError:
        assert value >= 2**digits
        return
    assert 0 < dyadic.numerator < 2**digits
    assert 0 <= dyadic.bits <= bits
    assert dyadic.fraction <= value
    enough = value * 2**bits >= 2 ** (digits - 1)  # otherwise the bits are the limit, not the digits
    assert value - dyadic.fraction <= (value / 2 ** (digits - 1) if enough else Fraction(1, 2**bits))


@given(positive, st.integers(2, 60), st.integers(60, 200))
def test_dyadic_below_is_the_largest_one(value, digits, bits):
    try:
        dyadic = dyadic_below(value, digits=digits, bits=bits)
    except ValueError:
        return
    numerator, places = dyadic
    while places < bits and 2 * numerator < 2**digits:
        numerator, places = 2 * numerator, places + 1
    assert Fraction(numerator + 1, 2**places) > value


@given(st.integers(1, 2**43 - 1), st.integers(0, 52))
@example(1, 0)  # a whole number keeps no bit
def test_a_dyadic_number_is_kept_in_lowest_terms(numerator, bits):
    dyadic = dyadic_below(Fraction(numerator, 2**bits), digits=43, bits=52)
    assert dyadic.fraction == Fraction(numerator, 2**bits)
    assert dyadic.numerator % 2 == 1 or dyadic.bits == 0


def test_what_no_dyadic_number_can_say_is_refused():
    with pytest.raises(ValueError, match="too small"):
        dyadic_below(Fraction(1, 2**53), digits=43, bits=52)
    with pytest.raises(ValueError, match="too large"):
        dyadic_below(Fraction(2**43), digits=43, bits=52)
    with pytest.raises(ValueError, match="too large"):
        dyadic_below(Fraction(2**43), digits=43, bits=0)
    assert dyadic_below(Fraction(1, 2**52), digits=43, bits=52) == (1, 52)
    assert dyadic_below(Fraction(2**43 - 1), digits=43, bits=52) == (2**43 - 1, 0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 10), "0.1"),
        (Fraction(1), "1"),
        (Fraction(100), "100"),
        (Fraction(123456789), "123456789"),
        (Fraction(1, 10**4), "0.0001"),
        (Fraction(1, 10**5), "1e-5"),
        (Fraction(1, 10**6), "1e-6"),
        (Fraction("1e-400"), "1e-400"),
        (Fraction(1, 3), "0.333333..."),
        (Fraction(2, 3), "0.666666..."),
        (Fraction(99999999, 10**8), "0.999999..."),
        (Fraction(1, 3 * 10**6), "3.33333e-7..."),
        (Fraction(10**9) + Fraction(1, 3), "1000000000..."),
    ],
)
def test_numbers_are_printed_in_full_or_cut(value, text):
    assert decimal_text(value) == text


@given(st.one_of(positive, st.decimals(0, 10**6, places=7).map(Fraction)), st.integers(1, 12))
def test_printed_numbers_are_never_rounded_up(value, digits):
    text = decimal_text(value, digits)
    printed = Fraction(text.removesuffix("..."))
    assert printed <= value
    assert (printed == value) == (not text.endswith("..."))
    assert value - printed <= value * Fraction(10, 10**digits)


@pytest.mark.parametrize("value", [Fraction(2, 3), Fraction(99999999)])
def test_the_users_decimal_context_changes_nothing(value):
    with decimal.localcontext(prec=3):
        assert Fraction(decimal_text(value).removesuffix("...")) <= value


@pytest.mark.parametrize("value", [Fraction(-1, 3), Fraction(-2, 3)])
def test_negative_numbers_are_not_rounded_up(value):
    assert Fraction(decimal_text(value).removesuffix("...")) <= value
    assert decimal_text(Fraction(-1), digits=1) == "-1"


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "1" * 5000, "1/" + "9" * 5000])
def test_texts_that_would_fill_the_memory_are_refused(text):
    with pytest.raises(ConfigurationError):
        exact(text)


def test_a_text_is_as_long_as_the_limit_and_no_longer():
    assert read_fraction("1" * 4000) == (10**4000 - 1) // 9
    assert read_fraction("1e1000") == 1 / read_fraction("1e-1000") == 10**1000
    for text in ("1" * 4001, "1e1001", "1e-1001", None, 3, 0.5, b"1"):
        with pytest.raises(ValueError, match=r"short text|out of all bounds"):
            read_fraction(text)


@pytest.mark.parametrize("number", [Fraction(1, 2**3499), Fraction(2**3499 - 1, 2**3499)])
def test_a_budget_is_as_many_bits_as_the_limit_and_no_more(number):
    assert exact_delta(number) == number
    with pytest.raises(ConfigurationError):
        exact_delta(number / 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1.0, "1"),
        (0.5, "0.5"),
        (0.1, "0.1"),
        (1e-6, "1e-6"),
        (1.2345678e-6, "1.235e-6"),
        (Fraction(1, 3), "0.3334"),
        (0.999999, "0.999999"),
        (Fraction(10**12 - 1, 10**12), "0.999999999999"),
        (1 - 2**-53, "0.9999999999999999"),
        (0.99991, "0.99991"),
        (0.9999123, "0.99992"),
        (0.9998, "0.9998"),
        (9.99991, "10"),
        (1.00000001, "1.001"),
        (2, "2"),
        (22026.4, "22030"),
        (1e6, "1000000"),
        (1e7, "1e7"),
        (1.23456e300, "1.235e300"),
        (math.inf, "infinity"),
    ],
)
def test_costs_are_rounded_up(value, text):
    assert upper_text(Fraction(value) if isinstance(value, int) else value) == text


@given(st.one_of(positive, st.fractions(min_value=Fraction(1, 10**6), max_value=1)), st.integers(1, 8))
def test_what_is_rounded_up_is_no_less_and_at_most_one_unit_more(value, digits):
    shown = Fraction(upper_text(value, digits))
    assert value <= shown < value * (1 + Fraction(10) ** (1 - digits))
    assert (shown == 1) <= (value >= 1 or value == 1)


@given(st.fractions(min_value=0, max_value=1))
def test_what_is_cut_never_reads_as_0_or_1(value):
    text = decimal_text(value)
    assert (text == "0", text == "1") == (value == 0, value == 1)
    assert 0 <= value - Fraction(text.removesuffix("...")) < Fraction(1, 10**5)
    assert text.endswith("...") == (Fraction(text.removesuffix("...")) != value)
