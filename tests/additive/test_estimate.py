"""From noisy sums to steps: posteriors beside their definitions, and what several visits of a feature say together."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

import hedgerow as hr
from hedgerow.additive import estimate
from hedgerow.additive.estimate import (
    COMMON,
    STEP_SDS,
    Information,
    Measured,
    Prior,
    Visits,
    denoised,
    estimated,
)
from hedgerow.mechanisms import broad_basis
from hedgerow.parameters import UNIT

BINS, LEVEL, NOISE = 16, 200.0, 40.0
CURVE = np.append(np.linspace(-1, 1, BINS - 1), 0)[:, None]


# One round.


def exact(gradient, curvature, covariance, priors):
    """Return log likelihoods of one curve's gradients above that of no step, and posterior means, by the normal laws."""
    likely, means = [], []
    for prior in priors:
        law = np.diag(curvature) @ prior @ np.diag(curvature) + covariance
        none = multivariate_normal(np.zeros(len(gradient)), covariance).logpdf(gradient)
        likely.append(multivariate_normal(np.zeros(len(gradient)), law, allow_singular=True).logpdf(gradient) - none)
        means.append(prior @ np.diag(curvature) @ np.linalg.solve(law, gradient))
    return np.array(likely), np.array(means)


def independent(codes):
    return [spread**2 * np.eye(codes) + COMMON**2 for spread in STEP_SDS]


KINDS = {"numeric": (True, None), "category": (False, None), "numeric in a basis": (True, broad_basis(6).covariance)}
NOISES = pytest.mark.parametrize(("numeric", "covariance"), KINDS.values(), ids=list(KINDS))


@NOISES
@pytest.mark.parametrize("cells", [1, 3])
def test_likelihoods_and_means_of_cells_are_those_of_normal_laws(cells, numeric, covariance):
    generator, codes, noise = np.random.default_rng(1), 6, 30.0
    curvature, gradient = generator.uniform(5, 40, (cells, codes)), generator.normal(0, 9, (cells, codes))
    information = Information.of(gradient[..., None], curvature[..., None], noise, covariance)
    of_all = estimate._of_cells(information, numeric, estimate.LOG_ODDS)
    priors = list(estimate._priors(codes, estimate.LOG_ODDS)) if numeric else independent(codes)
    of_noise = noise * (np.eye(codes) if covariance is None else covariance)
    each = [
        exact(own, level, of_noise + np.diag(level), priors) for own, level in zip(gradient, curvature, strict=True)
    ]
    likely = sum(found for found, _ in each)  # one prior for all cells
    assert of_all[0][0] == pytest.approx(logsumexp(likely) - np.log(len(priors)))
    together = np.stack([softmax(likely) @ means for _, means in each])
    np.testing.assert_allclose(of_all[1][..., 0], together, rtol=1e-6, atol=1e-7)


@NOISES
def test_the_likelihood_of_a_shared_curve_is_that_of_a_normal_law(numeric, covariance):
    """Steps are a curve that all cells share, whose prior has no common part, and a constant of each cell."""
    generator, cells, codes, noise = np.random.default_rng(2), 4, 6, 30.0
    gradient, curvature = generator.normal(0, 9, (cells, codes, 2)), generator.uniform(5, 40, (cells, codes, 2))
    information = Information.of(gradient, curvature, noise, covariance)
    constants = COMMON**2 * np.kron(np.eye(cells), np.ones((codes, codes)))
    priors = [
        np.tile(prior - COMMON**2, (cells, cells)) + constants
        for prior in (estimate._priors(codes, estimate.LOG_ODDS) if numeric else independent(codes))
    ]
    of_noise = np.kron(np.eye(cells), noise * (np.eye(codes) if covariance is None else covariance))
    expected = 0.0
    for column in range(2):
        level = curvature[..., column].ravel()
        likely, _ = exact(gradient[..., column].ravel(), level, of_noise + np.diag(level), priors)
        expected += logsumexp(likely) - np.log(len(priors))
    found = estimate._log_likelihood_of_shared_curve(information, numeric, estimate.LOG_ODDS)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize(("slope", "depth"), [(0.0, 0), (1.0, 1)])
