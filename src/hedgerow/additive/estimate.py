"""From noisy sums to steps: posterior means under weighted priors, and the visits of a feature together.

All of it is post-processing of released sums by public rules (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import expit, logsumexp, softmax

from hedgerow.additive import kernels
from hedgerow.arrays import Floats, for_slices

# Losses of mean AUC, in brackets, are those of docs/decisions/0012-hedgerow.md.
STEP_SDS = (0.25, 0.5, 1.0, 2.0)  # of the prior of a step, in log-odds, equally likely (one: .032 on categories)
# Of the prior of a curve: whether it is smooth, and over which share of the bins steps are correlated (one range: .005).
CORRELATION_RANGES = ((False, 0.1), (True, 0.3), (True, 1.0))
COMMON = 1.0  # prior standard deviation of the common part of a curve's steps, in log-odds
MIN_SAME_CURVE = 0.5  # probability that all visits measured one curve; below it, pooling begins anew at the last visit
TINY = 1e-9  # records, or variances: below any that a sum can have, against a division by zero
FEW_CURVES = 16  # curves; fewer take longer on two threads
NEGLIGIBLE = 1e-3  # posterior weight below which a prior or a depth is left out of covariances


@dataclass(frozen=True)
class Prior:
    """The prior of the size of steps, in units of the loss's step."""

    spreads: tuple[float, ...]  # standard deviations of a step, each as likely as the others
    common: float  # the standard deviation of the common part of a curve's steps


