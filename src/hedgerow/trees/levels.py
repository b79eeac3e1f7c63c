"""How a tree's budget is shared among its levels."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Harmonic"]


@dataclass(frozen=True)
class Harmonic:
    """Level k of L gets epsilon / (s (L - k + 1)), s = 1 + 1/2 + ... + 1/L: most at the leaves (eDPRF, equation 9).

    Leaves are aligned (equation 10): a leaf above the last level gets all that the levels above it left of the budget.
    """

    def budgets(self, epsilon: Fraction, levels: int) -> list[Fraction]:
        """Return the budget of each level, root first; they sum to ``epsilon`` exactly."""
        total = sum(Fraction(1, j) for j in range(1, levels + 1))
        return [epsilon / (total * (levels - k)) for k in range(levels)]
