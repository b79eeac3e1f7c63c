"""What a budget buys never costs more than the budget, and hardly less."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from costs import event_of, stated
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.mechanisms import Budget, Exponential, Geometric, PermuteAndFlip, RoundedNormal
from hedgerow.privacy.accounting import BoundedRange, Gaussian, Pure, Sequence, cost
from hedgerow.privacy.claim import Claim, NoAmountError

AMOUNTS = st.fractions(Fraction(1, 10**4), 20, max_denominator=10**6)
UNITS = st.sampled_from([1, 3, 1 << 16])
HARDLY = 1 - Fraction(1, 2**16)


@given(AMOUNTS, st.fractions(Fraction(1, 100), 1, max_denominator=100), st.booleans(), UNITS)
def test_shares_add_up_and_keep_what_they_are_of(amount, share, concentrated, unit):
    whole = Budget(amount, concentrated, unit)
    part = whole * share
    rest = whole - part
    assert part.amount == amount * share
    assert part.amount + rest.amount == amount
    assert (whole / 7).amount * 7 == amount
    for budget in (part, rest, whole / 7):
        assert (budget.concentrated, budget.unit) == (concentrated, unit)


def test_records_weigh_one_unless_it_is_said():
    assert Budget(Fraction(1)).noise() == Geometric(Fraction(1), 1)
    assert Budget(Fraction(1), concentrated=True).noise() == RoundedNormal(Fraction(2), Fraction(1))


def test_norms_go_to_the_noise_that_they_are_for():
    assert Budget(Fraction(1)).noise_for(3, 5) == Geometric(Fraction(1), 3)
    assert Budget(Fraction(1), concentrated=True).noise_for(3, 5) == RoundedNormal(Fraction(2), Fraction(5))


def rounds(budget):
    return Sequence((budget.noise(2).event("counts", draws=8),) * 3)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_part_of_a_claim_is_a_share_of_its_epsilon_or_a_rho_of_which_all_parts_keep_to_it(adjacency):
    pure = Claim(Fraction(1), adjacency=adjacency)
    assert Budget.of(pure, rounds, 3) == Budget(pure.pure / 3)
    assert Budget.of(pure, rounds) == Budget(pure.pure)
    claim = Claim(Fraction(1), Fraction(1, 10**6), adjacency)
    found = Budget.of(claim, rounds, 3)
    assert found.concentrated
    assert claim.covers(rounds(found))
    assert not claim.covers(rounds(found * Fraction(1001, 1000)))


def test_where_no_rho_keeps_to_a_claim_its_epsilon_is_divided():
    """The samplers' error of 24 draws, times e^200, is above any delta."""
    claim = Claim(Fraction(200), Fraction(1, 10**6))
    assert Budget.of(claim, rounds, 3) == Budget(Fraction(200, 3))
    with pytest.raises(NoAmountError, match="no plan of this kind keeps to delta"):
        Budget.of(claim, rounds, 2)  # three parts of a half are too many


def test_a_root_that_a_float_rounds_up_costs_no_more_than_the_amount():
    amount = Fraction(1, 8) - Fraction(1, 2**80)  # the root of 8 times this is below 1, and 1 as a float
    found = Budget(amount, concentrated=True).selection(Exponential, 1)
    assert stated(found) ** 2 / 8 <= amount


def test_a_budget_does_not_change():
    with pytest.raises(FrozenInstanceError):
        Budget(Fraction(1)).amount = Fraction(2)


@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("amount", [Fraction(0), Fraction(-1)])
def test_nothing_is_bought_for_nothing(amount, concentrated):
    with pytest.raises(ValueError, match=r"positive|above"):
        Budget(amount, concentrated).noise().event("counts")


@given(AMOUNTS, st.integers(1, 9), UNITS)
@settings(deadline=None)
def test_pure_noise_costs_at_most_the_amount_for_its_cells_and_unit(amount, cells, unit):
    noise = Budget(amount, unit=unit).noise(cells)
    assert isinstance(noise, Geometric)
    moved = noise.rate.fraction * cells * unit  # the loss of a record of the largest weight in so many cells
    assert amount * HARDLY < moved <= amount
    assert noise.event("counts") == Pure(moved, f"{Geometric.name}, sensitivity {cells * unit}", "counts")
    assert noise.covers(cells * unit, 10**30)
    assert not noise.covers(cells * unit + 1, 0)


