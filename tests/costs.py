"""What mechanisms and plans cost, number by number, for tests."""

from __future__ import annotations

from dataclasses import fields, replace
from fractions import Fraction

from hedgerow.mechanisms import Noise, Selection
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.events import Gaussian, Pure, Sequence


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


def sums(found: Cost) -> dict[str, Fraction | int]:
    """Every number that is a ceiling by itself, under its accountant and name."""
    each = {
        f"{type(value).__name__}.{field.name}": getattr(value, field.name)
        for value in found.values
        for field in fields(value)
    }
    return each | {"draws": found.draws}


def with_sum(found: Cost, name: str, amount: Fraction | int) -> Cost:
    """The same cost but for one of its numbers."""
    if name == "draws":
        return replace(found, draws=amount)
    kind, _, part = name.partition(".")
    values = tuple(
        replace(value, **{part: amount}) if type(value).__name__ == kind else value for value in found.values
    )
    return replace(found, values=values)
