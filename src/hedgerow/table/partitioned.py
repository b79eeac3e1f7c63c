"""Records in partitions, wherever these are. There is one query at a time, and the partitions' answers are added up."""

from __future__ import annotations

import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.compiled import for_each
from hedgerow.mechanisms import Coins
from hedgerow.scores import Candidates
from hedgerow.table.log import AddVotes, Assign, Command, Merge, Move, Nodes, Sample, Task, Thin
from hedgerow.table.table import Histogram, Query, RecordRule, RecordVotes, Sums, WeightRule

MOST_CELLS = 1 << 23  # of one query about histograms: 64 MiB in every partition's answer
BLOCK_CELLS = 1 << 18  # that are worked on together


class Engine(Protocol):
    """Where partitions are counted."""

    def ask(self, task: Task) -> Integers:
        """Return the sum of the answers of all partitions, each added once. Draw nothing."""

    def forget(self, log: str) -> None:
        """Drop the state of a log."""

    def close(self) -> None:
        """Drop all that is kept of the records. There are no queries after this."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """A handle of nodes. The commands that made them stay in the log as long as the handle exists."""

    nodes: Nodes
    made: _Made

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, eq=False)
class _Made:
    """A frontier that a command made, and the frontier before it. Both are needed to make it again."""

    number: int
    weights: int | None
    parent: _Made | None


class PartitionedTable:
    """Records in partitions behind an engine; see ``Table`` for its queries.

    The table keeps a log of its commands. Every query goes to all partitions with that log. So an engine may query any worker
    that has a partition's records, and may repeat a query on another worker.

    Parameters
    ----------
    engine : Engine
        The engine that queries the partitions.
    n_codes : ndarray of shape (features,)
        How many codes each feature has.
    n_classes : int
        How many classes there are.
    """

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
            other = self._with(self._changes)
            other._n_codes = self._n_codes
        other._tell(Thin(coins))
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
            if isinstance(query, Sums):
                if query.votes is not None:
                    self.update_margins(query.votes)
                return self._ask(replace(query, votes=None))
            return self._ask(replace(query, of=query.of.nodes))

    def for_histograms(
        self, frontier: Frontier, first: int, last: int, work: Callable[[int, int, Integers], None]
    ) -> None:
        cells = int(self._n_codes.sum()) * self.n_classes
        most, few = max(1, MOST_CELLS // cells), max(1, BLOCK_CELLS // cells)
        for start in range(first, last, most):
            nodes = np.arange(start, min(start + most, last))
            counts = self.answer(Histogram(self.take(frontier, nodes)))
            begins = range(0, len(nodes), few)
            for_each(
                begins,
                lambda begin, start=start, counts=counts: work(  # type: ignore[misc]
                    start + begin, start + min(begin + few, len(counts)), counts[begin : begin + few]
                ),
            )

    def close(self) -> None:
        """Drop all that the engine keeps of the records. There may be no queries after this."""
        self._engine.close()

    def _tell(self, command: Command) -> None:
        if not isinstance(command, Assign | Move):
            self._changes.append(command)
        self._commands[self._end + 1] = command
        self._end += 1

    def _ask(self, query: Query) -> Integers:
        """Query all partitions, and drop the commands of frontiers that nobody holds any more."""
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
            task = Task(self._log, self._n_codes, self.n_classes, commands, self._end, query, frozenset(live))
            return self._engine.ask(task)
