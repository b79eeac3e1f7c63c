"""Pruning grown trees by released values: post-processing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.trees.model import Forest

__all__ = ["PessimisticPruning"]


SLACK = 0.1  # errors by which a leaf may be worse than the subtree that it replaces


@dataclass(frozen=True)
class PessimisticPruning:
    """C4.5's pruning on noisy counts: a leaf replaces a subtree whose pessimistic error is no better.

    Sizes are first made consistent from the root down, class counts from the leaves up. Then the error of a node as a leaf is
    compared with the sum over its leaves, each at the upper end of a confidence interval. Quinlan 1993; Friedman and
    Schuster, KDD 2010. Nothing here reads a record.

    Parameters
    ----------
    confidence : float
        The probability that an error is above its interval; a smaller one prunes more.
    """

    confidence: float = 0.25

    def apply(self, forest: Forest, size: Integers) -> Forest:
        """Return the pruned forest; ``size`` (nodes,) holds the noisy sizes of nodes, -1 where none was released."""
        if forest.counts is None or not np.any(size >= 0):  # without sizes nothing can be compared
            return forest
        level, parent = forest.levels(), forest.parents
        counts = _class_counts(forest, _sizes(forest, size, level, parent), level, parent)
        as_leaf = self._error(counts)
        below = np.where(forest.test < 0, as_leaf, 0.0)
        cut = np.zeros(forest.n_nodes, dtype=np.bool_)
        for number in range(level.max(), 0, -1):
            inner = (level == number) & (forest.test >= 0)
            cut[inner] = as_leaf[inner] <= below[inner] + SLACK
            below[cut & inner] = as_leaf[cut & inner]
            here = np.flatnonzero((level == number) & (parent >= 0))
            np.add.at(below, parent[here], below[here])
        return _cut_back(forest, cut, np.rint(counts).astype(np.int64), level, parent)

    def _error(self, counts: Floats) -> Floats:
        """Return how many records a majority label gets wrong at the upper end of the interval, of shape (nodes,)."""
        n = counts.sum(axis=1)
        wrong = n - counts.max(axis=1)
        return np.asarray(wrong + _added_errors(n, wrong, self.confidence))


def _added_errors(n: Floats, wrong: Floats, confidence: float) -> Floats:
    """Return what C4.5 adds to ``wrong`` errors of ``n`` records: exact for none, a normal interval from one on."""
    n = np.maximum(n, 1e-9)
    none = n * -np.expm1(np.log(confidence) / n)
    few = wrong < 1
    error = np.where(few, 1.0, wrong)
    z = float(ndtri(1 - confidence))
    share = np.minimum((error + 0.5) / n, 1.0)
    spread = np.sqrt(np.maximum(share / n - share**2 / n + z * z / (4 * n * n), 0.0))
    upper = (share + z * z / (2 * n) + z * spread) / (1 + z * z / n)
    some = np.where(error + 0.5 >= n, np.maximum(n - error, 0.0), upper * n - error)
    return np.asarray(np.where(few, none + wrong * (some - none), some))


def _sizes(forest: Forest, asked: Integers, level: npt.NDArray[np.int32], parent: Integers) -> Floats:
    """Return sizes that are consistent from the roots down; a node without a released size has the sum of its class counts.

    If all children have size zero, they share their parent's size evenly.
    """
    counts = forest.counts if forest.counts is not None else np.zeros((forest.n_nodes, 1), dtype=np.int64)
    size = np.maximum(np.where(asked >= 0, asked, counts.sum(axis=1)), 0).astype(np.float64)
    arity = np.bincount(parent[parent >= 0], minlength=forest.n_nodes)
    for number in range(2, level.max() + 1):
        here = np.flatnonzero(level == number)
        above = parent[here]
        total = np.bincount(above, weights=size[here], minlength=forest.n_nodes)[above]
        even = 1 / arity[above]
        size[here] = size[above] * np.where(total > 0, size[here] / np.maximum(total, 1e-300), even)
    return size


def _class_counts(forest: Forest, size: Floats, level: npt.NDArray[np.int32], parent: Integers) -> Floats:
    """Return class counts that are consistent from the leaves, whose sizes are given, to the roots, of shape (nodes, classes)."""
    released = np.maximum(forest.counts if forest.counts is not None else 0, 0).astype(np.float64)
    total = released.sum(axis=1, keepdims=True)
    share = np.where(total > 0, released / np.maximum(total, 1e-300), 1 / released.shape[1])
    counts = np.where(forest.test[:, None] < 0, share * size[:, None], 0.0)
    for number in range(level.max(), 1, -1):
        here = np.flatnonzero(level == number)
        np.add.at(counts, parent[here], counts[here])
    return np.asarray(counts)


def _cut_back(forest: Forest, cut: Truth, counts: Integers, level: npt.NDArray[np.int32], parent: Integers) -> Forest:
    """Return the forest with leaves in place of the nodes to cut; new leaves have the consistent counts."""
    kept = np.ones(forest.n_nodes, dtype=np.bool_)
    for number in range(2, level.max() + 1):
        here = np.flatnonzero(level == number)
        kept[here] = kept[parent[here]] & ~cut[parent[here]]
    place = np.cumsum(kept) - 1
    test = np.where(cut, -1, forest.test)[kept]
    released = counts if forest.counts is None else forest.counts
    new = np.where(cut[:, None], counts, released)[kept]
    return replace(
        forest,
        roots=place[forest.roots].astype(np.int32),
        test=test.astype(np.int32),
        first_child=np.where(test < 0, 0, place[forest.first_child[kept]]).astype(np.int32),
        label=np.where(test < 0, new.argmax(axis=1), -1).astype(np.int32),
        counts=np.where(test[:, None] < 0, new, 0),
    )
