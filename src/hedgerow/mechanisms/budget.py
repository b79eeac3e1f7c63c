"""Amounts of privacy, and the mechanisms that they buy: pure epsilon, or rho of zero-concentrated DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms.noise import Geometric, RoundedNormal
from hedgerow.mechanisms.selection import Exponential, Selection
from hedgerow.privacy.claim import Claim, NoAmountError
from hedgerow.privacy.events import Event

ROOT_GUARD = Fraction(1, 2**40)  # relative; a float's root is accurate to the 53rd bit

Noise = Geometric | RoundedNormal


@dataclass(frozen=True)
class Budget:
    """What a step may cost under add/remove adjacency.

    Pure budgets buy geometric noise and any selection. Concentrated ones buy normal noise, and the exponential mechanism at
    epsilon**2 / 8 = rho, which it never exceeds; permute-and-flip has no place there (docs/proofs/concentrated.md).

    Parameters
    ----------
    amount : Fraction
        Epsilon, or rho.
    concentrated : bool
        Whether the amount is a rho.
    unit : int
        The largest weight of a record in the counts that are asked for.
    """

    amount: Fraction
    concentrated: bool = False
    unit: int = 1

    @classmethod
    def of_whole(cls, claim: Claim, event: Callable[[Budget], Event]) -> Budget:
        """Return the budget of a whole plan that costs at most the budget it is built for, and keeps to a claim; likewise."""
        return cls.of(claim, event, largest=Claim.rho)

    @classmethod
    def of(
        cls,
        claim: Claim,
        event: Callable[[Budget], Event],
        parts: int = 1,
        largest: Callable[[Claim, Callable[[Fraction], Event]], Fraction] = Claim.largest,
    ) -> Budget:
        """Return the budget of each of so many equal parts of a plan that keeps to a claim.

        Pure where the claim has no delta; otherwise nearly the largest rho for which the claim covers the ``event`` that the
        whole plan makes of it. Where epsilon is so large that no rho does, since the samplers' own error times e^epsilon is above
        delta, the pure budget, which keeps to the claim too.
        """
        pure = cls(claim.pure / parts)
        if claim.delta == 0:
            return pure
        try:
            return cls(largest(claim, lambda amount: event(cls(amount, concentrated=True))), concentrated=True)
        except NoAmountError:
            with suppress(ConfigurationError):  # what is said of the claim itself tells more
                if claim.covers(event(pure)):
                    return pure
            raise

    def __mul__(self, share: Fraction | int) -> Budget:
        return replace(self, amount=self.amount * share)

    __rmul__ = __mul__

    def __truediv__(self, parts: Fraction | int) -> Budget:
        return replace(self, amount=self.amount / parts)

    def __sub__(self, other: Budget) -> Budget:
        return replace(self, amount=self.amount - other.amount)

    def weighing(self, unit: int) -> Budget:
        return replace(self, unit=unit)

    def noise(self, cells: int = 1) -> Noise:
        return self.noise_for(cells * self.unit, cells * self.unit**2)

    def noise_for(self, l1: int, l2_squared: int) -> Noise:
        """Return the noise of sums to which a record adds at most so much in L1 norm and in squared L2 norm."""
        if self.concentrated:
            return RoundedNormal(2 * self.amount, Fraction(l2_squared))
        return Geometric(self.amount, l1)

    def selection(self, kind: type[Selection], score_range: int) -> Selection:
        """Return the selection by a score of this range for records of weight 1.

        A concentrated budget buys the exponential mechanism, also where another ``kind`` is asked for: permute-and-flip has
        no bounded range, on which that cost rests.
        """
        if not self.concentrated:
            return kind(self.amount, score_range * self.unit)
        epsilon = Fraction(math.sqrt(8 * self.amount)) * (1 - ROOT_GUARD)
        return Exponential(epsilon, score_range * self.unit)
