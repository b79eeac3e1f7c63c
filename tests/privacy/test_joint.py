"""Selections and one measurement cost together what docs/proofs/joint.md says: the proof's inequality, by intervals."""

import math
from collections import Counter
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import binom

import hedgerow as hr
from hedgerow.additive.plan import AdditivePlan, Rules
from hedgerow.curator import Queryable
from hedgerow.errors import BudgetExceeded, FileFormatError
from hedgerow.privacy.accounting import (
    JOINT_FACTORS,
    LARGEST_JOINT_EPSILON,
    BoundedRange,
    Gaussian,
    OneOf,
    Pure,
    SelectAndMeasure,
    Sequence,
    concentrated_rho,
    cost,
    event_from_dict,
    event_to_dict,
    gaussian_delta,
    joined,
)
from hedgerow.privacy.claim import Claim

MILLIONTH = Fraction(1, 10**6)

FLOATS = 1e-9  # relative; the functions are accurate to 1e-11
CENTER = 5 / 2  # x up to it are proved by second derivatives, those beyond by monotony
PLACES, PLACES_BEYOND = 128, 64  # of the grid, in one unit of x and of tau
NARROWEST = 1e-4  # an interval of e that needs halving further counts as a failure
CASES = [(ratio, float(factor)) for ratio, factor in JOINT_FACTORS.items()]


def g(c, x, e):
    """Return e^(-ex/2) / e times the Gaussian delta of mu = c e at epsilon = e x; for e = 0 the limit."""
    if e == 0:
        return c * np.exp(-((x / c) ** 2) / 2) / math.sqrt(2 * math.pi) - x * ndtr(-x / c)
    return (np.exp(-e * x / 2) * ndtr(-x / c + c * e / 2) - np.exp(e * x / 2) * ndtr(-x / c - c * e / 2)) / e


def weight(tau, e):
    return 1 - tau if e == 0 else np.sinh(e * (1 - tau) / 2) / math.sinh(e / 2)


def multiples(ratio, factor):
    """Return c and c', where mu = c e and mu' = c' e."""
    return math.sqrt(ratio) / 2, math.sqrt(ratio + factor) / 2


def bounds(ratio, factor, low, high, first, last, places):
    """Return bounds for all e in [low, high], on the grid.

    Below g of c' on [first, last], above g of c on [first - 1, last + 1], above the weight of each tau, and the second of these
    seen from each x for each tau, for tau and for tau - 1.
    """
    (c, c_both), width = multiples(ratio, factor), high**2 - low**2
    below = g(c_both, np.arange(round(first * places), round(last * places) + 1) / places, low)
    below *= math.exp(-(c_both**2) * width / 8) * (1 - FLOATS)
    above = g(c, np.arange(round((first - 1) * places), round((last + 1) * places) + 1) / places, high)
    above *= math.exp(c**2 * width / 8) * (1 + FLOATS)
    seen = np.lib.stride_tricks.sliding_window_view(above, places + 1)[:, ::-1]  # [i, j] is at first + (i - j) / places
    return below, weight(np.arange(places + 1) / places, low), seen[: len(below)], seen[places:]


def center_is_proved(ratio, factor, low, high):
    """Whether D > 0 for all x in [0, CENTER], tau in [0, 1] and e in [low, high]."""
    below, tau, one, other = bounds(ratio, factor, low, high, 0, CENTER, PLACES)
    least = (below[:, None] - tau * one - tau[::-1] * other).min()
    in_x = low**2 / 4 * below[0] + 1 / (multiples(ratio, factor)[1] * math.sqrt(2 * math.pi))
    grown = math.exp(ratio / 4 * (high**2 - low**2) / 8) * (1 + FLOATS)
    in_tau = 2 * grown * math.cosh(high / 2) * (high / 2 / math.tanh(high / 2))
    return least > (in_x + in_tau) / 8 / PLACES**2


def rest_is_proved(ratio, factor, low, high):
    """Whether D > 0 for all x beyond CENTER up to ``end_of``."""
    below, tau, one, other = bounds(ratio, factor, low, high, CENTER, end_of(ratio, factor), PLACES_BEYOND)
    mixed = tau[:-1] * one[:-1, 1:] + tau[::-1][1:] * other[:-1, 1:]
    return bool((mixed < below[1:, None]).all())


