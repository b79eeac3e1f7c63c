"""Which records of each person count, where a person may have more than a fit may read."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import Randomness, Words
from hedgerow.schema.persons import Groups, Ids, person_ids

__all__ = ["Keep", "keep_of", "least"]

Mask = npt.NDArray[np.bool_]


def keep_of(groups: Groups | None, most: int, randomness: Randomness) -> Keep | None:
    """Return which records of each person count, by coins of their own; None where every record does."""
    return None if groups is None else Keep(groups, most, randomness.words())


@dataclass(frozen=True, eq=False)
class Keep:
    """Of each person those records count whose words are least, so many at most; nobody's do not count at all.

    Which of one person's count depends on that person's records and on coins alone (docs/proofs/persons.md).

    Parameters
    ----------
    groups : Groups
        Who the records are of.
    most : int
        How many of one person count.
    words : Words
        The coins.
    """

    groups: Groups
    most: int
    words: Words = field(repr=False)

    def of(self, counted: Mask) -> Mask:
        """Return which of all records count, of those that would without this rule; for records in memory."""
        assert self.groups.cells is not None
        ids = person_ids(self.groups.cells, os.urandom(32), self.groups.missing)
        rows = np.flatnonzero(counted & ids.any(axis=1))
        kept = np.zeros(len(counted), dtype=np.bool_)
        kept[rows[least(ids[rows], self.words.of(0, len(counted))[rows], self.most)]] = True
        return kept

    def labels(self, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
        """Return the classes, -1 for records that do not count."""
        return np.where(self.of(labels >= 0), labels, -1).astype(labels.dtype)

    def in_parts(self, parts: Sequence[tuple[int, MutableMapping[str, Any]]], at_once: int) -> None:
        """Take the classes of records that do not count, and then the ids, in parts that follow each other.

        Parameters
        ----------
        parts : sequence of (int, mapping)
            The number of each part's first record among all, and its arrays, of which it reads and writes "labels" and "ids".
        at_once : int
            About how many records may be looked at together: persons are told apart a share of them at a time.
        """
        shares = -(-sum(len(arrays["labels"]) for _, arrays in parts) // at_once)
        for share in range(shares):
            rows = [_of_share(arrays, share, shares) for _, arrays in parts]
            ids = [arrays["ids"][own] for (_, arrays), own in zip(parts, rows, strict=True)]
            words = [
                self.words.of(first, len(arrays["labels"]))[own]
                for (first, arrays), own in zip(parts, rows, strict=True)
            ]
            kept = least(np.concatenate(ids), np.concatenate(words), self.most)
            ends = np.cumsum([len(own) for own in rows])
            for (_, arrays), own, counts in zip(parts, rows, np.split(kept, ends[:-1]), strict=True):
                labels = arrays["labels"].copy()
                labels[own[~counts]] = -1
                labels[~arrays["ids"].any(axis=1)] = -1
                arrays["labels"] = labels
        for _, arrays in parts:
            del arrays["ids"]


def _of_share(arrays: Mapping[str, Any], share: int, shares: int) -> npt.NDArray[np.intp]:
    """Return the records with a class and an id that is in one of so many shares of all ids."""
    ids = arrays["ids"]
    mine: npt.NDArray[np.intp] = np.flatnonzero(
        (arrays["labels"] >= 0) & ids.any(axis=1) & (ids[:, 0] % np.uint64(shares) == share)
    )
    return mine


def least(ids: Ids, words: npt.NDArray[np.uint64], most: int) -> Mask:
    """Say of each record whether fewer than ``most`` of the same id have a smaller word, or an equal one and come before."""
    order = np.lexsort((words, ids[:, 1], ids[:, 0]))  # stable: equal words stay in the order of the records
    ids = ids[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (ids[1:] != ids[:-1]).any(axis=1)
    place = np.arange(len(order))
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = rank < most
    return kept
