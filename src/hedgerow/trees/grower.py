"""A private forest in its parts, the schedule that they make of a budget, and growing all its trees by the schedule.

A schedule is fixed before anything reads a record. The grower runs exactly its parts, level by level for all trees at once:
ask, select, partition. So what is charged is what is spent.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hedgerow.arrays import Integers, Truth
from hedgerow.curator import Nodes, Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget
from hedgerow.mechanisms.noise import MOST_DRAWS
from hedgerow.privacy.accounting import Event, Parallel, SelectAndMeasure, joined
from hedgerow.scores import Candidates, multiway
from hedgerow.table import RecordRule, WeightRule
from hedgerow.trees.model import Forest, PessimisticPruning
from hedgerow.trees.parts import (
    Assignment,
    CandidateRule,
    Harmonic,
    Leaf,
    Levels,
    PerRecord,
    Sampling,
    SelectLabel,
    SelectTest,
    Split,
    Stop,
    Subspace,
)

MOST_CELLS = 1 << 32  # one byte each: the codes that remain for the children of one level


@dataclass(frozen=True)
class Level:
    """The parts of one level with their budgets: first its stop, if there is one, then its split; the last has no split."""

    number: int
    leaf: Leaf
    stopped_leaf: Leaf
    split: Split | None = None
    stop: Stop | None = None


@dataclass(frozen=True, eq=False)
class Schedule:
    """The tests, the sampling, the mechanisms of every level, root first, and what the whole forest costs."""

    recipe: Recipe
    candidates: Candidates
    sampling: Sampling
    levels: tuple[Level, ...]
    tree: Parallel  # the paths of one tree
    event: Event  # of all trees


@dataclass(frozen=True)
class Recipe:
    """A private forest in its parts."""

    assign: Assignment = PerRecord()  # which records each tree reads
    candidates: CandidateRule = multiway  # the public tests
    levels: Levels = Harmonic()  # how a path's budget is shared
    split: Split = SelectTest()  # how a node chooses its test
    leaf: Leaf = SelectLabel()  # what a leaf releases
    soft: bool = False  # whether leaves with counts vote with class shares instead of one vote; post-processing
    weights: tuple[float, ...] = (1.0,)  # of the classes in leaves with counts, at most 1; post-processing
    stop: Stop | None = None  # when a node becomes a leaf early; None grows every path to its end
    subspace: Subspace | None = None  # the random rule for which tests a node is offered; None offers all
    prune: PessimisticPruning | None = None  # how grown trees are pruned, by released counts alone
    # A public bound on the descendants of a root. A split divides the remaining allowance among its children. A test
    # with more branches than that is not offered, and a node without offered tests is a leaf. So features with many
    # categories cannot fill the memory, whatever the records are
    allowance: int = 2**20

    def schedule(
        self,
        epsilon: Fraction | Budget,
        n_codes: Integers,
        is_numeric: Several[bool],
        *,
        n_estimators: int,
        max_depth: int,
        n_classes: int | None = None,
        candidates: Candidates | None = None,
    ) -> Schedule:
        """Return the schedule and the event of a forest with this add/remove budget, for features with these numbers of codes.

        On each path the levels' budgets sum to at most the budget of a tree (docs/proofs/composition.md), since a leaf gets the
        remaining budget of its path. ``n_classes`` bounds the draws of normal noise; None assumes ``MOST_DRAWS``.
        ``candidates`` are the tests, if they were listed before.
        """
        candidates = self.candidates(n_codes, is_numeric) if candidates is None else candidates
        sampling = self.assign.sampling(epsilon if isinstance(epsilon, Budget) else Budget(epsilon), n_estimators)
        widest = int(candidates.arity.max())
        cells = sampling.coin.parts * widest * int(candidates.offsets[-1])
        if max_depth > 1 and cells > MOST_CELLS:  # of the codes that the first tests leave to their children
            raise ConfigurationError(
                f"trees with a branch for each of so many values need a table of {cells / 2**30:.0f} GiB below their first "
                f"test, and {MOST_CELLS / 2**30:.0f} GiB are allowed. Pass max_depth=1, fewer trees, a schema that groups the "
                'values, or a system whose tests have two branches, such as ForestClassifier(candidates="binary").'
            )
        levels: list[Level] = []
        paths: list[tuple[Event, ...]] = []
        steps: list[Event] = []
        remaining = sampling.budget
        for number, part in enumerate(self.levels.budgets(sampling.budget, max_depth + 1), start=1):
            stop, split, leaf = None, None, replace(self.leaf, budget=remaining)
            stopped_leaf, of_split = leaf, part
            if number <= max_depth:
                if self.stop is not None:
                    of_stop = part * self.stop.share
                    stop, of_split = replace(self.stop, budget=of_stop), part - of_stop
                    stopped_leaf = replace(self.leaf, budget=remaining - of_stop)
                split = replace(self.split, budget=of_split)
            levels.append(Level(number, leaf, stopped_leaf, split, stop))
            leaves = min(self.allowance + 1, widest ** (number - 1)) * sampling.coin.parts
            draws = MOST_DRAWS if n_classes is None else leaves * n_classes
            paths.append((*steps, leaf.event(number, draws)))
            if stop is not None:
                steps.append(stop.event(number))
                paths.append((*steps, stopped_leaf.event(number, draws)))
            if split is not None:
                steps += split.events(number, candidates)
            remaining -= part
        rule = "a record pays for the tests on its path and for what is released of the leaf at its end"
        tree = Parallel(joined(paths), rule)
        return Schedule(self, candidates, sampling, tuple(levels), tree, sampling.event(tree))


@dataclass(frozen=True, eq=False)
class Layer:
    """All nodes of one level of the forest; the first stands at ``start`` in it."""

    start: int
    test: Integers
    first_child: Integers
    released: Integers  # (nodes, columns): what leaves released; -1: nothing
    size: Integers  # the noisy sizes that a stop released; -1: none

    @classmethod
    def of_leaves(cls, start: int, count: int, columns: int) -> Layer:
        none = np.full(count, -1)
        return cls(start, none, np.zeros(count, dtype=np.int64), np.full((count, columns), -1), none.copy())


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Unfinished nodes of one layer."""

    layer: Layer
    row: Integers  # the place of each in the layer
    nodes: Nodes
    alive: Truth  # (nodes, codes of all features): the codes that the tests above leave
    allowance: Integers  # the number of descendants that each may have

    def __getitem__(self, chosen: Truth) -> OpenNodes:
        return OpenNodes(self.layer, self.row[chosen], self.nodes[chosen], self.alive[chosen], self.allowance[chosen])


