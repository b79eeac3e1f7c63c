"""Partitions that a worker process keeps between queries, with the state of each log."""

from __future__ import annotations

import hmac
import os
import pickle
import threading
from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy.typing as npt

from hedgerow.compiled import for_each, single
from hedgerow.engines.encode import Spill, changed
from hedgerow.engines.local import Partial, combined
from hedgerow.engines.remote import Facts, Rows, writable
from hedgerow.table import Cache, OutdatedCache, Partition, Task

MOST_TABLES = 4  # that a process keeps: the oldest is dropped, because a dead driver never closes its own
MOST_LOGS = 4  # of a table


class Held:
    """The partitions of one table that this process holds: their codes and classes, and a cache for each log.

    All of it stays in memory while that fits the budget of the process, and goes to files otherwise. Nothing rests on it: a
    partition that is gone is encoded again, and a cache that is gone is made again from the whole log.
    """

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._partitions: dict[int, Partition] = {}
        self._arrays: dict[int, MutableMapping[str, npt.NDArray[Any]]] = {}  # of the partitions
        self._caches: dict[str, dict[int, Cache]] = {}
        self._lock = threading.RLock()

    def put(self, facts: Facts, rows: Rows) -> None:
        """Keep a partition, or raise EngineError if its records are not those that the driver knows."""
        if not hmac.compare_digest(facts.digest, rows.digest):
            raise changed()
        with self._lock:
            if facts.place not in self._partitions:
                arrays = self._spill.arrays()
                arrays["codes"], arrays["labels"] = writable(rows.codes), writable(rows.labels)
                self._arrays[facts.place] = arrays
                self._partitions[facts.place] = Partition(facts.first_row, arrays)

    def answer(self, task: Task, place: int) -> Partial:
        """Return the answer of one partition, or why it cannot answer."""
        partition = self._partitions.get(place)
        if partition is None:
            return Partial((), None, absent=(place,))
        try:
            return Partial((place,), task.answer(partition, self._cache(task.log, place)))
        except OutdatedCache:
            return Partial((), None, outdated=(place,))

    def _cache(self, log: str, place: int) -> Cache:
        with self._lock:
            if log not in self._caches:
                for old in list(self._caches)[: -MOST_LOGS + 1]:
                    self.forget(old)
            caches = self._caches.setdefault(log, {})
            return caches.setdefault(place, Cache(self._spill.arrays()))

    def forget(self, log: str) -> None:
        """Drop the partitions' state of a log."""
        with self._lock:
            caches = self._caches.pop(log, {})
        for cache in caches.values():
            with cache.lock:  # an abandoned task may still use it
                cache.arrays.clear()
                cache.position = 0

    def close(self) -> None:
        """Drop everything."""
        for log in list(self._caches):
            self.forget(log)
        for place in list(self._partitions):
            del self._partitions[place]
            self._arrays.pop(place).clear()


_TABLES: dict[str, Held] = {}
_SPILLS: list[Spill] = []
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child would wait for a thread that it does not have
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def _held(table: str, folder: str | os.PathLike[str] | None, memory: int) -> Held:
    """Return this process's partitions of a table; a new table replaces the oldest ones."""
    with _LOCK:
        if table not in _TABLES:
            for old in list(_TABLES)[: -MOST_TABLES + 1]:
                close(old)
            if not _SPILLS:
                _SPILLS.append(Spill(folder, memory))
            _TABLES[table] = Held(_SPILLS[0])
        return _TABLES[table]


def hold(table: str, facts: Facts, rows: Rows, folder: str | os.PathLike[str] | None, memory: int) -> None:
    """Keep a partition of a table; all tables of this process share this many bytes of memory, and then a folder."""
    _held(table, folder, memory).put(facts, rows)


def answered(table: str, places: Sequence[int], packed: bytes, threads: int) -> Partial:
    """Return the sum of some partitions' answers, on this many threads: a function of their records and the task."""
    task: Task = pickle.loads(packed)  # noqa: S301 - from the driver, which may run any code here
    held, partials = _TABLES.get(table), list[Partial]()
    if held is None:
        return Partial((), None, absent=tuple(places))

    def work(group: Sequence[int]) -> None:
        with single():
            partials.append(combined(task.query, (held.answer(task, place) for place in group)))

    for_each([places[first::threads] for first in range(min(threads, len(places)))], work, threads)
    return combined(task.query, partials)


def forget(log: str) -> None:
    """Drop this process's state of a log."""
    for held in list(_TABLES.values()):
        held.forget(log)


def close(table: str) -> None:
    """Drop this process's partitions of a table."""
    held = _TABLES.pop(table, None)
    if held is not None:
        held.close()
