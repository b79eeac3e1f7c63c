"""A binary tree while it grows, and cost-complexity pruning of a grown one: what CART-DPsAdaBoost and its code share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth
from hedgerow.papers import kernels
from hedgerow.papers.boosting import BinaryTrees
from hedgerow.papers.records import RawRecords


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

    Parameters
    ----------
    as_coded : bool
        On ties the larger tree, and the tree of the root alone only where no other was grown, as in the code of
        CART-DPsAdaBoost.
    """

    as_coded: bool = False

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