LOG_ODDS = Prior(STEP_SDS, COMMON)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Posterior mean steps, averaged over models of each depth, and the evidence for each depth.

    In the model of depth l, the cells of the first l cuts have curves of their own, and later cuts have no effect.
    """

    steps: Floats  # posterior means, (cells, codes, columns)
    evidence: Floats  # (cuts + 1,): by depth, log marginal likelihood minus that of no step
    depth: int = 0  # the most likely one; 0 if one shared curve plus a constant per cell fits at least as well


def estimated(
    gradient: Floats, curvature: Floats, noise: float, curvature_noise: float, *, numeric: bool, prior: Prior = LOG_ODDS
) -> Estimate:
    """Return the estimate of noisy sums (2**K, codes, columns); the noises are standard deviations."""
    # Model: G = H s + privacy noise + sampling error, with sampling variance H. Depths 0..K have equal prior probability;
    # ``prior`` is the prior of s. ``numeric``: neighboring bins are correlated. The last code is missing values.
    curvature = denoised(curvature, curvature_noise)
    variance = noise**2 + curvature + TINY
    precision, weighted_step = curvature**2 / variance, curvature * gradient / variance
    cuts = len(gradient).bit_length() - 1
    of_depths, evidence, steps = [], [], []
    for depth in range(cuts + 1):
        shape = (1 << depth, 1 << (cuts - depth), *gradient.shape[1:])
        of_depths.append((precision.reshape(shape).sum(axis=1), weighted_step.reshape(shape).sum(axis=1)))
        likely, means = _of_cells(*of_depths[depth], numeric, prior)
        evidence.append(float(likely.sum()))
        steps.append(np.repeat(means, shape[1], axis=0))
    log_evidence = np.array(evidence)
    deepest = int(np.argmax(log_evidence))
    if deepest and _log_likelihood_of_shared_curve(*of_depths[deepest], numeric, prior) >= log_evidence[deepest]:
        deepest = 0
    return Estimate(np.tensordot(softmax(log_evidence), np.stack(steps), axes=1), log_evidence, deepest)


def _log_likelihood_of_shared_curve(precision: Floats, weighted_step: Floats, numeric: bool, prior: Prior) -> float:
    """Log marginal likelihood, minus that of no step, of one curve shared by all cells plus a constant per cell."""
    # The constants are independent, with variance ``common``**2. They are integrated out first.
    codes, columns = precision.shape[1:]
    if numeric and codes >= 3:
        priors = _priors(codes, prior) - prior.common**2
    else:
        priors = np.array(prior.spreads)[:, None, None] ** 2 * np.eye(codes)
    log_likelihood = 0.0
    for column in range(columns):
        own, of_cell = precision[..., column], weighted_step[..., column].sum(axis=1)
        held = 1 / prior.common**2 + own.sum(axis=1)
        snr = np.diag(own.sum(axis=0)) - own.T @ (own / held[:, None])
        rest = weighted_step[..., column].sum(axis=0) - own.T @ (of_cell / held)
        matrix = np.eye(codes) + priors @ snr
        means = np.linalg.solve(matrix, (priors @ rest)[..., None])[..., 0]
        likely = 0.5 * (means @ rest - np.linalg.slogdet(matrix)[1])
        log_likelihood += float(logsumexp(likely)) - np.log(len(likely))
        log_likelihood += 0.5 * float((of_cell**2 / held - np.log(prior.common**2 * held)).sum())
    return log_likelihood


def _of_cells(precision: Floats, weighted_step: Floats, numeric: bool, prior: Prior) -> tuple[Floats, Floats]:
    """Return log likelihoods (columns,), less that of no step, and posterior means (cells, codes, columns)."""
    # ``precision`` and ``weighted_step`` (cells, codes, columns) are the inverse variance of each step's estimate, and
    # that times the estimate. All cells of a column share a prior.
    cells, codes, columns = precision.shape
    root = np.sqrt(precision).transpose(2, 0, 1).reshape(-1, codes)
    scaled = weighted_step.transpose(2, 0, 1).reshape(-1, codes) / np.maximum(root, TINY)
    likely, means = (_dependent if numeric and codes >= 3 else _independent)(root, scaled, prior)
    likely, means = likely.reshape(-1, columns, cells).sum(axis=2), means.reshape(-1, columns, cells, codes)
    together = np.einsum("pk,pkcj->cjk", softmax(likely, axis=0), means)
    return logsumexp(likely, axis=0) - np.log(len(likely)), together


def posterior_covariances(precision: Floats, weighted_step: Floats, *, numeric: bool, prior: Prior) -> Floats:
    """Return the covariances of the curves of one column, (curves, codes, codes)."""
    # Times ``weighted_step`` they are posterior means.
    codes = precision.shape[1]
    root, dependent = np.sqrt(precision), numeric and codes >= 3
    likely, _ = (_dependent if dependent else _independent)(root, weighted_step / np.maximum(root, TINY), prior)
    of_prior = softmax(likely.sum(axis=1))
    total = np.zeros((len(precision), codes, codes))
    for number in np.flatnonzero(of_prior > NEGLIGIBLE):
        own = prior.spreads[number % len(prior.spreads)] ** 2 * np.eye(codes) + prior.common**2
        before = _priors(codes, prior)[number] if dependent else own
        total += of_prior[number] * np.linalg.solve(np.eye(codes) + before * precision[:, None], before)
    return total


def _dependent(root: Floats, scaled: Floats, prior: Prior = LOG_ODDS) -> tuple[Floats, Floats]:
    """Return log likelihoods (priors, curves) and means (priors, curves, codes) of steps s."""
    # The data are ``scaled = root * s + error``, both (curves, codes), with errors of variance 1.
    priors = _priors(root.shape[1], prior)
    likely, means = np.empty((len(priors), len(root))), np.empty((len(priors), *root.shape))

    def work(curves: slice) -> None:
        kernels.posteriors(priors, root[curves], scaled[curves], likely[:, curves], means[:, curves])

    for_slices(len(root), work, few=FEW_CURVES)
    return likely, means


def _independent(root: Floats, scaled: Floats, prior: Prior = LOG_ODDS) -> tuple[Floats, Floats]:
    """Return the same where steps share a common part only, in time linear in the codes."""
    spread = np.array(prior.spreads)[:, None, None]
    total = 1 + (spread * root) ** 2
    snr = 1 / prior.common**2 + (root**2 / total).sum(axis=2)
    shared = (root * scaled / total).sum(axis=2) / snr
    likely = 0.5 * ((scaled**2).sum(axis=1) - (np.log(total) + scaled**2 / total).sum(axis=2))
    likely += 0.5 * shared**2 * snr - 0.5 * np.log(prior.common**2 * snr)
    rest = scaled - root * shared[..., None]
    return likely, shared[..., None] + spread**2 * root * rest / total


@lru_cache(maxsize=64)
def _priors(codes: int, prior: Prior = LOG_ODDS) -> Floats:
    """Return the prior covariances of a numeric feature's steps, (priors, codes, codes); the last code is of missing values."""
    # With d the distance of bins over the reach, correlations are exp(-d) where a curve may jump, and (1 + sqrt(3) d)
    # exp(-sqrt(3) d) where it is smooth: Matern's kernels of one and three halves.
    place = np.arange(codes - 1)
    apart = np.abs(place[:, None] - place) / (codes - 1)
    covariances = []
    for smooth, reach in CORRELATION_RANGES:
        distance = apart * (np.sqrt(3) if smooth else 1) / reach
        correlation = np.pad((1 + distance if smooth else 1) * np.exp(-distance), (0, 1))
        correlation[-1, -1] = 1
        covariances += [spread**2 * correlation + prior.common**2 for spread in prior.spreads]
    priors = np.stack(covariances)
    priors.setflags(write=False)
    return priors


