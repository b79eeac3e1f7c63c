"""Growing all trees of a forest at once, level by level: ask, select, partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Curator, Nodes
from hedgerow.mechanisms import Selection
from hedgerow.scores import Candidates
from hedgerow.trees.model import Forest
from hedgerow.trees.recipe import LeafMechanism, Level, Schedule

__all__ = ["Grower"]

Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Layer:
    """All nodes of one level of the forest; the first stands at ``start`` in it.

    ``released`` (nodes, columns) is what leaves gave away, -1 where there is nothing.
    """

    start: int
    test: Integers
    first_child: Integers
    released: Integers

    @classmethod
    def of_leaves(cls, start: int, count: int, columns: int) -> Layer:
        """Return so many nodes without tests, children or anything released."""
        return cls(start, np.full(count, -1), np.zeros(count, dtype=np.int64), np.full((count, columns), -1))

    @property
    def end(self) -> int:
        """Where the next layer starts."""
        return self.start + len(self.test)


@dataclass(frozen=True, eq=False)
class Frontier:
    """Unfinished nodes of one layer.

    ``row`` is where each stands in the layer, ``unused`` (nodes, features) says which features a test may read,
    ``allowance`` how many descendants it may have.
    """

    layer: Layer
    row: Integers
    nodes: Nodes
    unused: Truth
    allowance: Integers

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, chosen: Truth) -> Frontier:
        return Frontier(self.layer, self.row[chosen], self.nodes[chosen], self.unused[chosen], self.allowance[chosen])


class Grower:
    """Grows a forest from a curator's answers; it never sees a record.

    Parameters
    ----------
    curator : Curator
        The door to the records.
    candidates : Candidates
        The public tests.
    schedule : Schedule
        The mechanisms of every level.
    """

    def __init__(self, curator: Curator, candidates: Candidates, schedule: Schedule) -> None:
        self._curator = curator
        self._candidates = candidates
        self._schedule = schedule
        self._columns = curator.n_classes if schedule.releases_counts else 1
        self._layers: list[Layer] = []

    def grow(self) -> Forest:
        """Return the grown forest."""
        roots = [self._grow_round() for _ in range(self._schedule.dealing.rounds)]
        test = np.concatenate([layer.test for layer in self._layers])
        released = np.concatenate([layer.released for layer in self._layers])
        leaf, counts = test < 0, self._schedule.releases_counts
        return Forest(
            np.concatenate(roots).astype(np.int32),
            test.astype(np.int32),
            np.concatenate([layer.first_child for layer in self._layers]).astype(np.int32),
            np.where(leaf, released.argmax(axis=1) if counts else released[:, 0], -1).astype(np.int32),
            self._candidates,
            np.where(leaf[:, None], released, 0) if counts else None,
        )

    def _grow_round(self) -> Integers:
        """Deal the records out once, grow the trees that got them, and return where their roots stand."""
        frontier = self._plant()
        roots = frontier.layer.start + frontier.row
        for level in self._schedule.levels:
            frontier = self._grow_level(frontier, level)
        return roots

    def _plant(self) -> Frontier:
        roots = self._curator.assign(self._schedule.dealing.coin)
        unused = np.ones((len(roots), int(self._candidates.feature.max()) + 1), dtype=np.bool_)
        return self._add_layer(roots, unused, np.full(len(roots), self._schedule.allowance))

    def _add_layer(self, nodes: Nodes, unused: Truth, allowance: Integers) -> Frontier:
        layer = Layer.of_leaves(self._layers[-1].end if self._layers else 0, len(nodes), self._columns)
        self._layers.append(layer)
        return Frontier(layer, np.arange(len(nodes)), nodes, unused, allowance)

    def _grow_level(self, frontier: Frontier, level: Level) -> Frontier:
        """Finish the leaves of a level, split its other nodes, and return their children."""
        splits: Truth = np.zeros(len(frontier), dtype=np.bool_)
        if level.split is not None:
            splits |= self._offered(frontier).any(axis=1)
        self._finish(frontier[~splits], level.leaf)
        frontier = frontier[splits]
        if level.stop is not None and len(frontier):
            stops = self._curator.minority_at_most(frontier.nodes, level.stop)
            self._finish(frontier[stops], level.stopped_leaf)
            frontier = frontier[~stops]
        return self._split(frontier, level.split) if level.split is not None and len(frontier) else frontier

    def _finish(self, frontier: Frontier, mechanism: LeafMechanism) -> None:
        if len(frontier):
            frontier.layer.released[frontier.row] = mechanism.ask(self._curator, frontier.nodes)

    def _offered(self, frontier: Frontier) -> Truth:
        """Return which tests each node may take: their feature is unused and their branches fit the allowance."""
        fits = self._candidates.arity <= frontier.allowance[:, None]
        offered: Truth = frontier.unused[:, self._candidates.feature] & fits
        return offered

    def _split(self, frontier: Frontier, mechanism: Selection) -> Frontier:
        offered = self._offered(frontier)
        chosen = self._curator.select(frontier.nodes, self._candidates, offered, self._schedule.score, mechanism)
        arity = self._candidates.arity[chosen].astype(np.int64)
        frontier.layer.test[frontier.row] = chosen
        frontier.layer.first_child[frontier.row] = frontier.layer.end + np.cumsum(arity) - arity
        unused = frontier.unused.copy()
        if not self._candidates.reusable:
            unused[np.arange(len(frontier)), self._candidates.feature[chosen]] = False
        allowance = (frontier.allowance - arity) // arity
        children = self._curator.partition(frontier.nodes, self._candidates, chosen)
        return self._add_layer(children, np.repeat(unused, arity, axis=0), np.repeat(allowance, arity))
