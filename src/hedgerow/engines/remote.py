"""What engines of several processes share: how records become partitions there, and how one answers."""

from __future__ import annotations

import hmac
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.engines.collect import Partial, combined
from hedgerow.engines.encode import Checksum, changed, check_number, encoded
from hedgerow.errors import EngineError
from hedgerow.sources.streams import Layout
from hedgerow.table import Behind, Memo, Partition, Reading, Task
from hedgerow.table.reading import Codes, Labels
from hedgerow.threads import single

__all__ = ["Fact", "Facts", "Rows", "answered", "encode", "forget", "placed", "prepare"]


@dataclass(frozen=True, eq=False)
class Rows:
    """A partition's codes and classes, and their keyed checksum."""

    codes: Codes
    labels: Labels
    digest: bytes


@dataclass(frozen=True)
class Fact:
    """What the driver holds fast of a partition: how many records it has, and their checksum."""

    rows: int
    digest: bytes


@dataclass(frozen=True)
class Facts:
    """Where a partition stands among all, and what its records must be."""

    place: int
    first_row: int
    digest: bytes


def prepare() -> None:
    """Import what answers take, which otherwise waits for the first question."""
    for package in ("hedgerow.boosting", "hedgerow.trees"):
        import_module(package)


def encode(reading: Reading, layout: Layout, key: bytes, batches: Any) -> Rows:
    """Return the tables of one partition as codes; a function of its arguments alone."""
    with single():
        found = [encoded(reading, *layout.split(batch)) for batch in batches]
    check = Checksum(key)
    for _, witness in found:
        check.update(*witness)
    codes = np.empty((0, len(reading.n_codes)), dtype=reading.dtype)
    labels = np.empty(0, dtype=reading.label_dtype)
    codes = np.concatenate([codes, *(codes for (codes, _), _ in found)])
    labels = np.concatenate([labels, *(labels for (_, labels), _ in found)])
    return Rows(codes, labels, check.digest())


def placed(facts: list[Fact]) -> list[Facts]:
    """Return where each partition's records begin, in the order of the partitions.

    Raises
    ------
    EngineError
        If there is no record, or too many.
    """
    ends = np.cumsum([fact.rows for fact in facts]).tolist()
    if not ends or not ends[-1]:
        raise EngineError("there are no records, but a fit rests on there being one. Add records.")
    check_number(ends[-1])
    starts = [0, *ends[:-1]]
    return [Facts(place, start, fact.digest) for place, (start, fact) in enumerate(zip(starts, facts, strict=True))]


# What this process remembers of logs; a worker that is lost loses it, and another one carries out the log anew.
_MEMOS: dict[tuple[str, int], Memo] = {}
MOST_LOGS = 4  # that a process remembers: those that were begun last


def memo_of(log: str, place: int) -> Memo:
    """Return what this process remembers of a partition under a log; older logs give way to a new one."""
    if (log, place) not in _MEMOS:
        for old in list(dict.fromkeys(known for known, _ in list(_MEMOS) if known != log))[: -MOST_LOGS + 1]:
            forget(old)
    return _MEMOS.setdefault((log, place), Memo())


def forget(log: str) -> None:
    """Drop what this process remembers of a log."""
    for key in [key for key in list(_MEMOS) if key[0] == log]:
        _MEMOS.pop(key, None)


def answered(facts: Sequence[Facts], rows: Sequence[Rows], packed: bytes) -> Partial:
    """Return what partitions answer together: a function of their records and the task with its whole log.

    Raises
    ------
    EngineError
        If the records are not those that the driver knows.
    """
    task: Task = pickle.loads(packed)  # noqa: S301 - from the driver, which may run any code here
    with single():
        return combined(task.question, (_answered(task, *one) for one in zip(facts, rows, strict=True)))


def _answered(task: Task, facts: Facts, rows: Rows) -> Partial:
    if not hmac.compare_digest(facts.digest, rows.digest):
        raise changed()
    arrays: dict[str, npt.NDArray[Any]] = {"codes": _writable(rows.codes), "labels": _writable(rows.labels)}
    try:
        answer = task.answer(Partition(facts.first_row, arrays), memo_of(task.log, facts.place))
    except Behind:
        return Partial((), None, (facts.place,))
    return Partial((facts.place,), answer)


def _writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as kernels know it: what came over the wire may be read-only, which numba takes for another type."""
    return np.require(array, requirements=["C", "A", "W"])
