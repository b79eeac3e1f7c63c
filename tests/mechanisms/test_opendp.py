"""OpenDP, an independent library with proofs of its own, as a second oracle."""

from fractions import Fraction

import numpy as np
import pytest
from costs import stated
from goodness import p_value, tally

from hedgerow.mechanisms import Exponential, Geometric, PermuteAndFlip, RoundedNormal

dp = pytest.importorskip("opendp.prelude", reason="pip install -e '.[full]'")

pytestmark = pytest.mark.full
dp.enable_features("contrib")

# OpenDP draws from the operating system, so a right law fails once in a billion runs.
FITS = 1e-9
VECTORS = dp.vector_domain(dp.atom_domain(T="i64"))


def discrete_laplace(scale):
    return dp.m.make_laplace(VECTORS, dp.l1_distance(T="i64"), scale=scale)


def noisy_max(scale, measure, *, monotonic):
    return dp.m.make_noisy_max(VECTORS, dp.linf_distance(T="i64", monotonic=monotonic), measure, scale=scale)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "7/3"])
@pytest.mark.parametrize("sensitivity", [1, 5])
def test_geometric_costs_what_opendp_says(epsilon, sensitivity):
    noise = Geometric(Fraction(epsilon), sensitivity)
    theirs = discrete_laplace(float(1 / noise.rate.fraction)).map(sensitivity)
    assert theirs == pytest.approx(float(stated(noise)), rel=1e-12)


def test_opendp_draws_from_our_geometric_law():
    noise, outcomes = Geometric(Fraction(3, 10)), np.arange(-400, 401)
    draws = discrete_laplace(float(1 / noise.rate.fraction))([7] * 40_000)
    counts = tally(np.array(draws), outcomes)
    assert p_value(counts, noise.law(7, outcomes)) > FITS
    assert p_value(counts, Geometric(Fraction(33, 100)).law(7, outcomes)) < FITS


@pytest.mark.parametrize("mu_squared", ["1/1000", "359/5000", "1", "4"])
@pytest.mark.parametrize("squared", [1, 4])
def test_gaussian_noise_costs_what_opendp_says(mu_squared, squared):
    """A mu-Gaussian-DP mechanism is mu**2 / 2 in zero-concentrated DP, as OpenDP's Gaussian of the same sigma is."""
    noise = RoundedNormal(Fraction(mu_squared), Fraction(squared))
    theirs = dp.m.make_gaussian(VECTORS, dp.l2_distance(T="f64"), scale=float(noise.sigma.fraction))
    assert theirs.map(squared**0.5) == pytest.approx(float(stated(noise)) / 2, rel=1e-12)


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
@pytest.mark.parametrize("score_range", [1, 2, 2048])
def test_one_sided_selection_costs_what_opendp_says(epsilon, score_range):
    """OpenDP's noisy maximum with exponential noise is permute-and-flip, and knows one-sided scores as monotonic."""
    mechanism = PermuteAndFlip(Fraction(epsilon), score_range)
    scale = float(1 / mechanism.rate.fraction)
    one_sided = noisy_max(scale, dp.max_divergence(), monotonic=True)
    assert one_sided.map(score_range) == pytest.approx(float(stated(mechanism)), rel=1e-12)
    two_sided = noisy_max(scale, dp.max_divergence(), monotonic=False)
    assert two_sided.map(score_range) == pytest.approx(2 * float(stated(mechanism)), rel=1e-12)


@pytest.mark.parametrize(
    ("mine", "measure"),
    [(PermuteAndFlip, dp.max_divergence), (Exponential, dp.zero_concentrated_divergence)],
)
def test_opendp_selects_by_our_laws(mine, measure):
    mechanism, scores, everything = mine(Fraction(1, 2), 1), np.array([0, 3, 5, 5, -2]), np.ones(5, dtype=bool)
    theirs = noisy_max(2.0, measure(), monotonic=True)
    counts = np.bincount([theirs(scores.tolist()) for _ in range(6_000)], minlength=5)
    assert p_value(counts, mechanism.law(scores, everything)) > FITS
    assert p_value(counts, mine(Fraction(7, 10), 1).law(scores, everything)) < FITS
