"""From blocks of records to partitions of codes, each record read once and by itself."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.engines.kernels import block_sums, largest
from hedgerow.errors import ConfigurationError, EngineError
from hedgerow.schema.cells import Cells
from hedgerow.schema.columns import read_columns
from hedgerow.schema.persons import Ids, person_ids, read_groups
from hedgerow.sources.streams import Block
from hedgerow.table import MOST_RECORDS, Keep, Partition, PersonPart, Reading
from hedgerow.table.reading import Codes, Labels

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


Found = tuple[Codes, Labels]
Part = tuple[int, MutableMapping[str, Any]]  # the number of its first record, and its arrays

FEWEST_AT_ONCE = 1 << 22  # records whose persons are compared together: 40 bytes each


def encoded(reading: Reading, X: Any, y: Any) -> tuple[Found, Found]:
    """Return the codes and the classes of some records, and the input of their checksum.

    A batch whose type cannot hold what the schema declares has cells that cannot be read, as if each had come by itself: what
    the owner declared was checked before, and what a reader inferred of one batch must not end a fit.
    """
    columns = read_columns(X, reading.schema.features, check_types=False)
    if len(y) != columns.n_rows:
        raise ConfigurationError("a batch has columns of different lengths, so they do not form records.")
    found = reading.read(columns, y)
    return found, reading.witness(columns, y, found)


class Checksum:
    """The checksum of codes, classes and ids of persons, block by block; it does not depend on the sizes of blocks."""

    def __init__(self, key: bytes) -> None:
        self._codes, self._labels, self._ids = (
            hashlib.blake2b(key=key, digest_size=32, person=of) for of in (b"codes", b"labels", b"ids")
        )

    def update(self, codes: Codes, labels: Labels, ids: Ids | None = None) -> None:
        """Take the next records."""
        self._codes.update(np.ascontiguousarray(codes).data)
        self._labels.update(labels.astype("<i4").data)
        if ids is not None:
            self._ids.update(ids.data)

    def digest(self) -> bytes:
        """Return the checksum of all records so far."""
        return self._codes.digest() + self._labels.digest() + self._ids.digest()


class Checksums:
    """The checksums of a source's codes, by a key of its own, to detect a source that changed."""

    def __init__(self) -> None:
        self.key = os.urandom(32)
        self._known: dict[tuple[str, object], bytes] = {}

    def begin(self) -> Checksum:
        """Return the checksum that gets the codes and classes of one pass."""
        return Checksum(self.key)

    @property
    def key_of_ids(self) -> bytes:
        """The key by which ids of persons are hashed, the same in every pass."""
        return key_of_ids(self.key)

    def check(self, reading: Reading, part: object, found: bytes) -> None:
        """Raise EngineError if a part of the source, with the same name, had another checksum before."""
        if not hmac.compare_digest(self._known.setdefault((reading.name, part), found), found):
            raise changed()


def key_of_ids(key: bytes) -> bytes:
    """Return the key by which ids of persons are hashed, from a source's own."""
    return hashlib.blake2b(key=key, digest_size=32, person=b"hedgerow ids").digest()


CHANGED = "the records are not those that were read before"


def changed() -> EngineError:
    """Return the error of a source whose records have changed."""
    return EngineError(
        f"{CHANGED}, or stand in another order, so one could count twice. Read them from a source that does not change (sorted, "
        "and written down), and make hr.Records anew."
    )


def check_codes(codes: Codes, n_codes: npt.NDArray[np.int64]) -> None:
    """Raise EngineError if a code is beyond its feature's codes: kernels do not check them again.

    Codes follow from the schema, so such a code was altered. From here on, checksums protect codes on disk.
    """
    most = np.zeros(codes.shape[1], dtype=codes.dtype)
    largest(codes, most)
    if np.any(most >= n_codes):
        raise EngineError(
            "a record has a code that its feature does not have, so nothing was counted. Read the records again."
        )


def check_number(records: int) -> None:
    """Raise ConfigurationError if there are too many records for exact sums."""
    if records >= MOST_RECORDS:
        raise ConfigurationError(f"a table holds fewer than {MOST_RECORDS} records, so that its sums stay exact.")


