"""What a leaf of a published tree holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from hedgerow.arrays import Floats, Integers
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Pure
from hedgerow.published.case import Case
from hedgerow.published.noise import Laplace, RealPermuteAndFlip, SmoothLabel

__all__ = ["LaplaceCounts", "Leaf", "LeafMechanism", "PermuteAndFlipLabel", "SmoothSensitivityLabel"]

LABEL = "leaf label, as the paper states it"
GAP = 3  # records, at which the loss of the smooth label is told


class LeafMechanism(Protocol):
    """A leaf with its budget."""

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one leaf costs as the paper states it."""

    def ask(self, counts: Integers, randomness: Randomness) -> tuple[Integers, Floats | None]:
        """Return the label of each leaf, and its noisy class counts if it has any, from raw ``counts`` (leaves, classes)."""


class Leaf(Protocol):
    """A rule for what a leaf holds."""

    def mechanism(self, budget: Fraction, case: Case) -> LeafMechanism:
        """Return the leaf that may spend so much."""

    def queries(self, case: Case) -> int:
        """Return how many queries a leaf asks."""
        return 1

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        yield from ()


@dataclass(frozen=True)
class LabelSelection:
    """A label by permute-and-flip with the class counts as scores."""

    selection: RealPermuteAndFlip

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one leaf costs as the paper states it."""
        return (self.selection.event(LABEL, "class counts", level),)

    def ask(self, counts: Integers, randomness: Randomness) -> tuple[Integers, Floats | None]:
        """Return the label of each leaf; uniform where there are no records."""
        return randomness.draw(self.selection, counts, np.ones(counts.shape, dtype=np.bool_)), None


@dataclass(frozen=True)
class PermuteAndFlipLabel(Leaf):
    """One label by permute-and-flip with the factor epsilon / score_range: 2 in eDPRF (equation 15), 1 in diffprivlib."""

    score_range: int = 2

    def mechanism(self, budget: Fraction, case: Case) -> LabelSelection:
        """Return the leaf that may spend so much."""
        return LabelSelection(RealPermuteAndFlip(budget, self.score_range))


@dataclass(frozen=True)
class CountsWithNoise:
    """Noisy class counts; the label is that of the largest."""

    noise: Laplace
    cost: Fraction

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one leaf costs as the paper states it."""
        return (Pure(self.cost, "Laplace noise in floating point, class counts", LABEL, level),)

    def ask(self, counts: Integers, randomness: Randomness) -> tuple[Integers, Floats | None]:
        """Return the label of each leaf, and its noisy class counts."""
        noisy = randomness.draw(self.noise, counts)
        return noisy.argmax(axis=1), noisy


@dataclass(frozen=True)
class LaplaceCounts(Leaf):
    """Class counts with Laplace noise; the label is that of the largest.

    ``partition`` says whether all counts are one query, since no record is in two of them, or each one of its own (SuLQ).
    """

    partition: bool = True

    def mechanism(self, budget: Fraction, case: Case) -> CountsWithNoise:
        """Return the leaf that may spend so much."""
        return CountsWithNoise(Laplace(budget / self.queries(case)), budget)

    def queries(self, case: Case) -> int:
        """Return how many queries a leaf asks."""
        return 1 if self.partition else case.n_classes


@dataclass(frozen=True)
class SmoothLabelChoice:
    """A label by the exponential mechanism with "smooth sensitivity"."""

    selection: SmoothLabel

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one leaf costs as the paper states it."""
        mechanism = "exponential mechanism in floating point with smooth sensitivity, majority"
        return (Pure(self.selection.epsilon, mechanism, LABEL, level),)

    def ask(self, counts: Integers, randomness: Randomness) -> tuple[Integers, Floats | None]:
        """Return the label of each leaf; uniform where there are no records."""
        return randomness.draw(self.selection, counts), None


@dataclass(frozen=True)
class SmoothSensitivityLabel(Leaf):
    """One label by the exponential mechanism whose scale is read off the counts (Fletcher and Islam 2017)."""

    def mechanism(self, budget: Fraction, case: Case) -> SmoothLabelChoice:
        """Return the leaf that may spend so much."""
        return SmoothLabelChoice(SmoothLabel(budget))

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        epsilon = min(float(case.epsilon), 100.0)
        loss = epsilon / 2 * math.exp(GAP * epsilon) * math.expm1(epsilon)
        yield (
            "the noise of a leaf's label has a scale read off the leaf's own counts (\"smooth sensitivity\"): with a gap of "
            f"g records between the two largest classes one record costs (epsilon / 2) e^(epsilon g) (e^epsilon - 1), {loss:.3g} "
            f"at g = {GAP}, and more at every larger gap"
        )
