"""Partitions that workers keep between queries, with a cache for each log: in memory on Dask, on executors' disks on Spark."""

from __future__ import annotations

import hashlib
import hmac
import json
import mmap
import os
import pickle
import shutil
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.arrays import for_each, single
from hedgerow.engines.arrays import Array, ArrayChecksums, Spill
from hedgerow.engines.encode import Facts, Rows, changed
from hedgerow.engines.local import Partial, combined, narrowed
from hedgerow.files import locked
from hedgerow.table import Cache, OutdatedCache, Partition, Task

# Of the tables of a worker, and of the logs of a table, those that were used last stay: a driver that died closes none.
MOST_TABLES = MOST_LOGS = 4


class Store(ABC):
    """The partitions of one table that a worker keeps.

    Nothing rests on it: a partition that is gone is encoded again, and a cache that is gone is made again from the whole log.
    """

    @abstractmethod
    def partition(self, place: int) -> Partition | None:
        """Return a partition, None if it is not there; raise EngineError if its records are not those that the driver knows."""

    @abstractmethod
    def cache(self, log: str, place: int) -> AbstractContextManager[Cache]:
        """Lend what a log made of a partition."""

    def answer(self, task: Task, place: int) -> Partial:
        partition = self.partition(place)
        if partition is None:
            return Partial((), None, absent=(place,))
        try:
            with single(), self.cache(task.log, place) as cache:
                return Partial((place,), narrowed(task.query, task.answer(partition, cache)))
        except OutdatedCache:
            return Partial((), None, outdated=(place,))


class MemoryStore(Store):
    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._partitions: dict[int, Partition] = {}
        self._arrays: list[MutableMapping[str, Array]] = []  # of the partitions
        self._caches: dict[str, dict[int, Cache]] = {}
        self._lock = threading.RLock()

    def put(self, facts: Facts, rows: Rows) -> None:
        if not hmac.compare_digest(facts.digest, rows.digest):
            raise changed()
        with self._lock:
            if facts.place not in self._partitions:
                arrays = self._spill.arrays()
                # What came over the network may be read-only, which numba takes for another type.
                arrays["codes"], arrays["labels"] = (
                    np.require(array, requirements=["C", "A", "W"]) for array in (rows.codes, rows.labels)
                )
                self._arrays.append(arrays)
                self._partitions[facts.place] = Partition(facts.first_row, arrays)

    def partition(self, place: int) -> Partition | None:
        return self._partitions.get(place)

    def cache(self, log: str, place: int) -> AbstractContextManager[Cache]:
        with self._lock:
            if log not in self._caches:
                for old in list(self._caches)[: -MOST_LOGS + 1]:
                    self.forget(old)
            caches = self._caches.setdefault(log, {})
            return nullcontext(caches.setdefault(place, Cache(self._spill.arrays())))

    def forget(self, log: str) -> None:
        with self._lock:
            caches = self._caches.pop(log, {})
        for cache in caches.values():
            with cache.lock:  # an abandoned task may still use it
                cache.clear()

    def close(self) -> None:
        for log in list(self._caches):
            self.forget(log)
        self._partitions.clear()
        while self._arrays:
            self._arrays.pop().clear()


# The stores of this process, by their tables. All of them share one budget of memory, and then a folder.
_TABLES: dict[str, MemoryStore] = {}
_SPILLS: list[Spill] = []
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child would wait for a thread that it does not have
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def hold(table: str, facts: Facts, rows: Rows, folder: str | os.PathLike[str] | None, memory: int) -> None:
    """Keep a partition of a table in this process; a new table replaces the oldest one."""
    with _LOCK:
        if table not in _TABLES:
            for old in list(_TABLES)[: -MOST_TABLES + 1]:
                close(old)
            if not _SPILLS:
                _SPILLS.append(Spill(folder, memory))
            _TABLES[table] = MemoryStore(_SPILLS[0])
        store = _TABLES[table]
    store.put(facts, rows)


