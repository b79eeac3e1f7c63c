"""What events cost.

The cost of a plan has three parts: a pure epsilon, the squared mu of its Gaussian noise, and the number of draws
whose sampler is exact only within 2**-62. All three are exact fractions or integers; only the step from mu to
(epsilon, delta) is a float, and it is rounded against the user.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Literal, get_args

from scipy.special import log_ndtr, ndtr

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.events import (
    Event,
    Gaussian,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Unprotected,
)

__all__ = [
    "Adjacency",
    "Cost",
    "check_adjacency",
    "cost",
    "gaussian_delta",
    "gaussian_mu",
    "plan_budget",
    "unprotected",
]

Adjacency = Literal["add-remove", "replace-one"]
EXPONENT_GUARD = 1e-15
AMPLIFICATION_GUARD = Fraction(1, 2**40)  # relative; the float functions are accurate to a few units in the 53rd bit
SAMPLER_ERROR = Fraction(1, 2**62)
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
    """What a plan costs when one record is added or removed; ``protected`` is False where some step has no bound."""

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    draws: int = 0
    protected: bool = True

    def __add__(self, other: Cost) -> Cost:
        """Sequential composition."""
        return Cost(
            self.epsilon + other.epsilon,
            self.mu_squared + other.mu_squared,
            self.draws + other.draws,
            self.protected and other.protected,
        )

    def __or__(self, other: Cost) -> Cost:
        """Parallel composition: the larger part counts, but every approximate draw does."""
        return Cost(
            max(self.epsilon, other.epsilon),
            max(self.mu_squared, other.mu_squared),
            self.draws + other.draws,
            self.protected and other.protected,
        )

    def under(self, adjacency: Adjacency) -> Cost:
        """Return the cost under an adjacency: one replaced record is one removed and one added."""
        if adjacency == "add-remove":
            return self
        return Cost(2 * self.epsilon, 4 * self.mu_squared, self.draws, self.protected)

    def delta(self, epsilon: Fraction) -> float:
        """Return an upper bound on the delta for which this cost is (epsilon, delta)-DP; infinity where there is none."""
        left = epsilon - self.epsilon
        if not self.protected or left < 0:
            return math.inf
        if self.mu_squared == 0:
            return 0.0
        sampler = float(self.draws * SAMPLER_ERROR) * (1 + math.exp(min(float(epsilon), 700.0)))
        return gaussian_delta(float(left), math.sqrt(self.mu_squared) * (1 + FLOAT_GUARD)) + sampler * (1 + FLOAT_GUARD)

    def within(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Say whether this cost is (epsilon, delta)-DP."""
        return self.delta(epsilon) <= delta


def cost(event: Event) -> Cost:
    """Return what an event costs under add/remove adjacency."""
    match event:
        case Pure():
            return Cost(epsilon=event.epsilon)
        case Gaussian():
            return Cost(mu_squared=event.mu_squared, draws=event.draws)
        case Sequence():
            return sum((cost(part) for part in event.parts), Cost())
        case Parallel():
            return reduce(Cost.__or__, (cost(part) for part in event.parts), Cost())
        case PerRecordAssignment():
            each = cost(event.part)
            return Cost(each.epsilon, each.mu_squared, each.draws * event.count, each.protected)
        case Subsampled():
            each = cost(event.part)
            # Amplification is proved here for pure plans only.
            return Cost(amplified(each.epsilon, event.inclusion), protected=each.protected and each.mu_squared == 0)
        case _:
            return Cost(protected=False)


def unprotected(event: Event) -> tuple[str, ...]:
    """Return the reasons of all unprotected steps in an event, each once, in order."""
    match event:
        case Unprotected():
            return (event.reason,)
        case Sequence() | Parallel():
            return tuple(dict.fromkeys(reason for part in event.parts for reason in unprotected(part)))
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
    first = float(ndtr(-epsilon / mu + mu / 2))
    second = math.exp(min(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)), 0.0))
    # A rounded argument moves a tail by a relative error that grows with the exponent.
    guard = max(FLOAT_GUARD, EXPONENT_GUARD * (epsilon + (epsilon / mu + mu / 2) ** 2))
    return max(first - second + guard * (first + second), math.ulp(0.0))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return, rounded down, the largest mu for which mu-Gaussian-DP is (epsilon, delta)-DP."""
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) <= delta and high < 1e6:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and gaussian_delta(epsilon, middle) <= delta else (low, middle)
    return low
