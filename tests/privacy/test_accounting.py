"""What events cost, alone and together, and how costs become (epsilon, delta)."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from costs import SUMS, cost_of, sums
from fifty_digits import as_decimal, upper_tail
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import ConfigurationError
from hedgerow.privacy.accounting import (
    BoundedRange,
    Cost,
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Unprotected,
    before_amplification,
    check_adjacency,
    concentrated_delta,
    cost,
    event_from_dict,
    event_to_dict,
)
from hedgerow.privacy.claim import Claim


def pure(epsilon):
    return Pure(Fraction(epsilon), "mechanism", "purpose")


def gaussian(mu_squared, draws=1):
    return Gaussian(Fraction(mu_squared), draws, "purpose")


fractions = st.fractions(0, 10)
leaves = st.one_of(
    fractions.map(pure), st.builds(gaussian, fractions, st.integers(0, 9)), st.just(Unprotected("reads the records"))
)
events = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.lists(parts, max_size=4).map(tuple).map(Sequence),
        st.lists(parts, max_size=4).map(tuple).map(Parallel),
        st.builds(PerRecordAssignment, parts, st.integers(1, 9)),
    ),
    max_leaves=12,
)


# composition


def test_sequence_adds_exactly():
    ten = cost(Sequence((pure("0.1"),) * 10))
    assert (ten.epsilon, ten.mu_squared) == (1, 0)
    assert cost(Sequence((pure("1/3"), gaussian("1/7", 3), gaussian("1/2", 4)))) == cost_of("1/3", "9/14", 7)


def test_parallel_takes_the_largest_and_counts_every_draw():
    found = cost(Parallel((pure("1/3"), pure("1/2"), gaussian("1/7", 3), gaussian("1/9", 4))))
    one, other = cost(pure("1/2")), cost(gaussian("1/7"))
    assert sums(found) == {name: max(getattr(one, name), getattr(other, name)) for name in SUMS} | {"draws": 7}
    assert (found.epsilon, found.mu_squared) == (Fraction(1, 2), Fraction(1, 7))


def test_assignment_costs_one_part_and_counts_every_draw():
    part = Sequence((pure("1/3"), gaussian("1/7", 3)))
    assert cost(PerRecordAssignment(part, 35)) == cost_of("1/3", "1/7", 3 * 35)


@pytest.mark.parametrize(
    "event",
    [
        Unprotected("why"),
        Sequence((pure(1), Unprotected("why"))),
        Parallel((pure(1), Unprotected("why"))),
        PerRecordAssignment(Sequence((Unprotected("why"),)), 3),
    ],
)
def test_an_unprotected_step_costs_infinity_wherever_it_stands(event):
    assert not cost(event).protected
    assert cost(event).delta(Fraction(10**9)) == math.inf
    assert not cost(event).delta(Fraction(10**9)) <= Fraction(999, 1000)
    assert not cost(event).under("replace-one").protected
    assert cost(event).reasons == ("why",)


def test_an_event_of_an_unknown_kind_costs_infinity():
    assert not cost(Event()).protected


def test_unprotected_reasons_come_once_and_in_order():
    event = Sequence((Unprotected("b"), pure(1), Parallel((Unprotected("a"), Unprotected("b")))))
    assert cost(event).reasons == ("b", "a")


@pytest.mark.parametrize(
    "around",
    [
        lambda part: Sequence((part,)),
        lambda part: Parallel((pure(1), part)),
        lambda part: OneOf((pure(1), part)),
        lambda part: PerRecordAssignment(part, 3),
        lambda part: Subsampled(part, Fraction(1, 2)),
        lambda part: Subsampled(Sequence((pure(1), PerRecordAssignment(part, 3))), Fraction(1, 2)),
    ],
)
def test_an_unprotected_step_gives_its_reason_wherever_it_stands(around):
    assert cost(around(Unprotected("why"))).reasons == ("why",)
    assert cost(around(pure(1))).reasons == ()


@given(st.lists(events, min_size=1, max_size=4))
@settings(max_examples=60)
def test_one_of_costs_what_its_costliest_choice_does_and_one_choice_draws(parts):
    chosen, apart = cost(OneOf(tuple(parts))), [cost(part) for part in parts]
    for name, amount in sums(chosen).items():
        assert amount == max(sums(part)[name] for part in apart)
    assert event_from_dict(event_to_dict(OneOf(tuple(parts), "by n"))) == OneOf(tuple(parts), "by n")


@given(st.lists(events, min_size=1, max_size=4))
@settings(max_examples=60)
def test_repeated_parts_cost_what_they_cost_one_by_one(parts):
    together = cost(Sequence(tuple(parts * 3)))
    assert together == sum((cost(part) for part in parts * 3), Cost())
    assert cost(Sequence((parts[0],) * 7)) == sum((cost(parts[0]) for _ in range(7)), Cost())


@given(st.lists(events, max_size=4))
@settings(max_examples=60)
def test_parallel_never_costs_more_than_sequence(parts):
    together, apart = cost(Sequence(tuple(parts))), cost(Parallel(tuple(parts)))
    assert apart.draws == together.draws
    assert apart.protected == together.protected
    for name, amount in sums(apart).items():
        assert all(sums(cost(part))[name] <= amount for part in parts)
        assert amount <= sums(together)[name]


@given(events)
@settings(max_examples=60)
def test_order_and_nesting_do_not_change_a_sum(event):
    assert cost(Sequence((event, pure(1)))) == cost(Sequence((pure(1), Sequence((event,)))))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_each_adjacency_is_known_by_its_name(adjacency):
    assert check_adjacency(adjacency) == adjacency


@pytest.mark.parametrize("adjacency", ["bounded", "", None, 1, ["add-remove"], "Add-Remove"])
def test_there_is_no_third_adjacency(adjacency):
    with pytest.raises(ConfigurationError, match="pass 'add-remove' or 'replace-one'"):
        check_adjacency(adjacency)


# from costs to (epsilon, delta)


def test_a_pure_cost_holds_from_its_epsilon_on():
    found = cost_of("1/3")
    assert found.delta(Fraction(1, 3)) <= Fraction(0)
    assert found.delta(Fraction(2)) <= Fraction(0)
    assert not found.delta(Fraction(1, 3) - Fraction(1, 10**30)) <= Fraction(0)
    randomized_response = (math.exp(1 / 3) - math.exp(1 / 4)) / (1 + math.exp(1 / 3))
    assert randomized_response < found.delta(Fraction(1, 4)) < 1


def test_draws_alone_cost_what_their_samplers_may_err():
    for draws, epsilon in ((1, 0), (7, Fraction(1, 3)), (10**6, 20)):
        with localcontext(prec=50):
            size = Decimal(Fraction(epsilon).numerator) / Decimal(Fraction(epsilon).denominator)
            right = draws * (1 + size.exp()) / Decimal(2) ** 62
            assert right <= Decimal(cost_of(draws=draws).delta(Fraction(epsilon))) <= right * (1 + Decimal("1e-12"))


@pytest.mark.parametrize("epsilon", ["1/10", "1", "8"])
def test_every_draw_of_an_approximate_sampler_grows_delta(epsilon):
    epsilon, mu_squared = Fraction(epsilon), Fraction(1, 10**6)
    none = cost_of(mu_squared=mu_squared).delta(epsilon)
    for draws in (1, 10**3, 10**9):
        more = cost_of(mu_squared=mu_squared, draws=draws).delta(epsilon) - none
        share = draws * (1 + math.exp(epsilon)) * 2.0**-62
        assert share * (1 - 1e-12) <= more <= share * (1 + 1e-9)


def test_an_approximate_sampler_is_never_pure():
    for approximate in (cost_of(mu_squared=Fraction(1, 10**12), draws=1), cost_of(draws=1)):
        assert not approximate.delta(Fraction(1)) <= Fraction(0)
        assert approximate.delta(Fraction(1000)) > 0


@pytest.mark.parametrize(("epsilon", "mu_squared"), [("1", "1/50"), ("3", "1/7"), ("8", "2"), ("1/10", "1/3000")])
def test_the_delta_of_a_squared_mu_is_rounded_up_and_hardly(epsilon, mu_squared):
    with localcontext(prec=65):
        squared, e = as_decimal(Fraction(mu_squared)), as_decimal(Fraction(epsilon))
        mu = squared.sqrt()
        right = upper_tail(e / mu - mu / 2) - e.exp() * upper_tail(e / mu + mu / 2)
        found = Decimal(cost_of(mu_squared=mu_squared).delta(Fraction(epsilon)))
        assert right <= found <= right * (1 + Decimal("1e-9"))


@pytest.mark.parametrize("inclusion", [Fraction(1, 2), Fraction(1, 10), Fraction(999, 1000)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), 1, 30, 499, Fraction(999, 2), 500, Fraction(1001, 2), 10**6])
def test_a_budget_before_amplification_costs_at_most_what_it_was_made_for(epsilon, inclusion):
    budget = before_amplification(Fraction(epsilon), inclusion)
    spent = cost(Subsampled(Pure(budget, "m", "p"), inclusion)).epsilon
    assert Fraction(epsilon) * Fraction(99, 100) < spent <= epsilon
    assert budget >= epsilon


def test_a_sample_of_all_records_is_the_plan_itself():
    for event in (gaussian(1, 3), BoundedRange(Fraction(1), "m", "p")):
        assert cost(Subsampled(event, Fraction(1))) == cost(event)
    assert before_amplification(Fraction(1, 3), Fraction(1)) == Fraction(1, 3)


def test_a_plan_on_a_sample_is_pure_and_nothing_more_is_known_of_it():
    found = cost(BoundedRange(Fraction(2), "m", "p")).sampled(Fraction(1, 2))
    assert found.delta(found.epsilon) <= Fraction(0)
    assert found == cost(pure(found.epsilon))
    assert not cost(gaussian(1)).sampled(Fraction(1, 2)).protected


def test_draws_of_a_sampled_plan_are_counted():
    assert cost(Subsampled(gaussian(0, 10**9), Fraction(1, 2))).draws == 10**9


def test_a_cost_takes_the_least_of_its_bounds():
    """Fifty selections at epsilon 2: neither their sum nor what Gaussians allow, but their rho."""
    found = cost(Sequence((BoundedRange(Fraction(1, 10), "m", "p"),) * 50))
    assert found.delta(Fraction(2)) == pytest.approx(concentrated_delta(2.0, float(found.rho)), rel=1e-9)


def test_total_rho_at_a_claim_agrees_with_the_literature():
    # (1, 1e-5): .0208 by rho + 2 sqrt(rho ln(1 / delta)), .0306 by the tight conversion, .0359 for Gaussians alone
    assert concentrated_delta(1.0, 0.0305) < 1e-5 < concentrated_delta(1.0, 0.0307)
    amount = Claim(Fraction(1), Fraction(1, 10**5)).largest(lambda mu_squared: gaussian(mu_squared, 0))
    assert float(amount) / 2 == pytest.approx(0.0359, rel=1e-2)


# ceilings


def test_a_pure_ceiling_is_one_on_epsilon_alone():
    """A plan of bounded range has less rho and less mu than other questions of the same epsilon may have."""
    ceiling, asked = cost(BoundedRange(Fraction(1), "m", "p")), cost(pure(1))
    assert asked.at_most(ceiling)
    assert asked.total_mu_squared > ceiling.total_mu_squared
    assert asked.rho > ceiling.rho
    assert not (asked + cost(pure("1/1000"))).at_most(ceiling)
    assert not cost_of(draws=1).at_most(ceiling)
    assert not cost_of(mu_squared="1/1000").at_most(ceiling)


@pytest.mark.parametrize("ceiling", [cost_of(1), cost_of(1, 1, 9), cost(Unprotected("why"))])
def test_no_ceiling_holds_what_is_unprotected(ceiling):
    assert not cost(Unprotected("why")).at_most(ceiling)


def test_a_ceiling_with_noise_holds_every_sum_by_itself():
    ceiling = cost_of(1, 1, 9)
    assert ceiling.at_most(ceiling)
    assert cost_of("1/2", "1/2", 8).at_most(ceiling)
    for name, amount in sums(ceiling).items():
        assert replace(ceiling, **{name: amount - 1}).at_most(ceiling)
        assert not replace(ceiling, **{name: amount + 1}).at_most(ceiling)