def partitions_of(
    blocks: Iterable[Block],
    reading: Reading,
    spill: Spill,
    rows: int,
    checksums: Checksums,
    told: Callable[[float | None], None],
    keep: Keep | None = None,
) -> list[Partition]:
    """Return all records as partitions of at most this many rows, which the spill keeps.

    Records that ``keep`` leaves out have no class; ids of persons are dropped before this returns.
    """
    parts: list[Part] = []
    buffers: dict[str, Any] = {
        "codes": np.empty((rows, len(reading.n_codes)), dtype=reading.dtype),
        "labels": np.empty(rows, dtype=reading.label_dtype),
    }
    if keep is not None:
        buffers["ids"] = np.empty((rows, 2), dtype=np.uint64)
    filled = first = 0
    check = checksums.begin()

    def finish() -> None:
        nonlocal filled, first
        arrays = spill.arrays()
        check_codes(buffers["codes"][:filled], reading.n_codes)
        for name, buffer in buffers.items():
            arrays[name] = buffer[:filled].copy()
        parts.append((first, arrays))
        first, filled = first + filled, 0
        check_number(first)

    for block in blocks:
        found, witness = encoded(reading, block.X, block.y)
        own = dict(zip(("codes", "labels"), found, strict=True))
        ids = None if keep is None else ids_of(block, reading.schema.missing, checksums.key_of_ids)
        check.update(*witness, ids)
        if keep is not None and ids is not None:
            own["ids"] = in_part(block, reading.schema.missing, keep.part, ids)
        start, count = 0, len(own["labels"])
        while start < count:
            taken = min(rows - filled, count - start)
            for name, array in own.items():
                buffers[name][filled : filled + taken] = array[start : start + taken]
            filled, start = filled + taken, start + taken
            if filled == rows:
                finish()
        told(block.share)
    if filled or not parts:
        finish()
    checksums.check(reading, None, check.digest())
    if keep is not None:
        keep.in_parts(parts, at_once=max(rows, FEWEST_AT_ONCE))
    return [Partition(first, arrays) for first, arrays in parts]


def ids_of(block: Block, missing: Sequence[str], key: bytes) -> Ids:
    """Return the hashed ids of a block's persons."""
    return person_ids(_cells(block, missing), key, missing)


def in_part(block: Block, missing: Sequence[str], part: PersonPart | None, ids: Ids) -> Ids:
    """Return a block's hashed ids, zeros where the person is not in a part of all persons; checksums are of all ids."""
    return ids if part is None else part.only(ids, _cells(block, missing), missing)


def _cells(block: Block, missing: Sequence[str]) -> Cells:
    """Return the ids of a block's persons as they are written."""
    groups = read_groups(block.groups, len(block.y), missing, warn=False)
    assert groups is not None
    assert groups.cells is not None
    return groups.cells


def counted_of(
    blocks: Callable[[], Iterable[Block]], missing: Sequence[str], spill: Spill, checksums: Checksums, keep: Keep
) -> Iterator[tuple[Block, npt.NDArray[np.bool_]]]:
    """Yield blocks, which are read twice, each with a mask of the records that count, with or without a label.

    Raises
    ------
    EngineError
        If a record has another person in the second reading: then too many records could count.
    """
    parts: list[Part] = []
    whose: list[bytes] = []
    first = 0
    for block in blocks():
        arrays = spill.arrays()
        ids = ids_of(block, missing, checksums.key_of_ids)
        arrays["ids"] = in_part(block, missing, keep.part, ids)
        arrays["labels"] = np.zeros(len(ids), dtype=np.int8)
        whose.append(_digest(ids))
        parts.append((first, arrays))
        first += len(arrays["labels"])
        check_number(first)
    keep.in_parts(parts, at_once=FEWEST_AT_ONCE)
    read = 0
    for read, block in enumerate(blocks(), start=1):
        if read > len(parts) or _digest(ids_of(block, missing, checksums.key_of_ids)) != whose[read - 1]:
            raise changed()
        yield block, parts[read - 1][1]["labels"] >= 0
    if read < len(parts):
        raise changed()


def _digest(ids: Ids) -> bytes:
    return hashlib.blake2b(ids.data, digest_size=32).digest()
