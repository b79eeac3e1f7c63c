"""Growing the trees of a published forest, level by level and all at once, on raw records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Randomness
from hedgerow.published import kernels
from hedgerow.published.assignment import Subsets
from hedgerow.published.recipe import Level, Recipe
from hedgerow.published.records import NodeRecords, RawRecords
from hedgerow.published.splits import Chosen, SplitMechanism
from hedgerow.published.trees import Trees

__all__ = ["Grower"]


@dataclass(frozen=True, eq=False)
class Layer:
    """All nodes of one level of the forest; the first stands at ``start`` in it.

    ``size`` (nodes,) and ``counts`` (nodes, classes) are noisy; NaN and 0 where they were not asked for.
    """

    start: int
    feature: Integers
    first_child: Integers
    label: Integers
    low: Floats
    high: Floats
    size: Floats
    counts: Floats

    @classmethod
    def of_leaves(cls, start: int, nodes: int, n_classes: int) -> Layer:
        """Return so many nodes without tests, children or labels."""
        none, zero = np.full(nodes, -1), np.zeros(nodes)
        size, counts = np.full(nodes, np.nan), np.zeros((nodes, n_classes))
        return cls(start, none, zero.astype(np.int64), none.copy(), zero, zero.copy(), size, counts)

    @property
    def end(self) -> int:
        """The start of the next layer."""
        return self.start + len(self.feature)


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Unfinished nodes of one layer.

    ``row`` is where each stands in the layer, ``unused`` (nodes, features) says which features no test above it used up,
    ``low`` and ``high`` (nodes, cuts) what the cuts above it left of their ranges; ``records`` are their records, node by
    node, and ``node`` says in which one each record is.
    """

    layer: Layer
    row: Integers
    unused: Truth
    low: Floats
    high: Floats
    records: Integers
    node: Integers

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, chosen: Truth) -> OpenNodes:
        if chosen.all():
            return self
        stays = chosen[self.node]
        place = np.cumsum(chosen) - 1
        nodes = (self.row[chosen], self.unused[chosen], self.low[chosen], self.high[chosen])
        return OpenNodes(self.layer, *nodes, self.records[stays], place[self.node[stays]])