def end_of(ratio, factor):
    """Return an x from which the density of the wide Gaussian is above that of the mixture."""
    c, c_both = multiples(ratio, factor)
    x = CENTER + 1 / 2
    while (
        x < 1 / (1 - c**2 / c_both**2)
        or (x - 1) ** 2 / (2 * c**2) - x**2 / (2 * c_both**2) - math.log(c_both / c)
        <= factor * LARGEST_JOINT_EPSILON**2 / 32
    ):
        x += 1 / 2
    return x


def intervals(proved):
    """Return how many intervals of e cover [0, LARGEST_JOINT_EPSILON], each of which is proved; None if one cannot be."""
    left, done = [(0.0, float(LARGEST_JOINT_EPSILON))], 0
    while left:
        low, high = left.pop()
        if proved(low, high):
            done += 1
            continue
        if high - low < NARROWEST:
            return None
        middle = math.sqrt((low**2 + high**2) / 2)
        left += [(low, middle), (middle, high)]
    return done


@pytest.mark.parametrize(("ratio", "factor"), CASES)
def test_a_selection_and_a_measurement_are_dominated_by_one_gaussian(ratio, factor):
    assert intervals(partial(center_is_proved, ratio, factor)) is not None
    assert intervals(partial(rest_is_proved, ratio, factor)) is not None


@pytest.mark.parametrize(("ratio", "factor"), CASES)
def test_a_factor_that_is_half_a_hundredth_lower_is_refuted(ratio, factor):
    def difference(factor, e=0.01):
        c, c_both = multiples(ratio, factor)
        return g(c_both, 0.0, e) - weight(0.5, e) * (g(c, -0.5, e) + g(c, 0.5, e))

    assert difference(factor) > 0
    assert difference(factor - 0.005) < 0
    assert not center_is_proved(ratio, factor - 0.005, 0.0, NARROWEST)


def test_the_bounds_of_the_proof_hold_at_drawn_places():
    generator = np.random.default_rng(0)
    for ratio, factor in CASES:
        (c, c_both), place = multiples(ratio, factor), generator.uniform
        for _ in range(100):
            low, high = np.sort(place(0.01, LARGEST_JOINT_EPSILON, 2))
            e, x, tau, h = place(low, high), place(0, 8), place(0, 1), 1e-3
            assert g(c, x, e) <= g(c, x, high) * math.exp(c**2 * (high**2 - low**2) / 8)
            assert g(c_both, x, e) >= g(c_both, x, low) * math.exp(-(c_both**2) * (high**2 - low**2) / 8)
            assert weight(tau, e) <= weight(tau, low) <= weight(tau, 0)
            # g'' = e^2 g / 4 + a normal density
            second = (g(c, x + h, e) - 2 * g(c, x, e) + g(c, x - h, e)) / h**2
            density = math.exp(-(c**2) * e**2 / 8 - (x / c) ** 2 / 2) / (c * math.sqrt(2 * math.pi))
            assert second == pytest.approx(e**2 / 4 * g(c, x, e) + density, rel=1e-3, abs=1e-6)
            assert abs(g(c, x - 1 + h, e) - g(c, x - 1, e)) <= h * math.cosh(e / 2)


def pair_delta(epsilon, mu, e, t):
    """Return the delta of a two-point loss of t or t - e, and then a Gaussian."""
    p = (math.exp(e) - math.exp(t)) / math.expm1(e)

    def after(at):
        return ndtr(-at / mu + mu / 2) - math.exp(at) * ndtr(-at / mu - mu / 2)

    return p * after(epsilon - t) + (1 - p) * after(epsilon - t + e)


def joint(selections, measurement, ratio=3):
    return SelectAndMeasure((*selections, measurement), ratio)


def selection(epsilon):
    return BoundedRange(Fraction(epsilon), "exponential mechanism", "a cut")


def measurement(mu_squared, draws=0):
    return Gaussian(Fraction(mu_squared), draws, "sums")


@pytest.mark.parametrize("e", ["1/50", "1/3", "1", "2"])
@pytest.mark.parametrize("ratio", [1, 2, 3, 10])
def test_the_cost_of_one_selection_bounds_every_pair_of_two_outcomes(e, ratio):
    mu_squared = ratio * Fraction(e) ** 2 / 4
    total = cost(joint([selection(e)], measurement(mu_squared), 1 if ratio < 3 else 3)).total_mu_squared
    apart = cost(Sequence((selection(e), measurement(mu_squared)))).total_mu_squared
    assert mu_squared + Fraction(e) ** 2 / 4 < total < apart
    e, mu = float(Fraction(e)), math.sqrt(mu_squared)
    for epsilon in np.linspace(0, 4 * e, 60).tolist():
        bound = gaussian_delta(epsilon, math.sqrt(total))
        for t in np.linspace(0, e, 41).tolist():
            assert pair_delta(epsilon, mu, e, t) <= bound


