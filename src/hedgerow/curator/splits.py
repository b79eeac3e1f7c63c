"""Candidates of a round with sides: one or two cuts, and the codes of another feature on each of their sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hedgerow.shapes import frozen_copy
from hedgerow.table import CodeGroups

__all__ = ["Cut", "Split", "Splits"]

Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut of one feature: ``side`` (codes,) says on which side each code is, 0 the first and 1 the second."""

    by: int
    side: Integers

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", frozen_copy(self.side, np.int64))

    @property
    def key(self) -> tuple[int, bytes]:
        """What is the same of equal cuts, and of no others."""
        return self.by, self.side.tobytes()


@dataclass(frozen=True, eq=False)
class Split:
    """One candidate: its cuts, and the feature whose cells are asked on each side.

    With n cuts there are 2**n sides: the binary digits of a side's number are the sides of the cuts, the first cut's the highest.
    ``into`` (codes of ``feature``,) says which cell of a side each code belongs to.
    """

    cuts: tuple[Cut, ...]
    feature: int
    into: Integers

    @property
    def n_sides(self) -> int:
        """How many sides it has."""
        return 1 << len(self.cuts)

    @property
    def key(self) -> tuple[tuple[tuple[int, bytes], ...], int]:
        """What is the same of splits of the same cuts, in their order, and the same feature, and of no others."""
        return tuple(cut.key for cut in self.cuts), self.feature


