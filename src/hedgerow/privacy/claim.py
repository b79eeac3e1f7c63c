"""What a fit promises: one value, made once from the parameters, that every layer below uses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.accounting import Adjacency, cost
from hedgerow.privacy.events import Event
from hedgerow.privacy.exact import decimal_text

__all__ = ["Claim", "NoAmountError"]

SEARCH_STEPS = 20
LEAST_AMOUNT = Fraction(1, 2**30)  # of rho: noise is near the samplers' largest there


class NoAmountError(ConfigurationError):
    """No amount of noise keeps to a claim."""


@dataclass(frozen=True)
class Claim:
    """(epsilon, delta)-differential privacy for neighbors under an adjacency."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    adjacency: Adjacency = "add-remove"

    @property
    def pure(self) -> Fraction:
        """The epsilon under add/remove adjacency of a pure plan that keeps to the claim.

        One record replaced is one removed and one added, so for replace-one it is half of the claim's.
        """
        return self.epsilon if self.adjacency == "add-remove" else self.epsilon / 2

    @property
    def pure_delta(self) -> Fraction:
        """The delta under add/remove adjacency of a plan of epsilon ``pure`` with thresholds that keeps to the claim.

        For replace-one it is the claim's, divided by 1 + e^pure and rounded down (docs/proofs/released-schemas.md).
        """
        if self.adjacency == "add-remove" or not self.delta:
            return self.delta
        factor = 1 + Fraction(math.exp(min(float(self.pure), 700.0))) * (1 + Fraction(1, 2**30))
        return Fraction(int(self.delta / factor * 2**200), 2**200)

    def covers(self, event: Event) -> bool:
        """Say whether an event costs no more than the claim."""
        return cost(event).under(self.adjacency).within(self.epsilon, self.delta)

    def largest(self, build: Callable[[Fraction], Event]) -> Fraction:
        """Return nearly the largest amount for which the claim covers the event that ``build`` makes of it.

        The event's cost must grow with the amount.

        Raises
        ------
        NoAmountError
            If the claim covers the event of no amount that the samplers can draw for.
        """
        high = Fraction(1)
        while self.covers(build(high)):
            high *= 2
        low = high / 2
        try:
            while not self.covers(build(low)):
                low, high = low / 2, low
                if low < LEAST_AMOUNT:
                    raise ConfigurationError("the noise would be larger than the sampler draws.")
        except ConfigurationError as error:
            raise NoAmountError(
                f"no plan of this kind keeps to delta {decimal_text(self.delta)} at epsilon {decimal_text(self.epsilon)}. Either "
                "epsilon is so large that the samplers' own error, times e^epsilon, is above delta, or both are so small that "
                "the noise would be larger than the sampler draws. Pass another epsilon, a larger delta, fewer rounds, or "
                "delta=0."
            ) from error
        for _ in range(SEARCH_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.covers(build(middle)) else (low, middle)
        return low
