"""From blocks of records to partitions of codes, each record read once and by itself."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hedgerow.engines.spill import Spill
from hedgerow.errors import ConfigurationError, EngineError
from hedgerow.schema.columns import read_columns
from hedgerow.sources.streams import Block
from hedgerow.table import MOST_RECORDS, Partition, Reading
from hedgerow.table.reading import Codes, Labels

__all__ = ["CHANGED", "Checksum", "Checksums", "Found", "changed", "check_number", "encoded", "partitions_of"]

Found = tuple[Codes, Labels]


def encoded(reading: Reading, X: Any, y: Any) -> tuple[Found, Found]:
    """Return the codes and the classes of some records, and what their checksum is made of.

    A batch whose type cannot hold what the schema declares has cells that cannot be read, as if each had come by itself: what
    the owner declared was checked before, and what a reader inferred of one batch must not end a fit.
    """
    columns = read_columns(X, reading.schema.features, check_types=False)
    if len(y) != columns.n_rows:
        raise ConfigurationError("a batch has columns of different lengths, so they do not form records.")
    found = reading.read(columns, y)
    return found, reading.witness(columns, y, found)


class Checksum:
    """The checksum of codes and classes that come block by block, whatever the sizes of the blocks."""

    def __init__(self, key: bytes) -> None:
        self._codes, self._labels = (
            hashlib.blake2b(key=key, digest_size=32, person=of) for of in (b"codes", b"labels")
        )

    def update(self, codes: Codes, labels: Labels) -> None:
        """Take the next records."""
        self._codes.update(np.ascontiguousarray(codes).data)
        self._labels.update(labels.astype("<i4").data)

    def digest(self) -> bytes:
        """Return the checksum of all records so far."""
        return self._codes.digest() + self._labels.digest()


class Checksums:
    """What codes a source had, by a key of its own, so that a source that changed is not taken for what it was."""

    def __init__(self) -> None:
        self.key = os.urandom(32)
        self._known: dict[tuple[str, object], bytes] = {}

    def begin(self) -> Checksum:
        """Return what takes the codes and classes of one pass."""
        return Checksum(self.key)

    def check(self, reading: Reading, part: object, found: bytes) -> None:
        """Raise EngineError where a part of the source, read by the same name, had another checksum before."""
        if not hmac.compare_digest(self._known.setdefault((reading.name, part), found), found):
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
    reading: Reading,
    spill: Spill,
    rows: int,
    checksums: Checksums,
    told: Callable[[float | None], None],
) -> list[Partition]:
    """Return all records as partitions of at most so many rows, which the spill keeps."""
    partitions: list[Partition] = []
    codes = np.empty((rows, len(reading.n_codes)), dtype=reading.dtype)
    labels: Labels = np.empty(rows, dtype=reading.label_dtype)
    filled = first = 0
    check = checksums.begin()

    def finish() -> None:
        nonlocal filled, first
        arrays = spill.arrays()
        arrays["codes"], arrays["labels"] = codes[:filled].copy(), labels[:filled].copy()
        partitions.append(Partition(first, arrays))
        first, filled = first + filled, 0
        check_number(first)

    for block in blocks:
        (own_codes, own_labels), witness = encoded(reading, block.X, block.y)
        check.update(*witness)
        start = 0
        while start < len(own_codes):
            taken = min(rows - filled, len(own_codes) - start)
            codes[filled : filled + taken] = own_codes[start : start + taken]
            labels[filled : filled + taken] = own_labels[start : start + taken]
            filled, start = filled + taken, start + taken
            if filled == rows:
                finish()
        told(block.share)
    if filled or not partitions:
        finish()
    checksums.check(reading, None, check.digest())
    return partitions
