"""Made-up data sets with a known kind of signal: many features that say a little each, few that say much, and interactions.

Nothing here was chosen by what any system makes of it. Each is drawn from a fixed seed, and half of it is the test part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import hedgerow as hr

Floats = npt.NDArray[np.float64]
Split = tuple[hr.Schema, Floats, Floats, Any, Any]

FEATURES = 20
RANGE = 4.0  # deviations of a normal feature


def normal(n: int, odds: Callable[[Floats], Floats]) -> Split:
    """Return ``n`` records to learn from and as many to test on, of normal features with these log-odds."""
    return split(np.random.default_rng(7).normal(size=(2 * n, FEATURES)), odds, hr.Numeric(-RANGE, RANGE))


def even(n: int, features: int, odds: Callable[[Floats], Floats]) -> Split:
    """Return the same of features spread evenly from 0 to 1."""
    return split(np.random.default_rng(8).random((2 * n, features)), odds, hr.Numeric(0, 1))


def split(X: Floats, odds: Callable[[Floats], Floats], kind: hr.Numeric) -> Split:
    generator, n = np.random.default_rng(9), len(X) // 2
    y = (generator.random(len(X)) < 1 / (1 + np.exp(-odds(X)))).astype(int)
    schema = hr.Schema({f"f{i}": kind for i in range(X.shape[1])}, classes=[0, 1])
    return schema, X[:n], X[n:], y[:n], y[n:]


def all_alike(X: Floats) -> Floats:
    """Log-odds to which all features add the same small weight."""
    return 0.8 * X.sum(axis=1)


def variances(X: Floats) -> Floats:
    """Log-odds to which the squares of all features add the same small weight."""
    return 0.6 * (X**2 - 1).sum(axis=1)


def few(X: Floats) -> Floats:
    """Log-odds of two features of the twenty, as strong together as the twenty are in ``all_alike``."""
    return 0.8 * (FEATURES / 2) ** 0.5 * X[:, :2].sum(axis=1)


def xor(X: Floats) -> Floats:
    """Log-odds of the exclusive or of two features, and a little of a third."""
    return 4.0 * ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)) - 2 + X[:, 2] - 0.5


def threshold_in_a_group(X: Floats) -> Floats:
    """Log-odds of a threshold that counts in one half of the records, by another feature, and a little of a third."""
    return np.where(X[:, 0] < 0.5, 5.0 * (X[:, 1] > 0.6) - 2, 0.0) + 2 * (X[:, 2] - 0.5)


def checkerboard(X: Floats) -> Floats:
    """Log-odds of a board of four by four fields."""
    fields = np.floor(4 * X[:, 0]) + np.floor(4 * X[:, 1])
    return 4.0 * (fields % 2) - 2


SHAPES: dict[str, tuple[str, Callable[[], Split]]] = {
    "dense5k": ("20 alike, 5 000 records", partial(normal, 5_000, all_alike)),
    "dense50k": ("20 alike, 50 000", partial(normal, 50_000, all_alike)),
    "variances5k": ("20 alike by variance, 5 000", partial(normal, 5_000, variances)),
    "variances50k": ("20 alike by variance, 50 000", partial(normal, 50_000, variances)),
    "sparse5k": ("2 of 20, 5 000", partial(normal, 5_000, few)),
    "sparse50k": ("2 of 20, 50 000", partial(normal, 50_000, few)),
    "xor": ("exclusive or, 20 000", partial(even, 20_000, 10, xor)),
    "threshold": ("threshold in a group, 20 000", partial(even, 20_000, 10, threshold_in_a_group)),
    "checkerboard": ("checkerboard, 20 000", partial(even, 20_000, 10, checkerboard)),
}
