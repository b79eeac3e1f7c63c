"""CART-DPsAdaBoost as its authors' public code has it (repository qiu-wanyong/CART-DPsAdaboost).

The code differs from the paper in almost every step. It shows which of the two explains the figures. Its privacy loss is in
docs/proofs/cart-dps-adaboost.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Randomness
from hedgerow.mechanisms.kernels import Stream
from hedgerow.papers import kernels
from hedgerow.papers.boosting import (
    BinaryTrees,
    Fit,
    PrintedBoosting,
    PrintedVote,
    Ranked,
    midpoint,
    most_codes,
    tested_codes,
)
from hedgerow.papers.noise import float_generator
from hedgerow.papers.records import Branching, RawRecords, raw_numbers
from hedgerow.texts import short_repr


@dataclass(eq=False)
class Sketch:
    """Nodes of one tree with the raw class counts (2,) of each; children stand side by side and behind their parent."""

    codes: int
    counts: list[Integers] = field(default_factory=list)
    tests: dict[int, tuple[int, float, Truth, int]] = field(default_factory=dict)

    def add(self, counts: Integers) -> Integers:
        """Add nodes with the class ``counts`` (nodes, 2), and return their numbers."""
        first = len(self.counts)
        self.counts += list(counts)
        return np.arange(first, len(self.counts))

    def split(self, node: int, feature: int, cut: float, left: Truth, first_child: int) -> None:
        self.tests[node] = (feature, cut, left, first_child)

    def heights(self) -> Integers:
        height = np.zeros(len(self.counts), dtype=np.int64)
        for node in sorted(self.tests, reverse=True):
            child = self.tests[node][3]
            height[node] = 1 + height[child : child + 2].max()
        return height

    def tree(self, label: npt.NDArray[np.integer]) -> BinaryTrees:
        """Return the tree with a label (nodes,) for each of its nodes."""
        tree = BinaryTrees.of_leaves(label, self.codes)
        for node, (feature, cut, left, child) in self.tests.items():
            tree.feature[node], tree.first_child[node], tree.cut[node] = feature, child, cut
            tree.left[node, : len(left)] = left
        return tree


def errors_by_node(tree: BinaryTrees, data: RawRecords, records: Integers) -> Integers:
    """Return how many of some records pass each node and have another label than it, of shape (nodes,)."""
    out = np.zeros(len(tree.feature), dtype=np.int64)
    kernels.errors_on_paths(data.columns, data.labels, records, *tree.walk(data.branching), out)
    return out


@dataclass(frozen=True)
class WeakestLink:
    """Cost-complexity pruning: tests go one by one, and of the trees in between that with the fewest errors stays.

    The next test to go is the one whose subtree saves the fewest errors per leaf more than one, the deepest on ties.

    Source    Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984, chapter 3, with hold-out
              records; on ties with the smaller tree, and the tree of the root alone is one of them.
    """

    as_coded: bool = False  # on ties the larger tree, and the tree of the root alone only where no other was grown

    def apply(self, tree: BinaryTrees, errors: Integers, held_errors: Integers) -> BinaryTrees:
        """Return the pruned tree, by the errors of each node (nodes,) on grown records and on those that were held out."""
        inner = tree.feature >= 0
        best, fewest = inner, _sums(tree, inner, held_errors)[0]
        while inner.any():
            inner = inner & ~_below(tree, _weakest(tree, inner, errors))
            held = _sums(tree, inner, held_errors)[0]
            better = held < fewest if self.as_coded else held <= fewest
            if better and (inner.any() or not self.as_coded):
                best, fewest = inner, held
        return _cut_back(tree, best)


def _sums(tree: BinaryTrees, inner: Truth, amount: Integers) -> Integers:
    """Return the sum of what the leaves below each node have, of shape (nodes,)."""
    total = amount.astype(np.int64).copy()
    for node in np.flatnonzero(inner)[::-1]:
        child = tree.first_child[node]
        total[node] = total[child] + total[child + 1]
    return total


def _weakest(tree: BinaryTrees, inner: Truth, errors: Integers) -> int:
    """Return the test that saves the fewest errors per leaf; the last one among equals is the deepest."""
    leaves = _sums(tree, inner, np.ones(len(inner), dtype=np.int64))
    nodes = np.flatnonzero(inner)[::-1]
    saved = (errors - _sums(tree, inner, errors))[nodes] / (leaves[nodes] - 1)
    return int(nodes[saved.argmin()])


def _below(tree: BinaryTrees, node: int) -> Truth:
    below: Truth = np.arange(len(tree.feature)) == node
    for parent in range(node, len(below)):
        if below[parent] and tree.feature[parent] >= 0:
            below[tree.first_child[parent] : tree.first_child[parent] + 2] = True
    return below


def _cut_back(tree: BinaryTrees, inner: Truth) -> BinaryTrees:
    """Return the tree in which only the nodes ``inner`` have tests, without nodes that no record reaches."""
    kept = [0]
    for node in kept:  # grows while it is read
        if inner[node]:
            kept += [int(tree.first_child[node]), int(tree.first_child[node]) + 1]
    out = BinaryTrees.of_leaves(tree.label[kept], tree.left.shape[1])
    child = 1
    for place, node in enumerate(kept):
        if inner[node]:
            out.feature[place], out.first_child[place] = tree.feature[node], child
            out.cut[place], out.left[place] = tree.cut[node], tree.left[node]
            child += 2
    return out


CLASSES = 2
NOISES = 9  # of a candidate: the sizes of both sides and of the node, then each side's size and class sums again
KEY_WORDS = 8  # of 32 bits
_LACKING = ", and a class that a node lacks gets no noise"


@dataclass(frozen=True)
class MeanLaplace:
    """Counts with the mean of ``draws`` draws of Laplace noise, each of scale 1 / epsilon.

    A sum of n such draws is the difference of two gamma variables of shape n.
    """

    epsilon: float
    draws: int = 100

    def sample(self, stream: Stream, counts: npt.NDArray[Any]) -> Floats:
        return self.added(counts, float_generator(stream))

    def added(self, counts: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
        up, down = generator.standard_gamma(self.draws, size=(2, *counts.shape))
        return np.asarray(counts + (up - down) / (self.draws * self.epsilon))

    def law(self, count: float, threshold: float) -> Floats:
        """Return the probabilities that a noisy count is at most, or above, a threshold.

        The difference of the gammas, waiting times for n events each, is above x > 0 if fewer than n events of one kind come
        until x and n of the other kind after that: a Poisson number and a negative binomial one, together.
        """
        n, x = self.draws, abs(threshold - count) * self.draws * self.epsilon
        soon = [math.exp(k * math.log(x) - x - math.lgamma(k + 1)) if x > 0 else float(k == 0) for k in range(n)]
        race = np.cumsum([math.comb(n + k - 1, k) / 2 ** (n + k) for k in range(n)])
        tail = math.fsum(soon[k] * race[n - 1 - k] for k in range(n))
        return np.array([1 - tail, tail] if threshold >= count else [tail, 1 - tail])


@dataclass(frozen=True)
class CodedTree:
    """A binary tree on all records, by weighted Gini indices of every single test, with noise or without.

    Tests are x_j <= c for the midpoints c of a node's numbers and x_j == v for its codes; the last one of the least index
    wins. A child of one class is a leaf, and a node's label is that of its larger class.

    With noise, every sum of weights gets the mean of 100 draws of Laplace(1 / epsilon), anew for every candidate, a side's
    class only if a record has it; and so does each count of records that a label follows from.

    Departs   from the code: labels are drawn once, which it draws anew at every look; missing numbers go right, which it does
              not know.
    """

    max_depth: int = 4
    noisy: bool = (
        True  # whether indices and labels get noise: one script of the authors'; the others grow trees without
    )

    tests = staticmethod(raw_numbers)
    pruning: ClassVar[WeakestLink] = WeakestLink(as_coded=True)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        return CodedFitter(self, Ranked.of(training), holdout).fit

    def reasons(self, branching: Branching) -> Iterator[str]:
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
        tests = self._candidates(rows, weights)
        if tests is None:
            return None
        labels = self.records.data.labels[rows]
        whole = np.bincount(labels, weights=weights[rows], minlength=CLASSES)
        left, right = tests.weights, whole - tests.weights
        has = (tests.counts > 0, np.bincount(labels, minlength=CLASSES) > tests.counts)
        drawn = np.zeros((len(left), NOISES))
        if self.learner.noisy:
            drawn = randomness.draw(noise, drawn)
        sides = np.stack((left.sum(axis=1), right.sum(axis=1), np.full(len(left), whole.sum()))) + drawn[:, :3].T
        with np.errstate(all="ignore"):
            index = sides[0] / sides[2] * _noisy_gini(left, has[0], drawn[:, 3:6])
            index += sides[1] / sides[2] * _noisy_gini(right, has[1], drawn[:, 6:])
        best = len(index) - 1 - int(np.where(np.isnan(index), np.inf, index)[::-1].argmin())
        feature, values = int(tests.feature[best]), self.records.values
        if self.records.numeric[feature]:
            low, high = values[tests.rank[best]], values[tests.above[best]]
            return feature, midpoint(low, high), np.empty(0, dtype=np.int64)
        return feature, 0.0, values[tests.rank[[best]]].astype(np.int64)

    def _candidates(self, rows: Integers, weights: Floats) -> CodedTests | None:
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


def _noisy_gini(weights: Floats, has: Truth, noise: Floats) -> Floats:
    """Return the Gini index of sides with the class ``weights`` (tests, 2), with noise on their size and classes."""
    size = weights.sum(axis=1) + noise[:, 0]
    shares = np.where(has, weights + noise[:, 1:], 0.0) / size[:, None]
    return np.asarray(1 - (shares**2).sum(axis=1))


@dataclass(frozen=True)
class AnswerKey:
    """The seed of the noise in a model's answers, drawn once for a model."""

    def sample(self, stream: Stream) -> npt.NDArray[np.int64]:
        return float_generator(stream).integers(0, 1 << 32, KEY_WORDS)

    def law(self) -> Floats:
        return np.array([2.0 ** (-32 * KEY_WORDS)])


