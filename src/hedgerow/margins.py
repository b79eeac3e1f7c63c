"""Margins on a grid: the units in which records weigh, votes are told, and sums of votes become probabilities."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats

__all__ = ["UNIT", "VOTE_STEPS", "probabilities"]

UNIT = 1 << 16  # the weight of a record that counts in full
VOTE_STEPS = 1 << 9  # of a log-odds of 1, in which votes, margins and decisions are told everywhere


def probabilities(sums: Floats) -> Floats:
    """Return the softmax of margins (records, classes)."""
    odds = np.exp(sums - sums.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
