"""Ranges of columns by noisy counts: first on an exponential grid around zero, then on a uniform one within."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.card import geometric_sum_bounds
from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Queryable
from hedgerow.curator.released_warnings import LONGEST_NAME, READ, SURE
from hedgerow.engines.records import table_of
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import Event, cost
from hedgerow.reading.cells import Cells
from hedgerow.reading.columns import Columns, read_labels
from hedgerow.reading.formats import SECONDS, DateFormat, date_reader, date_text
from hedgerow.schema import Date, Integer, Numeric, Schema
from hedgerow.schema.features import Feature
from hedgerow.table import Histogram, Keep
from hedgerow.table.reading import Codes, Labels, OneClass

DAY = SECONDS["day"]
ORIGIN = (date(2000, 1, 1) - date(1970, 1, 1)).days  # most dates lie near it, where an exponential grid is fine
FIRST, LAST = ((day - date(2000, 1, 1)).days for day in (date.min, date.max))
MOST_WHOLE = 2**51  # ends of ``Integer``


def reader_of(feature: Feature, missing: Sequence[str]) -> Callable[[Cells], npt.NDArray[np.float64]]:
    """Return what reads the cells of a column as numbers on its line, each by itself; NaN where there is none."""
    if not isinstance(feature, Date):
        assert isinstance(feature, Numeric), "categories are on no line"
        return feature.reader(missing)
    read = date_reader(
        "second", (*missing, *feature.missing), None if feature.date_format is None else DateFormat(feature.date_format)
    )
    return lambda cells: read(cells) / DAY - ORIGIN


def bounded(feature: Feature, low: float, high: float) -> tuple[float, float] | None:
    if isinstance(feature, Date):
        low, high = max(low, FIRST), min(high, LAST)
    return (low, high) if low < high else None


def entry_of(feature: Feature, low: float, high: float, whole: bool, release: str) -> Numeric:
    """Return the released entry of a schema for a range on a column's line; ``whole`` says that hardly a number is fractional."""
    if isinstance(feature, Date):
        if whole:
            first, last = math.floor(low), math.ceil(high)
            ends = date_text(first + ORIGIN, "day"), date_text(max(last, first + 1) + ORIGIN, "day")
        else:
            seconds = [math.floor((low + ORIGIN) * DAY), math.ceil((high + ORIGIN) * DAY)]
            ends = date_text(seconds[0], "second"), date_text(max(seconds[1], seconds[0] + 1), "second")
        form, missing = feature.date_format, feature.missing
        return Date(*ends, date_format=form, missing=missing, origin="released", release=release)  # type: ignore[arg-type]
    assert isinstance(feature, Numeric), "categories are on no line"
    written: dict[str, Any] = {name: getattr(feature, name) for name in ("decimal", "thousands", "amounts", "missing")}
    below, above = math.floor(low), math.ceil(high)
    if whole and max(-below, above) <= MOST_WHOLE:
        return Integer(below, max(above, below + 1), **written, origin="released", release=release)
    return Numeric(low, high, **written, origin="released", release=release)


UNIFORM_CELLS = 64
# Powers of 4: every one where most data are, few far out, since each cell of a tail adds its noise to the tail's.
EXPONENTS = (-500, -128, -40, -20, -12, *range(-8, 17), 20, 24, 30, 40, 60, 128, 500)


@dataclass(frozen=True, eq=False)
class RangeGrid:
    """Cells between ascending edges, closed on the left, and two that are open to the outside; then a code for missing.

    Where it is ``doubled``, each cell is two: one for whole numbers and one for others, so that a number is in one of them.
    """

    edges: Floats
    doubled: bool = False

    @property
    def cells(self) -> int:
        return len(self.edges) + 1

    @property
    def n_codes(self) -> int:
        return self.cells * (2 if self.doubled else 1) + 1

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.edges[0]), float(np.nextafter(self.edges[-1], -math.inf))

    def codes(self, values: Floats) -> Integers:
        """Return the code of each number, what is not finite being missing: it depends on that number alone."""
        missing = ~np.isfinite(values)
        place = np.searchsorted(self.edges, np.where(missing, 0.0, values), side="right").astype(np.int64)
        if self.doubled:
            whole = values == np.rint(values)
            place = 2 * place + ~whole
        return np.where(missing, self.n_codes - 1, place)


