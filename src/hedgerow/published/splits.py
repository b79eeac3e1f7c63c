"""How a node of a published tree chooses its test, and how it divides its budget over the queries for that."""

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
from hedgerow.published.kernels import CUT
from hedgerow.published.noise import (
    IntervalChoice,
    Laplace,
    RealSelection,
    SomeFeatures,
    UniformCut,
    UniformFeature,
)
from hedgerow.published.records import NodeRecords
from hedgerow.published.scores import Score

__all__ = ["NoisyHistograms", "RandomTest", "SelectCutsThenTest", "SelectTest", "Split", "SplitMechanism", "Subspace"]

Chosen = tuple[Integers, Floats, Floats]

TEST = "test of a node, as the paper states it"
CUTS = "cuts of the numeric features of a node, as the paper states it"
COUNTS = "counts of a node by feature, branch and class, as the paper states it"


class SplitMechanism(Protocol):
    """A choice of tests with its budget."""

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one choice costs as the paper states it."""

    def choose(self, nodes: NodeRecords, offered: Truth, randomness: Randomness) -> Chosen:
        """Return the feature of each node, one of those ``offered`` (nodes, features), and the range or cut of its test."""


class Split(Protocol):
    """A rule for the choice of tests."""

    def mechanism(self, budget: Fraction, case: Case, level: int) -> SplitMechanism:
        """Return the choice on a level, 1 for the root, that may spend so much."""

    def queries(self, case: Case) -> int:
        """Return how many queries of one price a test asks."""
        return 1

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        yield from ()


@dataclass(frozen=True)
class _ByScore(Split):
    """A choice among tests by their scores."""

    selection: RealSelection
    score: Score

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what this step reads without protection."""
        return self.score.reasons()


@dataclass(frozen=True)
class OneSelection:
    """One selection among the tests of a node."""

    selection: RealSelection
    score: Score
    budget: Fraction

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one choice costs as the paper states it."""
        return (Pure(self.budget, f"{self.selection.name}, {self.score.name}", TEST, level),)

    def mechanism(self, tree_size: int) -> Any:
        """Return the selection, with the authors' factor budget / (2 Delta), for trees of a size."""
        return self.selection(self.budget, 2 * self.score.sensitivity(tree_size))

    def choose(self, nodes: NodeRecords, offered: Truth, randomness: Randomness) -> Chosen:
        """Return the feature of each node and the range of its test."""
        low, high = nodes.ranges(offered)
        scores = nodes.scores(offered, low, high, self.score.kind)
        return _at(randomness.draw(self.mechanism(nodes.tree_size), scores, offered), low, high)


@dataclass(frozen=True)
class SelectTest(_ByScore):
    """One selection with the factor budget / (2 Delta): eDPRF equation 12, tradition, DiffP-ID3, TpDPRF."""

    def mechanism(self, budget: Fraction, case: Case, level: int) -> OneSelection:
        """Return the choice on a level that may spend so much."""
        return OneSelection(self.selection, self.score, budget)


@dataclass(frozen=True)
class CutsThenSelection:
    """A cut for each feature that can be cut, then one selection among all tests, all at one price."""

    test: OneSelection
    cuts: int

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one choice costs as the paper states it."""
        if self.cuts == 0:
            return self.test.events(level)
        interval = f"exponential mechanism over intervals in floating point, {self.test.score.name}"
        return (Pure(self.cuts * self.test.budget, interval, CUTS, level), *self.test.events(level))

    def choose(self, nodes: NodeRecords, offered: Truth, randomness: Randomness) -> Chosen:
        """Return the feature of each node and its cut."""
        kind, mechanism = self.test.score.kind, self.test.mechanism(nodes.tree_size)
        low, high = nodes.ranges(offered)
        scores = nodes.scores(offered, low, high, kind)
        if self.cuts:
            cut = IntervalChoice(mechanism.epsilon, mechanism.score_range)
            for node, feature, intervals in nodes.cut_intervals(offered, kind):
                scores[node, feature], low[node, feature] = randomness.draw(cut, *intervals)
                high[node, feature] = low[node, feature]
        return _at(randomness.draw(mechanism, scores, offered), low, high)


@dataclass(frozen=True)
class SelectCutsThenTest(_ByScore):
    """n + 1 selections per node: an interval for the cut of each of n numeric features, then the feature (Mu et al. 2016)."""

    def mechanism(self, budget: Fraction, case: Case, level: int) -> CutsThenSelection:
        """Return the choice on a level that may spend so much."""
        return CutsThenSelection(OneSelection(self.selection, self.score, budget / self.queries(case)), case.n_cuts)

    def queries(self, case: Case) -> int:
        """Return how many queries of one price a test asks."""
        return case.n_cuts + 1


@dataclass(frozen=True)
class HistogramChoice:
    """The test that is best by noisy counts: each branch's size, and each branch's count of each class."""

    noise: Laplace
    cost: Fraction

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one choice costs as the paper states it."""
        return (Pure(self.cost, "Laplace noise in floating point, all counts", COUNTS, level),)

    def choose(self, nodes: NodeRecords, offered: Truth, randomness: Randomness) -> Chosen:
        """Return the feature of each node and the range of its test."""
        low, high = nodes.ranges(offered)
        scores = np.empty(offered.shape)
        for block in nodes.blocks():
            counts = nodes.histogram(block, offered, low, high)
            sizes = randomness.draw(self.noise, counts.sum(axis=2))
            gain = _information(sizes, randomness.draw(self.noise, counts))
            scores[block] = np.add.reduceat(gain, nodes.offsets[:-1], axis=1)
        return _at(np.where(offered, scores, -np.inf).argmax(axis=1), low, high)


