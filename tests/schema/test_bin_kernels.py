"""The kernels that bin numbers, as Python and compiled, against plain loops.

As Python, a read beyond an array raises.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.reading import kernels
from hedgerow.schema.encoder import SLOTS, slots_of

NUMBERS = [0, 1, 2, 41, SLOTS + 1, 3 * SLOTS]
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
    own = np.unique(SPACINGS[spacing](number))
    values = values_beside(own)
    expected = np.where(np.isnan(values), len(own) + 1, (own[:, None] <= values).sum(axis=0))
    for before, behind in (([], []), ([5.0, -1e9, 2.0], []), ([], [-1e9, 1e9]), ([7.25], [7.25])):
        edges = np.concatenate([before, own, behind])
        starts = np.cumsum([0, len(before), len(own), len(behind)])
        for way in ways(kernels.bin_columns):
            out = np.full((len(values), 3), 9999, dtype=np.uint16)
            where = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
            tables = edges, starts, *slots_of(edges, starts)
            way(values[:, None], *where, *tables, np.empty(0), np.array([3, 1]), out.reshape(-1))
            assert np.array_equal(out[:, 1], expected)
            assert (out[:, [0, 2]] == 9999).all()


def test_slots_are_of_equal_width_between_the_first_edge_and_the_last():
    edges = np.array([7.0, -2.0, 0.5, 1.0, 6.0, 0.0, 0.25, -1.7e308, 1.7e308, 0.0, 5e-324])
    starts = np.array([0, 1, 1, 5, 7, 9, 11])
    low, by_unit, before, steps = slots_of(edges, starts)
    assert low.tolist() == [7, 0, -2, 0, -1.7e308, 0]
    assert by_unit.tolist() == [0, 0, SLOTS / 8, 4 * SLOTS, 0, np.inf]  # all stand in one where a width is no number
    assert steps.tolist() == [1, 0, 1, 1, 2, 1]
    assert before.dtype == np.int32
    assert before.shape == (6, SLOTS)
    assert not before[:, 0].any()  # where every value stands if all edges do
    behind = (
        int(2.5 * SLOTS / 8),
        int(3 * SLOTS / 8),
        SLOTS - 1,
    )  # slots of edges, each of which counts in those behind it
    assert np.array_equal(before[2], 1 * (np.arange(SLOTS) > 0) + sum(np.arange(SLOTS) > slot for slot in behind))
    assert before[3].tolist() == before[5].tolist() == [0] + [1] * (SLOTS - 1)


@pytest.mark.parametrize(("number", "steps"), [(254, 1), (SLOTS, 1), (SLOTS + 1, 2), (3 * SLOTS, 2), (4 * SLOTS, 3)])
def test_steps_tell_the_edges_of_the_fullest_slot_apart(number, steps):
    edges = np.arange(float(number))
    *_, before, found = slots_of(edges, np.array([0, number]))
    assert found == [steps]
    fullest = max(np.diff(before[0], append=number))
    assert 2 ** (steps - 1) <= fullest < 2**steps


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
        tables, marked = (edges, ends), np.array(markers, dtype=np.float64)
        expected = np.full((n_rows, 3), 99, dtype=np.uint8)
        plain_bins(cells, *which, *tables, marked, expected)
        for way, order in product(ways(kernels.bin_columns), "CF"):
            around = np.full(n_rows * 3 + 6, 99, dtype=np.uint8)
            steps = np.array([3, 1] if order == "C" else [1, n_rows])
            way(cells, *which, *tables, *slots_of(*tables), marked, steps, around[3:-3])
            assert np.array_equal(around[3:-3].reshape((n_rows, 3), order=order), expected)
            assert (around[[0, 1, 2, -3, -2, -1]] == 99).all()
