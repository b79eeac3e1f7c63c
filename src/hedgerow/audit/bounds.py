"""Bounds on epsilon from counts of an event on two data sets: exact intervals, no asymptotics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, binom

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError

__all__ = ["CONFIDENCE", "at_least", "at_most", "epsilon_bound", "smallest_loss_seen"]


CONFIDENCE = 0.999  # the default of every audit
LARGEST_LOSS = 60.0
SEEN = 0.9  # the probability with which a loss of the stated power is detected


def at_least(hits: Any, runs: Any, risk: float) -> Floats:
    """Return a lower bound on the probability of an event, which fails with probability ``risk`` (Clopper and Pearson 1934)."""
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, beta.ppf(risk, np.maximum(hits, 1), runs - hits + 1), 0.0)


def at_most(hits: Any, runs: Any, risk: float) -> Floats:
    """Return an upper bound on the probability of an event, which fails with probability ``risk`` (Clopper and Pearson 1934)."""
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits < runs, beta.ppf(1 - risk, hits + 1, np.maximum(runs - hits, 1)), 1.0)


def epsilon_bound(more: Any, fewer: Any, runs: tuple[int, int], delta: float, risk: float) -> Floats:
    """Return a lower bound on every epsilon for which (epsilon, delta)-DP holds.

    An (epsilon, delta)-DP learner gives an event that has the probability q on one data set at most e^epsilon q + delta on
    a neighbor. The bound fails with probability ``risk`` at most, half of it for each of the two probabilities.

    Parameters
    ----------
    more, fewer : int or array of int
        The number of runs with the event: on the data set where it is more likely, and on the other one.
    runs : (int, int)
        The number of runs, in the same order.
    delta : float
        The delta of the claim.
    risk : float
        The probability that the bound may be wrong.
    """
    high = at_least(more, runs[0], risk / 2) - delta
    low = at_most(fewer, runs[1], risk / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high > 0, np.maximum(np.log(np.maximum(high, 0.0)) - np.log(low), 0.0), 0.0)


def smallest_loss_seen(epsilon: float, delta: float, runs: int, risk: float) -> float:
    """Return the smallest loss that would be distinguished from ``epsilon`` nine times in ten; infinite if none would.

    It is the loss L of randomized response, which is the easiest loss to detect: its event has the probability
    e^L / (1 + e^L) on one data set and 1 / (1 + e^L) on the other. A loss that shows in rare events only needs more runs.
    """

    def surplus(loss: float) -> float:
        likely = 1 / (1 + math.exp(-loss))
        half = math.sqrt(SEEN)  # both counts are as good as expected here
        more = binom.ppf(1 - half, runs, likely)
        fewer = binom.ppf(half, runs, 1 - likely)
        return float(epsilon_bound(more, fewer, (runs, runs), delta, risk)) - epsilon

    if runs < 1 or surplus(LARGEST_LOSS) <= 0:
        return math.inf
    # Counts are whole numbers, so the surplus has steps. The result is its last change of sign.
    found = float(brentq(surplus, min(epsilon, LARGEST_LOSS), LARGEST_LOSS, xtol=1e-4))
    while surplus(found) <= 0:
        found += 0.001
    return found


def check_confidence(confidence: float) -> float:
    """Return a confidence, or raise ConfigurationError."""
    if not 0.5 <= confidence < 1:
        raise ConfigurationError(
            f"confidence is {confidence}, but a bound needs a probability from 0.5 to below 1; pass 0.999, for example."
        )
    return float(confidence)