def denoised(curvature: Floats, noise: float) -> Floats:
    """Return curvatures (cells, codes, columns) shrunk towards the mean of their column, as far as the noise explains them."""
    mean = np.maximum(curvature.mean(axis=(0, 1)), TINY)
    variance = np.maximum(curvature.var(axis=(0, 1)) - noise**2, 0.0)
    trust = variance / (variance + noise**2)
    return np.asarray(np.maximum(mean + trust * (curvature - mean), 0.0))


@dataclass(frozen=True, eq=False)
class Visit:
    """What a round without cuts released of a feature: sums (codes, columns), and the deviations of their noise."""

    gradient: Floats
    curvature: Floats
    curve_before: Floats  # the feature's, before the round
    noise: float
    curvature_noise: float

    def scaled(self, factor: float) -> Visit:
        gradient, before = factor * self.gradient, factor * self.curve_before
        return replace(self, gradient=gradient, curve_before=before, noise=factor * self.noise)


class Visits:
    """The rounds without cuts of each feature, whose sums count together.

    A later round on the same feature measures the remaining gradient with fresh noise. We add H times (curve now minus
    curve at the first visit) to each later gradient, so that all estimate the same quantity, and average. The noise
    variance falls by their number; the sampling error is shared. Terms of other features in between may move the target
    curve, so the pooled step is weighted by the probability that it did not change.
    """

    def __init__(self) -> None:
        self._pools: dict[int, list[Visit]] = {}

    def rescale(self, factor: float) -> None:
        self._pools = {feature: [visit.scaled(factor) for visit in pool] for feature, pool in self._pools.items()}

    def steps(
        self,
        feature: int,
        sums: tuple[Floats, Floats],
        noise: tuple[float, float],
        curve_before: Floats,
        *,
        numeric: bool,
        prior: Prior = LOG_ODDS,
    ) -> tuple[Estimate, Floats]:
        """Add a visit, and return its own estimate and the steps (codes, columns) by all visits."""
        # ``sums`` are gradients and curvatures, each (codes, columns), ``noise`` their deviations.
        alone = estimated(sums[0][None], sums[1][None], *noise, numeric=numeric, prior=prior)
        pool = self._pools[feature] = [*self._pools.get(feature, []), Visit(*sums, curve_before, *noise)]
        if len(pool) == 1:
            return alone, alone.steps[0]
        together, trust = as_one_curve(pool, numeric=numeric, prior=prior)
        steps = alone.steps[0] + trust * (together - (curve_before - pool[0].curve_before) - alone.steps[0])
        if trust.mean() < MIN_SAME_CURVE:
            self._pools[feature] = pool[-1:]
        return alone, steps


def as_one_curve(pool: list[Visit], *, numeric: bool, prior: Prior = LOG_ODDS) -> tuple[Floats, Floats]:
    """Return the curve of all visits, less that before the first, and by column the probability that they are of one curve."""
    # Compare two models: all visits share one curve and one sampling error; or the last visit has another curve. Equal
    # priors.
    count, base = len(pool), pool[0].curve_before
    squares, curvature_squares, curvatures = np.empty(count), np.empty(count), np.empty((count, *base.shape))
    for place, visit in enumerate(pool):
        squares[place], curvature_squares[place] = visit.noise**2, visit.curvature_noise**2
        curvatures[place] = visit.curvature
    curvature = denoised(curvatures.mean(axis=0)[None], float(np.sqrt(curvature_squares.mean() / count)))[0]
    needed = np.empty_like(curvatures)
    for place, visit in enumerate(pool):
        needed[place] = visit.gradient + curvature * (visit.curve_before - base)
    before = needed[:-1].mean(axis=0)
    of_before, _ = _likelihood(before, curvature, float(squares[:-1].sum()) / (count - 1) ** 2, numeric, prior)
    of_all, curve = _likelihood(needed.mean(axis=0), curvature, float(squares.sum()) / count**2, numeric, prior)
    alone, _ = _likelihood(pool[-1].gradient, curvature, float(squares[-1]), numeric, prior)
    # The difference of the last gradient and the mean of the others contains noise only.
    variance = float(squares[-1] + squares[:-1].sum() / (count - 1) ** 2) + TINY
    of_all = of_all - 0.5 * ((needed[-1] - before) ** 2 / variance + np.log(variance)).sum(axis=0)
    return curve, expit(of_all - of_before - alone)


def _likelihood(
    gradient: Floats, curvature: Floats, noise: float, numeric: bool, prior: Prior
) -> tuple[Floats, Floats]:
    """Return log likelihoods (columns,) and posterior means (codes, columns) of gradients with noise of variance ``noise``."""
    variance = noise + curvature + TINY
    above, means = _of_cells((curvature**2 / variance)[None], (curvature * gradient / variance)[None], numeric, prior)
    return above - 0.5 * (gradient**2 / variance + np.log(variance)).sum(axis=0), means[0]
