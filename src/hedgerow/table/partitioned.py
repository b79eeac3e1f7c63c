"""Records in partitions, wherever these are: the commands of a table, as values, and how a partition answers queries."""

from __future__ import annotations

import math
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, for_each, lazy
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Coins, DiscreteGaussian
from hedgerow.scores import Candidates
from hedgerow.table import kernels
from hedgerow.table.memory import NO_WEIGHTS, MemoryTable, count, grouped
from hedgerow.table.table import Histogram, Query, RecordRule, RecordVotes, Sums, WeightRule

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
    def table(self) -> MemoryTable:
        margins = self.arrays.get(MARGINS)
        n_codes, n_classes = self._task.n_codes, self._task.n_classes
        return MemoryTable(self.codes, self.labels, n_codes, n_classes, self.first_row, margins=margins)

    def change(self, **arrays: npt.NDArray[Any]) -> None:
        self.arrays.update(arrays)
        for name in (*arrays, "table"):
            self.__dict__.pop(name, None)

    def vote(self, votes: RecordVotes) -> None:
        """Add votes to the margins, at the latest when the margins are read. ``Sums`` adds them in its own scan."""
        self.update_margins()
        self._votes = votes

    def update_margins(self) -> None:
        if self._votes is not None:
            self.table.update_margins(self._votes)
            self.arrays[MARGINS], self._votes = self.table.margins(), None

    def answer(self, query: Query) -> Integers:
        if isinstance(query, Sums):
            answer = self.table.answer(replace(query, votes=self._votes))
            if self._votes is not None:
                self.arrays[MARGINS], self._votes = self.table.margins(), None
            return answer
        offsets = np.concatenate(([0], np.cumsum(self._task.n_codes)))
        # The records of the nodes, sorted by node; without codes if only labels are counted
        of: Nodes = query.of
        part = self.arrays[f"part-{of.frontier}"]
        if of.nodes is not None:
            place = np.full(of.n_nodes + 1, -1, dtype=np.int32)  # its last entry stands for -1
            place[of.nodes] = np.arange(len(of.nodes), dtype=np.int32)
            part = place[part]
        weights = NO_WEIGHTS if of.weights is None else self.arrays[f"weights-{of.weights}"]
        codes = self.codes if query.reads_codes else np.empty((len(part), 0), dtype=np.uint8)
        n_classes = self._task.n_classes
        nodes = grouped(codes, self.labels, n_classes, weights, part, len(of))
        return count(replace(query, of=nodes), offsets, n_classes)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Some nodes of a frontier; all if ``nodes`` is None. Its records have the weights of the assignment ``weights``."""

    frontier: int
    n_nodes: int
    nodes: npt.NDArray[np.intp] | None
    weights: int | None

    def __len__(self) -> int:
        return self.n_nodes if self.nodes is None else len(self.nodes)


# Commands change what later queries see of every record; see the methods of ``Table`` of the same purpose.


@dataclass(frozen=True, eq=False)
class Merge:
    into: tuple[Integers, ...]

    def apply(self, records: Records) -> None:
        records.update_margins()  # by the codes before the change
        codes = records.codes.copy()
        offsets = np.concatenate(([0], np.cumsum([len(codes) for codes in self.into]))).astype(np.int64)
        kernels.merge(codes, offsets, np.concatenate(self.into).astype(codes.dtype))
        records.change(codes=codes)


@dataclass(frozen=True, eq=False)
class Sample:
    coins: Coins
    first: int
    last: int

    def apply(self, records: Records) -> None:
        part = self.coins.parts(records.first_row, len(records.labels))
        records.change(labels=np.where((self.first <= part) & (part < self.last), records.labels, -1))


@dataclass(frozen=True, eq=False)
class Thin:
    coins: Coins

    def apply(self, records: Records) -> None:
        records.update_margins()
        chosen = self.coins.parts(records.first_row, len(records.labels)) == 0
        margins = {MARGINS: records.arrays[MARGINS][chosen]} if MARGINS in records.arrays else {}
        records.change(codes=records.codes[chosen], labels=records.labels[chosen], **margins)


@dataclass(frozen=True, eq=False)
class AddVotes:
    votes: RecordVotes

    def apply(self, records: Records) -> None:
        records.vote(self.votes)


@dataclass(frozen=True, eq=False)
class Assign:
    frontier: int
    coins: Coins
    rule: RecordRule | None
    weights: WeightRule | None

    def apply(self, records: Records) -> None:
        records.update_margins()
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
        part = records.arrays[f"part-{self.parent}"]
        out = np.empty(len(part), dtype=np.int32)
        kernels.route(records.codes, part, self.test, self.feature, self.branch, self.first_child, out)
        records.arrays[f"part-{self.frontier}"] = out


Command = Merge | Sample | Thin | AddVotes | Assign | Move


@dataclass(frozen=True, eq=False)
class Task:
    log: str  # which log this is; a cache belongs to one
    n_codes: Integers  # (features,): how many codes each feature has after all commands
    n_classes: int  # how many classes there are
    # The commands by their numbers, which rise from 1. Those that no later command and no query needs may be absent
    commands: tuple[tuple[int, Command], ...]
    end: int  # the number of the last command of the table, even if that command is absent
    query: Query
    live: frozenset[str]  # the names of what a cache must keep for later queries, besides codes, classes and margins
    since: int = 0  # the commands up to this number are left out, because they were sent before

    @property
    def size(self) -> int:
        return math.prod(self.query.shape(self.n_codes, self.n_classes))

    def after(self, number: int) -> Task:
        return replace(self, commands=tuple(pair for pair in self.commands if pair[0] > number), since=number)

    def answer(self, partition: Partition, cache: Cache) -> Integers:
        """Return a partition's part of the answer. It depends only on the partition and on the task with its whole log.

        OutdatedCache if commands were left out that the cache lacks: query again with all of them.
        """
        with cache.lock:
            # A signal's handler may query on this thread at any line. Before the second line, its task ends and returns the
            # cache. After it, that task works on a cache of its own.
            own, free = cache, not cache.taken
            own.taken = True
            try:
                # The cache of a later task must not change: it holds votes that this task must not see.
                cache = cache if free and cache.position <= self.end else Cache()
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
            finally:
                if free:
                    own.taken = False


MOST_CELLS = 1 << 23  # of one query about histograms: 64 MiB in every partition's answer
BLOCK_CELLS = 1 << 18  # that are worked on together


class Engine(Protocol):
    """Where partitions are counted."""

    def ask(self, task: Task) -> Integers:
        """Return the sum of the answers of all partitions, each added once. Draw nothing."""

    def forget(self, log: str) -> None: ...

    def close(self) -> None:
        """Drop all that is kept of the records. There are no queries after this."""


@dataclass(frozen=True, eq=False)
class _Made:
    """A frontier that a command made, and the frontier before it. Both are needed to make it again."""

    number: int
    weights: int | None
    parent: _Made | None


@dataclass(frozen=True, eq=False)
class Frontier:
    """A handle of nodes. The commands that made them stay in the log as long as the handle exists."""

    nodes: Nodes
    made: _Made

    def __len__(self) -> int:
        return len(self.nodes)


class PartitionedTable:
    """Records in partitions behind an engine, which may repeat queries: each has the log of all commands. See ``Table``."""

    def __init__(self, engine: Engine, n_codes: Integers, n_classes: int) -> None:
        self._engine, self.n_classes = engine, n_classes
        self._changes: list[Command] = []  # all commands but those of frontiers
        self._first_codes = self._n_codes = np.asarray(n_codes, dtype=np.int64)
        self._log = secrets.token_hex(8)
        self._end = 0
        self._commands: dict[int, Command] = {}
        self._made: weakref.WeakSet[_Made] = weakref.WeakSet()
        self._lock = threading.RLock()
        weakref.finalize(self, engine.forget, self._log)

    @property
    def offsets(self) -> Integers:
        return np.concatenate(([0], np.cumsum(self._n_codes))).astype(np.int64)

    def fresh(self) -> PartitionedTable:
        return self._with([change for change in self._changes if isinstance(change, Sample)])

    def sampled(self, coins: Coins, first: int, last: int) -> PartitionedTable:
        other = self.fresh()
        other._tell(Sample(coins, first, last))
        return other

    def thinned(self, coins: Coins) -> PartitionedTable:
        with self._lock:
            other = self._with([*self._changes, Thin(coins)])
            other._n_codes = self._n_codes
        return other

    def _with(self, changes: Sequence[Command]) -> PartitionedTable:
        other = PartitionedTable(self._engine, self._first_codes, self.n_classes)
        for change in changes:
            other._tell(change)
        return other

    def merge(self, into: Sequence[Integers]) -> None:
        with self._lock:
            self._tell(Merge(tuple(np.array(codes, dtype=np.int64) for codes in into)))
            self._n_codes = np.array([int(codes.max()) + 1 for codes in into], dtype=np.int64)

    def update_margins(self, votes: RecordVotes) -> None:
        with self._lock:
            self._tell(AddVotes(votes))

    def assign(self, coins: Coins, rule: RecordRule | None = None, weights: WeightRule | None = None) -> Frontier:
        with self._lock:
            number = self._end + 1
            made = _Made(number, None if weights is None else number, None)
            self._tell(Assign(number, coins, rule, weights))
            return self._frontier(made, coins.coin.parts)

    def take(self, frontier: Frontier, nodes: npt.NDArray[np.intp]) -> Frontier:
        of = frontier.nodes
        taken = np.asarray(nodes) if of.nodes is None else of.nodes[nodes]
        return Frontier(Nodes(of.frontier, of.n_nodes, taken, of.weights), frontier.made)

    def partition(self, frontier: Frontier, candidates: Candidates, chosen: Integers) -> Frontier:
        of = frontier.nodes
        ends = np.cumsum(candidates.arity[chosen], dtype=np.int64)
        tests, place = np.unique(chosen, return_inverse=True)
        test, first_child = np.full(of.n_nodes, -1, dtype=np.int64), np.zeros(of.n_nodes, dtype=np.int64)
        nodes = slice(None) if of.nodes is None else of.nodes
        test[nodes], first_child[nodes] = place, np.concatenate(([0], ends[:-1]))
        with self._lock:
            number = self._end + 1
            made = _Made(number, of.weights, frontier.made)
            branches = candidates.branches(tests)
            self._tell(Move(number, of.frontier, test, candidates.feature[tests], branches, first_child))
            return self._frontier(made, int(ends[-1]))

    def _frontier(self, made: _Made, n_nodes: int) -> Frontier:
        self._made.add(made)
        return Frontier(Nodes(made.number, n_nodes, None, made.weights), made)

    def answer(self, query: Query) -> Integers:
        with self._lock:
            if not isinstance(query, Sums):
                return self._engine.ask(self._task(replace(query, of=query.of.nodes)))
            if query.votes is not None:
                self.update_margins(query.votes)
            return self._engine.ask(self._task(replace(query, votes=None)))

    def for_histograms(
        self, frontier: Frontier, first: int, last: int, work: Callable[[int, int, Integers], None]
    ) -> None:
        cells = int(self._n_codes.sum()) * self.n_classes
        most, few = max(1, MOST_CELLS // cells), max(1, BLOCK_CELLS // cells)
        for start in range(first, last, most):
            nodes = np.arange(start, min(start + most, last))
            counts = self.answer(Histogram(self.take(frontier, nodes)))

            def of_block(begin: int, start: int = start, counts: Integers = counts) -> None:
                work(start + begin, start + min(begin + few, len(counts)), counts[begin : begin + few])

            for_each(range(0, len(nodes), few), of_block)

    def close(self) -> None:
        self._engine.close()

    def _tell(self, command: Command) -> None:
        if not isinstance(command, Assign | Move):
            self._changes.append(command)
        self._commands[self._end + 1] = command
        self._end += 1

    def _task(self, query: Query) -> Task:
        """Return the task of a query, and drop the commands of frontiers that nobody holds any more."""
        with self._lock:
            kept, live = set(), set()
            for made in list(self._made):
                live |= {f"part-{made.number}"} | ({f"weights-{made.weights}"} if made.weights else set())
                origin: _Made | None = made
                while origin is not None:
                    kept.add(origin.number)
                    origin = origin.parent
            self._commands = {
                number: command
                for number, command in self._commands.items()
                if number in kept or not isinstance(command, Assign | Move)
            }
            commands = tuple(self._commands.items())
            return Task(self._log, self._n_codes, self.n_classes, commands, self._end, query, frozenset(live))


class OwnersTable(PartitionedTable):
    """Records of owners who add the noise: it answers sums of channels, with noise in shares, and no other query."""

    _engine: Any  # an ``Engine`` whose ``ask`` takes a noise as well, of which each owner adds a share

    def answer(self, query: Query) -> Integers:
        raise ConfigurationError("owners who add noise send sums with it, and nothing else.")

    def noisy_sums(self, query: Sums, noise: DiscreteGaussian) -> Integers:
        with self._lock:
            answer: Integers = self._engine.ask(self._task(query), noise)
            return answer