class Grower:
    """Grows a forest from a curator's answers, its only access to the records.

    ``rule`` is the probability of each record in samples by weighted coins. ``weights``: None for equal ones.
    """

    def __init__(
        self, curator: Queryable, schedule: Schedule, rule: RecordRule | None = None, weights: WeightRule | None = None
    ) -> None:
        self._curator, self._schedule, self._candidates = curator, schedule, schedule.candidates
        self._rule, self._weights = rule, weights
        self._counts = schedule.recipe.leaf.releases_counts
        self._layers: list[Layer] = []

    def grow(self) -> Forest:
        recipe, sampling, roots = self._schedule.recipe, self._schedule.sampling, []
        for _ in range(sampling.rounds):
            nodes = self._curator.assign(sampling.coin, self._rule, self._weights)
            if any(isinstance(path, SelectAndMeasure) for path in self._schedule.tree.parts):
                self._curator.reserve(self._schedule.tree, nodes)
            every_code = np.ones((len(nodes), int(self._candidates.offsets[-1])), dtype=np.bool_)
            frontier = self._opened(nodes, every_code, np.full(len(nodes), recipe.allowance))
            roots.append(frontier.layer.start + frontier.row)
            for level in self._schedule.levels:
                frontier = self._grow_level(frontier, level)
        test = np.concatenate([layer.test for layer in self._layers])
        first_child = np.concatenate([layer.first_child for layer in self._layers])
        released = np.concatenate([layer.released for layer in self._layers])
        size = np.concatenate([layer.size for layer in self._layers])
        leaf = test < 0
        forest = Forest(
            np.concatenate(roots).astype(np.int32),
            test.astype(np.int32),
            first_child.astype(np.int32),
            np.where(leaf, released.argmax(axis=1) if self._counts else released[:, 0], -1).astype(np.int32),
            self._candidates,
            np.where(leaf[:, None], released, 0) if self._counts else None,
        )
        return forest if recipe.prune is None else recipe.prune.apply(forest, size)

    def _opened(self, nodes: Nodes, alive: Truth, allowance: Integers) -> OpenNodes:
        """Return nodes in a new layer."""
        start = self._layers[-1].start + len(self._layers[-1].test) if self._layers else 0
        layer = Layer.of_leaves(start, len(nodes), self._curator.n_classes if self._counts else 1)
        self._layers.append(layer)
        return OpenNodes(layer, np.arange(len(nodes)), nodes, alive, allowance)

    def _finish(self, frontier: OpenNodes, leaf: Leaf) -> None:
        if len(frontier.row):
            frontier.layer.released[frontier.row] = leaf.ask(self._curator, frontier.nodes)

    def _grow_level(self, frontier: OpenNodes, level: Level) -> OpenNodes:
        """Finish the leaves of a level, split its other nodes, and return their children."""
        if level.split is None:
            self._finish(frontier, level.leaf)
            return frontier
        candidates, curator, subspace = self._candidates, self._curator, self._schedule.recipe.subspace
        offered = candidates.undecided(frontier.alive, frontier.allowance)
        splits: Truth = np.asarray(offered.any(axis=1))
        self._finish(frontier[~splits], level.leaf)
        frontier, offered = frontier[splits], offered[splits]
        if level.stop is not None and len(frontier.row):
            widest = np.where(offered, candidates.arity, 0).max(axis=1)
            stops, sizes = level.stop.ask(curator, frontier.nodes, widest)
            if sizes is not None:
                frontier.layer.size[frontier.row] = sizes
            self._finish(frontier[stops], level.stopped_leaf)
            frontier, offered = frontier[~stops], offered[~stops]
        if not len(frontier.row):
            return frontier
        if subspace is not None:
            offered = subspace.offer(curator, candidates, offered)
        chosen = level.split.choose(curator, frontier.nodes, candidates, offered)
        arity = candidates.arity[chosen].astype(np.int64)
        layer = frontier.layer
        layer.test[frontier.row] = chosen
        layer.first_child[frontier.row] = layer.start + len(layer.test) + np.cumsum(arity) - arity
        children = curator.partition(frontier.nodes, candidates, chosen)
        alive = np.empty((len(children), 0), dtype=np.bool_)
        if level.number + 1 < len(self._schedule.levels):  # leaves of the last level have no tests
            alive = candidates.narrowed(frontier.alive, chosen)
        return self._opened(children, alive, np.repeat((frontier.allowance - arity) // arity, arity))
