"""What engines of several processes share: how records become partitions there, and how one answers."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.compiled import single
from hedgerow.engines.encode import FEWEST_AT_ONCE, Checksum, changed, check_number, encoded
from hedgerow.engines.persons import Whose
from hedgerow.engines.values import Counts, ValueCounts
from hedgerow.errors import EngineError
from hedgerow.schema.persons import Ids
from hedgerow.sources.streams import Layout
from hedgerow.table import Bits, Candidates, Keep, Reading, Share, only, unpacked
from hedgerow.table.reading import Codes, Labels

NO_IDS: Ids = np.empty((0, 2), dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Rows:
    """A partition's codes and classes, their keyed checksum, and who they are of until it is known which records count."""

    codes: Codes
    labels: Labels
    digest: bytes
    ids: Ids = field(default_factory=lambda: NO_IDS, repr=False)


@dataclass(frozen=True)
class Fact:
    """What the driver holds fast of a partition: how many records it has, and their checksum."""

    rows: int
    digest: bytes


@dataclass(frozen=True)
class Facts:
    """Where a partition stands among all, and what its records must be."""

    place: int
    first_row: int
    digest: bytes


def prepare() -> None:
    """Import what answers take, which otherwise waits for the first query."""
    for package in ("hedgerow.boosting", "hedgerow.trees"):
        import_module(package)


def encode(reading: Reading, layout: Layout, key: bytes, whose: Whose | None, batches: Iterable[Any]) -> Rows:
    """Return the tables of one partition as codes, and who they are of if that is asked; a function of its arguments alone."""
    codes, labels, ids = (
        [np.empty((0, len(reading.n_codes)), reading.dtype)],
        [np.empty(0, reading.label_dtype)],
        [NO_IDS],
    )
    check = Checksum(key)
    if whose is not None:
        whose.check()
    with single():
        for batch in batches:
            block = layout.block(batch, None)
            found, witness = encoded(reading, block.X, block.y)
            codes.append(found[0])
            labels.append(found[1])
            if whose is not None:
                every = whose.ids(block, reading.schema.missing, key)
                ids.append(whose.counting(block, reading.schema.missing, every))
            check.update(*witness, None if whose is None else every)
    return Rows(np.concatenate(codes), np.concatenate(labels), check.digest(), np.concatenate(ids))


def persons(asked: ValueCounts, layout: Layout, key: bytes, whose: Whose, batches: Iterable[Any]) -> Rows:
    """Return who the records of one partition are of, each of them with a class, and no codes."""
    whose.check()
    each, counting = [NO_IDS], [NO_IDS]
    with single():
        for batch in batches:
            block = layout.block(batch, None)
            each.append(whose.ids(block, asked.schema.missing, key))
            counting.append(whose.counting(block, asked.schema.missing, each[-1]))
    ids = np.concatenate(each)
    nothing = np.empty((len(ids), 0), np.uint8), np.zeros(len(ids), np.int8)
    return Rows(*nothing, _digest_of(ids, key), np.concatenate(counting))


def _digest_of(ids: Ids, key: bytes) -> bytes:
    return hashlib.blake2b(ids.data, key=key, digest_size=32).digest()


def placed(facts: Sequence[Fact]) -> list[Facts]:
    """Return where each partition's records begin, in the order of the partitions.

    Raises
    ------
    EngineError
        If there is no record, or too many.
    """
    ends = np.cumsum([fact.rows for fact in facts]).tolist()
    if not ends or not ends[-1]:
        raise EngineError("there are no records, but a fit rests on there being one. Add records.")
    check_number(ends[-1])
    starts = [0, *ends[:-1]]
    return [Facts(place, start, fact.digest) for place, (start, fact) in enumerate(zip(starts, facts, strict=True))]


@dataclass(frozen=True, eq=False)
class Chosen:
    """What a partition's records must be, and a bit for each of them, set where it counts."""

    facts: Facts
    bits: Bits = field(repr=False)

    @property
    def after(self) -> Facts:
        """What the records must be once those that do not count have no class: other ones than before."""
        return replace(self.facts, digest=hashlib.blake2b(self.facts.digest + self.bits.tobytes()).digest())


def chosen(
    keep: Keep, facts: Sequence[Facts], sizes: Sequence[int], ask: Callable[[Share], Sequence[Candidates]]
) -> list[Chosen]:
    """Return which records of each partition count; ``ask`` returns every partition's ``candidates``, in their order."""
    masks = keep.chosen(sizes, FEWEST_AT_ONCE, ask)
    return [Chosen(*one) for one in zip(facts, masks, strict=True)]


def candidates(rows: Rows, facts: Facts, share: Share) -> Candidates:
    """Return the records of one partition that may count, or raise EngineError if they are not those that the driver knows."""
    _check(facts, rows)
    return share.candidates(rows.ids, rows.labels, facts.first_row)


def kept(rows: Rows, mine: Chosen) -> Rows:
    """Return the records of one partition without the classes of those that do not count, and without ids; raises as above."""
    _check(mine.facts, rows)
    return Rows(rows.codes, only(rows.labels, mine.bits), mine.after.digest)


def counted(
    asked: ValueCounts, layout: Layout, key: bytes, whose: Whose | None, mine: Chosen | None, batches: Iterable[Any]
) -> Counts:
    """Return how many of a partition's records have each value, of those that count; all do where nothing is ``mine``."""
    if whose is None or mine is None:
        return reduce(asked.sum, (asked(*layout.split(batch)) for batch in batches), asked.nothing)
    whose.check()
    total, ids, masks = asked.nothing, [NO_IDS], unpacked(mine.bits)
    with single():
        for batch in batches:
            block = layout.block(batch, None)
            ids.append(whose.ids(block, asked.schema.missing, key))
            mask, masks = masks[: len(ids[-1])], masks[len(ids[-1]) :]
            if len(mask) < len(ids[-1]):
                raise changed()
            total = asked.sum(total, asked(block.X, block.y, mask))
    if not hmac.compare_digest(_digest_of(np.concatenate(ids), key), mine.facts.digest):
        raise changed()
    return total


def _check(facts: Facts, rows: Rows) -> None:
    if not hmac.compare_digest(facts.digest, rows.digest):
        raise changed()


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as kernels know it: what came over the wire may be read-only, which numba takes for another type."""
    return np.require(array, requirements=["C", "A", "W"])
