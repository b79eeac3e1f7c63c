"""Partitions of one machine, counted on all its processors."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, repeat
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.compiled import available_threads, for_each
from hedgerow.engines.encode import Checksums, counted_of, partitions_of
from hedgerow.engines.kernels import block_sums
from hedgerow.engines.progress import Progress
from hedgerow.engines.values import Counts, ValueCounts
from hedgerow.errors import EngineError
from hedgerow.schema import Schema
from hedgerow.sources.streams import Block, Layout, Stream
from hedgerow.table import Keep, Memo, Partition, PartitionedTable, Question, Reading, Task

Array = npt.NDArray[Any]

TRIES, PAUSE = 20, 0.05  # seconds
BLOCK_WORDS = 4096  # of 32 bits, whose keys stay in a core's own cache


class ArrayChecksums:
    """Checksums by a key that never goes to the disk: whoever can write there cannot make an array that has the same.

    Parameters
    ----------
    key : bytes, optional
        What the key is made of; without it the key is drawn, and stays in this process.
    """

    def __init__(self, key: bytes | None = None) -> None:
        size = 8 * BLOCK_WORDS
        keys = os.urandom(size) if key is None else hashlib.shake_256(b"hedgerow arrays" + key).digest(size)
        self._keys = np.frombuffer(keys, dtype=np.uint64)

    def of(self, array: Array) -> bytes:
        """Return the checksum of an array's bytes: that of its blocks' sums, and of what is left of a word."""
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        whole = content.size // 4 * 4
        words = np.require(content[:whole], requirements=["A"]).view(np.uint32)
        sums = np.empty(-(-len(words) // BLOCK_WORDS), dtype=np.uint32)
        block_sums(words, self._keys, sums)
        return hashlib.blake2b(sums.tobytes() + content[whole:].tobytes(), digest_size=16).digest()


@dataclass(frozen=True)
class _OnDisk:
    """Where an array is, and what it was when it was written."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    checksum: bytes

    def read(self, checksums: ArrayChecksums) -> Array:
        """Return the array, or raise EngineError where it is not what was written."""
        try:
            array: Array = np.fromfile(self.path, dtype=self.dtype).reshape(self.shape)
        except (OSError, ValueError):  # which say how many records there are
            raise _unkept() from None
        if checksums.of(array) != self.checksum:
            raise EngineError(
                "a file of codes was altered on disk, so the operation ends; what was charged for it stays "
                "charged. Pass a folder that nobody else writes to as spill=, or a larger memory=."
            )
        return array


def _unkept() -> EngineError:
    return EngineError(
        "codes of records could not be written to disk or read back, so the operation ends; what was charged for it stays "
        "charged. Pass a folder with more room, which nobody clears, as spill=, or a larger memory=."
    )


class Spill:
    """A place for arrays of records: memory up to a budget, then files in a folder that only this user may enter.

    The folder is made when the first array goes there, and removed by ``close``, which leaving the context calls, however it is
    left; no file comes after that. A process that is killed leaves it behind (its name begins with ``hedgerow-spill-``).

    Parameters
    ----------
    folder : path or None
        Where to make it; None: where the system puts temporary files.
    memory : int
        How many bytes may stay in memory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, memory: int) -> None:
        parent = tempfile.gettempdir() if folder is None else folder
        self._folder = Path(parent) / f"hedgerow-spill-{secrets.token_hex(8)}"
        self._left = memory
        self._names = count()
        self._lock = threading.RLock()  # a signal's handler may ask on the thread that holds it
        self.checksums = ArrayChecksums()
        self._closed = False
        # Before the folder is made: an interruption between the two would leave it behind.
        self._removed = weakref.finalize(self, _remove, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it; a thread that still works gets no other one."""
        with self._lock:
            self._closed = True
        _remove(self._folder)
        self._removed.detach()  # last: broken off before, it is removed when nobody holds this any more

    def arrays(self) -> MutableMapping[str, Array]:
        """Return an empty mapping whose arrays are kept here."""
        return _Arrays(self)

    def take(self, size: int) -> bool:
        """Say whether so many bytes still fit memory, and count them if they do."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        """Count so many bytes as free again."""
        with self._lock:
            self._left += size

    def write(self, array: Array, path: Path | None = None) -> Path:
        """Write an array to a file, a new one if none is given, and return its path; raise EngineError where that fails."""
        try:
            path = self._new_file() if path is None else path
            with open(path, "r+b") as file:  # written over where it was there: no block is looked for anew
                array.tofile(file)
        except OSError:  # which says how many records there are
            raise _unkept() from None
        return path

    def put(self, array: Array) -> _OnDisk:
        """Write an array to a new file."""
        return _OnDisk(self.write(array), array.dtype, array.shape, self.checksums.of(array))

    def _new_file(self) -> Path:
        with self._lock:
            if self._closed:
                raise _unkept()
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path = self._folder / f"{next(self._names)}.bin"
            path.touch(0o600, exist_ok=False)
            return path


def _remove(folder: Path) -> None:
    """Remove a folder, also where interruptions fall in between: the last of them is raised afterwards."""
    interruption: BaseException | None = None
    for _ in range(TRIES):
        try:
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(PAUSE)  # another thread may still have a file open
        except BaseException as error:
            interruption = error
    if interruption is not None:
        raise interruption


class _Arrays(MutableMapping[str, Array]):
    """Arrays by name; those on disk are read anew each time that they are asked for, and then only."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._kept: dict[str, Array | _OnDisk] = {}

    def __getitem__(self, name: str) -> Array:
        kept = self._kept[name]
        return kept.read(self._spill.checksums) if isinstance(kept, _OnDisk) else kept

    def __setitem__(self, name: str, array: Array) -> None:
        kept = self._kept.get(name)
        if kept is array:
            return
        if isinstance(kept, _OnDisk) and (kept.dtype, kept.shape) == (array.dtype, array.shape):
            self._spill.write(array, kept.path)
            self._kept[name] = replace(kept, checksum=self._spill.checksums.of(array))
            return
        if kept is not None:
            del self[name]
        # Known once it is kept, so that nothing is found by its name that is not whole.
        self._kept[name] = array if self._spill.take(array.nbytes) else self._spill.put(array)

    def __delitem__(self, name: str) -> None:
        kept = self._kept.pop(name)
        if isinstance(kept, _OnDisk):
            kept.path.unlink(missing_ok=True)
        else:
            self._spill.give_back(kept.nbytes)

    def __contains__(self, name: object) -> bool:
        return name in self._kept

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Delete all arrays; none is read for that."""
        for name in self:
            del self[name]


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
