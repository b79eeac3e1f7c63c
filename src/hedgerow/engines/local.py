"""Partitions of one machine, counted on all its processors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt

from hedgerow.engines.collect import Total
from hedgerow.engines.spill import Spill
from hedgerow.table import Memo, Partition, Task
from hedgerow.threads import for_each

__all__ = ["LocalEngine"]

Integers = npt.NDArray[np.int64]


class LocalEngine:
    """Asks partitions side by side, on threads: kernels run without the interpreter lock.

    Parameters
    ----------
    partitions : sequence of Partition
        The partitions, at least one.
    spill : Spill
        Where what was made of them is kept.
    told : callable
        Called with the number of a question, from 1, and the share of its records that is done.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        spill: Spill,
        told: Callable[[int, float], None] = lambda question, share: None,
    ) -> None:
        self._partitions, self._spill, self._told = list(partitions), spill, told
        self._memos: dict[str, list[Memo]] = {}
        self._questions = count(1)

    def ask(self, task: Task) -> Integers:
        """Return the sum of every partition's answer, each of them once."""
        total, question, done = Total(len(self._partitions)), next(self._questions), count(1)
        if task.log not in self._memos:
            self._memos[task.log] = [Memo(self._spill.arrays()) for _ in self._partitions]
        memos = self._memos[task.log]

        def work(place: int) -> None:
            total.add(place, task.answer(self._partitions[place], memos[place]))
            self._told(question, next(done) / len(self._partitions))

        for_each(range(len(self._partitions)), work)
        return total.sum

    def forget(self, log: str) -> None:
        """Drop what was remembered of a log."""
        for memo in self._memos.pop(log, ()):
            memo.arrays.clear()

    def close(self) -> None:
        """Drop everything, and remove what was spilled."""
        self._memos.clear()
        self._partitions.clear()
        self._spill.close()
