"""The number of repetitions: its law, and draws from it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare
from seeds import FITS

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Randomness, RandomStopping


def found(mechanism, draws, most):
    randomness = Randomness(7)
    runs = np.array([randomness.draw(mechanism) for _ in range(draws)])
    return np.append(np.bincount(np.minimum(runs, most + 1), minlength=most + 2)[1:-1], (runs > most).sum())


def expected(mechanism, draws, most):
    law = mechanism.law(most)
    return draws * np.append(law, 1 - law.sum())


@pytest.mark.parametrize("logarithmic", [True, False])
def test_draws_follow_the_law_and_no_other(logarithmic):
    mechanism = RandomStopping(3, logarithmic)
    seen = found(mechanism, 6000, 12)
    assert chisquare(seen, expected(mechanism, 6000, 12)).pvalue > FITS
    for wrong in (RandomStopping(3, not logarithmic), RandomStopping(2, logarithmic)):
        assert chisquare(seen, expected(wrong, 6000, 12)).pvalue < FITS


def test_laws_of_stopping_are_the_tabled_distributions():
    for logarithmic in (True, False):
        law = RandomStopping(2, logarithmic).law(400)
        assert law.sum() == pytest.approx(1)
    assert RandomStopping(2).law(2)[1] / RandomStopping(2).law(2)[0] == pytest.approx(0.75 / 2)
    assert (RandomStopping(2).factor, RandomStopping(2, logarithmic=False).factor) == (2, 3)
    np.testing.assert_allclose(RandomStopping(2, logarithmic=False).law(3), [1 / 4, 3 / 16, 9 / 64])
    np.testing.assert_allclose(RandomStopping(1).law(3), np.array([1 / 2, 1 / 8, 1 / 24]) / np.log(2))
    assert RandomStopping(1).logarithmic


@pytest.mark.parametrize("bits", [0, -1, 31])
def test_gamma_is_from_2_to_the_minus_30_to_a_half(bits):
    assert (RandomStopping(1).bits, RandomStopping(30).bits) == (1, 30)
    with pytest.raises(ConfigurationError, match="gamma"):
        RandomStopping(bits)
