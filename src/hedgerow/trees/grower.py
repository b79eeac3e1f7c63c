"""A private forest in its parts, the schedule that they make of a budget, and growing all its trees by the schedule.

A schedule is fixed before anything reads a record: it holds the parts of every level with their budgets, and the event of the
whole fit. The grower runs exactly these, level by level for all trees at once: ask, select, partition. So what is charged is
what is spent.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.arrays import Integers, Truth
from hedgerow.curator import Nodes, Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget
from hedgerow.mechanisms.noise import MOST_DRAWS
from hedgerow.parameters import ClassWeights
from hedgerow.privacy.accounting import Event, Parallel, Sequence
from hedgerow.scores import Candidates
from hedgerow.table import RecordRule, WeightRule
from hedgerow.trees.model import Forest, PessimisticPruning
from hedgerow.trees.parts import (
    Assignment,
    CandidateRule,
    Harmonic,
    Leaf,
    Levels,
    Multiway,
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
    event: Event

    @property
    def releases_counts(self) -> bool:
        """Whether a leaf releases a count per class, and not a label."""
        return self.levels[-1].leaf.releases_counts


@dataclass(frozen=True)
class Recipe:
    """A private forest in its parts."""

    assign: Assignment = PerRecord()  # which records each tree reads
    candidates: CandidateRule = Multiway()  # the public tests
    levels: Levels = Harmonic()  # how a path's budget is shared
    split: Split = SelectTest()  # how a node chooses its test
    leaf: Leaf = SelectLabel()  # what a leaf releases
    soft: bool = False  # whether leaves with counts vote with class shares instead of one vote; post-processing
    # The weights of the classes in leaves with counts; None: equal weights. Post-processing
    weights: ClassWeights | None = None
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
        candidates = self.candidates.build(n_codes, is_numeric) if candidates is None else candidates
        budget = epsilon if isinstance(epsilon, Budget) else Budget(epsilon)
        sampling = self.assign.sampling(budget, n_estimators)
        _check_table(sampling.coin.parts * int(candidates.arity.max()) * int(candidates.offsets[-1]), max_depth)
        budgets = self.levels.budgets(sampling.budget, max_depth + 1)
        levels: list[Level] = []
        paths: list[Event] = []
        steps: list[Event] = []
        remaining = sampling.budget
        for number, part in enumerate(budgets, start=1):
            level = self._level(number, part, remaining, last=number == len(budgets))
            levels.append(level)
            leaves = min(self.allowance + 1, int(candidates.arity.max()) ** (number - 1)) * sampling.coin.parts
            cells = MOST_DRAWS if n_classes is None else leaves * n_classes
            paths.append(Sequence((*steps, level.leaf.event(number, cells))))
            if level.stop is not None:
                steps.append(level.stop.event(number))
                paths.append(Sequence((*steps, level.stopped_leaf.event(number, cells))))
            if level.split is not None:
                steps += level.split.events(number, candidates)
            remaining -= part
        rule = "a record pays for the tests on its path and for what is released of the leaf at its end"
        event = sampling.event(Parallel(tuple(paths), rule))
        return Schedule(self, candidates, sampling, tuple(levels), event)

    def _level(self, number: int, budget: Budget, remaining: Budget, *, last: bool) -> Level:
        """Return one level's parts; ``remaining`` is what the levels above leave of a path's budget."""
        leaf = self.leaf.with_budget(remaining)
        if last:
            return Level(number, leaf, leaf)
        if self.stop is None:
            return Level(number, leaf, leaf, self.split.with_budget(budget))
        asked = budget * self.stop.share
        return Level(
            number,
            leaf,
            stopped_leaf=self.leaf.with_budget(remaining - asked),
            split=self.split.with_budget(budget - asked),
            stop=self.stop.with_budget(asked),
        )


def _check_table(cells: int, max_depth: int) -> None:
    """Raise ConfigurationError if the table of the codes that the first tests leave to their children would be too large."""
    if max_depth > 1 and cells > MOST_CELLS:
        raise ConfigurationError(
            f"trees with a branch for each of so many values need a table of {cells / 2**30:.0f} GiB below their first test, "
            f"and {MOST_CELLS / 2**30:.0f} GiB are allowed. Pass max_depth=1, fewer trees, a schema that groups the values, or a "
            'system whose tests have two branches, such as ForestClassifier(candidates="binary").'
        )


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
        none = np.full(count, -1)
        return cls(start, none, np.zeros(count, dtype=np.int64), np.full((count, columns), -1), none.copy())

    @property
    def end(self) -> int:
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
    """Grows a forest from a curator's answers, its only access to the records.

    ``rule`` is for samples by weighted coins: the probability of each record. ``weights`` are those of the records; None: equal
    weights. Both follow from released values.
    """

    def __init__(
        self, curator: Queryable, schedule: Schedule, rule: RecordRule | None = None, weights: WeightRule | None = None
    ) -> None:
        self._curator = curator
        self._candidates = schedule.candidates
        self._schedule = schedule
        self._rule = rule
        self._weights = weights
        self._columns = curator.n_classes if schedule.releases_counts else 1
        self._layers: list[Layer] = []

    def grow(self) -> Forest:
        roots = [self._grow_round() for _ in range(self._schedule.sampling.rounds)]
        test, first_child, released, size = (
            np.concatenate([getattr(layer, name) for layer in self._layers])
            for name in ("test", "first_child", "released", "size")
        )
        leaf, counts = test < 0, self._schedule.releases_counts
        forest = Forest(
            np.concatenate(roots).astype(np.int32),
            test.astype(np.int32),
            first_child.astype(np.int32),
            np.where(leaf, released.argmax(axis=1) if counts else released[:, 0], -1).astype(np.int32),
            self._candidates,
            np.where(leaf[:, None], released, 0) if counts else None,
        )
        prune = self._schedule.recipe.prune
        return forest if prune is None else prune.apply(forest, size)

    def _grow_round(self) -> Integers:
        """Sample the records once, grow the trees of the samples, and return the places of their roots."""
        nodes = self._curator.assign(self._schedule.sampling.coin, self._rule, self._weights)
        allowance = np.full(len(nodes), self._schedule.recipe.allowance)
        every_code = np.ones((len(nodes), int(self._candidates.offsets[-1])), dtype=np.bool_)
        frontier = self._add_layer(nodes, every_code, allowance)
        roots = frontier.layer.start + frontier.row
        for level in self._schedule.levels:
            frontier = self._grow_level(frontier, level)
        return roots

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

    def _finish(self, frontier: OpenNodes, leaf: Leaf) -> None:
        if len(frontier):
            frontier.layer.released[frontier.row] = leaf.ask(self._curator, frontier.nodes)

    def _split(self, frontier: OpenNodes, offered: Truth, split: Split, number: int) -> OpenNodes:
        if self._schedule.recipe.subspace is not None:
            offered = self._schedule.recipe.subspace.offer(self._curator, self._candidates, offered)
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
