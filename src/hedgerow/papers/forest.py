"""Printed trees and forests on raw records, and the estimators that have a printed form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.estimator import PublicCoins
from hedgerow.mechanisms import Randomness
from hedgerow.papers.noise import IntervalChoice, Laplace, Permutation, RealPermuteAndFlip, RealSelection, Resample
from hedgerow.papers.records import Branching, BranchingRule, OpenNodes, RawRecords
from hedgerow.papers.trees import Growth, PaperSystem, PrintedTrees, reason
from hedgerow.privacy.exact import decimal_text
from hedgerow.schema import Schema
from hedgerow.systems.base import ForestSystem, Size, TreeSystem
from hedgerow.trees import Levels

# eDPRF: equations 12 to 14; definition 3; equation 3
TWICE_GINI = 4  # twice the authors' Delta of the Gini score, which is 2 (eDPRF, equations 11 to 14)
# eDPRF: equations 15 and 16
TWICE_COUNT = 2  # twice the Delta of a class count (eDPRF, equation 15)
LEAST_ERROR = 1e-10


Subsets = list[Integers]


@dataclass(frozen=True)
class Samples:
    """Every tree reads all records, with an equal part of the budget."""

    shared: ClassVar[bool] = True  # a record may be in several trees

    def subsets(self, wrong: Truth, trees: int, randomness: Randomness) -> Subsets:
        """Return the rows of each tree; ``wrong`` (records,) marks where the vote of the phase before is wrong, or all."""
        return [np.arange(len(wrong))] * trees

    def phases(self, trees: int) -> tuple[int, ...]:
        return (trees,)

    def tree_budget(self, epsilon: Fraction, trees: int) -> Fraction:
        return epsilon / trees if self.shared else epsilon

    def reasons(self, epsilon: Fraction, trees: int) -> Iterator[str]:
        yield from ()


@dataclass(frozen=True)
class FixedSize(Samples):
    """Each of T trees gets floor(n / T) records; none is in two trees, and the rest is left out.

    Algorithm 4 of eDPRF, with the size taken from all n records [inferred]. ``shrinking``: to the letter, a T-th of the records
    that are left, which leaves a third of the records unused, against the text (docs/proofs/edprf.md).
    """

    shared = False
    shrinking: bool = False

    def sizes(self, records: int, trees: int) -> list[int]:  # eDPRF: algorithm 4; figure 2
        sizes: list[int] = []
        for _ in range(trees):
            left = records - sum(sizes) if self.shrinking else records
            sizes.append(left // trees)  # eDPRF: algorithm 4, lines 5 and 6
        return sizes

    def subsets(self, wrong: Truth, trees: int, randomness: Randomness) -> Subsets:
        order: Integers = randomness.draw(Permutation(), len(wrong))
        ends = np.cumsum(self.sizes(len(wrong), trees))
        return list(np.split(order[: ends[-1]], ends[:-1]))

    def reasons(self, epsilon: Fraction, trees: int) -> Iterator[str]:
        if trees > 1:
            yield reason("fixed-parts", trees=trees, loss=decimal_text(trees * epsilon / 2))


@dataclass(frozen=True)
class Bootstrap(Samples):
    """Every tree reads n draws with replacement from the n records."""

    def subsets(self, wrong: Truth, trees: int, randomness: Randomness) -> Subsets:
        if not len(wrong):
            return [np.empty(0, dtype=np.int64)] * trees
        weights = self.weights(wrong)
        return list(randomness.draw(Resample(), weights / weights.sum(), trees))

    def weights(self, wrong: Truth) -> Floats:
        return np.ones(len(wrong))

    def reasons(self, epsilon: Fraction, trees: int) -> Iterator[str]:
        budget = self.tree_budget(epsilon, trees)
        yield reason("bootstrap", budget=decimal_text(budget), loss=math.expm1(min(float(budget), 700.0)))


@dataclass(frozen=True)
class TwoPhases(Bootstrap):
    """Half of the trees, rounded up, on bootstrap samples, and the others on samples weighted by the first ones' errors.

    TpDPRF, Liu et al. 2023; the samples of the first phase are [inferred]. Records that the first trees get wrong weigh exp(a),
    the others exp(-a): a = ln((1 - e) / e) / 2 with e the raw training error of the vote, as in AdaBoost [inferred]. e is kept
    between 1e-10 and 1/2, so that no weight is infinite and wrong records never weigh less than others [our choice].
    """

    def phases(self, trees: int) -> tuple[int, ...]:
        return trees - trees // 2, trees // 2

    def weights(self, wrong: Truth) -> Floats:
        error = min(max(float(wrong.mean()), LEAST_ERROR), 0.5)
        ratio = math.sqrt((1 - error) / error)
        return np.where(wrong, ratio, 1 / ratio)

    def reasons(self, epsilon: Fraction, trees: int) -> Iterator[str]:
        yield from super().reasons(epsilon, trees)
        if trees > 1:
            yield reason("weighted-phase")


@dataclass(frozen=True)
class Shares:
    """What one node of a level may spend: on its test, on the noisy count of its records, and on its leaf."""

    test: Fraction
    count: Fraction
    leaf: Fraction


@dataclass(frozen=True)
class PrintedForest:
    """A printed forest in its parts.

    ``selection`` chooses tests by their Gini score: each of n features that are cut has a selection among intervals of its own,
    and one more selection is among all tests, n + 1 at one price (Mu et al. 2016). No path reads a feature twice but for cuts.

    ``sharing`` "aligned": a level's budget is for its test, and a leaf gets what its path has left (eDPRF, equation 10).
    "undivided": a level's budget is for its test or its leaf. "halved": half of it is for the noisy count of the node's records,
    half for its test or its leaf; where no leaf is counted, because it holds a label, a leaf gets all of it.

    ``pure_leaves``: a node of a single class is a leaf, and so is one without records (eDPRF, algorithm 5). The latter has a
    uniform label [our choice, the paper is silent].

    ``counted``: a node ends where N / (t K) < sqrt(2) / (2 b), N its noisy count with the budget b, t the most branches of any
    test that it may have, and K the number of classes. Mu et al. name 2 b their budget [inferred]. A noisy count that no step
    reads is paid for and not drawn.
    """

    levels: Levels
    samples: Samples
    tests: BranchingRule
    selection: RealSelection
    sharing: Literal["aligned", "undivided", "halved"] = "undivided"
    leaf: Literal["label", "counts"] = "counts"  # by permute-and-flip (eDPRF, equation 15), or the largest noisy count
    pure_leaves: bool = True
    counted: bool = False

    def shares(self, epsilon: Fraction, trees: int, max_depth: int) -> list[Shares]:  # eDPRF: equations 10, 17 and 18
        left = self.samples.tree_budget(epsilon, trees)
        shares = []
        for part in self.levels.budgets(left, max_depth + 1):
            test = part / 2 if self.sharing == "halved" else part
            leaf = left if self.sharing == "aligned" else part if self.leaf == "label" else test
            shares.append(Shares(test, part - test, leaf))
            left -= part
        return shares

    def reasons(self, branching: Branching, epsilon: Fraction, size: Size) -> Iterator[str]:
        if size.max_depth > 0:  # otherwise a tree is one leaf, whatever the records are
            if self.pure_leaves:
                yield reason("pure-leaves")
            if np.any(branching.bins > 0):
                yield reason("node-bins")
        yield from self.samples.reasons(epsilon, size.n_estimators)
        yield reason("floating-point")

    def read_by(self, schema: Schema, max_bins: int) -> Branching:
        return self.tests(schema, max_bins)

    def fit(
        self, data: RawRecords, epsilon: Fraction, size: Size, coins: PublicCoins, randomness: Randomness
    ) -> PrintedTrees:
        levels = self.shares(epsilon, size.n_estimators, size.max_depth)
        grown: list[PrintedTrees] = []
        wrong = np.ones(len(data.labels), dtype=np.bool_)
        for trees in filter(None, self.samples.phases(size.n_estimators)):
            if grown:
                wrong = grown[0].votes(data.columns).argmax(axis=1) != data.labels
            grown.append(self._grow(data, self.samples.subsets(wrong, trees, randomness), levels, randomness))
        return PrintedTrees.joined(data.branching, grown)

    # eDPRF: algorithm 5; algorithm 3; figure 4
    def _grow(self, data: RawRecords, subsets: Subsets, levels: list[Shares], randomness: Randomness) -> PrintedTrees:
        """Grow one tree on each subset, level by level."""
        growth = Growth(data, subsets)
        for number, shares in enumerate(levels, start=1):
            frontier, counts = growth.open, growth.counts[-1]
            if not len(frontier):
                break
            offered = frontier.offered
            leaf: Truth = np.full(len(frontier), number == len(levels)) | ~offered.any(axis=1)
            if self.pure_leaves:
                leaf |= np.count_nonzero(counts, axis=1) <= 1
            if self.counted:
                widest = np.where(offered, data.branching.arity, 0).max(axis=1)
                size = randomness.draw(Laplace(shares.count), counts.sum(axis=1))
                leaf |= size < 0.5 * math.sqrt(2) * float(1 / shares.count) * widest * counts.shape[1]
            ending = counts[leaf]  # of nodes without records too, whose label is uniform
            if len(ending) and self.leaf == "counts":
                growth.levels[-1].label[leaf] = randomness.draw(Laplace(shares.leaf), ending).argmax(axis=1)
            elif len(ending):
                every = np.ones(ending.shape, dtype=np.bool_)
                label = randomness.draw(RealPermuteAndFlip(shares.leaf, TWICE_COUNT), ending, every)
                growth.levels[-1].label[leaf] = label
            if leaf.all():
                break
            inner = frontier[~leaf]
            growth.split(inner, *self._tests(inner, offered[~leaf], shares.test, randomness))
        return growth.trees()

    # eDPRF: algorithm 2
    def _tests(
        self, frontier: OpenNodes, offered: Truth, budget: Fraction, randomness: Randomness
    ) -> tuple[Integers, Floats, Floats]:
        low, high = frontier.ranges(offered)
        scores = frontier.scores(offered, low, high)
        cuts = len(frontier.data.branching.cuts)
        each = budget / (cuts + 1)
        if cuts:
            for node, feature, intervals in frontier.cut_intervals(offered):
                scores[node, feature], cut = randomness.draw(IntervalChoice(each, TWICE_GINI), *intervals)
                low[node, feature] = high[node, feature] = cut
        feature = randomness.draw(self.selection(each, TWICE_GINI), scores, offered)
        rows = np.arange(len(frontier))
        return feature, low[rows, feature], high[rows, feature]


class PaperTree(PaperSystem, TreeSystem):
    """A tree of a paper."""


class PaperForest(PaperTree, ForestSystem):
    """A forest of a paper."""
