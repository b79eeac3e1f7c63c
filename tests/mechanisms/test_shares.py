"""Discrete Gaussian noise in shares: its law, its scale, and what it costs."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget, DiscreteGaussian
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.privacy.accounting import (
    Concentrated,
    Cost,
    Gaussian,
    Pure,
    Sequence,
    cost,
    event_from_dict,
    event_to_dict,
)

DRAWS = 40_000


def noise_of(sigma, shares=1):
    made = DiscreteGaussian(Fraction(1, 2 * shares * sigma**2), Fraction(1), shares)
    assert made.sigma == sigma
    return made


def fit_of(drawn, noise):
    """Return the p-value of a sample under the law of noise, in bins that are expected to hold 50 draws or more."""
    outcomes = np.arange(-6 * math.ceil(noise.deviation), 6 * math.ceil(noise.deviation) + 1)
    law = noise.law(0, outcomes) * len(drawn)
    group = np.unique(np.minimum(np.cumsum(law) // 50, law.sum() // 50 - 1), return_inverse=True)[1]
    found = np.bincount(
        group[np.searchsorted(outcomes, np.clip(drawn, outcomes[0], outcomes[-1]))], minlength=group[-1] + 1
    )
    expected = np.bincount(group, law)
    return chisquare(found, expected * found.sum() / expected.sum()).pvalue


@pytest.mark.parametrize(("sigma", "shares"), [(10, 1), (37, 1), (10, 3), (1 << 20, 1)])
def test_draws_have_the_exact_law_and_no_other_scale(sigma, shares):
    noise = noise_of(sigma, shares)
    drawn = noise.sample(open_stream(bytes(32), 1), np.zeros(DRAWS, dtype=np.int64))
    if sigma > 1000:  # too many outcomes for a law of each
        assert abs(drawn.std() / noise.deviation - 1) < 0.02
        return
    assert fit_of(drawn, noise) > 1e-6
    assert fit_of(drawn, noise_of(sigma + max(1, sigma // 10), shares)) < 1e-6


@pytest.mark.parametrize("shares", [1, 2, 5])
def test_the_divergence_of_a_sum_is_what_it_costs(shares):
    """Kairouz, Liu and Steinke 2021, theorem 1, for one cell: by the exact law of the sum."""
    noise = noise_of(10, shares)
    rho = float(noise.event("sums").rho)
    places = np.arange(-8 * math.ceil(noise.deviation), 8 * math.ceil(noise.deviation) + 1)
    law, moved = np.log(noise.law(0, places)), np.log(noise.law(1, places))
    for order in (1.5, 2.0, 8.0, 30.0):
        divergence = float(logsumexp(order * law + (1 - order) * moved)) / (order - 1)
        assert divergence <= order * rho * (1 + 1e-9)
        assert divergence >= order * rho * 0.99


@pytest.mark.parametrize("shares", [1, 2, 3, 5])
@pytest.mark.parametrize("sigma", [1, 2])
def test_the_proof_of_a_sum_of_shares_holds_where_its_bound_is_visible(sigma, shares):
    """docs/proofs/federated.md: d, L and the divergence, with 100 digits and shares below the least that is ever used."""
    with localcontext(prec=100):
        pi = Decimal(
            "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
        )
        reach = 12 * sigma * shares
        one = [(-Decimal(x * x) / (2 * sigma**2)).exp() for x in range(-reach, reach + 1)]
        one = [each / sum(one) for each in one]
        law = {0: Decimal(1)}
        for _ in range(shares):
            law = convolved(law, dict(zip(range(-reach, reach + 1), one, strict=True)))
        spread = 2 * shares * sigma**2
        middle = range(-5 * sigma, 5 * sigma + 1)
        h = [law[x].ln() + Decimal(x * x) / spread for x in middle]
        loss = 3 * shares * 3 * (-(pi**2) * sigma**2).exp()
        assert max(h) - min(h) <= loss
        if shares == 1:
            assert max(h) - min(h) < Decimal(10) ** -90  # it is a discrete Gaussian
        if shares == 2:
            assert max(h) - min(h) > loss / 100  # it is none, so a bound is needed
        for change in (1, 2):
            for order in (Decimal("1.01"), Decimal(2), Decimal(3)):
                total = sum(
                    (order * law[x].ln() + (1 - order) * law[x + change].ln()).exp() for x in law if x + change in law
                )
                bound = order * change**2 / spread
                assert total.ln() / (order - 1) <= loss + bound
                assert total.ln() / (order - 1) > bound * Decimal("0.99")


def convolved(one, other):
    law = {}
    for x, p in one.items():
        for y, q in other.items():
            if abs(x + y) <= 40:
                law[x + y] = law.get(x + y, 0) + p * q
    return law


def test_noise_is_rounded_up_and_never_below_the_least():
    assert DiscreteGaussian(Fraction(1, 2), Fraction(1), 1).sigma == 10
    for rho in (Fraction(1, 977), Fraction(1, 1000), Fraction(3, 10**7)):
        noise = DiscreteGaussian(rho, Fraction(7), 3)
        assert noise.event("sums").rho <= rho
        assert 3 * noise.sigma**2 * 2 * rho >= 7 > 3 * (noise.sigma - 1) ** 2 * 2 * rho
    with pytest.raises(ConfigurationError, match="too small"):
        _ = DiscreteGaussian(Fraction(1, 10**20), Fraction(1), 1).sigma


def test_only_zero_concentrated_privacy_counts_it():
    step = Concentrated(Fraction(1, 100), "noise", "sums", shares=2)
    total = cost(Sequence((step, step, Pure(Fraction(1, 10), "m", "p"))))
    assert total.by_rho
    assert total.rho > Fraction(2, 100)
    assert not total.pure
    assert cost(step).delta(Fraction(1)) > cost(Gaussian(Fraction(2, 100), 0, "sums")).delta(Fraction(1))
    assert cost(step).delta(Fraction(1)) == replace(cost(Gaussian(Fraction(2, 100), 0, "s")), by_rho=True).delta(
        Fraction(1)
    )
    assert not cost(step).at_most(
        Cost(epsilon=Fraction(9), mu_squared=Fraction(9), total_mu_squared=Fraction(9), rho=Fraction(9))
    )
    assert cost(step).at_most(total)
    assert not cost(step).sampled(Fraction(1, 2)).protected
    assert event_from_dict(event_to_dict(step)) == step


def test_a_budget_of_shares_buys_it():
    noise = Budget(Fraction(1, 200), concentrated=True, shares=2).noise_for(3, 5)
    assert isinstance(noise, DiscreteGaussian)
    assert (noise.shares, noise.covers(99, 5), noise.covers(1, 6)) == (2, True, False)
