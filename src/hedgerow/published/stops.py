"""When a node of a published tree is a leaf above the last level."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Pure
from hedgerow.published.case import Case
from hedgerow.published.noise import Laplace

__all__ = ["Empty", "NoisyCount", "SingleClass", "Stop", "StopMechanism", "UnreadCount"]

PURPOSE = "noisy count of a node, as the paper states it"


class StopMechanism(Protocol):
    """A stop with its budget."""

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one query costs as the paper states it."""

    def ask(self, counts: Integers, widest: Integers, randomness: Randomness) -> tuple[Truth, Floats | None]:
        """Return which nodes end, and their noisy sizes if those are asked for.

        ``counts`` (nodes, classes) are raw; ``widest`` (nodes,) is the most branches of a test that a node may have.
        """


class Stop(Protocol):
    """A rule for the end of a path."""

    def mechanism(self, budget: Fraction) -> StopMechanism:
        """Return the stop of a node that may spend so much on a count."""

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        yield from ()


class _Raw(Stop):
    """A stop that reads the class counts without noise."""

    def mechanism(self, budget: Fraction) -> Any:
        """Return the stop of a node that may spend so much on a count."""
        return self

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one query costs as the paper states it: nothing."""
        return ()


@dataclass(frozen=True)
class SingleClass(_Raw):
    """A node of a single class is a leaf, and so is a node without records (eDPRF, algorithm 5).

    That a node without records is a leaf with a uniform label is our choice, the paper is silent.
    """

    def ask(self, counts: Integers, widest: Integers, randomness: Randomness) -> tuple[Truth, Floats | None]:
        """Return which nodes end, and no sizes."""
        return np.count_nonzero(counts, axis=1) <= 1, None

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        if case.max_depth > 0:
            yield (
                "a node becomes a leaf when its records are of a single class, without noise: whether the model has a "
                "split can depend on one record alone, an infinite loss"
            )


@dataclass(frozen=True)
class Empty(_Raw):
    """A node without records is a leaf at once [our choice].

    Random tests below it would end in leaves with uniform labels, so each single answer has the same law, at a fraction of
    the memory.
    """

    def ask(self, counts: Integers, widest: Integers, randomness: Randomness) -> tuple[Truth, Floats | None]:
        """Return which nodes end, and no sizes."""
        return counts.sum(axis=1) == 0, None

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        if case.max_depth > 0:
            yield (
                "a node without records is not split further, to save memory: the shape of the model then says which "
                "nodes are empty, an infinite loss"
            )


@dataclass(frozen=True)
class NoisyCountMechanism:
    """A noisy count; a node ends below ``deviations`` times sqrt(2) / epsilon for each class and branch."""

    noise: Laplace
    deviations: Fraction

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one query costs as the paper states it."""
        return (Pure(self.noise.epsilon, "Laplace noise in floating point, the stop", PURPOSE, level),)

    def ask(self, counts: Integers, widest: Integers, randomness: Randomness) -> tuple[Truth, Floats | None]:
        """Return which nodes end, and their noisy sizes."""
        size = randomness.draw(self.noise, counts.sum(axis=1))
        return size < self.threshold(widest, counts.shape[1]), size

    def threshold(self, widest: Integers, n_classes: int) -> Floats:
        """Return the noisy size below which a node ends."""
        return np.asarray(float(self.deviations) * math.sqrt(2) * float(1 / self.noise.epsilon) * widest * n_classes)


@dataclass(frozen=True)
class NoisyCount(Stop):
    """A node ends where N / (t K) < deviations * sqrt(2) / b, N its noisy count with the budget b.

    t is the most branches of any test that the node may have, K the number of classes. Friedman and Schuster 2010
    (deviations 1); Mu et al. name 2 b their budget, so theirs are 1/2 [inferred]; 0 ends nodes of a size below 0.
    """

    deviations: Fraction = Fraction(1)

    def mechanism(self, budget: Fraction) -> NoisyCountMechanism:
        """Return the stop of a node that may spend so much on a count."""
        return NoisyCountMechanism(Laplace(budget), self.deviations)


@dataclass(frozen=True)
class UnreadCountMechanism:
    """A count that is paid for; since nothing reads it, it is not drawn."""

    budget: Fraction

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one query costs as the paper states it."""
        if self.budget == 0:
            return ()
        return (Pure(self.budget, "Laplace noise in floating point, read by no step", PURPOSE, level),)

    def ask(self, counts: Integers, widest: Integers, randomness: Randomness) -> tuple[Truth, Floats | None]:
        """Return that no node ends, and no sizes."""
        return np.zeros(len(counts), dtype=np.bool_), None


@dataclass(frozen=True)
class UnreadCount(Stop):
    """A noisy count takes its share of the budget and no step reads it: one reading of eDPRF's ablation [inferred]."""

    def mechanism(self, budget: Fraction) -> UnreadCountMechanism:
        """Return the stop of a node that may spend so much on a count."""
        return UnreadCountMechanism(budget)
