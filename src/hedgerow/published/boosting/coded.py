"""The tree of CART-DPsAdaBoost as its authors' public code grows it (repository qiu-wanyong/CART-DPsAdaboost).

The code differs from the paper in almost every step. It shows which of the two explains the figures. Its privacy loss is in
docs/proofs/cart-dps-adaboost.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Pure, Sequence
from hedgerow.published.boosting.learner import Ranked, midpoint, tested_codes
from hedgerow.published.boosting.model import BinaryTrees, most_codes
from hedgerow.published.boosting.noise import MeanLaplace
from hedgerow.published.boosting.sketch import Sketch, WeakestLink, errors_by_node
from hedgerow.published.boosting.stumps import RawNumbers
from hedgerow.published.branching import BranchingRule
from hedgerow.published.case import Case
from hedgerow.published.records import RawRecords

__all__ = ["CodedTree"]

CLASSES = 2
_LACKING = ", and a class that a node lacks gets no noise"
NOISES = 9  # of a candidate: the sizes of both sides and of the node, then each side's size and class sums again


@dataclass(frozen=True)
class CodedTree:
    """A binary tree on all records, by weighted Gini indices of every single test, with noise or without.

    Tests are x_j <= c for the midpoints c of a node's numbers and x_j == v for its codes; the last one of the least index
    wins. A child of one class is a leaf, and a node's label is that of its larger class.

    With noise, every sum of weights gets the mean of 100 draws of Laplace(1 / epsilon), anew for every candidate, a side's
    class only if a record has it; and so does each count of records that a label follows from.

    Departs   from the code: labels are drawn once, which it draws anew at every look; missing numbers go right, which it does
              not know.

    Parameters
    ----------
    max_depth : int
        The tests on a path.
    noisy : bool
        Whether indices and labels get noise: one script of the authors'. Their others grow trees without.
    """

    max_depth: int = 4
    noisy: bool = True

    tests: ClassVar[BranchingRule] = RawNumbers()
    pruning: ClassVar[WeakestLink] = WeakestLink(as_coded=True)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> CodedFitter:
        """Return the learner with its records."""
        return CodedFitter(self, Ranked.of(training), holdout)

    def stated(self, case: Case) -> Event | None:
        """Return the cost of one count in the code, for tests and for labels; None without noise."""
        if not self.noisy:
            return None
        noise = "mean of 100 Laplace draws in floating point"
        test = Pure(case.epsilon, noise, "each sum of weights of each test, as coded")
        return Sequence((test, Pure(case.epsilon, noise, "each class count of each node, as coded")))

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        if self.noisy:
            yield (
                "every count gets the mean of 100 draws of Laplace(1 / epsilon), with a tenth of the standard deviation of one: "
                "a change of 1 in a count loses up to 100 epsilon"
            )
        else:
            yield (
                "trees are grown and labelled without any noise: the best test by raw weighted Gini indices, the larger raw "
                "class of each leaf, an infinite loss"
            )
        yield (
            "the midpoints between the node's own numbers, and its own codes, are the tests, and the model stores one: a "
            "number that one record alone has can be seen, an infinite loss"
        )
        yield (
            f"a child whose records are of a single class becomes a leaf{_LACKING if self.noisy else ''}, an infinite loss"
        )
        yield "trees are cut back by the raw accuracy on the records that are held out, an infinite loss"


@dataclass(frozen=True, eq=False)
class CodedTests:
    """Tests of one node: feature, the rank of the value, and of the next one ``above`` it for a number, each (tests,).

    ``weights`` and ``counts`` (tests, 2) are the class sums on the left.
    """

    feature: Integers
    rank: Integers
    above: Integers
    weights: Floats
    counts: Integers


@dataclass(frozen=True, eq=False)
class CodedFitter:
    """The learner with its records."""

    learner: CodedTree
    records: Ranked
    holdout: RawRecords

    def fit(self, weights: Floats, budget: float, randomness: Randomness) -> BinaryTrees:
        """Return one tree."""
        noise, training = MeanLaplace(budget), self.records.data
        sketch = self._grow(weights, noise, randomness)
        counts = np.array(sketch.counts)
        if self.learner.noisy:
            counts = np.where(counts > 0, randomness.draw(noise, counts), -np.inf)
        tree = sketch.tree(counts.argmax(axis=1))
        everyone = np.arange(len(weights))
        held = errors_by_node(tree, self.holdout, np.arange(len(self.holdout.labels)))
        return self.learner.pruning.apply(tree, errors_by_node(tree, training, everyone), held)

    def _grow(self, weights: Floats, noise: MeanLaplace, randomness: Randomness) -> Sketch:
        labels = self.records.data.labels
        sketch = Sketch(most_codes(self.records.data.branching))
        sketch.add(np.bincount(labels, minlength=CLASSES)[None])
        open_nodes = [(0, np.arange(len(labels)))]
        for _ in range(self.learner.max_depth):
            children = []
            for node, rows in open_nodes:
                test = self._choose(rows, weights, noise, randomness)
                if test is not None:
                    children += self._split(sketch, node, rows, test)
            open_nodes = children
        return sketch

    def _choose(
        self, rows: Integers, weights: Floats, noise: MeanLaplace, randomness: Randomness
    ) -> tuple[int, float, Integers] | None:
        """Return the feature of a node's test, its cut, and the code that goes left; None if there is no test."""
        found = self._candidates(rows, weights)
        if found is None:
            return None
        labels = self.records.data.labels[rows]
        whole = np.bincount(labels, weights=weights[rows], minlength=CLASSES)
        left, right = found.weights, whole - found.weights
        has = (found.counts > 0, np.bincount(labels, minlength=CLASSES) > found.counts)
        drawn = np.zeros((len(left), NOISES))
        if self.learner.noisy:
            drawn = randomness.draw(noise, drawn)
        sides = np.stack((left.sum(axis=1), right.sum(axis=1), np.full(len(left), whole.sum()))) + drawn[:, :3].T
        with np.errstate(all="ignore"):
            index = sides[0] / sides[2] * _noisy_gini(left, has[0], drawn[:, 3:6])
            index += sides[1] / sides[2] * _noisy_gini(right, has[1], drawn[:, 6:])
        best = len(index) - 1 - int(np.where(np.isnan(index), np.inf, index)[::-1].argmin())
        feature, values = int(found.feature[best]), self.records.values
        if self.records.numeric[feature]:
            low, high = values[found.rank[best]], values[found.above[best]]
            return feature, midpoint(low, high), np.empty(0, dtype=np.int64)
        return feature, 0.0, values[found.rank[[best]]].astype(np.int64)

    def _candidates(self, rows: Integers, weights: Floats) -> CodedTests | None:
        """Return the tests of a node; None if there are none."""
        ranked = self.records
        sums = ranked.class_weights(rows, weights)
        counts = ranked.class_weights(rows, np.ones(len(weights), dtype=np.int64))
        present = np.flatnonzero(counts.any(axis=1) & ~np.isnan(ranked.values))
        ends = np.searchsorted(present, ranked.start)
        parts = []
        for feature, numeric in enumerate(ranked.numeric):
            own = present[ends[feature] : ends[feature + 1]]
            if len(own) < 2:
                continue
            if numeric:
                below = (sums[own].cumsum(axis=0)[:-1], counts[own].cumsum(axis=0)[:-1])
                parts.append((np.full(len(own) - 1, feature), own[:-1], own[1:], *below))
            else:
                parts.append((np.full(len(own), feature), own, own, sums[own], counts[own]))
        return CodedTests(*map(np.concatenate, zip(*parts, strict=True))) if parts else None

    def _split(
        self, sketch: Sketch, node: int, rows: Integers, test: tuple[int, float, Integers]
    ) -> list[tuple[int, Integers]]:
        """Set a node's test, and return its children that have both classes, with their records."""
        data, (feature, cut, code) = self.records.data, test
        column = data.columns[feature, rows]
        left = column <= cut if self.records.numeric[feature] else np.isin(column, code)
        parts = (rows[left], rows[~left])
        counts = np.array([np.bincount(data.labels[part], minlength=CLASSES) for part in parts])
        children = sketch.add(counts)
        sketch.split(node, feature, cut, tested_codes(data.branching, code), int(children[0]))
        return [(int(child), part) for child, part, own in zip(children, parts, counts, strict=True) if own.all()]


def _noisy_gini(weights: Floats, has: npt.NDArray[np.bool_], noise: Floats) -> Floats:
    """Return the Gini index of sides with the class ``weights`` (tests, 2), with noise on their size and classes."""
    size = weights.sum(axis=1) + noise[:, 0]
    shares = np.where(has, weights + noise[:, 1:], 0.0) / size[:, None]
    return np.asarray(1 - (shares**2).sum(axis=1))
