"""Two-sided candidates of a round: a cut of one feature, and the codes of another one on each side of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hedgerow.table import CodeGroups

__all__ = ["Split", "Splits"]

Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Split:
    """One candidate: which codes of feature ``by`` are on the first side, (codes,), and the feature whose cells are asked.

    ``into`` (codes of ``feature``,) says which cell of a side each code belongs to.
    """

    by: int
    first: Truth
    feature: int
    into: Integers


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
    """

    by: Sequence[int]
    group: Sequence[Integers]
    cuts: Sequence[Truth]
    into: Sequence[Integers]

    @cached_property
    def groups(self) -> CodeGroups:
        """What a table is asked about: the groups of all features that are cut."""
        together = np.zeros((len(self.by), max(map(len, self.group))), dtype=np.int64)
        for row, group, start in zip(together, self.group, self._starts, strict=False):
            row[: len(group)] = group + start
        return CodeGroups(np.array(self.by, dtype=np.int64), together)

    @cached_property
    def _starts(self) -> Integers:
        """Where the groups of each feature that is cut begin, and the number of all."""
        return np.cumsum([0, *(cuts.shape[1] for cuts in self.cuts)])

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
        features = np.arange(len(self.into))
        rows = [
            (p, cut, k)
            for p, (by, cuts) in enumerate(zip(self.by, self.cuts, strict=True))
            for cut in range(len(cuts))
            for k in features[features != by].tolist()
        ]
        partition, cut, other = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return partition, cut, other

    def __len__(self) -> int:
        return len(self._listed[0])

    @property
    def n_cells(self) -> Integers:
        """How many cells each candidate has, both sides together."""
        return 2 * np.diff(self._cells)[self._listed[2]]

    def __getitem__(self, number: int) -> Split:
        partition, cut, other = (int(column[number]) for column in self._listed)
        first = self.cuts[partition][cut][self.group[partition]]
        return Split(self.by[partition], first, other, self.into[other])

    def scores(self, sums: Integers, scored: int) -> Integers:
        """Return the absolute scored sums added over the cells of each candidate, of ``sums`` (groups, codes, channels)."""
        coarse = np.add.reduceat(sums[:, :, :scored], self._codes, axis=1)
        found = []
        for cuts, start, stop, by in zip(self.cuts, self._starts[:-1], self._starts[1:], self.by, strict=True):
            own = coarse[start:stop]
            first = np.tensordot(cuts.astype(np.int64), own, axes=1)
            sides = np.abs(first).sum(axis=-1) + np.abs(own.sum(axis=0) - first).sum(axis=-1)
            found.append(np.delete(np.add.reduceat(sides, self._cells[:-1], axis=1), by, axis=1).ravel())
        return np.concatenate(found)

    def sums(self, sums: Integers, number: int) -> Integers:
        """Return the sums by the cells of a candidate, the first side's before the second's, (cells, channels)."""
        partition, cut, other = (int(column[number]) for column in self._listed)
        coarse = np.add.reduceat(sums[self._starts[partition] : self._starts[partition + 1]], self._codes, axis=1)
        cells = coarse[:, self._cells[other] : self._cells[other + 1]]
        on_first = self.cuts[partition][cut]
        return np.concatenate([cells[on_first].sum(axis=0), cells[~on_first].sum(axis=0)])
