"""What a range makes of noisy counts, by hand: ends, errors, promises, and whether numbers are whole."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.analysis.ranges import RangePlan, exponential_grid, tail_errors, uniform_grid
from hedgerow.analysis.release import private_schema

GRID = uniform_grid(0, 64)
SCHEMA = hr.Schema({name: hr.Numeric(0, 1) for name in "ab"}, classes=[0, 1])


def plan_of(columns=(0,), trimmed=0.25):
    return RangePlan(Fraction(1), columns, trimmed, 0.05, SCHEMA)


ERRORS = plan_of()._errors(plan_of().fine, GRID)  # of tails of so many codes, of which a cell has two


def shown(whole, fractions=(), **settings):
    """The range that counts show: of whole numbers by their cells, and of others."""
    doubled = np.zeros(2 * GRID.cells, dtype=np.int64)
    for odd, counts in enumerate((whole, dict(fractions))):
        for cell, count in counts.items():
            doubled[2 * cell + odd] = count
    return plan_of(**settings)._range(doubled, GRID, True)


@pytest.mark.parametrize("cell", [9, 50])
def test_an_error_is_that_of_the_longer_tail_with_two_codes_a_cell(cell):
    one = shown({cell: 10**6})
    assert one.error == ERRORS[2 * max(cell, GRID.cells - 1 - cell)]
    assert (one.low, one.high) == (cell - 1, cell)  # the first cell is open
    assert (one.records, one.below, one.above, one.promised) == (10**6, 0, 0, True)


def test_a_range_is_promised_where_its_error_is_within_the_share_that_may_be_cut_off():
    error = shown({9: 10**6}).error
    assert shown({9: 4 * error}).promised
    assert not shown({9: 4 * error - 4}).promised


def test_an_end_beyond_the_grid_is_no_promise():
    one = shown({0: 10**6, 9: 10**6})
    assert (one.low, one.high, one.promised) == (0, 9, False)


def test_numbers_are_whole_where_hardly_one_is_not():
    assert shown({9: 750_000}, {9: 250_000}).whole
    assert not shown({9: 749_999}, {9: 250_001}).whole
    doubt = int(ERRORS[GRID.cells])
    assert shown({9: 4 * doubt}).whole
    assert not shown({9: 4 * doubt - 1}).whole


def test_there_are_no_fewer_records_than_none():
    assert shown({9: -5}).records == 0


def test_errors_of_several_columns_hold_together():
    one, two = (plan_of(columns)._errors(plan_of().fine, GRID)[1:] for columns in ((0,), (0, 1)))
    assert np.all(two >= one)
    assert np.any(two > one)


@pytest.mark.parametrize("columns", [(0,), (0, 1)])
def test_the_chance_of_failure_is_shared_out_among_both_ends_in_both_questions_of_every_column_and_all_tails(columns):
    plan = plan_of(columns)
    for noise, grid in ((plan.fine, GRID), (plan.coarse, exponential_grid())):
        codes = grid.n_codes - 1  # missing cells are in no tail
        tails = 2 * 2 * len(columns) * grid.n_codes
        assert np.array_equal(plan._errors(noise, grid), tail_errors(noise, codes, plan.failure / tails))


def test_a_range_reaches_from_the_outermost_end():
    x = np.where(np.arange(4000) % 2, -1e305, 5.0)
    with pytest.warns(UserWarning, match="no range is promised"):
        made = private_schema({"x": x}, epsilon=10, numeric=["x"], classes=[0, 1], random_state=0)
    assert made.features["x"].low == -(4.0**500)
