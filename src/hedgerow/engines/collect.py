"""The sum of what partitions answer: each of them once, or nothing."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from hedgerow.errors import EngineError

__all__ = ["Total"]

Integers = npt.NDArray[np.int64]


class Total:
    """Adds up answers as they come, from any thread.

    Parameters
    ----------
    partitions : int
        How many answers there must be.
    """

    def __init__(self, partitions: int) -> None:
        self._missing = set(range(partitions))
        self._sum: Integers | None = None
        self._lock = threading.Lock()

    def add(self, partition: int, answer: npt.NDArray[np.integer]) -> None:
        """Add the answer of one partition, or raise EngineError where it answered before."""
        with self._lock:
            if partition not in self._missing:
                raise EngineError("a partition answered twice, so its records would count twice; nothing was drawn.")
            if self._sum is None:
                self._sum = answer.astype(np.int64)
            elif answer.shape != self._sum.shape:
                raise EngineError("two partitions answered different questions; nothing was drawn.")
            else:
                self._sum += answer
            self._missing.remove(partition)

    @property
    def sum(self) -> Integers:
        """The sum of all answers, or EngineError where one is missing."""
        if self._missing or self._sum is None:
            raise EngineError("a partition gave no answer, so the sum lacks its records; nothing was drawn.")
        return self._sum