@dataclass(frozen=True, eq=False)
class Splits:
    """Every cut of some features with every other feature: public or released, and each a map of a record to one cell.

    Parameters
    ----------
    by : sequence of int
        The features that are cut.
    group : sequence of ndarray of shape (codes of the feature,), int64
        For each, the group of each code, from 0 on.
    cuts : sequence of ndarray of shape (cuts, groups), bool
        For each, which groups are on the first side of each of its cuts.
    into : sequence of ndarray of shape (codes,), int64
        For each feature, the cell of each code within a side, from 0 on, in the order of the codes.
    earlier : sequence of Cut or None
        For each feature that is cut, the cut on both sides of which it is cut; None: it is cut among all records. Empty: all are.
    """

    by: Sequence[int]
    group: Sequence[Integers]
    cuts: Sequence[Truth]
    into: Sequence[Integers]
    earlier: Sequence[Cut | None] = ()

    def __post_init__(self) -> None:
        # Copies that nobody can write to: what was checked when a round began is what it answers by.
        for name, kind in (("group", np.int64), ("cuts", np.bool_), ("into", np.int64)):
            object.__setattr__(self, name, tuple(frozen_copy(array, kind) for array in getattr(self, name)))
        object.__setattr__(self, "by", tuple(self.by))
        object.__setattr__(self, "earlier", tuple(self.earlier) or (None,) * len(self.by))

    @cached_property
    def groups(self) -> CodeGroups:
        """What a table is asked about: the groups of all features that are cut."""
        by = np.array(self.by, dtype=np.int64)
        group = np.zeros((len(by), max(map(len, self.into))), dtype=np.int64)
        shift, shifted_by = np.zeros_like(group), by.copy()
        for p, (start, before) in enumerate(zip(self._starts[:-1], self.earlier, strict=True)):
            group[p, : len(self.group[p])] = self.group[p] + start
            if before is not None:
                shifted_by[p] = before.by
                shift[p, : len(before.side)] = before.side * self.cuts[p].shape[1]
        return CodeGroups(by, group, shifted_by, shift) if any(self.earlier) else CodeGroups(by, group)

    @property
    def n_first(self) -> int:
        """How many groups the first feature that is cut has, which together hold every record once."""
        return int(self._starts[1])

    @cached_property
    def _repeats(self) -> Integers:
        """How many times the groups of each partition stand: once, or once for each side of an earlier cut."""
        return np.array([1 if before is None else 2 for before in self.earlier])

    @cached_property
    def _starts(self) -> Integers:
        """Where the groups of each feature that is cut begin, and the number of all."""
        return np.cumsum(
            [0, *(repeats * cuts.shape[1] for repeats, cuts in zip(self._repeats, self.cuts, strict=True))]
        )

    @cached_property
    def _cells(self) -> Integers:
        """Where the cells of each feature begin within a side, and their number."""
        return np.cumsum([0, *(int(into[-1]) + 1 for into in self.into)])

    @cached_property
    def _codes(self) -> Integers:
        """Where the codes begin that become each cell, all features one after another."""
        firsts, start = [], 0
        for into in self.into:
            firsts.append(start + np.flatnonzero(np.diff(into, prepend=-1)))
            start += len(into)
        return np.concatenate(firsts)

    @cached_property
    def _listed(self) -> tuple[Integers, Integers, Integers]:
        """The partition, the cut and the other feature of each candidate."""
        rows = [
            (p, cut, k)
            for p, cuts in enumerate(self.cuts)
            for cut in range(len(cuts))
            for k in range(len(self.into))
            if k not in self._read_by(p)
        ]
        partition, cut, other = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return partition, cut, other

    def _read_by(self, partition: int) -> list[int]:
        """Return the features that a partition reads."""
        before = self.earlier[partition]
        return [self.by[partition]] if before is None else sorted({before.by, self.by[partition]})

    def __len__(self) -> int:
        return len(self._listed[0])

    @property
    def n_cells(self) -> Integers:
        """How many cells each candidate has, all sides together."""
        cells: Integers = self.n_sides * np.diff(self._cells)[self._listed[2]]
        return cells

    @property
    def n_sides(self) -> Integers:
        """How many sides each candidate has."""
        sides: Integers = 2 * self._repeats[self._listed[0]]
        return sides

    def __getitem__(self, number: int) -> Split:
        partition, cut, other = (int(column[number]) for column in self._listed)
        return Split(self._cuts_of(partition, cut), other, self.into[other])

    def _cuts_of(self, partition: int, cut: int) -> tuple[Cut, ...]:
        """Return the cuts of the candidates that a partition cuts so."""
        second, before = ~self.cuts[partition][cut][self.group[partition]], self.earlier[partition]
        own = Cut(self.by[partition], second.astype(np.int64))
        return (own,) if before is None else (before, own)

    def number(self, key: tuple[tuple[tuple[int, bytes], ...], int]) -> int | None:
        """Return the number of the candidate that has a ``Split.key``, or None where there is none."""
        cuts, feature = key
        if cuts not in self._partition_of:
            return None
        partition, cut, other = self._listed
        first, own = self._partition_of[cuts]
        return int(np.flatnonzero((partition == first) & (cut == own) & (other == feature))[0])

    @cached_property
    def _partition_of(self) -> dict[tuple[tuple[int, bytes], ...], tuple[int, int]]:
        """The partition and the cut of candidates by the keys of their cuts."""
        every = [(p, cut) for p, cuts in enumerate(self.cuts) for cut in range(len(cuts))]
        return {tuple(cut.key for cut in self._cuts_of(*one)): one for one in every}

    def scores(self, sums: Integers, scored: int) -> Integers:
        """Return the absolute scored sums added over the cells of each candidate, of ``sums`` (groups, codes, channels)."""
        coarse = np.add.reduceat(sums[:, :, :scored], self._codes, axis=1)
        found = []
        for p, cuts in enumerate(self.cuts):
            sides = np.zeros((len(cuts), coarse.shape[1]), dtype=np.int64)
            for own in self._by_earlier_side(coarse, p):
                first = np.tensordot(cuts.astype(np.int64), own, axes=1)
                sides += np.abs(first).sum(axis=-1) + np.abs(own.sum(axis=0) - first).sum(axis=-1)
            found.append(np.delete(np.add.reduceat(sides, self._cells[:-1], axis=1), self._read_by(p), axis=1).ravel())
        return np.concatenate(found)

    def _by_earlier_side(self, sums: Integers, partition: int) -> list[Integers]:
        """Return the sums of a partition's groups, one array for each side of the earlier cut."""
        return np.split(sums[self._starts[partition] : self._starts[partition + 1]], self._repeats[partition])

    def sums(self, sums: Integers, number: int) -> Integers:
        """Return the sums by the cells of a candidate, (cells, channels), in the order of its sides."""
        partition, cut, other = (int(column[number]) for column in self._listed)
        on_first, of_feature = self.cuts[partition][cut], slice(self._cells[other], self._cells[other + 1])
        sides = []
        for own in self._by_earlier_side(sums, partition):
            cells = np.add.reduceat(own, self._codes, axis=1)[:, of_feature]
            sides += [cells[on_first].sum(axis=0), cells[~on_first].sum(axis=0)]
        return np.concatenate(sides)
