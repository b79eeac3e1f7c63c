"""Growing all trees of a forest at once, level by level: ask, select, partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Integers, Truth
from hedgerow.curator import Nodes, Queryable
from hedgerow.mechanisms import PerRecordCoin
from hedgerow.table import RecordRule, WeightRule
from hedgerow.trees.leaves import LeafMechanism
from hedgerow.trees.model import Forest
from hedgerow.trees.recipe import Level, Schedule
from hedgerow.trees.splits import SplitMechanism

__all__ = ["Grower"]


@dataclass(frozen=True, eq=False)
class Layer:
    """All nodes of one level of the forest; the first stands at ``start`` in it.

    ``released`` (nodes, columns) holds what leaves released, and ``size`` the noisy sizes that a stop released; -1 stands for
    nothing.
    """

    start: int
    test: Integers
    first_child: Integers
    released: Integers
    size: Integers

    @classmethod
    def of_leaves(cls, start: int, count: int, columns: int) -> Layer:
        """Return nodes without tests, children or anything released."""
        none = np.full(count, -1)
        return cls(start, none, np.zeros(count, dtype=np.int64), np.full((count, columns), -1), none.copy())

    @property
    def end(self) -> int:
        """The start of the next layer."""
        return self.start + len(self.test)


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Unfinished nodes of one layer.

    ``row`` is the place of each in the layer, ``alive`` (nodes, codes of all features) marks the codes that the tests above it
    leave, and ``allowance`` is the number of descendants that it may have.
    """

    layer: Layer
    row: Integers
    nodes: Nodes
    alive: Truth
    allowance: Integers

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, chosen: Truth) -> OpenNodes:
        return OpenNodes(self.layer, self.row[chosen], self.nodes[chosen], self.alive[chosen], self.allowance[chosen])


class Grower:
    """Grows a forest from a curator's answers; it never sees a record.

    Parameters
    ----------
    curator : Queryable
        The only access to the records.
    schedule : Schedule
        The tests, and the mechanisms of every level.
    rule : RecordRule or None
        For samples by weighted coins: the probability of each record, from released values.
    weights : WeightRule or None
        The weight of each record, from released values; None: equal weights.
    """

    def __init__(
        self,
        curator: Queryable,
        schedule: Schedule,
        rule: RecordRule | None = None,
        weights: WeightRule | None = None,
    ) -> None:
        self._curator = curator
        self._candidates = schedule.candidates
        self._schedule = schedule
        self._rule = rule
        self._weights = weights
        self._columns = curator.n_classes if schedule.releases_counts else 1
        self._layers: list[Layer] = []

    def grow(self) -> Forest:
        """Return the grown forest."""
        if self._schedule.sorting is not None:
            everyone = self._curator.assign(PerRecordCoin(1))
            self._candidates = self._schedule.sorting.apply(self._curator, everyone, self._candidates)
        roots = [self._grow_round() for _ in range(self._schedule.sampling.rounds)]
        forest = self._forest(np.concatenate(roots))
        if self._schedule.prune is None:
            return forest
        return self._schedule.prune.apply(forest, np.concatenate([layer.size for layer in self._layers]))

    def _forest(self, roots: Integers) -> Forest:
        test = np.concatenate([layer.test for layer in self._layers])
        released = np.concatenate([layer.released for layer in self._layers])
        leaf, counts = test < 0, self._schedule.releases_counts
        return Forest(
            roots.astype(np.int32),
            test.astype(np.int32),
            np.concatenate([layer.first_child for layer in self._layers]).astype(np.int32),
            np.where(leaf, released.argmax(axis=1) if counts else released[:, 0], -1).astype(np.int32),
            self._candidates,
            np.where(leaf[:, None], released, 0) if counts else None,
        )

    def _grow_round(self) -> Integers:
        """Sample the records once, grow the trees of the samples, and return the places of their roots."""
        frontier = self._plant()
        roots = frontier.layer.start + frontier.row
        for level in self._schedule.levels:
            frontier = self._grow_level(frontier, level)
        return roots

    def _plant(self) -> OpenNodes:
        roots = self._curator.assign(self._schedule.sampling.coin, self._rule, self._weights)
        alive = self._candidates.every_code(len(roots))
        return self._add_layer(roots, alive, np.full(len(roots), self._schedule.allowance))

    def _add_layer(self, nodes: Nodes, alive: Truth, allowance: Integers) -> OpenNodes:
        layer = Layer.of_leaves(self._layers[-1].end if self._layers else 0, len(nodes), self._columns)
        self._layers.append(layer)
        return OpenNodes(layer, np.arange(len(nodes)), nodes, alive, allowance)

    def _grow_level(self, frontier: OpenNodes, level: Level) -> OpenNodes:
        """Finish the leaves of a level, split its other nodes, and return their children."""
        if level.split is None:
            self._finish(frontier, level.leaf)
            return frontier
        offered = self._candidates.undecided(frontier.alive, frontier.allowance)
        splits: Truth = np.asarray(offered.any(axis=1))
        self._finish(frontier[~splits], level.leaf)
        frontier, offered = frontier[splits], offered[splits]
        if level.stop is not None and len(frontier):
            widest = np.where(offered, self._candidates.arity, 0).max(axis=1)
            stops, sizes = level.stop.ask(self._curator, frontier.nodes, widest)
            if sizes is not None:
                frontier.layer.size[frontier.row] = sizes
            self._finish(frontier[stops], level.stopped_leaf)
            frontier, offered = frontier[~stops], offered[~stops]
        return self._split(frontier, offered, level.split, level.number) if len(frontier) else frontier

    def _finish(self, frontier: OpenNodes, mechanism: LeafMechanism) -> None:
        if len(frontier):
            frontier.layer.released[frontier.row] = mechanism.ask(self._curator, frontier.nodes)

    def _split(self, frontier: OpenNodes, offered: Truth, split: SplitMechanism, number: int) -> OpenNodes:
        if self._schedule.subspace is not None:
            offered = self._schedule.subspace.offer(self._curator, self._candidates, offered)
        chosen = split.choose(self._curator, frontier.nodes, self._candidates, offered)
        arity = self._candidates.arity[chosen].astype(np.int64)
        frontier.layer.test[frontier.row] = chosen
        frontier.layer.first_child[frontier.row] = frontier.layer.end + np.cumsum(arity) - arity
        allowance = (frontier.allowance - arity) // arity
        children = self._curator.partition(frontier.nodes, self._candidates, chosen)
        alive = np.empty((len(children), 0), dtype=np.bool_)
        if number + 1 < len(self._schedule.levels):  # leaves of the last level have no tests
            alive = self._candidates.narrowed(frontier.alive, chosen)
        return self._add_layer(children, alive, np.repeat(allowance, arity))
