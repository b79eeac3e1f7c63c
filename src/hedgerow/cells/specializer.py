"""Specializing a cut step by step from a curator's answers, and counting its cells; no record is seen here."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.cells.cut import CellCut
from hedgerow.cells.hierarchy import Edges, Hierarchy
from hedgerow.cells.recipe import CellsSchedule
from hedgerow.curator import Queryable
from hedgerow.mechanisms import PerRecordCoin
from hedgerow.scores import Specializations

__all__ = ["Release", "Specializer"]

WEIGHT = 1 << 20  # of a group; more than an interval has cuts


@dataclass(frozen=True, eq=False)
class Release:
    """What a fit gives away: the specializations in their order, and noisy class counts (cells, classes), signed."""

    steps: tuple[Edges, ...]
    counts: npt.NDArray[Any]


class Specializer:
    """Specializes the root of a hierarchy.

    Parameters
    ----------
    curator : Queryable
        The only access to the records.
    hierarchy : Hierarchy
        What is public about generalizing them.
    schedule : CellsSchedule
        The mechanisms.
    max_cells : int
        The most cells.
    """

    def __init__(self, curator: Queryable, hierarchy: Hierarchy, schedule: CellsSchedule, max_cells: int) -> None:
        self._curator = curator
        self._hierarchy = hierarchy
        self._schedule = schedule
        self._max_cells = max_cells
        self._nodes = curator.assign(PerRecordCoin(1))
        self._cut = CellCut.root(hierarchy)
        self._cut_of: dict[tuple[int, int], Edges] = {}
        self._steps: list[Edges] = []

    def release(self) -> Release:
        """Return the specializations and the counts."""
        self._choose_cuts(self._hierarchy.roots)
        while len(self._steps) < self._schedule.specializations:
            offered = self._offered()
            if not offered:
                break
            self._specialize(offered)
        return Release(tuple(self._steps), self._curator.cell_counts(self._nodes, self._cut, self._schedule.counts))

    def _specialize(self, offered: list[tuple[Edges, int]]) -> None:
        """Choose one of the specializations and, unless it is the last, where its intervals would be cut."""
        edges, weight = zip(*offered, strict=True)
        choice = Specializations(self._hierarchy.line, edges, np.array(weight))
        chosen = edges[self._curator.specialize(self._nodes, [choice], self._schedule.score, self._schedule.step)[0]]
        self._steps.append(chosen)
        self._cut = self._cut.specialized(chosen)
        if len(self._steps) < self._schedule.specializations:
            self._choose_cuts(list(pairwise(chosen)))

    def _choose_cuts(self, runs: list[tuple[int, int]]) -> None:
        """Choose where each interval among the runs would be cut, whether or not it has records."""
        if self._schedule.cut is None:
            return
        intervals = [run for run in runs if self._is_interval(run) and run[1] - run[0] > 1]
        ways = [self._hierarchy.divisions(run) for run in intervals]
        choices = [Specializations(self._hierarchy.line, edges, np.ones(len(edges), dtype=np.int64)) for edges in ways]
        if choices:
            chosen = self._curator.specialize(self._nodes, choices, self._schedule.score, self._schedule.cut)
            self._cut_of |= {run: edges[i] for run, edges, i in zip(intervals, ways, chosen, strict=True)}

    def _is_interval(self, run: tuple[int, int]) -> bool:
        return self._hierarchy.is_numeric[self._hierarchy.feature(run[0])]

    def _offered(self) -> list[tuple[Edges, int]]:
        """Return the specializations that leave the cells few enough, with their base weights."""
        runs = pairwise(self._cut.edges.tolist())
        return [
            (edges, WEIGHT // len(ways))
            for ways in map(self._ways, runs)
            for edges in ways
            if self._cut.n_cells_with(edges) <= self._max_cells
        ]

    def _ways(self, run: tuple[int, int]) -> list[Edges]:
        """Return how a run may be divided now."""
        if self._schedule.cut is None or not self._is_interval(run):
            return self._hierarchy.divisions(run)
        return [self._cut_of[run]] if run in self._cut_of else []
