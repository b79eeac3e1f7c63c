"""The parts that a private forest is put together from, and the schedule that they make of a budget.

A schedule is fixed before anything reads a record: it holds the mechanisms of every level and the event of the whole
fit. The grower runs exactly these mechanisms, so what is booked is what is spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.mechanisms import AtMost, Geometric, PermuteAndFlip, PerRecordCoin, Selection
from hedgerow.privacy.events import Event, Parallel, PerRecordAssignment, Sequence
from hedgerow.scores import ClassCount, Gini, Minority
from hedgerow.trees.levels import Harmonic

__all__ = ["Level", "NoisyMinority", "Recipe", "Schedule", "SelectLabel", "SelectTest"]


@dataclass(frozen=True)
class SelectTest:
    """Choose a node's test by a selection mechanism on a score."""

    selection: type[Selection] = PermuteAndFlip
    score: Gini = Gini()

    def mechanism(self, budget: Fraction) -> Selection:
        """Return the mechanism that costs at most the budget."""
        return self.selection(budget, self.score.range)


@dataclass(frozen=True)
class SelectLabel:
    """Choose a leaf's label by a selection mechanism on the class counts."""

    selection: type[Selection] = PermuteAndFlip

    def mechanism(self, budget: Fraction) -> Selection:
        """Return the mechanism that costs at most the budget."""
        return self.selection(budget, ClassCount.range)


@dataclass(frozen=True)
class NoisyMinority:
    """Make a node a leaf where its noisy minority count is at most theta / b, b the share of the level's budget it spends.

    It stands in for a test of purity, which would read the records unprotected (SYSTEMS.md 3.1).
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
    leaf: Selection
    stopped_leaf: Selection
    split: Selection | None = None
    stop: AtMost | None = None


@dataclass(frozen=True)
class Schedule:
    """The mechanisms of every level, root first, and what the whole forest costs."""

    coin: PerRecordCoin
    score: Gini
    levels: tuple[Level, ...]
    allowance: int
    event: Event


@dataclass(frozen=True)
class Recipe:
    """A private forest in its parts.

    Parameters
    ----------
    levels : Harmonic
        How a path's budget is shared.
    split : SelectTest
        How a node chooses its test.
    leaf : SelectLabel
        How a leaf gets its label.
    stop : NoisyMinority or None
        When a node becomes a leaf early; None grows every path to its end.
    allowance : int
        A public bound on the descendants of a root. A split divides what is left among its children; a test with more
        branches than that is not offered; a node that can offer none is a leaf. It keeps wide categories from filling
        the memory, whatever the records are.
    """

    levels: Harmonic = Harmonic()
    split: SelectTest = SelectTest()
    leaf: SelectLabel = SelectLabel()
    stop: NoisyMinority | None = None
    allowance: int = 2**20

    def schedule(self, epsilon: Fraction, n_estimators: int, max_depth: int) -> Schedule:
        """Return what a forest with this add/remove budget will do, and its event.

        A record is in one tree, so each tree spends the whole budget (SYSTEMS.md lemma 4); on each path the levels'
        budgets sum to at most ``epsilon`` (lemma 3), since a leaf gets what the levels above it left.
        """
        budgets = self.levels.budgets(epsilon, max_depth + 1)
        levels: list[Level] = []
        paths: list[Event] = []
        steps: list[Event] = []
        left = epsilon
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
            paths.append(Sequence((*steps, level.leaf.event("leaf label", ClassCount.name, number))))
            if stop is not None:
                steps.append(stop.noise.event("noisy minority count, as a stop", number))
                paths.append(Sequence((*steps, level.stopped_leaf.event("leaf label", ClassCount.name, number))))
            if level.split is not None:
                steps.append(level.split.event("test of a node", self.split.score.detail, number))
            left -= budget
        rule = "a record pays for the tests on its path and for the one label at its end"
        event = PerRecordAssignment(Parallel(tuple(paths), rule), n_estimators)
        return Schedule(PerRecordCoin(n_estimators), self.split.score, tuple(levels), self.allowance, event)
