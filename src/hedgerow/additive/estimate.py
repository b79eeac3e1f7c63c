"""From noisy sums to steps: posterior means averaged over priors, and pooled measurements of one feature.

All of it is post-processing of released sums (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
from scipy.special import expit, softmax

from hedgerow.additive import kernels
from hedgerow.arrays import Floats, Truth, for_slices

# In brackets: how much mean AUC a simpler choice loses (docs/decisions/0012-hedgerow.md).
STEP_SDS = (0.25, 0.5, 1.0, 2.0)  # prior standard deviations of a step, in log-odds, equally likely (one: .032)
# Priors of a curve: whether it is smooth, and its correlation length as a share of the bins (one length: .005).
CORRELATION_RANGES = ((False, 0.1), (True, 0.3), (True, 1.0))
COMMON = 1.0  # prior standard deviation of a curve's level, which all its steps share, in log-odds
MIN_SAME_CURVE = 0.5  # probability that all visits measured one curve; below it, only the last visit stays in the pool
RIDGE = 1e-9  # relative, added to the precision matrix so that it can be inverted where codes hold no records
TINY = 1e-9  # records, or variances: below any real value; prevents a division by zero
FEW_CURVES = 16  # with fewer curves a second thread costs more time than it saves
NEGLIGIBLE = 1e-3  # posterior weight below which a prior or a depth is left out of covariances


@dataclass(frozen=True)
class Prior:
    spreads: tuple[float, ...]  # standard deviations of a step, equally likely
    common: float  # the standard deviation of a curve's level, which all its steps share


LOG_ODDS = Prior(STEP_SDS, COMMON)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Posterior mean steps, averaged over models of each depth, and the evidence for each depth.

    In the model of depth l, each cell of the first l cuts has its own curve, and later cuts have no effect.
    """

    steps: Floats  # posterior means, (cells, codes, columns)
    evidence: Floats  # (cuts + 1,): by depth, log marginal likelihood minus that of no step
    depth: int = 0  # that of the largest evidence; 0 if one curve plus a constant per cell fits at least as well


@dataclass(frozen=True, eq=False)
class Measured:
    """Released sums of a term, (cells, codes, columns), and the standard deviations of their noise, in units of one record.

    Gradients are divided by the loss's ``gradient_sd``, curvatures by its factor c (``Loss.curvature``).
    """

    gradient: Floats
    curvature: Floats
    noise: float
    curvature_noise: float
    covariance: Floats | None = None  # of a cell's noise by code, over its variance; None: independent

    def variance(self, steps: Floats) -> Floats:
        """Return the noise variance of gradient - curvature * step, (columns, cells, codes), or (..., codes, codes)."""
        steps = np.moveaxis(steps, 2, 0)
        if self.covariance is None:
            return np.asarray(self.noise**2 + (steps * self.curvature_noise) ** 2)
        both = self.noise**2 + self.curvature_noise**2 * steps[..., None] * steps[..., None, :]
        return np.asarray(both * self.covariance)


@dataclass(frozen=True, eq=False)
class Information:
    """The log likelihood of steps s in cells minus that of no step, given noisy sums: ``pull' s - s' precision s / 2``."""

    precision: Floats  # (columns, cells, codes), or (columns, cells, codes, codes) if the noise of codes is dependent
    pull: Floats  # (columns, cells, codes)

    @classmethod
    def of(cls, gradient: Floats, curvature: Floats, variance: float, covariance: Floats | None) -> Information:
        # Model: G = H s + privacy noise + sampling error, with sampling variance H
        weights = weights_of(curvature, variance, covariance)
        gradient, curvature = np.moveaxis(gradient, 2, 0), np.moveaxis(curvature, 2, 0)
        if covariance is None:
            total = variance + curvature + TINY
            return cls(curvature**2 / total, curvature * gradient / total)
        return cls(weights * curvature[..., None, :], (weights @ gradient[..., None])[..., 0])

    def at_depth(self, depth: int) -> Information:
        """Return the information added up over the cells that the first ``depth`` cuts do not separate."""
        columns, _, *codes = self.precision.shape
        precision = self.precision.reshape(columns, 1 << depth, -1, *codes).sum(axis=2)
        return Information(precision, self.pull.reshape(columns, 1 << depth, -1, codes[0]).sum(axis=2))


