"""A release: its budgets, its cap, the shape of what it gives away, and the line of codes it works on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from costs import stated
from helpers import make_table

import hedgerow as hr
from hedgerow.curator import Queryable, SelectSpecializations
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import Pure, cost
from hedgerow.schema import Encoder
from hedgerow.scores import Majority, Purity, Specializations
from hedgerow.systems.cells import CellCut, CellsPlan
from hedgerow.table import CellCounts

SCHEMA = hr.Schema(
    {
        "n": hr.Numeric(0, 8),
        "m": hr.Numeric(0, 1),
        "c": hr.Categorical(["a", "b", "c", "d"]),
    },
    [0, 1],
)
N_CODES = (9, 9, 6)


SEPARATE, MERGED = (
    {"separate": True, "selection": PermuteAndFlip},
    {"separate": False, "selection": Exponential},
)  # DiffGen, DT-Diff


def plan_of(cuts, *, epsilon=Fraction(1), specializations=6, max_cells=100):
    given = {"max_cells": max_cells, "specializations": specializations, "max_bins": 8}
    return CellsPlan(SCHEMA, epsilon, score=Purity(), **cuts, **given)


def records(count=300, seed=0):
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.integers(0, n, count) for n in (*N_CODES, 2)]).tolist()


@pytest.mark.parametrize("cuts", [SEPARATE, MERGED])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10), Fraction(7, 3)])
def test_planned_budgets_add_up_to_epsilon_and_no_more_is_spent(cuts, epsilon):
    plan = plan_of(cuts, epsilon=epsilon, specializations=4)
    planned = cost(plan.event)
    assert planned.protected
    assert planned.mu_squared == 0
    assert epsilon * (1 - Fraction(1, 2**40)) < planned.epsilon <= epsilon
    parts = plan.event.parts
    assert all(isinstance(part, Pure) for part in parts)
    counts = parts[-1].epsilon
    assert epsilon / 2 * (1 - Fraction(1, 2**40)) < counts
    for seed in range(20):
        curator = Queryable(make_table(records(seed=seed), N_CODES), epsilon, Randomness(seed))
        plan.fit(curator)
        spent = curator.spent
        assert counts + 4 * parts[0].epsilon * (1 - Fraction(1, 2**40)) <= spent <= planned.epsilon


def test_budgets_are_the_papers():
    separate = plan_of(SEPARATE, specializations=5).event.parts
    assert float(separate[0].epsilon) == pytest.approx(1 / (2 * (2 + 2 * 5)))
    assert len(separate) == 5 + (2 + 5 - 1) + 1
    merged = plan_of(MERGED, specializations=5).event.parts
    assert float(merged[0].epsilon) == pytest.approx(1 / (2 * 5))
    assert len(merged) == 5 + 1


@pytest.mark.parametrize("cuts", [SEPARATE, MERGED])
@pytest.mark.parametrize("max_cells", [1, 2, 3, 7, 30])
def test_the_cap_is_never_passed(cuts, max_cells):
    plan = plan_of(cuts, max_cells=max_cells, specializations=20)
    for seed in range(15):
        release = plan.fit(Queryable(make_table(records(40), N_CODES), cost(plan.event), Randomness(seed)))
        assert len(release.counts) <= max_cells


@pytest.mark.parametrize("cuts", [SEPARATE, MERGED])
def test_neighbors_with_the_same_steps_have_tables_of_one_shape(cuts):
    plan, data = plan_of(cuts, epsilon=Fraction(1000)), records(50)
    for leave_out in range(5):
        fewer = data[:leave_out] + data[leave_out + 1 :]
        one, other = (
            plan.fit(Queryable(make_table(d, N_CODES), cost(plan.event), Randomness(3))) for d in (data, fewer)
        )
        if one.steps == other.steps:
            assert one.counts.shape == other.counts.shape
    empty = plan.fit(Queryable(make_table([], N_CODES), cost(plan.event), Randomness(0)))
    assert len(empty.steps) == 6
    assert empty.counts.shape[1] == 2


def test_empty_cells_have_noise_of_both_signs():
    plan, table = plan_of(MERGED, max_cells=4000), make_table([(8, 0, 0, 1)] * 5, N_CODES)
    counts = plan.fit(Queryable(table, cost(plan.event), Randomness(1))).counts
    assert (counts < 0).any()
    assert (counts > 0).any()
    assert len(counts) > 10


def test_a_clear_split_is_found():
    generator = np.random.default_rng(0)
    rows = np.column_stack([generator.integers(0, n, 5000) for n in N_CODES])
    labels = rows[:, 0] >= 3
    table = make_table(np.column_stack([rows, labels]).tolist(), N_CODES)
    for cuts in (SEPARATE, MERGED):
        curator = Queryable(table, Fraction(4), Randomness(0))
        model = plan_of(cuts, specializations=1, epsilon=Fraction(4)).fit(curator)
        assert model.steps == ((0, 3, 9),)
        assert np.abs(model.counts - [[np.sum(~labels), 0], [0, np.sum(labels)]]).max() < 30


def test_an_interval_is_cut_anywhere_and_a_category_is_divided_once():
    cut = CellCut.root(Encoder(SCHEMA, 8))
    assert cut.divisions((0, 9)) == [(0, place, 9) for place in range(1, 9)]
    assert cut.divisions((18, 24)) == [(18, 19, 20, 21, 22, 23, 24)]
    assert cut.divisions((20, 21)) == []


def test_a_cell_is_a_group_of_each_feature():
    cut = CellCut.root(Encoder(SCHEMA, 8)).specialized((0, 3, 9)).specialized((18, 19, 20, 21, 22, 23, 24))
    assert cut.shape == (2, 1, 6)
    assert cut.n_cells == 12
    assert cut.n_cells_with((3, 4, 9)) == 18
    codes = np.array([[2, 5, 2], [3, 5, 0], [8, 0, 1], [0, 0, 5]])
    assert cut.cell(codes).tolist() == [2, 6, 7, 5]
    assert cut.begins(0).tolist() == [0, 3]


def curator_of(epsilon):
    curator = Queryable(make_table(records(), N_CODES), epsilon, Randomness(0))
    return curator, curator.assign(PerRecordCoin(1))


def test_the_curator_charges_disjoint_intervals_once():
    choices = [Specializations(np.arange(24), [edges], np.ones(1, dtype=np.int64)) for edges in ((0, 1, 4), (4, 6, 9))]
    other = Specializations(np.arange(24), [(9, 10, 18)], np.ones(1, dtype=np.int64))
    mechanism = PermuteAndFlip(Fraction(1, 4), Majority.range)
    curator, node = curator_of(Fraction(1))
    assert curator.answer(SelectSpecializations(node, choices, Majority()), mechanism).tolist() == [0, 0]
    assert curator.spent == stated(mechanism)
    curator.answer(SelectSpecializations(node, [*choices, other], Majority()), mechanism)
    assert curator.spent == 3 * stated(mechanism)
    with pytest.raises(BudgetExceeded):
        curator.answer(SelectSpecializations(node, [*choices, other], Majority()), mechanism)


def test_the_curator_refuses_a_mechanism_of_another_range():
    curator, node = curator_of(Fraction(1))
    choice = Specializations(np.arange(24), [(0, 1, 4)], np.ones(1, dtype=np.int64))
    with pytest.raises(ConfigurationError, match="purity score"):
        curator.answer(SelectSpecializations(node, [choice], Purity()), PermuteAndFlip(Fraction(1), 1))
    with pytest.raises(BudgetExceeded):
        curator.answer(CellCounts(node, CellCut.root(Encoder(SCHEMA, 8))), Geometric(Fraction(2)))
