"""The commands and queries of a table in partitions, as values: all of them public or released.

A command changes what later queries see of each record. The answer of a query is a sum over records. A partition's answer
depends only on its records, the commands and the query. So any worker that has these can answer, also in place of a worker
that was lost.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.lazy_values import lazy
from hedgerow.mechanisms import Coins
from hedgerow.table import kernels
from hedgerow.table.memory import NO_WEIGHTS, MemoryFrontier, MemoryTable, classes_among, grouped
from hedgerow.table.table import CellRule, ChannelRule, Layout, RecordRule, RecordVotes, WeightRule

Arrays = Mapping[str, npt.NDArray[Any]]

CODES, LABELS, MARGINS = "codes", "labels", "margins"


class Behind(Exception):  # noqa: N818 - it is no error: the driver then sends the whole log
    """A memo lacks commands that were left out of a task."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Consecutive records: their ``codes`` and ``labels``, of which the first has the row number ``first_row`` among all."""

    first_row: int
    arrays: Arrays = field(repr=False)


class Memo:
    """The results of the commands up to ``position`` on a partition's records.

    A memo only saves time: no command is carried out twice. Without a memo, or if a change of it was interrupted (``position``
    is -1), all commands are carried out again. A memo never goes back. So two kinds of tasks are answered without it: tasks
    that are older than it, and those that the handler of a signal makes during another task.
    """

    def __init__(self, arrays: MutableMapping[str, npt.NDArray[Any]] | None = None) -> None:
        self.arrays: MutableMapping[str, npt.NDArray[Any]] = {} if arrays is None else arrays
        self.position = 0
        self.lock = threading.RLock()  # a signal's handler may query on the thread that holds it
        self.taken = False


class Records:
    """A partition's records after the commands. Arrays are fetched when they are needed."""

    def __init__(self, partition: Partition, arrays: MutableMapping[str, npt.NDArray[Any]], task: Task) -> None:
        self._partition, self._arrays, self._task = partition, arrays, task
        self._votes: RecordVotes | None = None  # that are not in the margins yet

    @lazy
    def codes(self) -> npt.NDArray[np.unsignedinteger]:
        """The codes, after all merges."""
        return self._arrays[CODES] if CODES in self._arrays else self._partition.arrays[CODES]

    @lazy
    def labels(self) -> npt.NDArray[np.signedinteger]:
        """The classes; -1 also for records that are not in the sample."""
        return self._arrays[LABELS] if LABELS in self._arrays else self._partition.arrays[LABELS]

    @property
    def table(self) -> MemoryTable:
        """These records as a table of their own."""
        self.update_margins()
        return self._table

    @lazy
    def _table(self) -> MemoryTable:
        margins = self._arrays.get(MARGINS)
        first_row, n_codes = self._partition.first_row, self._task.n_codes
        return MemoryTable(self.codes, self.labels, n_codes, self._task.n_classes, first_row, margins=margins)

    def merge(self, into: tuple[Integers, ...]) -> None:
        """Replace the codes. The codes of the partition itself do not change."""
        self.update_margins()  # by the codes before the change
        codes = self.codes.copy()
        offsets = np.concatenate(([0], np.cumsum([len(codes) for codes in into]))).astype(np.int64)
        kernels.merge(codes, offsets, np.concatenate(into).astype(codes.dtype))
        self._arrays[CODES] = codes
        self.__dict__.pop("codes", None)
        self.__dict__.pop("_table", None)

    def keep(self, coins: Coins, first: int, last: int) -> None:
        """Remove the class of all records whose coins are in other parts."""
        part = coins.parts(self._partition.first_row, len(self.labels))
        self._arrays[LABELS] = np.where((first <= part) & (part < last), self.labels, -1)
        self.__dict__.pop("labels", None)
        self.__dict__.pop("_table", None)

    def thin(self, coins: Coins) -> None:
        """Keep only the records whose coins are in part 0."""
        self.update_margins()
        chosen = coins.parts(self._partition.first_row, len(self.labels)) == 0
        self._arrays[CODES], self._arrays[LABELS] = self.codes[chosen], self.labels[chosen]
        if MARGINS in self._arrays:
            self._arrays[MARGINS] = self._arrays[MARGINS][chosen]
        for name in ("codes", "labels", "_table"):
            self.__dict__.pop(name, None)

    def vote(self, votes: RecordVotes) -> None:
        """Add votes to the margins, at the latest when the margins are read. ``sums`` adds them in its own scan."""
        self.update_margins()
        self._votes = votes

    def update_margins(self) -> None:
        """Add the votes that are not in the margins yet."""
        if self._votes is not None:
            self._table.update_margins(self._votes)
            self._keep_margins()

    def sums(self, rule: ChannelRule, layout: Layout) -> Integers:
        """Return the sums of a rule's channels, (parts, codes of all features, channels). The scan also adds the last votes."""
        found = self._table.sums(rule, self._votes, layout)
        self._keep_margins()
        return found

    def _keep_margins(self) -> None:
        if self._votes is not None:
            self._arrays[MARGINS], self._votes = self._table.margins, None

    def remember(self, name: str, number: int, array: npt.NDArray[Any]) -> None:
        """Remember the nodes of records, or their weights, by the number of a frontier."""
        self._arrays[f"{name}-{number}"] = array

    def part(self, frontier: int) -> npt.NDArray[np.int32]:
        """Return the node of each record in a frontier."""
        return self._arrays[f"part-{frontier}"]

    def frontier(self, of: Nodes, *, with_codes: bool) -> MemoryFrontier:
        """Return the records of some nodes, sorted by node; without codes if only labels are counted."""
        part = self.part(of.frontier)
        if of.nodes is not None:
            place = np.full(of.n_nodes + 1, -1, dtype=np.int32)  # its last entry stands for -1
            place[of.nodes] = np.arange(len(of.nodes), dtype=np.int32)
            part = place[part]
        weights = NO_WEIGHTS if of.weights is None else self._arrays[f"weights-{of.weights}"]
        codes = self.codes if with_codes else np.empty((len(part), 0), dtype=np.uint8)
        classes = classes_among(self.labels, self._task.n_classes)
        return grouped(codes, classes, weights, part, len(of))

    def class_counts(self, of: Nodes) -> Integers:
        """Return the weight of the records of each class in each node, without moving codes."""
        counted = self.frontier(of, with_codes=False)
        out = np.zeros((len(of), self._task.n_classes), dtype=np.int64)
        kernels.class_counts(counted.labels, counted.weights, counted.starts, out)
        return out


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
    """A command, which changes what later queries see of every record."""

    def apply(self, records: Records) -> None:
        """Change the state of the records."""


