"""From blocks of records to partitions of codes, each record read once and by itself: in this process, and on workers."""

from __future__ import annotations

import hashlib
import hmac
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import single
from hedgerow.engines.arrays import Spill
from hedgerow.errors import ConfigurationError, EngineError
from hedgerow.reading.cells import count_values
from hedgerow.reading.columns import Columns, read_columns, read_labels
from hedgerow.reading.persons import Ids, person_ids, read_groups
from hedgerow.reading.streams import Block, Layout
from hedgerow.table import MOST_RECORDS, Bits, Candidates, Keep, Partition, PersonPart, Reading, Share, only, unpacked
from hedgerow.table.reading import Codes, Labels, OneClass

Fact = tuple[int, bytes]  # what the driver knows of a partition: how many records it has, and their checksum
Part = tuple[int, MutableMapping[str, Any]]  # the number of its first record, and its arrays

FEWEST_AT_ONCE = 1 << 22  # records whose persons are compared together: 40 bytes each
NO_IDS: Ids = np.empty((0, 2), dtype=np.uint64)
CHANGED = "the records are not those that were read before"
UNICODE = "the workers' Unicode version differs from the driver's"


def changed() -> EngineError:
    return EngineError(f"{CHANGED}, or in another order; make hr.Records of a source that does not change.")


def encoded(reading: Reading, block: Block, check: Checksum, persons: PersonIds | None) -> tuple[Codes, Labels, Ids]:
    """Return the codes, classes and ids of the records of a block, and add them to the checksum. Without ``persons``: no ids.

    A batch whose type cannot hold what the schema declares has cells that cannot be read, as if each had come by itself: what
    the owner declared was checked before, and what a reader inferred of one batch must not end a fit.
    """
    columns = read_columns(block.X, reading.schema.features, check_types=False)
    if len(block.y) != columns.n_rows:
        raise ConfigurationError("a batch has columns of different lengths, so they do not form records.")
    result = reading.read(columns, block.y)
    ids, counting = (NO_IDS, NO_IDS) if persons is None else persons.read(block, reading.schema.missing)
    check.update(*reading.witness(columns, block.y, result), ids)
    return *result, counting


def joined(reading: Reading, parts: Iterable[tuple[Codes, Labels, Ids]]) -> list[Any]:
    none = np.empty((0, len(reading.n_codes)), reading.dtype), np.empty(0, reading.label_dtype), NO_IDS
    return [np.concatenate(arrays) for arrays in zip(none, *parts, strict=True)]


class Checksum:
    """The checksum of codes, classes and ids of persons, block by block; it does not depend on the sizes of blocks."""

    def __init__(self, key: bytes) -> None:
        self._codes, self._labels, self._ids = (
            hashlib.blake2b(key=key, digest_size=32, person=of) for of in (b"codes", b"labels", b"ids")
        )

    def update(self, codes: Codes, labels: Labels, ids: Ids) -> None:
        self._codes.update(np.ascontiguousarray(codes).data)
        self._labels.update(labels.astype("<i4").data)
        self._ids.update(ids.data)

    def digest(self) -> bytes:
        return self._codes.digest() + self._labels.digest() + self._ids.digest()


class Checksums:
    """The checksums of a source's codes, by a key of its own, to detect a source that changed."""

    def __init__(self) -> None:
        self.key = os.urandom(32)
        self._known: dict[tuple[str, object], bytes] = {}

    def to_plain(self) -> tuple[bytes, list[tuple[str, bytes]]]:
        """Return the key and the checksums of a source that is no cluster's, for another process of its owner."""
        return self.key, [(name, found) for (name, part), found in self._known.items() if part is None]

    @classmethod
    def of_plain(cls, plain: tuple[bytes, list[tuple[str, bytes]]]) -> Checksums:
        made = cls()
        made.key, known = plain
        made._known = {(name, None): found for name, found in known}
        return made

    def check(self, reading: Reading, part: object, found: bytes) -> None:
        if not hmac.compare_digest(self._known.setdefault((reading.name, part), found), found):
            raise changed()


def check_codes(codes: Codes, n_codes: npt.NDArray[np.int64]) -> None:
    """Raise EngineError if a code is beyond its feature's codes: kernels do not check, and checksums keep them as they are."""
    if np.any(codes > (n_codes - 1).astype(codes.dtype)):
        raise EngineError("a record has a code that its feature does not have; nothing was counted. Read them again.")


