"""The parts that a private forest is put together from, and the schedule that they make of a budget.

A schedule is fixed before anything reads a record: it holds the mechanisms of every level and the event of the whole
fit. The grower runs exactly these mechanisms, so what is booked is what is spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from hedgerow.curator import Curator, Nodes
from hedgerow.mechanisms import AtMost, Geometric, PermuteAndFlip, PerRecordCoin, PoissonCoin, Selection
from hedgerow.privacy.accounting import before_amplification
from hedgerow.privacy.events import Event, Parallel, PerRecordAssignment, Pure, Sequence, Subsampled
from hedgerow.scores import Candidates, ClassCount, Gini, Minority, Score, binary, multiway
from hedgerow.trees.levels import Harmonic, Levels
from hedgerow.trees.model import Integers

__all__ = [
    "AllRecords",
    "Assignment",
    "Binary",
    "Leaf",
    "LeafMechanism",
    "Level",
    "Multiway",
    "NoisyCounts",
    "NoisyMinority",
    "PerRecord",
    "Poisson",
    "Recipe",
    "Schedule",
    "SelectLabel",
    "SelectTest",
]


@dataclass(frozen=True)
class Dealing:
    """How often the records are dealt out to trees, by which coin, and what one tree may spend."""

    rounds: int
    coin: PerRecordCoin | PoissonCoin
    epsilon: Fraction

    def event(self, tree: Event) -> Event:
        """Return what all trees cost, given what one does."""
        dealt: Event = PerRecordAssignment(tree, self.coin.parts)
        if isinstance(self.coin, PoissonCoin):
            dealt = Subsampled(tree, self.coin.inclusion)
        return dealt if self.rounds == 1 else Sequence((dealt,) * self.rounds)


class Assignment(Protocol):
    """A rule that gives records to trees."""

    def deal(self, epsilon: Fraction, trees: int) -> Dealing:
        """Return how so many trees share the records and the budget."""


@dataclass(frozen=True)
class PerRecord:
    """Each record is in one tree, by its own coin; each tree spends the whole budget (docs/proofs/composition.md)."""

    def deal(self, epsilon: Fraction, trees: int) -> Dealing:
        """Return how so many trees share the records and the budget."""
        return Dealing(1, PerRecordCoin(trees), epsilon)


@dataclass(frozen=True)
class AllRecords:
    """Every tree reads all records and spends an equal part of the budget."""

    def deal(self, epsilon: Fraction, trees: int) -> Dealing:
        """Return how so many trees share the records and the budget."""
        return Dealing(trees, PerRecordCoin(1), epsilon / trees)


@dataclass(frozen=True)
class Poisson:
    """Every tree reads a Poisson sample of the records, and may spend more than its part of the budget on it."""

    probability: Fraction = Fraction(1, 2)

    def deal(self, epsilon: Fraction, trees: int) -> Dealing:
        """Return how so many trees share the records and the budget."""
        coin = PoissonCoin(self.probability)
        return Dealing(trees, coin, before_amplification(epsilon / trees, coin.inclusion))


class CandidateRule(Protocol):
    """A rule that lists the public tests."""

    def build(self, n_codes: Integers, is_numeric: list[bool]) -> Candidates:
        """Return the tests on features with so many codes."""


@dataclass(frozen=True)
class Multiway:
    """One test per feature with a branch for each code; no path reads a feature twice."""

    def build(self, n_codes: Integers, is_numeric: list[bool]) -> Candidates:
        """Return the tests on features with so many codes."""
        return multiway(n_codes)


@dataclass(frozen=True)
class Binary:
    """Tests with two branches: cuts of numeric features, one value of a category against the rest."""

    def build(self, n_codes: Integers, is_numeric: list[bool]) -> Candidates:
        """Return the tests on features with so many codes."""
        return binary(n_codes, is_numeric)


@dataclass(frozen=True)
class SelectTest:
    """Choose a node's test by a selection mechanism on a score."""

    selection: type[Selection] = PermuteAndFlip
    score: Score = Gini()

    def mechanism(self, budget: Fraction) -> Selection:
        """Return the mechanism that costs at most the budget."""
        return self.selection(budget, self.score.range)


class LeafMechanism(Protocol):
    """A leaf's mechanism: what it costs, and how the curator is asked."""

    releases_counts: ClassVar[bool]

    def event(self, level: int) -> Pure:
        """Return what one leaf costs."""

    def ask(self, curator: Curator, nodes: Nodes) -> Integers:
        """Return what is released of each node: one column of labels, or one column of counts per class."""


class Leaf(Protocol):
    """A rule that says what is released of a leaf."""

    def mechanism(self, budget: Fraction) -> LeafMechanism:
        """Return the mechanism that costs at most the budget."""


@dataclass(frozen=True)
class LabelChoice:
    """A label for each leaf, chosen by a selection mechanism with the class counts as scores."""

    selection: Selection

    releases_counts: ClassVar[bool] = False

    def event(self, level: int) -> Pure:
        """Return what one leaf costs."""
        return self.selection.event("leaf label", ClassCount.name, level)

    def ask(self, curator: Curator, nodes: Nodes) -> Integers:
        """Return the label of each node, of shape (nodes, 1)."""
        return curator.select_label(nodes, self.selection)[:, None]


