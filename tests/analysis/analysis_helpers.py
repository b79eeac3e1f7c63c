"""What tests of both kinds of report card share."""

from __future__ import annotations

import numpy as np
import pytest


def check_slopes(card, name):
    """Intervals follow from how fast a figure changes with each count: here by moving one count at a time."""
    _, slopes = card._figure(name, card.counts)
    for place in np.linspace(0, len(card.counts) - 1, 60).astype(int):
        step = np.zeros(len(card.counts))
        step[place] = 0.01
        more, less = (card._figure(name, card.counts + sign * step)[0].value for sign in (1, -1))
        assert slopes[place] == pytest.approx((more - less) / 0.02, rel=1e-4, abs=1e-5 * np.abs(slopes).max())
