"""What all report cards share: when a figure is known, and how wide its interval is (docs/proofs/report-card.md)."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval
from scipy.stats import norm

from hedgerow.analysis.card import CLEAR, Card, Figure, quantile


class Shares(Card):
    """A card of one figure, .5, whose denominators and bounds a test sets."""

    FIGURES = ("share",)
    denominators = ((1000.0, 1.0),)
    bounds = (0.0, 1.0)
    infinite_above = 1.0  # the level above which nothing bounds the figure
    records = 1000.0
    warnings = ()

    def _released(self):
        return {}

    @classmethod
    def from_dict(cls, values):
        return cls(**cls._counts_in(values, 2))

    def _figure(self, name, counts):
        return Figure(0.5, 0.5, 0.5), np.array([0.001, 0.0])

    def _bounded(self, name, level):
        figure, slopes = self._figure(name, self.counts)
        return (figure if level <= self.infinite_above else Figure(0.5, -math.inf, math.inf)), slopes

    def _bounds(self, name):
        return self.bounds

    def _denominators(self, name):
        return list(self.denominators)


def card(**changes):
    made = Shares(np.array([500.0, 500.0]), 10.0, SimpleNamespace(records_per_person=1))
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("kurtosis", [0.0, 0.5, 3.0])
def test_a_quantile_is_cornish_and_fishers_and_never_below_the_normal_one(level, kurtosis):
    normal = norm.ppf((1 + level) / 2)
    expected = max(normal, normal + hermeval(normal, [0, 0, 0, 1]) * kurtosis / 24)
    assert quantile(level, kurtosis) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("denominators", "known"),
    [
        ([(CLEAR * 10 + 1, 10.0)], True),
        ([(CLEAR * 10, 10.0)], False),
        ([(1.0, 0.1)], True),
        ([(1000.0, 1.0), (1.0, 1.0)], False),
        ([(1.0, 1.0), (1000.0, 1.0)], False),
        ([(1000.0, 1.0), (500.0, 1.0)], True),
    ],
)
def test_a_figure_is_known_where_all_its_denominators_stand_out_and_its_interval_says_nothing_where_none_does(
    denominators, known
):
    made = card(denominators=denominators)
    assert math.isnan(made.figure("share").value) is not known
    clear = any(total / noise > CLEAR for total, noise in denominators)
    assert (made.interval("share", sampling=False) == (0.0, 1.0)) is not clear


@pytest.mark.parametrize(("infinite_above", "known"), [(0.9, False), (0.95, True)])
def test_a_figure_has_no_value_where_its_interval_of_95_percent_has_no_end(infinite_above, known):
    made = card(bounds=(-math.inf, math.inf), infinite_above=infinite_above)
    assert math.isfinite(made.figure("share").value) is known
    assert all(map(math.isfinite, made.interval("share", 0.95, sampling=False))) is known


@pytest.mark.parametrize("sampling", [False, True])
def test_an_interval_is_the_noise_and_the_records_through_the_slopes(sampling):
    low, high = card(denominators=[(100.0, 5.0), (50.0, 5.0)]).interval("share", 0.9, sampling=sampling)
    spread = math.sqrt(10.0**2 + (500 if sampling else 0)) * 0.001
    kurtosis = 3 * (10.0**2 / (10.0**2 + (500 if sampling else 0))) ** 2
    normal = norm.ppf(0.95)
    wide = max(normal, normal + hermeval(normal, [0, 0, 0, 1]) * kurtosis / 24) * spread * 1.1
    assert (low, high) == pytest.approx((0.5 - wide, 0.5 + wide), rel=1e-9)


@pytest.mark.parametrize("deviation", [0.0, 1e-300, 7.5, -1e-300, math.nan, math.inf])
def test_a_file_may_hold_noise_that_a_large_epsilon_rounds_to_none_but_no_less(deviation, monkeypatch):
    monkeypatch.setattr("hedgerow.analysis.card.Certificate.from_dict", lambda values: values)
    values = {"counts": [1.0, 2.0], "deviation": deviation, "certificate": {}}
    if 0 <= deviation < math.inf:
        assert Shares.from_dict(values).deviation == deviation
    else:
        with pytest.raises(ValueError, match="no counts"):
            Shares.from_dict(values)
