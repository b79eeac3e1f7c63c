"""Noisy questions that make a node of a private tree a leaf before its path ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Curator, Nodes
from hedgerow.mechanisms import AtMost, Geometric
from hedgerow.privacy.events import Pure
from hedgerow.scores import Minority

__all__ = ["NoisyMinority", "NoisySize", "Stop", "StopMechanism"]

Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


class StopMechanism(Protocol):
    """A stop's mechanism: what it costs, and how the curator is asked."""

    @property
    def cost(self) -> Fraction:
        """The epsilon of one question under add/remove adjacency."""

    def event(self, level: int) -> Pure:
        """Return what one question costs."""

    def ask(self, curator: Curator, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        """Return which nodes are leaves, and their noisy sizes where these are released.

        ``widest`` is the largest number of branches of a test that each node may take.
        """


class Stop(Protocol):
    """A rule that says which nodes are leaves."""

    def mechanism(self, budget: Fraction) -> StopMechanism:
        """Return the mechanism that costs at most its share of the level's budget."""


@dataclass(frozen=True)
class MinorityQuestion:
    """Whether a node's noisy minority count is at most a threshold; the count stays hidden."""

    mechanism: AtMost

    @property
    def cost(self) -> Fraction:
        """The epsilon of one question under add/remove adjacency."""
        return self.mechanism.noise.cost

    def event(self, level: int) -> Pure:
        """Return what one question costs."""
        return self.mechanism.noise.event("noisy minority count, as a stop", level)

    def ask(self, curator: Curator, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        """Return which nodes are leaves, and None."""
        return curator.minority_at_most(nodes, self.mechanism), None


@dataclass(frozen=True)
class NoisyMinority:
    """Make a node a leaf where its noisy minority count is at most theta / b, b the share of the level's budget it spends.

    It stands in for a test of purity, which would read the records unprotected (docs/proofs/edprf.md).
    """

    share: Fraction = Fraction(15, 100)
    theta: Fraction = Fraction(2)

    def mechanism(self, budget: Fraction) -> MinorityQuestion:
        """Return the mechanism that costs at most its share of the level's budget."""
        noise = Geometric(budget * self.share, Minority.sensitivity)
        return MinorityQuestion(AtMost(noise, math.floor(self.theta / noise.cost)))


@dataclass(frozen=True)
class SizeQuestion:
    """A node's noisy number of records, released; too few for its widest test make it a leaf."""

    budget: Fraction

    @property
    def noise(self) -> Geometric:
        """The noise of a number of records."""
        return Geometric(self.budget)

    @property
    def cost(self) -> Fraction:
        """The epsilon of one question under add/remove adjacency."""
        return self.noise.cost

    def event(self, level: int) -> Pure:
        """Return what one question costs."""
        return self.noise.event("noisy number of records, as a stop", level)

    def ask(self, curator: Curator, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        """Return which nodes are leaves, and the noisy sizes: a leaf has under sqrt(2) / cost records for a branch and class."""
        sizes = curator.count(nodes, self.budget)
        return sizes * float(self.cost) < math.sqrt(2) * widest * curator.n_classes, sizes


@dataclass(frozen=True)
class NoisySize:
    """Make a node a leaf where its noisy size leaves fewer records to a branch and class than the noise's deviation.

    Friedman and Schuster, KDD 2010: N / (t K) < sqrt(2) / epsilon, t the largest number of branches.
    """

    share: Fraction = Fraction(1, 2)

    def mechanism(self, budget: Fraction) -> SizeQuestion:
        """Return the mechanism that costs at most its share of the level's budget."""
        return SizeQuestion(budget * self.share)
