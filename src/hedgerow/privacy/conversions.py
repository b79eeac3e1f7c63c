"""From one measure of privacy to another: floats, each rounded towards more cost (docs/proofs/concentrated.md).

Results are cached, because a curator gets many equal queries.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr, ndtri

__all__ = [
    "amplified",
    "before_amplification",
    "concentrated_delta",
    "concentrated_rho",
    "gaussian_delta",
    "mu_squared_of_pure",
    "rho_of_pure",
]

EXPONENT_GUARD = 1e-15
AMPLIFICATION_GUARD = Fraction(1, 2**40)  # relative; the float functions are accurate to a few units in the 53rd bit
CONCENTRATED_GUARD = 1e-9  # relative, of logarithms and quantiles
HALF_PI = Fraction(15707963268, 10**10)  # rounded up
SMALL = 1e-3  # below this epsilon the simple bounds are as good, and exact
FLOAT_GUARD = 1e-13  # relative; the two terms of the formula are accurate to about 1e-15


@lru_cache(maxsize=4096)
def rho_of_pure(epsilon: Fraction, *, ranged: bool) -> Fraction:
    """Return, rounded up, the rho of an epsilon-DP step: epsilon tanh(epsilon / 2), or less for a bounded range."""
    simple = epsilon**2 / (8 if ranged else 2)
    e = float(epsilon)
    if e < SMALL:
        return simple
    if ranged:
        above = e / -math.expm1(-e) - 1
        return min(simple, Fraction((above - math.log1p(above)) * (1 + CONCENTRATED_GUARD)))
    return min(simple, Fraction(e * math.tanh(e / 2) * (1 + CONCENTRATED_GUARD)))


@lru_cache(maxsize=4096)
def mu_squared_of_pure(epsilon: Fraction, *, ranged: bool) -> Fraction:
    """Return, rounded up, the squared mu of an epsilon-DP step: mu = 2 Phi^-1(1 / (1 + e^-epsilon)), at epsilon / 2 if ranged."""
    e = float(epsilon) / (2 if ranged else 1)
    if e < SMALL:  # mu <= e sqrt(pi / 2), as the quantile is concave there
        return HALF_PI * epsilon**2 / (4 if ranged else 1)
    if (
        e > 30
    ):  # the quantile of a float that is nearly 1 says little; mu < 2 sqrt(2 e), as a normal tail is below exp(-x^2 / 2)
        return Fraction(math.ceil(8 * e))
    return Fraction((2 * -float(ndtri(1 / (1 + math.exp(e))))) ** 2 * (1 + CONCENTRATED_GUARD))


@lru_cache(maxsize=4096)
def amplified(epsilon: Fraction, inclusion: Fraction) -> Fraction:
    """Return, rounded up, the cost of an epsilon-DP plan on a Poisson sample: ln(1 + q (e^epsilon - 1))."""
    if inclusion == 1 or epsilon == 0 or epsilon > 500:
        return epsilon
    return min(epsilon, Fraction(math.log1p(float(inclusion) * math.expm1(float(epsilon)))) * (1 + AMPLIFICATION_GUARD))


def before_amplification(epsilon: Fraction, inclusion: Fraction) -> Fraction:
    """Return, rounded down, the budget of a plan that costs at most ``epsilon`` on a Poisson sample."""
    if inclusion == 1 or epsilon > 500:
        return epsilon
    budget = Fraction(math.log1p(math.expm1(float(epsilon)) / float(inclusion))) * (1 - 4 * AMPLIFICATION_GUARD)
    return budget if amplified(budget, inclusion) <= epsilon else epsilon


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return, rounded up, the delta of mu-Gaussian-DP at epsilon (Dong, Roth and Su 2022, corollary 1)."""
    if mu == 0:
        return math.ulp(0.0)
    first = float(ndtr(-epsilon / mu + mu / 2))
    second = math.exp(min(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)), 0.0))
    # A rounded argument moves a tail by a relative error that grows with the exponent.
    guard = max(FLOAT_GUARD, EXPONENT_GUARD * (epsilon + (epsilon / mu + mu / 2) ** 2))
    return max(first - second + guard * (first + second), math.ulp(0.0))


def concentrated_delta(epsilon: float, rho: float) -> float:
    """Return, rounded up, the delta of rho-zero-concentrated DP at epsilon (Canonne, Kamath and Steinke 2020).

    Every order a > 1 gives a bound. The search for the best order is over ln(a - 1).
    """
    if rho <= 0:
        return math.ulp(0.0)

    def log_bound(log_above: float) -> float:
        above = math.exp(log_above)
        order = above + 1
        return above * (order * rho - epsilon) - order * math.log1p(1 / above) - log_above

    found = minimize_scalar(log_bound, bounds=(-15.0, 25.0), method="bounded", options={"xatol": 1e-6})
    exponent = float(log_bound(float(found.x)))
    size = 1 + abs(exponent) + rho * math.exp(2 * float(found.x))
    return max(math.exp(min(exponent, 0.0)) * (1 + CONCENTRATED_GUARD + EXPONENT_GUARD * size), math.ulp(0.0))


def concentrated_rho(epsilon: float, delta: float) -> float:
    """Return about the largest rho for which rho-zero-concentrated DP is (epsilon, delta)-DP by ``concentrated_delta``.

    Each order's bound can be solved for rho, so it is one search for the best order, and not one for each rho.
    """
    log_delta = math.log(delta)

    def rho(log_above: float) -> float:
        above = math.exp(log_above)
        order = above + 1
        return (epsilon + (log_delta + order * math.log1p(1 / above) + log_above) / above) / order

    found = minimize_scalar(lambda at: -rho(at), bounds=(-15.0, 25.0), method="bounded", options={"xatol": 1e-9})
    return rho(float(found.x))
