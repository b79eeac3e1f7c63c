"""What events cost.

The cost of a plan has a pure epsilon, the squared mu of its Gaussian noise, and the number of draws whose sampler is
exact only within 2**-62; these are exact fractions or integers. Beside its epsilon a pure step has a rho of zero-concentrated
DP and a squared mu of Gaussian DP. The step to (epsilon, delta) takes the best of three ways to add up; it is a float,
rounded against the user (docs/proofs/concentrated.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import groupby
from typing import Literal, get_args

from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtr, ndtri

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.events import (
    BoundedRange,
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Unprotected,
)
from hedgerow.privacy.exact import decimal_text

__all__ = [
    "Adjacency",
    "Cost",
    "check_adjacency",
    "concentrated_delta",
    "cost",
    "gaussian_delta",
    "gaussian_mu",
    "largest",
    "plan_budget",
    "pure_cost",
    "sampled_cost",
    "unprotected",
]

Adjacency = Literal["add-remove", "replace-one"]
EXPONENT_GUARD = 1e-15
AMPLIFICATION_GUARD = Fraction(1, 2**40)  # relative; the float functions are accurate to a few units in the 53rd bit
SAMPLER_ERROR = Fraction(1, 2**62)
UNKNOWN = Fraction(-1)
CONCENTRATED_GUARD = 1e-9  # relative, of what logarithms and quantiles give
HALF_PI = Fraction(15707963268, 10**10)  # rounded up
SMALL = 1e-3  # below this epsilon the simple bounds are as good, and exact
SEARCH_STEPS = 20
LEAST_AMOUNT = Fraction(1, 2**30)  # of rho: where noise is near the samplers' largest
FLOAT_GUARD = 1e-13  # relative; the two terms of the formula are accurate to about 1e-15


def check_adjacency(adjacency: str) -> Adjacency:
    """Return the adjacency, or raise ConfigurationError with the two that exist."""
    for known in get_args(Adjacency):
        if adjacency == known:
            return known  # type: ignore[no-any-return]
    raise ConfigurationError(
        f"adjacency is {adjacency!r}, but the guarantee is stated either for one record added or removed "
        "or for one record replaced; pass adjacency='add-remove' or 'replace-one'."
    )


@dataclass(frozen=True)
class Cost:
    """What a plan costs when one record is added or removed; ``protected`` is False where some step has no bound.

    ``epsilon`` is of the pure steps and ``mu_squared`` of the Gaussian ones; ``rho`` and ``total_mu_squared`` are of all steps,
    rounded up, in zero-concentrated and in Gaussian DP. Where these are not given, the pure steps are taken as one.
    """

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    draws: int = 0
    protected: bool = True
    rho: Fraction = field(default=UNKNOWN, compare=False)
    total_mu_squared: Fraction = field(default=UNKNOWN, compare=False)

    def __post_init__(self) -> None:
        if self.rho < 0:
            object.__setattr__(self, "rho", _pure_rho(self.epsilon, ranged=False) + self.mu_squared / 2)
        if self.total_mu_squared < 0:
            total = _pure_mu_squared(self.epsilon, ranged=False) + self.mu_squared
            object.__setattr__(self, "total_mu_squared", total)

    def __add__(self, other: Cost) -> Cost:
        """Sequential composition."""
        return Cost(
            self.epsilon + other.epsilon,
            self.mu_squared + other.mu_squared,
            self.draws + other.draws,
            self.protected and other.protected,
            self.rho + other.rho,
            self.total_mu_squared + other.total_mu_squared,
        )

    def __or__(self, other: Cost) -> Cost:
        """Parallel composition: the larger part counts, in each way to add up by itself, but every approximate draw does."""
        return Cost(
            max(self.epsilon, other.epsilon),
            max(self.mu_squared, other.mu_squared),
            self.draws + other.draws,
            self.protected and other.protected,
            max(self.rho, other.rho),
            max(self.total_mu_squared, other.total_mu_squared),
        )

    def times(self, count: int) -> Cost:
        """So many of the same, one after another."""
        return Cost(
            count * self.epsilon,
            count * self.mu_squared,
            count * self.draws,
            self.protected,
            count * self.rho,
            count * self.total_mu_squared,
        )

    def under(self, adjacency: Adjacency) -> Cost:
        """Return the cost under an adjacency: one replaced record is one removed and one added."""
        if adjacency == "add-remove":
            return self
        return Cost(
            2 * self.epsilon, 4 * self.mu_squared, self.draws, self.protected, 4 * self.rho, 4 * self.total_mu_squared
        )

    def delta(self, epsilon: Fraction) -> float:
        """Return an upper bound on the delta for which this cost is (epsilon, delta)-DP; infinity where there is none."""
        left = epsilon - self.epsilon
        if not self.protected:
            return math.inf
        if self.mu_squared == 0 and self.draws == 0 and left >= 0:
            return 0.0
        sampler = float(min(self.draws * SAMPLER_ERROR, Fraction(1))) * (1 + math.exp(min(float(epsilon), 700.0)))
        found = min(
            gaussian_delta(float(left), _root(self.mu_squared)) if left >= 0 else math.inf,
            gaussian_delta(float(epsilon), _root(self.total_mu_squared)),
            concentrated_delta(float(epsilon), float(self.rho) * (1 + FLOAT_GUARD)),
        )
        return found + sampler * (1 + FLOAT_GUARD)

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Say whether this cost is (epsilon, delta)-DP."""
        return self.delta(epsilon) <= delta

    def at_most(self, ceiling: Cost) -> bool:
        """Say whether no sum is above the ceiling's, as a filter of questions asked one by one must (composition.md).

        A ceiling that is pure is one on epsilon alone; under it nothing approximate may be drawn.
        """
        if not self.protected or self.epsilon > ceiling.epsilon or self.mu_squared > ceiling.mu_squared:
            return False
        if ceiling.mu_squared == 0 and ceiling.draws == 0:
            return self.draws == 0
        sums_hold = self.rho <= ceiling.rho and self.total_mu_squared <= ceiling.total_mu_squared
        return sums_hold and self.draws <= ceiling.draws


