"""Rounds that come back to a feature: what they say together."""

import warnings

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.boosting.curves import _visits, pieces_of
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.steps import splits_of
from hedgerow.boosting.visits import Visits
from hedgerow.schema import Encoder

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


@pytest.mark.parametrize("weights", [None, {0: 1, 1: 5}], ids=["alike", "weighted"])
@pytest.mark.parametrize(("records", "epsilon"), [(4000, 4.0), (300, 0.5)])
@pytest.mark.parametrize("classes", [2, 3])
def test_visits_are_worked_out_again_from_the_sums_that_a_model_keeps(classes, records, epsilon, weights, monkeypatch):
    """Bands rest on it. What the model starts at, the classes' shares or weights, is no part of what a round added."""
    generator, fitted = np.random.default_rng(5), []
    X = generator.random((records, 3))
    y = (X.sum(axis=1) * classes / 3).astype(int)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(3)}, classes=list(range(classes)))
    visit = Visits.visit

    def recorded(self, feature, *given, **named):
        fitted.append((feature, visit(self, feature, *given, **named)))
        return fitted[-1][1]

    monkeypatch.setattr(Visits, "visit", recorded)
    weights = weights and {label: weights.get(label, 1) for label in range(classes)}
    learner = hr.HedgerowClassifier(
        epsilon, delta=1e-6, schema=schema, n_estimators=10, random_state=0, class_weight=weights
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = learner.fit(X, y).model_
    monkeypatch.undo()
    again = []
    for feature in range(3):
        pieces = [piece for piece in pieces_of(model) if not piece.cuts and piece.feature == feature]
        again += [(feature, found) for found in _visits(model, pieces, 1 if classes == 2 else classes)]
    fitted.sort(key=lambda pair: pair[0])
    assert len(fitted) == len(again) > 3
    for (feature, before), (same, after) in zip(fitted, again, strict=True):
        assert feature == same
        assert before.number == after.number
        np.testing.assert_allclose(after.trust, before.trust, atol=0.02)
        np.testing.assert_allclose(after.steps, before.steps, atol=0.02)
    assert any(visit.number > 1 for _, visit in again)


@pytest.mark.parametrize("classes", [1, 3])
def test_what_a_step_leaves_is_what_it_does_not_reach_less_the_noise(classes):
    generator, shape = np.random.default_rng(4), (BINS, classes)
    curvature, steps = np.full(shape, LEVEL), generator.normal(0, 1, shape)
    true = generator.normal(0, 3 * NOISE, shape)
    exact = Visits(Smoothing(), 1e-6, 1e-6)
    exact.leave(1, LEVEL * steps + true, curvature, steps)
    np.testing.assert_allclose(exact.left(3), [0, np.abs(true).sum(), 0])
    exact.leave(1, LEVEL * steps, curvature, steps)
    np.testing.assert_allclose(exact.left(2), [0, 0], atol=1e-6)  # the last step counts

    noisy, found = Visits(Smoothing(), NOISE, 1e-6), []
    for _ in range(400):
        noisy.leave(0, LEVEL * steps + true + generator.normal(0, NOISE, shape), curvature, steps)
        found.append(noisy.left(1)[0])
    assert np.mean(found) == pytest.approx(np.abs(true).sum(), rel=0.03)
    noisy.leave(0, LEVEL * steps + 0.1 * NOISE, curvature, steps)
    assert noisy.left(1)[0] == 0  # less than the noise adds by itself


def test_what_a_splits_step_leaves_counts_for_this_split_alone():
    schema = hr.Schema({name: hr.Categorical(["x", "y"]) for name in "abc"}, classes=["no", "yes"])
    splits, visits = splits_of(Encoder(schema, 4), [0, 1]), Visits(Smoothing(), 1e-6, 1e-6)
    known = splits[3]
    gradient = np.arange(8.0)[:, None]
    visits.leave(known, gradient, np.ones((8, 1)), np.zeros((8, 1)))
    np.testing.assert_allclose(visits.left_of(splits), [28.0 * (number == 3) for number in range(len(splits))])
    assert visits.left(3).tolist() == [0, 0, 0]
    others = splits_of(Encoder(schema, 4), [2, known.cuts[0].by])
    found = visits.left_of(others)
    assert [others[number].key == known.key for number in range(len(others))] == (found > 0).tolist()
    assert found.sum() == pytest.approx(28)


def test_the_last_split_counts_by_how_many_times_chance_its_score_was():
    schema = hr.Schema({name: hr.Categorical(["x", "y"]) for name in "abc"}, classes=["no", "yes"])
    splits, visits = splits_of(Encoder(schema, 4), [0, 1]), Visits(Smoothing(), 1e-6, 1e-6)
    assert visits.last_split == 0
    gradient, curvature, steps = np.arange(8.0)[:, None], np.full((8, 1), 9.0), np.zeros((8, 1))
    visits.leave(splits[3], gradient, curvature, steps)
    assert visits.last_split == pytest.approx(28 / (8 * 3 * np.sqrt(2 / np.pi)))
    visits.leave(0, 5 * gradient, curvature, steps)
    assert visits.last_split == pytest.approx(28 / (8 * 3 * np.sqrt(2 / np.pi)))  # a feature says nothing of splits
    visits.leave(splits[2], gradient / 2, curvature, steps)
    assert visits.last_split == pytest.approx(14 / (8 * 3 * np.sqrt(2 / np.pi)))
    noisy, generator = Visits(Smoothing(), NOISE, 1e-6), np.random.default_rng(7)
    noisy.leave(splits[3], generator.normal(0, 0.1 * NOISE, (8, 1)), curvature, steps)
    assert noisy.last_split == 0  # all of it may be noise
