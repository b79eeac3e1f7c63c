"""Noise on integers: draws against laws, laws against independent references, costs against budgets."""

import math
from fractions import Fraction

import numpy as np
import pytest
from costs import event_of, stated
from goodness import FITS, p_value, tally
from scipy.stats import norm
from seeds import moved_key

from hedgerow.mechanisms import AtMost, Geometric, PassesThreshold, RoundedNormal
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.privacy.accounting import cost

KEY = moved_key(bytes(range(50, 82)))
DRAWS = 60_000


def stream(number):
    return open_stream(KEY, number)


# two-sided geometric


@pytest.mark.parametrize("epsilon", ["1/10", "3/10", "1", "5/2"])
def test_geometric_follows_its_law_and_no_other(epsilon):
    noise, value = Geometric(Fraction(epsilon)), -17
    outcomes = np.arange(-2000, 2001)
    counts = tally(noise.sample(stream(1), np.full(DRAWS, value)), outcomes)
    assert p_value(counts, noise.law(value, outcomes)) > FITS
    for wrong in (Fraction(11, 10), Fraction(9, 10)):
        assert p_value(counts, Geometric(Fraction(epsilon) * wrong).law(value, outcomes)) < FITS
    assert p_value(counts, noise.law(value + 1, outcomes)) < FITS


def test_geometric_with_a_small_rate_follows_its_law():
    """The smallest budgets have noise of millions; compare by intervals of the law's quantiles."""
    noise = Geometric(Fraction(1, 10**6))
    draws = np.sort(noise.sample(stream(2), np.zeros(DRAWS, dtype=np.int64)))

    def cells(rate):  # mass up to m is 1 - exp(-rate (m + 1)) / (1 + exp(-rate)) for m >= 0
        edges = np.floor(-np.log(np.linspace(0.98, 0.02, 25)) / 1e-6)
        above = np.exp(-rate * (edges + 1)) / (1 + np.exp(-rate))
        return edges, np.diff(np.concatenate([[0.0], above[::-1], 1 - above, [1.0]]))

    edges, right = cells(1e-6)
    borders = np.concatenate([-edges[::-1] - 1, edges])
    counts = np.diff(np.concatenate([[0], np.searchsorted(draws, borders, side="right"), [DRAWS]]))
    assert p_value(counts, right) > FITS
    assert p_value(counts, cells(1.1e-6)[1]) < FITS


def test_geometric_law_is_the_definition():
    noise, outcomes = Geometric(Fraction(7, 10), sensitivity=2), np.arange(-300, 301)
    rate = float(noise.rate.fraction)
    weights = np.exp(-rate * np.abs(outcomes - 3))
    np.testing.assert_allclose(noise.law(3, outcomes), weights / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3), (2, 3, 4)])
def test_noise_keeps_shape_and_input(shape):
    values = np.arange(math.prod(shape)).reshape(shape)
    for noise in (Geometric(Fraction(1)), RoundedNormal(Fraction(1))):
        before = values.copy()
        noisy = noise.sample(stream(1), values)
        assert noisy.shape == shape
        assert noisy.dtype == np.int64
        np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("noise", [Geometric(Fraction(1, 50)), RoundedNormal(Fraction(1, 500))])
@pytest.mark.parametrize("kind", [np.int32, np.uint8])
def test_counts_in_narrow_integers_do_not_wrap(noise, kind):
    largest = np.full(50, np.iinfo(kind).max, dtype=kind)
    noisy = noise.sample(stream(4), largest)
    assert noisy.dtype == np.int64
    np.testing.assert_array_equal(noisy, noise.sample(stream(4), largest.astype(np.int64)))


@pytest.mark.parametrize("noise", [Geometric(Fraction(1, 50)), RoundedNormal(Fraction(1, 500))])
def test_noise_does_not_depend_on_the_value(noise):
    values = np.array([0, 5, -7, 10**9, -(2**40), 0, 0, 1])
    np.testing.assert_array_equal(
        noise.sample(stream(4), values) - values, noise.sample(stream(4), np.zeros(8, dtype=np.int64))
    )