def cost(event: Event) -> Cost:
    """Return what an event costs under add/remove adjacency."""
    match event:
        case Pure():
            return pure_cost(event.epsilon, ranged=isinstance(event, BoundedRange))
        case Gaussian():
            return Cost(mu_squared=event.mu_squared, draws=event.draws)
        case Sequence():
            runs = (list(run) for _, run in groupby(event.parts))  # rounds are alike, and there may be many
            return sum((cost(run[0]).times(len(run)) for run in runs), Cost())
        case OneOf():
            choices = [cost(part) for part in event.parts]
            return replace(reduce(Cost.__or__, choices), draws=max(choice.draws for choice in choices))
        case Parallel():
            return reduce(Cost.__or__, (cost(part) for part in event.parts), Cost())
        case PerRecordAssignment():
            each = cost(event.part)
            return replace(each, draws=each.draws * event.count)
        case Subsampled():
            return sampled_cost(cost(event.part), event.inclusion)
        case _:
            return Cost(protected=False)


def sampled_cost(each: Cost, inclusion: Fraction) -> Cost:
    """Return what a plan costs on a sample in which a record is with a probability of at most ``inclusion``.

    Amplification is proved here for pure plans only.
    """
    if inclusion == 1:
        return each
    after = pure_cost(amplified(each.epsilon, inclusion), ranged=False)
    return replace(after, protected=each.protected and each.mu_squared == 0)


def pure_cost(epsilon: Fraction, *, ranged: bool) -> Cost:
    """Return what an epsilon-DP step costs; ``ranged`` if its loss stays within an interval of length epsilon."""
    return Cost(
        epsilon, rho=_pure_rho(epsilon, ranged=ranged), total_mu_squared=_pure_mu_squared(epsilon, ranged=ranged)
    )


@lru_cache(maxsize=4096)
def _pure_rho(epsilon: Fraction, *, ranged: bool) -> Fraction:
    """Return, rounded up, the rho of an epsilon-DP step: epsilon tanh(epsilon / 2), or what a bounded range leaves of it."""
    simple = epsilon**2 / (8 if ranged else 2)
    e = float(epsilon)
    if e < SMALL:
        return simple
    if ranged:
        above = e / -math.expm1(-e) - 1
        return min(simple, Fraction((above - math.log1p(above)) * (1 + CONCENTRATED_GUARD)))
    return min(simple, Fraction(e * math.tanh(e / 2) * (1 + CONCENTRATED_GUARD)))