def check_number(records: int) -> None:
    if records >= MOST_RECORDS:
        raise ConfigurationError(f"a table holds fewer than {MOST_RECORDS} records, so that its sums stay exact.")


# Ids of persons, which the driver and all workers must read alike: one person under two ids would count twice.

TEXT = ("object", "str", "large_string")


def unicode_version() -> str:
    return unicodedata.unidata_version


def other_unicode() -> EngineError:
    return EngineError(f"{UNICODE}, so one person could be read as two. Give all of them the same version of Python.")


def kind_of(column: Any) -> str:
    dtype = getattr(column.dtype, "categories", column).dtype
    if str(dtype).startswith(TEXT):
        return "text"
    return "numbers" if dtype.kind in "iuf" else str(dtype)


@dataclass(frozen=True)
class PersonIds:
    # Of the source's checksums; ids are hashed by one that is made of it, the same in every pass
    key: bytes = field(repr=False)
    part: PersonPart | None = None  # of all persons: whose records may count
    kind: str | None = None  # what the frame declares its column of ids to be, if a partition may come otherwise
    version: str = field(default_factory=unicode_version)  # the driver's, of Unicode

    def read(self, block: Block, missing: Sequence[str]) -> tuple[Ids, Ids]:
        """Return the hashed ids of a block's persons, of which checksums are, and with zeros where records are not to count."""
        if self.version != unicode_version():
            raise other_unicode()
        present = None if self.kind is None else block.groups.dropna()
        if present is not None and len(present) and kind_of(present) != self.kind:
            raise EngineError("a partition's ids are of another type than the frame's; give the column one type.")
        groups = read_groups(block.groups, len(block.y), missing, warn=False)
        assert groups is not None
        assert groups.cells is not None
        key = hashlib.blake2b(key=self.key, digest_size=32, person=b"hedgerow ids").digest()
        ids = person_ids(groups.cells, key, missing)
        return ids, ids if self.part is None else self.part.only(ids, groups.cells, missing)


# In this process.


def partitions_of(
    blocks: Iterable[Block],
    reading: Reading,
    spill: Spill,
    rows: int,
    checksums: Checksums,
    progress: Callable[[float | None], None],
    keep: Keep | None = None,
    first_row: int = 0,
) -> list[Partition]:
    """Return all records as partitions of at most this many rows, which the spill keeps; rows are numbered from ``first_row`` on.

    Records that ``keep`` leaves out have no class; ids of persons are dropped before this returns.
    """
    parts, held, filled, first = list[Part](), list[tuple[Any, ...]](), 0, first_row
    check, persons = Checksum(checksums.key), None if keep is None else PersonIds(checksums.key, keep.part)

    def finish() -> None:
        nonlocal held, filled, first
        arrays = spill.arrays()
        codes, labels, ids = joined(reading, held)
        check_codes(codes, reading.n_codes)
        arrays["codes"], arrays["labels"] = codes, labels
        if keep is not None:
            arrays["ids"] = ids
        parts.append((first, arrays))
        first, held, filled = first + len(labels), [], 0
        check_number(first)

    for block in blocks:
        own, start, count = encoded(reading, block, check, persons), 0, len(block.y)
        while start < count:
            taken = min(rows - filled, count - start)
            held.append(tuple(array[start : start + taken] for array in own))
            filled, start = filled + taken, start + taken
            if filled == rows:
                finish()
        progress(block.share)
    if filled or not parts:
        finish()
    checksums.check(reading, None, check.digest())
    if keep is not None:
        keep.in_parts(parts, at_once=max(rows, FEWEST_AT_ONCE))
    return [Partition(first, arrays) for first, arrays in parts]


# On workers, and what the driver knows of these.


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """A partition's codes and classes, their keyed checksum, and who they are of until it is known which records count."""

    codes: Codes
    labels: Labels
    digest: bytes
    ids: Ids = field(default_factory=lambda: NO_IDS, repr=False)


@dataclass(frozen=True)
class Facts:
    place: int
    first_row: int
    digest: bytes

    def check(self, rows: Rows) -> None:
        if not hmac.compare_digest(self.digest, rows.digest):
            raise changed()


