"""How a published tree shares its budget, among the levels of a path and among the queries about a node; and how deep it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from hedgerow.schema import Schema
from hedgerow.trees.parts import Levels

__all__ = [
    "Aligned",
    "Budgets",
    "Halved",
    "LeafOnly",
    "PerQuery",
    "Queries",
    "Shares",
    "Undivided",
    "random_tree_depth",
]

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Shares:
    """What one node of a level may spend: a node with a test on ``count`` and ``test``, a leaf on ``leaf_count`` and ``leaf``."""

    count: Fraction
    test: Fraction
    leaf_count: Fraction
    leaf: Fraction


@dataclass(frozen=True)
class Queries:
    """How many queries of one price a test and a leaf ask, the count of the node not among them."""

    test: int
    leaf: int


class Budgets(Protocol):
    """A rule that divides a tree's budget."""

    def shares(self, epsilon: Fraction, max_depth: int, queries: Queries) -> list[Shares]:
        """Return the shares of each level, root first."""


@dataclass(frozen=True)
class Aligned:
    """The whole share of a level for its test; a leaf gets what its path has left (eDPRF, equation 10)."""

    levels: Levels

    def shares(self, epsilon: Fraction, max_depth: int, queries: Queries) -> list[Shares]:
        """Return the shares of each level, root first."""
        none, left, shares = Fraction(0), epsilon, []
        for budget in self.levels.budgets(epsilon, max_depth + 1):
            shares.append(Shares(none, budget, none, left))
            left -= budget
        return shares


@dataclass(frozen=True)
class Undivided:
    """The whole share of a level for its one query: its test, or its leaf."""

    levels: Levels

    def shares(self, epsilon: Fraction, max_depth: int, queries: Queries) -> list[Shares]:
        """Return the shares of each level, root first."""
        none = Fraction(0)
        return [Shares(none, budget, none, budget) for budget in self.levels.budgets(epsilon, max_depth + 1)]


@dataclass(frozen=True)
class Halved:
    """Half of a level's share for the noisy count of the node, half for its test or its leaf (Mu et al. 2016).

    With ``whole_leaf`` a leaf is not counted and gets the level's whole share: only for counts that no stop reads.
    """

    levels: Levels
    whole_leaf: bool = False

    def shares(self, epsilon: Fraction, max_depth: int, queries: Queries) -> list[Shares]:
        """Return the shares of each level, root first."""
        count = Fraction(0) if self.whole_leaf else HALF
        return [
            Shares(budget * HALF, budget * HALF, budget * count, budget * (1 - count))
            for budget in self.levels.budgets(epsilon, max_depth + 1)
        ]


@dataclass(frozen=True)
class LeafOnly:
    """Tests read no record; a leaf gets the whole budget."""

    def shares(self, epsilon: Fraction, max_depth: int, queries: Queries) -> list[Shares]:
        """Return the shares of each level, root first."""
        none = Fraction(0)
        return [Shares(none, none, none, epsilon)] * (max_depth + 1)


@dataclass(frozen=True)
class PerQuery:
    """The same for every query on a path: d nodes with a count and a test, and a leaf with a count (Friedman and Schuster).

    A leaf above the last level leaves the rest of its path unspent.
    """

    def shares(self, epsilon: Fraction, max_depth: int, queries: Queries) -> list[Shares]:
        """Return the shares of each level, root first."""
        one = epsilon / (max_depth * (1 + queries.test) + 1 + queries.leaf)
        return [Shares(one, one * queries.test, one, one * queries.leaf)] * (max_depth + 1)


DEEPEST = 15


def random_tree_depth(schema: Schema) -> int:
    """Return the tests on a path: half of the categorical features, and enough for half of the m numeric ones.

    Enough is the smallest depth with m ((m - 1) / m)**depth <= m / 2: then so many uniform draws with replacement are
    expected to miss at most half of them. Never more than 15. The authors' public code adds one level.
    """
    numeric = sum(schema.is_numeric)
    depth = 0
    while numeric and (1 - 1 / numeric) ** depth > 0.5:
        depth += 1
    return min(DEEPEST, depth + (len(schema.names) - numeric) // 2)