def test_a_joint_cost_differs_from_the_sum_in_its_gaussian_account_alone():
    parts = (selection("1/5"), selection("1/5"), measurement("3/50", 80))
    together, apart = cost(SelectAndMeasure(parts)), cost(Sequence(parts))
    assert together.total_mu_squared == Fraction(3, 50) + Fraction(211, 200) * Fraction(2, 100)
    assert vars(together) | {"total_mu_squared": 0} == vars(apart) | {"total_mu_squared": 0}
    twice = cost(Sequence((SelectAndMeasure(parts),) * 2))
    assert twice.total_mu_squared == 2 * together.total_mu_squared


@pytest.mark.parametrize("ratio", JOINT_FACTORS)
def test_a_weak_measurement_counts_as_one_that_a_factor_is_proved_for(ratio):
    selected = Fraction(1, 4)  # of one selection at epsilon 1
    weak, strong = (cost(joint([selection(1)], measurement(mu), ratio)) for mu in ("1/5", "4/5"))
    assert weak.total_mu_squared == selected * (ratio + JOINT_FACTORS[ratio])
    assert strong.total_mu_squared == Fraction(4, 5) + selected * JOINT_FACTORS[ratio]


def test_a_selection_of_a_larger_epsilon_than_is_proved_is_refused():
    assert joint([selection("1/10"), selection(2)], measurement(9))
    with pytest.raises(ValueError, match="so large an epsilon"):
        joint([selection("1/10"), selection("201/100")], measurement(9))


LEAF, TWO_LEVELS = (measurement(1),), (selection(1), measurement("3/4"))


@pytest.mark.parametrize(
    ("courses", "ratio"),
    [
        ([LEAF, TWO_LEVELS], 3),
        ([LEAF, TWO_LEVELS, (selection(1), selection(1), measurement("1/2"))], 1),
        ([LEAF, TWO_LEVELS, (selection(1), selection(1), measurement("499999/1000000"))], 1),  # by a rounding
        ([LEAF, TWO_LEVELS, (selection(1), selection(1), measurement("2/5"))], None),
        ([LEAF, (selection(3), measurement(9))], None),
        ([LEAF, (selection(1), measurement(1), measurement(1))], None),
        ([LEAF, TWO_LEVELS, (selection(1), Pure(Fraction(1), "noise", "a label"))], None),
    ],
)
def test_courses_of_which_one_runs_have_one_ratio_or_are_charged_apart(courses, ratio):
    """A selection may choose the course, so what it costs cannot depend on the course."""
    events = joined(courses)
    assert [event.parts for event in events] == courses
    assert {getattr(event, "ratio", None) for event in events[1:]} == {ratio}


@pytest.mark.parametrize(
    "parts",
    [
        (),
        (selection(1),),
        (measurement(1),),
        (measurement(1), selection(1)),
        (selection(1), measurement(1), measurement(1)),
        (Pure(Fraction(1), "permute-and-flip", "a cut"), measurement(1)),
    ],
)
def test_only_selections_before_one_measurement_are_charged_together(parts):
    with pytest.raises(ValueError, match="before one Gaussian measurement"):
        SelectAndMeasure(parts)
    damaged = event_to_dict(Sequence(parts)) | {"event": "SelectAndMeasure"}
    with pytest.raises(FileFormatError, match="damaged"):
        event_from_dict(damaged)


def test_a_joint_event_comes_back_from_a_file():
    event = Sequence((joint([selection("1/3")] * 2, measurement("1/7", 12), 1),) * 3)
    assert event_from_dict(event_to_dict(event)) == event
    for ratio in (2, "3", 1.0):
        with pytest.raises(FileFormatError, match="damaged"):
            event_from_dict(event_to_dict(event.parts[0]) | {"ratio": ratio})


# Whole plans: the delta that they may really have is within the claim.


def steps_of(event):
    parts = getattr(event, "parts", None)
    if parts is None:
        return [event]
    return [step for part in (parts[:1] if isinstance(event, OneOf) else parts) for step in steps_of(part)]