def test_cells_that_differ_by_a_level_alone_have_no_depth(slope, depth, numeric):
    steps = np.stack([CURVE + 0.5, CURVE * (1 - 2 * slope) - 0.5])
    curvature = np.full(steps.shape, LEVEL)
    found = estimated(Measured(curvature * steps, curvature, NOISE / 10, NOISE / 10), numeric=numeric)
    assert np.argmax(found.evidence) == 1
    assert found.depth == depth


def test_priors_are_laws_of_steps_that_share_a_part_and_depend_less_the_further_apart_they_are():
    priors = estimate._priors(12, estimate.LOG_ODDS)
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
    own = estimate._dependent(root, scaled, None, (scaled**2).sum(axis=1), estimate.LOG_ODDS)
    for dependent, other in zip(own, estimate._independent(root, scaled, estimate.LOG_ODDS), strict=True):
        np.testing.assert_allclose(dependent, other)


@NOISES
def test_evidence_of_each_depth_is_that_of_the_sums_of_its_cells(numeric, covariance):
    """The cells of the cuts that tell nothing apart are one curve, seen twice; steps are means by the posterior of the depths."""
    generator, codes = np.random.default_rng(2), 6
    gradient, curvature = generator.normal(0, 40, (4, codes, 1)), generator.uniform(50, 300, (4, codes, 1))
    found = estimated(Measured(gradient, curvature, NOISE, 1e-9, covariance), numeric=numeric)
    of_noise = NOISE**2 * (np.eye(codes) if covariance is None else covariance)
    priors, steps = (
        list(estimate._priors(codes, estimate.LOG_ODDS)) if numeric else independent(codes),
        np.zeros((4, codes, 1)),
    )
    for depth, part in enumerate(softmax(found.evidence)):
        likely, means, size = 0.0, [], 4 >> depth
        for cell in range(1 << depth):
            own = slice(cell * size, (cell + 1) * size)
            level = curvature[own, :, 0].ravel()
            shared = [np.tile(prior, (size, size)) for prior in priors]
            total = np.kron(np.eye(size), of_noise) + np.diag(level)
            of_cell, of_codes = exact(gradient[own, :, 0].ravel(), level, total, shared)
            likely, means = likely + of_cell, [*means, of_codes]
        assert found.evidence[depth] == pytest.approx(logsumexp(likely) - np.log(len(priors)))
        for cell, of_codes in enumerate(means):
            steps[cell * size : (cell + 1) * size, :, 0] += part * (softmax(likely) @ of_codes).reshape(size, codes)
    np.testing.assert_allclose(found.steps, steps, rtol=1e-5, atol=1e-7)


def test_evidence_says_how_many_cuts_tell_cells_apart():
    generator, curvature = np.random.default_rng(3), np.full((8, 6, 1), 300.0)
    for depth in range(4):
        own = np.repeat(generator.normal(0, 1, (1 << depth, 6, 1)), 8 >> depth, axis=0)
        gradient = curvature * own + generator.normal(0, 10, own.shape)
        assert estimated(Measured(gradient, curvature, 10.0, 1.0), numeric=False).evidence.argmax() == depth


def test_steps_without_noise_are_newtons():
    gradient, curvature = np.array([[[3000.0], [-2000.0]]]), np.array([[[6000.0], [4000.0]]])
    steps = estimated(Measured(gradient, curvature, 1e-9, 1e-9), numeric=False).steps
    assert steps[0, :, 0] == pytest.approx([0.5, -0.5], rel=1e-2)


def test_the_sums_say_how_far_steps_spread():
    generator = np.random.default_rng(2)
    curvature = np.full((1, 300, 1), 50.0)
    for spread in (0.25, 2.0):
        true = generator.normal(0, spread, curvature.shape)
        gradient = curvature * true + generator.normal(0, np.sqrt(50 + 100), curvature.shape)
        steps = estimated(Measured(gradient, curvature, 10.0, 1.0), numeric=False).steps
        wrong = Prior((2.0 if spread < 1 else 0.25,), COMMON)
        other = estimated(Measured(gradient, curvature, 10.0, 1.0), numeric=False, prior=wrong).steps
        assert ((steps - true) ** 2).mean() < 0.9 * ((other - true) ** 2).mean()