def inverted(matrices: Floats) -> tuple[Floats, Floats]:
    inverse, log_determinant = np.empty(matrices.shape), np.empty(len(matrices))

    def work(some: slice) -> None:
        kernels.inverses(matrices[some], inverse[some], log_determinant[some])

    for_slices(len(matrices), work, few=FEW_CURVES)
    return inverse, log_determinant


def weights_of(curvature: Floats, variance: float, covariance: Floats | None) -> Floats:
    """Return the weights of gradients in ``Information.pull``: (columns, cells, codes), or (..., codes, codes) if dependent."""
    curvature = np.moveaxis(curvature, 2, 0)
    if covariance is None:
        return np.asarray(curvature / (variance + curvature + TINY))
    total = variance * covariance + np.eye(len(covariance)) * (curvature + TINY)[..., None]
    return curvature[..., None] * inverted(total.reshape(-1, *covariance.shape))[0].reshape(total.shape)


def estimated(measured: Measured, *, numeric: bool, prior: Prior = LOG_ODDS) -> Estimate:
    # Depths 0..K have equal prior probability. ``prior`` is the prior of s. If ``numeric``, neighboring bins are correlated a
    # priori, except the last code, which is for missing values.
    curvature = denoised(measured.curvature, measured.curvature_noise, measured.covariance)
    of_cells = Information.of(measured.gradient, curvature, measured.noise**2, measured.covariance)
    cuts = len(measured.gradient).bit_length() - 1
    evidence, steps = [], []
    for depth in range(cuts + 1):
        likely, means = _of_cells(of_cells.at_depth(depth), numeric, prior)
        evidence.append(float(likely.sum()))
        steps.append(np.repeat(means, 1 << (cuts - depth), axis=0))
    log_evidence = np.array(evidence)
    deepest = int(np.argmax(log_evidence))
    if deepest:
        shared = _log_likelihood_of_shared_curve(of_cells.at_depth(deepest), numeric, prior)
        deepest = 0 if shared >= log_evidence[deepest] else deepest
    return Estimate(np.tensordot(softmax(log_evidence), np.stack(steps), axes=1), log_evidence, deepest)


