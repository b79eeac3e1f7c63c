"""Sides of a cut that may only rise or fall: where they are out of order they meet at the mean that records weigh."""

import numpy as np
import pytest

from hedgerow.boosting.monotone import Monotone, averages_of, cell_weights
from hedgerow.boosting.steps import Step
from hedgerow.curator import Cut

SIDE = np.array([0, 0, 1, 1, 1])  # the last code stands for missing cells
WEIGHTS = {"even": (50, 50), "nine times the first": (90, 10), "nine times the second": (10, 90)}


def step(first, second, weights):
    """A step of one cut and a feature of two cells and missing ones, with so much curvature on each side."""
    second_class = np.array([[first] * 3, [second] * 3])
    sums = np.array([[0, weight] for weight in weights for _ in range(3)], dtype=np.int64)
    votes = np.stack([-second_class, second_class], axis=2)
    return Step((Cut(1, SIDE),), 0, votes, np.arange(3), sums)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("own", [-1, 0, 1])
@pytest.mark.parametrize("across", [-1, 1])
def test_sides_meet_at_their_weighted_mean(across, own, weights):
    one, other = WEIGHTS[weights]
    low, high = (100_000, -100_000) if across > 0 else (-100_000, 100_000)  # out of order
    found = Monotone((own, across)).projected(step(low, high, (one, other)), []).votes[:, :, 1]
    expected = (one * low + other * high) / (one + other)
    assert np.abs(found - expected).max() <= 1


@pytest.mark.parametrize("across", [-1, 1])
def test_sides_that_are_in_order_stay(across):
    given = step(-across * 500, across * 500, (90, 10))
    assert np.array_equal(Monotone((0, across)).projected(given, []).votes, given.votes)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("own", [-1, 0, 1])
@pytest.mark.parametrize("across", [-1, 1])
def test_errors_of_sides_that_met_are_those_of_their_weighted_mean(across, own, weights):
    """What is worked out of noise follows what the projection does to it, for any weights and either direction."""
    generator = np.random.default_rng(7)
    low, high = (10**8, -(10**8)) if across > 0 else (-(10**8), 10**8)
    given = step(low, high, WEIGHTS[weights])
    kept = cell_weights(given.sums).reshape(2, 3)
    signs = Monotone((own, across))
    before = signs.projected(given, []).votes[:, :, 1]
    averages = averages_of(given.votes[:, :, 1].astype(float), kept, own, across)
    for _ in range(20):
        noise = np.repeat(generator.integers(-1000, 1000, (2, 1)), 3, axis=1)  # cells of a side stay alike
        moved = given.votes[:, :, 1] + noise
        after = signs.projected(step(moved[0, 0], moved[1, 0], WEIGHTS[weights]), []).votes[:, :, 1]
        np.testing.assert_allclose((after - before).ravel(), averages @ noise.ravel(), atol=2)