@dataclass(frozen=True)
class SelectLabel:
    """Release one label per leaf."""

    selection: type[Selection] = PermuteAndFlip

    def mechanism(self, budget: Fraction) -> LabelChoice:
        """Return the mechanism that costs at most the budget."""
        return LabelChoice(self.selection(budget, ClassCount.range))


@dataclass(frozen=True)
class CountRelease:
    """The class counts of each leaf, with two-sided geometric noise."""

    budget: Fraction

    releases_counts: ClassVar[bool] = True

    def event(self, level: int) -> Pure:
        """Return what one leaf costs."""
        return Geometric(self.budget).event("class counts of a leaf", level)

    def ask(self, curator: Curator, nodes: Nodes) -> Integers:
        """Return the noisy counts of each node, of shape (nodes, classes)."""
        return curator.class_counts(nodes, self.budget)


@dataclass(frozen=True)
class NoisyCounts:
    """Release the noisy class counts of every leaf."""

    def mechanism(self, budget: Fraction) -> CountRelease:
        """Return the mechanism that costs at most the budget."""
        return CountRelease(budget)


@dataclass(frozen=True)
class NoisyMinority:
    """Make a node a leaf where its noisy minority count is at most theta / b, b the share of the level's budget it spends.

    It stands in for a test of purity, which would read the records unprotected (docs/proofs/edprf.md).
    """

    share: Fraction = Fraction(15, 100)
    theta: Fraction = Fraction(2)

    def mechanism(self, budget: Fraction) -> AtMost:
        """Return the mechanism that costs at most its share of the level's budget."""
        noise = Geometric(budget * self.share, Minority.sensitivity)
        return AtMost(noise, math.floor(self.theta / noise.cost))


@dataclass(frozen=True)
class Level:
    """What happens to the nodes of one level: a stop is asked first, if there is one; the last level has no split."""

    number: int
    leaf: LeafMechanism
    stopped_leaf: LeafMechanism
    split: Selection | None = None
    stop: AtMost | None = None


@dataclass(frozen=True)
class Schedule:
    """The dealing, the mechanisms of every level, root first, and what the whole forest costs."""

    dealing: Dealing
    score: Score
    levels: tuple[Level, ...]
    allowance: int
    event: Event

    @property
    def releases_counts(self) -> bool:
        """Whether a leaf releases a count per class, and not a label."""
        return self.levels[-1].leaf.releases_counts


@dataclass(frozen=True)
class Recipe:
    """A private forest in its parts.

    Parameters
    ----------
    assign : Assignment
        Which records each tree reads.
    candidates : CandidateRule
        The public tests.
    levels : Levels
        How a path's budget is shared.
    split : SelectTest
        How a node chooses its test.
    leaf : Leaf
        What is released of a leaf.
    soft : bool
        Whether leaves with counts give class shares to the vote, and not one vote; post-processing.
    stop : NoisyMinority or None
        When a node becomes a leaf early; None grows every path to its end.
    allowance : int
        A public bound on the descendants of a root. A split divides what is left among its children; a test with more
        branches than that is not offered; a node that can offer none is a leaf. It keeps wide categories from filling
        the memory, whatever the records are.
    """

    assign: Assignment = PerRecord()
    candidates: CandidateRule = Multiway()
    levels: Levels = Harmonic()
    split: SelectTest = SelectTest()
    leaf: Leaf = SelectLabel()
    soft: bool = False
    stop: NoisyMinority | None = None
    allowance: int = 2**20

    def schedule(self, epsilon: Fraction, n_estimators: int, max_depth: int) -> Schedule:
        """Return what a forest with this add/remove budget will do, and its event.

        On each path the levels' budgets sum to at most what the assignment leaves to a tree (docs/proofs/composition.md), since a
        leaf gets what the levels above it left.
        """
        dealing = self.assign.deal(epsilon, n_estimators)
        budgets = self.levels.budgets(dealing.epsilon, max_depth + 1)
        levels: list[Level] = []
        paths: list[Event] = []
        steps: list[Event] = []
        left = dealing.epsilon
        for number, budget in enumerate(budgets, start=1):
            last = number == len(budgets)
            stop = None if last or self.stop is None else self.stop.mechanism(budget)
            asked = Fraction(0) if stop is None else stop.noise.cost
            level = Level(
                number,
                leaf=self.leaf.mechanism(left),
                stopped_leaf=self.leaf.mechanism(left - asked),
                split=None if last else self.split.mechanism(budget - asked),
                stop=stop,
            )
            levels.append(level)
            paths.append(Sequence((*steps, level.leaf.event(number))))
            if stop is not None:
                steps.append(stop.noise.event("noisy minority count, as a stop", number))
                paths.append(Sequence((*steps, level.stopped_leaf.event(number))))
            if level.split is not None:
                steps.append(level.split.event("test of a node", self.split.score.detail, number))
            left -= budget
        rule = "a record pays for the tests on its path and for what is released of the leaf at its end"
        event = dealing.event(Parallel(tuple(paths), rule))
        return Schedule(dealing, self.split.score, tuple(levels), self.allowance, event)
