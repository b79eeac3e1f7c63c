"""Growing all trees of a published forest at once, level by level, on raw records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import Randomness
from hedgerow.published import kernels
from hedgerow.published.model import Branching, Trees
from hedgerow.published.noise import RealPermuteAndFlip
from hedgerow.published.recipe import Level

__all__ = ["Grower", "RawRecords"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RawRecords:
    """Raw columns (records, features), and the class (records,) of each record."""

    columns: Floats
    labels: Integers
    n_classes: int

    @classmethod
    def labelled(cls, columns: Floats, labels: npt.NDArray[Any], n_classes: int) -> RawRecords:
        """Return the records whose label is a class; the others have the label -1."""
        known = labels >= 0
        return cls(columns[known], labels[known].astype(np.int64), n_classes)


@dataclass(frozen=True, eq=False)
class Layer:
    """All nodes of one level of the forest; the first stands at ``start`` in it."""

    start: int
    feature: Integers
    first_child: Integers
    label: Integers
    low: Floats
    high: Floats

    @classmethod
    def of_leaves(cls, start: int, count: int) -> Layer:
        """Return so many nodes without tests, children or labels."""
        none, zero = np.full(count, -1), np.zeros(count, dtype=np.int64)
        return cls(start, none, zero, none.copy(), np.zeros(count), np.zeros(count))

    @property
    def end(self) -> int:
        """Where the next layer starts."""
        return self.start + len(self.feature)


@dataclass(frozen=True, eq=False)
class Frontier:
    """Unfinished nodes of one layer.

    ``row`` is where each stands in the layer, ``unused`` (nodes, features) says which features no test above it read;
    ``records`` are their records, node by node, and ``node`` says in which one each record is.
    """

    layer: Layer
    row: Integers
    unused: Truth
    records: Integers
    node: Integers

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, chosen: Truth) -> Frontier:
        stays = chosen[self.node]
        place = np.cumsum(chosen) - 1
        return Frontier(self.layer, self.row[chosen], self.unused[chosen], self.records[stays], place[self.node[stays]])


class Grower:
    """Grows the trees of a published forest.

    Parameters
    ----------
    data : RawRecords
        The records themselves.
    branching : Branching
        The branches of each test.
    levels : tuple of Level
        The mechanisms of every level.
    randomness : Randomness
        Where all noise comes from.
    """

    def __init__(
        self, data: RawRecords, branching: Branching, levels: tuple[Level, ...], randomness: Randomness
    ) -> None:
        self._data = data
        self._branching = branching
        self._levels = levels
        self._randomness = randomness
        self._layers: list[Layer] = []

    def grow(self, subsets: Integers) -> Trees:
        """Return one tree for each row of ``subsets``, which holds the tree's records."""
        frontier = self._plant(subsets)
        roots = frontier.row
        for level in self._levels:
            frontier = self._grow_level(frontier, level)

        def joined(name: str) -> npt.NDArray[Any]:
            return np.concatenate([getattr(layer, name) for layer in self._layers])

        return Trees(
            roots.astype(np.int32),
            joined("feature").astype(np.int32),
            joined("first_child").astype(np.int32),
            joined("label").astype(np.int32),
            joined("low"),
            joined("high"),
        )

    def _plant(self, subsets: Integers) -> Frontier:
        trees, size = subsets.shape
        unused = np.ones((trees, len(self._branching.arity)), dtype=np.bool_)
        return self._add_layer(unused, subsets.reshape(-1), np.repeat(np.arange(trees), size))

    def _add_layer(self, unused: Truth, records: Integers, node: Integers) -> Frontier:
        layer = Layer.of_leaves(self._layers[-1].end if self._layers else 0, len(unused))
        self._layers.append(layer)
        return Frontier(layer, np.arange(len(unused)), unused, records, node)

    def _grow_level(self, frontier: Frontier, level: Level) -> Frontier:
        """Finish the leaves of a level, split its other nodes, and return their children.

        A node is a leaf on the last level, when its features are used up, and when its records are of a single class
        (algorithm 5). A node without records is a leaf too, and its label is uniform, as the mechanism has it for counts
        of zero (our choice, the paper is silent).
        """
        counts = self._class_counts(frontier)
        splits = (
            (np.count_nonzero(counts, axis=1) > 1) & frontier.unused.any(axis=1) & np.bool_(level.split is not None)
        )
        self._finish(frontier[~splits], counts[~splits], level.leaf)
        frontier = frontier[splits]
        return frontier if level.split is None or len(frontier) == 0 else self._split(frontier, level.split)

    def _class_counts(self, frontier: Frontier) -> Integers:
        """Return how many records of each class each node has, of shape (nodes, classes)."""
        n_classes = self._data.n_classes
        cells = frontier.node * n_classes + self._data.labels[frontier.records]
        return np.bincount(cells, minlength=len(frontier) * n_classes).reshape(len(frontier), n_classes)

    def _finish(self, frontier: Frontier, counts: Integers, mechanism: RealPermuteAndFlip) -> None:
        if len(frontier):
            every = np.ones(counts.shape, dtype=np.bool_)
            frontier.layer.label[frontier.row] = self._randomness.draw(mechanism, counts, every)

    def _split(self, frontier: Frontier, mechanism: RealPermuteAndFlip) -> Frontier:
        score, low, high = self._score(frontier)
        chosen = self._randomness.draw(mechanism, score, frontier.unused)
        nodes = np.arange(len(frontier))
        arity = self._branching.arity[chosen]
        first = np.cumsum(arity) - arity
        layer, row = frontier.layer, frontier.row
        layer.feature[row] = chosen
        layer.first_child[row] = layer.end + first
        layer.low[row] = low[nodes, chosen]
        layer.high[row] = high[nodes, chosen]
        child = first[frontier.node] + self._branches(frontier)
        order = np.argsort(child, kind="stable")
        unused = frontier.unused.copy()
        unused[nodes, chosen] = False
        return self._add_layer(np.repeat(unused, arity, axis=0), frontier.records[order], child[order])

    def _score(self, frontier: Frontier) -> tuple[Floats, Floats, Floats]:
        """Return the score of the test on each unused feature in each node, and the range that it cuts into bins."""
        score, low, high = (np.zeros(frontier.unused.shape) for _ in range(3))
        kernels.score_tests(
            self._data.columns,
            self._data.labels,
            frontier.records,
            np.searchsorted(frontier.node, np.arange(len(frontier) + 1)),
            frontier.unused,
            self._branching.bins,
            self._branching.arity,
            self._data.n_classes,
            score,
            low,
            high,
        )
        return score, low, high

    def _branches(self, frontier: Frontier) -> Integers:
        """Return the branch that each record takes in its node."""
        layer, row = frontier.layer, frontier.row
        out = np.empty(len(frontier.records), dtype=np.int64)
        kernels.branches(
            self._data.columns,
            frontier.records,
            frontier.node,
            layer.feature[row],
            self._branching.bins,
            layer.low[row],
            layer.high[row],
            out,
        )
        return out
