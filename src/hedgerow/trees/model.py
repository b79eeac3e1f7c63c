"""Grown trees: what a private forest releases, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.errors import FileFormatError
from hedgerow.export import Trees
from hedgerow.export.archive import array_of
from hedgerow.export.form import levels
from hedgerow.files import MOST_BRANCHES
from hedgerow.scores import Candidates
from hedgerow.texts import short_repr

DAMAGED = "the file's trees are damaged; fit the model again."
DEEPEST = 65  # levels: estimators allow 64 tests on a path


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose nodes are in one array. The children of a node are adjacent, and behind it."""

    roots: npt.NDArray[np.int32]  # (trees,): the root of each tree
    test: npt.NDArray[np.int32]  # (nodes,): the candidate that a node tests, -1 for a leaf
    # (nodes,): The node's first child, 0 for a leaf; the child for branch b is b places behind it
    first_child: npt.NDArray[np.int32]
    label: npt.NDArray[np.int32]  # (nodes,): the class of a leaf, -1 for other nodes
    candidates: Candidates  # the public tests
    # (nodes, classes): The noisy class counts of the leaves, zero for other nodes; None where leaves release a label
    counts: Integers | None = None

    __repr__ = short_repr

    @classmethod
    def joined(cls, *forests: Forest) -> Forest:
        """Return the trees of forests with the same tests, all of which released labels or all counts."""
        roots, first_child, before = [], [], 0
        for forest in forests:
            roots.append(forest.roots + before)
            first_child.append(np.where(forest.test < 0, 0, forest.first_child + before))
            before += forest.n_nodes
        counts = [forest.counts for forest in forests if forest.counts is not None]
        return cls(
            np.concatenate(roots).astype(np.int32),
            np.concatenate([forest.test for forest in forests]),
            np.concatenate(first_child).astype(np.int32),
            np.concatenate([forest.label for forest in forests]),
            forests[0].candidates,
            np.concatenate(counts) if counts else None,
        )

    @property
    def n_nodes(self) -> int:
        return len(self.test)

    @lazy
    def trees(self) -> Trees:
        tests = np.unique(self.test[self.test >= 0])
        place = np.where(self.test < 0, -1, np.searchsorted(tests, self.test))
        return Trees(
            len(self.candidates.n_codes),
            self.roots,
            place,
            self.first_child,
            self.candidates.feature[tests],
            self.candidates.arity[tests],
            self.candidates.branches(tests),
        )

    def label_votes(self, n_classes: int) -> Integers:
        """Return the votes (nodes, classes) of trees that have one vote each.

        All classes together have one vote more, divided evenly, so that no class is impossible because no tree named it.
        """
        votes = np.zeros((self.n_nodes, n_classes), dtype=np.int64)
        leaves = np.flatnonzero(self.test < 0)
        votes[leaves] = 1
        votes[leaves, self.label[leaves]] += len(self.roots) * n_classes
        return votes

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays; the candidates follow from the schema and are not among them."""
        names = ("roots", "test", "first_child", "label", *(() if self.counts is None else ("counts",)))
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], candidates: Candidates, n_classes: int) -> Forest:
        if "order" in arrays:
            raise FileFormatError("the file's trees cut categories in an order of their own; load it with version 0.3.")
        test = array_of(arrays, "test", np.int32, (None,), -1, len(candidates) - 1)
        roots = array_of(arrays, "roots", np.int32, (None,))
        first_child = array_of(arrays, "first_child", np.int32, test.shape)
        label = array_of(arrays, "label", np.int32, test.shape, -1, n_classes - 1)
        if not len(roots) or np.any(label < np.where(test < 0, 0, -1)):
            raise FileFormatError(DAMAGED)
        counts = array_of(arrays, "counts", np.int64, (len(test), n_classes)) if "counts" in arrays else None
        # Each node is reached once, and no path is longer than estimators allow.
        inner, nodes, arity = np.flatnonzero(test >= 0), len(test), candidates.arity
        first, branches = first_child[inner].astype(np.int64), arity[test[inner]].astype(np.int64)
        sound = (
            bool(np.all((roots >= 0) & (roots < nodes)))
            and bool(np.all(first > inner))  # children behind their parent: no path can be endless
            and bool(np.all(first + branches <= nodes))
        )
        if sound:
            border = np.bincount(first, minlength=nodes + 1) - np.bincount(first + branches, minlength=nodes + 1)
            times_reached = np.cumsum(border)[:-1] + np.bincount(roots, minlength=nodes)
            sound = bool(np.all(times_reached == 1))
        if not sound:
            raise FileFormatError(DAMAGED)
        if not np.all(levels(roots, test, first_child, arity, DEEPEST)):
            raise FileFormatError("the file's trees are deeper than any that this version grows; fit the model again.")
        held = len(np.unique(test[inner])) * int(candidates.n_codes.max())
        if held > MOST_BRANCHES:
            raise FileFormatError(f"the file's trees have {held} branches by test and code, above {MOST_BRANCHES}.")
        return cls(roots, test, first_child, label, candidates, counts)


SLACK = 0.1  # errors by which a leaf may be worse than the subtree that it replaces


@dataclass(frozen=True)
class PessimisticPruning:
    """C4.5's pruning on noisy counts: a leaf replaces a subtree whose pessimistic error is no better.

    Sizes are first made consistent from the root down, class counts from the leaves up. Then the error of a node as a leaf is
    compared with the sum over its leaves, each at the upper end of a confidence interval. Quinlan 1993; Friedman and
    Schuster, KDD 2010. Nothing here reads a record.
    """

    confidence: float = 0.25  # the probability that an error is above its interval; a smaller one prunes more

    def apply(self, forest: Forest, size: Integers) -> Forest:
        if forest.counts is None or not np.any(size >= 0):  # without sizes nothing can be compared
            return forest
        level, parent = forest.trees.levels, forest.trees.parents
        counts = _class_counts(forest, _sizes(forest, size, level, parent), level, parent)
        # How many records a majority label gets wrong at the upper end of the interval, (nodes,)
        n = counts.sum(axis=1)
        wrong = n - counts.max(axis=1)
        as_leaf = wrong + _added_errors(n, wrong, self.confidence)
        below = np.where(forest.test < 0, as_leaf, 0.0)
        cut = np.zeros(forest.n_nodes, dtype=np.bool_)
        for number in range(level.max(), 0, -1):
            inner = (level == number) & (forest.test >= 0)
            cut[inner] = as_leaf[inner] <= below[inner] + SLACK
            below[cut & inner] = as_leaf[cut & inner]
            here = np.flatnonzero((level == number) & (parent >= 0))
            np.add.at(below, parent[here], below[here])
        kept = np.ones(forest.n_nodes, dtype=np.bool_)
        for number in range(2, level.max() + 1):
            here = np.flatnonzero(level == number)
            kept[here] = kept[parent[here]] & ~cut[parent[here]]
        place = np.cumsum(kept) - 1
        test = np.where(cut, -1, forest.test)[kept]
        # New leaves have the consistent counts.
        new = np.where(cut[:, None], np.rint(counts).astype(np.int64), forest.counts)[kept]
        return replace(
            forest,
            roots=place[forest.roots].astype(np.int32),
            test=test.astype(np.int32),
            first_child=np.where(test < 0, 0, place[forest.first_child[kept]]).astype(np.int32),
            label=np.where(test < 0, new.argmax(axis=1), -1).astype(np.int32),
            counts=np.where(test[:, None] < 0, new, 0),
        )


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
    released = np.maximum(forest.counts if forest.counts is not None else 0, 0).astype(np.float64)
    total = released.sum(axis=1, keepdims=True)
    share = np.where(total > 0, released / np.maximum(total, 1e-300), 1 / released.shape[1])
    counts = np.where(forest.test[:, None] < 0, share * size[:, None], 0.0)
    for number in range(level.max(), 1, -1):
        here = np.flatnonzero(level == number)
        np.add.at(counts, parent[here], counts[here])
    return np.asarray(counts)
