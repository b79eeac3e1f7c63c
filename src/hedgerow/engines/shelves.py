"""The shelves of all executors of a Spark cluster, as the driver asks them."""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from hedgerow.engines.remote import Facts, Rows
from hedgerow.engines.shelf import remove, shelf_of

__all__ = ["Cells", "Shelves", "Types", "cells_of", "drop", "persisted"]

Cells = tuple[bytes, bytes, bytes, bytes, int]  # codes, classes, ids, checksum and number of records of a partition


@dataclass(frozen=True)
class Types:
    """How a partition's codes and classes are stored as bytes."""

    features: int
    codes: np.dtype[Any]
    labels: np.dtype[Any]

    def rows(self, cells: Cells) -> Rows:
        """Return a partition as it was before it became bytes."""
        codes, labels, ids, digest, records = cells
        return Rows(
            np.frombuffer(codes, dtype=self.codes).reshape(records, self.features),
            np.frombuffer(labels, dtype=self.labels),
            bytes(digest),
            np.frombuffer(ids, dtype=np.uint64).reshape(-1, 2),
        )


def cells_of(rows: Rows) -> Cells:
    """Return a partition as bytes."""
    return rows.codes.tobytes(), rows.labels.tobytes(), rows.ids.tobytes(), rows.digest, len(rows.codes)


def persisted(rows: Any) -> Any:
    """Return an RDD whose partitions stay with the executor that made them."""
    return rows.persist(import_module("pyspark").StorageLevel.MEMORY_AND_DISK)


def drop(rows: Any) -> None:
    """Let go of an RDD that was persisted."""
    with suppress(Exception):
        rows.unpersist(blocking=False)


class Shelves:
    """Partitions on the executors' local disks, and an RDD of a few bytes for each that tells Spark where they are.

    ``held`` is persisted: its block of a partition is on the executor that put the partition on its disk, so Spark sends tasks
    there, and makes the block again, with the partition, where that executor was lost.

    Parameters
    ----------
    context : SparkContext
        The context.
    rows : RDD
        How to make each partition: its cells, one element in each.
    types : Types
        Of the cells.
    """

    def __init__(self, context: Any, rows: Any, types: Types) -> None:
        self._context, self._rows, self._types = context, rows, types
        self._table, self._key = secrets.token_hex(8), os.urandom(32)
        self.held = persisted(rows.mapPartitionsWithIndex(_shelving(self._table, self._key, types)))

    def asked(self, facts: Any, packed: bytes) -> Any:
        """Return an RDD of what each partition answers; ``facts`` is a broadcast of what they must be."""
        return self.held.mapPartitionsWithIndex(_answering(self._table, self._key, facts, packed))

    def asked_of(self, places: Sequence[int], facts: Any, packed: bytes) -> Any:
        """Return what some partitions answer."""
        return self._context.runJob(self.asked(facts, packed), list, list(places))

    def made_again(self, places: Sequence[int], facts: Any, packed: bytes) -> Any:
        """Return what some partitions answer, put anew on the disk of whichever executor is asked."""
        work = _shelving(self._table, self._key, self._types, _answering(self._table, self._key, facts, packed))
        return self._context.runJob(self._rows.mapPartitionsWithIndex(work), list, list(places))

    def close(self) -> None:
        """Drop everything; executors that do not hear of it remove it later: when others need the room, or when they end."""
        drop(self.held)
        with suppress(Exception):
            slices = self._context.defaultParallelism
            self._context.parallelize(range(slices), slices).foreach(_removing(self._table))


# What runs on executors.


def _shelving(
    table: str, key: bytes, types: Types, then: Callable[[int, Iterator[Any]], Iterator[Any]] | None = None
) -> Callable[[int, Iterator[Cells]], Iterator[Any]]:
    def shelve(place: int, parts: Iterator[Cells]) -> Iterator[Any]:
        for part in parts:
            rows = types.rows(part)
            shelf_of(table, key, place).put(place, rows)
            yield (rows.digest, len(rows.codes))

    if then is None:
        return shelve
    return lambda place, parts: then(place, shelve(place, parts))


def _answering(table: str, key: bytes, facts: Any, packed: bytes) -> Callable[[int, Iterator[Any]], Iterator[bytes]]:
    def answer(place: int, parts: Iterator[Any]) -> Iterator[bytes]:
        given: Sequence[Facts] = facts.value
        for _ in parts:
            yield pickle.dumps(shelf_of(table, key, place).answer(given[place], packed))

    return answer


def _removing(table: str) -> Callable[[int], None]:
    return lambda _: remove(table)
