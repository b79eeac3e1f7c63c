"""Which records each tree of a private forest reads, and what it may spend on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget, PerRecordCoin, PoissonCoin, WeightedCoin
from hedgerow.privacy.conversions import before_amplification
from hedgerow.privacy.events import Event, PerRecordAssignment, Sequence, Subsampled

__all__ = ["AllRecords", "Assignment", "PerRecord", "PoissonSample", "Sampling", "Weighted"]


@dataclass(frozen=True)
class Sampling:
    """How often records are sampled for trees, by which coin, and the budget of one tree."""

    rounds: int
    coin: PerRecordCoin | PoissonCoin | WeightedCoin
    budget: Budget

    def event(self, tree: Event) -> Event:
        """Return the cost of all trees, given the cost of one."""
        event: Event = PerRecordAssignment(tree, self.coin.parts)
        if isinstance(self.coin, PoissonCoin | WeightedCoin):
            event = Subsampled(tree, self.coin.inclusion)
        return event if self.rounds == 1 else Sequence((event,) * self.rounds)


def before(budget: Budget, inclusion: Fraction) -> Budget:
    """Return the budget of a plan that costs at most ``budget`` on a sample with the probability ``inclusion``."""
    if inclusion == 1:
        return budget
    if budget.concentrated:
        raise ConfigurationError(
            "a sample of the records has no guarantee with delta here: only pure epsilon is amplified. Pass delta=0, or let "
            "every tree read all records."
        )
    return replace(budget, amount=before_amplification(budget.amount, inclusion))


class Assignment(Protocol):
    """A rule that assigns records to trees."""

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        """Return how the trees share the records and the budget."""


@dataclass(frozen=True)
class PerRecord:
    """Each record is in one tree, by its own coin; each tree spends the whole budget (docs/proofs/composition.md)."""

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        """Return how the trees share the records and the budget."""
        return Sampling(1, PerRecordCoin(trees), budget)


@dataclass(frozen=True)
class AllRecords:
    """Every tree reads all records and spends an equal part of the budget."""

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        """Return how the trees share the records and the budget."""
        return Sampling(trees, PerRecordCoin(1), budget / trees)


@dataclass(frozen=True)
class PoissonSample:
    """Every tree reads a Poisson sample of the records, and may spend more than its part of the budget on it."""

    probability: Fraction = Fraction(1, 2)

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        """Return how the trees share the records and the budget."""
        coin = PoissonCoin(self.probability)
        return Sampling(trees, coin, before(budget / trees, coin.inclusion))


@dataclass(frozen=True)
class Weighted:
    """Every tree reads each record with a probability that follows from released values.

    The probability is at most ``inclusion``, so the tree may spend more than its part of the budget.
    """

    inclusion: Fraction = Fraction(1)

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        """Return how the trees share the records and the budget."""
        return Sampling(trees, WeightedCoin(self.inclusion), before(budget / trees, self.inclusion))
