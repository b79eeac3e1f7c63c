"""Rounds that come back to a feature: what they say together."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.boosting.plan import columns_of, lead
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.visits import Visits
from hedgerow.boosting.weights import VOTE_STEPS

BINS, LEVEL, NOISE = 16, 200.0, 40.0
CURVE = np.append(np.linspace(-1, 1, BINS - 1), 0)[:, None]


def visited(generator, number, curve=lambda visit: CURVE, visits=None):
    """Return a feature's curve after so many visits, and the last of them."""
    visits = visits or Visits(Smoothing(), NOISE, NOISE / 4)
    said = np.zeros_like(CURVE)
    for visit in range(number):
        gradient = LEVEL * (curve(visit) - said) + generator.normal(0, NOISE, CURVE.shape)
        found = visits.visit(0, gradient, np.full_like(CURVE, LEVEL), said, numeric=True)
        said = said + found.steps
    return said, found


@pytest.mark.parametrize("numeric", [True, False])
def test_a_first_visit_is_its_own_step(numeric):
    generator = np.random.default_rng(0)
    gradient, curvature = generator.normal(0, 50, (BINS, 3)), generator.uniform(50, 300, (BINS, 3))
    found = Visits(Smoothing(), NOISE, 10.0).visit(2, gradient, curvature, np.zeros((BINS, 3)), numeric=numeric)
    np.testing.assert_array_equal(found.steps, Smoothing().steps(gradient, curvature, NOISE, 10.0, numeric))
    assert found.number == 1


def test_noise_is_averaged_over_visits():
    """Eight visits leave less than half of the variance that one leaves; steps by themselves take most noise anew."""
    generator = np.random.default_rng(1)

    def error(number):
        return np.mean([(visited(generator, number)[0] - CURVE) ** 2 for _ in range(60)])

    assert error(8) < 0.5 * error(1)


def test_visits_are_those_of_one_feature():
    generator, visits = np.random.default_rng(2), Visits(Smoothing(), NOISE, 10.0)
    gradient = generator.normal(0, 50, CURVE.shape)
    for feature in range(3):
        found = visits.visit(feature, gradient, np.full_like(CURVE, LEVEL), np.zeros_like(CURVE), numeric=True)
        assert found.number == 1


def test_a_curve_that_moved_is_not_averaged():
    """Where other features took a part of the curve over, the earlier visits say what is no longer so."""
    generator = np.random.default_rng(3)
    _, still = visited(generator, 4)
    assert still.number == 4
    assert still.trust[0] > 0.9
    said, moved = visited(generator, 4, lambda visit: CURVE if visit < 3 else -2 * CURVE)
    assert moved.trust[0] < 0.01
    assert moved.anew
    assert np.abs(said + 2 * CURVE).mean() < 0.3


def test_after_a_curve_moved_visits_count_together_from_there():
    generator = np.random.default_rng(4)
    visits = Visits(Smoothing(), NOISE, 10.0)
    visited(generator, 3, lambda visit: CURVE if visit < 2 else -2 * CURVE, visits)
    gradient = generator.normal(0, NOISE, CURVE.shape)
    assert visits.visit(0, gradient, np.full_like(CURVE, LEVEL), -2 * CURVE, numeric=True).number == 2


@pytest.mark.parametrize("classes", [2, 3])
def test_votes_of_a_fit_follow_from_the_sums_that_it_keeps(classes):
    """A round on a feature uses what was released of it and nothing else: the kept sums give its votes again."""
    generator = np.random.default_rng(5)
    X = generator.random((4000, 3))
    y = (X.sum(axis=1) * classes / 3).astype(int)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(3)}, classes=list(range(classes)))
    model = hr.HedgerowClassifier(4.0, delta=1e-6, schema=schema, n_estimators=10, random_state=0).fit(X, y).model_
    visits = Visits(model.smoothing, *model.measured.deviations)
    said = {
        feature: np.zeros((int(n), 1 if classes == 2 else classes)) for feature, n in enumerate(model.encoder.n_codes)
    }
    again, share = 0, model.whole_votes()[0] / VOTE_STEPS
    for _, feature, firsts in model.rounds():
        leaves = np.arange(firsts[0], firsts[0] + len(said[feature]))
        gradient, curvature = model.measured.of_cells(model.measured.cell[leaves])
        found = visits.visit(feature, gradient, curvature, said[feature], numeric=True)
        steps = np.clip(found.steps, -2, 2) if classes == 2 else np.clip(found.steps, -1, 1)
        steps = steps if classes == 2 else steps - steps.mean(axis=1, keepdims=True)
        kept = columns_of(lead(share[leaves]))
        # Votes are cut to whole steps.
        np.testing.assert_allclose(kept, steps, atol=2 / VOTE_STEPS + 1e-3)
        said[feature] = said[feature] + kept
        again += found.number > 1
    assert again >= 5
