"""What events cost, alone and together, and the step from mu to (epsilon, delta)."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.privacy.accounting import (
    Cost,
    amplified,
    before_amplification,
    check_adjacency,
    concentrated_delta,
    cost,
    gaussian_delta,
    gaussian_mu,
    largest,
    plan_budget,
    pure_cost,
    sampled_cost,
    unprotected,
)
from hedgerow.privacy.events import (
    BoundedRange,
    Event,
    Gaussian,
    OneOf,
    Parallel,
    PerRecordAssignment,
    Pure,
    Sequence,
    Subsampled,
    Unprotected,
    event_from_dict,
    event_to_dict,
)

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


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
    assert cost(Sequence((pure("0.1"),) * 10)) == Cost(epsilon=Fraction(1))
    assert cost(Sequence((pure("1/3"), gaussian("1/7", 3), gaussian("1/2", 4)))) == Cost(
        Fraction(1, 3), Fraction(9, 14), 7
    )


def test_parallel_takes_the_largest_and_counts_every_draw():
    found = cost(Parallel((pure("1/3"), pure("1/2"), gaussian("1/7", 3), gaussian("1/9", 4))))
    assert found == Cost(Fraction(1, 2), Fraction(1, 7), 7)


def test_assignment_costs_one_part_and_counts_every_draw():
    part = Sequence((pure("1/3"), gaussian("1/7", 3)))
    assert cost(PerRecordAssignment(part, 35)) == Cost(Fraction(1, 3), Fraction(1, 7), 3 * 35)


def test_nothing_costs_nothing():
    assert cost(Sequence(())) == cost(Parallel(())) == Cost()
    assert Cost().delta(Fraction(0)) == 0
    assert Cost().within(Fraction(1), Fraction(0))


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
    assert not cost(event).within(Fraction(10**9), Fraction(999, 1000))
    assert not cost(event).under("replace-one").protected
    assert unprotected(event) == ("why",)


def test_an_event_of_an_unknown_kind_costs_infinity():
    assert not cost(Event()).protected


def test_unprotected_reasons_come_once_and_in_order():
    event = Sequence((Unprotected("b"), pure(1), Parallel((Unprotected("a"), Unprotected("b")))))
    assert unprotected(event) == ("b", "a")


@given(st.lists(events, min_size=1, max_size=4))
@settings(max_examples=60)
def test_one_of_costs_what_its_costliest_choice_does_and_one_choice_draws(parts):
    chosen, apart = cost(OneOf(tuple(parts))), [cost(part) for part in parts]
    for name in ("epsilon", "mu_squared", "draws", "rho", "total_mu_squared"):
        assert getattr(chosen, name) == max(getattr(part, name) for part in apart)
    assert event_from_dict(event_to_dict(OneOf(tuple(parts), "by n"))) == OneOf(tuple(parts), "by n")


def test_a_choice_of_nothing_is_refused():
    with pytest.raises(FileFormatError):
        event_from_dict({"event": "OneOf", "parts": [], "label": ""})


@given(st.lists(events, min_size=1, max_size=4))
@settings(max_examples=60)
def test_repeated_parts_cost_what_they_cost_one_by_one(parts):
    together = cost(Sequence(tuple(parts * 3)))
    assert together == sum((cost(part) for part in parts * 3), Cost())
    alike = cost(Sequence((parts[0],) * 7))
    one_by_one = sum((cost(parts[0]) for _ in range(7)), Cost())
    assert (alike, alike.rho, alike.total_mu_squared) == (one_by_one, one_by_one.rho, one_by_one.total_mu_squared)


@given(st.lists(events, max_size=4))
@settings(max_examples=60)
def test_parallel_never_costs_more_than_sequence(parts):
    together, apart = cost(Sequence(tuple(parts))), cost(Parallel(tuple(parts)))
    assert apart.epsilon <= together.epsilon
    assert apart.mu_squared <= together.mu_squared
    assert apart.draws == together.draws
    assert apart.protected == together.protected
    for part in parts:
        assert cost(part).epsilon <= apart.epsilon
        assert cost(part).mu_squared <= apart.mu_squared


@given(events)
@settings(max_examples=60)
def test_order_and_nesting_do_not_change_a_sum(event):
    assert cost(Sequence((event, pure(1)))) == cost(Sequence((pure(1), Sequence((event,)))))


def test_one_record_replaced_is_one_removed_and_one_added():
    found = Cost(Fraction(1, 3), Fraction(1, 7), 5)
    assert found.under("add-remove") is found
    assert found.under("replace-one") == Cost(Fraction(2, 3), Fraction(4, 7), 5)


def test_one_record_replaced_costs_four_times_as_much_where_costs_are_squares():
    found = Cost(Fraction(1, 3), Fraction(1, 7), rho=Fraction(1, 5), total_mu_squared=Fraction(1, 3)).under(
        "replace-one"
    )
    assert found.rho == Fraction(4, 5)
    assert found.total_mu_squared == Fraction(4, 3)


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_a_plans_budget_costs_the_whole_under_its_adjacency(epsilon):
    assert Cost(plan_budget(epsilon, "add-remove")).under("add-remove").epsilon == epsilon
    assert Cost(plan_budget(epsilon, "replace-one")).under("replace-one").epsilon == epsilon


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_the_two_adjacencies(adjacency):
    assert check_adjacency(adjacency) == adjacency


@pytest.mark.parametrize("adjacency", ["bounded", "", None, 1, ["add-remove"], "Add-Remove"])
def test_there_is_no_third_adjacency(adjacency):
    with pytest.raises(ConfigurationError, match="pass adjacency='add-remove' or 'replace-one'"):
        check_adjacency(adjacency)


# from costs to (epsilon, delta)


def test_a_pure_cost_holds_from_its_epsilon_on():
    found = Cost(Fraction(1, 3))
    assert found.within(Fraction(1, 3), Fraction(0))
    assert found.within(Fraction(2), Fraction(0))
    assert not found.within(Fraction(1, 3) - Fraction(1, 10**30), Fraction(0))
    randomized_response = (math.exp(1 / 3) - math.exp(1 / 4)) / (1 + math.exp(1 / 3))
    assert randomized_response < found.delta(Fraction(1, 4)) < 1


def test_pure_and_gaussian_costs_share_the_epsilon():
    both = Cost(Fraction(1, 2), Fraction(1, 100), 0)
    assert both.delta(Fraction(1)) == pytest.approx(gaussian_delta(0.5, 0.1), rel=1e-9)
    assert both.delta(Fraction(1)) > gaussian_delta(1.0, 0.1)


def test_a_gaussian_that_has_all_that_the_pure_steps_left():
    both = Cost(Fraction(1, 2), Fraction(1, 100))
    assert both.delta(Fraction(1, 2)) == pytest.approx(gaussian_delta(0.0, 0.1), rel=1e-9)


def test_draws_alone_cost_what_their_samplers_may_err():
    for draws, epsilon in ((1, 0), (7, Fraction(1, 3)), (10**6, 20)):
        with localcontext(prec=50):
            size = Decimal(Fraction(epsilon).numerator) / Decimal(Fraction(epsilon).denominator)
            right = draws * (1 + size.exp()) / Decimal(2) ** 62
            assert right <= Decimal(Cost(draws=draws).delta(Fraction(epsilon))) <= right * (1 + Decimal("1e-12"))


@pytest.mark.parametrize("epsilon", ["1/10", "1", "8"])
def test_every_draw_of_an_approximate_sampler_grows_delta(epsilon):
    epsilon, mu_squared = Fraction(epsilon), Fraction(1, 10**6)
    none = Cost(mu_squared=mu_squared).delta(epsilon)
    for draws in (1, 10**3, 10**9):
        more = Cost(mu_squared=mu_squared, draws=draws).delta(epsilon) - none
        share = draws * (1 + math.exp(epsilon)) * 2.0**-62
        assert share * (1 - 1e-12) <= more <= share * (1 + 1e-9)


def test_an_approximate_sampler_is_never_pure():
    assert not Cost(mu_squared=Fraction(1, 10**12), draws=1).within(Fraction(1), Fraction(0))
    assert Cost(mu_squared=Fraction(1, 10**12), draws=1).delta(Fraction(1000)) > 0


# gaussian_delta and gaussian_mu


def upper_tail(x: Decimal) -> Decimal:
    """1 - Phi(x) to fifty digits: a series near zero, a continued fraction far out."""
    if x < 0:
        return 1 - upper_tail(-x)
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    if x < 6:
        term = total = x
        n = 1
        while term > Decimal("1e-62"):
            term *= x * x / (2 * n + 1)
            total += term
            n += 1
        return Decimal("0.5") - density * total
    fraction = x
    for k in range(300, 0, -1):
        fraction = x + k / fraction
    return density / fraction


def true_delta(epsilon: float, mu: float) -> Decimal:
    with localcontext(prec=65):
        e, m = Decimal(epsilon), Decimal(mu)
        return upper_tail(e / m - m / 2) - e.exp() * upper_tail(e / m + m / 2)


def test_the_long_reference_is_right():
    with localcontext(prec=65):
        assert float(upper_tail(Decimal("1.96"))) == pytest.approx(norm.sf(1.96), rel=1e-14)
        assert float(upper_tail(Decimal(9))) == pytest.approx(norm.sf(9), rel=1e-13)
        near, far = upper_tail(Decimal("5.9999999999999999999999")), upper_tail(Decimal(6))
        assert abs(near / far - 1) < Decimal("1e-20")


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.1, 0.05), (1.0, 0.268), (1.0, 1.0), (3.0, 0.7), (0.01, 2.0), (8.0, 2.5)]
)
def test_gaussian_delta_is_the_hockey_stick_of_two_normals(epsilon, mu):
    start = epsilon / mu + mu / 2 - mu  # from here on N(mu, 1) outweighs exp(epsilon) N(0, 1)
    area, _ = quad(lambda t: norm.pdf(t) - math.exp(epsilon) * norm.pdf(t + mu), start, start + 40, epsabs=1e-15)
    assert gaussian_delta(epsilon, mu) == pytest.approx(area, rel=1e-7, abs=1e-14)


@given(st.floats(-3, 1.3), st.floats(-2, 6))
@settings(max_examples=300, deadline=None)
def test_gaussian_delta_is_rounded_up_and_hardly(size, distance):
    """For every epsilon up to 20 and every delta down to about 1e-9, against fifty digits."""
    epsilon = 10**size
    mu = math.sqrt(distance**2 + 2 * epsilon) - distance  # epsilon / mu - mu / 2 = distance
    right = true_delta(epsilon, mu)
    found = Decimal(gaussian_delta(epsilon, mu))
    assert right <= found
    assert found <= right + Decimal("3e-13") * (upper_tail(Decimal(distance)) * 2)


@pytest.mark.parametrize(("epsilon", "mu_squared"), [("1", "1/50"), ("3", "1/7"), ("8", "2"), ("1/10", "1/3000")])
def test_the_delta_of_a_squared_mu_is_rounded_up_and_hardly(epsilon, mu_squared):
    with localcontext(prec=65):
        squared, e = as_decimal(Fraction(mu_squared)), as_decimal(Fraction(epsilon))
        mu = squared.sqrt()
        right = upper_tail(e / mu - mu / 2) - e.exp() * upper_tail(e / mu + mu / 2)
        found = Decimal(Cost(mu_squared=Fraction(mu_squared)).delta(Fraction(epsilon)))
        assert right <= found <= right * (1 + Decimal("1e-9"))


def test_the_gaussian_budget_of_one_and_a_hundred_thousandth():
    """Table of known values: rho = mu**2 / 2 = .0359."""
    mu = gaussian_mu(1.0, 1e-5)
    assert mu**2 / 2 == pytest.approx(0.0359, abs=5e-5)
    ratio = gaussian_mu(0.1, 1e-5) ** 2 / 2 / (math.sqrt(math.log(1e5) + 0.1) - math.sqrt(math.log(1e5))) ** 2
    assert ratio == pytest.approx(2.45, abs=0.03)


@given(st.floats(-3, 1.3), st.floats(-12, -0.1))
@settings(max_examples=100, deadline=None)
def test_gaussian_mu_keeps_its_delta_and_is_the_largest(size, power):
    epsilon, delta = 10**size, 10**power
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert true_delta(epsilon, mu) <= Decimal(delta)
    assert gaussian_delta(epsilon, mu * (1 + 1e-9) + 1e-300) > delta


def test_more_budget_allows_more_mu():
    epsilons, deltas = [0.01, 0.1, 1.0, 10.0, 100.0], [1e-12, 1e-9, 1e-6, 1e-3, 0.1]
    for delta in deltas:
        assert (np.diff([gaussian_mu(epsilon, delta) for epsilon in epsilons]) > 0).all()
    for epsilon in epsilons:
        assert (np.diff([gaussian_mu(epsilon, delta) for delta in deltas]) > 0).all()
        assert (np.diff([gaussian_delta(epsilon, mu) for mu in (0.1, 0.5, 1.0, 2.0, 5.0)]) >= 0).all()


@pytest.mark.parametrize(("epsilon", "mu"), [(1.0, 0.02), (1.0, 0.001), (1000.0, 1.0), (1e9, 0.5)])
def test_gaussian_noise_is_never_pure(epsilon, mu):
    """Where delta is below every float, rounding up still leaves one."""
    assert gaussian_delta(epsilon, mu) > 0


def test_no_noise_costs_the_least_of_all_floats():
    assert gaussian_delta(1.0, 0.0) == concentrated_delta(1.0, 0.0) == math.ulp(0.0)


def test_no_gaussian_noise_fits_in_a_delta_of_nothing():
    assert gaussian_mu(1.0, 0.0) == 0.0
    assert not Cost(mu_squared=Fraction(1, 2500)).within(Fraction(1), Fraction(0))


@pytest.mark.parametrize(
    ("epsilon", "mu"),
    [
        (0.002364129635524834, 7.176396359653836e-05),
        (0.0034984851440723495, 0.00010393330524749445),
    ],
)
def test_gaussian_delta_is_rounded_up_far_out(epsilon, mu):
    assert Decimal(gaussian_delta(epsilon, mu)) >= true_delta(epsilon, mu)


@pytest.mark.parametrize("epsilon", [2000.0, 5000.0, 9000.0])
@pytest.mark.parametrize("distance", [0.0, 3.0, 10.0])
def test_gaussian_delta_is_rounded_up_for_large_epsilons(epsilon, distance):
    mu = math.sqrt(distance**2 + 2 * epsilon) - distance
    assert Decimal(gaussian_delta(epsilon, mu)) >= true_delta(epsilon, mu)


@pytest.mark.parametrize("inclusion", [Fraction(1, 2), Fraction(1, 10), Fraction(999, 1000)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), 1, 30, 499, Fraction(999, 2), 500, Fraction(1001, 2), 10**6])
def test_a_budget_before_amplification_costs_at_most_what_it_was_made_for(epsilon, inclusion):
    budget = before_amplification(Fraction(epsilon), inclusion)
    spent = cost(Subsampled(Pure(budget, "m", "p"), inclusion)).epsilon
    assert Fraction(epsilon) * Fraction(99, 100) < spent <= epsilon
    assert budget >= epsilon


def test_amplification_is_the_logarithm_of_the_mixture():
    assert float(amplified(Fraction(1), Fraction(1, 2))) == pytest.approx(math.log(1 + 0.5 * (math.e - 1)), rel=1e-9)
    assert not cost(Subsampled(Gaussian(Fraction(1, 100), 1, "p"), Fraction(1, 2))).protected


@pytest.mark.parametrize("inclusion", [Fraction(1, 2), Fraction(1, 1000), Fraction(999, 1000)])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/3", "1", "30", "499"])
def test_amplification_is_rounded_up_and_hardly(epsilon, inclusion):
    found = amplified(Fraction(epsilon), inclusion)
    with localcontext(prec=300):
        whole, share = as_decimal(Fraction(epsilon)), as_decimal(inclusion)
        right = (1 + share * (whole.exp() - 1)).ln()
        assert right <= as_decimal(found) <= right * (1 + Decimal("1e-11"))


def test_a_sample_of_all_records_is_the_plan_itself():
    for event in (gaussian(1, 3), BoundedRange(Fraction(1), "m", "p")):
        each, sampled = cost(event), cost(Subsampled(event, Fraction(1)))
        assert (sampled, sampled.rho, sampled.total_mu_squared) == (each, each.rho, each.total_mu_squared)
    assert before_amplification(Fraction(1, 3), Fraction(1)) == Fraction(1, 3)


def test_a_plan_on_a_sample_is_pure_and_nothing_more_is_known_of_it():
    found = sampled_cost(cost(BoundedRange(Fraction(2), "m", "p")), Fraction(1, 2))
    pure_one = pure_cost(found.epsilon, ranged=False)
    assert found.within(found.epsilon, Fraction(0))
    assert (found.rho, found.total_mu_squared) == (pure_one.rho, pure_one.total_mu_squared)
    assert not sampled_cost(cost(gaussian(1)), Fraction(1, 2)).protected


# zero-concentrated and Gaussian DP of pure steps


def as_decimal(number):
    return Decimal(number.numerator) / Decimal(number.denominator)


def rho_of_randomized_response(epsilon):
    """Its Kullback-Leibler divergence: the order 1, at which it is largest."""
    return epsilon * (epsilon.exp() - 1) / (epsilon.exp() + 1)


def rho_of_the_worst_bounded_range(epsilon):
    """The largest divergence of order 1 of two outcomes with losses t and t - epsilon, over t; a search in thirds."""

    def divergence(t):
        first = (1 - (t - epsilon).exp()) / (t.exp() - (t - epsilon).exp())
        return first * t.exp() * t + (1 - first) * (t - epsilon).exp() * (t - epsilon)

    low, high = Decimal(0), epsilon
    for _ in range(120):
        third = (high - low) / 3
        low, high = (low + third, high) if divergence(low + third) < divergence(high - third) else (low, high - third)
    return divergence(low)


SIZES = ["1/1000000000", "2/1000000000", "1/100000", "1/1001", "1/999", "1/10", "1", "3", "8", "29", "50"]


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("epsilon", SIZES)
def test_rho_of_a_pure_step_is_rounded_up_and_hardly(epsilon, ranged):
    found = pure_cost(Fraction(epsilon), ranged=ranged).rho
    with localcontext(prec=60):
        right = (rho_of_the_worst_bounded_range if ranged else rho_of_randomized_response)(
            as_decimal(Fraction(epsilon))
        )
        assert right <= as_decimal(found) <= right * (1 + Decimal("1e-6"))


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("epsilon", [*SIZES, "31", "63", "120"])
def test_mu_of_a_pure_step_is_rounded_up_and_hardly(epsilon, ranged):
    """Its two outcomes are told apart no better than two normals mu apart: 1 / (1 + e^epsilon) >= 1 - Phi(mu / 2)."""
    found = pure_cost(Fraction(epsilon), ranged=ranged).total_mu_squared
    with localcontext(prec=80):
        share = 1 / (1 + (as_decimal(Fraction(epsilon)) / (2 if ranged else 1)).exp())
        half = (as_decimal(found) / 4).sqrt()
        hardly = Decimal("0.95") if Fraction(epsilon) > 30 else 1 - Decimal("1e-6")
        assert upper_tail(half) <= share <= upper_tail(half * hardly)


def renyi(p, q, order):
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.1, 1.0, 3.0, 8.0, 50.0])
def test_rho_of_a_pure_step_bounds_randomized_response(epsilon):
    rho = float(pure_cost(Fraction(epsilon), ranged=False).rho)
    yes, no = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    for order in (1.01, 1.5, 2, 4, 12):
        assert renyi((yes, no), (no, yes), order) <= rho * order * (1 + 1e-9) + 1e-12
    assert rho <= epsilon**2 / 2


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 8.0])
def test_rho_of_a_bounded_range_bounds_every_pair_of_two_outcomes(epsilon):
    rho = float(pure_cost(Fraction(epsilon), ranged=True).rho)
    assert rho <= epsilon**2 / 8
    worst = 0.0
    for t in np.linspace(0, epsilon, 501)[1:-1]:  # losses t and t - epsilon: an interval of length epsilon
        first = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))  # of the second law
        q = (first, 1 - first)
        p = (first * math.exp(t), (1 - first) * math.exp(t - epsilon))
        assert sum(p) == pytest.approx(1)
        for order in (1.0001, 1.5, 2, 8):
            worst = max(worst, renyi(p, q, order) / order)
    assert 0.9 * rho < worst <= rho * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 100.0])
def test_mu_of_a_pure_step_covers_its_epsilon(epsilon):
    for ranged in (False, True):
        mu = math.sqrt(float(pure_cost(Fraction(epsilon), ranged=ranged).total_mu_squared))
        # Dominated by a Gaussian if the trade-off curves do not cross: at level 1/2 of the symmetric point.
        share = 1 / (1 + math.exp(-epsilon / (2 if ranged else 1)))
        assert norm.cdf(mu / 2) >= share * (1 - 1e-15)


@given(st.floats(1e-3, 5), st.floats(1e-6, 2))
@settings(max_examples=200, deadline=None)
def test_concentrated_delta_bounds_the_gaussian_that_is_that_concentrated(epsilon, rho):
    assert concentrated_delta(epsilon, rho) >= gaussian_delta(epsilon, math.sqrt(2 * rho)) * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "rho"), [(1.0, 0.02), (0.01, 1e-6), (10.0, 1.0), (50.0, 3.0), (3.0, 5e-3)])
def test_concentrated_delta_is_the_least_over_all_orders_rounded_up_and_hardly(epsilon, rho):
    with localcontext(prec=50):
        e, r = Decimal(epsilon), Decimal(rho)

        def log_bound(log_above):
            above = log_above.exp()
            return above * ((above + 1) * r - e) - (above + 1) * (1 + 1 / above).ln() - log_above

        low, high = Decimal(-5), Decimal(20)
        for _ in range(90):
            third = (high - low) / 3
            low, high = (low + third, high) if log_bound(low + third) > log_bound(high - third) else (low, high - third)
        right = log_bound(low).exp()
        assert right <= Decimal(concentrated_delta(epsilon, rho)) <= right * (1 + Decimal("1e-8"))


def test_a_cost_takes_the_least_of_its_bounds():
    """Fifty selections at epsilon 2: neither their sum nor what Gaussians allow, but their rho."""
    found = cost(Sequence((BoundedRange(Fraction(1, 10), "m", "p"),) * 50))
    assert found.delta(Fraction(2)) == pytest.approx(concentrated_delta(2.0, float(found.rho)), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["1/500", "1/3", "10", "100"])
def test_the_largest_pure_amount_is_the_claim(epsilon):
    found = largest(pure, Fraction(epsilon), Fraction(0))
    assert Fraction(epsilon) * (1 - Fraction(1, 10**5)) < found <= Fraction(epsilon)


def test_a_claim_that_no_plan_of_a_kind_keeps_is_refused_with_the_way_out():
    with pytest.raises(
        ConfigurationError, match=r"no plan of this kind keeps to delta 1e-20 at epsilon 1\. .* larger delta"
    ):
        largest(gaussian, Fraction(1), Fraction(1, 10**20))  # one draw of the sampler alone costs more

    def never(amount):
        raise ConfigurationError("too small for the samplers")

    with pytest.raises(ConfigurationError, match="no plan of this kind"):
        largest(lambda amount: pure(2) if amount >= 1 else never(amount), Fraction(1), Fraction(0))


def test_total_rho_at_a_claim_agrees_with_the_literature():
    # (1, 1e-5): .0208 by rho + 2 sqrt(rho ln(1 / delta)), .0306 by the tight conversion, .0359 for Gaussians alone
    assert concentrated_delta(1.0, 0.0305) < 1e-5 < concentrated_delta(1.0, 0.0307)
    amount = largest(lambda mu_squared: gaussian(mu_squared, 0), Fraction(1), Fraction(1, 10**5))
    assert float(amount) / 2 == pytest.approx(0.0359, rel=1e-2)


def test_many_selections_compose_to_less_than_their_sum():
    event = Sequence((BoundedRange(Fraction(1, 10), "exponential mechanism", "test"),) * 50)
    found = cost(event)
    assert found.epsilon == 5
    assert found.within(Fraction(2), Fraction(1, 10**6))
    assert not cost(Sequence((pure("1/10"),) * 50)).within(Fraction(2), Fraction(1, 10**6))
    assert not found.within(Fraction(2), Fraction(0))


def test_the_largest_amount_is_within_the_claim_and_hardly_more_is_not():
    def build(amount):
        return Sequence((BoundedRange(amount, "m", "p"), gaussian(amount, 10)) * 8)

    claim = Fraction(1, 2), Fraction(1, 10**6)
    amount = largest(build, *claim)
    assert cost(build(amount)).within(*claim)
    assert not cost(build(amount * Fraction(1001, 1000))).within(*claim)


def test_a_cost_of_unknown_steps_is_that_of_one_step():
    assert Cost(Fraction(1)).rho == pure_cost(Fraction(1), ranged=False).rho
    assert Cost().rho == Cost().total_mu_squared == 0
    both = Cost(Fraction(1), Fraction(1, 7))
    assert both.rho - pure_cost(Fraction(1), ranged=False).rho == Fraction(1, 14)
    assert both.total_mu_squared - pure_cost(Fraction(1), ranged=False).total_mu_squared == Fraction(1, 7)
