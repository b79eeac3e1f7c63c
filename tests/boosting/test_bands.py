"""Errors of a curve against what moving each noisy sum does to it."""

import numpy as np
import pytest

from hedgerow.boosting.bands import Errors
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.visits import Visits

BINS, LEVEL, NOISE = 6, 300.0, 30.0


def curve_after(noises, found, seen):
    """Return how a curve moves when the gradients of its visits ``seen`` have these errors, and follow it by so much.

    Trust and the weights of the priors stay as they were, as bands take them.
    """
    said = np.zeros((BINS, 1))
    moved = np.zeros((BINS, 1))
    pool, before = [], said
    for visit, noise in zip(seen, noises, strict=True):
        gradient = visit["gradient"] + noise - found * LEVEL * moved
        if visit["number"] == 1:
            pool, before = [], moved
        pool.append(gradient + LEVEL * (moved - before))
        own = visit["own"] @ gradient
        mean = visit["mean"] @ np.mean(pool, axis=0) - (moved - before)
        base = visit["own"] @ visit["gradient"], visit["base"]
        step = (1 - visit["trust"]) * (own - base[0]) + visit["trust"] * (mean - base[1])
        if visit["anew"]:
            pool, before = [gradient], moved
        moved = moved + step
    return moved


@pytest.mark.parametrize("numeric", [True, False])
def test_errors_are_what_each_noisy_sum_does_to_the_curve(numeric):
    generator, smoothing = np.random.default_rng(0), Smoothing()
    visits, said, seen = Visits(smoothing, NOISE, 1e-6), np.zeros((BINS, 1)), []
    errors = Errors(BINS, 5 * BINS, 0.6)
    level, curve = np.full((BINS, 1), LEVEL), np.linspace(-1, 1, BINS)[:, None]
    pool = []
    for number in range(5):
        wanted = curve if number < 3 else -curve  # so that counting begins anew once
        gradient = LEVEL * (wanted - said) + generator.normal(0, NOISE, (BINS, 1))
        visit = visits.visit(0, gradient, level, said, numeric=numeric)
        root = np.sqrt(visit.number)
        (own,), _ = smoothing.gains(gradient, level, NOISE, 1e-6, numeric)
        (mean,), _ = smoothing.gains(visit.gradient, level, NOISE / root, 1e-6 / root, numeric)
        pool = [gradient] if visit.number == 1 else [*pool, gradient]
        seen.append(
            {
                "gradient": gradient,
                "number": visit.number,
                "own": own,
                "mean": mean,
                "trust": float(visit.trust[0]),
                "anew": visit.anew,
                "base": mean @ np.mean(pool, axis=0),
            }
        )
        if visit.anew:
            pool = [gradient]
        cut = np.zeros(BINS, dtype=bool)
        errors.visited(
            (own, mean),
            level[:, 0],
            np.full(BINS, NOISE**2),
            number=visit.number,
            trust=seen[-1]["trust"],
            anew=visit.anew,
            cut=cut,
            averages=None,
        )
        said = said + visit.steps
    assert any(visit["anew"] for visit in seen)
    assert max(visit["number"] for visit in seen) >= 3
    columns = []
    for place in range(5 * BINS):
        noises = np.zeros(5 * BINS)
        noises[place] = NOISE
        columns.append(curve_after(noises.reshape(5, BINS, 1), 0.6, seen)[:, 0])
    by_hand = np.array(columns).T
    mass = np.full(BINS, 1 / BINS)
    expected = ((by_hand - mass @ by_hand) ** 2).sum(axis=1)
    np.testing.assert_allclose(errors.variance(mass), expected, rtol=1e-9)
