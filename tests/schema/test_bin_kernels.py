"""The kernels that bin numbers, as Python and compiled, against plain loops.

As Python, a read beyond an array raises.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.schema import kernels
from hedgerow.schema.encoder import bin_few

NUMBERS = [0, 1, 2, 3, 4, 41, kernels.LINEAR_EDGES, kernels.LINEAR_EDGES + 1, kernels.LINEAR_EDGES + 2, 300]
SPACINGS = {
    "even": lambda n: np.arange(n) * 0.5 - 3,
    "below nothing": lambda n: np.arange(n) - 1e6,
    "wide": lambda n: 1.7e308 * (2 * np.linspace(0, 1, n) - 1),
    "dense": lambda n: np.arange(n) * 5e-324,
    "uneven": lambda n: np.arange(n) ** 3 * 0.1,
    "two heaps": lambda n: np.sort(np.concatenate([np.arange(n // 2) * 1e-9, 1e9 + np.arange(n - n // 2)])),
}
FAR = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 7.25])


def ways(kernel):
    return kernel.py_func, kernel


def values_beside(edges):
    return np.concatenate([FAR, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's numbers warn where compiled ones do not
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("spacing", SPACINGS)
def test_edges_that_are_not_above_a_value_are_counted(number, spacing):
    own = SPACINGS[spacing](number)
    values = values_beside(own)
    rows = len(values) - 1
    expected = np.append((own[:, None] <= values[:-1]).sum(axis=0), -7)  # what lies behind so many rows stays as it is
    places = [(own, 0), (np.append([5.0, -1e9, 2.0], own), 3), (np.append(own, [-1e9, 1e9]), 0)]
    for edges, first in places:
        for kernel in (kernels._count, kernels._count_even):
            if kernel is kernels._count_even and number < 2:
                continue
            for way in ways(kernel):
                counts = np.full(len(values), -7)
                way(values, rows, edges, first, first + number, counts)
                assert np.array_equal(counts, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slots_are_of_equal_width_between_the_first_edge_and_the_last():
    edges = np.array([7.0, -2.0, 0.5, 1.0, 6.0])
    for way in ways(kernels._slots_by_unit):
        assert way(edges, 1, 5) == kernels.SLOTS / 8  # as Python, a read behind the last would raise
        assert way(edges, 1, 4) == kernels.SLOTS / 3
        assert way(edges, 1, 2) == 0  # all stand in one
        assert way(np.array([0.0, 0.25]), 0, 2) == 4 * kernels.SLOTS
        assert way(np.array([-1.7e308, 1.7e308]), 0, 2) == 0
    for way in ways(kernels._slot):
        last = kernels.SLOTS - 1
        given = [
            np.nan,
            -np.inf,
            2.9,
            3.0,
            3.09,
            3.11,
            3.49,
            3.51,
            3 + last / 10 - 0.01,
            3 + last / 10 + 0.01,
            9e9,
            np.inf,
        ]
        found = [way(value, 3.0, 10.0) for value in given]
        assert found == [0, 0, 0, 0, 0, 1, 4, 5, last - 1, last, last, last]


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("behind", [0, 2])
def test_edges_are_even_within_half_a_step(first, behind):
    def are_even(own):
        edges = np.concatenate([np.full(first, 3.0), own, np.full(behind, -5.0)])
        (found,) = {bool(way(edges, first, first + len(own))) for way in ways(kernels._are_even)}
        return found

    for step, low in ((2.0, -1.0), (0.25, 100.0), (0.5, -4.0)):
        even = low + step * np.arange(9)
        assert are_even(even)
        assert are_even(even[:2])
        for place in range(1, 8):
            for sign in (-1, 1):
                moved = even.copy()
                moved[place] += sign * step / 2
                assert are_even(moved)
                moved[place] += sign * 2.0**-20
                assert not are_even(moved)
    with np.errstate(all="ignore"):
        assert not are_even(np.array([-1.7e308, 0.0, 1.7e308]))  # the step is infinite
        assert not are_even(np.full(3, 4.0))


def plain_bins(cells, sources, targets, edges, starts, markers, out):
    for row, (source, target) in product(range(len(cells)), zip(sources, targets, strict=True)):
        value, own = cells[row, source], edges[starts[target] : starts[target + 1]]
        missing = np.isnan(value) or value in markers
        out[row, target] = len(own) + 1 if missing else sum(Fraction(edge) <= value for edge in own)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n_rows", [0, 1, 2, kernels.TILE, kernels.TILE + 1, 2 * kernels.TILE + 3])
@pytest.mark.parametrize("numbers", [(1, 42, 0), (42, 0, 1), (0, 1, 42), (1, 40, 1)], ids=str)
def test_every_row_of_every_column_gets_its_bin(n_rows, numbers):
    """Features of few and of many even edges lie side by side, so that no one may take another's."""
    generator = np.random.default_rng(n_rows)
    ends = np.cumsum([0, *numbers])
    edges = np.arange(ends[-1], dtype=np.float64)
    cells = generator.choice([np.nan, np.inf, -np.inf, *edges, *(edges + 0.5), -1.0], (n_rows, 4))
    for sources, targets, markers in [
        ([2, 0, 1], [0, 1, 2], [3.0, 0]),
        ([3], [2], []),
        ([1], [1], [-1]),
        ([], [], [1]),
    ]:
        which = np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64)
        given = *which, edges, ends, np.array(markers, dtype=np.float64)
        expected = np.full((n_rows, 3), 99, dtype=np.uint8)
        plain_bins(cells, *given, expected)
        for way in (*ways(kernels.bin_columns), bin_few):
            out = np.full((n_rows + 2, 3), 99, dtype=np.uint8)
            way(cells, *given, out[1:-1])
            assert np.array_equal(out[1:-1], expected)
            assert (out[[0, -1]] == 99).all()
