"""The commands of a table in partitions, as values, and how a partition answers queries: all of them public or released.

A command changes what later queries see of each record. The answer of a query is a sum over records. A partition's answer
depends only on its records, the commands and the query. So any worker that has these can answer, also in place of a worker
that was lost.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.lazy_values import lazy
from hedgerow.mechanisms import Coins
from hedgerow.table import kernels
from hedgerow.table.memory import NO_WEIGHTS, MemoryFrontier, MemoryTable, classes_among, count, grouped
from hedgerow.table.table import Query, RecordRule, RecordVotes, Sums, WeightRule

Arrays = Mapping[str, npt.NDArray[Any]]

CODES, LABELS, MARGINS = "codes", "labels", "margins"


class OutdatedCache(Exception):  # noqa: N818 - it is no error: the driver then sends the whole log
    """A cache lacks commands that were left out of a task."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Consecutive records: their ``codes`` and ``labels``, of which the first has the row number ``first_row`` among all."""

    first_row: int
    arrays: Arrays = field(repr=False)


class Cache:
    """The results of the commands up to ``position`` on a partition's records.

    A cache only saves time: no command is carried out twice. Without a cache, or if a change of it was interrupted (``position``
    is -1), all commands are carried out again. A cache never goes back. So two kinds of tasks are answered without it: tasks
    that are older than it, and those that the handler of a signal makes during another task.
    """

    def __init__(self, arrays: MutableMapping[str, npt.NDArray[Any]] | None = None, position: int = 0) -> None:
        self.arrays: MutableMapping[str, npt.NDArray[Any]] = {} if arrays is None else arrays
        self.position = position
        self.lock = threading.RLock()  # a signal's handler may query on the thread that holds it
        self.taken = False

    def clear(self) -> None:
        self.arrays.clear()
        self.position = 0


class Records:
    """A partition's records after the commands. Arrays, which may be on disk, are read when they are needed, and once."""

    def __init__(self, partition: Partition, arrays: MutableMapping[str, npt.NDArray[Any]], task: Task) -> None:
        self.first_row, self._partition, self.arrays, self._task = partition.first_row, partition.arrays, arrays, task
        self._votes: RecordVotes | None = None  # that are not in the margins yet

    @lazy
    def codes(self) -> npt.NDArray[np.unsignedinteger]:
        return self.arrays[CODES] if CODES in self.arrays else self._partition[CODES]

    @lazy
    def labels(self) -> npt.NDArray[np.signedinteger]:
        """The classes; -1 also for records that are not in the sample."""
        return self.arrays[LABELS] if LABELS in self.arrays else self._partition[LABELS]

    @lazy
    def _table(self) -> MemoryTable:
        margins = self.arrays.get(MARGINS)
        n_codes, n_classes = self._task.n_codes, self._task.n_classes
        return MemoryTable(self.codes, self.labels, n_codes, n_classes, self.first_row, margins=margins)

    @property
    def table(self) -> MemoryTable:
        """These records as a table of their own, with all votes in the margins."""
        self.update_margins()
        return self._table

    def change(self, **arrays: npt.NDArray[Any]) -> None:
        """Replace codes, labels or margins. Those of the partition itself do not change."""
        self.arrays.update(arrays)
        for name in (*arrays, "_table"):
            self.__dict__.pop(name, None)

    def vote(self, votes: RecordVotes) -> None:
        """Add votes to the margins, at the latest when the margins are read. ``Sums`` adds them in its own scan."""
        self.update_margins()
        self._votes = votes

    def update_margins(self) -> None:
        if self._votes is not None:
            self._table.update_margins(self._votes)
            self._keep_margins()

    def _keep_margins(self) -> None:
        if self._votes is not None:
            self.arrays[MARGINS], self._votes = self._table.margins, None

    def answer(self, query: Query) -> Integers:
        if isinstance(query, Sums):
            answer = self._table.answer(replace(query, votes=self._votes))
            self._keep_margins()
            return answer
        offsets = np.concatenate(([0], np.cumsum(self._task.n_codes)))
        return count(
            replace(query, of=self.nodes(query.of, with_codes=query.reads_codes)), offsets, self._task.n_classes
        )

    def part(self, frontier: int) -> npt.NDArray[np.int32]:
        return self.arrays[f"part-{frontier}"]

    def nodes(self, of: Nodes, *, with_codes: bool) -> MemoryFrontier:
        """Return the records of some nodes, sorted by node; without codes if only labels are counted."""
        part = self.part(of.frontier)
        if of.nodes is not None:
            place = np.full(of.n_nodes + 1, -1, dtype=np.int32)  # its last entry stands for -1
            place[of.nodes] = np.arange(len(of.nodes), dtype=np.int32)
            part = place[part]
        weights = NO_WEIGHTS if of.weights is None else self.arrays[f"weights-{of.weights}"]
        codes = self.codes if with_codes else np.empty((len(part), 0), dtype=np.uint8)
        classes = classes_among(self.labels, self._task.n_classes)
        return grouped(codes, classes, weights, part, len(of))


@dataclass(frozen=True, eq=False)
class Nodes:
    """Some nodes of a frontier; all if ``nodes`` is None. Its records have the weights of the assignment ``weights``."""

    frontier: int
    n_nodes: int
    nodes: npt.NDArray[np.intp] | None
    weights: int | None

    def __len__(self) -> int:
        return self.n_nodes if self.nodes is None else len(self.nodes)