@dataclass(frozen=True, eq=False)
class Merge:
    """Merge codes; see ``Table.merge``."""

    into: tuple[Integers, ...]

    def apply(self, records: Records) -> None:
        """Change the codes."""
        records.merge(self.into)


@dataclass(frozen=True, eq=False)
class Sample:
    """Remove the class of all records outside a sample; see ``Table.sampled``."""

    coins: Coins
    first: int
    last: int

    def apply(self, records: Records) -> None:
        """Change the classes."""
        records.keep(self.coins, self.first, self.last)


@dataclass(frozen=True, eq=False)
class Thin:
    """Drop all records outside a sample; see ``Table.thinned``."""

    coins: Coins

    def apply(self, records: Records) -> None:
        """Drop them."""
        records.thin(self.coins)


@dataclass(frozen=True, eq=False)
class AddVotes:
    """Add votes to margins; see ``Table.update_margins``."""

    votes: RecordVotes

    def apply(self, records: Records) -> None:
        """Change the margins."""
        records.vote(self.votes)


@dataclass(frozen=True, eq=False)
class Assign:
    """Assign records to the nodes of a new frontier by coins; see ``Table.assign``."""

    frontier: int
    coins: Coins
    rule: RecordRule | None
    weights: WeightRule | None

    def apply(self, records: Records) -> None:
        """Remember the node and the weight of each record."""
        records.remember("part", self.frontier, records.table.parts(self.coins, self.rule))
        if self.weights is not None:
            records.remember("weights", self.frontier, records.table.weights(self.weights))


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
        """Remember the node of each record."""
        part = records.part(self.parent)
        out = np.empty(len(part), dtype=np.int32)
        kernels.route(records.codes, part, self.test, self.feature, self.branch, self.first_child, out)
        records.remember("part", self.frontier, out)


class Question(Protocol):
    """A query. Its answer is a sum of integers over records. If these are ``counts``, none of them is negative."""

    counts: ClassVar[bool]

    def cells(self, n_codes: Integers, n_classes: int) -> int:
        """Return how many integers the answer has, given the number of codes of each feature, (features,)."""

    def answer(self, records: Records) -> Integers:
        """Return the sum over these records."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """The number of records in each node, without weights."""

    of: Nodes

    counts: ClassVar[bool] = True

    def cells(self, n_codes: Integers, n_classes: int) -> int:
        """Return how many integers the answer has."""
        return len(self.of)

    def answer(self, records: Records) -> Integers:
        """Return it, of shape (nodes,)."""
        return np.diff(records.frontier(self.of, with_codes=False).starts)


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The weight of the records of each class in each node."""

    of: Nodes

    counts: ClassVar[bool] = True

    def cells(self, n_codes: Integers, n_classes: int) -> int:
        """Return how many integers the answer has."""
        return len(self.of) * n_classes

    def answer(self, records: Records) -> Integers:
        """Return it, of shape (nodes, classes)."""
        return records.class_counts(self.of)


