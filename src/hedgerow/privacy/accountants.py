"""Ways to add up the costs of steps: pure and Gaussian steps apart, all as Gaussian DP, all as zero-concentrated DP.

A fourth is one more class that keeps the contract of ``Accountant``, one more name in ``ACCOUNTANTS``, and its proof in
docs/proofs/concentrated.md; its tests are those that run over ``ACCOUNTANTS``, and its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

from hedgerow.privacy.conversions import (
    FLOAT_GUARD,
    amplified,
    concentrated_delta,
    gaussian_delta,
    mu_squared_of_pure,
    rho_of_pure,
)

__all__ = ["ACCOUNTANTS", "Accountant", "Concentrated", "GaussianDP", "PureAndGaussian"]


class Accountant(Protocol):
    """An upper bound on the privacy loss of a plan for one record added or removed, as a frozen value.

    A value is computed from single steps and from other values of its own class. Each method below is a theorem about plans
    (in docs/proofs/concentrated.md). Without arguments a class gives the value of a plan that reads nothing: ``x + zero``
    and ``x | zero`` are ``x``. Sums and maxima are exact, so neither order nor grouping changes them. Only a single step's
    value and ``delta`` are rounded, both up. A value does not include unprotected steps and approximate draws, which the
    ``Cost`` around it counts.
    """

    @classmethod
    def of_pure(cls, epsilon: Fraction, *, ranged: bool) -> Self:
        """Return the value of an epsilon-DP step; ``ranged`` if its loss stays within an interval of length epsilon."""

    @classmethod
    def of_gaussian(cls, mu_squared: Fraction) -> Self:
        """Return the value of a step that is mu-Gaussian-DP."""

    def __add__(self, other: Self) -> Self:
        """Return the value of one plan after another, where the later may be chosen by what the earlier released."""

    def __or__(self, other: Self) -> Self:
        """Return the value of two plans on disjoint records: the least upper bound of both."""

    def times(self, count: int) -> Self:
        """Return the value of this many equal plans, one after another."""

    def sampled(self, epsilon: Fraction, inclusion: Fraction) -> Self:
        """Return the value of the plan on a sample that a record is in with a probability of at most ``inclusion``, below 1.

        It is called for pure plans only, with their whole ``epsilon``; nothing is proved for others.
        """

    def of_group(self, records: int) -> Self:
        """Return the value for this many records added or removed at once, on paths that may have parts in common.

        One record replaced is two: one removed and one added. docs/proofs/persons.md.
        """

    def delta(self, epsilon: Fraction) -> float:
        """Return a delta with which the plan is (epsilon, delta)-DP; infinity if the value gives none, 0 only if exact.

        It decreases in epsilon, and a value that is at most another one has no larger delta.
        """

    def at_most(self, ceiling: Self) -> bool:
        """Return whether every amount is at most the ceiling's.

        The ceiling is fixed beforehand, and a curator stops before the sum of its queries exceeds the ceiling in this order.
        Then the curator must be as private as the ceiling, however the queries are chosen (docs/proofs/composition.md).
        """


@dataclass(frozen=True)
class PureAndGaussian:
    """The epsilon of the pure steps, and the squared mu of the Gaussian steps, which need a part of the claimed epsilon."""

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)

    @classmethod
    def of_pure(cls, epsilon: Fraction, *, ranged: bool) -> Self:
        """Return the value of an epsilon-DP step; a bounded range makes no difference here."""
        return cls(epsilon)

    @classmethod
    def of_gaussian(cls, mu_squared: Fraction) -> Self:
        """Return the value of a step that is mu-Gaussian-DP."""
        return cls(mu_squared=mu_squared)

    def __add__(self, other: PureAndGaussian) -> PureAndGaussian:
        mu_squared = self.mu_squared + other.mu_squared if other.mu_squared else self.mu_squared  # fractions are slow
        return PureAndGaussian(self.epsilon + other.epsilon, mu_squared)

    def __or__(self, other: PureAndGaussian) -> PureAndGaussian:
        return PureAndGaussian(max(self.epsilon, other.epsilon), max(self.mu_squared, other.mu_squared))

    def times(self, count: int) -> PureAndGaussian:
        """Return the value of this many equal plans."""
        return PureAndGaussian(count * self.epsilon, count * self.mu_squared)

    def sampled(self, epsilon: Fraction, inclusion: Fraction) -> PureAndGaussian:
        """Return the value of a pure plan on a sample."""
        return PureAndGaussian(amplified(epsilon, inclusion))

    def of_group(self, records: int) -> PureAndGaussian:
        """Return the value for this many records added or removed at once."""
        return PureAndGaussian(records * self.epsilon, records**2 * self.mu_squared)

    def delta(self, epsilon: Fraction) -> float:
        """Return the Gaussian steps' delta at epsilon minus that of the pure steps; infinity if that is negative."""
        left = epsilon - self.epsilon
        if left < 0:
            return math.inf
        return gaussian_delta(float(left), _root(self.mu_squared)) if self.mu_squared else 0.0

    def at_most(self, ceiling: PureAndGaussian) -> bool:
        """Return whether neither amount is above the ceiling's."""
        return self.epsilon <= ceiling.epsilon and self.mu_squared <= ceiling.mu_squared