@dataclass(frozen=True, eq=False)
class Chosen:
    facts: Facts
    bits: Bits = field(repr=False)

    @property
    def after(self) -> Facts:
        """What the records must be once those that do not count have no class: other ones than before."""
        return replace(self.facts, digest=hashlib.blake2b(self.facts.digest + self.bits.tobytes()).digest())


def placed(facts: Sequence[Fact]) -> list[Facts]:
    ends = np.cumsum([rows for rows, _ in facts]).tolist()
    if not ends or not ends[-1]:
        raise EngineError("there are no records, but a fit rests on there being one. Add records.")
    check_number(ends[-1])
    starts = [0, *ends[:-1]]
    return [Facts(place, start, digest) for place, (start, (_, digest)) in enumerate(zip(starts, facts, strict=True))]


def encode(reading: Reading, layout: Layout, key: bytes, persons: PersonIds | None, batches: Iterable[Any]) -> Rows:
    """Return the rows of one partition, with ids if there are ``persons``; a function of its arguments alone."""
    check = Checksum(key)
    with single():
        made = joined(reading, (encoded(reading, layout.block(batch), check, persons) for batch in batches))
    codes, labels, ids = made
    return Rows(codes, labels, check.digest(), ids)


def candidates(rows: Rows, facts: Facts, share: Share) -> Candidates:
    """Return the records of one partition that may count, or raise EngineError if they are not those that the driver knows."""
    facts.check(rows)
    return share.candidates(rows.ids, rows.labels, facts.first_row)


def kept(rows: Rows, mine: Chosen) -> Rows:
    """Return the records of one partition without the classes of those that do not count, and without ids; raises as above."""
    mine.facts.check(rows)
    return Rows(rows.codes, only(rows.labels, mine.bits), mine.after.digest)


Counts = tuple[Mapping[float | str, int], ...]  # of each column, and of the labels if they are counted


@dataclass(frozen=True, eq=False)
class ValueCounts(OneClass):
    """How many records have each value of some columns. It is also a reading without features: of persons alone."""

    columns: tuple[int, ...]  # the features that are counted
    with_labels: bool

    n_codes = np.empty(0, dtype=np.int64)
    dtype = np.dtype(np.uint8)

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        return np.empty((columns.n_rows, 0), self.dtype), np.zeros(columns.n_rows, self.label_dtype)

    @property
    def nothing(self) -> Counts:
        return ({},) * (len(self.columns) + self.with_labels)

    def __call__(self, X: Any, y: Any, counted: npt.NDArray[np.bool_] | None = None) -> Counts:
        columns = read_columns(X, self.schema.features, check_types=False)
        cells = [columns.cells(place) for place in self.columns] + ([read_labels(y)] if self.with_labels else [])
        if counted is not None:
            cells = [column[counted] for column in cells]
        return tuple(count_values(column, self.schema.missing) for column in cells)

    def sum(self, one: Counts, other: Counts) -> Counts:
        return tuple(Counter(first) + Counter(second) for first, second in zip(one, other, strict=True))

    def of_blocks(self, blocks: Iterable[Block], persons: PersonIds | None, bits: Bits | None) -> tuple[Counts, bytes]:
        """Return the counts of records whose bits are set, and the checksum of ``encode``. Without bits: of all, no checksum."""
        total, check, stop = self.nothing, Checksum(b"" if persons is None else persons.key), 0
        for block in blocks:
            start, stop, counted = stop, stop + len(block.y), None
            if bits is not None:
                encoded(self, block, check, persons)
                counted = unpacked(bits[start // 8 : -(-stop // 8)])[start % 8 :][: len(block.y)]
                if len(counted) < len(block.y):
                    raise changed()
            total = self.sum(total, self(block.X, block.y, counted))
        return total, check.digest()


def value_counts(
    asked: ValueCounts, layout: Layout, persons: PersonIds | None, mine: Chosen | None, batches: Iterable[Any]
) -> Counts:
    """Return how many of a partition's records have each value: of the chosen records in ``mine``, or of all if it is None."""
    with single():
        counts, digest = asked.of_blocks(map(layout.block, batches), persons, None if mine is None else mine.bits)
    if mine is not None and not hmac.compare_digest(digest, mine.facts.digest):
        raise changed()
    return counts
