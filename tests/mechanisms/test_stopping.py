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


def test_laws():
    for logarithmic in (True, False):
        law = RandomStopping(2, logarithmic).law(400)
        assert law.sum() == pytest.approx(1)
    assert RandomStopping(2).law(2)[1] / RandomStopping(2).law(2)[0] == pytest.approx(0.75 / 2)
    assert (RandomStopping(2).factor, RandomStopping(2, logarithmic=False).factor) == (2, 3)
    with pytest.raises(ConfigurationError, match="gamma"):
        RandomStopping(0)
