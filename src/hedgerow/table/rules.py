"""Rules by which tables answer: public or released functions of one record at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth

__all__ = [
    "CellRule",
    "Cells",
    "ChannelRule",
    "CodeGroups",
    "Layout",
    "Margins",
    "RecordRule",
    "RecordVotes",
    "WeightRule",
]

# int32 in a table: sums of released votes, of which 10 000 rounds stay far below 2**31.
Margins = npt.NDArray[np.signedinteger]


class RecordRule(Protocol):
    """A public or released function of one record at a time. Its value for a record depends on that record alone."""

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        """Return a number for each record of ``margins`` (records, classes) and ``labels`` (records,; -1: none).

        A record's margins are the sums of the votes of released trees so far.
        """


class WeightRule(RecordRule, Protocol):
    """A rule that gives each record a weight."""

    @property
    def unit(self) -> int:
        """The largest weight."""


class RecordVotes(Protocol):
    """The votes of released trees for records."""

    @property
    def columns(self) -> int:
        """How many margins a record has."""

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: Margins) -> None:
        """Add the votes to ``margins`` (records, columns) by ``codes`` (records, features), one record at a time."""


class ChannelRule(Protocol):
    """Several integers for each record, by its margins and its label, which it adds to sums. The scored ones are first."""

    @property
    def columns(self) -> int:
        """How many margins a record has; 0 if none are read."""

    @property
    def scored(self) -> int:
        """How many of the channels are scored, to rank features."""

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
        """Return the channels of each record of ``margins`` (records, columns), of shape (records, channels)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells into which several cuts divide all possible records. Each cut doubles their number.

    A record's cell is the binary number of its sides. The first cut's side is the highest digit.

    Parameters
    ----------
    by : ndarray of shape (cuts,), int64
        The feature whose code each cut reads.
    side : ndarray of shape (cuts, codes), int64
        The side of each of the feature's codes, 0 or 1. Columns beyond a feature's codes are not read.
    """

    by: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    side: Integers = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return 1 << len(self.by)


@dataclass(frozen=True, eq=False)
class CodeGroups:
    """Public or released partitions of all possible records, each by the code of one feature.

    Parameters
    ----------
    feature : ndarray of shape (partitions,), int64
        The feature whose code each partition reads.
    group : ndarray of shape (partitions, codes), int64
        The group of each of the feature's codes. Groups of different partitions have different numbers, from 0 on. Columns
        beyond a feature's codes are not read.
    """

    feature: Integers
    group: Integers

    @property
    def n_groups(self) -> int:
        """How many groups all partitions have together."""
        return int(self.group.max()) + 1


@dataclass(frozen=True, eq=False)
class Layout:
    """What divides sums of channels, besides the codes of each feature.

    ``cells`` are those of released cuts. ``groups`` are partitions within each cell; None: one group. Records in cells that are
    ``skipped`` (cells,) are not added up; this excludes groups and a feature. With ``feature`` sums are by the codes of that
    feature only. With ``whole`` all records are added up as if they had one code; this excludes cells and groups. Both take a
    fraction of the time.
    """

    cells: Cells = field(default_factory=Cells)
    groups: CodeGroups | None = None
    whole: bool = False
    feature: int | None = None
    skipped: Truth | None = None

    def offsets(self, offsets: Integers) -> Integers:
        """Return the position of the first of the codes that divide sums, among those of all features, and their number."""
        if self.whole:
            return np.arange(2)
        if self.feature is None:
            return offsets
        return np.asarray(offsets[self.feature : self.feature + 2] - offsets[self.feature])

    @property
    def n_parts(self) -> int:
        """How many groups all cells have together."""
        return self.cells.n_cells * (1 if self.groups is None else self.groups.n_groups)


class CellRule(Protocol):
    """A public or released partition of all possible records into cells."""

    @property
    def n_cells(self) -> int:
        """How many cells there are, whatever the records are."""

    def cell(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the cell of each record of ``codes`` (records, features). A record's cell depends on that record alone."""