def answered(table: str, places: Sequence[int], packed: bytes, threads: int) -> Partial:
    """Return the sum of some partitions' answers, on this many threads: a function of their records and the task."""
    task: Task = pickle.loads(packed)  # noqa: S301 - from the driver, which may run any code here
    store, partials = _TABLES.get(table), list[Partial]()
    if store is None:
        return Partial((), None, absent=tuple(places))

    def work(group: Sequence[int]) -> None:
        partials.append(combined(task.query, (store.answer(task, place) for place in group)))

    for_each([places[first::threads] for first in range(min(threads, len(places)))], work, threads)
    return combined(task.query, partials)


def forget(log: str) -> None:
    for store in list(_TABLES.values()):
        store.forget(log)


def close(table: str) -> None:
    store = _TABLES.pop(table, None)
    if store is not None:
        store.close()


CHANGING = frozenset({"margins"})  # arrays that commands change where they are; they replace the others


@lru_cache(maxsize=8)
def _checksums(key: bytes) -> ArrayChecksums:
    return ArrayChecksums(key)


def disk_store(table: str, key: bytes, place: int, facts: Sequence[Facts] = ()) -> DiskStore:
    folders = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")
    return DiskStore(Path(folders[place % len(folders)]), table, key, facts)


def remove(table: str) -> None:
    for folder in os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(","):
        _discard(DiskStore(Path(folder), table, b"").folder)


class DiskStore(Store):
    """Partitions and caches in a folder that only this user may enter, from which any process of an executor answers.

    Every array is a file. An index beside it holds its name and its checksum, by a key that the driver sends with each task.
    hedgerow writes that key to no file; Spark may, where it spills the data of its tasks. A file that is gone, altered or half
    written counts as absent: its partition is encoded again, or its cache made again from the whole log. Executors know the
    partitions by the name ``table``; ``facts`` say what they must be.
    """

    def __init__(self, parent: Path, table: str, key: bytes, facts: Sequence[Facts] = ()) -> None:
        self.parent, self.folder = parent, parent / f"hedgerow-table-{table}"
        self._key, self._facts = key, facts

    def put(self, place: int, rows: Rows) -> None:
        self.parent.mkdir(parents=True, exist_ok=True)
        _make(self.folder, "hedgerow-table-*", MOST_TABLES)
        files = Files(self.folder, str(place), self._key)
        files.write({"codes": rows.codes, "labels": rows.labels}, rows.digest.hex())

    def partition(self, place: int) -> Partition | None:
        facts, result = self._facts[place], Files(self.folder, str(place), self._key).read()
        if result is None:
            return None
        if not hmac.compare_digest(facts.digest.hex(), result[0]):
            raise changed()
        with suppress(OSError):
            os.utime(self.folder)  # a table that answers is in use
        return Partition(facts.first_row, result[1])

    @contextmanager
    def cache(self, log: str, place: int) -> Iterator[Cache]:
        """Lend what a log made of a partition; where another task has it, or the table was removed meanwhile, an empty one."""
        folder = self.folder / f"log-{log}"
        with suppress(FileNotFoundError):
            _make(folder, "log-*", MOST_LOGS)
        with locked(folder / f"{place}.lock") as free:
            if not free:
                yield Cache()
                return
            files = Files(folder, str(place), self._key)
            position, arrays = files.read(CHANGING) or ("0", {})
            cache, before = Cache(arrays, int(position)), dict(arrays)
            files.forget()  # whoever is killed while it changes leaves none
            try:
                yield cache
            finally:
                if cache.position > 0:
                    with suppress(OSError):  # made again from the whole log, then
                        files.write(cache.arrays, str(cache.position), before)


class OpenStore(Store):
    """A partition of a store, with its cache of the log that was asked about last. Both stay open until the store is closed."""

    def __init__(self, store: Store, place: int) -> None:
        self._store, self._partition = store, store.partition(place)
        self._log, self._lent, self._open = "", ExitStack(), Cache()

    def partition(self, place: int) -> Partition | None:
        return self._partition

    def cache(self, log: str, place: int) -> AbstractContextManager[Cache]:
        if log != self._log:
            self.close()
            self._open, self._log = self._lent.enter_context(self._store.cache(log, place)), log
        return nullcontext(self._open)

    def close(self) -> None:
        """Give the cache back, so that any process may use it."""
        self._log = ""
        self._lent.close()