@dataclass(frozen=True, eq=False)
class CellCounts:
    """The number of records of each class in each cell of a rule."""

    of: Nodes
    rule: CellRule

    counts: ClassVar[bool] = True

    def cells(self, n_codes: Integers, n_classes: int) -> int:
        """Return how many integers the answer has."""
        return self.rule.n_cells * n_classes

    def answer(self, records: Records) -> Integers:
        """Return it, of shape (cells, classes)."""
        return records.table.cell_counts(records.frontier(self.of, with_codes=True), self.rule)


@dataclass(frozen=True, eq=False)
class Histogram:
    """The weight of the records of each node by code and class."""

    of: Nodes

    counts: ClassVar[bool] = True

    def cells(self, n_codes: Integers, n_classes: int) -> int:
        """Return how many integers the answer has."""
        return len(self.of) * int(n_codes.sum()) * n_classes

    def answer(self, records: Records) -> Integers:
        """Return it, of shape (nodes, codes of all features, classes)."""
        return records.table.histogram(records.frontier(self.of, with_codes=True))


@dataclass(frozen=True, eq=False)
class Sums:
    """The sums of a rule's channels by part and code."""

    rule: ChannelRule
    layout: Layout

    counts: ClassVar[bool] = False

    def cells(self, n_codes: Integers, n_classes: int) -> int:
        """Return how many integers the answer has."""
        codes = self.layout.offsets(np.concatenate(([0], np.cumsum(n_codes))))[-1]
        return self.layout.n_parts * int(codes) * self.rule.channels

    def answer(self, records: Records) -> Integers:
        """Return it, of shape (parts, codes of all features, channels), or (1, 1, channels)."""
        return records.sums(self.rule, self.layout)


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that a partition needs for an answer, except its records.

    Parameters
    ----------
    log : str
        Which log this is; a memo belongs to one.
    n_codes : ndarray of shape (features,)
        How many codes each feature has after all commands.
    n_classes : int
        How many classes there are.
    commands : tuple of (int, Command)
        The commands by their numbers, which rise from 1. Commands that no later command and no query needs may be absent.
    end : int
        The number of the last command of the table, even if that command is absent.
    question : Question
        The query.
    live : frozenset of str
        The names of what a memo must keep for later queries, besides codes, classes and margins.
    since : int
        The commands up to this number are left out, because they were sent before.
    """

    log: str
    n_codes: Integers
    n_classes: int
    commands: tuple[tuple[int, Command], ...]
    end: int
    question: Question
    live: frozenset[str]
    since: int = 0

    def after(self, number: int) -> Task:
        """Return the task without the commands up to a number."""
        return replace(self, commands=tuple(pair for pair in self.commands if pair[0] > number), since=number)

    def answer(self, partition: Partition, memo: Memo) -> Integers:
        """Return a partition's part of the answer. It depends only on the partition and on the task with its whole log.

        Raises
        ------
        Behind
            If commands were left out that the memo lacks. Query again with all of them.
        """
        with memo.lock:
            # A signal's handler may query on this thread at any line. Before the second line, its task ends and returns the
            # memo. After it, that task works on a memo of its own.
            free = not memo.taken
            memo.taken = True
            try:
                # The memo of a later task must not change: it holds votes that this task must not see.
                return self._answer(partition, memo if free and memo.position <= self.end else Memo())
            finally:
                if free:
                    memo.taken = False

    def _answer(self, partition: Partition, memo: Memo) -> Integers:
        if memo.position < max(self.since, 0):
            if self.since:
                raise Behind
            memo.arrays.clear()
            memo.position = 0
        records = Records(partition, memo.arrays, self)
        due = [command for number, command in self.commands if number > memo.position]
        if due:
            memo.position = -1
            for command in due:
                command.apply(records)
        for name in set(memo.arrays) - self.live - {CODES, LABELS, MARGINS}:
            del memo.arrays[name]
        answer = self.question.answer(records)
        records.update_margins()  # a query that reads no margins leaves the votes for later ones
        memo.position = self.end
        return answer
