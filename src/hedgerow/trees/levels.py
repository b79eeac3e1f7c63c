"""How a tree's budget is shared among its levels.

Leaves are aligned everywhere (eDPRF, equation 10): a leaf above the last level gets all that the levels above it left.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

__all__ = ["Harmonic", "LeafShare", "Levels", "Uniform"]


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
