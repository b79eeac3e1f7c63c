"""How a tree's budget is shared among its levels.

Leaves are aligned everywhere (eDPRF, equation 10): a leaf above the last level gets all of the path's remaining budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

from hedgerow.mechanisms import Budget

__all__ = ["Geometric", "Harmonic", "LeafShare", "Levels", "Linear", "Uniform"]


Amount = TypeVar("Amount", Fraction, Budget)


class Levels(Protocol):
    """A rule that divides a budget among the levels of a path."""

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        """Return the budget of each level, root first; they sum to ``budget`` exactly."""


@dataclass(frozen=True)
class Harmonic:
    """Level k of L gets epsilon / (s (L - k + 1)), s = 1 + 1/2 + ... + 1/L: most at the leaves (eDPRF, equation 9)."""

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        """Return the budget of each level, root first; they sum to ``budget`` exactly."""
        total = sum(Fraction(1, j) for j in range(1, levels + 1))
        return [budget / (total * (levels - k)) for k in range(levels)]


@dataclass(frozen=True)
class Uniform:
    """Every level gets the same share."""

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        """Return the budget of each level, root first; they sum to ``budget`` exactly."""
        return [budget / levels] * levels


@dataclass(frozen=True)
class LeafShare:
    """Leaves get ``share`` of the budget, and the levels above share the rest equally."""

    share: Fraction = Fraction(1, 2)

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        """Return the budget of each level, root first; they sum to ``budget`` exactly."""
        if levels == 1:
            return [budget]
        return [budget * (1 - self.share) / (levels - 1)] * (levels - 1) + [budget * self.share]


@dataclass(frozen=True)
class Geometric:
    """Every level gets ``ratio`` times the share of the level above it.

    Assumed for the DiffPRF of Deng et al. 2020, whose formula is not public [inferred].
    """

    ratio: Fraction = Fraction(2)

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        """Return the budget of each level, root first; they sum to ``budget`` exactly."""
        return _proportional(budget, [self.ratio**k for k in range(levels)])


@dataclass(frozen=True)
class Linear:
    """Level k, 1 for the root, gets a share proportional to ``slope`` k + ``constant`` (DiffPRF_linear, Dong et al. 2022).

    The arithmetic allocation is Linear(1, 0), the uniform one Linear(0, 1).
    """

    slope: Fraction = Fraction(1)
    constant: Fraction = Fraction(1)

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        """Return the budget of each level, root first; they sum to ``budget`` exactly."""
        return _proportional(budget, [Fraction(self.slope * k + self.constant) for k in range(1, levels + 1)])


def _proportional(budget: Amount, shares: list[Fraction]) -> list[Amount]:
    total = sum(shares)
    return [budget * (share / total) for share in shares]
