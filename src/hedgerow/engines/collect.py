"""The sum of the answers of partitions: each of them once, or nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.errors import EngineError
from hedgerow.table import Question

__all__ = ["Partial", "Total", "Wire", "combined", "narrowed"]


@dataclass(frozen=True, eq=False)
class Partial:
    """The sum of some partitions' answers; the partitions that need the whole log first, and those that are missing."""

    places: tuple[int, ...]
    sum: npt.NDArray[np.integer] | None
    behind: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()


def narrowed(question: Question, answer: Integers) -> npt.NDArray[np.integer]:
    """Return an answer as it is sent: counts in the fewest bytes that hold them all, sums of channels as they are."""
    if not question.counts or not answer.size:
        return answer
    return answer.astype(np.min_scalar_type(int(answer.max())))


def combined(question: Question, partials: Iterable[Partial]) -> Partial:
    """Return several partial sums as one, widened before they are added up; raise EngineError where a partition is in two."""
    places: list[int] = []
    behind: list[int] = []
    absent: list[int] = []
    total: Integers | None = None
    for partial in partials:
        places += partial.places
        behind += partial.behind
        absent += partial.absent
        if partial.sum is not None:
            total = partial.sum.astype(np.int64) if total is None else _added(total, partial.sum)
    if len(set(places)) < len(places):
        raise _twice()
    return Partial(tuple(places), None if total is None else narrowed(question, total), tuple(behind), tuple(absent))


def _added(total: Integers, answer: npt.NDArray[np.integer]) -> Integers:
    if total.shape != answer.shape:
        raise EngineError("two partitions answered different questions; nothing was drawn.")
    total += answer.astype(np.int64)  # from 2**32 on counts are sent as uint64, which numpy adds to no int64
    return total


def _twice() -> EngineError:
    return EngineError("a partition answered twice, so its records would count twice; nothing was drawn.")


class Total:
    """Adds up answers as they come, from any thread.

    Parameters
    ----------
    partitions : int
        The number of answers.
    """

    def __init__(self, partitions: int) -> None:
        self.missing = set(range(partitions))
        self._sum: Integers | None = None
        self._lock = threading.Lock()

    def add(self, partial: Partial) -> None:
        """Add the answers of some partitions, or raise EngineError if one of them answered before."""
        with self._lock:
            if len(set(partial.places)) < len(partial.places) or not self.missing.issuperset(partial.places):
                raise _twice()
            if partial.sum is not None:
                self._sum = partial.sum.astype(np.int64) if self._sum is None else _added(self._sum, partial.sum)
            self.missing -= set(partial.places)

    @property
    def sum(self) -> Integers:
        """The sum of all answers, or EngineError where one is missing."""
        if self.missing or self._sum is None:
            raise EngineError("a partition gave no answer, so the sum lacks its records; nothing was drawn.")
        return self._sum


class Wire:
    """The number of tasks, their bytes to workers, and the bytes of answers; for ``benchmarks/scaling.py``."""

    def __init__(self) -> None:
        self.sent = self.received = self.tasks = 0
