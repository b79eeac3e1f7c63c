"""What the leaves of a private tree release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from hedgerow.arrays import Integers
from hedgerow.curator import Nodes, Queryable
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.privacy.events import Event, Pure
from hedgerow.scores import ClassCount

__all__ = ["Leaf", "LeafMechanism", "NoisyCounts", "SelectLabel"]


class LeafMechanism(Protocol):
    """A leaf's mechanism: its cost, and its query to the curator."""

    releases_counts: ClassVar[bool]

    def event(self, level: int, cells: int) -> Event:
        """Return the cost of one leaf if all leaves of a level have at most this many cells by class."""

    def ask(self, curator: Queryable, nodes: Nodes) -> Integers:
        """Return what each node releases: one column of labels, or one column of counts per class."""


class Leaf(Protocol):
    """A rule for what a leaf releases."""

    def mechanism(self, budget: Budget) -> LeafMechanism:
        """Return the mechanism that costs at most the budget."""


@dataclass(frozen=True)
class LabelChoice:
    """A label for each leaf, chosen by a selection mechanism with the class counts as scores."""

    selection: Selection

    releases_counts: ClassVar[bool] = False

    def event(self, level: int, cells: int) -> Pure:
        """Return the cost of one leaf if all leaves of a level have at most this many cells by class."""
        return self.selection.event("leaf label", ClassCount.name, level)

    def ask(self, curator: Queryable, nodes: Nodes) -> Integers:
        """Return the label of each node, of shape (nodes, 1)."""
        return curator.select_label(nodes, self.selection)[:, None]


@dataclass(frozen=True)
class SelectLabel:
    """Release one label per leaf."""

    selection: type[Selection] = PermuteAndFlip

    def mechanism(self, budget: Budget) -> LabelChoice:
        """Return the mechanism that costs at most the budget."""
        return LabelChoice(budget.selection(self.selection, ClassCount.range))


@dataclass(frozen=True)
class CountRelease:
    """The class counts of each leaf, with noise."""

    noise: Noise

    releases_counts: ClassVar[bool] = True

    def event(self, level: int, cells: int) -> Event:
        """Return the cost of one leaf if all leaves of a level have at most this many cells by class."""
        return self.noise.event("class counts of a leaf", level, draws=cells)

    def ask(self, curator: Queryable, nodes: Nodes) -> Integers:
        """Return the noisy counts of each node, of shape (nodes, classes)."""
        return curator.class_counts(nodes, self.noise)


@dataclass(frozen=True)
class NoisyCounts:
    """Release the noisy class counts of every leaf."""

    def mechanism(self, budget: Budget) -> CountRelease:
        """Return the mechanism that costs at most the budget."""
        return CountRelease(budget.noise())
