"""The costs so far of one curator's queries, as one immutable value, and how such a value is replaced in one step.

A curator holds one ``PrivacyFilter`` and replaces it by another in a single assignment, so an interruption at any line leaves
either the state before a query or the state after its charge, and never something between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.privacy.accounting import NONE, Cost, Event, Parallel, Sequence, cost, covers

Index = npt.NDArray[np.intp]

PARTITIONED = -1  # in place of a path: the node is closed


@dataclass(frozen=True)
class Roots:
    inclusion: Fraction | None = None  # the probability that a record takes part; None: 1
    costliest: Cost = field(default_factory=Cost)  # of its paths
    before: Cost = field(default_factory=Cost)  # what the assignments before it cost together


Courses = tuple[tuple[Event, ...], ...]


@dataclass(frozen=True)
class Path:
    """The cost of a path from a root, and the courses of steps that it has paid for, of which one may still run, in order."""

    cost: Cost = field(default_factory=Cost)
    reserved: Courses = ()

    def after(self, amount: Cost, step: Event | None = None) -> Path:
        """Return the path after a reserved step, or otherwise after a charge, which gives up all reserved steps.

        A reserved step gives up those before it: a selection after the measurement is not what was paid for.
        """
        rests: list[tuple[Event, ...]] = []
        for course in self.reserved:
            for place, paid in enumerate(course):
                if covers(paid, step):
                    rests.append(course[place + 1 :])
                    break
        return Path(self.cost, tuple(rests)) if rests else Path(self.cost + amount)


@dataclass(frozen=True, eq=False)
class Paths:
    """The charges of the nodes of one generation: node i, on its path from the root, has ``known[path[i]]``."""

    assignment: int
    unit: int  # the largest weight of a record in them
    known: tuple[Path, ...]
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
    together: Cost = field(default_factory=Cost)  # of the costliest path of each assignment
    approximate: Cost = field(default_factory=Cost)
    reserved: Courses = ()  # of steps about all records

    @property
    def total(self) -> Cost:
        return self.together + self.approximate

    def assigned(self, inclusion: Fraction | None, unit: int, roots: int) -> PrivacyFilter:
        paths = Paths(len(self.assignments), unit, (Path(),), np.zeros(roots, dtype=np.intp))
        return replace(
            self,
            assignments=(*self.assignments, Roots(inclusion, before=self.together)),
            generations={**self.generations, self.made: paths},
            made=self.made + 1,
        )

    def partitioned(self, generation: int, index: Index, children: npt.NDArray[np.integer]) -> PrivacyFilter:
        parents = self.generations[generation]
        of_children = replace(parents, path=np.repeat(parents.path[index], children))
        path = parents.path.copy()
        path[index] = PARTITIONED
        generations = {**self.generations, generation: replace(parents, path=path), self.made: of_children}
        if (path == PARTITIONED).all():
            del generations[generation]
        return replace(self, generations=generations, made=self.made + 1)

    def check_open(self, generation: int, index: Index) -> None:
        paths = self.generations.get(generation)
        in_order = not len(index) or (index[0] >= 0 and np.all(index[1:] > index[:-1]))
        known = 0 <= generation < self.made and (paths is None or not len(index) or index[-1] < len(paths.path))
        if not (in_order and known):
            raise ConfigurationError("a query names a node twice, out of order, or one that is not this curator's.")
        if paths is None or (paths.path[index] == PARTITIONED).any():
            raise ConfigurationError("a node that was partitioned is closed; query its children.")

    def reserving(self, event: Event, generation: int | None = None, index: Index | None = None) -> PrivacyFilter:
        """Return the filter after the steps of an event are charged together, without their draws, which are charged later."""
        parts = event.parts if isinstance(event, Parallel) else (event,)
        kinds, courses = set(), list[tuple[Event, ...]]()
        for part in parts:
            courses.append(part.parts if isinstance(part, Sequence) else (part,))
            if len(courses[-1]) > 1:
                kinds.add((type(part), getattr(part, "ratio", None)))
        if len(kinds) > 1:  # selections choose the course, so all have one account (docs/proofs/joint.md)
            raise ValueError("alternatives that are charged together have one ratio; join them.")
        return self.charged(replace(cost(event), draws=0), generation, index, courses=tuple(courses))

    def charged(
        self,
        amount: Cost,
        generation: int | None = None,
        index: Index | None = None,
        *,
        step: Event | None = None,
        courses: Courses = (),
    ) -> PrivacyFilter:
        """Return the filter after a query about some nodes of a generation, or about all records; or raise BudgetExceeded.

        A ``step`` that was reserved adds its draws only. ``courses`` are reserved by the amount.
        """
        of_path, number, generations = replace(amount, draws=0, thresholds=NONE), 0, self.generations
        reserved: Courses = ()
        if generation is None or index is None:
            root = Path(self.assignments[0].costliest, self.reserved).after(of_path, step)
            costs, reserved = [root.cost], courses or root.reserved
        else:
            paths = self.generations[generation]
            number, of_nodes, path = paths.assignment, paths.path[index], paths.path.copy()
            old = np.flatnonzero(np.bincount(of_nodes)).tolist()  # few: the charge of a path depends on its level alone
            after, costs = [], []
            for i in old:
                one = paths.known[i].after(of_path, step)
                after.append(replace(one, reserved=courses) if courses else one)
                costs.append(one.cost)
            path[index] = len(paths.known) + np.searchsorted(old, of_nodes)
            generations = {**self.generations, generation: replace(paths, known=(*paths.known, *after), path=path)}
        assignments, before = list(self.assignments), self.assignments[number].before
        for place in range(number, len(assignments)):
            roots = assignments[place]
            costliest = reduce(Cost.__or__, costs, roots.costliest) if place == number else roots.costliest
            assignments[place] = Roots(roots.inclusion, costliest, before)
            # Amplified where a record may be in no root.
            before += costliest if roots.inclusion is None else costliest.sampled(roots.inclusion)
        approximate = self.approximate + Cost(draws=amount.draws, thresholds=amount.thresholds)
        result = PrivacyFilter(self.ceiling, generations, self.made, tuple(assignments), before, approximate, reserved)
        if not result.total.at_most(self.ceiling):
            raise BudgetExceeded("this query would pass the curator's budget; it was not answered, nothing was drawn.")
        return result


Value = TypeVar("Value")


class Atomic(Generic[Value]):
    """Holds one immutable value, that of the last link of a chain.

    ``dict.setdefault`` stores the first of two competing successors of a link in one step.
    """

    def __init__(self, value: Value) -> None:
        self._link: dict[str, Any] = {"value": value}

    @property
    def value(self) -> Value:
        link = self._link
        while "after" in link:
            link = link["after"]
        value: Value = link["value"]
        return value

    def update(self, change: Callable[[Value], Value]) -> Value:
        """Replace the value by ``change(value)``, and return the result; if ``change`` raises, the value stays the same.

        ``change`` must have no effects: it is called again if somebody else replaced the value first.
        """
        link = self._link
        while True:
            while "after" in link:
                link = link["after"]
            self._link = link
            value = change(link["value"])
            after = {"value": value}
            if link.setdefault("after", after) is after:
                return value


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
