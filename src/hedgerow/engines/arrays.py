"""Arrays of records: their checksums at about the speed of memory, and a place that keeps them in memory or in files."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, MutableMapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import EngineError
from hedgerow.table.kernels import block_sums

Array = npt.NDArray[Any]

TRIES, PAUSE = 20, 0.05  # seconds
BLOCK_WORDS = 4096  # of 32 bits, whose keys stay in a core's own cache


class ArrayChecksums:
    """Checksums by a key that never goes to the disk: whoever can write there cannot make an array that has the same.

    Without a ``key`` it is drawn, and stays in this process.
    """

    def __init__(self, key: bytes | None = None) -> None:
        size = 8 * BLOCK_WORDS
        keys = os.urandom(size) if key is None else hashlib.shake_256(b"hedgerow arrays" + key).digest(size)
        self._keys = np.frombuffer(keys, dtype=np.uint64)

    def of(self, array: Array) -> bytes:
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        whole = content.size // 4 * 4
        words = np.require(content[:whole], requirements=["A"]).view(np.uint32)
        sums = np.empty(-(-len(words) // BLOCK_WORDS), dtype=np.uint32)
        block_sums(words, self._keys, sums)
        return hashlib.blake2b(sums.tobytes() + content[whole:].tobytes(), digest_size=16).digest()


@dataclass(frozen=True)
class _OnDisk:
    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    checksum: bytes

    def read(self, checksums: ArrayChecksums) -> Array:
        try:
            array: Array = np.fromfile(self.path, dtype=self.dtype).reshape(self.shape)
        except (OSError, ValueError):  # which say how many records there are
            raise _unkept() from None
        if checksums.of(array) != self.checksum:
            raise EngineError(
                "codes on disk were altered, so the operation ends; what was charged stays charged. Pass a spill= of your own."
            )
        return array


def _unkept() -> EngineError:
    return EngineError(
        "codes could not be kept on disk, so the operation ends; what was charged stays charged. Pass a spill= with more room."
    )


class Spill(AbstractContextManager["Spill"]):
    """A place for arrays of records: memory up to a budget, then files in a folder that only this user may enter.

    The folder is made when the first array goes there, and removed by ``close``, which leaving the context calls, however it is
    left; no file comes after that. A process that is killed leaves it behind (its name begins with ``hedgerow-spill-``). It is
    in ``folder``, or where the system puts temporary files; ``memory`` is how many bytes may stay in memory.
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it; a thread that still works gets no other one."""
        with self._lock:
            self._closed = True
        _remove(self._folder)
        self._removed.detach()  # last: broken off before, it is removed when nobody holds this any more

    def arrays(self) -> MutableMapping[str, Array]:
        return _Arrays(self)

    def take(self, size: int) -> bool:
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
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
        for name in self:
            del self[name]
