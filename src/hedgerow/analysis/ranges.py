"""Ranges of numeric columns by noisy counts: first on an exponential grid around zero, then on a uniform one within."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.grids import Grid, exponential_grid, find_ends, occupied, tail_errors, uniform_grid
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.events import Event
from hedgerow.schema import Integer, Numeric
from hedgerow.schema.columns import Columns
from hedgerow.table import MemoryTable

__all__ = ["RangePlan", "ReleasedRange"]

Integers = npt.NDArray[np.int64]

BLOCK_ROWS = 65_536
COARSE = Fraction(1, 2)  # the share of the first question
LARGEST = 4.0**500  # the outermost ends
MADE_UP = (0.0, 1.0)  # where nothing stands out
MOST_WHOLE = 2**51  # ends of ``Integer``


@dataclass(frozen=True)
class ReleasedRange:
    """What was released of one numeric column.

    Parameters
    ----------
    low, high : float
        The range.
    whole : bool
        Whether hardly a number is fractional.
    records : int
        n, the noisy number of records with a finite number.
    below, above : int
        The noisy numbers of records beyond the ends.
    error : int
        q: the largest error of these two, with the stated chance.
    promised : bool
        Whether at most ``trimmed * n + q`` records lie beyond each end with that chance; if not, the counts were too noisy for
        the share that was asked for, or the first question had cut off too much.
    """

    low: float
    high: float
    whole: bool
    records: int
    below: int
    above: int
    error: int
    promised: bool

    def feature(self, release: str) -> Numeric:
        """Return the entry of a schema."""
        low, high = math.floor(self.low), math.ceil(self.high)
        if self.whole and max(-low, high) <= MOST_WHOLE:
            return Integer(low, max(high, low + 1), origin="released", release=release)
        return Numeric(self.low, self.high, origin="released", release=release)


@dataclass(frozen=True)
class RangePlan:
    """Two questions about all numeric columns at once.

    Parameters
    ----------
    epsilon : Fraction
        What both cost together, pure, under add/remove adjacency.
    columns : tuple of int
        Which columns.
    trimmed, failure : float
        The share of records that may lie beyond each end, and the chance that a promise of any column fails.
    missing : tuple of str
        What else stands for a missing cell.
    """

    epsilon: Fraction
    columns: tuple[int, ...]
    trimmed: float
    failure: float
    missing: tuple[str, ...]

    @property
    def coarse(self) -> Geometric:
        """The noise of the first question: a record is in one cell of each column."""
        return Geometric(self.epsilon * COARSE, len(self.columns))

    @property
    def fine(self) -> Geometric:
        """The noise of the second question."""
        return Geometric(self.epsilon * (1 - COARSE), len(self.columns))

    @property
    def events(self) -> tuple[Event, ...]:
        """What the questions cost."""
        return tuple(noise.event(_purpose(noise, name)) for noise, name in self._questions)

    @property
    def _questions(self) -> tuple[tuple[Geometric, str], ...]:
        return (self.coarse, "exponential"), (self.fine, "uniform")

    def release(self, columns: Columns, randomness: Randomness) -> list[ReleasedRange]:
        """Return the range of each column."""
        coarse = exponential_grid()
        grids, found = [], []
        counts = self._ask(columns, [coarse] * len(self.columns), self.coarse, randomness)
        errors = self._errors(self.coarse, coarse)
        edges = [-LARGEST, *coarse.edges.tolist(), LARGEST]
        for column in counts:
            cells = occupied(column, errors)
            found.append(cells is not None)
            low, high = MADE_UP if cells is None else (edges[cells[0]], edges[cells[1] + 1])
            grids.append(uniform_grid(low, high))
        fine = self._ask(columns, grids, self.fine, randomness)
        return [self._range(*parts) for parts in zip(fine, grids, found, strict=True)]

    def _errors(self, noise: Geometric, grid: Grid) -> Integers:
        """Return the errors of tails of so many counts, such that no tail of any column is further off but for ``failure``."""
        return tail_errors(noise, grid.n_codes - 1, self.failure / (4 * len(self.columns) * grid.n_codes))

    def _range(self, doubled: Integers, grid: Grid, found: bool) -> ReleasedRange:
        """Return the range that the noisy counts of a uniform grid show."""
        by_code = self._errors(self.fine, grid)
        errors = by_code[: 2 * grid.cells + 1 : 2]  # a tail of cells is one of pairs of counts
        counts = doubled.reshape(-1, 2).sum(axis=1)
        records, fractions = max(int(counts.sum()), 0), int(doubled[1::2].sum())
        share = self.trimmed * records
        low, high = find_ends(counts, grid, errors, share)
        error = max(low.error, high.error)
        inside = math.isfinite(low.value) and math.isfinite(high.value)
        doubt = int(by_code[grid.cells])
        first, last = grid.ends
        return ReleasedRange(
            low=max(low.value, first),
            high=min(high.value, last),
            whole=fractions <= max(share, doubt) and 4 * doubt <= records,
            records=records,
            below=low.beyond,
            above=high.beyond,
            error=error,
            promised=found and inside and error <= share,
        )

    def _ask(self, columns: Columns, grids: Sequence[Grid], noise: Geometric, randomness: Randomness) -> list[Integers]:
        """Return the noisy counts of each column on its grid, missing cells left out."""
        n_codes = np.array([grid.n_codes for grid in grids])
        table = MemoryTable(self._codes(columns, grids), np.zeros(columns.n_rows, dtype=np.int16), n_codes, n_classes=1)
        curator = Queryable(table, cost(noise.event("numbers")), randomness)
        everyone = curator.assign(PerRecordCoin(1))
        counts = curator.histogram(everyone, np.ones((1, len(grids)), dtype=np.bool_), noise)[0, :, 0]
        return [part[:-1] for part in np.split(counts, np.cumsum(n_codes)[:-1])]

    def _codes(self, columns: Columns, grids: Sequence[Grid]) -> npt.NDArray[np.uint16]:
        """Return the code of each cell, column by column: it depends on that cell and public or released grids alone."""
        read = Numeric(*MADE_UP).reader(self.missing)
        codes = np.empty((columns.n_rows, len(grids)), dtype=np.uint16)
        for place, (column, grid) in enumerate(zip(self.columns, grids, strict=True)):
            for start in range(0, columns.n_rows, BLOCK_ROWS):
                stop = min(start + BLOCK_ROWS, columns.n_rows)
                codes[start:stop, place] = grid.codes(read(columns.cells(column, start, stop)))
        return codes


def _purpose(noise: Geometric, name: str) -> str:
    return f"counts of numbers on {'an' if name[0] == 'e' else 'a'} {name} grid"
