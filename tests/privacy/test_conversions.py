"""From one measure of privacy to another: against fifty digits, against the worst pairs, rounded up and hardly."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from fifty_digits import as_decimal, upper_tail
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from hedgerow.privacy.accounting import (
    amplified,
    concentrated_delta,
    concentrated_rho,
    gaussian_delta,
    mu_squared_of_pure,
    rho_of_pure,
)


def true_delta(epsilon: float, mu: float) -> Decimal:
    with localcontext(prec=65):
        e, m = Decimal(epsilon), Decimal(mu)
        return upper_tail(e / m - m / 2) - e.exp() * upper_tail(e / m + m / 2)


def test_the_long_reference_is_right():
    with localcontext(prec=65):
        assert float(upper_tail(Decimal("1.96"))) == pytest.approx(norm.sf(1.96), rel=1e-14)
        assert float(upper_tail(Decimal(9))) == pytest.approx(norm.sf(9), rel=1e-13)
        near, far = upper_tail(Decimal("5.9999999999999999999999")), upper_tail(Decimal(6))
        assert abs(near / far - 1) < Decimal("1e-20")


@given(st.floats(-3, 1.3), st.floats(-2, 6))
@settings(max_examples=300, deadline=None)
def test_gaussian_delta_is_rounded_up_and_hardly(size, distance):
    """For every epsilon up to 20 and every delta down to about 1e-9, against fifty digits."""
    epsilon = 10**size
    mu = math.sqrt(distance**2 + 2 * epsilon) - distance  # epsilon / mu - mu / 2 = distance
    right = true_delta(epsilon, mu)
    found = Decimal(gaussian_delta(epsilon, mu))
    assert right <= found
    assert found <= right + Decimal("3e-13") * (upper_tail(Decimal(distance)) * 2)


@pytest.mark.parametrize(("epsilon", "mu"), [(1.0, 0.02), (1.0, 0.001), (1000.0, 1.0), (1e9, 0.5)])
def test_gaussian_noise_is_never_pure(epsilon, mu):
    """Where delta is below every float, rounding up still leaves one."""
    assert gaussian_delta(epsilon, mu) > 0


def test_no_noise_costs_the_least_of_all_floats():
    assert gaussian_delta(1.0, 0.0) == concentrated_delta(1.0, 0.0) == math.ulp(0.0)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.002364129635524834, 7.176396359653836e-05), (0.0034984851440723495, 0.00010393330524749445)]
)
def test_gaussian_delta_is_rounded_up_far_out(epsilon, mu):
    assert Decimal(gaussian_delta(epsilon, mu)) >= true_delta(epsilon, mu)


@pytest.mark.parametrize("epsilon", [2000.0, 5000.0, 9000.0])
@pytest.mark.parametrize("distance", [0.0, 3.0, 10.0])
def test_gaussian_delta_is_rounded_up_for_large_epsilons(epsilon, distance):
    mu = math.sqrt(distance**2 + 2 * epsilon) - distance
    assert Decimal(gaussian_delta(epsilon, mu)) >= true_delta(epsilon, mu)


@pytest.mark.parametrize("inclusion", [Fraction(1, 2), Fraction(1, 1000), Fraction(999, 1000)])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/3", "1", "30", "499"])
def test_amplification_is_rounded_up_and_hardly(epsilon, inclusion):
    found = amplified(Fraction(epsilon), inclusion)
    with localcontext(prec=300):
        whole, share = as_decimal(Fraction(epsilon)), as_decimal(inclusion)
        right = (1 + share * (whole.exp() - 1)).ln()
        assert right <= as_decimal(found) <= right * (1 + Decimal("1e-11"))


SIZES = ["1/1000000000", "2/1000000000", "1/100000", "1/1001", "1/999", "1/10", "1", "3", "8", "29", "50"]


def rho_of_randomized_response(epsilon):
    """Its Kullback-Leibler divergence: the order 1, at which it is largest."""
    return epsilon * (epsilon.exp() - 1) / (epsilon.exp() + 1)


def rho_of_the_worst_bounded_range(epsilon):
    """The largest divergence of order 1 of two outcomes with losses t and t - epsilon, over t; a search in thirds."""

    def divergence(t):
        first = (1 - (t - epsilon).exp()) / (t.exp() - (t - epsilon).exp())
        return first * t.exp() * t + (1 - first) * (t - epsilon).exp() * (t - epsilon)

    low, high = Decimal(0), epsilon
    for _ in range(120):
        third = (high - low) / 3
        low, high = (low + third, high) if divergence(low + third) < divergence(high - third) else (low, high - third)
    return divergence(low)


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("epsilon", SIZES)
def test_rho_of_a_pure_step_is_rounded_up_and_hardly(epsilon, ranged):
    found = rho_of_pure(Fraction(epsilon), ranged=ranged)
    with localcontext(prec=60):
        right = (rho_of_the_worst_bounded_range if ranged else rho_of_randomized_response)(
            as_decimal(Fraction(epsilon))
        )
        assert right <= as_decimal(found) <= right * (1 + Decimal("1e-6"))


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("epsilon", [*SIZES, "31", "63", "120"])
def test_mu_of_a_pure_step_is_rounded_up_and_hardly(epsilon, ranged):
    """Its two outcomes are told apart no better than two normals mu apart: 1 / (1 + e^epsilon) >= 1 - Phi(mu / 2)."""
    found = mu_squared_of_pure(Fraction(epsilon), ranged=ranged)
    with localcontext(prec=80):
        share = 1 / (1 + (as_decimal(Fraction(epsilon)) / (2 if ranged else 1)).exp())
        half = (as_decimal(found) / 4).sqrt()
        hardly = Decimal("0.95") if Fraction(epsilon) > 30 else 1 - Decimal("1e-6")
        assert upper_tail(half) <= share <= upper_tail(half * hardly)


def renyi(p, q, order):
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.1, 1.0, 3.0, 8.0, 50.0])
def test_rho_of_a_pure_step_bounds_randomized_response(epsilon):
    rho = float(rho_of_pure(Fraction(epsilon), ranged=False))
    yes, no = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    for order in (1.01, 1.5, 2, 4, 12):
        assert renyi((yes, no), (no, yes), order) <= rho * order * (1 + 1e-9) + 1e-12
    assert rho <= epsilon**2 / 2


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 8.0])
def test_rho_of_a_bounded_range_bounds_every_pair_of_two_outcomes(epsilon):
    rho = float(rho_of_pure(Fraction(epsilon), ranged=True))
    assert rho <= epsilon**2 / 8
    worst = 0.0
    for t in np.linspace(0, epsilon, 501)[1:-1]:  # losses t and t - epsilon: an interval of length epsilon
        first = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))  # of the second law
        q = (first, 1 - first)
        p = (first * math.exp(t), (1 - first) * math.exp(t - epsilon))
        assert sum(p) == pytest.approx(1)
        for order in (1.0001, 1.5, 2, 8):
            worst = max(worst, renyi(p, q, order) / order)
    assert 0.9 * rho < worst <= rho * (1 + 1e-6)


@given(st.floats(1e-3, 5), st.floats(1e-6, 2))
@settings(max_examples=200, deadline=None)
def test_concentrated_delta_bounds_the_gaussian_that_is_that_concentrated(epsilon, rho):
    assert concentrated_delta(epsilon, rho) >= gaussian_delta(epsilon, math.sqrt(2 * rho)) * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "rho"), [(1.0, 0.02), (0.01, 1e-6), (10.0, 1.0), (50.0, 3.0), (3.0, 5e-3)])
def test_concentrated_delta_is_the_least_over_all_orders_rounded_up_and_hardly(epsilon, rho):
    with localcontext(prec=50):
        e, r = Decimal(epsilon), Decimal(rho)

        def log_bound(log_above):
            above = log_above.exp()
            return above * ((above + 1) * r - e) - (above + 1) * (1 + 1 / above).ln() - log_above

        low, high = Decimal(-5), Decimal(20)
        for _ in range(90):
            third = (high - low) / 3
            low, high = (low + third, high) if log_bound(low + third) > log_bound(high - third) else (low, high - third)
        right = log_bound(low).exp()
        assert right <= Decimal(concentrated_delta(epsilon, rho)) <= right * (1 + Decimal("1e-8"))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_concentrated_rho_is_that_of_which_concentrated_delta_is_delta(epsilon, delta):
    rho = concentrated_rho(epsilon, delta)
    assert rho > 0
    assert concentrated_delta(epsilon, rho * (1 - 2**-24)) <= delta
    assert concentrated_delta(epsilon, rho * (1 + 1e-5)) > delta