def test_steps_shrink_with_the_noise_and_lean_on_their_neighbors():
    gradient, curvature = np.array([[[5.0], [5.0], [5.0], [0.0]]]), np.full((1, 4, 1), 10.0)
    quiet = estimated(Measured(gradient, curvature, 0.1, 0.1), numeric=True).steps
    loud = estimated(Measured(gradient, curvature, 100.0, 100.0), numeric=True).steps
    assert np.abs(loud).max() < 0.1 < np.abs(quiet[0, :3]).min()
    spike = np.array([[[0.0], [9.0], [0.0], [0.0]]])
    near, alone = (
        estimated(Measured(spike, curvature, 5.0, 0.1), numeric=numeric).steps[0] for numeric in (True, False)
    )
    assert 0 < near[0, 0] < near[1, 0] < alone[1, 0]


@pytest.mark.parametrize("covariance", [None, broad_basis(50).covariance])
@pytest.mark.parametrize("columns", [1, 3])
def test_curvatures_below_their_noise_are_taken_back_to_the_mean(columns, covariance):
    generator = np.random.default_rng(4)
    noise = generator.normal(0, 5, (4, 50, columns))
    if covariance is not None:
        noise = np.einsum("ij,cjk->cik", np.linalg.cholesky(covariance), noise)
    alike = denoised(100 + noise, 5.0, covariance)
    assert np.abs(alike - 100).mean() < np.abs(noise).mean() / 4
    apart = np.where(np.arange(200).reshape(4, 50, 1) % 2, 100.0, 900.0) + noise
    np.testing.assert_allclose(denoised(apart, 5.0, covariance), apart, atol=1)
    assert (denoised(-100 + noise, 5.0, covariance) >= 0).all()


@pytest.mark.parametrize("cells", [1, 4, 32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0.0, 1e-3, 1e12])
def test_steps_of_any_sums_are_finite(size, kind, cells):
    generator = np.random.default_rng(5)
    for codes in (2, 3, 41):
        gradient, curvature = size * generator.normal(size=(2, cells, codes, 2))
        basis = broad_basis(codes) if kind == "numeric in a basis" else None
        for noise in (1e-6, 1.0, 1e12):
            measured = Measured(gradient, curvature, noise, noise / 2, basis and basis.covariance)
            found = estimated(measured, numeric=kind != "category")
            assert np.isfinite(found.steps).all()
            assert np.isfinite(found.evidence).all()
            assert found.steps.shape == gradient.shape


@pytest.mark.parametrize("columns", [1, 2])
def test_steps_by_cell_are_posterior_means_under_the_likeliest_normal_law(columns):
    """Cells have as many groups as their own features need: what pads the shorter ones says nothing."""
    generator, shape = np.random.default_rng(columns), (3, 6, columns)
    used = np.arange(6) < np.array([6, 2, 4])[:, None]
    curvature = generator.uniform(20, 60, shape) * used[..., None]
    true = generator.normal(0, 0.5, (3, 1, columns)) + generator.normal(0, 0.2, shape)
    gradient = (curvature * true + generator.normal(0, 8, shape)) * used[..., None]
    best, expected = -np.inf, None
    for own, level in product(estimate.CELL_SPREADS, estimate.LEVEL_SPREADS):
        likely, means = 0.0, np.zeros(shape)
        for (cell, row), k in product(enumerate(used), range(columns)):
            said, known = gradient[cell, row, k], curvature[cell, row, k]
            prior = COMMON**2 * (own**2 * np.eye(len(known)) + level**2)
            law = np.diag(known) @ prior @ np.diag(known) + np.diag(known + 3.0**2)
            likely += multivariate_normal(np.zeros(len(known)), law).logpdf(said)
            means[cell, row, k] = prior @ np.diag(known) @ np.linalg.solve(law, said)
        if likely > best:
            best, expected = likely, means
    steps = estimate.steps_by_cell(Measured(gradient, curvature, 3.0, 0.0), used)
    np.testing.assert_allclose(steps, expected, rtol=1e-9, atol=1e-12)
    assert np.abs(steps).max() > 0.3


# Several visits.


def visited(generator, number, curve=lambda visit: CURVE, visits=None):
    """Return a feature's curve after so many visits, and those that still count."""
    visits = visits or Visits()
    said, curvature = np.zeros_like(CURVE), np.full_like(CURVE, LEVEL)
    for visit in range(number):
        gradient = LEVEL * (curve(visit) - said) + generator.normal(0, NOISE, CURVE.shape)
        measured = Measured(gradient[None], curvature[None], NOISE, NOISE / 4)
        _, steps = visits.steps(0, measured, said, numeric=True)
        said = said + steps
    return said, visits.pools[0]


