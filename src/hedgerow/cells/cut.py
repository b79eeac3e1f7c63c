"""The global cut: which codes of each feature are one group, the same for all records."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.cells.hierarchy import Edges, Hierarchy
from hedgerow.lazy_values import lazy

__all__ = ["CellCut"]


@dataclass(frozen=True, eq=False)
class CellCut:
    """A partition of the line of codes into runs, the groups; a cell is one group of each feature.

    Parameters
    ----------
    hierarchy : Hierarchy
        The line of codes.
    edges : ndarray of shape (groups + 1,)
        The places where groups begin, ascending, and where the last one ends.
    """

    hierarchy: Hierarchy
    edges: Integers

    @classmethod
    def root(cls, hierarchy: Hierarchy) -> CellCut:
        """Return the cut in which every feature is one group."""
        return cls(hierarchy, hierarchy.features.copy())

    @lazy
    def shape(self) -> tuple[int, ...]:
        """How many groups each feature has."""
        return tuple(np.diff(np.searchsorted(self.edges, self.hierarchy.features)).tolist())

    @lazy
    def divided(self) -> tuple[int, ...]:
        """The features with more than one group."""
        return tuple(feature for feature, groups in enumerate(self.shape) if groups > 1)

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return int(np.prod([1, *self.shape], dtype=object))

    def runs(self, feature: int) -> list[tuple[int, int]]:
        """Return the groups of a feature."""
        start, stop = np.searchsorted(self.edges, self.hierarchy.features[feature : feature + 2])
        edges = self.edges[start : stop + 1].tolist()
        return list(pairwise(edges))

    def specialized(self, edges: Edges) -> CellCut:
        """Return the cut in which one group is divided."""
        return CellCut(self.hierarchy, np.union1d(self.edges, np.array(edges)))

    def n_cells_with(self, edges: Edges) -> int:
        """Return how many cells there would be if one group were divided."""
        groups = self.shape[self.hierarchy.feature(edges[0])]
        return self.n_cells // groups * (groups + len(edges) - 2)

    def group_of_code(self, feature: int) -> Integers:
        """Return the group of each code of a feature, counted from 0."""
        start, stop = self.hierarchy.features[feature : feature + 2]
        group = np.searchsorted(self.edges, self.hierarchy.place_of_code[start:stop], side="right")
        return np.asarray(group - np.searchsorted(self.edges, start, side="right"))

    def codes_of_group(self, feature: int, group: int) -> list[int]:
        """Return the codes of a group of a feature, in the order of the line."""
        low, high = self.runs(feature)[group]
        codes: list[int] = (self.hierarchy.line[low:high] - self.hierarchy.features[feature]).tolist()
        return codes

    def cell(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the cell of each record of ``codes`` (records, features): a record's cell depends on its codes alone."""
        cell = np.zeros(len(codes), dtype=np.int64)
        for feature in self.divided:
            cell *= self.shape[feature]
            cell += self.group_of_code(feature)[codes[:, feature]]
        return cell
