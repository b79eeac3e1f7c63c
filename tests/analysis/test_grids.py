"""Public grids: one cell for each number, and tails whose noise is as large as it is said to be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.analysis.ranges import RangeGrid, exponential_grid, find_ends, occupied, tail_errors, uniform_grid
from hedgerow.mechanisms import Geometric

NUMBERS = np.array([0.0, -0.0, 1, 1.5, -1, -4, 4, 1e300, -1e300, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize(
    "grid", [exponential_grid(), uniform_grid(-1, 4), uniform_grid(0, 5e-324), uniform_grid(-1e301, 1e301)]
)
def test_a_number_is_in_one_cell_and_decides_it_alone(grid):
    codes = grid.codes(NUMBERS)
    assert codes.min() >= 0
    assert codes.max() < grid.n_codes
    assert np.all((codes == grid.n_codes - 1) == ~np.isfinite(NUMBERS))
    for value, code in zip(NUMBERS, codes, strict=True):
        assert grid.codes(np.array([value])).tolist() == [code]


def test_cells_are_closed_on_the_left_and_whole_numbers_apart():
    grid = RangeGrid(np.array([0.0, 1.0]), doubled=True)
    assert grid.codes(np.array([-1, -0.5, 0, 0.5, 1, 1.5, np.nan])).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert exponential_grid().edges.tolist() == sorted(set(exponential_grid().edges.tolist()))


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "3"])
@pytest.mark.parametrize("cells", [1, 5, 40])
def test_errors_of_tails_against_the_exact_law(epsilon, cells):
    """The noise of a tail passes its bound with at most the chance that is stated, and the bound is not much too large."""
    noise, chance = Geometric(Fraction(epsilon)), 1e-4
    bound = int(tail_errors(noise, 40, chance)[cells])
    reach = int(60 * np.sqrt(cells) / float(noise.epsilon)) + 60
    law = noise.law(0, np.arange(-reach, reach + 1))
    spectrum = np.fft.rfft(np.fft.ifftshift(np.pad(law, reach)))  # circular, far wider than the noise
    size = len(law) + 2 * reach
    whole = np.fft.irfft(spectrum**cells, n=size)
    at_least = np.cumsum(np.fft.fftshift(whole)[::-1])[::-1]
    middle = size // 2
    assert at_least[middle + bound] <= chance
    assert at_least[middle + bound // 2] > chance
    wrong = Geometric(Fraction(epsilon) * 2)  # half the noise: a bound for it is too small here
    assert at_least[middle + int(tail_errors(wrong, 40, chance)[cells])] > chance


def test_no_cell_has_no_error():
    assert tail_errors(Geometric(Fraction(1)), 3, 0.05)[0] == 0


def test_cells_of_public_grids():
    edges = exponential_grid().edges
    assert np.array_equal(edges, -edges[::-1])
    assert set(4.0 ** np.arange(-8, 17)) < set(edges)
    assert (edges[-1], np.diff(edges).min() > 0) == (4.0**500, True)
    near = uniform_grid(0, 64).edges
    assert near[:-1].tolist() == list(range(64))
    assert near[-1] == np.nextafter(64, np.inf)


def test_occupied_is_from_the_first_run_that_passes_its_errors_to_the_last():
    errors = np.array([0, 10, 14, 17, 20, 22, 24, 26, 28])
    assert occupied(np.array([0, 0, 30, 5, 40, 0, 0, 0]), errors) == (2, 4)
    assert occupied(np.array([9, 9, 30, 5, 40, 0, 8, 8]), errors) == (0, 7)
    assert occupied(np.array([0, 0, 30, 5, 5, 0, 8, 0]), errors) == (2, 2)
    assert occupied(np.array([5] * 8), errors) == (0, 7)
    assert occupied(np.zeros(8, dtype=np.int64), errors) is None


def test_a_run_passes_the_largest_error_and_no_less():
    errors = np.array([0, 5, 9, 9, 9])
    assert occupied(np.array([6, 0, 0, 0]), errors) == (0, 0)
    assert occupied(np.array([5, 0, 0, 0]), errors) is None  # as large as noise may be


def test_ends_lie_where_counts_stand_above_their_errors():
    grid = RangeGrid(np.array([0.0, 1.0, 2.0, 3.0]))
    errors = np.arange(6)
    low, high = find_ends(np.array([1, 2, 50, 1, 1]), grid, errors, 2.5)
    assert (low.value, low.beyond, low.error) == (0.0, 1, 1)
    assert (high.value, high.beyond, high.error) == (2.0, 2, 2)
    low, high = find_ends(np.array([9, 0, 0, 0, 9]), grid, errors, 2.5)
    assert (low.value, high.value) == (-np.inf, np.inf)
    assert find_ends(np.array([0, 0, 2, 0, 0]), grid, errors, 2.5)[0].value == -np.inf
    low, high = find_ends(np.array([2, 1, 50, 1, 2]), grid, errors, 2.0)  # a tail that holds what it may goes on
    assert (low.value, low.beyond) == (0.0, 2)
    assert (high.value, high.beyond) == (3.0, 2)


@pytest.mark.parametrize("grid", [uniform_grid(0, 64), uniform_grid(0, 5e-324), RangeGrid(np.array([0.0, 1.0, 2.0]))])
def test_ends_have_a_range_between_them(grid):
    """Wherever the noisy numbers seem to be, also where all are beyond the grid."""
    for cell in range(grid.cells):
        counts = np.where(np.arange(grid.cells) == cell, 50, 0)
        low, high = find_ends(counts, grid, np.arange(grid.cells + 1), 2.5)
        first, last = grid.ends
        assert max(low.value, first) < min(high.value, last)
        outermost = cell in (0, grid.cells - 1)
        assert not outermost or (low.value, high.value, low.beyond, high.beyond) == (-np.inf, np.inf, 0, 0)
