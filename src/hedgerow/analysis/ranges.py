"""Ranges of columns by noisy counts: first on an exponential grid around zero, then on a uniform one within."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.analysis.amounts import bounded, entry_of, reader_of
from hedgerow.analysis.grids import RangeGrid, exponential_grid, find_ends, occupied, tail_errors, uniform_grid
from hedgerow.analysis.readings import OneClass
from hedgerow.arrays import Integers
from hedgerow.curator import Queryable
from hedgerow.doubts import LONGEST_NAME, READ, SURE
from hedgerow.engines.records import table_of
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.events import Event
from hedgerow.schema import Numeric, Schema
from hedgerow.schema.columns import Columns, read_labels
from hedgerow.schema.features import Feature
from hedgerow.table import Keep
from hedgerow.table.reading import Codes, Labels

__all__ = ["RangePlan", "ReleasedRange", "read_doubts"]


BLOCK_ROWS = 65_536
COARSE = Fraction(1, 2)  # the share of the first query
LARGEST = 4.0**500  # the outermost ends
MADE_UP = (0.0, 1.0)  # where nothing stands out


@dataclass(frozen=True)
class ReleasedRange:
    """What was released of one column of numbers or dates.

    Parameters
    ----------
    low, high : float
        The range; of dates in days since 2000-01-01.
    whole : bool
        Whether hardly a number is fractional; of dates, whether hardly one has a time of day.
    records : int
        n, the noisy number of records with a finite number, or a date.
    below, above : int
        The noisy numbers of records beyond the ends.
    error : int
        q: the largest error of these two, with the stated chance.
    promised : bool
        Whether at most ``trimmed * n + q`` records lie beyond each end with that chance; if not, the counts were too noisy for
        the share that was asked for, or the first query had cut off too much.
    """

    low: float
    high: float
    whole: bool
    records: int
    below: int
    above: int
    error: int
    promised: bool

    def feature(self, kind: Feature, release: str) -> Numeric:
        """Return the entry of a schema for a column of this kind."""
        return entry_of(kind, self.low, self.high, self.whole, release)


@dataclass(frozen=True)
class RangePlan:
    """Two queries about all columns of numbers and dates at once, and about the outcome where it is asked for.

    Parameters
    ----------
    epsilon : Fraction
        What both cost together, pure, under add/remove adjacency.
    columns : tuple of int
        Which columns.
    trimmed, failure : float
        The share of records that may lie beyond each end, and the chance that a promise of any column fails.
    schema : Schema
        The columns: of dates or numbers, with any range, and what else stands for a missing cell.
    with_outcome : bool
        Whether the outcome's range is asked for, like that of one column more, behind the others.
    """

    epsilon: Fraction
    columns: tuple[int, ...]
    trimmed: float
    failure: float
    schema: Schema
    with_outcome: bool = False

    @property
    def kinds(self) -> list[Feature]:
        """The entries of what is asked about."""
        features = list(self.schema.features.values())
        return [features[place] for place in self.columns] + [self.schema.labels] * self.with_outcome

    @property
    def coarse(self) -> Geometric:
        """The noise of the first query: a record is in one cell of each column."""
        return Geometric(self.epsilon * COARSE, len(self.kinds))

    @property
    def fine(self) -> Geometric:
        """The noise of the second query."""
        return Geometric(self.epsilon * (1 - COARSE), len(self.kinds))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a column's number of records."""
        return self.fine.deviation * math.sqrt(uniform_grid(*MADE_UP).n_codes - 1)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the queries cost."""
        return tuple(noise.event(f"counts of numbers on {grid} grid") for noise, grid in self._questions)

    @property
    def _questions(self) -> tuple[tuple[Geometric, str], ...]:
        return (self.coarse, "an exponential"), (self.fine, "a uniform")

    def release(self, X: Any, y: Any, randomness: Randomness, keep: Keep | None = None) -> list[ReleasedRange]:
        """Return the range of each column, and of the outcome."""
        coarse = exponential_grid()
        grids, found = [], []
        counts = self._ask(X, y, [coarse] * len(self.kinds), self.coarse, randomness, keep)
        errors = self._errors(self.coarse, coarse)
        edges = [-LARGEST, *coarse.edges.tolist(), LARGEST]
        for kind, column in zip(self.kinds, counts, strict=True):
            cells = occupied(column, errors)
            ends = None if cells is None else bounded(kind, edges[cells[0]], edges[cells[1] + 1])
            found.append(ends is not None)
            grids.append(uniform_grid(*(MADE_UP if ends is None else ends)))
        fine = self._ask(X, y, grids, self.fine, randomness, keep)
        return [self._range(*parts) for parts in zip(fine, grids, found, strict=True)]

    def _errors(self, noise: Geometric, grid: RangeGrid) -> Integers:
        """Return the errors of tails of so many counts, such that no tail of any column is further off but for ``failure``."""
        return tail_errors(noise, grid.n_codes - 1, self.failure / (4 * len(self.kinds) * grid.n_codes))

    def _range(self, doubled: Integers, grid: RangeGrid, found: bool) -> ReleasedRange:
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

    def _ask(
        self, X: Any, y: Any, grids: Sequence[RangeGrid], noise: Geometric, randomness: Randomness, keep: Keep | None
    ) -> list[Integers]:
        """Return the noisy counts of each column on its grid, missing cells left out."""
        reading = OnGrids(self.schema, self.columns, tuple(grids))
        with table_of(X, y, reading, keep) as table:
            curator = Queryable(table, cost(noise.event("numbers")), randomness)
            everyone = curator.assign(PerRecordCoin(1))
            counts = curator.histogram(everyone, np.ones((1, len(grids)), dtype=np.bool_), noise)[0, :, 0]
        return [part[:-1] for part in np.split(counts, np.cumsum(reading.n_codes)[:-1])]


def read_doubts(ranges: Mapping[str, ReleasedRange], deviation: float) -> Iterator[str]:
    """Yield a warning for each column of which clearly less than half could be read, compared with the column read best.

    ``deviation`` is that of the noise of each number of records.
    """
    most = max((one.records for one in ranges.values()), default=0)
    for name, one in ranges.items():
        if READ * most - one.records > SURE * math.hypot(deviation, READ * deviation):
            yield (
                f"clearly less than half of the cells of {name[:LONGEST_NAME]!r} could be read, by its released counts: its "
                "range is that of the others. Is the text in another format, or is it another column?"
            )


@dataclass(frozen=True, eq=False)
class OnGrids(OneClass):
    """The cells of some columns as those of grids: each depends on that cell and on public or released grids alone.

    A grid more than there are columns is that of the outcome.
    """

    columns: tuple[int, ...]
    grids: tuple[RangeGrid, ...]

    @property
    def n_codes(self) -> Integers:
        """How many codes each grid has."""
        return np.array([grid.n_codes for grid in self.grids])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return np.dtype(np.uint16)

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of each record, column by column, whether it has a label or not."""
        features = list(self.schema.features.values())
        codes = np.empty((columns.n_rows, len(self.grids)), dtype=np.uint16)
        outcomes = read_labels(y) if len(self.grids) > len(self.columns) else np.empty(0)
        for place, grid in enumerate(self.grids):
            column = self.columns[place] if place < len(self.columns) else None
            read = reader_of(self.schema.labels if column is None else features[column], self.schema.missing)
            for start in range(0, columns.n_rows, BLOCK_ROWS):
                stop = min(start + BLOCK_ROWS, columns.n_rows)
                cells = outcomes[start:stop] if column is None else columns.cells(column, start, stop)
                codes[start:stop, place] = grid.codes(read(cells))
        return codes, np.zeros(columns.n_rows, dtype=np.int16)