@given(AMOUNTS, st.integers(1, 9), UNITS)
@settings(deadline=None)
def test_concentrated_noise_costs_at_most_the_amount_for_its_cells_and_unit(amount, cells, unit):
    noise = Budget(amount, concentrated=True, unit=unit).noise(cells)
    assert isinstance(noise, RoundedNormal)
    rho = Fraction(cells * unit**2) / noise.sigma.fraction**2 / 2
    assert amount * HARDLY < rho <= amount
    assert noise.event("counts").mu_squared / 2 == rho
    assert isinstance(noise.event("counts"), Gaussian)
    assert noise.covers(10**30, cells * unit**2)
    assert not noise.covers(0, cells * unit**2 + 1)


@given(AMOUNTS, st.integers(1, 50), UNITS, st.sampled_from([PermuteAndFlip, Exponential]))
@settings(deadline=None)
def test_a_pure_selection_costs_at_most_the_amount_for_its_range_and_unit(amount, score_range, unit, kind):
    selection = Budget(amount, unit=unit).selection(kind, score_range)
    assert type(selection) is kind
    loss = selection.rate.fraction * score_range * unit
    assert amount * HARDLY < loss <= amount
    assert stated(selection) == loss
    assert selection.score_range == score_range * unit


@given(AMOUNTS, st.integers(1, 50), UNITS, st.sampled_from([PermuteAndFlip, Exponential]))
@settings(deadline=None)
def test_a_concentrated_selection_is_exponential_and_costs_at_most_the_amount(amount, score_range, unit, kind):
    selection = Budget(amount, concentrated=True, unit=unit).selection(kind, score_range)
    assert type(selection) is Exponential
    assert isinstance(selection.event("test", "score"), BoundedRange)
    epsilon = selection.rate.fraction * score_range * unit
    assert amount * HARDLY < epsilon**2 / 8 <= amount
    assert cost(event_of(selection)).rho <= amount


# By the exact laws: the divergence of order a between neighbors is at most a times rho.

ORDERS = (1.5, 2.0, 4.0)


def excess(law, other, rho):
    """Return the largest divergence over a times rho: at most 1 for a rho-concentrated mechanism."""
    return max(
        math.log(float((law**order * other ** (1 - order)).sum())) / (order - 1) / (order * float(rho))
        for order in ORDERS
    )


@pytest.mark.parametrize(("rho", "unit"), [(Fraction(1, 10), 1), (Fraction(1, 2), 3), (Fraction(1, 100), 20)])
def test_the_law_of_concentrated_noise_is_as_concentrated_as_its_budget(rho, unit):
    def worst(amount):
        noise = Budget(amount, concentrated=True, unit=unit).noise()
        reach = int(8 * noise.deviation) + 2
        outcomes = np.arange(-reach, reach + unit + 1)
        laws = [noise.law(value, outcomes) for value in (0, unit)]
        return max(excess(*laws, rho), excess(*laws[::-1], rho))

    assert 0.5 < worst(rho) <= 1 + 1e-9
    assert worst(rho * 5 / 2) > 1.2


@pytest.mark.parametrize(("rho", "unit"), [(Fraction(1, 10), 1), (Fraction(1, 2), 3), (Fraction(1, 100), 20)])
def test_the_law_of_a_concentrated_selection_is_as_concentrated_as_its_budget(rho, unit):
    every = np.ones(4, dtype=np.bool_)

    def worst(amount):
        selection = Budget(amount, concentrated=True, unit=unit).selection(PermuteAndFlip, 2)
        spread = 2 * unit  # a record moves each score by something in an interval of this length
        pairs = [
            (np.array(scores) * unit, np.array(scores) * unit + np.array(moved))
            for scores in ((0, 0, 0, 0), (0, 1, 2, 3), (5, 0, 0, 5))
            for moved in ((spread, 0, 0, 0), (spread, spread, 0, 0), (0, -spread, 0, 0))
        ]
        laws = [(selection.law(a, every), selection.law(b, every)) for a, b in pairs]
        return max(max(excess(p, q, rho), excess(q, p, rho)) for p, q in laws)

    assert 0.6 < worst(rho) <= 1 + 1e-9
    assert worst(rho * 5 / 2) > 1.2