# Standard deviations of steps within a cell, and of cells' levels, in units of ``Prior.common``: the most likely pair is used
CELL_SPREADS = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)
LEVEL_SPREADS = (0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
LEAST_CURVATURE = 0.05  # the lower bound of a group's curvature, as a share of the mean over all groups


def steps_by_cell(measured: Measured, used: Truth, prior: Prior = LOG_ODDS) -> Floats:
    """Return posterior means of steps, (cells, groups, columns), where each cell has its own groups.

    ``used`` (cells, groups) marks the groups that a cell has; other steps are 0. A step is its cell's level plus its own
    deviation. All cells have the same prior, the most likely one of a grid (empirical Bayes).
    """
    at, gradient, curvature, noise = used[..., None], measured.gradient, measured.curvature, measured.noise
    known = curvature[used]
    mean, spread = np.maximum(known.mean(axis=0), TINY), np.maximum(known.var(axis=0) - measured.curvature_noise**2, 0)
    trust = spread / (spread + measured.curvature_noise**2 + TINY)
    curvature = np.maximum(mean + (curvature - mean) * trust, LEAST_CURVATURE * mean)
    sampling = curvature + noise**2
    best, chosen = -np.inf, (0.0, curvature, curvature)
    for own in CELL_SPREADS:
        variance = (prior.common * own * curvature) ** 2 + sampling
        held = np.where(at, curvature**2 / variance, 0).sum(axis=1, keepdims=True)
        pulled = np.where(at, curvature * gradient / variance, 0).sum(axis=1, keepdims=True)
        likely = -0.5 * float((np.log(variance) + gradient**2 / variance)[used].sum())
        for level in LEVEL_SPREADS:
            square = (prior.common * level) ** 2
            gain = 1 + square * held
            evidence = likely + 0.5 * float((pulled**2 * square / gain - np.log(gain)).sum())
            if evidence > best:
                best, chosen = evidence, (own, variance, square * pulled / gain)
    own, variance, levels = chosen
    steps = levels + (prior.common * own) ** 2 * curvature * (gradient - curvature * levels) / variance
    return np.asarray(np.where(at, steps, 0.0))


def _log_likelihood_of_shared_curve(information: Information, numeric: bool, prior: Prior) -> float:
    """Log marginal likelihood, minus that of no step, of one curve shared by all cells plus a constant per cell."""
    # The constants are independent, with variance ``common``**2. They are integrated out first.
    columns, _, codes = information.pull.shape
    if numeric and codes >= 3:
        priors = _priors(codes, prior) - prior.common**2
    else:
        priors = np.array(prior.spreads)[:, None, None] ** 2 * np.eye(codes)
    log_likelihood = 0.0
    for column in range(columns):
        own, pull = information.precision[column], information.pull[column]
        total, of_cell = own.sum(axis=0), pull.sum(axis=1)
        if own.ndim == 2:
            total = np.diag(total)
        else:
            own = own.sum(axis=2)
        held = 1 / prior.common**2 + own.sum(axis=1)
        snr = total - own.T @ (own / held[:, None])
        rest = pull.sum(axis=0) - own.T @ (of_cell / held)
        matrix = np.eye(codes) + priors @ snr
        means = np.linalg.solve(matrix, (priors @ rest)[..., None])[..., 0]
        likely = 0.5 * (means @ rest - np.linalg.slogdet(matrix)[1])
        log_likelihood += float(np.logaddexp.reduce(likely)) - np.log(len(likely))
        log_likelihood += 0.5 * float((of_cell**2 / held - np.log(prior.common**2 * held)).sum())
    return log_likelihood


def _of_cells(information: Information, numeric: bool, prior: Prior) -> tuple[Floats, Floats]:
    # All cells of a column share a prior.
    columns, cells, codes = information.pull.shape
    likely, means = _of_curves(information, numeric, prior)
    likely, means = likely.reshape(-1, columns, cells).sum(axis=2), means.reshape(-1, columns, cells, codes)
    together = np.einsum("pk,pkcj->cjk", softmax(likely, axis=0), means)
    return np.logaddexp.reduce(likely, axis=0) - np.log(len(likely)), together


def posterior_covariances(information: Information, *, numeric: bool, prior: Prior) -> Floats:
    """Return the covariances of the curves of one column, (curves, codes, codes)."""
    # Times ``pull`` they are posterior means.
    codes, precision = information.pull.shape[2], information.precision[0]
    likely, _ = _of_curves(information, numeric, prior)
    of_prior = softmax(likely.sum(axis=1))
    total = np.zeros((len(precision), codes, codes))
    for number in np.flatnonzero(of_prior > NEGLIGIBLE):
        own = prior.spreads[number % len(prior.spreads)] ** 2 * np.eye(codes) + prior.common**2
        before = _priors(codes, prior)[number] if numeric and codes >= 3 else own
        explained = before * precision[:, None] if precision.ndim == 2 else before @ precision
        total += of_prior[number] * np.linalg.solve(np.eye(codes) + explained, before)
    return total


def _of_curves(information: Information, numeric: bool, prior: Prior) -> tuple[Floats, Floats]:
    """Return log likelihoods (priors, curves) and means (priors, curves, codes) of steps."""
    # The information written as observations ``root * s + error`` of curves, (columns * cells, codes), with errors of variance 1
    codes = information.pull.shape[2]
    pull, errors = information.pull.reshape(-1, codes), None  # their correlations; None: independent
    if information.precision.ndim == 3:
        root = np.sqrt(information.precision).reshape(-1, codes)
        data = pull / np.maximum(root, TINY)
        without = (data**2).sum(axis=1)
    else:
        precision = information.precision.reshape(-1, codes, codes)
        size = np.maximum(np.sqrt(np.diagonal(precision, axis1=1, axis2=2)), TINY)
        covariance, log_determinant = inverted(precision / (size[:, :, None] * size[:, None]) + RIDGE * np.eye(codes))
        spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        scaled = (covariance @ (pull / size)[..., None])[..., 0]
        without = (scaled * pull / size).sum(axis=1) - log_determinant - 2 * np.log(spread).sum(axis=1)
        root, data, errors = size / spread, scaled / spread, covariance / (spread[:, :, None] * spread[:, None])
    if numeric and codes >= 3:
        return _dependent(root, data, errors, without, prior)
    return _independent(root, data, prior)


def _dependent(
    root: Floats, scaled: Floats, errors: Floats | None, without: Floats, prior: Prior
) -> tuple[Floats, Floats]:
    """Return what ``_of_curves`` does, for numeric features; ``without`` is as in ``kernels.posteriors``."""
    priors = _priors(root.shape[1], prior)
    if errors is None:
        errors = np.eye(root.shape[1])[None]
    likely, means = np.empty((len(priors), len(root))), np.empty((len(priors), *root.shape))

    def work(curves: slice) -> None:
        of = errors if len(errors) == 1 else errors[curves]
        data = root[curves], scaled[curves], of, without[curves]
        kernels.posteriors(priors, *data, likely[:, curves], means[:, curves])

    for_slices(len(root), work, few=FEW_CURVES)
    return likely, means


def _independent(root: Floats, scaled: Floats, prior: Prior) -> tuple[Floats, Floats]:
    """Return what ``_of_curves`` does if steps share only their level: in time linear in the codes."""
    spread = np.array(prior.spreads)[:, None, None]
    total = 1 + (spread * root) ** 2
    snr = 1 / prior.common**2 + (root**2 / total).sum(axis=2)
    shared = (root * scaled / total).sum(axis=2) / snr
    likely = 0.5 * ((scaled**2).sum(axis=1) - (np.log(total) + scaled**2 / total).sum(axis=2))
    likely += 0.5 * shared**2 * snr - 0.5 * np.log(prior.common**2 * snr)
    rest = scaled - root * shared[..., None]
    return likely, shared[..., None] + spread**2 * root * rest / total


@lru_cache(maxsize=64)
def _priors(codes: int, prior: Prior) -> Floats:
    """Return the prior covariances of a numeric feature's steps, (priors, codes, codes); the last code is for missing values."""
    # Matern kernels. With d the distance of two bins over the correlation length: exp(-d) (order 1/2) for a curve that may jump,
    # (1 + sqrt(3) d) exp(-sqrt(3) d) (order 3/2) for a smooth one.
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


def denoised(curvature: Floats, noise: float, covariance: Floats | None = None) -> Floats:
    """Return curvatures (cells, codes, columns), shrunk towards their column's mean by the noise's share of their variance."""
    mean = np.maximum(curvature.mean(axis=(0, 1)), TINY)
    if covariance is None:
        variance = np.maximum(curvature.var(axis=(0, 1)) - noise**2, 0.0)
        trust = variance / (variance + noise**2)
        return np.asarray(np.maximum(mean + trust * (curvature - mean), 0.0))
    variance = np.maximum(curvature.var(axis=(0, 1)) - noise**2 * np.diag(covariance).mean(), 0.0)[:, None, None]
    total = variance * np.eye(len(covariance)) + noise**2 * covariance
    shrunk = variance * inverted(total)[0] @ np.moveaxis(curvature - mean, 0, 2).transpose(1, 0, 2)
    return np.asarray(np.maximum(mean + shrunk.transpose(2, 1, 0), 0.0))


@dataclass(frozen=True, eq=False)
class Visit:
    """The sums that a round without cuts released for a feature, and the feature's curve before it, (codes, columns)."""

    measured: Measured
    curve_before: Floats

    def scaled(self, factor: float) -> Visit:
        measured = self.measured
        scaled = replace(measured, gradient=factor * measured.gradient, noise=factor * measured.noise)
        return Visit(scaled, factor * self.curve_before)


@dataclass(frozen=True)
class Visits:
    """The rounds without cuts of each feature (its visits), whose sums are pooled.

    A later visit measures the remaining gradient with fresh noise. We add H times (curve now minus curve at the first visit)
    to each later gradient, so that all estimate the same quantity, and average. The noise variance is divided by the number
    of visits; the sampling error is shared. Terms of other features in between may change the optimal curve, so the pooled
    step is weighted by the probability that it did not change.
    """

    pools: dict[int, list[Visit]] = field(default_factory=dict)  # by feature

    def rescale(self, factor: float) -> None:
        for feature, pool in self.pools.items():
            self.pools[feature] = [visit.scaled(factor) for visit in pool]

    def steps(
        self, feature: int, measured: Measured, curve_before: Floats, *, numeric: bool, prior: Prior = LOG_ODDS
    ) -> tuple[Estimate, Floats]:
        """Add a visit, and return the estimate from it alone and the steps (codes, columns) from all visits."""
        alone = estimated(measured, numeric=numeric, prior=prior)
        pool = self.pools[feature] = [*self.pools.get(feature, []), Visit(measured, curve_before)]
        if len(pool) == 1:
            return alone, alone.steps[0]
        together, trust = as_one_curve(pool, numeric=numeric, prior=prior)
        steps = alone.steps[0] + trust * (together - (curve_before - pool[0].curve_before) - alone.steps[0])
        if trust.mean() < MIN_SAME_CURVE:
            self.pools[feature] = pool[-1:]
        return alone, steps


def as_one_curve(pool: list[Visit], *, numeric: bool, prior: Prior = LOG_ODDS) -> tuple[Floats, Floats]:
    """Return the pooled curve minus the one before the first visit, and by column the probability that visits share a curve."""
    # Compare two models with equal prior probability: all visits share one curve and one sampling error, or the last visit
    # has another curve.
    count, base, covariance = len(pool), pool[0].curve_before, pool[0].measured.covariance
    squares, curvature_squares, curvatures = np.empty(count), np.empty(count), np.empty((count, *base.shape))
    for place, visit in enumerate(pool):
        measured = visit.measured
        squares[place], curvature_squares[place] = measured.noise**2, measured.curvature_noise**2
        curvatures[place] = measured.curvature[0]
    chance = float(np.sqrt(curvature_squares.mean() / count))
    curvature = denoised(curvatures.mean(axis=0)[None], chance, covariance)[0]
    needed = np.empty_like(curvatures)
    for place, visit in enumerate(pool):
        needed[place] = visit.measured.gradient[0] + curvature * (visit.curve_before - base)
    before, last = needed[:-1].mean(axis=0), pool[-1].measured.gradient[0]

    likelihood = partial(_likelihood, curvature=curvature, covariance=covariance, numeric=numeric, prior=prior)
    of_before, _ = likelihood(before, noise=float(squares[:-1].sum()) / (count - 1) ** 2)
    of_all, curve = likelihood(needed.mean(axis=0), noise=float(squares.sum()) / count**2)
    alone, _ = likelihood(last, noise=float(squares[-1]))
    # If so, the last gradient minus the mean of the others is noise alone.
    variance = float(squares[-1] + squares[:-1].sum() / (count - 1) ** 2) + TINY
    nothing = np.zeros_like(curvature)
    of_all = of_all + _log_normal(needed[-1] - before, nothing, variance, covariance)
    return curve, expit(of_all - of_before - alone)


def _likelihood(
    gradient: Floats, curvature: Floats, noise: float, covariance: Floats | None, numeric: bool, prior: Prior
) -> tuple[Floats, Floats]:
    """Return log likelihoods (columns,) and posterior means (codes, columns) of gradients with noise of variance ``noise``."""
    above, means = _of_cells(Information.of(gradient[None], curvature[None], noise, covariance), numeric, prior)
    return above + _log_normal(gradient, curvature + TINY, noise, covariance), means[0]


def _log_normal(values: Floats, own: Floats, noise: float, covariance: Floats | None) -> Floats:
    """Return the log density by column, up to a constant, of values (codes, columns) of variance ``own`` plus noise."""
    if covariance is None:
        variance = noise + own
        return np.asarray(-0.5 * (values**2 / variance + np.log(variance)).sum(axis=0))
    total = noise * covariance + np.eye(len(covariance)) * own.T[..., None]
    inverse, log_determinant = inverted(total)
    return np.asarray(-0.5 * (np.einsum("ik,kij,jk->k", values, inverse, values) + log_determinant))