def worst_delta(plan, epsilon):
    """Return the exact delta of a plan if each selection has two outcomes of losses e/2 and -e/2 beside what is measured."""
    steps = steps_of(plan.event)
    mu = math.sqrt(sum(step.mu_squared for step in steps if isinstance(step, Gaussian)))
    laws = []  # of the losses of all selections with one epsilon
    for e, number in Counter(float(step.epsilon) for step in steps if isinstance(step, BoundedRange)).items():
        up = np.arange(number + 1)
        laws.append(((2 * up - number) * e / 2, binom.pmf(up, number, 1 / (1 + math.exp(-e / 2)))))
    left = epsilon - reduce(np.add.outer, [loss for loss, _ in laws])
    after = ndtr(-left / mu + mu / 2) - np.exp(left + log_ndtr(-left / mu - mu / 2))
    return float((reduce(np.multiply.outer, [law for _, law in laws]) * after).sum())


def plan_of(epsilon, **given):
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Numeric(0, 1)}, classes=["no", "yes"])
    return AdditivePlan(Rules(), schema, Claim(Fraction(epsilon), MILLIONTH), bins=None, **given)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "10"])
@pytest.mark.parametrize("given", [{"rounds": None}, {"rounds": 2}, {"rounds": 30, "most_cuts": 0}], ids=str)
def test_what_a_plan_may_lose_is_within_its_claim_and_near_it(epsilon, given):
    plan = plan_of(epsilon, **given)
    total = cost(plan.event)
    assert total.delta(Fraction(epsilon)) <= MILLIONTH
    delta = worst_delta(plan, float(Fraction(epsilon)))
    assert 0.4e-6 < delta < MILLIONTH
    # Zero-concentrated DP allows less.
    assert total.rho > 1.08 * concentrated_rho(float(Fraction(epsilon)), float(MILLIONTH))


@pytest.mark.parametrize("kind", [hr.HedgerowClassifier, hr.HedgerowRegressor, hr.SmoothBoostClassifier])
def test_a_fit_whose_steps_are_charged_apart_is_stopped(monkeypatch, kind):
    X = np.random.default_rng(0).uniform(0, 1, (600, 2))
    y = X[:, 0] if kind is hr.HedgerowRegressor else np.where(X[:, 0] > 0.5, "yes", "no")
    about = {"outcome": hr.Numeric(0, 1)} if kind is hr.HedgerowRegressor else {"classes": ["no", "yes"]}
    model = kind(epsilon=1.0, delta=1e-6, schema=hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, **about))
    certificate = model.fit(X, y).certificate_
    assert certificate.holds
    assert "charged together" in certificate.details()
    monkeypatch.setattr(Queryable, "reserve", lambda self, *given: None)
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)


def no_selections(event):
    return event.parts[-1].mu_squared


def half_of_the_selections(event):
    return event.parts[-1].mu_squared + sum(part.epsilon**2 for part in event.parts[:-1]) / 8


@pytest.mark.parametrize("account", [no_selections, half_of_the_selections])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "10"])
def test_an_account_with_a_share_left_out_is_caught(monkeypatch, account, epsilon):
    monkeypatch.setattr("hedgerow.privacy.accounting.joint_mu_squared", account)
    assert worst_delta(plan_of(epsilon, rounds=None), float(Fraction(epsilon))) > MILLIONTH


def test_googles_accountant_finds_no_larger_delta_for_sixty_rounds():
    """It composes distributions of losses, rounded upwards to multiples of an interval; those of the selections are such."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    rounds, selections, e, interval = 60, 3, Fraction(1, 16), 2.0**-12
    selected = selections * e**2 / 4
    total = rounds * float(cost(joint([selection(e)] * selections, measurement(3 * selected))).total_mu_squared)
    noise = pld.from_gaussian_mechanism(
        1 / math.sqrt(3 * selected * rounds), value_discretization_interval=interval, log_mass_truncation_bound=-60
    )
    for t in (e / 2, e / 4):
        p = (math.exp(e) - math.exp(t)) / math.expm1(e)
        one = pld.from_two_probability_mass_functions(
            {0: math.log(p) - float(t), 1: math.log(1 - p) + float(e - t)},
            {0: math.log(p), 1: math.log(1 - p)},
            value_discretization_interval=interval,
        )
        composed = one.self_compose(rounds * selections).compose(noise)
        for epsilon in (0.5, 1.0, 2.0):
            delta = composed.get_delta_for_epsilon(epsilon)
            assert delta <= gaussian_delta(epsilon, math.sqrt(total))
            # It would refute an account that left a fifth of the selections out.
            assert t < e / 2 or delta > gaussian_delta(
                epsilon, math.sqrt(rounds * float(selected * (3 + Fraction(4, 5))))
            )
