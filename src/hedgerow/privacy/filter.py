"""The costs so far of one curator's queries, as one immutable value, and how such a value is replaced in one step.

A curator holds one ``PrivacyFilter`` and replaces it by another in a single assignment, so an interruption at any line leaves
either the state before a query or the state after its charge, and never something between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import lazy
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.privacy.accounting import NONE, Cost

Index = npt.NDArray[np.intp]

PARTITIONED = -1  # in place of a path: the node is closed


@dataclass(frozen=True)
class Roots:
    """One assignment of the records to roots: how probably a record takes part (None: surely), and its costliest path.

    ``before`` is what the assignments before it cost together.
    """

    inclusion: Fraction | None = None
    unit: int = 1
    costliest: Cost = field(default_factory=Cost)
    before: Cost = field(default_factory=Cost)

    @lazy
    def together(self) -> Cost:
        """What it and those before it cost together, amplified where a record may be in no root."""
        return self.before + (self.costliest if self.inclusion is None else self.costliest.sampled(self.inclusion))


@dataclass(frozen=True, eq=False)
class Paths:
    """The charges of the nodes of one generation: node i, on its path from the root, has ``costs[path[i]]``."""

    assignment: int
    costs: tuple[Cost, ...]
    path: Index


@dataclass(frozen=True, eq=False)
class PrivacyFilter:
    """The charges of every path; it refuses a charge above its ceiling.

    Notes
    -----
    A generation is what one assignment or one partition made: disjoint nodes, numbered from 0. On a path from a root costs add
    up; the costliest path of an assignment counts, and assignments read the same records, so they add up. Approximate draws and
    the deltas of thresholds add up over all nodes, as all of them are released, so they are counted once for the filter and not
    on paths.
    """

    # What may be spent, under add/remove adjacency. Where it has a Gaussian part every sum of it is a ceiling
    # (docs/proofs/composition.md)
    ceiling: Cost
    generations: Mapping[int, Paths] = field(default_factory=dict)
    made: int = 0
    assignments: tuple[Roots, ...] = (Roots(),)  # the first is of the queries about all records
    approximate: Cost = field(default_factory=Cost)

    @property
    def total(self) -> Cost:
        """What has been charged: the costliest path of each assignment, added up, and everything approximate."""
        return self.assignments[-1].together + self.approximate

    def assigned(self, inclusion: Fraction | None, unit: int, roots: int) -> PrivacyFilter:
        """Return the filter after the records were assigned to so many roots, the generation ``made`` of before."""
        paths = Paths(len(self.assignments), (Cost(),), np.zeros(roots, dtype=np.intp))
        return replace(
            self,
            assignments=(*self.assignments, Roots(inclusion, unit, before=self.assignments[-1].together)),
            generations={**self.generations, self.made: paths},
            made=self.made + 1,
        )

    def partitioned(self, generation: int, index: Index, children: npt.NDArray[np.integer]) -> PrivacyFilter:
        """Return the filter after nodes were partitioned into so many children each, the generation ``made`` of before."""
        parents = self.generations[generation]
        of_children = replace(parents, path=np.repeat(parents.path[index], children))
        path = parents.path.copy()
        path[index] = PARTITIONED
        generations = {**self.generations, generation: replace(parents, path=path), self.made: of_children}
        if (path == PARTITIONED).all():
            del generations[generation]
        return replace(self, generations=generations, made=self.made + 1)

    def check_open(self, generation: int, index: Index) -> None:
        """Raise ConfigurationError unless these are nodes of one generation that may still be queried, each once."""
        paths = self.generations.get(generation)
        in_order = not len(index) or (index[0] >= 0 and np.all(index[1:] > index[:-1]))
        known = 0 <= generation < self.made and (paths is None or not len(index) or index[-1] < len(paths.path))
        if not (in_order and known):
            raise ConfigurationError("a query names a node twice, out of order, or one that is not this curator's.")
        if paths is None or (paths.path[index] == PARTITIONED).any():
            raise ConfigurationError("a node that was partitioned is closed; query its children.")

    def unit(self, generation: int) -> int:
        """Return the largest weight of a record in the nodes of a generation."""
        return self.assignments[self.generations[generation].assignment].unit

    def charged(self, amount: Cost, generation: int | None = None, index: Index | None = None) -> PrivacyFilter:
        """Return the filter after a query about some nodes of a generation, or about all records; or raise BudgetExceeded."""
        of_path, number, generations = replace(amount, draws=0, thresholds=NONE), 0, self.generations
        if generation is None or index is None:
            costs = [self.assignments[0].costliest + of_path]
        else:
            paths = self.generations[generation]
            number, of_nodes, path = paths.assignment, paths.path[index], paths.path.copy()
            old = np.flatnonzero(np.bincount(of_nodes)).tolist()  # few: the charge of a path depends on its level alone
            costs = [paths.costs[i] + of_path for i in old]
            path[index] = len(paths.costs) + np.searchsorted(old, of_nodes)
            generations = {**self.generations, generation: Paths(number, (*paths.costs, *costs), path)}
        own = self.assignments[number]
        assignments = [*self.assignments[:number], replace(own, costliest=reduce(Cost.__or__, costs, own.costliest))]
        for later in self.assignments[number + 1 :]:
            assignments.append(replace(later, before=assignments[-1].together))
        approximate = self.approximate + Cost(draws=amount.draws, thresholds=amount.thresholds)
        after = replace(self, generations=generations, assignments=tuple(assignments), approximate=approximate)
        if not after.total.at_most(self.ceiling):
            raise BudgetExceeded(
                "this query would take a path of the tree above the curator's budget; it was not answered and nothing was "
                "drawn."
            )
        return after


Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class _Link(Generic[Value]):
    """A value and its successor, under the key 0.

    ``dict.setdefault`` stores the first of two competing successors in one step.
    """

    value: Value
    after: dict[int, _Link[Value]] = field(default_factory=dict)


class Atomic(Generic[Value]):
    """Holds one immutable value."""

    def __init__(self, value: Value) -> None:
        self._link = _Link(value)

    @property
    def value(self) -> Value:
        return self._last().value

    def update(self, change: Callable[[Value], Value]) -> Value:
        """Replace the value by ``change(value)``, and return the result; if ``change`` raises, the value stays the same.

        ``change`` must have no effects: it is called again if somebody else replaced the value first.
        """
        while True:
            before = self._last()
            after = _Link(change(before.value))
            if before.after.setdefault(0, after) is after:
                return after.value

    def _last(self) -> _Link[Value]:
        link = self._link
        while link.after:
            link = link.after[0]
        self._link = link
        return link


_watching: list[Watch] = []


class Watch:
    """A context that notices whether a ledger's entry, or a draw, began within it; ``begun`` stays afterwards."""

    def __init__(self) -> None:
        self.begun = False

    def __enter__(self) -> Self:
        _watching.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watching.remove(self)


def began() -> None:
    """Note that an entry, or a draw, is about to begin. An interruption from here on may come after something was spent."""
    for watch in _watching:
        watch.begun = True
