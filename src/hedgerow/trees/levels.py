"""How a tree's budget is shared among its levels.

Leaves are aligned everywhere (eDPRF, equation 10): a leaf above the last level gets all that the levels above it left.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

__all__ = ["Geometric", "Harmonic", "LeafShare", "Levels", "Linear", "Uniform"]


class Levels(Protocol):
    """A rule that divides a budget among the levels of a path."""

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""


@dataclass(frozen=True)
class Harmonic:
    """Level k of L gets epsilon / (s (L - k + 1)), s = 1 + 1/2 + ... + 1/L: most at the leaves (eDPRF, equation 9)."""

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""
        total = sum(Fraction(1, j) for j in range(1, levels + 1))
        return [epsilon / (total * (levels - k)) for k in range(levels)]


@dataclass(frozen=True)
class Uniform:
    """Every level gets the same."""

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""
        return [epsilon / levels] * levels


@dataclass(frozen=True)
class LeafShare:
    """Leaves get ``share`` of the budget, and the levels above share the rest equally."""

    share: Fraction = Fraction(1, 2)

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""
        if levels == 1:
            return [epsilon]
        return [epsilon * (1 - self.share) / (levels - 1)] * (levels - 1) + [epsilon * self.share]


@dataclass(frozen=True)
class Geometric:
    """Every level gets ``ratio`` times what the level above it gets.

    Assumed for the DiffPRF of Deng et al. 2020, whose formula is not public [inferred].
    """

    ratio: Fraction = Fraction(2)

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""
        return _proportional(epsilon, [self.ratio**k for k in range(levels)])


@dataclass(frozen=True)
class Linear:
    """Level k, 1 for the root, gets a share proportional to ``slope`` k + ``constant`` (DiffPRF_linear, Dong et al. 2022).

    The arithmetic allocation is Linear(1, 0), the uniform one Linear(0, 1).
    """

    slope: Fraction = Fraction(1)
    constant: Fraction = Fraction(1)

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""
        return _proportional(epsilon, [Fraction(self.slope * k + self.constant) for k in range(1, levels + 1)])


def _proportional(epsilon: Fraction, shares: list[Fraction]) -> list[Fraction]:
    total = sum(shares)
    return [epsilon * share / total for share in shares]
