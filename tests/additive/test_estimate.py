"""From noisy sums to steps: posteriors beside their definitions, and what several visits of a feature say together."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

import hedgerow as hr
from hedgerow.additive import estimate
from hedgerow.additive.estimate import (
    COMMON,
    STEP_SDS,
    Prior,
    Visits,
    denoised,
    estimated,
)

BINS, LEVEL, NOISE = 16, 200.0, 40.0
CURVE = np.append(np.linspace(-1, 1, BINS - 1), 0)[:, None]


# One round.


def exact(gradient, curvature, variance, priors):
    """Return log likelihoods of one curve's gradients above that of no step, and posterior means, by the normal laws."""
    likely, means = [], []
    for prior in priors:
        law = np.diag(curvature) @ prior @ np.diag(curvature) + np.diag(variance)
        none = multivariate_normal(np.zeros(len(gradient)), np.diag(variance)).logpdf(gradient)
        likely.append(multivariate_normal(np.zeros(len(gradient)), law, allow_singular=True).logpdf(gradient) - none)
        means.append(prior @ np.diag(curvature) @ np.linalg.solve(law, gradient))
    return np.array(likely), np.array(means)


def independent(codes):
    return [spread**2 * np.eye(codes) + COMMON**2 for spread in STEP_SDS]


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("cells", [1, 3])
def test_likelihoods_and_means_of_cells_are_those_of_normal_laws(cells, numeric):
    generator, codes = np.random.default_rng(1), 6
    curvature, variance = generator.uniform(5, 40, (cells, codes)), generator.uniform(1, 90, (cells, codes))
    gradient = generator.normal(0, 9, (cells, codes))
    of_all = estimate._of_cells(
        (curvature**2 / variance)[..., None], (curvature * gradient / variance)[..., None], numeric, estimate.LOG_ODDS
    )
    priors = list(estimate._priors(codes)) if numeric else independent(codes)
    each = [exact(gradient[cell], curvature[cell], variance[cell], priors) for cell in range(cells)]
    likely = sum(found for found, _ in each)  # one prior for all cells
    assert of_all[0][0] == pytest.approx(logsumexp(likely) - np.log(len(priors)))
    together = np.stack([softmax(likely) @ means for _, means in each])
    np.testing.assert_allclose(of_all[1][..., 0], together, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("numeric", [True, False])
def test_the_likelihood_of_a_shared_curve_is_that_of_a_normal_law(numeric):
    """Steps are a curve that all cells share, whose prior has no common part, and a constant of each cell."""
    generator, cells, codes = np.random.default_rng(2), 4, 6
    curvature, variance = generator.uniform(5, 40, (2, cells, codes)), generator.uniform(1, 90, (2, cells, codes))
    gradient = generator.normal(0, 9, (2, cells, codes))
    precision, weighted_step = (np.moveaxis(part / variance, 0, 2) for part in (curvature**2, curvature * gradient))
    constants = COMMON**2 * np.kron(np.eye(cells), np.ones((codes, codes)))
    priors = [
        np.tile(prior - COMMON**2, (cells, cells)) + constants
        for prior in (estimate._priors(codes) if numeric else independent(codes))
    ]
    expected = 0.0
    for column in range(2):
        likely, _ = exact(gradient[column].ravel(), curvature[column].ravel(), variance[column].ravel(), priors)
        expected += logsumexp(likely) - np.log(len(priors))
    found = estimate._log_likelihood_of_shared_curve(precision, weighted_step, numeric, estimate.LOG_ODDS)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize(("slope", "depth"), [(0.0, 0), (1.0, 1)])
def test_cells_that_differ_by_a_level_alone_have_no_depth(slope, depth, numeric):
    steps = np.stack([CURVE + 0.5, CURVE * (1 - 2 * slope) - 0.5])
    curvature = np.full(steps.shape, LEVEL)
    found = estimated(curvature * steps, curvature, NOISE / 10, NOISE / 10, numeric=numeric)
    assert np.argmax(found.evidence) == 1
    assert found.depth == depth


def test_priors_are_laws_of_steps_that_share_a_part_and_depend_less_the_further_apart_they_are():
    priors = estimate._priors(12)
    for prior in priors:
        assert np.linalg.eigvalsh(prior).min() > -1e-9
        assert np.array_equal(prior, prior.T)
        assert (np.diff(prior[0, :-1]) <= 0).all()
        assert prior[0, -1] == COMMON**2  # missing cells share no more
    assert len({prior.tobytes() for prior in priors}) == len(priors)
    assert sorted({round(float(prior[0, 0] - COMMON**2), 9) for prior in priors}) == [spread**2 for spread in STEP_SDS]


def test_both_ways_agree_where_steps_are_independent(monkeypatch):
    generator, codes = np.random.default_rng(1), 7
    root, scaled = generator.uniform(0, 3, (5, codes)), generator.normal(0, 2, (5, codes))
    monkeypatch.setattr(estimate, "_priors", lambda codes, prior: np.stack(independent(codes)))
    for dependent, other in zip(estimate._dependent(root, scaled), estimate._independent(root, scaled), strict=True):
        np.testing.assert_allclose(dependent, other)


@pytest.mark.parametrize("numeric", [True, False])
def test_evidence_of_each_depth_is_that_of_the_sums_of_its_cells(numeric):
    """The cells of the cuts that tell nothing apart are taken together; the steps are means by the posterior of the depths."""
    generator = np.random.default_rng(2)
    gradient, curvature = generator.normal(0, 40, (4, 5, 2)), generator.uniform(50, 300, (4, 5, 2))
    found = estimated(gradient, curvature, NOISE, 1e-9, numeric=numeric)
    variance = NOISE**2 + curvature
    weight, pull = curvature**2 / variance, curvature * gradient / variance
    steps = np.zeros((4, 5, 2))
    for depth, part in enumerate(softmax(found.evidence)):
        cells = [np.flatnonzero(np.arange(4) >> 2 - depth == cell) for cell in range(1 << depth)]
        likely, means = estimate._of_cells(
            np.stack([weight[own].sum(axis=0) for own in cells]),
            np.stack([pull[own].sum(axis=0) for own in cells]),
            numeric,
            estimate.LOG_ODDS,
        )
        assert found.evidence[depth] == pytest.approx(likely.sum())
        for own, mean in zip(cells, means, strict=True):
            steps[own] += part * mean
    np.testing.assert_allclose(found.steps, steps, rtol=1e-6)


def test_evidence_says_how_many_cuts_tell_cells_apart():
    generator, curvature = np.random.default_rng(3), np.full((8, 6, 1), 300.0)
    for depth in range(4):
        own = np.repeat(generator.normal(0, 1, (1 << depth, 6, 1)), 8 >> depth, axis=0)
        gradient = curvature * own + generator.normal(0, 10, own.shape)
        assert estimated(gradient, curvature, 10.0, 1.0, numeric=False).evidence.argmax() == depth


def test_steps_without_noise_are_newtons():
    gradient, curvature = np.array([[[3000.0], [-2000.0]]]), np.array([[[6000.0], [4000.0]]])
    steps = estimated(gradient, curvature, 1e-9, 1e-9, numeric=False).steps
    assert steps[0, :, 0] == pytest.approx([0.5, -0.5], rel=1e-2)


def test_the_sums_say_how_far_steps_spread():
    generator = np.random.default_rng(2)
    curvature = np.full((1, 300, 1), 50.0)
    for spread in (0.25, 2.0):
        true = generator.normal(0, spread, curvature.shape)
        gradient = curvature * true + generator.normal(0, np.sqrt(50 + 100), curvature.shape)
        steps = estimated(gradient, curvature, 10.0, 1.0, numeric=False).steps
        wrong = Prior((2.0 if spread < 1 else 0.25,), COMMON)
        other = estimated(gradient, curvature, 10.0, 1.0, numeric=False, prior=wrong).steps
        assert ((steps - true) ** 2).mean() < 0.9 * ((other - true) ** 2).mean()


def test_steps_shrink_with_the_noise_and_lean_on_their_neighbors():
    gradient, curvature = np.array([[[5.0], [5.0], [5.0], [0.0]]]), np.full((1, 4, 1), 10.0)
    quiet = estimated(gradient, curvature, 0.1, 0.1, numeric=True).steps
    loud = estimated(gradient, curvature, 100.0, 100.0, numeric=True).steps
    assert np.abs(loud).max() < 0.1 < np.abs(quiet[0, :3]).min()
    spike = np.array([[[0.0], [9.0], [0.0], [0.0]]])
    near, alone = (estimated(spike, curvature, 5.0, 0.1, numeric=numeric).steps[0] for numeric in (True, False))
    assert 0 < near[0, 0] < near[1, 0] < alone[1, 0]


@pytest.mark.parametrize("columns", [1, 3])
def test_curvatures_below_their_noise_are_taken_back_to_the_mean(columns):
    generator = np.random.default_rng(4)
    noise = generator.normal(0, 5, (4, 50, columns))
    alike = denoised(100 + noise, 5.0)
    assert np.abs(alike - 100).mean() < np.abs(noise).mean() / 4
    apart = np.where(np.arange(200).reshape(4, 50, 1) % 2, 100.0, 900.0) + noise
    np.testing.assert_allclose(denoised(apart, 5.0), apart, atol=1)
    assert (denoised(-100 + noise, 5.0) >= 0).all()


@pytest.mark.parametrize("cells", [1, 4, 32])
@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize("size", [0.0, 1e-3, 1e12])
def test_steps_of_any_sums_are_finite(size, numeric, cells):
    generator = np.random.default_rng(5)
    for codes in (2, 3, 41):
        gradient, curvature = size * generator.normal(size=(2, cells, codes, 2))
        for noise in (1e-6, 1.0, 1e12):
            found = estimated(gradient, curvature, noise, noise / 2, numeric=numeric)
            assert np.isfinite(found.steps).all()
            assert np.isfinite(found.evidence).all()
            assert found.steps.shape == gradient.shape
            assert found.evidence.shape == (cells.bit_length(),)


# Several visits.


def visited(generator, number, curve=lambda visit: CURVE, visits=None):
    """Return a feature's curve after so many visits, and those that still count."""
    visits = visits or Visits()
    said, curvature = np.zeros_like(CURVE), np.full_like(CURVE, LEVEL)
    for visit in range(number):
        gradient = LEVEL * (curve(visit) - said) + generator.normal(0, NOISE, CURVE.shape)
        _, steps = visits.steps(0, (gradient, curvature), (NOISE, NOISE / 4), said, numeric=True)
        said = said + steps
    return said, visits._pools[0]


@pytest.mark.parametrize("numeric", [True, False])
def test_a_first_visit_is_its_own_step(numeric):
    generator = np.random.default_rng(0)
    gradient, curvature = generator.normal(0, 50, (BINS, 3)), generator.uniform(50, 300, (BINS, 3))
    alone, steps = Visits().steps(2, (gradient, curvature), (NOISE, 10.0), np.zeros((BINS, 3)), numeric=numeric)
    expected = estimated(gradient[None], curvature[None], NOISE, 10.0, numeric=numeric)
    np.testing.assert_array_equal(steps, expected.steps[0])
    np.testing.assert_array_equal(alone.evidence, expected.evidence)


def test_noise_is_averaged_over_visits():
    """Eight visits leave less than half of the variance that one leaves; steps by themselves take most noise anew."""
    generator = np.random.default_rng(1)

    def error(number):
        return np.mean([(visited(generator, number)[0] - CURVE) ** 2 for _ in range(60)])

    assert error(8) < 0.5 * error(1)


def test_visits_are_those_of_one_feature():
    generator, visits = np.random.default_rng(2), Visits()
    gradient, curvature = generator.normal(0, 50, CURVE.shape), np.full_like(CURVE, LEVEL)
    for feature in range(3):
        alone, steps = visits.steps(feature, (gradient, curvature), (NOISE, 10.0), np.zeros_like(CURVE), numeric=True)
        np.testing.assert_array_equal(steps, alone.steps[0])


def test_a_curve_that_moved_is_not_averaged():
    """Where other features took a part of the curve over, the earlier visits say what is no longer so."""
    generator = np.random.default_rng(3)
    assert len(visited(generator, 4)[1]) == 4
    said, pool = visited(generator, 4, lambda visit: CURVE if visit < 3 else -2 * CURVE)
    assert len(pool) == 1
    assert np.abs(said + 2 * CURVE).mean() < 0.3


def test_after_a_curve_moved_visits_count_together_from_there():
    assert len(visited(np.random.default_rng(4), 4, lambda visit: CURVE if visit < 2 else -2 * CURVE)[1]) == 2


@pytest.mark.parametrize("columns", [1, 3])
def test_trust_follows_the_odds_of_one_curve_against_two(columns):
    """Beside the normal laws: gradients of both visits of one curve, or the last of a curve of its own."""
    generator, codes, level, noise = np.random.default_rng(6), 5, 80.0, 15.0
    true = generator.normal(0, 0.4, (codes, columns))
    for moved in (0.0, 0.2):
        given = level * (true + moved * np.arange(2)[:, None, None]) + generator.normal(0, noise, (2, codes, columns))
        pool = [
            estimate.Visit(gradient, np.full((codes, columns), level), np.zeros((codes, columns)), noise, 1e-9)
            for gradient in given
        ]
        curve, trust = estimate.as_one_curve(pool, numeric=False)
        variance = noise**2 + np.array([[level, level], [level, level]])  # sampling is the same in both visits
        variance[0, 1] = variance[1, 0] = level
        for k in range(columns):
            odds, curves = [], []
            for prior in independent(codes):
                both = np.kron(np.ones((2, 2)), level**2 * prior) + np.kron(
                    np.array([[noise**2 + level, level], [level, noise**2 + level]]), np.eye(codes)
                )
                odds.append(multivariate_normal(np.zeros(2 * codes), both).logpdf(given[..., k].ravel()))
                curves.append(level * np.hstack([prior, prior]) @ np.linalg.solve(both, given[..., k].ravel()))
            one = logsumexp(odds) - np.log(len(odds))
            np.testing.assert_allclose(curve[:, k], softmax(odds) @ np.array(curves), rtol=1e-6, atol=1e-9)

            def of(gradient):
                law = [level**2 * prior + (noise**2 + level) * np.eye(codes) for prior in independent(codes)]
                each = [multivariate_normal(np.zeros(codes), own).logpdf(gradient) for own in law]
                return logsumexp(each) - np.log(len(each))

            two = of(given[0, :, k]) + of(given[1, :, k])
            assert np.log(trust[k]) - np.log1p(-trust[k]) == pytest.approx(one - two, abs=1e-6)


@pytest.mark.parametrize("weights", [None, {0: 1, 1: 5}], ids=["alike", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_a_fit_says_of_visits_follows_from_the_terms_that_it_keeps(classes, weights, monkeypatch):
    """What the model starts at, the classes' shares or weights, is no part of what a visit of a feature moves back."""
    generator, said = np.random.default_rng(5), []
    X = generator.random((4000, 3))
    y = (X.sum(axis=1) * classes / 3).astype(int)
    schema = hr.Schema({f"f{i}": hr.Numeric(0, 1) for i in range(3)}, classes=list(range(classes)))
    steps = Visits.steps

    def recorded(self, feature, sums, noise, before, **named):
        said.append((feature, before))
        return steps(self, feature, sums, noise, before, **named)

    monkeypatch.setattr(Visits, "steps", recorded)
    learner = hr.HedgerowClassifier(
        4.0,
        delta=1e-6,
        schema=schema,
        n_estimators=10,
        random_state=0,
        class_weight=weights and {label: weights.get(label, 1) for label in range(classes)},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = learner.fit(X, y).model_
    curves, visits = {}, iter(said)
    for term in model.terms:
        if not term.cuts:
            feature, before = next(visits)
            assert feature == term.feature[0]
            np.testing.assert_array_equal(before * 512, curves.get(feature, np.zeros_like(term.votes[0])))
            curves[feature] = curves.get(feature, 0) + term.votes[0]
    assert next(visits, None) is None
    assert len(said) > len(curves) > 1