@lru_cache(maxsize=1)
def exponential_grid() -> RangeGrid:
    """Return cells that grow by a factor of 4 away from zero, and by more very far from it and very close to it."""
    powers = [4.0**exponent for exponent in EXPONENTS]
    return RangeGrid(np.array([-power for power in reversed(powers)] + [0.0, *powers]))


def uniform_grid(low: float, high: float) -> RangeGrid:
    """Return 64 cells of equal width from ``low`` up to and with ``high``, each of them doubled."""
    share = np.arange(1, UNIFORM_CELLS) / UNIFORM_CELLS
    inner = low * (1 - share) + high * share  # ends of either sign: their difference could be too large
    edges = np.unique([low, *inner, np.nextafter(high, math.inf)])
    return RangeGrid(edges, doubled=True)


@dataclass(frozen=True)
class End:
    """One end of a range, infinite if it is that of the outermost cell, and the noisy number of records beyond it.

    With the stated chance that number is too small by at most ``error``.
    """

    value: float
    beyond: int
    error: int


def tail_errors(noise: Geometric, cells: int, chance: float) -> Integers:
    """Return for each number of cells from 0 on how far their noise is off at most, in one direction, but for a chance."""
    numbers = np.arange(cells + 1)[:, None]
    bounds = geometric_sum_bounds(float(noise.rate.fraction), np.ones(1), numbers, chance)
    errors: Integers = np.ceil(bounds * (1 + 1e-9)).astype(np.int64)
    errors[0] = 0
    return errors


def occupied(counts: Integers, errors: Integers) -> tuple[int, int] | None:
    """Return the first and the last cell between which records lie as far as noise lets one see, None where it shows nothing.

    A run of w cells counts if its sum passes the largest error of so many. Runs of one cell come first, then runs of twice as
    many outside of what was found.
    """
    sums = np.concatenate(([0], np.cumsum(counts)))
    first, last = len(counts), -1
    width = 1
    while width <= len(counts):
        starts = np.flatnonzero(sums[width:] - sums[:-width] > errors[width])
        starts = starts[(starts + width <= first) | (starts > last)]
        if starts.size:
            first, last = min(first, int(starts[0])), max(last, int(starts[-1]) + width - 1)
        width *= 2
    return None if last < 0 else (first, last)


