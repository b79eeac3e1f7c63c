"""A private forest: its parts, the schedule that they make of a budget, the grower, and its plans and models."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.curator import Nodes, Queryable
from hedgerow.curator.survey import FINE, Survey, fine_encoder, merged_encoder, merged_to_arrays
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Model
from hedgerow.export import Link, Mean, ScoringForm, Trees
from hedgerow.mechanisms import Budget
from hedgerow.mechanisms.noise import MOST_DRAWS
from hedgerow.privacy.accounting import Event, Parallel, SelectAndMeasure, Sequence, joined
from hedgerow.schema import Encoder, Schema
from hedgerow.scores import Candidates, multiway
from hedgerow.table import RecordRule, WeightRule
from hedgerow.texts import short_repr
from hedgerow.trees import parts
from hedgerow.trees.model import Forest, PessimisticPruning

MOST_CELLS = 1 << 32  # one byte each: the codes that remain for the children of one level


@dataclass(frozen=True)
class Level:
    """The parts of one level with their budgets: first its stop, if there is one, then its split; the last has no split."""

    number: int
    leaf: parts.Leaf
    stopped_leaf: parts.Leaf
    split: parts.Split | None = None
    stop: parts.Stop | None = None


@dataclass(frozen=True, eq=False)
class Schedule:
    """The tests, the sampling, the mechanisms of every level, root first, and what the whole forest costs."""

    recipe: Recipe
    candidates: Candidates
    sampling: parts.Sampling
    levels: tuple[Level, ...]
    tree: Parallel  # the paths of one tree
    event: Event  # of all trees


@dataclass(frozen=True)
class Recipe:
    assign: parts.Assignment = parts.PerRecord()  # which records each tree reads
    candidates: parts.CandidateRule = multiway  # the public tests
    levels: parts.Levels = parts.Harmonic()  # how a path's budget is shared
    split: parts.Split = parts.SelectTest()  # how a node chooses its test
    leaf: parts.Leaf = parts.SelectLabel()  # what a leaf releases
    soft: bool = False  # whether leaves with counts vote with class shares instead of one vote; post-processing
    weights: tuple[float, ...] = (1.0,)  # of the classes in leaves with counts, at most 1; post-processing
    stop: parts.Stop | None = None  # when a node becomes a leaf early; None grows every path to its end
    subspace: parts.Subspace | None = None  # the random rule for which tests a node is offered; None offers all
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
                f"trees with so many branches need a table of {cells / 2**30:.0f} GiB below their first test, and "
                f"{MOST_CELLS / 2**30:.0f} GiB are allowed. Pass max_depth=1, fewer trees, or fewer values in the schema."
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
        tree = Parallel(joined(paths) if sampling.budget.concentrated else tuple(map(Sequence, paths)), rule)
        return Schedule(self, candidates, sampling, tuple(levels), tree, sampling.event(tree))


class Layer(NamedTuple):
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
    layer: Layer
    row: Integers  # the place of each in the layer
    nodes: Nodes
    alive: Truth  # (nodes, codes of all features): the codes that the tests above leave
    allowance: Integers  # the number of descendants that each may have

    def __getitem__(self, chosen: Truth) -> OpenNodes:
        return OpenNodes(self.layer, self.row[chosen], self.nodes[chosen], self.alive[chosen], self.allowance[chosen])


class Grower:  # eDPRF: algorithm 5
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
            if isinstance(self._schedule.tree.parts[-1], SelectAndMeasure):  # the longest path; so are the others then
                self._curator.reserve(self._schedule.tree, nodes)
            every_code = np.ones((len(nodes), int(self._candidates.offsets[-1])), dtype=np.bool_)
            frontier = self._opened(nodes, every_code, np.full(len(nodes), recipe.allowance))
            roots.append(frontier.layer.start + frontier.row)
            for level in self._schedule.levels:
                frontier = self._grow_level(frontier, level)
        _, *arrays = zip(*self._layers, strict=True)
        test, first_child, released, size = map(np.concatenate, arrays)
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
        start = self._layers[-1].start + len(self._layers[-1].test) if self._layers else 0
        layer = Layer.of_leaves(start, len(nodes), self._curator.n_classes if self._counts else 1)
        self._layers.append(layer)
        return OpenNodes(layer, np.arange(len(nodes)), nodes, alive, allowance)

    def _finish(self, frontier: OpenNodes, leaf: parts.Leaf) -> None:
        if len(frontier.row):
            frontier.layer.released[frontier.row] = leaf.ask(self._curator, frontier.nodes)

    def _grow_level(self, frontier: OpenNodes, level: Level) -> OpenNodes:
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


PSEUDO_COUNT = 2.0  # in units of the noise of one count
OF_TESTS = "share of the tests, each weighing what its depth leaves to it"
OF_ROUNDS = f"{OF_TESTS}; all rounds count alike, however large their votes"


@dataclass(frozen=True, eq=False)
class ForestModel(Model):  # eDPRF: algorithm 6
    encoder: Encoder
    forest: Forest
    votes: Integers | None  # (nodes, classes): those of each leaf; None: each tree has one vote
    link: Link  # from their sums to probabilities
    surveyed: bool = False  # whether the encoder's cut points were released by a survey

    importance_rule: ClassVar[str] = OF_TESTS

    __repr__ = short_repr

    @lazy
    def form(self) -> ScoringForm:
        votes = self.forest.label_votes(len(self.encoder.schema.classes)) if self.votes is None else self.votes
        return self.forest.trees.scoring(self.encoder, votes, self.link)

    def sums(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        if self.votes is not None:
            return self.forest.trees.sums_of(codes, self.votes, self.votes.shape[1])
        n_classes, trees = len(self.encoder.schema.classes), len(self.forest.roots)
        return self.forest.trees.sums_of(codes, self.forest.label, n_classes) * (trees * n_classes) + trees

    def answer(self, sums: Integers) -> Floats:
        return self.link(sums)

    def importances(self) -> Floats:
        return self.forest.trees.importances()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.forest.to_arrays() | (merged_to_arrays(self.encoder) if self.surveyed else {})


def smoothed_votes(forest: Forest, pseudo_count: float, weights: tuple[float, ...] = (1.0,)) -> tuple[Integers, Mean]:
    """Return as votes (nodes, classes) the class shares of every leaf from its released counts, and the link to probabilities.

    Each leaf gets ``pseudo_count`` records more, divided as the classes are over all leaves together: few records behind
    much noise then have little influence. Counts below zero count as zero. ``weights`` multiply the counts of the classes, with
    what was added to them.
    """
    assert forest.counts is not None, "leaves with counts"
    overall = np.maximum(forest.counts.sum(axis=0, dtype=np.float64), 1)  # a sum of integers could pass their range
    counts = np.maximum(forest.counts, 0) + pseudo_count * overall / overall.sum()
    counts = counts * np.array(weights)
    trees = len(forest.roots)
    unit = 1 << (52 - (trees - 1).bit_length())  # floats add up so many shares of this unit exactly, in any order
    votes = np.rint(counts / counts.sum(axis=1, keepdims=True) * unit).astype(np.int64)
    return votes, Mean(trees * unit)


class ForestPlan:
    def __init__(
        self, recipe: Recipe, schema: Schema, epsilon: Fraction, *, n_estimators: int, max_depth: int, max_bins: int
    ) -> None:
        self.encoder = Encoder(schema, max_bins)
        self.schedule = recipe.schedule(
            epsilon, self.encoder.n_codes, schema.is_numeric, n_estimators=n_estimators, max_depth=max_depth
        )
        self.event, self.schedules = self.schedule.event, [self.schedule]
        self.most_trees = self.schedule.sampling.rounds * self.schedule.sampling.coin.parts

    def model(self, forest: Forest) -> ForestModel:
        soft, weights = self.schedule.recipe.soft, self.schedule.recipe.weights
        weighted = min(weights) < 1
        trees, n_classes = len(forest.roots), len(self.encoder.schema.classes)
        one_vote = Mean(trees * n_classes * (trees + 1))
        if forest.counts is None or not (soft or weighted):
            return ForestModel(self.encoder, forest, None, one_vote)
        votes, link = smoothed_votes(forest, PSEUDO_COUNT / float(self.schedule.sampling.budget.amount), weights)
        if weighted:  # a leaf votes for its label
            forest = replace(forest, label=np.where(forest.test < 0, votes.argmax(axis=1), -1).astype(np.int32))
        return ForestModel(self.encoder, forest, *((votes, link) if soft else (None, one_vote)))

    def fit(self, curator: Queryable) -> ForestModel:
        return self.model(Grower(curator, self.schedule).grow())

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return self.model(Forest.from_arrays(arrays, self.schedule.candidates, len(self.encoder.schema.classes)))


class SurveyedForestPlan:
    """The plan of a private forest with bins that follow the noisy histograms of the records.

    The survey asks about numeric features first, and places at most ``max_bins`` bins. It merges those of ``fine``, at most 255
    per feature; None: those of ``fine_encoder``.
    """

    def __init__(
        self,
        recipe: Recipe,
        schema: Schema,
        epsilon: Fraction,
        *,
        max_bins: int,
        fine: Encoder | None = None,
        **size: Any,
    ) -> None:
        self._recipe, self._schema, self._epsilon, self._bins, self._size = recipe, schema, epsilon, max_bins, size
        # Numeric features in fine bins, which the survey merges
        self.encoder = fine_encoder(schema) if fine is None else fine
        self._survey = Survey(Budget(epsilon), self.encoder)
        self._remaining = epsilon * self._survey.left
        most = [np.minimum(np.arange(codes), max_bins - 1) for codes in self.encoder.n_codes.tolist()]
        trees = self._forest(self.encoder.merged(most))  # which does not change categories
        self.event, self.schedules = Sequence((*self._survey.event.parts, trees.event)), trees.schedules

    def _forest(self, encoder: Encoder) -> ForestPlan:
        """Return the plan of the trees on merged bins. Its cost depends on the budget and the schema, not on the bins."""
        return ForestPlan(self._recipe, encoder.schema, self._remaining, max_bins=FINE, **self._size)

    def on(self, encoder: Encoder) -> SurveyedForestPlan:
        """Return the plan that merges the bins of an encoder, if there are at most as many as fine bins may be."""
        if encoder.max_bins != FINE:
            return self
        given = self._recipe, self._schema, self._epsilon
        return SurveyedForestPlan(*given, max_bins=self._bins, fine=encoder, **self._size)

    def fit(self, curator: Queryable) -> ForestModel:
        encoder, _ = self._survey.merge(curator, self._bins)
        return replace(self._forest(encoder).fit(curator), surveyed=True)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return replace(self._forest(merged_encoder(arrays, self.encoder)).restore(arrays), surveyed=True)


@dataclass(frozen=True, eq=False)
class HardRecords:
    """The probability that a record takes part: 1 if the vote of released trees is wrong, otherwise ``easy``.

    It is given as a number of 2**32 equally probable values. With equal votes the first class wins.
    """

    easy: Fraction

    def __call__(self, margins: npt.NDArray[np.int64], labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        right = margins.argmax(axis=1) == labels
        return np.where(right, np.uint64(int(self.easy * 2**32)), np.uint64(2**32))


@dataclass(frozen=True, eq=False)
class TreeVotes:
    """What the leaves of released trees vote, as for ``Trees.add_votes``: a value of its own, which a worker can be sent."""

    trees: Trees
    votes: npt.NDArray[np.signedinteger]
    columns: int

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: npt.NDArray[np.signedinteger]) -> None:
        self.trees.add_votes(codes, self.votes, margins)


class TwoPhasePlan:
    """The plan of two private forests that are grown one after the other on the same records; all their trees vote.

    Both have the same schema and bins, and their budgets add up. The second samples records by weighted coins: those that the
    first gets right take part in a tree with the probability ``easy``.
    """

    def __init__(self, first: ForestPlan, second: ForestPlan, easy: Fraction) -> None:
        self._first, self._second, self._easy = first, second, easy
        self.encoder, self.most_trees = first.encoder, first.most_trees + second.most_trees
        self.event, self.schedules = Sequence((first.event, second.event)), [*first.schedules, *second.schedules]

    def fit(self, curator: Queryable) -> ForestModel:
        first = Grower(curator, self._first.schedule).grow()
        curator.update_margins(TreeVotes(first.trees, first.label, curator.n_classes))
        second = Grower(curator, self._second.schedule, HardRecords(self._easy)).grow()
        return self._first.model(Forest.joined(first, second))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return self._first.restore(arrays)