class Grower:
    """Grows the trees of a published forest.

    Parameters
    ----------
    data : RawRecords
        The records themselves.
    recipe : Recipe
        The parts of the forest.
    levels : tuple of Level
        The mechanisms of every level.
    randomness : Randomness
        Where all noise comes from.
    """

    def __init__(self, data: RawRecords, recipe: Recipe, levels: tuple[Level, ...], randomness: Randomness) -> None:
        self._data = data
        self._branching = data.branching
        self._recipe = recipe
        self._levels = levels
        self._randomness = randomness
        self._layers: list[Layer] = []
        self._tree_size = 0

    def grow(self, subsets: Subsets) -> Trees:
        """Return one tree for each subset of the records."""
        frontier = self._plant(subsets)
        roots = frontier.row.astype(np.int32)
        for level in self._levels:
            frontier = self._grow_level(frontier, level)

        def joined(name: str, kind: type = np.float64) -> npt.NDArray[Any]:
            return np.concatenate([getattr(layer, name) for layer in self._layers], dtype=kind, casting="same_kind")

        feature, first_child, label = (joined(name, np.int32) for name in ("feature", "first_child", "label"))
        trees = Trees(roots, feature, first_child, label, joined("low"), joined("high"))
        if self._recipe.pruning is None:
            return trees
        return self._recipe.pruning.apply(trees, self._branching, joined("size"), joined("counts"))

    def _plant(self, subsets: Subsets) -> OpenNodes:
        sizes = np.array([len(subset) for subset in subsets])
        self._tree_size = int(sizes.max())
        unused = np.ones((len(subsets), len(self._branching.arity)), dtype=np.bool_)
        cuts = self._branching.cuts
        low, high = (np.tile(end[cuts], (len(subsets), 1)) for end in (self._branching.low, self._branching.high))
        return self._add_layer(unused, low, high, np.concatenate(subsets), np.repeat(np.arange(len(subsets)), sizes))

    def _add_layer(self, unused: Truth, low: Floats, high: Floats, records: Integers, node: Integers) -> OpenNodes:
        start = self._layers[-1].end if self._layers else 0
        layer = Layer.of_leaves(start, len(unused), self._data.n_classes)
        self._layers.append(layer)
        return OpenNodes(layer, np.arange(len(unused)), unused, low, high, records, node)

    def _grow_level(self, frontier: OpenNodes, level: Level) -> OpenNodes:
        """Finish the leaves of a level, split its other nodes, and return their children.

        A node is a leaf on the last level, when it has no test left, and when a stop says so.
        """
        if len(frontier) == 0:
            return frontier
        counts = self._class_counts(frontier)
        offered = self._offered(frontier)
        leaf = np.full(len(frontier), level.split is None)
        leaf |= ~offered.any(axis=1)
        widest = np.where(offered, self._branching.arity, 0).max(axis=1)
        for stop in level.counted if level.split is None else level.stops:
            ends, size = stop.ask(counts, widest, self._randomness)
            leaf |= ends
            if size is not None:
                frontier.layer.size[frontier.row] = size
        self._finish(frontier[leaf], counts[leaf], level)
        frontier, offered = frontier[~leaf], offered[~leaf]
        return frontier if level.split is None or len(frontier) == 0 else self._split(frontier, offered, level.split)

    def _offered(self, frontier: OpenNodes) -> Truth:
        """Return which features a node can still test, of shape (nodes, features)."""
        offered = frontier.unused.copy()
        offered[:, self._branching.cuts] = frontier.low < frontier.high
        return offered

    def _class_counts(self, frontier: OpenNodes) -> Integers:
        """Return how many records of each class each node has, of shape (nodes, classes)."""
        n_classes = self._data.n_classes
        cells = frontier.node * n_classes + self._data.labels[frontier.records]
        return np.bincount(cells, minlength=len(frontier) * n_classes).reshape(len(frontier), n_classes)

    def _finish(self, frontier: OpenNodes, counts: Integers, level: Level) -> None:
        if len(frontier):
            label, noisy = level.leaf.ask(counts, self._randomness)
            frontier.layer.label[frontier.row] = label
            if noisy is not None:
                frontier.layer.counts[frontier.row] = noisy

    def _split(self, frontier: OpenNodes, offered: Truth, split: SplitMechanism) -> OpenNodes:
        if self._recipe.subspace is not None:
            offered = self._recipe.subspace.offer(offered, self._randomness)
        start = np.searchsorted(frontier.node, np.arange(len(frontier) + 1))
        reach = (frontier.low, frontier.high)
        nodes = NodeRecords(self._data, frontier.records, start, *reach, self._tree_size)
        return self._children(frontier, split.choose(nodes, offered, self._randomness))

    def _children(self, frontier: OpenNodes, chosen: Chosen) -> OpenNodes:
        feature, low, high = chosen
        arity = self._branching.arity[feature]
        first = np.cumsum(arity) - arity
        layer, row = frontier.layer, frontier.row
        layer.feature[row], layer.first_child[row] = feature, layer.end + first
        layer.low[row], layer.high[row] = low, high
        branch = np.empty(len(frontier.records), dtype=np.int64)
        records = (self._data.columns, frontier.records, frontier.node)
        kernels.branches(*records, feature, self._branching.bins, low, high, branch)
        moved = kernels.grouped(frontier.records, first[frontier.node] + branch, int(arity.sum()))
        unused = frontier.unused.copy()
        unused[np.arange(len(frontier)), feature] = self._branching.bins[feature] == kernels.CUT
        below_low, below_high = np.repeat(frontier.low, arity, axis=0), np.repeat(frontier.high, arity, axis=0)
        self._narrow(below_low, below_high, feature, low, first)
        return self._add_layer(np.repeat(unused, arity, axis=0), below_low, below_high, *moved)

    def _narrow(self, low: Floats, high: Floats, feature: Integers, cut: Floats, first: Integers) -> None:
        """Take what the cuts leave to their two children; ``low`` and ``high`` (children, cuts) change."""
        place = np.searchsorted(self._branching.cuts, feature)
        node = np.flatnonzero(self._branching.bins[feature] == kernels.CUT)
        high[first[node], place[node]] = cut[node]
        low[first[node] + 1, place[node]] = cut[node]
