"""Arrays that stay in memory while they fit a budget, and go to a folder of the fit's own otherwise."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Spill"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _OnDisk:
    """Where an array is."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def read(self) -> Array:
        array: Array = np.fromfile(self.path, dtype=self.dtype)
        return array.reshape(self.shape)


class Spill:
    """A place for arrays of records: memory up to a budget, then files in a folder that only this user may enter.

    The folder is made when the first array goes there, and removed by ``close``, which leaving the context calls, however it is
    left. A process that is killed leaves it behind (its name begins with ``hedgerow-spill-``).

    Parameters
    ----------
    folder : path or None
        Where to make it; None: where the system puts temporary files.
    memory : int
        How many bytes may stay in memory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, memory: int) -> None:
        self._parent, self._left = folder, memory
        self._folder: Path | None = None
        self._names = count()
        self._lock = threading.Lock()
        self._close: weakref.finalize[..., Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        if self._close is not None:
            self._close()

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

    def new_file(self) -> Path:
        """Return the path of a file that is not there yet."""
        with self._lock:
            if self._folder is None:
                parent = tempfile.gettempdir() if self._parent is None else self._parent
                folder = Path(parent) / f"hedgerow-spill-{secrets.token_hex(8)}"
                # Before it is made: an interruption between the two would leave it behind.
                self._close = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                folder.mkdir(mode=0o700)
                self._folder = folder
            return self._folder / f"{next(self._names)}.bin"


class _Arrays(MutableMapping[str, Array]):
    """Arrays by name; those on disk are read anew each time that they are asked for."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._kept: dict[str, Array | _OnDisk] = {}

    def __getitem__(self, name: str) -> Array:
        kept = self._kept[name]
        return kept.read() if isinstance(kept, _OnDisk) else kept

    def __setitem__(self, name: str, array: Array) -> None:
        kept = self._kept.get(name)
        if kept is array:
            return
        if isinstance(kept, _OnDisk) and (kept.dtype, kept.shape) == (array.dtype, array.shape):
            with open(kept.path, "r+b") as file:  # what is there is written over: no block is looked for anew
                array.tofile(file)
            return
        if kept is not None:
            del self[name]
        if self._spill.take(array.nbytes):
            self._kept[name] = array
            return
        path = self._spill.new_file()
        self._kept[name] = _OnDisk(path, array.dtype, array.shape)
        array.tofile(path)

    def __delitem__(self, name: str) -> None:
        kept = self._kept.pop(name)
        if isinstance(kept, _OnDisk):
            kept.path.unlink(missing_ok=True)
        else:
            self._spill.give_back(kept.nbytes)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._kept))

    def __len__(self) -> int:
        return len(self._kept)
