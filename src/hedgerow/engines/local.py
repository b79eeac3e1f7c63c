"""Partitions of one machine, counted on all its processors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

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
        Called with the share of a question's records that is done; a number from 0 to 1.
    """

    def __init__(
        self, partitions: Sequence[Partition], spill: Spill, told: Callable[[float], None] = lambda share: None
    ) -> None:
        self._partitions, self._spill, self._told = list(partitions), spill, told
        self._memos: defaultdict[str, list[Memo]] = defaultdict(self._new_memos)

    def _new_memos(self) -> list[Memo]:
        return [Memo(self._spill.arrays()) for _ in self._partitions]

    def ask(self, task: Task) -> Integers:
        """Return the sum of every partition's answer, each of them once."""
        total, memos, done = Total(len(self._partitions)), self._memos[task.log], iter(range(len(self._partitions)))

        def work(place: int) -> None:
            total.add(place, task.answer(self._partitions[place], memos[place]))
            self._told((next(done) + 1) / len(self._partitions))

        for_each(range(len(self._partitions)), work)
        return total.sum

    def forget(self, log: str) -> None:
        """Drop what was remembered of a log."""
        for memo in self._memos.pop(log, ()):
            memo.arrays.clear()
