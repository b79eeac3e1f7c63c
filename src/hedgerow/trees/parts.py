"""Parts of a private forest: which records a tree reads, which tests there are, what a level may spend, stops, leaves and splits.

Stops, leaves and splits are frozen values that state their event, and act by it. What one states is what it spends of its budget.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from collections.abc import Sequence as Several
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, lazy
from hedgerow.curator import CompareMinorities, Nodes, Queryable, SelectLabels, SelectTests
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import (
    AtMost,
    Budget,
    Coin,
    DiscreteGaussian,
    Noise,
    PermuteAndFlip,
    PerRecordCoin,
    PublicChoice,
    RoundedNormal,
    Selection,
    WeightedCoin,
)
from hedgerow.privacy.accounting import (
    Event,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    before_amplification,
)
from hedgerow.scores import CLASS_COUNTS, Candidates, Gini, Score
from hedgerow.table import ClassCounts, Histogram, Sizes

Amount = TypeVar("Amount", Fraction, Budget)


# Which records each tree reads.


@dataclass(frozen=True)
class Sampling:
    rounds: int
    coin: Coin
    budget: Budget

    def event(self, tree: Event) -> Event:
        event: Event = PerRecordAssignment(tree, self.coin.parts)
        if self.coin.inclusion is not None:
            event = Subsampled(tree, self.coin.inclusion)
        return event if self.rounds == 1 else Sequence((event,) * self.rounds)


@dataclass(frozen=True)
class PerRecord:  # eDPRF: algorithm 4
    """Each record is in one tree, by its own coin; each tree spends the whole budget (docs/proofs/composition.md)."""

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        return Sampling(1, PerRecordCoin(trees), budget)


@dataclass(frozen=True)
class AllRecords:
    """Every tree reads all records and spends an equal part of the budget."""

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        return Sampling(trees, PerRecordCoin(1), budget / trees)


@dataclass(frozen=True)
class Weighted:  # CART-DPsAdaBoost: algorithm 3, step 5
    """Every tree reads each record with a probability that follows from released values, at most ``inclusion``.

    Only a part of the records pays for a tree, so a tree may spend more than its part of the budget.
    """

    inclusion: Fraction = Fraction(1)

    def sampling(self, budget: Budget, trees: int) -> Sampling:
        each = budget / trees
        if self.inclusion < 1:
            if budget.concentrated:
                raise ConfigurationError(
                    "only pure epsilon is amplified by a sample; pass delta=0, or read all records."
                )
            each = replace(each, amount=before_amplification(each.amount, self.inclusion))
        return Sampling(trees, WeightedCoin(self.inclusion), each)


Assignment = PerRecord | AllRecords | Weighted

# A rule that lists the public tests of a tree: for each feature the number of its codes, and whether its codes are cut in their
# public order.
CandidateRule = Callable[[npt.ArrayLike, Several[bool]], Candidates]

# eDPRF: equation 10
# How a path's budget is shared among its levels. Leaves are aligned everywhere (eDPRF, equation 10): a leaf above the last level
# gets all of the path's remaining budget.


class Levels(ABC):
    @abstractmethod
    def weights(self, levels: int) -> list[Fraction]: ...

    def budgets(self, budget: Amount, levels: int) -> list[Amount]:
        weights = self.weights(levels)
        total = sum(weights)
        return [budget * (weight / total) for weight in weights]


@dataclass(frozen=True)
class Harmonic(Levels):  # eDPRF: equation 9, in both forms
    """Level k of L gets epsilon / (s (L - k + 1)), s = 1 + 1/2 + ... + 1/L: most at the leaves (eDPRF, equation 9)."""

    def weights(self, levels: int) -> list[Fraction]:
        return [Fraction(1, levels - k) for k in range(levels)]


@dataclass(frozen=True)
class LeafShare(Levels):  # CART-DPsAdaBoost: algorithm 1, step 2
    """Leaves get ``share`` of the budget, and the levels above share the rest equally."""

    share: Fraction = Fraction(1, 2)

    def weights(self, levels: int) -> list[Fraction]:
        if levels == 1:
            return [Fraction(1)]
        return [(1 - self.share) / (levels - 1)] * (levels - 1) + [self.share]


@dataclass(frozen=True)
class Geometric(Levels):
    """Every level gets ``ratio`` times the share of the level above it.

    Assumed for the DiffPRF of Deng et al. 2020, whose formula is not public [inferred].
    """

    ratio: Fraction = Fraction(2)

    def weights(self, levels: int) -> list[Fraction]:
        return [self.ratio**k for k in range(levels)]


@dataclass(frozen=True)
class Linear(Levels):
    """Level k, 1 for the root, gets a share proportional to ``slope`` k + ``constant`` (DiffPRF_linear, Dong et al. 2022).

    The arithmetic allocation is Linear(1, 0), the uniform one Linear(0, 1).
    """

    slope: int = 1
    constant: int = 1

    def weights(self, levels: int) -> list[Fraction]:
        return [Fraction(self.slope * k + self.constant) for k in range(1, levels + 1)]


UNIFORM = Linear(0, 1)


# Stops, leaves and splits. ``event`` is the cost of one node; ``ask`` and ``choose`` act by it.


@dataclass(frozen=True)
class Part:
    budget: Budget = field(default=Budget(Fraction(0)), kw_only=True, repr=False)


# A stop is a noisy query that makes a node a leaf before its path ends; it costs ``share`` of its level's budget. ``ask`` returns
# which nodes are leaves, and their noisy sizes where these are released. ``widest`` is the largest number of branches of a test
# that each node may take.


@dataclass(frozen=True)
class NoisyMinority(Part):
    """Make a node a leaf if its noisy minority count is at most theta / b, where b is the share of the level's budget it spends.

    It replaces a test of purity, which would read the records without protection (docs/proofs/edprf.md). The count itself is not
    released.
    """

    share: Fraction = Fraction(15, 100)
    theta: Fraction = Fraction(2)

    @lazy
    def mechanism(self) -> AtMost:
        noise = self.budget.noise()
        if isinstance(noise, RoundedNormal | DiscreteGaussian):
            raise ConfigurationError("a noisy minority count needs pure epsilon; pass delta=0 or another stop.")
        spent = noise.event("noisy minority count").epsilon
        return AtMost(noise, math.floor(self.theta / spent))

    def event(self, level: int) -> Event:
        return self.mechanism.noise.event("noisy minority count, as a stop", level)

    def ask(self, curator: Queryable, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        return curator.answer(CompareMinorities(nodes), self.mechanism), None


@dataclass(frozen=True)
class NoisySize(Part):
    """Release a node's noisy size, and make it a leaf if it has fewer records per branch and class than the noise's deviation.

    Friedman and Schuster, KDD 2010: N / (t K) < sqrt(2) / epsilon, t the largest number of branches.
    """

    share: Fraction = Fraction(1, 2)

    @lazy
    def noise(self) -> Noise:
        return replace(self.budget, unit=1).noise()

    def event(self, level: int) -> Event:
        return self.noise.event("noisy number of records, as a stop", level)

    def ask(self, curator: Queryable, nodes: Nodes, widest: Integers) -> tuple[Truth, Integers | None]:
        sizes = curator.answer(Sizes(nodes), self.noise)
        return sizes < self.noise.deviation * widest * curator.n_classes, sizes


Stop = NoisyMinority | NoisySize

# A leaf releases a column of labels, or a column of counts for each class. Its event is the cost of one leaf if all leaves of a
# level have at most ``cells`` cells by class.


@dataclass(frozen=True)
class SelectLabel(Part):  # eDPRF: algorithm 3; equations 15 and 16
    """Release one label per leaf, chosen by a selection mechanism with the class counts as scores."""

    selection: type[Selection] = PermuteAndFlip

    releases_counts: ClassVar[bool] = False

    @lazy
    def mechanism(self) -> Selection:
        return self.budget.selection(self.selection, 1)

    def event(self, level: int, cells: int) -> Pure:
        return self.mechanism.event("leaf label", CLASS_COUNTS, level)

    def ask(self, curator: Queryable, nodes: Nodes) -> Integers:
        return np.asarray(curator.answer(SelectLabels(nodes), self.mechanism))[:, None]


@dataclass(frozen=True)
class NoisyCounts(Part):  # CART-DPsAdaBoost: algorithm 1, steps 4 and 5; equation 3
    releases_counts: ClassVar[bool] = True

    @lazy
    def noise(self) -> Noise:
        return self.budget.noise()

    def event(self, level: int, cells: int) -> Event:
        return self.noise.event("class counts of a leaf", level, draws=cells)

    def ask(self, curator: Queryable, nodes: Nodes) -> Integers:
        return np.asarray(curator.answer(ClassCounts(nodes), self.noise))


Leaf = SelectLabel | NoisyCounts

# A split chooses a test for each node, one of those ``offered`` (nodes, tests) to it. Its events are the cost of one node; where
# nodes divide their budget in several ways, that of the most expensive way.

# Noisy counts in memory at once; a public number, so that the draws do not depend on the records.
CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class SelectTest(Part):  # eDPRF: algorithm 2; equation 12
    """Choose a node's test by one selection on a score; if there are cuts among the tests, features and cuts compete at once."""

    selection: type[Selection] = PermuteAndFlip
    score: Score = Gini()

    @lazy
    def mechanism(self) -> Selection:
        if self.budget.unit > 1 and not self.score.weighs:
            raise ConfigurationError(
                f"the {self.score.name} is for records that count 1 only; choose criterion='max', or delta=0."
            )
        return self.budget.selection(self.selection, self.score.range)

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        return (self.mechanism.event("test of a node", self.score.detail, level),)

    def choose(self, curator: Queryable, nodes: Nodes, candidates: Candidates, offered: Truth) -> Integers:
        return np.asarray(curator.answer(SelectTests(nodes, candidates, offered, self.score), self.mechanism))


