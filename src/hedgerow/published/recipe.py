"""The parts that a published forest is put together from, the budgets that it states, and what nothing protects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hedgerow.privacy.events import Event, Parallel, Sequence, Unprotected
from hedgerow.published.assignment import Assignment
from hedgerow.published.branching import BranchingRule
from hedgerow.published.budgets import Budgets, Queries
from hedgerow.published.case import Case
from hedgerow.published.leaves import Leaf, LeafMechanism
from hedgerow.published.pruning import Pruning
from hedgerow.published.splits import Split, SplitMechanism, Subspace
from hedgerow.published.stops import Stop, StopMechanism

__all__ = ["Level", "Recipe"]

BINS = (
    "numeric features are binned between the least and the largest value of each node's own records, and the model "
    "stores these values, an infinite loss"
)
FLOATS = (
    "the noise is drawn in floating point, whose last digits can betray the scores; what the paper proves about real "
    "numbers does not carry over"
)
PATH = "a record pays for the tests on its path and for the leaf at its end"


@dataclass(frozen=True)
class Level:
    """What happens to the nodes of one level; the last level has no split.

    ``counted`` are the stops of a leaf, whose count may have another share of the budget than that of a test.
    """

    number: int
    stops: tuple[StopMechanism, ...]
    counted: tuple[StopMechanism, ...]
    leaf: LeafMechanism
    split: SplitMechanism | None


@dataclass(frozen=True)
class Recipe:
    """A published forest in its parts.

    Parameters
    ----------
    assign : Assignment
        Which records each tree reads, and its budget.
    tests : BranchingRule
        The test on each feature. No path reads a feature twice but for cuts.
    budgets : Budgets
        How a tree's budget is shared among levels and queries.
    split : Split
        How a node chooses its test.
    leaf : Leaf
        What a leaf holds.
    stops : tuple of Stop
        What makes a node a leaf above the last level; at most one of them counts.
    subspace : Subspace or None
        Which features a node may test; None offers all that are left.
    pruning : Pruning or None
        What cuts the grown trees back.
    """

    assign: Assignment
    tests: BranchingRule
    budgets: Budgets
    split: Split
    leaf: Leaf
    stops: tuple[Stop, ...] = ()
    subspace: Subspace | None = None
    pruning: Pruning | None = None

    def schedule(self, case: Case) -> tuple[Level, ...]:
        """Return the mechanisms of every level of a tree, root first."""
        queries = Queries(self.split.queries(case), self.leaf.queries(case))
        budget = self.assign.tree_budget(case.epsilon, case.trees)
        levels = []
        for number, shares in enumerate(self.budgets.shares(budget, case.max_depth, queries), start=1):
            last = number > case.max_depth
            levels.append(
                Level(
                    number,
                    stops=tuple(stop.mechanism(shares.count) for stop in self.stops),
                    counted=tuple(stop.mechanism(shares.leaf_count) for stop in self.stops),
                    leaf=self.leaf.mechanism(shares.leaf, case),
                    split=None if last else self.split.mechanism(shares.test, case, number),
                )
            )
        return tuple(levels)

    def event(self, case: Case) -> Event:
        """Return every unprotected step, then the budgets that the paper states for the others."""
        tree = _stated(self.schedule(case))
        return Sequence((*map(Unprotected, self._reasons(case)), self.assign.event(tree, case.trees)))

    def _reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        for stop in self.stops:
            yield from stop.reasons(case)
        if case.max_depth > 0:  # otherwise a tree is one leaf, whatever the records are
            if case.bins_in_nodes:
                yield BINS
            yield from self.split.reasons(case)
        yield from self.leaf.reasons(case)
        yield from self.assign.reasons(case)
        yield FLOATS


def _stated(levels: tuple[Level, ...]) -> Event:
    """Return the budgets that the paper states for one tree."""
    paths: list[Event] = []
    steps: list[Event] = []
    for level in levels:
        count = [event for stop in level.counted for event in stop.events(level.number)]
        paths.append(Sequence((*steps, *count, *level.leaf.events(level.number))))
        if level.split is not None:
            steps += [event for stop in level.stops for event in stop.events(level.number)]
            steps += level.split.events(level.number)
    return Parallel(tuple(paths), PATH)
