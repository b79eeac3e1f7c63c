"""Which records each tree of a published forest reads, and its budget in the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Sequence
from hedgerow.privacy.exact import decimal_text
from hedgerow.published.case import Case
from hedgerow.published.noise import Permutation, Resample

__all__ = ["AllRecords", "Assignment", "Bootstrap", "Chunks", "FixedSize", "Reweighted", "Subsets", "TwoPhases"]

LEAST_ERROR = 1e-10

Subsets = list[Integers]


class Sampler(Protocol):
    """A rule that samples records for some trees."""

    def subsets(self, wrong: npt.NDArray[np.bool_], trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree; ``wrong`` (records,) marks where the vote of the trees so far is wrong."""


class Assignment(Protocol):
    """A rule that assigns records and budget to all trees, in one or more phases."""

    def phases(self, trees: int) -> tuple[tuple[Sampler, int], ...]:
        """Return the sampler and the number of trees of each phase."""

    def tree_budget(self, epsilon: Fraction, trees: int) -> Fraction:
        """Return the budget that the paper gives each tree."""

    def event(self, tree: Event, trees: int) -> Event:
        """Return the cost of all trees as the paper states it, given the cost of one."""

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        yield from ()


class _Disjoint:
    """No record is in two trees, so each spends the whole budget."""

    def tree_budget(self, epsilon: Fraction, trees: int) -> Fraction:
        """Return the budget that the paper gives each tree."""
        return epsilon

    def event(self, tree: Event, trees: int) -> Event:
        """Return the cost of all trees as the paper states it: that of one tree."""
        return tree


class _Shared:
    """A record may be in every tree, so each spends an equal part of the budget."""

    def tree_budget(self, epsilon: Fraction, trees: int) -> Fraction:
        """Return the budget that the paper gives each tree."""
        return epsilon / trees

    def event(self, tree: Event, trees: int) -> Event:
        """Return the cost of all trees as the paper states it."""
        return tree if trees == 1 else Sequence((tree,) * trees)


class _OnePhase:
    """The samples of all trees are drawn at once."""

    def phases(self, trees: int) -> tuple[tuple[Sampler, int], ...]:
        """Return the sampler and the number of trees of each phase."""
        sampler: Sampler = self  # type: ignore[assignment]
        return ((sampler, trees),)


@dataclass(frozen=True)
class FixedSize(_OnePhase, _Disjoint):
    """Each of T trees gets floor(n / T) records; none is in two trees, and the rest is left out.

    Algorithm 4 of eDPRF, with the size taken from all n records: read literally it shrinks from draw to draw and
    would leave a third of the records unused, against the text (docs/proofs/edprf.md). Also Fletcher and Islam 2017.

    Parameters
    ----------
    label_factor : Fraction or None
        What a label's probability loses on one record, in units of epsilon, to say what is lost in all trees; None where
        that has no bound.
    """

    label_factor: Fraction | None = Fraction(1, 2)

    def subsets(self, wrong: npt.NDArray[np.bool_], trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree."""
        order: Integers = randomness.draw(Permutation(), len(wrong))
        size = len(wrong) // trees
        return list(order[: trees * size].reshape(trees, size))

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        if case.trees == 1:
            return
        loss = "T times what one leaf loses"
        if self.label_factor is not None:
            text = "T * epsilon" if self.label_factor == 1 else f"T * epsilon / {1 / self.label_factor}"
            loss = f"{text} = {decimal_text(case.trees * case.epsilon * self.label_factor)}"
        yield (
            f"the records are divided among {case.trees} trees in subsets of one fixed size: one record added or removed can "
            f"change the size of every subset, a loss of {loss}"
        )


@dataclass(frozen=True)
class Chunks(_OnePhase, _Disjoint):
    """Record i of n is in tree floor(i / (n / T)): contiguous chunks, as in diffprivlib 0.6.6 without shuffling."""

    def subsets(self, wrong: npt.NDArray[np.bool_], trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree."""
        records = len(wrong)
        tree = np.arange(records) * trees // max(records, 1)
        return np.split(np.arange(records), np.searchsorted(tree, np.arange(1, trees)))

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        if case.trees > 1:
            yield (
                f"the records are cut into {case.trees} chunks by their position: one record in front moves records "
                f"over every border, a loss of (2 T - 1) epsilon = {decimal_text((2 * case.trees - 1) * case.epsilon)}"
            )


@dataclass(frozen=True)
class AllRecords(_OnePhase, _Shared, Assignment):
    """Every tree reads all records."""

    def subsets(self, wrong: npt.NDArray[np.bool_], trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree."""
        return [np.arange(len(wrong))] * trees


@dataclass(frozen=True)
class Bootstrap(_OnePhase, _Shared):
    """Every tree reads n draws with replacement from the n records."""

    def subsets(self, wrong: npt.NDArray[np.bool_], trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree."""
        return _resampled(np.ones(len(wrong)), trees, randomness)

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        budget = self.tree_budget(case.epsilon, case.trees)
        yield (
            "every tree draws its records with replacement, so one record may be in it many times: a tree with the stated "
            f"budget b = {decimal_text(budget)} loses up to about exp(b) - 1 = {math.expm1(min(float(budget), 700.0)):.6g} "
            "on one record of a rare class, and no more than n b is proved"
        )


@dataclass(frozen=True)
class Reweighted:
    """A bootstrap in which records that the trees so far get wrong have weight exp(a), and the others exp(-a).

    a = ln((1 - e) / e) / 2 with e the raw training error of the vote, as in AdaBoost [inferred]; e is kept between 1e-10 and
    1/2, so that no weight is infinite and wrong records never weigh less than others [our choice, the paper is silent].
    """

    def subsets(self, wrong: npt.NDArray[np.bool_], trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree."""
        error = min(max(float(wrong.mean()) if len(wrong) else 0.5, LEAST_ERROR), 0.5)
        ratio = math.sqrt((1 - error) / error)
        return _resampled(np.where(wrong, ratio, 1 / ratio), trees, randomness)


@dataclass(frozen=True)
class TwoPhases(_Shared):
    """Half of the trees, rounded up, on bootstrap samples, and the others on samples weighted by the first ones' errors.

    TpDPRF, Liu et al. 2023; the samples of the first phase are [inferred].
    """

    def phases(self, trees: int) -> tuple[tuple[Sampler, int], ...]:
        """Return the sampler and the number of trees of each phase."""
        return ((Bootstrap(), trees - trees // 2), (Reweighted(), trees // 2))

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        yield from Bootstrap().reasons(case)
        if case.trees > 1:
            yield (
                "the second phase weighs records by the raw training error of the first and normalizes the weights: one "
                "record changes the chance of every other one, and no bound on the loss is known"
            )


def _resampled(weights: npt.NDArray[np.float64], trees: int, randomness: Randomness) -> Subsets:
    if not len(weights) or not trees:
        return [np.empty(0, dtype=np.int64)] * trees
    return list(randomness.draw(Resample(), weights / weights.sum(), trees))