@dataclass(frozen=True, eq=False)
class NoisyVote(PrintedVote):
    """A weighted vote F(x) = sum of alpha_t (h_t(x) + noise): each tree's answer for each record gets noise of its own.

    The noise is the mean of 100 draws of Laplace(1 / epsilon). It follows from ``key`` (words,) and the place of the record in
    the batch that is asked for, so that the same batch gets the same answers [our choice: the code draws anew each time].
    """

    key: npt.NDArray[np.int64]
    epsilon: float

    __repr__ = short_repr

    def _terms(self, columns: Floats) -> Iterator[Floats]:
        """Yield 2 alpha_t (h_t + noise) of each tree, for ``columns`` (features, records)."""
        generator, noise = np.random.default_rng(self.key), MeanLaplace(self.epsilon)
        for tree, alpha in enumerate(self.alphas):
            votes = 2.0 * self.trees.labels(tree, columns, self.branching) - 1
            yield 2 * alpha * noise.added(votes, generator)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**super().to_arrays(), "key": self.key}


@dataclass(frozen=True)
class CodedBoosting(PrintedBoosting):
    """Half the decimal log-odds of the unweighted error, weights that start at 1, and all of epsilon for every single count.

    An error of 0 is taken as .001 and one of 1 as .999. Training ends with a tree without an error on the held-out records.
    Where the trees have no noise, their answers have it: every tree and every record with the whole epsilon.
    """

    learner: CodedTree

    ends_without_error: ClassVar[bool] = True

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        return epsilon

    def start(self, records: int) -> Floats:
        return np.ones(records)

    def error(self, wrong: Truth, weights: Floats) -> float:
        return float(wrong.mean())

    def stops(self, error: float) -> bool:
        return False

    def alpha(self, error: float) -> float:
        error = {0.0: 0.001, 1.0: 0.999}.get(error, error)
        return math.log10((1 - error) / error) / 2

    def answering(self, model: PrintedVote, epsilon: float, randomness: Randomness) -> PrintedVote:
        if self.learner.noisy:
            return model
        return NoisyVote(model.branching, model.trees, model.alphas, randomness.draw(AnswerKey()), epsilon)

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        if self.learner.noisy:
            yield (
                "each noisy count spends the whole epsilon, and nothing adds them up over the candidates, nodes, levels and "
                f"{rounds} rounds"
            )
            return
        yield (
            "the only noise is on the trees' answers to the records that are asked about, and the trees are in the model: what "
            "it stores is raw"
        )
        yield (
            f"each answer of each of {rounds} trees spends the whole epsilon, and nothing adds them up over trees and "
            "records; an answer that one record turns from -1 to 1 loses up to 200 epsilon, since the mean of 100 draws of "
            "Laplace(1 / epsilon) has a tenth of the standard deviation of one"
        )

    def round_reasons(self, rounds: int) -> Iterator[str]:
        yield (
            "the weights of the trees are exact functions of k errors of N training records, log10((N - k) / k) / 2, which "
            "are never the same for N and N + 1: delta = 1 at every epsilon, but where k is 0 or all"
        )