@dataclass(frozen=True)
class GaussianDP:
    """The squared mu of Gaussian DP of all steps, pure ones too; best for many steps, mostly Gaussian."""

    mu_squared: Fraction = Fraction(0)

    @classmethod
    def of_pure(cls, epsilon: Fraction, *, ranged: bool) -> Self:
        """Return the value of an epsilon-DP step, rounded up."""
        return cls(mu_squared_of_pure(epsilon, ranged=ranged))

    @classmethod
    def of_gaussian(cls, mu_squared: Fraction) -> Self:
        """Return the value of a step that is mu-Gaussian-DP."""
        return cls(mu_squared)

    def __add__(self, other: GaussianDP) -> GaussianDP:
        return GaussianDP(self.mu_squared + other.mu_squared)

    def __or__(self, other: GaussianDP) -> GaussianDP:
        return max(self, other, key=lambda value: value.mu_squared)

    def times(self, count: int) -> GaussianDP:
        """Return the value of this many equal plans."""
        return GaussianDP(count * self.mu_squared)

    def sampled(self, epsilon: Fraction, inclusion: Fraction) -> GaussianDP:
        """Return the value of a pure plan on a sample: that of one pure step."""
        return GaussianDP.of_pure(amplified(epsilon, inclusion), ranged=False)

    def of_group(self, records: int) -> GaussianDP:
        """Return the value for this many records added or removed at once."""
        return GaussianDP(records**2 * self.mu_squared)

    def delta(self, epsilon: Fraction) -> float:
        """Return the delta of a Gaussian mechanism with this mu."""
        return gaussian_delta(float(epsilon), _root(self.mu_squared))

    def at_most(self, ceiling: GaussianDP) -> bool:
        """Return whether mu is not above the ceiling's."""
        return self.mu_squared <= ceiling.mu_squared


@dataclass(frozen=True)
class Concentrated:
    """The rho of zero-concentrated DP of all steps; best for many steps, mostly selections."""

    rho: Fraction = Fraction(0)

    @classmethod
    def of_pure(cls, epsilon: Fraction, *, ranged: bool) -> Self:
        """Return the value of an epsilon-DP step, rounded up."""
        return cls(rho_of_pure(epsilon, ranged=ranged))

    @classmethod
    def of_gaussian(cls, mu_squared: Fraction) -> Self:
        """Return the value of a step that is mu-Gaussian-DP."""
        return cls(mu_squared / 2)

    def __add__(self, other: Concentrated) -> Concentrated:
        return Concentrated(self.rho + other.rho)

    def __or__(self, other: Concentrated) -> Concentrated:
        return max(self, other, key=lambda value: value.rho)

    def times(self, count: int) -> Concentrated:
        """Return the value of this many equal plans."""
        return Concentrated(count * self.rho)

    def sampled(self, epsilon: Fraction, inclusion: Fraction) -> Concentrated:
        """Return the value of a pure plan on a sample: that of one pure step."""
        return Concentrated.of_pure(amplified(epsilon, inclusion), ranged=False)

    def of_group(self, records: int) -> Concentrated:
        """Return the value for this many records added or removed at once."""
        return Concentrated(records**2 * self.rho)

    def delta(self, epsilon: Fraction) -> float:
        """Return the least delta that an order of the divergence gives."""
        return concentrated_delta(float(epsilon), float(self.rho) * (1 + FLOAT_GUARD))

    def at_most(self, ceiling: Concentrated) -> bool:
        """Return whether rho is not above the ceiling's."""
        return self.rho <= ceiling.rho


ACCOUNTANTS: tuple[type[Accountant], ...] = (PureAndGaussian, GaussianDP, Concentrated)


def _root(mu_squared: Fraction) -> float:
    return math.sqrt(mu_squared) * (1 + FLOAT_GUARD)
