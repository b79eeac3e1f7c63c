"""Public grids on which numbers are counted, and what noisy counts on them say of the ends of a range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats, Integers
from hedgerow.mechanisms import Geometric

__all__ = ["End", "RangeGrid", "exponential_grid", "find_ends", "occupied", "tail_errors", "uniform_grid"]


UNIFORM_CELLS = 64
# Powers of 4: every one where most data are, few far out, since each cell of a tail adds its noise to the tail's.
EXPONENTS = (-500, -128, -40, -20, -12, *range(-8, 17), 20, 24, 30, 40, 60, 128, 500)
TILTS = np.linspace(0.02, 0.98, 97)  # of the exponential bound, as shares of the rate


@dataclass(frozen=True, eq=False)
class RangeGrid:
    """Cells between ascending edges, closed on the left, and two that are open to the outside; then a code for missing.

    Where it is ``doubled``, each cell is two: one for whole numbers and one for others, so that a number is in one of them.
    """

    edges: Floats
    doubled: bool = False

    @property
    def cells(self) -> int:
        """How many cells there are, pairs counted once."""
        return len(self.edges) + 1

    @property
    def n_codes(self) -> int:
        """How many codes there are."""
        return self.cells * (2 if self.doubled else 1) + 1

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number that are not in an open cell."""
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
    """One end of a range, as noisy counts place it.

    Parameters
    ----------
    value : float
        The end; infinite where it is that of the outermost cell.
    beyond : int
        The noisy number of records beyond it.
    error : int
        q: with the stated chance that number is too small by no more.
    """

    value: float
    beyond: int
    error: int


def tail_errors(noise: Geometric, cells: int, chance: float) -> Integers:
    """Return for each number of cells from 0 on how far their noise together is at most off in one direction, but for a chance.

    It is the exponential (Chernoff) bound: the chance that a sum S of j independent draws reaches s is at most
    ``E[exp(t S)] exp(-t s)`` for every t below the rate, of which the best of a list is taken.
    """
    rate = float(noise.rate.fraction)
    tilt = rate * TILTS
    log_moment = 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(tilt - rate)) - np.log(-np.expm1(-tilt - rate))
    counts = np.arange(cells + 1)[:, None]
    bounds = ((counts * log_moment - math.log(chance)) / tilt).min(axis=1) * (1 + 1e-9)
    errors: Integers = np.ceil(bounds).astype(np.int64)
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
    lowest, highest = (_first(way, most) for way in (counts, counts[::-1]))
    edges = [-math.inf, *grid.edges.tolist(), math.inf]
    first, last = grid.ends
    if max(edges[lowest], first) >= min(edges[cells - highest], last):  # far from noise they do not cross
        lowest = highest = 0
    low = End(edges[lowest], int(counts[:lowest].sum()), int(errors[lowest]))
    high = End(edges[cells - highest], int(counts[cells - highest :].sum()), int(errors[highest]))
    return low, high


def _first(counts: Integers, most: float) -> int:
    """Return how many cells the tail has before the cell with which it passes what it may hold."""
    passes = np.flatnonzero(np.cumsum(counts) > most)
    return int(passes[0]) if passes.size else 0
