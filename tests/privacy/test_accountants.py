"""What every accountant promises, and what each makes of a step, a sample and a replaced record."""

import math
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from functools import reduce
from operator import add

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.privacy.accountants import ACCOUNTANTS, Concentrated, GaussianDP, PureAndGaussian
from hedgerow.privacy.conversions import (
    amplified,
    concentrated_delta,
    gaussian_delta,
    mu_squared_of_pure,
    rho_of_pure,
)

AMOUNTS = st.fractions(0, 3, max_denominator=1000)
STEPS = st.one_of(
    st.tuples(st.just("of_pure"), AMOUNTS, st.booleans()), st.tuples(st.just("of_gaussian"), AMOUNTS, st.none())
)
PLANS = st.lists(STEPS, max_size=4)
HALF = Fraction(1, 2)
SEARCH = 1 + 1e-8  # what a search by floats may leave of an order


def step(kind, name, amount, ranged):
    return kind.of_gaussian(amount) if name == "of_gaussian" else kind.of_pure(amount, ranged=ranged)


def value_of(kind, plan):
    return reduce(add, (step(kind, *each) for each in plan), kind())


# the contract


each = pytest.mark.parametrize("kind", ACCOUNTANTS)


@each
@given(plans=st.tuples(PLANS, PLANS, PLANS))
@settings(max_examples=60, deadline=None)
def test_sums_and_maxima_do_not_depend_on_order_or_grouping(kind, plans):
    a, b, c = (value_of(kind, plan) for plan in plans)
    for both in (add, lambda one, other: one | other):
        assert both(a, b) == both(b, a)
        assert both(both(a, b), c) == both(a, both(b, c))
        assert both(a, kind()) == a
    assert a | a == a
    assert a.times(3) == a + a + a
    assert a.times(1) == a
    assert a.times(0) == kind()
    assert (a | b) + c == (a + c) | (b + c)


@each
@given(plans=st.tuples(PLANS, PLANS))
@settings(max_examples=60, deadline=None)
def test_the_order_is_that_of_every_amount(kind, plans):
    a, b = (value_of(kind, plan) for plan in plans)
    assert a.at_most(a)
    assert a.at_most(a + b)
    assert a.at_most(a | b)
    assert b.at_most(a | b)
    assert (a.at_most(b) and b.at_most(a)) == (a == b)
    assert a.at_most(b) == all(getattr(a, field.name) <= getattr(b, field.name) for field in fields(kind))


@each
@given(plans=st.tuples(PLANS, PLANS), epsilon=st.fractions(0, 9, max_denominator=100), more=AMOUNTS)
@settings(max_examples=60, deadline=None)
def test_a_delta_grows_with_the_value_and_falls_with_epsilon(kind, plans, epsilon, more):
    a, b = (value_of(kind, plan) for plan in plans)
    assert a.delta(epsilon) <= (a + b).delta(epsilon) * SEARCH
    assert a.delta(epsilon) <= a.of_group(2).delta(epsilon) * SEARCH
    assert a.delta(epsilon + more) <= a.delta(epsilon) * SEARCH
    assert a.delta(epsilon) >= 0


@each
def test_a_plan_that_reads_nothing_loses_nothing(kind):
    assert kind() == kind.of_pure(Fraction(0), ranged=False) == kind.of_gaussian(Fraction(0)) == kind().of_group(2)
    assert kind().delta(Fraction(0)) <= math.ulp(0.0)


@each
@pytest.mark.parametrize("inclusion", [HALF, Fraction(1, 100), Fraction(999, 1000)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2), Fraction(30)])
def test_a_sampled_pure_plan_is_a_pure_step_of_what_is_left(kind, epsilon, inclusion):
    found = kind.of_pure(epsilon, ranged=True).sampled(epsilon, inclusion)
    assert found == kind.of_pure(amplified(epsilon, inclusion), ranged=False)
    assert found.at_most(kind.of_pure(epsilon, ranged=False))


@each
def test_a_value_does_not_change(kind):
    for field in fields(kind):
        with pytest.raises(FrozenInstanceError):
            setattr(kind(), field.name, Fraction(1))


def test_each_accountant_is_named_once():
    assert len({kind.__name__ for kind in ACCOUNTANTS}) == len(ACCOUNTANTS)


# each by itself


@pytest.mark.parametrize("ranged", [False, True])
def test_a_pure_step_costs_each_accountant_its_own_measure_of_epsilon(ranged):
    epsilon = Fraction(2, 3)
    assert PureAndGaussian.of_pure(epsilon, ranged=ranged) == PureAndGaussian(epsilon, Fraction(0))
    assert GaussianDP.of_pure(epsilon, ranged=ranged) == GaussianDP(mu_squared_of_pure(epsilon, ranged=ranged))
    assert Concentrated.of_pure(epsilon, ranged=ranged) == Concentrated(rho_of_pure(epsilon, ranged=ranged))


def test_a_gaussian_step_costs_each_accountant_its_own_measure_of_mu():
    mu_squared = Fraction(1, 7)
    assert PureAndGaussian.of_gaussian(mu_squared) == PureAndGaussian(Fraction(0), mu_squared)
    assert GaussianDP.of_gaussian(mu_squared) == GaussianDP(mu_squared)
    assert Concentrated.of_gaussian(mu_squared) == Concentrated(mu_squared / 2)


def test_one_record_replaced_costs_four_times_as_much_where_costs_are_squares():
    assert PureAndGaussian(Fraction(1, 3), Fraction(1, 7)).of_group(2) == PureAndGaussian(
        Fraction(2, 3), Fraction(4, 7)
    )
    assert PureAndGaussian(mu_squared=Fraction(1, 7)).of_group(2) == PureAndGaussian(Fraction(0), Fraction(4, 7))
    assert GaussianDP(Fraction(1, 3)).of_group(2) == GaussianDP(Fraction(4, 3))
    assert Concentrated(Fraction(1, 5)).of_group(2) == Concentrated(Fraction(4, 5))


def test_the_larger_of_each_amount_counts_in_parallel():
    both = PureAndGaussian(Fraction(1), Fraction(2)) | PureAndGaussian(Fraction(2), Fraction(1))
    assert both == PureAndGaussian(Fraction(2), Fraction(2))
    assert not both.at_most(PureAndGaussian(Fraction(2), Fraction(1)))
    assert not both.at_most(PureAndGaussian(Fraction(1), Fraction(2)))


def test_pure_steps_leave_gaussian_ones_the_rest_of_epsilon():
    both = PureAndGaussian(HALF, Fraction(1, 100))
    assert both.delta(Fraction(1)) == pytest.approx(gaussian_delta(0.5, 0.1), rel=1e-9)
    assert both.delta(HALF) == pytest.approx(gaussian_delta(0.0, 0.1), rel=1e-9)
    assert both.delta(HALF - Fraction(1, 10**30)) == math.inf
    assert PureAndGaussian(HALF).delta(HALF) == 0
    assert PureAndGaussian(HALF).delta(HALF - Fraction(1, 10**30)) == math.inf


def test_mu_and_rho_become_the_delta_of_their_curves_rounded_up():
    assert (
        gaussian_delta(1.0, 0.5) < GaussianDP(Fraction(1, 4)).delta(Fraction(1)) < gaussian_delta(1.0, 0.5) * 1.000001
    )
    found = Concentrated(Fraction(1, 20)).delta(Fraction(1))
    assert concentrated_delta(1.0, 0.05) <= found < concentrated_delta(1.0, 0.05) * 1.000001
