"""Partitions of one machine, counted on all its processors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from typing import Any

from hedgerow.arrays import Integers
from hedgerow.compiled import available_threads, for_each
from hedgerow.engines.collect import Partial, Total
from hedgerow.engines.encode import Checksums, counted_of, partitions_of
from hedgerow.engines.progress import Progress
from hedgerow.engines.spill import Spill
from hedgerow.engines.values import Counts, ValueCounts
from hedgerow.schema import Schema
from hedgerow.sources.streams import Block, Layout, Stream
from hedgerow.table import Keep, Memo, Partition, PartitionedTable, Reading, Task

__all__ = ["LocalEngine", "LocalSource"]


FEWEST_ROWS, MOST_ROWS = 1 << 12, 1 << 19  # of a partition


class LocalEngine:
    """Queries partitions in parallel, on threads: kernels run without the interpreter lock.

    Parameters
    ----------
    partitions : sequence of Partition
        The partitions, at least one.
    spill : Spill
        The storage of their state.
    progress : Progress
        The display of progress.
    """

    def __init__(self, partitions: Sequence[Partition], spill: Spill, progress: Progress) -> None:
        self._partitions, self._spill, self._progress = list(partitions), spill, progress
        self._memos: dict[str, list[Memo]] = {}
        self._questions = count(1)

    def ask(self, task: Task) -> Integers:
        """Return the sum of every partition's answer, each of them once."""
        total, question, done = Total(len(self._partitions)), next(self._questions), count(1)
        if task.log not in self._memos:
            self._memos[task.log] = [Memo(self._spill.arrays()) for _ in self._partitions]
        memos = self._memos[task.log]

        def work(place: int) -> None:
            total.add(Partial((place,), task.answer(self._partitions[place], memos[place])))
            self._progress.counted(question, next(done) / len(self._partitions))

        for_each(range(len(self._partitions)), work)
        return total.sum

    def forget(self, log: str) -> None:
        """Drop the state of a log."""
        for memo in self._memos.pop(log, ()):
            memo.arrays.clear()

    def close(self) -> None:
        """Drop everything, and remove spilled files."""
        self._memos.clear()
        self._partitions.clear()
        self._spill.close()


@dataclass(frozen=True, eq=False)
class LocalSource:
    """Records that this process reads block by block, and counts in partitions; see ``Records`` for the parameters."""

    stream: Stream
    memory: int
    spill: str | os.PathLike[str] | None
    checksums: Checksums = field(default_factory=Checksums)

    @property
    def again(self) -> bool:
        """Whether the records can be read more than once."""
        return self.stream.again

    def check(self, schema: Schema, layout: Layout) -> None:
        """Raise SchemaError unless the columns are the schema's, ConfigurationError where there is no record."""
        self.stream.check(schema, layout)

    def table(self, reading: Reading, layout: Layout, progress: Progress, keep: Keep | None = None) -> PartitionedTable:
        """Return the records as a reading has them; those that ``keep`` leaves out have no class."""
        spill = Spill(self.spill, self.memory // 2)
        try:
            blocks = self.stream.blocks(layout)
            partitions = partitions_of(blocks, reading, spill, self._rows(reading), self.checksums, progress.read, keep)
            engine = LocalEngine(partitions, spill, progress)
            return PartitionedTable(engine, reading.n_codes, reading.n_classes)
        except BaseException:
            spill.close()
            raise

    def values(self, asked: ValueCounts, layout: Layout, progress: Progress, keep: Keep | None = None) -> Counts:
        """Return how many records have each value, of those that ``keep`` does not leave out."""
        total = asked.nothing
        with Spill(self.spill, self.memory // 2) as spill:

            def blocks() -> Iterator[Block]:
                return self.stream.blocks(layout)

            counted: Iterable[tuple[Block, Any]] = zip(blocks(), repeat(None), strict=False)
            if keep is not None:
                counted = counted_of(blocks, asked.schema.missing, spill, self.checksums, keep)
            for block, mine in counted:
                total = asked.sum(total, asked(block.X, block.y, mine))
                progress.read(block.share)
        return total

    def _rows(self, reading: Reading) -> int:
        """Return how many records a partition has, so that as many as are counted at once fit half of the memory."""
        of_record = 3 * len(reading.n_codes) * reading.dtype.itemsize + 12 * reading.n_classes + 32
        return min(max(self.memory // 2 // available_threads() // of_record, FEWEST_ROWS), MOST_ROWS)