@pytest.mark.parametrize("numeric", [True, False])
def test_a_first_visit_is_its_own_step(numeric):
    generator = np.random.default_rng(0)
    gradient, curvature = generator.normal(0, 50, (BINS, 3)), generator.uniform(50, 300, (BINS, 3))
    measured = Measured(gradient[None], curvature[None], NOISE, 10.0)
    alone, steps = Visits().steps(2, measured, np.zeros((BINS, 3)), numeric=numeric)
    expected = estimated(measured, numeric=numeric)
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
    measured = Measured(gradient[None], curvature[None], NOISE, 10.0)
    for feature in range(3):
        alone, steps = visits.steps(feature, measured, np.zeros_like(CURVE), numeric=True)
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


@NOISES
@pytest.mark.parametrize("columns", [1, 3])
def test_trust_follows_the_odds_of_one_curve_against_two(columns, numeric, covariance):
    """Beside the normal laws: gradients of both visits of one curve, or the last of a curve of its own."""
    generator, codes, level, noise = np.random.default_rng(6), 6, 80.0, 15.0
    one_visit = noise**2 * (np.eye(codes) if covariance is None else covariance)
    chance, priors = (
        level * np.eye(codes),
        list(estimate._priors(codes, estimate.LOG_ODDS)) if numeric else independent(codes),
    )
    true = generator.normal(0, 0.4, (codes, columns))
    for moved in (0.0, 0.2):
        given = level * (true + moved * np.arange(2)[:, None, None]) + generator.normal(0, noise, (2, codes, columns))
        pool = [
            estimate.Visit(
                Measured(own[None], np.full((1, codes, columns), level), noise, 1e-9, covariance), np.zeros(own.shape)
            )
            for own in given
        ]
        curve, trust = estimate.as_one_curve(pool, numeric=numeric)
        for k in range(columns):
            odds, curves = [], []
            for prior in priors:  # sampling is the same in both visits
                both = np.kron(np.ones((2, 2)), level**2 * prior + chance) + np.kron(np.eye(2), one_visit)
                odds.append(multivariate_normal(np.zeros(2 * codes), both).logpdf(given[..., k].ravel()))
                curves.append(level * np.hstack([prior, prior]) @ np.linalg.solve(both, given[..., k].ravel()))
            one = logsumexp(odds) - np.log(len(odds))
            np.testing.assert_allclose(curve[:, k], softmax(odds) @ np.array(curves), rtol=1e-6, atol=1e-7)

            def of(gradient):
                law = [level**2 * prior + one_visit + chance for prior in priors]
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

    def recorded(self, feature, measured, before, **named):
        said.append((feature, before))
        return steps(self, feature, measured, before, **named)

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


def test_visits_before_a_renewed_clip_are_told_in_the_unit_of_the_new_one(monkeypatch):
    """Beside the votes themselves: the curve before each visit is the same number of votes after every change of the unit."""
    generator, said, steps = np.random.default_rng(5), [], Visits.steps
    X = generator.random((5000, 2))
    y = 8 * X[:, 0] + generator.gamma(1, 1, 5000)

    def recorded(self, feature, measured, before, **named):
        before_each = [visit.curve_before for visit in self.pools.get(feature, [])] + [before]
        said.append((feature, before_each))
        return steps(self, feature, measured, before, **named)

    monkeypatch.setattr(Visits, "steps", recorded)
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 20))
    model = hr.HedgerowRegressor(5.0, delta=1e-6, loss="squared", schema=schema, random_state=0).fit(X, y).model_
    curves, visits, renewed = {}, iter(said), 0
    for term in model.terms:
        if not term.cuts:
            feature, before_each = next(visits)
            curve = curves.setdefault(feature, [(np.zeros_like(term.votes[0]), term.unit)])
            for before, (votes, unit) in zip(before_each[::-1], curve[::-1], strict=False):
                np.testing.assert_allclose(before * term.unit / UNIT, votes, atol=1e-6 * np.abs(votes).max())
                renewed += unit != term.unit and votes.any()
            curve[-1] = (curve[-1][0], term.unit)
            curve.append((curve[-1][0] + term.votes[0], term.unit))
    assert renewed >= 2
