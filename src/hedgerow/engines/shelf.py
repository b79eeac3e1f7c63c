"""Partitions on the local disk of an executor, which any of its Python processes maps and answers from."""

from __future__ import annotations

import hashlib
import hmac
import json
import mmap
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.compiled import single
from hedgerow.engines.encode import ArrayChecksums, changed
from hedgerow.engines.local import Partial, narrowed
from hedgerow.engines.remote import Facts, Rows
from hedgerow.table import Cache, OutdatedCache, Partition, Task

Array = npt.NDArray[Any]

MOST_TABLES = MOST_LOGS = (
    4  # that stay on a disk, and of a table: what was used last; Spark removes all with the executor
)
CHANGING = frozenset({"margins"})  # arrays that commands change where they are; they replace the others


@lru_cache(maxsize=8)
def _checksums(key: bytes) -> ArrayChecksums:
    return ArrayChecksums(key)


def shelf_of(table: str, key: bytes, place: int) -> Shelf:
    """Return where this executor keeps a partition of a table: on one of the disks that Spark gives it."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")
    return Shelf(Path(folders[place % len(folders)]), table, key)


def remove(table: str) -> None:
    """Remove all that this executor keeps of a table."""
    for folder in os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(","):
        _discard(_folder_of(Path(folder), table))


def _folder_of(parent: Path, table: str) -> Path:
    return parent / f"hedgerow-table-{table}"


@dataclass(frozen=True)
class Shelf:
    """The partitions of one table, with their caches, in a folder that only this user may enter.

    Every array is a file. An index beside it holds its name and its checksum, by a key that the driver sends with each task.
    hedgerow writes that key to no file; Spark may, where it spills the data of its tasks. A file that is gone, altered or half
    written counts as absent: its partition is encoded again, or its cache made again from the whole log.

    Parameters
    ----------
    parent : path
        Where the folder is made.
    table : str
        The name by which executors know these partitions.
    key : bytes
        The key of checksums.
    """

    parent: Path
    table: str
    key: bytes

    @property
    def folder(self) -> Path:
        """The folder of this table."""
        return _folder_of(self.parent, self.table)

    def put(self, place: int, rows: Rows) -> None:
        """Keep a partition."""
        self.parent.mkdir(parents=True, exist_ok=True)
        _make(self.folder, "hedgerow-table-*", MOST_TABLES)
        files = Files(self.folder, str(place), self.key)
        files.write({"codes": rows.codes, "labels": rows.labels}, rows.digest.hex())

    def answer(self, facts: Facts, packed: bytes) -> Partial:
        """Return what a partition answers, or why it cannot.

        Raises
        ------
        EngineError
            If its records are not those that the driver knows.
        """
        task: Task = pickle.loads(packed)  # noqa: S301 - from the driver, which may run any code here
        found = Files(self.folder, str(facts.place), self.key).read()
        if found is None:
            return Partial((), None, absent=(facts.place,))
        if not hmac.compare_digest(facts.digest.hex(), found[0]):
            raise changed()
        with suppress(OSError):
            os.utime(self.folder)  # a table that answers is in use
        try:
            with single(), self._cache(task.log, facts.place) as cache:
                answer = task.answer(Partition(facts.first_row, found[1]), cache)
        except OutdatedCache:
            return Partial((), None, outdated=(facts.place,))
        return Partial((facts.place,), narrowed(task.query, answer))

    @contextmanager
    def _cache(self, log: str, place: int) -> Iterator[Cache]:
        """Lend what a log made of a partition; where another task has it, or the table was removed meanwhile, an empty one."""
        folder = self.folder / f"log-{log}"
        with suppress(FileNotFoundError):
            _make(folder, "log-*", MOST_LOGS)
        with _locked(folder / f"{place}.lock") as free:
            if not free:
                yield Cache()
                return
            files = Files(folder, str(place), self.key)
            position, arrays = files.read(CHANGING) or ("0", {})
            cache, before = Cache(arrays), dict(arrays)
            cache.position = int(position)
            files.forget()  # whoever is killed while it changes leaves none
            try:
                yield cache
            finally:
                if cache.position > 0:
                    with suppress(OSError):  # made again from the whole log, then
                        files.write(cache.arrays, str(cache.position), before)


class Files:
    """Arrays of one name in a folder, and their index: a line that says what they are, below its own checksum."""

    def __init__(self, folder: Path, name: str, key: bytes) -> None:
        self._folder, self._name, self._key = folder, name, key
        self._entries: dict[str, list[Any]] = {}

    def read(self, changing: frozenset[str] = frozenset()) -> tuple[str, dict[str, Array]] | None:
        """Return the index of the arrays, and the arrays, mapped; None if anything is not as it was written.

        Those that are ``changing`` are changed on disk by whoever changes them, the others in memory alone.
        """
        try:
            signed, text = self._index.read_text("ascii").split("\n")
            if not hmac.compare_digest(signed, self._signed(text)):
                return None
            said, self._entries = json.loads(text)
            arrays = {name: self._mapped(name, name in changing) for name in self._entries}
        except (OSError, ValueError):
            return None
        found: str = said
        return found, arrays

    def write(self, arrays: MutableMapping[str, Array], said: str, kept: dict[str, Array] | None = None) -> None:
        """Write arrays, but those that were ``kept`` as they are; then the index, whole or not at all."""
        before = {} if kept is None else kept
        checksums = _checksums(self._key)
        entries = {}
        for name, array in arrays.items():
            same = before.get(name) is array
            if not same:
                with self._replaced(self._path(name)) as path, open(path, "xb") as file:
                    np.ascontiguousarray(array).tofile(file)
            if same and name not in CHANGING:
                entries[name] = self._entries[name]
            else:
                entries[name] = [array.dtype.str, array.shape, checksums.of(array).hex()]
        for name in before.keys() - arrays.keys():
            self._path(name).unlink(missing_ok=True)
        text = json.dumps([said, entries])
        with self._replaced(self._index) as path, open(path, "x", encoding="ascii") as index:
            index.write(f"{self._signed(text)}\n{text}")

    def forget(self) -> None:
        """Remove the index, so that the arrays count as absent."""
        self._index.unlink(missing_ok=True)

    @property
    def _index(self) -> Path:
        return self._folder / f"{self._name}.index"

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._name}.{name}"

    def _signed(self, text: str) -> str:
        about = f"{self._folder.name} {self._name} {text}".encode("ascii")
        return hashlib.blake2b(about, key=self._key, digest_size=32).hexdigest()

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
    def _replaced(self, path: Path) -> Iterator[Path]:
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


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold a lock that ends with the process, and say whether it was free; where its folder is gone it is not."""
    import fcntl  # executors run on systems that have it

    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except FileNotFoundError:
        yield False
        return
    with os.fdopen(descriptor, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
