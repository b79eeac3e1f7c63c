"""The runs of an attack, in memory or in a folder where an interrupted audit goes on."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.audit.views import Columns, join_columns
from hedgerow.errors import ConfigurationError
from hedgerow.files import atomic_file

__all__ = ["TrialRuns", "no_such_view"]

BROKEN = (OSError, EOFError, ValueError)  # what reading a damaged file raises


class TrialRuns:
    """The views of the runs of one trial.

    Parameters
    ----------
    folder : path or None
        Where batches of runs are kept, each trial in a folder of its own; None keeps them in memory.
    identity : mapping
        What the runs are of. A folder that holds runs of something else is refused.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self._identity = dict(identity)
        self._batches: dict[tuple[int, int], Columns] = {}
        self._home: Path | None = None
        self.runs = 0
        if folder is None:
            return
        text = json.dumps(self._identity, sort_keys=True)
        name = re.sub(r"[^a-z0-9]+", "-", f"{identity['subject']} {identity['pair']} {identity['adjacency']}".lower())
        self._home = Path(folder) / f"{name}-{blake2b(text.encode(), digest_size=4).hexdigest()}"

    def plan(self, runs: Callable[[], int]) -> None:
        """Fix the number of runs, as the folder says or else as ``runs`` does, and read the batches that are there."""
        if self._home is None:
            self.runs = runs()
            return
        self._home.mkdir(parents=True, exist_ok=True)
        path = self._home / "trial.json"
        if path.exists():
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
            except BROKEN as error:
                raise ConfigurationError(f"{path} is damaged; remove the folder {self._home}.") from error
            if {**found, "runs": 0} != {**self._identity, "runs": 0}:
                raise ConfigurationError(f"{self._home} holds runs of another audit; choose another folder.")
            self.runs = int(found["runs"])
            self._read()
            return
        self.runs = runs()
        _write(path, json.dumps({**self._identity, "runs": self.runs}, indent=2).encode())

    def _read(self) -> None:
        assert self._home is not None
        for path in self._home.glob("*.json.gz"):
            side, batch = path.name.removesuffix(".json.gz").split("-")
            try:
                found = json.loads(gzip.decompress(path.read_bytes()))
                self._batches[int(side), int(batch)] = {name: np.array(values) for name, values in found.items()}
            except BROKEN:
                path.unlink()  # it is run again

    def has(self, side: int, batch: int) -> bool:
        """Return whether a batch was run."""
        return (side, batch) in self._batches

    def put(self, side: int, batch: int, found: Columns) -> None:
        """Keep a batch."""
        self._batches[side, batch] = found
        if self._home is not None:
            text = json.dumps({name: column.tolist() for name, column in found.items()}).encode()
            _write(self._home / f"{side}-{batch:05d}.json.gz", gzip.compress(text, compresslevel=1))

    def columns(self, views: Sequence[str] | None = None) -> tuple[Columns, Columns]:
        """Return the views of all runs on each data set, in the order of the batches."""
        first, second = (
            join_columns(_only(self._batches[key], views) for key in sorted(self._batches) if key[0] == side)
            for side in (0, 1)
        )
        return first, second


def _only(batch: Columns, views: Sequence[str] | None) -> Columns:
    if views is None:
        return batch
    kept = {name: batch[name] for name in batch if any(view in name for view in views)}
    if not kept:
        raise no_such_view(views[0], sorted(batch))
    return kept


def no_such_view(view: str, found: Sequence[str]) -> ConfigurationError:
    """Return what to raise where answers have only the views ``found``."""
    return ConfigurationError(f"no answer has a view {view!r}; there are {', '.join(found)}.")


def _write(path: Path, content: bytes) -> None:
    with atomic_file(path) as part:
        part.write_bytes(content)
