"""How a node of a private tree chooses its test, and how it divides its budget among the queries that this takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth
from hedgerow.curator import Nodes, Queryable, SelectTests
from hedgerow.errors import ConfigurationError
from hedgerow.lazy_values import lazy
from hedgerow.mechanisms import Noise, PermuteAndFlip, PublicChoice, Selection
from hedgerow.privacy.accounting import Event, Parallel
from hedgerow.scores import Candidates, Gini, Score
from hedgerow.table import Histogram
from hedgerow.trees.parts import Part

# Noisy counts in memory at once; a public number, so that the draws do not depend on the records.
CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Split(Part):
    """How a node's test is chosen."""

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        """Return the cost of one node; where nodes divide their budget in several ways, that of the most expensive way."""
        raise NotImplementedError

    def choose(self, curator: Queryable, nodes: Nodes, candidates: Candidates, offered: Truth) -> Integers:
        """Return a test for each node, one of those ``offered`` (nodes, tests) to it."""
        raise NotImplementedError


@dataclass(frozen=True)
class SelectTest(Split):
    """Choose a node's test by one selection on a score; if there are cuts among the tests, features and cuts compete at once."""

    selection: type[Selection] = PermuteAndFlip
    score: Score = Gini()

    @lazy
    def mechanism(self) -> Selection:
        if self.budget.unit > 1 and not self.score.weighs:
            raise ConfigurationError(
                f"the {self.score.name} squares counts, so it ranks tests of records that count 1 only; choose criterion='max', "
                "or delta=0 where records are then sampled."
            )
        return self.budget.selection(self.selection, self.score.range)

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        return (self.mechanism.event("test of a node", self.score.detail, level),)

    def choose(self, curator: Queryable, nodes: Nodes, candidates: Candidates, offered: Truth) -> Integers:
        chosen: Integers = curator.answer(SelectTests(nodes, candidates, offered, self.score), self.mechanism)
        return chosen


@dataclass(frozen=True)
class NoisyHistograms(Split):
    """Release noisy counts of every feature that a node may still test, and take the test with the largest information gain.

    It is only for tests with a branch for each code. The budget is divided among the features. The use of the counts is
    post-processing.
    """

    def _noise(self, n: int) -> Noise:
        return self.budget.noise(n)

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        purpose = "counts of a node by code and class"
        return (Parallel(tuple(self._noise(n).event(purpose, level) for n in range(1, len(candidates) + 1))),)

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
                counts = curator.answer(Histogram(nodes[part], asked[part]), self._noise(int(count)))
                gain = np.add.reduceat(_information(counts), candidates.offsets[:-1], axis=1)
                chosen[part] = np.where(offered[part], gain[:, candidates.feature], -np.inf).argmax(axis=1)
        return chosen


def _information(counts: Integers) -> npt.NDArray[np.float64]:
    """Return the sum over classes of n_k log2(n_k / n), of shape (nodes, codes); counts below one are left out."""
    counts = np.maximum(counts, 0)
    size = counts.sum(axis=2, keepdims=True)
    return np.asarray((counts * np.log2(np.maximum(counts, 1) / np.maximum(size, 1))).sum(axis=2))


@dataclass(frozen=True)
class RandomTest(Split):
    """Choose a feature at random among those that can still be tested, then one of its tests. No record is read."""

    def events(self, level: int, candidates: Candidates) -> tuple[Event, ...]:
        return ()

    def choose(self, curator: Queryable, nodes: Nodes, candidates: Candidates, offered: Truth) -> Integers:
        feature = curator.draw_public(PublicChoice(), _testable(candidates, offered).astype(np.int64))
        of_feature = offered & (candidates.feature == feature[:, None])
        chosen: Integers = curator.draw_public(PublicChoice(), np.where(of_feature, candidates.weight, 0))
        return chosen


@dataclass(frozen=True)
class Subspace:
    """Offer each node the tests of a few features only, drawn at random among those it could test.

    ``features`` is their number; None: ceil(sqrt(features)).
    """

    features: int | None = None

    def offer(self, curator: Queryable, candidates: Candidates, offered: Truth) -> Truth:
        """Return which of the tests are offered to each node, of shape (nodes, tests)."""
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
    """Return which features have an offered test, of shape (nodes, features)."""
    out = np.zeros((len(offered), len(candidates.n_codes)), dtype=np.bool_)
    node, test = np.nonzero(offered)
    out[node, candidates.feature[test]] = True
    return out