def _information(sizes: Floats, counts: Floats) -> Floats:
    """Return the sum over classes of n_k log2(n_k / n) for each branch, of shape (nodes, codes).

    Counts that are not positive are skipped, and a count above its branch's size is taken as that [our choice, the
    framework is silent].
    """
    within = np.minimum(counts, sizes[:, :, None])
    positive = within > 0
    ratio = np.divide(within, sizes[:, :, None], out=np.ones_like(within), where=positive)
    return np.asarray(np.where(positive, within * np.log2(ratio), 0.0).sum(axis=2))


@dataclass(frozen=True)
class NoisyHistograms(Split):
    """Noisy counts of every branch and class of every feature; the test is the best by these.

    ``partition`` says whether disjoint counts share one price, as in PINQ: half of a feature's part for the sizes of its
    branches and half for the counts by class. Otherwise every single count has the price of one query (SuLQ, strict
    reading).
    """

    partition: bool

    def mechanism(self, budget: Fraction, case: Case, level: int) -> HistogramChoice:
        """Return the choice on a level that may spend so much."""
        left = max(case.n_features - level + 1, 1)  # each test above used a feature up
        return HistogramChoice(Laplace(budget / (2 * left if self.partition else self.queries(case))), budget)

    def queries(self, case: Case) -> int:
        """Return how many queries of one price a test asks."""
        return 1 if self.partition else case.n_codes * (1 + case.n_classes)


@dataclass(frozen=True)
class RandomTest(Split):
    """A feature uniformly at random, and a cut uniform in what is left of its range: no record is read."""

    def mechanism(self, budget: Fraction, case: Case, level: int) -> RandomTest:
        """Return the choice on a level."""
        return self

    def queries(self, case: Case) -> int:
        """Return how many queries of one price a test asks: none."""
        return 0

    def events(self, level: int) -> tuple[Pure, ...]:
        """Return what one choice costs: nothing."""
        return ()

    def choose(self, nodes: NodeRecords, offered: Truth, randomness: Randomness) -> Chosen:
        """Return the feature of each node and its cut."""
        feature, low, high = _at(randomness.draw(UniformFeature(), offered), *nodes.ranges(offered))
        cut = randomness.draw(UniformCut(), low, high)
        is_cut = nodes.branching.bins[feature] == CUT
        return feature, np.where(is_cut, cut, low), np.where(is_cut, cut, high)


@dataclass(frozen=True)
class Subspace:
    """A node may test ceil(sqrt(F)) of the F features, drawn from those that it has left [inferred]."""

    def offer(self, offered: Truth, randomness: Randomness) -> Truth:
        """Return the subset of each row of ``offered`` (nodes, features)."""
        subset: Truth = randomness.draw(SomeFeatures(math.isqrt(offered.shape[1] - 1) + 1), offered)
        return subset


def _at(feature: Integers, low: Floats, high: Floats) -> Chosen:
    """Return features and what ``low`` and ``high`` (nodes, features) hold for them."""
    nodes = np.arange(len(feature))
    return feature, low[nodes, feature], high[nodes, feature]