@dataclass(frozen=True)
class NoisyHistograms(Part):
    """Release noisy counts of every feature that a node may still test, and take the test with the largest information gain.

    It is only for tests with a branch for each code. The budget is divided among the features. The use of the counts is
    post-processing.
    """

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        purpose = "counts of a node by code and class"
        return (Parallel(tuple(self.budget.noise(n).event(purpose, level) for n in range(1, len(candidates) + 1))),)

    def choose(self, curator: Queryable, nodes: Nodes, candidates: Candidates, offered: Truth) -> Integers:
        asked = offered[:, np.argsort(candidates.feature)]  # one test for each feature
        chosen = np.empty(len(nodes), dtype=np.int64)
        step = max(1, CELLS_AT_ONCE // int(candidates.offsets[-1] * curator.n_classes))
        n = asked.sum(axis=1)
        for count in np.unique(n):
            group = np.flatnonzero(n == count)
            for start in range(0, len(group), step):
                part = np.zeros(len(nodes), dtype=np.bool_)
                part[group[start : start + step]] = True
                counts = curator.answer(Histogram(nodes[part], asked[part]), self.budget.noise(int(count)))
                # The sum over classes of n_k log2(n_k / n) for each code, (nodes, codes)
                counts = np.maximum(counts, 0)
                size = np.maximum(counts.sum(axis=2, keepdims=True), 1)
                information = (counts * np.log2(np.maximum(counts, 1) / size)).sum(axis=2)
                gain = np.add.reduceat(information, candidates.offsets[:-1], axis=1)
                chosen[part] = np.where(offered[part], gain[:, candidates.feature], -np.inf).argmax(axis=1)
        return chosen


@dataclass(frozen=True)
class RandomTest(Part):
    """Choose a feature at random among those that can still be tested, then one of its tests. No record is read."""

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        return ()

    def choose(self, curator: Queryable, nodes: Nodes, candidates: Candidates, offered: Truth) -> Integers:
        feature = curator.draw_public(PublicChoice(), _testable(candidates, offered).astype(np.int64))
        of_feature = offered & (candidates.feature == feature[:, None])
        return np.asarray(curator.draw_public(PublicChoice(), np.where(of_feature, candidates.weight, 0)))


Split = SelectTest | NoisyHistograms | RandomTest


@dataclass(frozen=True)
class Subspace:
    """Offer each node the tests of a few features only, drawn at random among those it could test.

    ``features`` is their number; None: ceil(sqrt(features)).
    """

    features: int | None = None

    def offer(self, curator: Queryable, candidates: Candidates, offered: Truth) -> Truth:
        left = _testable(candidates, offered)
        drawn = np.zeros_like(left)
        few = math.isqrt(left.shape[1] - 1) + 1 if self.features is None else self.features
        for _ in range(min(few, left.shape[1])):
            some = np.flatnonzero(left.any(axis=1))
            if len(some):
                feature = curator.draw_public(PublicChoice(), left[some].astype(np.int64))
                drawn[some, feature] = True
                left[some, feature] = False
        return offered & drawn[:, candidates.feature]


def _testable(candidates: Candidates, offered: Truth) -> Truth:
    out = np.zeros((len(offered), len(candidates.n_codes)), dtype=np.bool_)
    node, test = np.nonzero(offered)
    out[node, candidates.feature[test]] = True
    return out
