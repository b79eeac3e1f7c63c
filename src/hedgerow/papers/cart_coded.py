"""CART-DPsAdaBoost as its authors' public code has it (repository qiu-wanyong/CART-DPsAdaboost).

The code differs from the paper in almost every step. It shows which of the two explains the figures. Its privacy loss is in
docs/proofs/cart-dps-adaboost.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Randomness
from hedgerow.mechanisms.kernels import Stream
from hedgerow.papers.boosting import Fit, PrintedBoosting, PrintedVote, class_weights, cut_between
from hedgerow.papers.kernels import CUT
from hedgerow.papers.noise import float_generator
from hedgerow.papers.records import Branching, Ranked, RawRecords, raw_numbers
from hedgerow.papers.trees import Growth, PrintedTrees, reason
from hedgerow.texts import short_repr


@dataclass(frozen=True)
class WeakestLink:
    """Cost-complexity pruning: tests go one by one, and of the trees in between that with the fewest errors stays.

    The next test to go is the one whose subtree saves the fewest errors per leaf more than one, the deepest on ties.

    Source    Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984, chapter 3, with hold-out
              records; on ties with the smaller tree, and the tree of the root alone is one of them.
    """

    as_coded: bool = False  # on ties the larger tree, and the tree of the root alone only where no other was grown

    # CART-DPsAdaBoost: algorithm 3, steps 7 and 8
    def apply(self, tree: PrintedTrees, errors: Integers, held_errors: Integers) -> PrintedTrees:
        """Return the pruned tree, by the errors of each node (nodes,) on grown records and on those that were held out."""
        inner = tree.feature >= 0
        one = np.ones(len(inner), dtype=np.int64)
        best, fewest = inner, _sums(tree, inner, held_errors)[0]
        while inner.any():
            nodes = np.flatnonzero(inner)[::-1]  # the first of equals is the deepest
            saved = (errors - _sums(tree, inner, errors))[nodes] / (_sums(tree, inner, one)[nodes] - 1)
            inner = inner.copy()
            inner[nodes[saved.argmin()]] = False
            for node in np.flatnonzero(tree.feature >= 0):  # and what is below a node without a test
                child = tree.first_child[node]
                inner[child : child + 2] &= inner[node]
            held = _sums(tree, inner, held_errors)[0]
            better = held < fewest if self.as_coded else held <= fewest
            if better and (inner.any() or not self.as_coded):
                best, fewest = inner, held
        kept = [0]
        for place in kept:  # grows while it is read
            if best[place]:
                kept += [int(tree.first_child[place]), int(tree.first_child[place]) + 1]
        out = PrintedTrees.of_leaves(tree.branching, tree.label[kept])
        own, tested = np.flatnonzero(best[kept]), np.array(kept)[best[kept]]
        out.feature[own], out.first_child[own] = tree.feature[tested], 1 + 2 * np.arange(len(tested))
        out.low[own], out.high[own], out.left[own] = tree.low[tested], tree.high[tested], tree.left[tested]
        return out


def errors_by_node(tree: PrintedTrees, data: RawRecords, records: Integers) -> Integers:
    out = np.zeros(len(tree.feature), dtype=np.int64)
    for place, node in tree.reached(data.columns, records):
        wrong = tree.label[node] != data.labels[records[place]]
        out += np.bincount(node[wrong], minlength=len(out))
    return out


def _sums(tree: PrintedTrees, inner: Truth, amount: Integers) -> Integers:
    total = amount.copy()
    for node in np.flatnonzero(inner)[::-1]:
        child = tree.first_child[node]
        total[node] = total[child] + total[child + 1]
    return total


NOISES = 9  # of a candidate: the sizes of both sides and of the node, then each side's size and class sums again
KEY_WORDS = 8  # of 32 bits


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
    noisy: bool = True  # whether indices and labels get noise: in one script of the authors', not in the others

    tests = staticmethod(raw_numbers)
    pruning: ClassVar[WeakestLink] = WeakestLink(as_coded=True)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        ranked, branching = Ranked.of(training.columns), training.branching
        everyone = np.arange(len(training.labels))

        def fit(weights: Floats, budget: float, randomness: Randomness) -> PrintedTrees:
            noise, growth = MeanLaplace(budget), Growth(training, [everyone])
            draw = partial(randomness.draw, noise) if self.noisy else np.copy
            for depth in range(self.max_depth):
                nodes = growth.open
                if depth:  # the root is tested whatever its classes are
                    nodes = nodes[np.all(growth.counts[-1] > 0, axis=1)]
                feature, cut = np.full(len(nodes), -1), np.zeros(len(nodes))
                left = np.zeros((len(nodes), branching.group_codes), dtype=np.bool_)
                for node in range(len(nodes)):
                    rows = nodes.records[nodes.start[node] : nodes.start[node + 1]]
                    feature[node], low, high = _coded_test(training, ranked, rows, weights, draw)
                    if branching.bins[feature[node]] == CUT:
                        cut[node] = cut_between(low, high)
                    elif feature[node] >= 0:
                        left[node, int(low)] = True
                tested = feature >= 0
                growth.split(nodes[tested], feature[tested], cut[tested], cut[tested], left[tested])
            tree, counts = growth.trees(), np.concatenate(growth.counts)
            if self.noisy:
                counts = np.where(counts > 0, randomness.draw(noise, counts), -np.inf)
            tree.label[:] = counts.argmax(axis=1)
            held = errors_by_node(tree, holdout, np.arange(len(holdout.labels)))
            return self.pruning.apply(tree, errors_by_node(tree, training, everyone), held)

        return fit

    def reasons(self, branching: Branching) -> Iterator[str]:
        yield reason("mean-of-draws" if self.noisy else "no-noise-in-trees")
        lacking = ", and a class that a node lacks gets no noise"
        yield reason("midpoints")
        yield reason("coded-pure-leaves", lacking=lacking if self.noisy else "")
        yield reason("coded-pruning")


def _coded_test(
    data: RawRecords, ranked: Ranked, rows: Integers, weights: Floats, draw: Callable[[Floats], Floats]
) -> tuple[int, float, float]:
    """Return the feature of the last test of least index in a node, its value and the next one; -1 if there is none.

    ``draw`` adds noise to an array.
    """
    labels = data.labels
    sums = class_weights(ranked, labels, rows, weights)
    counts = class_weights(ranked, labels, rows, np.ones(len(weights), dtype=np.int64))
    present = np.flatnonzero(counts.any(axis=1) & ~np.isnan(ranked.values))
    ends = np.searchsorted(present, ranked.start)
    parts = []
    for number, kind in enumerate(data.branching.bins):
        own = present[ends[number] : ends[number + 1]]
        if len(own) > 1 and kind == CUT:
            below = (part[own].cumsum(axis=0)[:-1] for part in (sums, counts))
            parts.append((np.full(len(own) - 1, number), own[:-1], own[1:], *below))
        elif len(own) > 1:
            parts.append((np.full(len(own), number), own, own, sums[own], counts[own]))
    if not parts:
        return -1, 0.0, 0.0
    feature, rank, above, left, left_counts = map(np.concatenate, zip(*parts, strict=True))
    whole = np.bincount(labels[rows], weights=weights[rows], minlength=2)
    has = (left_counts > 0, np.bincount(labels[rows], minlength=2) > left_counts)
    noise = draw(np.zeros((len(feature), NOISES)))
    index = np.zeros(len(feature))
    with np.errstate(all="ignore"):
        for side, weight in enumerate((left, whole - left)):
            size = weight.sum(axis=1)
            shares = np.where(has[side], weight + noise[:, 4 + 3 * side : 6 + 3 * side], 0.0)
            shares /= (size + noise[:, 3 + 3 * side])[:, None]
            index += (size + noise[:, side]) / (whole.sum() + noise[:, 2]) * (1 - (shares**2).sum(axis=1))
    best = len(index) - 1 - int(np.where(np.isnan(index), np.inf, index)[::-1].argmin())
    return int(feature[best]), ranked.values[rank[best]], ranked.values[above[best]]


@dataclass(frozen=True)
class AnswerKey:
    def sample(self, stream: Stream) -> npt.NDArray[np.int64]:
        return float_generator(stream).integers(0, 1 << 32, KEY_WORDS)


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
        generator, noise = np.random.default_rng(self.key), MeanLaplace(self.epsilon)
        for tree, alpha in enumerate(self.alphas):
            votes = 2.0 * self.trees.labels(columns, tree) - 1
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

    def weigh(self, wrong: Truth, weights: Floats) -> tuple[float, float | None]:
        error = float(wrong.mean())
        kept = {0.0: 0.001, 1.0: 0.999}.get(error, error)
        return error, math.log10((1 - kept) / kept) / 2

    def answering(self, model: PrintedVote, epsilon: float, randomness: Randomness) -> PrintedVote:
        if self.learner.noisy:
            return model
        return NoisyVote(model.trees, model.alphas, randomness.draw(AnswerKey()), epsilon)

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        if self.learner.noisy:
            yield reason("undivided-counts", rounds=rounds)
            return
        yield reason("noise-on-answers")
        yield reason("undivided-answers", rounds=rounds)

    def round_reasons(self, rounds: int) -> Iterator[str]:
        yield reason("exact-decimal-weights")
