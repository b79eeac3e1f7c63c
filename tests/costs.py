"""What mechanisms and plans cost, number by number, for tests."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.mechanisms import Noise, Selection
from hedgerow.privacy.accounting import Cost, Gaussian, Pure, Sequence, cost


def event_of(mechanism: Noise | Selection) -> Pure | Gaussian:
    """What a mechanism states of itself."""
    return mechanism.event("", "") if isinstance(mechanism, Selection) else mechanism.event("")


def stated(mechanism: Noise | Selection) -> Fraction:
    """The epsilon that a mechanism states, or the squared mu."""
    event = event_of(mechanism)
    return event.mu_squared if isinstance(event, Gaussian) else event.epsilon


def cost_of(epsilon: Fraction | str | int = 0, mu_squared: Fraction | str | int = 0, draws: int = 0) -> Cost:
    """The cost of one pure step and one Gaussian one."""
    return cost(Sequence((Pure(Fraction(epsilon), "", ""), Gaussian(Fraction(mu_squared), draws, ""))))


SUMS = ("epsilon", "mu_squared", "total_mu_squared", "rho", "draws")  # each is a ceiling by itself


def sums(found: Cost) -> dict[str, Fraction | int]:
    return {name: getattr(found, name) for name in SUMS}