class Files:
    """Arrays of one name in a folder, and their index: a line that says what they are, below its own checksum."""

    def __init__(self, folder: Path, name: str, key: bytes) -> None:
        self._folder, self._name, self._key = folder, name, key
        self._index = folder / f"{name}.index"
        self._entries: dict[str, list[Any]] = {}

    def read(self, changing: frozenset[str] = frozenset()) -> tuple[str, dict[str, Array]] | None:
        """Return the index of the arrays, and the arrays, mapped; None if anything is not as it was written.

        Those that are ``changing`` are changed on disk by whoever changes them, the others in memory alone.
        """
        try:
            signature, text = self._index.read_text("ascii").split("\n")
            if not hmac.compare_digest(signature, self._signature(text)):
                return None
            about: str
            about, self._entries = json.loads(text)
            return about, {name: self._mapped(name, name in changing) for name in self._entries}
        except (OSError, ValueError):
            return None

    def write(self, arrays: MutableMapping[str, Array], about: str, kept: dict[str, Array] | None = None) -> None:
        """Write arrays, but those that were ``kept`` as they are; then the index, whole or not at all."""
        before = {} if kept is None else kept
        entries = {}
        for name, array in arrays.items():
            same = before.get(name) is array
            if not same:
                with _replaced(self._path(name)) as path, open(path, "xb") as file:
                    np.ascontiguousarray(array).tofile(file)
            if same and name not in CHANGING:
                entries[name] = self._entries[name]
            else:
                entries[name] = [array.dtype.str, array.shape, _checksums(self._key).of(array).hex()]
        for name in before.keys() - arrays.keys():
            self._path(name).unlink(missing_ok=True)
        text = json.dumps([about, entries])
        with _replaced(self._index) as path, open(path, "x", encoding="ascii") as index:
            index.write(f"{self._signature(text)}\n{text}")

    def forget(self) -> None:
        self._index.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._name}.{name}"

    def _signature(self, text: str) -> str:
        content = f"{self._folder.name} {self._name} {text}".encode("ascii")
        return hashlib.blake2b(content, key=self._key, digest_size=32).hexdigest()

    def _mapped(self, name: str, changing: bool) -> Array:
        """Return an array whose pages are the file's, or raise ValueError where it is not what was written."""
        kind, shape, checksum = self._entries[name]
        access = mmap.ACCESS_WRITE if changing else mmap.ACCESS_COPY  # kernels take arrays that may be written to
        with open(self._path(name), "r+b") as file:
            empty = not os.fstat(file.fileno()).st_size
            content: Any = bytearray() if empty else mmap.mmap(file.fileno(), 0, access=access)
        array = np.frombuffer(content, dtype=np.dtype(kind)).reshape(shape)
        if not hmac.compare_digest(_checksums(self._key).of(array).hex(), checksum):
            raise ValueError(name)
        return array


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """Yield a path to write to, whose file then takes the place of another one at once."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _make(folder: Path, alike: str, most: int) -> None:
    """Make a folder for this user alone, never the one that it is in; of those like it the ones that were used last stay."""
    if folder.exists():
        return
    for hidden in folder.parent.glob(f".{alike}"):  # whoever removed it was killed, or still does
        shutil.rmtree(hidden, ignore_errors=True)
    used = sorted(folder.parent.glob(alike), key=_last_used)
    for old in used[: max(0, len(used) - most + 1)]:
        _discard(old)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)  # parents that it made too would be open to others


def _discard(folder: Path) -> None:
    """Remove a folder under another name, so that no process finds, or makes anew, a folder with a part of its files."""
    hidden = folder.with_name(f".{folder.name}.{os.getpid()}.{time.monotonic_ns()}")
    with suppress(OSError):  # it is gone, or another process removes it
        folder.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)


def _last_used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