def find_ends(counts: Integers, grid: RangeGrid, errors: Integers, most: float) -> tuple[End, End]:
    """Return the ends of a range: from outside inwards, each is where the noisy tail would pass ``most``.

    Where none does, the end is the farthest one. Where nothing of the grid would lie between the ends, as where nearly all that
    was counted is in an outermost cell, both are the farthest ones.
    """
    cells = len(counts)
    passes = [np.flatnonzero(np.cumsum(way) > most) for way in (counts, counts[::-1])]
    lowest, highest = (int(places[0]) if places.size else 0 for places in passes)  # cells of the tail before it passes
    edges = [-math.inf, *grid.edges.tolist(), math.inf]
    first, last = grid.ends
    if max(edges[lowest], first) >= min(edges[cells - highest], last):  # far from noise they do not cross
        lowest = highest = 0
    low = End(edges[lowest], int(counts[:lowest].sum()), int(errors[lowest]))
    high = End(edges[cells - highest], int(counts[cells - highest :].sum()), int(errors[highest]))
    return low, high


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
        The ends; of dates in days since 2000-01-01.
    whole : bool
        Whether nearly all numbers are whole; of dates, whether nearly none has a time of day.
    records : int
        The noisy number n of records with a finite number, or a date.
    below, above : int
        The noisy numbers of records beyond the ends.
    error : int
        The largest error q of these two, with the stated chance.
    promised : bool
        Whether at most ``trimmed * n + q`` records lie beyond each end, with the stated chance. If not, the counts were too
        noisy for the requested share, or the first query had cut off too much.
    """

    low: float
    high: float
    whole: bool
    records: int
    below: int
    above: int
    error: int
    promised: bool


@dataclass(frozen=True)
class RangePlan:
    """Two queries about all columns of numbers and dates at once, and about the outcome, behind them, if it is queried.

    ``epsilon`` is what both cost together, pure, under add/remove adjacency. ``trimmed`` is the share of records that may lie
    beyond each end, and ``failure`` the chance that the promise about any column fails.
    """

    epsilon: Fraction
    columns: tuple[int, ...]
    trimmed: float
    failure: float
    schema: Schema
    with_outcome: bool = False

    @property
    def kinds(self) -> list[Feature]:
        features = list(self.schema.features.values())
        return [features[place] for place in self.columns] + [self.schema.labels] * self.with_outcome

    @property
    def coarse(self) -> Geometric:
        return Geometric(self.epsilon * COARSE, len(self.kinds))

    @property
    def fine(self) -> Geometric:
        return Geometric(self.epsilon * (1 - COARSE), len(self.kinds))

    @property
    def deviation(self) -> float:
        return self.fine.deviation * math.sqrt(uniform_grid(*MADE_UP).n_codes - 1)

    @property
    def events(self) -> tuple[Event, ...]:
        kinds = (self.coarse, "an exponential"), (self.fine, "a uniform")
        return tuple(noise.event(f"counts of numbers on {grid} grid") for noise, grid in kinds)

    def release(self, X: Any, y: Any, randomness: Randomness, keep: Keep | None = None) -> list[ReleasedRange]:
        coarse = exponential_grid()
        grids, visible = [], []
        counts = self._ask(X, y, [coarse] * len(self.kinds), self.coarse, randomness, keep)
        errors = self._errors(self.coarse, coarse)
        edges = [-LARGEST, *coarse.edges.tolist(), LARGEST]
        for kind, column in zip(self.kinds, counts, strict=True):
            cells = occupied(column, errors)
            ends = None if cells is None else bounded(kind, edges[cells[0]], edges[cells[1] + 1])
            visible.append(ends is not None)
            grids.append(uniform_grid(*(MADE_UP if ends is None else ends)))
        fine = self._ask(X, y, grids, self.fine, randomness, keep)
        return [self._range(*parts) for parts in zip(fine, grids, visible, strict=True)]

    def _errors(self, noise: Geometric, grid: RangeGrid) -> Integers:
        """Return the errors of tails of so many counts, such that no tail of any column is further off but for ``failure``."""
        return tail_errors(noise, grid.n_codes - 1, self.failure / (4 * len(self.kinds) * grid.n_codes))

    def _range(self, doubled: Integers, grid: RangeGrid, visible: bool) -> ReleasedRange:
        by_code = self._errors(self.fine, grid)
        errors = by_code[: 2 * grid.cells + 1 : 2]  # a tail of cells is one of pairs of counts
        counts = doubled.reshape(-1, 2).sum(axis=1)
        records, fractions = max(int(counts.sum()), 0), int(doubled[1::2].sum())
        share = self.trimmed * records
        low, high = find_ends(counts, grid, errors, share)
        error = max(low.error, high.error)
        inside = math.isfinite(low.value) and math.isfinite(high.value)
        unsure = int(by_code[grid.cells])
        first, last = grid.ends
        return ReleasedRange(
            low=max(low.value, first),
            high=min(high.value, last),
            whole=fractions <= max(share, unsure) and 4 * unsure <= records,
            records=records,
            below=low.beyond,
            above=high.beyond,
            error=error,
            promised=visible and inside and error <= share,
        )

    def _ask(
        self, X: Any, y: Any, grids: Sequence[RangeGrid], noise: Geometric, randomness: Randomness, keep: Keep | None
    ) -> list[Integers]:
        reading = OnGrids(self.schema, self.columns, tuple(grids))
        with table_of(X, y, reading, keep) as table:
            curator = Queryable(table, cost(noise.event("numbers")), randomness)
            everyone = curator.assign(PerRecordCoin(1))
            counts = curator.answer(Histogram(everyone), noise)[0, :, 0]
        return [part[:-1] for part in np.split(counts, np.cumsum(reading.n_codes)[:-1])]


def unread_warnings(ranges: Mapping[str, ReleasedRange], deviation: float) -> Iterator[str]:
    """Yield a warning for each column of which clearly less than half could be read, compared with the column read best.

    ``deviation`` is that of the noise of each number of records.
    """
    most = max((one.records for one in ranges.values()), default=0)
    for name, one in ranges.items():
        if READ * most - one.records > SURE * math.hypot(deviation, READ * deviation):
            yield (
                f"less than half of the cells of {name[:LONGEST_NAME]!r} could be read, by its released counts: its "
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
        return np.array([grid.n_codes for grid in self.grids])

    @property
    def dtype(self) -> np.dtype[Any]:
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
