"""Partitions of one machine, counted on all its processors."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, available_threads, for_each
from hedgerow.engines.arrays import Spill
from hedgerow.engines.encode import Checksums, Counts, PersonIds, ValueCounts, partitions_of
from hedgerow.errors import ConfigurationError, EngineError
from hedgerow.files import LEAST_MEMORY
from hedgerow.reading.streams import Batches, Block, Files, Layout
from hedgerow.schema import Schema
from hedgerow.table import Cache, Keep, Partition, PartitionedTable, Query, Reading, Task


class Progress:
    """A display of progress, for the owner of the records alone: what it shows depends on their number."""

    def read(self, share: float | None) -> None:
        """Take the share of the source's bytes, or partitions, that were read; None where nobody knows."""

    def counted(self, question: int, share: float) -> None:
        """Take the share of the partitions that were counted for a query, numbered from 1; it may come from any thread."""

    def sent(self, queries: int, down: int, up: int) -> None:
        """Take the number of queries to owners so far, and the bytes to and from all of them."""


class Silent(Progress):
    """A display that shows nothing."""


@dataclass(frozen=True, eq=False)
class Partial:
    """The sum of some partitions' answers; the partitions that need the whole log first, and those that are missing."""

    places: tuple[int, ...]
    sum: npt.NDArray[np.integer] | None
    outdated: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()


def narrowed(query: Query, answer: Integers) -> npt.NDArray[np.integer]:
    """Return an answer as it is sent: counts in the fewest bytes that hold them all, sums of channels as they are."""
    if query.signed or not answer.size:
        return answer
    return answer.astype(np.min_scalar_type(int(answer.max())))


def combined(query: Query, partials: Iterable[Partial]) -> Partial:
    """Return several partial sums as one, widened before they are added up; raise EngineError where a partition is in two."""
    places: list[int] = []
    outdated: list[int] = []
    absent: list[int] = []
    total: Integers | None = None
    for partial in partials:
        places += partial.places
        outdated += partial.outdated
        absent += partial.absent
        total = _added(total, partial.sum)
    if len(set(places)) < len(places):
        raise _twice()
    return Partial(tuple(places), None if total is None else narrowed(query, total), tuple(outdated), tuple(absent))


def _added(total: Integers | None, answer: npt.NDArray[np.integer] | None) -> Integers | None:
    if total is None or answer is None:
        return total if answer is None else answer.astype(np.int64)
    if total.shape != answer.shape:
        raise EngineError("two partitions answered different questions; nothing was drawn.")
    total += answer.astype(np.int64)  # from 2**32 on counts are sent as uint64, which numpy adds to no int64
    return total


def _twice() -> EngineError:
    return EngineError("a partition answered twice, so its records would count twice; nothing was drawn.")


class Total:
    def __init__(self, partitions: int) -> None:
        self.missing = set(range(partitions))
        self._sum: Integers | None = None
        self._lock = threading.Lock()

    def add(self, partial: Partial) -> None:
        with self._lock:
            if len(set(partial.places)) < len(partial.places) or not self.missing.issuperset(partial.places):
                raise _twice()
            self._sum = _added(self._sum, partial.sum)
            self.missing -= set(partial.places)

    @property
    def sum(self) -> Integers:
        if self.missing or self._sum is None:
            raise EngineError("a partition gave no answer, so the sum lacks its records; nothing was drawn.")
        return self._sum


FEWEST_ROWS, MOST_ROWS = 1 << 12, 1 << 19  # of a partition


class LocalEngine:
    """Queries at least one partition in parallel, on threads; the spill keeps caches."""

    def __init__(self, partitions: Sequence[Partition], spill: Spill, progress: Progress) -> None:
        self._partitions, self._spill, self._progress = list(partitions), spill, progress
        self._caches: dict[str, list[Cache]] = {}
        self._questions = count(1)

    @property
    def end(self) -> int:
        last = self._partitions[-1]
        return last.first_row + len(last.arrays["labels"])

    def ask(self, task: Task) -> Integers:
        total, question, done = Total(len(self._partitions)), next(self._questions), count(1)
        if task.log not in self._caches:
            self._caches[task.log] = [Cache(self._spill.arrays()) for _ in self._partitions]
        caches = self._caches[task.log]

        def work(place: int) -> None:
            total.add(Partial((place,), task.answer(self._partitions[place], caches[place])))
            self._progress.counted(question, next(done) / len(self._partitions))

        for_each(range(len(self._partitions)), work)
        return total.sum

    def forget(self, log: str) -> None:
        for cache in self._caches.pop(log, ()):
            cache.arrays.clear()

    def close(self) -> None:
        self._caches.clear()
        self._partitions.clear()
        self._spill.close()


@dataclass(frozen=True, eq=False)
class LocalSource:
    """Records that this process reads block by block, and counts in partitions; see ``Records`` for the parameters."""

    stream: Files | Batches
    memory: int
    spill: str | os.PathLike[str] | None
    checksums: Checksums = field(default_factory=Checksums)
    first_row: int = 0  # the number of the first record among those of all owners

    fits_only = False

    def __post_init__(self) -> None:
        memory, spill = self.memory, self.spill
        if not isinstance(memory, int) or isinstance(memory, bool) or memory < LEAST_MEMORY:
            raise ConfigurationError(f"memory is {memory!r}, but it must be a number of bytes from {LEAST_MEMORY} up.")
        if spill is not None and not os.path.isdir(spill):
            raise ConfigurationError(f"spill is {os.fspath(spill)!r}, but there is no such folder; create it first.")

    @property
    def again(self) -> bool:
        return self.stream.again

    def check(self, schema: Schema, layout: Layout) -> None:
        self.stream.check(schema.features, schema.labels, layout)

    def table(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> PartitionedTable:
        return PartitionedTable(self.engine(reading, layout, progress, keep), reading.n_codes, reading.n_classes)

    def engine(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> LocalEngine:
        spill, rows = Spill(self.spill, self.memory // 2), self._rows(reading)
        try:
            blocks, read = self.stream.blocks(layout), progress.read
            partitions = partitions_of(blocks, reading, spill, rows, self.checksums, read, keep, self.first_row)
            return LocalEngine(partitions, spill, progress)
        except BaseException:
            spill.close()
            raise

    def values(self, asked: ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None) -> Counts:
        persons = bits = None
        if keep is not None:
            persons = PersonIds(self.checksums.key, keep.part)
            with Spill(self.spill, self.memory // 2) as spill:
                blocks, read = self.stream.blocks(layout), Silent().read
                parts = partitions_of(blocks, asked, spill, MOST_ROWS, self.checksums, read, keep)
                bits = np.concatenate([np.packbits(part.arrays["labels"] >= 0) for part in parts])
        counts, digest = asked.of_blocks(self._blocks(layout, progress), persons, bits)
        if keep is not None:
            self.checksums.check(asked, None, digest)
        return counts

    def _blocks(self, layout: Layout, progress: Progress) -> Iterator[Block]:
        for block in self.stream.blocks(layout):
            yield block
            progress.read(block.share)

    def _rows(self, reading: Reading) -> int:
        """Return how many records a partition has, so that as many as are counted at once fit half of the memory."""
        of_record = 3 * len(reading.n_codes) * reading.dtype.itemsize + 12 * reading.n_classes + 32
        return min(max(self.memory // 2 // available_threads() // of_record, FEWEST_ROWS), MOST_ROWS)