class Command(Protocol):
    """A command, which changes what later queries see of every record; see the method of ``Table`` of the same purpose."""

    def apply(self, records: Records) -> None:
        """Change the state of the records."""


@dataclass(frozen=True, eq=False)
class Merge:
    """Merge codes; see ``Table.merge``."""

    into: tuple[Integers, ...]

    def apply(self, records: Records) -> None:
        records.update_margins()  # by the codes before the change
        codes = records.codes.copy()
        offsets = np.concatenate(([0], np.cumsum([len(codes) for codes in self.into]))).astype(np.int64)
        kernels.merge(codes, offsets, np.concatenate(self.into).astype(codes.dtype))
        records.change(codes=codes)


@dataclass(frozen=True, eq=False)
class Sample:
    """Remove the class of all records outside a sample; see ``Table.sampled``."""

    coins: Coins
    first: int
    last: int

    def apply(self, records: Records) -> None:
        part = self.coins.parts(records.first_row, len(records.labels))
        records.change(labels=np.where((self.first <= part) & (part < self.last), records.labels, -1))


@dataclass(frozen=True, eq=False)
class Thin:
    """Drop all records outside a sample; see ``Table.thinned``."""

    coins: Coins

    def apply(self, records: Records) -> None:
        records.update_margins()
        chosen = self.coins.parts(records.first_row, len(records.labels)) == 0
        margins = {MARGINS: records.arrays[MARGINS][chosen]} if MARGINS in records.arrays else {}
        records.change(codes=records.codes[chosen], labels=records.labels[chosen], **margins)


@dataclass(frozen=True, eq=False)
class AddVotes:
    """Add votes to margins; see ``Table.update_margins``."""

    votes: RecordVotes

    def apply(self, records: Records) -> None:
        records.vote(self.votes)


@dataclass(frozen=True, eq=False)
class Assign:
    """Assign records to the nodes of a new frontier by coins; see ``Table.assign``."""

    frontier: int
    coins: Coins
    rule: RecordRule | None
    weights: WeightRule | None

    def apply(self, records: Records) -> None:
        records.arrays[f"part-{self.frontier}"] = records.table.parts(self.coins, self.rule)
        if self.weights is not None:
            records.arrays[f"weights-{self.frontier}"] = records.table.weights(self.weights)


@dataclass(frozen=True, eq=False)
class Move:
    """Send the records of a frontier to the nodes of a new one by tests; see ``kernels.route`` for the arrays."""

    frontier: int
    parent: int
    test: Integers
    feature: npt.NDArray[np.int32]
    branch: npt.NDArray[np.unsignedinteger]
    first_child: Integers

    def apply(self, records: Records) -> None:
        part = records.part(self.parent)
        out = np.empty(len(part), dtype=np.int32)
        kernels.route(records.codes, part, self.test, self.feature, self.branch, self.first_child, out)
        records.arrays[f"part-{self.frontier}"] = out


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that a partition needs for an answer, except its records.

    Parameters
    ----------
    log : str
        Which log this is; a cache belongs to one.
    n_codes : ndarray of shape (features,)
        How many codes each feature has after all commands.
    n_classes : int
        How many classes there are.
    commands : tuple of (int, Command)
        The commands by their numbers, which rise from 1. Commands that no later command and no query needs may be absent.
    end : int
        The number of the last command of the table, even if that command is absent.
    query : Query
        The query.
    live : frozenset of str
        The names of what a cache must keep for later queries, besides codes, classes and margins.
    since : int
        The commands up to this number are left out, because they were sent before.
    """

    log: str
    n_codes: Integers
    n_classes: int
    commands: tuple[tuple[int, Command], ...]
    end: int
    query: Query
    live: frozenset[str]
    since: int = 0

    @property
    def size(self) -> int:
        return self.query.size(self.n_codes, self.n_classes)

    def after(self, number: int) -> Task:
        """Return the task without the commands up to a number."""
        return replace(self, commands=tuple(pair for pair in self.commands if pair[0] > number), since=number)

    def answer(self, partition: Partition, cache: Cache) -> Integers:
        """Return a partition's part of the answer. It depends only on the partition and on the task with its whole log.

        Raises
        ------
        OutdatedCache
            If commands were left out that the cache lacks. Query again with all of them.
        """
        with cache.lock:
            # A signal's handler may query on this thread at any line. Before the second line, its task ends and returns the
            # cache. After it, that task works on a cache of its own.
            free = not cache.taken
            cache.taken = True
            try:
                # The cache of a later task must not change: it holds votes that this task must not see.
                return self._answer(partition, cache if free and cache.position <= self.end else Cache())
            finally:
                if free:
                    cache.taken = False

    def _answer(self, partition: Partition, cache: Cache) -> Integers:
        if cache.position < max(self.since, 0):
            if self.since:
                raise OutdatedCache
            cache.clear()
        records = Records(partition, cache.arrays, self)
        due = [command for number, command in self.commands if number > cache.position]
        if due:
            cache.position = -1
            for command in due:
                command.apply(records)
        for name in set(cache.arrays) - self.live - {CODES, LABELS, MARGINS}:
            del cache.arrays[name]
        answer = records.answer(self.query)
        records.update_margins()  # a query that reads no margins leaves the votes for later ones
        cache.position = self.end
        return answer
