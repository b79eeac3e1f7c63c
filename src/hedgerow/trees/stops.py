"""Noisy queries that make a node of a private tree a leaf before its path ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from hedgerow.arrays import Integers, Truth
from hedgerow.curator import Nodes, Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import AtMost, Budget, Geometric, Noise
from hedgerow.privacy.events import Event

__all__ = ["NoisyMinority", "NoisySize", "Stop", "StopMechanism"]


class StopMechanism(Protocol):
    """A stop's mechanism: its cost, and its query to the curator."""

    def event(self, level: int) -> Event:
        """Return the cost of one query."""

    def ask(self, curator: Queryable, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        """Return which nodes are leaves, and their noisy sizes where these are released.

        ``widest`` is the largest number of branches of a test that each node may take.
        """


class Stop(Protocol):
    """A rule for which nodes are leaves."""

    @property
    def share(self) -> Fraction:
        """The share of a level's budget that the query may cost."""

    def mechanism(self, budget: Budget) -> StopMechanism:
        """Return the mechanism that costs at most its share of the level's budget."""


@dataclass(frozen=True)
class MinorityQuestion:
    """Whether a node's noisy minority count is at most a threshold; the count itself is not released."""

    mechanism: AtMost

    def event(self, level: int) -> Event:
        """Return the cost of one query."""
        return self.mechanism.noise.event("noisy minority count, as a stop", level)

    def ask(self, curator: Queryable, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        """Return which nodes are leaves, and None."""
        return curator.minority_at_most(nodes, self.mechanism), None


@dataclass(frozen=True)
class NoisyMinority:
    """Make a node a leaf if its noisy minority count is at most theta / b, where b is the share of the level's budget it spends.

    It replaces a test of purity, which would read the records without protection (docs/proofs/edprf.md).
    """

    share: Fraction = Fraction(15, 100)
    theta: Fraction = Fraction(2)

    def mechanism(self, budget: Budget) -> MinorityQuestion:
        """Return the mechanism that costs at most its share of the level's budget."""
        noise = (budget * self.share).noise()
        if not isinstance(noise, Geometric):
            raise ConfigurationError(
                "a noisy minority count is asked with pure epsilon only; pass delta=0 or another stop."
            )
        spent = noise.event("noisy minority count").epsilon
        return MinorityQuestion(AtMost(noise, math.floor(self.theta / spent)))


@dataclass(frozen=True)
class SizeQuestion:
    """A node's released noisy number of records; too few for its widest test make it a leaf."""

    noise: Noise

    def event(self, level: int) -> Event:
        """Return the cost of one query."""
        return self.noise.event("noisy number of records, as a stop", level)

    def ask(self, curator: Queryable, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        """Return which nodes are leaves, and the noisy sizes: a leaf has fewer records per branch and class than noise."""
        sizes = curator.count(nodes, self.noise)
        return sizes < self.noise.deviation * widest * curator.n_classes, sizes


@dataclass(frozen=True)
class NoisySize:
    """Make a node a leaf if its noisy size gives fewer records per branch and class than the noise's standard deviation.

    Friedman and Schuster, KDD 2010: N / (t K) < sqrt(2) / epsilon, t the largest number of branches.
    """

    share: Fraction = Fraction(1, 2)

    def mechanism(self, budget: Budget) -> SizeQuestion:
        """Return the mechanism that costs at most its share of the level's budget."""
        return SizeQuestion((budget * self.share).weighing(1).noise())
