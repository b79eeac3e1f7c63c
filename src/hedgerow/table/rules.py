"""What tables are asked about records: public or released functions of one record at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["CellRule", "ChannelRule", "CodeGroups", "Margins", "RecordRule", "RecordVotes", "WeightRule"]

Integers = npt.NDArray[np.int64]
# int32 in a table: sums of released votes, of which 10 000 rounds stay far below 2**31.
Margins = npt.NDArray[np.signedinteger]


class RecordRule(Protocol):
    """A public or released function of one record at a time: what it says of a record depends on that record alone."""

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        """Return a number for each record of ``margins`` (records, classes) and ``labels`` (records,; -1: none).

        A record's margins are what released trees said of it so far.
        """


class WeightRule(RecordRule, Protocol):
    """A rule that says how much each record counts."""

    @property
    def unit(self) -> int:
        """The largest weight."""


class RecordVotes(Protocol):
    """What released trees say of records."""

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: Margins) -> None:
        """Add it to ``margins`` (records, classes) of ``codes`` (records, features), one record at a time."""


class ChannelRule(Protocol):
    """Several integers for each record, by its margins and its label: what it adds to sums; the scored ones first."""

    @property
    def scored(self) -> int:
        """How many of the channels rank features."""

    @property
    def channels(self) -> int:
        """How many channels there are."""

    @property
    def scored_l1(self) -> int:
        """A bound on the sum of the absolute values of a record's scored channels."""

    @property
    def l1(self) -> int:
        """A bound on the sum of the absolute values of a record's channels."""

    @property
    def l2_squared(self) -> int:
        """A bound on the sum of the squares of a record's channels."""

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> Integers:
        """Return the channels of each record of ``margins`` (records, classes), of shape (records, channels)."""


@dataclass(frozen=True, eq=False)
class CodeGroups:
    """Public or released partitions of all possible records, each by the code of one feature, or by those of two.

    Parameters
    ----------
    feature : ndarray of shape (partitions,), int64
        The feature whose code each partition reads.
    group : ndarray of shape (partitions, codes), int64
        The group of each of its codes. Groups of different partitions have different numbers, from 0 on; columns beyond a
        feature's codes are not read.
    shifted_by, shift : ndarrays of shapes (partitions,) and (partitions, codes), int64, or both empty
        A second feature, and what each of its codes adds to the number of the group; zeros where a partition reads one alone.
    """

    feature: Integers
    group: Integers
    shifted_by: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    shift: Integers = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @property
    def n_groups(self) -> int:
        """How many groups all partitions have together."""
        shift = self.shift.max(axis=1) if len(self.shifted_by) else 0
        return int((self.group.max(axis=1) + shift).max()) + 1


class CellRule(Protocol):
    """A public or released partition of all possible records into cells."""

    @property
    def n_cells(self) -> int:
        """How many cells there are, whatever the records are."""

    def cell(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the cell of each record of ``codes`` (records, features); it depends on that record alone."""