@lru_cache(maxsize=4096)
def _pure_mu_squared(epsilon: Fraction, *, ranged: bool) -> Fraction:
    """Return, rounded up, the squared mu of an epsilon-DP step: mu = 2 Phi^-1(1 / (1 + e^-epsilon)), at epsilon / 2 if ranged."""
    e = float(epsilon) / (2 if ranged else 1)
    if e < SMALL:  # mu <= e sqrt(pi / 2), as the quantile is concave there
        return HALF_PI * epsilon**2 / (4 if ranged else 1)
    if (
        e > 30
    ):  # the quantile of a float that is nearly 1 says little; mu < 2 sqrt(2 e), as a normal tail is below exp(-x^2 / 2)
        return Fraction(math.ceil(8 * e))
    return Fraction((2 * -float(ndtri(1 / (1 + math.exp(e))))) ** 2 * (1 + CONCENTRATED_GUARD))


def unprotected(event: Event) -> tuple[str, ...]:
    """Return the reasons of all unprotected steps in an event, each once, in order."""
    match event:
        case Unprotected():
            return (event.reason,)
        case Sequence() | Parallel():
            runs = (part for part, _ in groupby(event.parts))
            return tuple(dict.fromkeys(reason for part in runs for reason in unprotected(part)))
        case PerRecordAssignment() | Subsampled():
            return unprotected(event.part)
        case _:
            return ()


def amplified(epsilon: Fraction, inclusion: Fraction) -> Fraction:
    """Return, rounded up, what an epsilon-DP plan costs on a Poisson sample: ln(1 + q (e^epsilon - 1))."""
    if inclusion == 1 or epsilon == 0 or epsilon > 500:
        return epsilon
    return min(epsilon, Fraction(math.log1p(float(inclusion) * math.expm1(float(epsilon)))) * (1 + AMPLIFICATION_GUARD))


def before_amplification(epsilon: Fraction, inclusion: Fraction) -> Fraction:
    """Return, rounded down, the budget of a plan that costs at most ``epsilon`` on a Poisson sample."""
    if inclusion == 1 or epsilon > 500:
        return epsilon
    budget = Fraction(math.log1p(math.expm1(float(epsilon)) / float(inclusion))) * (1 - 4 * AMPLIFICATION_GUARD)
    return budget if amplified(budget, inclusion) <= epsilon else epsilon


def plan_budget(epsilon: Fraction, adjacency: Adjacency) -> Fraction:
    """Return the add/remove budget of a plan that must cost at most ``epsilon`` under an adjacency."""
    return epsilon if adjacency == "add-remove" else epsilon / 2


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

    Every order a > 1 gives a bound; the best of them is looked for in ln(a - 1).
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


def largest(
    build: Callable[[Fraction], Event], epsilon: Fraction, delta: Fraction, adjacency: Adjacency = "add-remove"
) -> Fraction:
    """Return nearly the largest amount for which the event that ``build`` makes of it is (epsilon, delta)-DP.

    The event's cost must grow with the amount.
    """

    def fits(amount: Fraction) -> bool:
        return cost(build(amount)).under(adjacency).within(epsilon, delta)

    high = Fraction(1)
    while fits(high):
        high *= 2
    low = high / 2
    try:
        while not fits(low):
            low, high = low / 2, low
            if low < LEAST_AMOUNT:
                raise ConfigurationError("the noise would be larger than the sampler draws.")
    except ConfigurationError as error:
        raise ConfigurationError(
            f"no plan of this kind keeps to delta {decimal_text(delta)} at epsilon {decimal_text(epsilon)}. Either epsilon is so "
            "large that the samplers' own error, times e^epsilon, is above delta, or both are so small that the noise would be "
            "larger than the sampler draws. Pass another epsilon, a larger delta, fewer rounds, or delta=0."
        ) from error
    for _ in range(SEARCH_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _root(mu_squared: Fraction) -> float:
    return math.sqrt(mu_squared) * (1 + FLOAT_GUARD)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return, rounded down, the largest mu for which mu-Gaussian-DP is (epsilon, delta)-DP."""
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) <= delta and high < 1e6:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and gaussian_delta(epsilon, middle) <= delta else (low, middle)
    return low
