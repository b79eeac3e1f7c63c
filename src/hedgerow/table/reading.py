"""How records become codes and classes, each by itself and public values, and which records of each person count."""

from __future__ import annotations

import json
import os
import secrets
from abc import abstractmethod
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.errors import SchemaError
from hedgerow.mechanisms import RandomBits, Randomness
from hedgerow.reading.cells import Cells
from hedgerow.reading.columns import Columns
from hedgerow.reading.persons import Groups, Ids, person_ids
from hedgerow.schema import Encoder, Schema

Codes = npt.NDArray[np.unsignedinteger]
Labels = npt.NDArray[np.signedinteger]

BLOCK_ROWS = 8_192  # whose cells are read at once


class Reading(Protocol):
    """How records become a table. A reading is sent to workers, so it holds nothing that must stay in the fit's process."""

    @property
    def schema(self) -> Schema: ...

    @property
    def n_codes(self) -> Integers:
        """How many codes each column of the table has."""

    @property
    def n_classes(self) -> int:
        """How many classes the table has; one if labels are outcomes."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def label_dtype(self) -> np.dtype[Any]: ...

    @property
    def name(self) -> str:
        """The name for checksums. If readings of one name have different checksums, the records have changed."""

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of records and their classes, -1 for none. Those of a record depend on that record alone."""

    def witness(self, columns: Columns, y: Any, codes: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        """Return the arrays of which the checksum is computed. ``codes`` is the result of ``read``."""


class Coded:
    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.schema, self.n_codes = encoder, encoder.schema, encoder.n_codes
        self.n_classes = max(1, len(encoder.schema.classes))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.encoder.dtype

    @property
    def label_dtype(self) -> np.dtype[Any]:
        return self.encoder.labels([]).dtype

    @property
    def name(self) -> str:
        return json.dumps([self.encoder.schema.to_dict(), self.encoder.max_bins], sort_keys=True)

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        return self.encoder.transform(columns), classes_of(self.encoder, y)

    def witness(self, columns: Columns, y: Any, codes: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        return codes


def classes_of(encoder: Encoder, y: Any) -> Labels:
    """Return the class of each label; -1 for none, even if all labels have a type that no class has.

    Types that the owner declared were checked before. A type that a reader inferred from one batch must not end a fit.
    """
    try:
        return encoder.labels(y)
    except SchemaError:
        return np.full(len(y), -1, dtype=encoder.labels([]).dtype)


@dataclass(frozen=True, eq=False)
class OneClass:
    """The part of a ``Reading`` of one class whose codes, and so whose name, no other reading has."""

    schema: Schema
    name: str = field(default_factory=lambda: secrets.token_hex(8), kw_only=True)

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def label_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int16)

    def witness(self, columns: Columns, y: Any, codes: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        return codes


class Labelled(OneClass):
    """Labelled records as codes that depend on that record and on released models alone."""

    code_type: ClassVar[type] = np.uint32

    @property
    @abstractmethod
    def n_codes(self) -> Integers: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.code_type)

    @abstractmethod
    def _codes(self, block: dict[str, Any], truth: Any) -> Any:
        """Return the codes of some records, (records, columns), by their cells and their classes, or their outcomes."""

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of each record, and a class for those that have a label; the codes of others are 0."""
        known = np.asarray(classes_of(Encoder(self.schema, 2), y), dtype=np.int64)
        truth: Any = np.maximum(known, 0)
        if self.schema.outcome is not None:
            truth = self.schema.outcome_grid.values(truth)
        codes = np.zeros((columns.n_rows, len(self.n_codes)), dtype=self.dtype)
        for start in range(0, columns.n_rows, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, columns.n_rows)
            block = {name: columns.cells(i, start, stop) for i, name in enumerate(columns.names)}
            codes[start:stop] = self._codes(block, truth[start:stop])
        codes[known < 0] = 0
        return codes, np.where(known >= 0, 0, -1).astype(np.int16)


SHARE_BITS = 10  # of the shares that parts of persons are made of
Mask = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]  # of eight records each


def keep_of(groups: Groups | None, most: int, randomness: Randomness) -> Keep | None:
    """Return the rule for which records of each person count, with coins of its own; None if every record counts."""
    return None if groups is None else Keep(groups, most, randomness.random_bits())


@dataclass(frozen=True)
class PersonPart:
    """One part of all persons: those in some of 1024 shares, of which a keyed function of the id assigns one to each person."""

    # The key of one split into parts. All parts of the split have it, and no other split does
    key: bytes = field(repr=False)
    first: int  # first, stop: the shares of this part
    stop: int

    def only(self, ids: Ids, cells: Cells, missing: Sequence[str]) -> Ids:
        """Return ids; zeros if the person that a cell identifies is not in this part."""
        shares = person_ids(cells, self.key, missing)[:, 0] >> np.uint64(64 - SHARE_BITS)
        return np.where(((self.first <= shares) & (shares < self.stop))[:, None], ids, np.uint64(0))


@dataclass(frozen=True, eq=False)
class Keep:
    """The rule for which records count: of each person at most ``most``, those with the smallest words.

    The choice depends only on that person's records and on coins (docs/proofs/persons.md). Records without an id do not count.
    """

    groups: Groups  # the persons of the records
    most: int  # how many records of one person count
    words: RandomBits = field(repr=False)  # the coins
    part: PersonPart | None = None  # the part of all persons whose records may count; None: everybody's

    def of(self, counted: Mask) -> Mask:
        assert self.groups.cells is not None
        ids = person_ids(self.groups.cells, os.urandom(32), self.groups.missing)
        if self.part is not None:
            ids = self.part.only(ids, self.groups.cells, self.groups.missing)
        rows = np.flatnonzero(counted & ids.any(axis=1))
        kept = np.zeros(len(counted), dtype=np.bool_)
        kept[rows[least(ids[rows], self.words.of(0, len(counted))[rows], self.most)]] = True
        return kept

    def labels(self, labels: Labels) -> Labels:
        return np.where(self.of(labels >= 0), labels, -1).astype(labels.dtype)

    def in_parts(self, parts: Sequence[tuple[int, MutableMapping[str, Any]]], at_once: int) -> None:
        """Remove the classes of records that do not count, and then the ids, in parts that follow each other.

        Each part is the number of its first record among all, and its arrays, of which "labels" and "ids" are read and written.
        About ``at_once`` records are processed together.
        """
        sizes = [len(arrays["labels"]) for _, arrays in parts]

        def candidates(share: Share) -> list[Candidates]:
            return [share.candidates(arrays["ids"], arrays["labels"], first) for first, arrays in parts]

        for (_, arrays), bits in zip(parts, self.chosen(sizes, at_once, candidates), strict=True):
            arrays["labels"] = only(arrays["labels"], bits)
            del arrays["ids"]

    def chosen(
        self, sizes: Sequence[int], at_once: int, candidates: Callable[[Share], Sequence[Candidates]]
    ) -> list[Bits]:
        """Return a bit for each record of each part, set if the record counts. Parts of these ``sizes`` follow each other.

        Ids are processed one share after another, of about ``at_once`` records. ``candidates`` returns each part's candidates of
        a share, in the order of the parts. They must hold the ``most`` records with the smallest words of each id in that part.
        """
        masks = [np.packbits(np.zeros(size, dtype=np.bool_)) for size in sizes]
        shares = -(-sum(sizes) // at_once)
        for number in range(shares):
            of_parts = candidates(Share(number, shares, self.most, self.words))
            kept = least(
                np.concatenate([one.ids for one in of_parts]),
                np.concatenate([one.words for one in of_parts]),
                self.most,
            )
            ends = np.cumsum([len(one.rows) for one in of_parts])
            for place, (one, counts) in enumerate(zip(of_parts, np.split(kept, ends[:-1]), strict=True)):
                mask = unpacked(masks[place], sizes[place])
                mask[one.rows[counts]] = True
                masks[place] = np.packbits(mask)
        return masks


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """Records of one part, by their positions in it. Those with the smallest words of each id may count."""

    rows: npt.NDArray[np.intp]
    ids: Ids
    words: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Share:
    """One of so many shares of all ids; all records of one id are in the same share."""

    number: int
    shares: int
    most: int
    words: RandomBits = field(repr=False)

    def candidates(self, ids: Ids, labels: npt.NDArray[np.signedinteger], first_row: int) -> Candidates:
        """Return, for each id of this share, the ``most`` records of a part with the smallest words among those with a class."""
        mine = ids[:, 0] % np.uint64(self.shares) == self.number
        rows = np.flatnonzero((labels >= 0) & ids.any(axis=1) & mine)
        ids, words = ids[rows], self.words.of(first_row, len(labels))[rows]
        kept = least(ids, words, self.most)
        return Candidates(rows[kept], ids[kept], words[kept])


def unpacked(bits: Bits, records: int | None = None) -> Mask:
    mask: Mask = np.unpackbits(bits, count=records).view(np.bool_)
    return mask


def only(labels: Labels, bits: Bits) -> Labels:
    return np.where(unpacked(bits, len(labels)), labels, -1).astype(labels.dtype)


def least(ids: Ids, words: npt.NDArray[np.uint64], most: int) -> Mask:
    """Return for each record whether fewer than ``most`` of the same id have a smaller word, or an equal word and come before."""
    order = np.lexsort((words, ids[:, 1], ids[:, 0]))  # stable: equal words stay in the order of the records
    ids = ids[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (ids[1:] != ids[:-1]).any(axis=1)
    place = np.arange(len(order))
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = rank < most
    return kept
