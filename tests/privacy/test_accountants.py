"""What the sums of a cost promise, and what each is of a step, a sample and a replaced record."""

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add

import pytest
from costs import SUMS, sums
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.privacy.accounting import (
    BoundedRange,
    Cost,
    Gaussian,
    Pure,
    amplified,
    concentrated_delta,
    cost,
    gaussian_delta,
    mu_squared_of_pure,
    rho_of_pure,
)

AMOUNTS = st.fractions(0, 3, max_denominator=1000)
STEPS = st.one_of(
    st.builds(lambda epsilon: Pure(epsilon, "", ""), AMOUNTS),
    st.builds(lambda epsilon: BoundedRange(epsilon, "", ""), AMOUNTS),
    st.builds(lambda mu_squared: Gaussian(mu_squared, 1, ""), AMOUNTS),
)
PLANS = st.lists(STEPS, max_size=4)
HALF = Fraction(1, 2)
SEARCH = 1 + 1e-8  # what a search by floats may leave of an order


def cost_of(plan):
    return reduce(add, map(cost, plan), Cost())


@given(plans=st.tuples(PLANS, PLANS, PLANS))
@settings(max_examples=60, deadline=None)
def test_sums_and_maxima_do_not_depend_on_order_or_grouping(plans):
    a, b, c = map(cost_of, plans)
    for both in (add, lambda one, other: one | other):
        assert both(a, b) == both(b, a)
        assert both(both(a, b), c) == both(a, both(b, c))
        assert both(a, Cost()) == a
    assert replace(a | a, draws=a.draws) == a
    assert a.times(3) == a + a + a
    assert a.times(1) == a
    assert a.times(0) == Cost()
    assert replace((a | b) + c, draws=0) == replace((a + c) | (b + c), draws=0)


@given(plans=st.tuples(PLANS, PLANS))
@settings(max_examples=60, deadline=None)
def test_the_order_is_that_of_every_amount(plans):
    a, b = map(cost_of, plans)
    assert a.at_most(a)
    assert a.at_most(a + b)
    assert a.at_most(a | b)
    assert b.at_most(a | b)
    if b.mu_squared or b.draws:
        assert a.at_most(b) == all(getattr(a, name) <= getattr(b, name) for name in SUMS)


@given(plans=st.tuples(PLANS, PLANS), epsilon=st.fractions(0, 9, max_denominator=100), more=AMOUNTS)
@settings(max_examples=60, deadline=None)
def test_a_delta_grows_with_the_value_and_falls_with_epsilon(plans, epsilon, more):
    a, b = (replace(cost_of(plan), draws=0) for plan in plans)
    assert a.delta(epsilon) <= (a + b).delta(epsilon) * SEARCH
    assert a.delta(epsilon) <= a.under("replace-one").delta(epsilon) * SEARCH
    assert a.delta(epsilon + more) <= a.delta(epsilon) * SEARCH
    assert a.delta(epsilon) >= 0


def test_a_plan_that_reads_nothing_loses_nothing():
    assert (
        Cost() == cost(Pure(Fraction(0), "", "")) == cost(Gaussian(Fraction(0), 0, "")) == Cost().under("replace-one")
    )
    assert Cost().delta(Fraction(0)) == 0


@pytest.mark.parametrize("inclusion", [HALF, Fraction(1, 100), Fraction(999, 1000)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(2), Fraction(30)])
def test_a_sampled_pure_plan_is_a_pure_step_of_what_is_left(epsilon, inclusion):
    sampled = cost(BoundedRange(epsilon, "", "")).sampled(inclusion)
    assert sampled == cost(Pure(amplified(epsilon, inclusion), "", ""))
    assert all(amount <= sums(cost(Pure(epsilon, "", "")))[name] for name, amount in sums(sampled).items())


@pytest.mark.parametrize("kind", [Pure, BoundedRange])
def test_a_pure_step_costs_each_accountant_its_own_measure_of_epsilon(kind):
    epsilon, ranged = Fraction(2, 3), kind is BoundedRange
    total, rho = mu_squared_of_pure(epsilon, ranged=ranged), rho_of_pure(epsilon, ranged=ranged)
    assert cost(kind(epsilon, "", "")) == Cost(epsilon, Fraction(0), total, rho)


def test_a_gaussian_step_costs_each_accountant_its_own_measure_of_mu():
    assert cost(Gaussian(Fraction(1, 7), 3, "")) == Cost(
        Fraction(0), Fraction(1, 7), Fraction(1, 7), Fraction(1, 14), draws=3
    )


def test_one_record_replaced_costs_four_times_as_much_where_costs_are_squares():
    found = Cost(Fraction(1, 3), Fraction(1, 7), Fraction(1, 3), Fraction(1, 5)).under("replace-one")
    assert found == Cost(Fraction(2, 3), Fraction(4, 7), Fraction(4, 3), Fraction(4, 5))


def test_the_larger_of_each_amount_counts_in_parallel():
    both = Cost(Fraction(1), Fraction(2), Fraction(3), Fraction(1)) | Cost(Fraction(2), Fraction(1), Fraction(1), HALF)
    assert both == Cost(Fraction(2), Fraction(2), Fraction(3), Fraction(1))
    for name in SUMS[:-1]:
        assert not both.at_most(replace(both, **{name: getattr(both, name) - HALF}))


def test_pure_steps_leave_gaussian_ones_the_rest_of_epsilon():
    large = Fraction(9)  # which leaves the other accountants worse
    both = Cost(HALF, Fraction(1, 100), large, large)
    assert both.delta(Fraction(1)) == pytest.approx(gaussian_delta(0.5, 0.1), rel=1e-9)
    assert both.delta(HALF) == pytest.approx(gaussian_delta(0.0, 0.1), rel=1e-9)
    assert both.delta(HALF - Fraction(1, 10**30)) > 0.5
    assert Cost(HALF, Fraction(0), large, large).delta(HALF) == 0
    assert Cost(HALF, Fraction(0), large, large).delta(HALF - Fraction(1, 10**30)) > 0.5


def test_mu_and_rho_become_the_delta_of_their_curves_rounded_up():
    large = Fraction(99)
    mu = Cost(large, Fraction(0), Fraction(1, 4), large).delta(Fraction(1))
    assert gaussian_delta(1.0, 0.5) < mu < gaussian_delta(1.0, 0.5) * 1.000001
    rho = Cost(large, Fraction(0), large, Fraction(1, 20)).delta(Fraction(1))
    assert concentrated_delta(1.0, 0.05) <= rho < concentrated_delta(1.0, 0.05) * 1.000001