@pytest.mark.parametrize("noise", [Geometric(Fraction(1, 3)), RoundedNormal(Fraction(1, 20))])
def test_draws_of_a_batch_are_independent(noise):
    draws = noise.sample(stream(5), np.zeros(40_000, dtype=np.int64)).astype(float)
    for lag in (1, 2, 3, 8):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < 5 / math.sqrt(40_000)


@pytest.mark.parametrize("sensitivity", [1, 2, 7, 100])
@pytest.mark.parametrize("epsilon", ["1/1000000000", "1/10", "1", "20"])
def test_geometric_costs_at_most_its_budget_and_hardly_less(epsilon, sensitivity):
    budget = Fraction(epsilon)
    noise = Geometric(budget, sensitivity)
    # The rate has 43 digits, or as many as 52 bits behind the point leave.
    assert budget * (1 - Fraction(1, 2**42)) - Fraction(sensitivity, 2**52) <= stated(noise) <= budget
    assert stated(noise) == noise.rate.fraction * sensitivity
    assert noise.event("counts", 3).level == 3
    assert noise.rate.numerator < 2**43
    assert noise.rate.bits <= 52


# AtMost


@pytest.mark.parametrize("value", [-3, 0, 4, 5, 6, 40])
def test_at_most_law_sums_the_noise_law(value):
    mechanism = AtMost(Geometric(Fraction(3, 10)), threshold=5)
    outcomes = np.arange(-400, 401)
    yes = mechanism.noise.law(value, outcomes)[outcomes <= 5].sum()
    np.testing.assert_allclose(mechanism.law(value), [1 - yes, yes], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("value", [0, 3, 5, 6, 9])
def test_at_most_follows_its_law_and_no_other(value):
    mechanism = AtMost(Geometric(Fraction(1, 4)), threshold=5)
    answers = mechanism.sample(stream(value), np.full(DRAWS, value))
    counts = np.bincount(answers, minlength=2)
    assert p_value(counts, mechanism.law(value)) > FITS
    assert p_value(counts, AtMost(Geometric(Fraction(1, 4)), threshold=6).law(value)) < FITS
    if abs(value - 5.5) > 1:  # next to the threshold the answer hardly depends on the rate
        assert p_value(counts, AtMost(Geometric(Fraction(7, 20)), threshold=5).law(value)) < FITS


def test_at_most_compares_the_very_noise_of_the_geometric():
    noise, values = Geometric(Fraction(1, 5)), np.arange(-20, 21)
    np.testing.assert_array_equal(
        AtMost(noise, threshold=2).sample(stream(3), values), noise.sample(stream(3), values) <= 2
    )


def test_at_most_with_a_threshold_out_of_reach():
    values = np.array([0, 10, 10**6])
    assert AtMost(Geometric(Fraction(1)), threshold=2**40).sample(stream(1), values).all()
    assert not AtMost(Geometric(Fraction(1)), threshold=-(2**40)).sample(stream(1), values).any()
    np.testing.assert_array_equal(AtMost(Geometric(Fraction(1)), threshold=-(2**40)).law(0), [1, 0])


# PassesThreshold


def test_a_threshold_is_rounded_up_and_hardly():
    noise, ten = Geometric(Fraction(1)), math.exp(-9) / (1 + math.exp(-1))  # noise of 9, which one record takes to 10
    for error, threshold in ((-Fraction(1, 2**44), 11), (Fraction(1, 2**30), 10)):
        assert PassesThreshold(noise, Fraction(ten) * (1 + error)).threshold == threshold


def test_a_threshold_is_above_what_one_person_has_whatever_delta_is():
    """Noise of a small rate takes a count of 1 above 0 hardly more often than not."""
    assert PassesThreshold(Geometric(Fraction(1, 5)), Fraction(9, 10)).threshold == 2


def test_what_reaches_a_threshold_passes():
    noise, values = Geometric(Fraction(1, 2)), np.arange(1, 60)
    mechanism = PassesThreshold(noise, Fraction(1, 1000))
    passes = noise.sample(stream(3), values) >= mechanism.threshold
    np.testing.assert_array_equal(mechanism.sample(stream(3), values), passes)
    assert 0 < passes.sum() < len(values)
    for count in (1, 5, mechanism.threshold, 40):
        yes = noise.law(count, np.arange(mechanism.threshold, 200)).sum()
        np.testing.assert_allclose(mechanism.law(count), [1 - yes, yes], rtol=1e-9, atol=1e-12)


def test_a_threshold_costs_an_epsilon_of_one_record_and_the_delta_of_all():
    noise, delta = Geometric(Fraction(1, 2)), Fraction(1, 1000)
    event = PassesThreshold(noise, delta, 3).event("values")
    assert (event.epsilon, event.delta, event.records) == (noise.rate.fraction, delta, 3)
    for wrong in ((Fraction(0), 1), (-delta, 1), (delta, 0)):
        with pytest.raises(ValueError, match="must be positive"):
            _ = PassesThreshold(noise, *wrong).threshold


# rounded normal


def with_sigma(sigma):
    return RoundedNormal(1 / Fraction(sigma) ** 2)


@pytest.mark.parametrize("sigma", ["3/10", "7/10", "1", "5", "40"])
def test_rounded_normal_follows_its_law_and_no_other(sigma):
    noise, value = with_sigma(sigma), 11
    outcomes = np.arange(-400, 401)
    counts = tally(noise.sample(stream(6), np.full(DRAWS, value)), outcomes)
    assert p_value(counts, noise.law(value, outcomes)) > FITS
    for wrong in (Fraction(11, 10), Fraction(9, 10)):
        assert p_value(counts, with_sigma(Fraction(sigma) * wrong).law(value, outcomes)) < FITS
    if Fraction(sigma) <= 5:  # a step is much less than a wide sigma
        assert p_value(counts, noise.law(value + 1, outcomes)) < FITS


@pytest.mark.parametrize("sigma", [10**4, 10**8, 10**11])
def test_rounded_normal_with_a_huge_sigma(sigma):
    """Compare by quantiles of the normal distribution; rounding shifts them by less than 1e-4 of a sigma."""
    draws = with_sigma(sigma).sample(stream(7), np.zeros(DRAWS, dtype=np.int64))
    quantiles = norm.ppf(np.linspace(0, 1, 41)[1:-1])

    def counts(scale):
        return np.bincount(np.searchsorted(quantiles * sigma * scale, draws), minlength=40)

    assert p_value(counts(1.0), np.full(40, 1 / 40)) > FITS
    assert p_value(counts(1.1), np.full(40, 1 / 40)) < FITS
    # Nothing of the low digits is lost: they are as good as uniform.
    last = np.bincount(draws % 10, minlength=10)
    assert p_value(last, np.full(10, 1 / 10)) > FITS


@pytest.mark.parametrize("sigma", ["1/10", "7/10", "3", "50"])
def test_rounded_normal_law_is_a_difference_of_the_distribution_function(sigma):
    noise = with_sigma(sigma)
    outcomes, scale = np.arange(-60, 61), float(noise.sigma.fraction)
    upper, lower = (outcomes - 2 + 0.5) / scale, (outcomes - 2 - 0.5) / scale
    expected = np.where(outcomes > 2, norm.sf(lower) - norm.sf(upper), norm.cdf(upper) - norm.cdf(lower))
    np.testing.assert_allclose(noise.law(2, outcomes), expected, rtol=1e-11)
    assert noise.law(0, np.arange(-3000, 3001)).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("squared", [Fraction(1), Fraction(5, 4), Fraction(17, 2)])
@pytest.mark.parametrize("mu_squared", ["1/1000000000000000", "1/1000", "359/10000", "1", "100", "1000000000000"])
def test_rounded_normal_costs_at_most_its_budget_and_hardly_less(mu_squared, squared):
    budget = Fraction(mu_squared)
    noise = RoundedNormal(budget, squared)
    # Sigma is rounded up by less than a unit of its last digit, of which it has 29 or more where it is not tiny.
    assert budget * (1 - Fraction(1, noise.sigma.numerator)) ** 2 <= stated(noise) <= budget
    assert (2**28 if budget <= 2 else 2**9) <= noise.sigma.numerator < 2**31
    assert noise.sigma.bits >= -16
    event = noise.event("sums", draws=12, level=4)
    assert (event.mu_squared, event.draws, event.level) == (squared / noise.sigma.fraction**2, 12, 4)


@pytest.mark.parametrize("sigma", ["7/10", "1", "40", "65536", "1073741825"])
def test_noise_of_larger_sums_has_the_deviation_times_their_size_at_the_same_cost(sigma):
    noise = with_sigma(sigma)
    for times in (1, 5, 12):
        larger = noise.doubled(times)
        assert larger.sigma.fraction == 2**times * noise.sigma.fraction
        assert larger.event("sums", draws=9) == noise.event("sums", draws=9)
        assert larger.covers(0, 4**times)
        assert not larger.covers(0, 4**times + 1)


@pytest.mark.parametrize("sigma", [2**48, 2**47, 2**47 - 1])
def test_a_sigma_beyond_the_sampler_is_refused(sigma):
    with pytest.raises(ValueError, match="more than is drawn"):
        _ = with_sigma(sigma).sigma


@pytest.mark.parametrize("sigma", [2**47 - 2**17, 2**30 + 1, 2**30, 2**29 + 1, 2**29, 2**28 + 1, Fraction(1, 2**40)])
def test_sigma_stays_within_what_the_sampler_multiplies(sigma):
    found = with_sigma(sigma).sigma
    assert found.numerator < 2**31
    assert -16 <= found.bits <= 62
    assert Fraction(sigma) <= found.fraction


@pytest.mark.parametrize("noise", [Geometric(Fraction(1, 3)), RoundedNormal(Fraction(1, 20))])
def test_deviation_is_about_that_of_the_law(noise):
    outcomes = np.arange(-200, 201)
    variance = (noise.law(0, outcomes) * outcomes**2).sum()
    assert noise.deviation == pytest.approx(math.sqrt(variance), rel=0.02)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_geometric_noise_is_as_concentrated_as_its_price(epsilon):
    noise, outcomes = Geometric(Fraction(epsilon)), np.arange(-400, 402)
    law, moved = noise.law(0, outcomes), noise.law(1, outcomes)
    seen = (law > 0) & (moved > 0)
    divergence = (law[seen] * np.log(law[seen] / moved[seen])).sum()
    assert divergence <= float(cost(event_of(noise)).rho) * (1 + 1e-9)


def test_only_normal_draws_are_inexact():
    assert cost(Geometric(Fraction(1)).event("counts", draws=7)).draws == 0
    assert cost(RoundedNormal(Fraction(1)).event("counts", draws=7)).draws == 7


@pytest.mark.slow
@pytest.mark.parametrize("sigma", ["2/5", "1", "13/4"])
def test_rounded_normal_follows_its_law_at_a_million_draws(sigma):
    noise, outcomes = with_sigma(sigma), np.arange(-100, 101)
    counts = tally(noise.sample(stream(8), np.zeros(2_000_000, dtype=np.int64)), outcomes)
    assert p_value(counts, noise.law(0, outcomes)) > FITS
    assert p_value(counts, with_sigma(Fraction(sigma) * Fraction(101, 100)).law(0, outcomes)) < FITS


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/10", "1"])
def test_geometric_follows_its_law_at_a_million_draws(epsilon):
    noise, outcomes = Geometric(Fraction(epsilon)), np.arange(-1000, 1001)
    counts = tally(noise.sample(stream(9), np.zeros(2_000_000, dtype=np.int64)), outcomes)
    assert p_value(counts, noise.law(0, outcomes)) > FITS
    assert p_value(counts, Geometric(Fraction(epsilon) * Fraction(101, 100)).law(0, outcomes)) < FITS


@pytest.mark.parametrize(
    "noise",
    [
        *(Geometric(Fraction(epsilon), cells) for epsilon in ("1/100", "1/3", "5") for cells in (1, 7)),
        *(RoundedNormal(Fraction(mu_squared)) for mu_squared in ("1/10000", "1/7", "30")),
    ],
    ids=str,
)
@pytest.mark.parametrize("chance", [0.3, 1e-3, 1e-9])
def test_a_quantile_is_the_least_integer_that_noise_reaches_so_rarely(noise, chance):
    least = noise.quantile(chance)
    outcomes = np.arange(1, least + math.ceil(40 * noise.deviation) + 10)
    reached = noise.law(0, outcomes)[::-1].cumsum()[::-1]  # by noise of at least so much
    assert reached[least - 1] <= chance * (1 + 1e-9)
    assert least == 1 or reached[least - 2] > chance
    assert noise.quantile(0.99) == 1
