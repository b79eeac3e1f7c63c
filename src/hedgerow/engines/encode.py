"""From blocks of records to partitions of codes, each record read once and by itself."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.engines.spill import Spill
from hedgerow.errors import ConfigurationError, EngineError, SchemaError
from hedgerow.schema import Encoder
from hedgerow.schema.columns import read_columns, read_groups
from hedgerow.schema.persons import person_ids
from hedgerow.sources.streams import Block
from hedgerow.table import MOST_RECORDS, Keep, Partition

__all__ = ["CHANGED", "Checksums", "changed", "check_number", "encoded", "partitions_of"]

Codes = npt.NDArray[np.unsignedinteger]
Labels = npt.NDArray[np.signedinteger]
Rows = dict[str, npt.NDArray[Any]]

FEWEST_AT_ONCE = 1 << 22  # records whose persons are told apart together: 40 bytes each


def encoded(encoder: Encoder, X: Any, y: Any) -> tuple[Codes, Labels]:
    """Return the codes and the classes of some records.

    A batch whose type cannot hold what the schema declares has cells that cannot be read, as if each had come by itself: what
    the owner declared was checked before, and what a reader inferred of one batch must not end a fit.
    """
    columns = read_columns(X, encoder.schema.features, check_types=False)
    codes = encoder.transform(columns)
    try:
        labels: Labels = encoder.labels(y)
    except SchemaError:
        labels = np.full(len(y), -1, dtype=np.int16)
    if len(labels) != len(codes):
        raise ConfigurationError("a batch has columns of different lengths, so they do not form records.")
    return codes, labels


class Checksum:
    """The checksum of codes, classes and ids of persons that come block by block, whatever the sizes of the blocks."""

    def __init__(self, key: bytes) -> None:
        self._parts = {
            of: hashlib.blake2b(key=key, digest_size=32, person=of.encode()) for of in ("codes", "labels", "ids")
        }

    def update(self, rows: Rows) -> None:
        """Take the next records."""
        for name, array in rows.items():
            self._parts[name].update(np.ascontiguousarray(array.astype("<i4") if name == "labels" else array).data)

    def digest(self) -> bytes:
        """Return the checksum of all records so far."""
        return b"".join(part.digest() for part in self._parts.values())


class Checksums:
    """What records a source had, by a key of its own, so that a source that changed is not taken for what it was."""

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._known: dict[tuple[str, object], bytes] = {}

    def begin(self) -> Checksum:
        """Return what takes the records of one pass."""
        return Checksum(self._key)

    @property
    def key_of_ids(self) -> bytes:
        """The key by which ids of persons are hashed, the same in every pass."""
        return hashlib.blake2b(key=self._key, digest_size=32, person=b"hedgerow ids").digest()

    def check(self, encoder: Encoder, part: object, found: bytes) -> None:
        """Raise EngineError where a part of the source, read by the same encoder, had another checksum before."""
        name = json.dumps([encoder.schema.to_dict(), encoder.max_bins], sort_keys=True), part
        if not hmac.compare_digest(self._known.setdefault(name, found), found):
            raise changed()


CHANGED = "the records are not those that were read before"


def changed() -> EngineError:
    """Return the error of a source whose records are not what they were."""
    return EngineError(
        f"{CHANGED}, or stand in another order, so one could count twice. Read them from a source that does not change (sorted, "
        "and written down), and make hr.Records anew."
    )


def check_number(records: int) -> None:
    """Raise ConfigurationError where there are more records than sums stay exact for."""
    if records >= MOST_RECORDS:
        raise ConfigurationError(f"a table holds fewer than {MOST_RECORDS} records, so that its sums stay exact.")


def partitions_of(
    blocks: Iterable[Block],
    encoder: Encoder,
    spill: Spill,
    rows: int,
    checksums: Checksums,
    told: Callable[[float | None], None],
    keep: Keep | None = None,
) -> list[Partition]:
    """Return all records as partitions of at most so many rows, which the spill keeps.

    Records that ``keep`` leaves out have no class; ids of persons are dropped before this returns.
    """
    parts: list[tuple[int, MutableMapping[str, Any]]] = []
    buffers: dict[str, Any] = {
        "codes": np.empty((rows, len(encoder.n_codes)), dtype=encoder.dtype),
        "labels": np.empty(rows, dtype=encoder.labels([]).dtype),
    }
    if keep is not None:
        buffers["ids"] = np.empty((rows, 2), dtype=np.uint64)
    filled = first = 0
    check = checksums.begin()

    def finish() -> None:
        nonlocal filled, first
        arrays = spill.arrays()
        for name, buffer in buffers.items():
            arrays[name] = buffer[:filled].copy()
        parts.append((first, arrays))
        first, filled = first + filled, 0
        check_number(first)

    for block in blocks:
        own = _rows_of(block, encoder, checksums.key_of_ids, keep)
        check.update(own)
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
    checksums.check(encoder, None, check.digest())
    if keep is not None:
        keep.in_parts(parts, at_once=max(rows, FEWEST_AT_ONCE))
    return [Partition(first, arrays) for first, arrays in parts]


def _rows_of(block: Block, encoder: Encoder, key: bytes, keep: Keep | None) -> Rows:
    """Return the codes and classes of a block's records, and the hashed ids of their persons where they are asked for."""
    codes, labels = encoded(encoder, block.X, block.y)
    if keep is None:
        return {"codes": codes, "labels": labels}
    groups = read_groups(block.groups, len(labels), encoder.schema.missing)
    assert groups is not None
    assert groups.cells is not None
    return {"codes": codes, "labels": labels, "ids": person_ids(groups.cells, key, groups.missing)}
