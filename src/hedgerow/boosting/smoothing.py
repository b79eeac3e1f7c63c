"""Steps from noisy gradients: post-processing by what is known of steps beforehand and of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf, dpotrs

__all__ = ["Smoothing", "denoised"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Smoothing:
    """The posterior mean of a feature's steps under Gaussian priors that the released sums weigh themselves.

    A bin's gradient is its curvature times the step that it needs, plus the noise, plus what sampling adds, whose variance is
    the curvature. Steps of neighboring bins of a numeric feature are alike: their correlation falls with the bins between
    them, by exp(-d) where a curve may jump and by (1 + sqrt(3) d) exp(-sqrt(3) d) where it is smooth (Matern's laws of one and
    three halves), d being the distance over the reach. Steps of categories, and of missing cells, are not alike. How far steps
    spread, and which law they follow, is not known beforehand: each pair of both counts as much as the sums are likely under
    it. Everything here is released or public.

    Parameters
    ----------
    spreads : tuple of float
        The prior standard deviations of a step, in log-odds, each as likely as the others.
    rough, smooth : tuple of float
        How many bins away a step still says something, as shares of a numeric feature's bins: where curves may jump, and where
        they are smooth.
    common : float
        The prior standard deviation of what all steps of a feature share.
    """

    spreads: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    rough: tuple[float, ...] = (0.1,)
    smooth: tuple[float, ...] = (0.3, 1.0)
    common: float = 1.0

    def steps(self, gradient: Floats, curvature: Floats, noise: float, curvature_noise: float, numeric: bool) -> Floats:
        """Return the step of each bin, of the shape of ``gradient`` (bins, classes or 1).

        ``curvature`` is of that shape too; ``noise`` and ``curvature_noise`` are their standard deviations.
        """
        curvature = denoised(curvature, curvature_noise)
        return self.posterior(gradient, curvature, noise**2 + curvature + 1e-9, numeric)[1]

    def posterior(self, gradient: Floats, curvature: Floats, variance: Floats, numeric: bool) -> tuple[Floats, Floats]:
        """Return the log likelihood of each column's gradients, but for a constant, and the step of each bin.

        All are of shape (bins, columns) but for the likelihoods, (columns,); ``variance`` is that of gradients around curvature
        times step.
        """
        dependent = numeric and len(gradient) >= 3
        if dependent:
            priors = self._priors(len(gradient))
        likelihoods, columns = [], []
        for sums in zip(gradient.T, curvature.T, variance.T, strict=True):
            if dependent:
                found = [_dependent(*sums, prior) for prior in priors]
            else:
                found = [_independent(*sums, spread, self.common) for spread in self.spreads]
            likelihood = np.array([likelihood for likelihood, _ in found])
            weights = np.exp(likelihood - likelihood.max())
            likelihoods.append(likelihood.max() + np.log(weights.mean()))
            columns.append((weights / weights.sum()) @ np.stack([steps for _, steps in found]))
        return np.array(likelihoods), np.stack(columns, axis=1)

    def gains(
        self, gradient: Floats, curvature: Floats, noise: float, curvature_noise: float, numeric: bool
    ) -> tuple[Floats, Floats]:
        """Return how far each bin's step follows each bin's gradient, (classes or 1, bins, bins), and the curvatures.

        The steps are these gains times the gradients; weights of the spreads are taken as they are. The curvatures, of the shape
        of ``curvature``, are those that ``steps`` reckons with.
        """
        curvature = denoised(curvature, curvature_noise)
        variance = noise**2 + curvature + 1e-9
        found = []
        priors = self._priors(len(gradient)) if numeric and len(gradient) >= 3 else None
        for sums in zip(gradient.T, curvature.T, variance.T, strict=True):
            if priors is not None:
                each = [_dependent_gain(*sums, prior) for prior in priors]
            else:
                each = [_independent_gain(*sums, spread, self.common) for spread in self.spreads]
            likelihood = np.array([likelihood for likelihood, _ in each])
            weights = np.exp(likelihood - likelihood.max())
            found.append(np.tensordot(weights / weights.sum(), [gain for _, gain in each], axes=1))
        return np.stack(found), curvature

    def _priors(self, bins: int) -> list[Floats]:
        """Return the covariances of a numeric feature's steps, each (bins, bins), for every law and spread."""
        return [spread**2 * law + self.common**2 for law in self._alike(bins) for spread in self.spreads]

    @lru_cache(maxsize=32)  # noqa: B019 - asked for in every round; the class has few values, so nothing is kept alive by it
    def _alike(self, bins: int) -> tuple[Floats, ...]:
        """Return the correlations of steps, each (bins, bins), under every law; the last bin is for missing cells."""
        place = np.arange(bins - 1)
        apart = np.abs(place[:, None] - place) / (bins - 1)
        laws = [np.exp(-apart / reach) for reach in self.rough]
        for reach in self.smooth:
            distance = np.sqrt(3) * apart / reach
            laws.append((1 + distance) * np.exp(-distance))
        alike = tuple(np.pad(law, (0, 1)) + np.diag(np.arange(bins) == bins - 1) for law in laws)
        for law in alike:
            law.setflags(write=False)
        return alike


def denoised(curvature: Floats, noise: float) -> Floats:
    """Return curvatures (bins, classes or 1) with what is below their noise taken back towards the mean of their class."""
    rows = np.ascontiguousarray(curvature.T)
    mean = np.maximum(rows.mean(axis=1, keepdims=True), 1e-9)
    variance = np.maximum(rows.var(axis=1, keepdims=True) - noise**2, 0.0)
    trust = variance / (variance + noise**2)
    return np.asarray(np.maximum(mean + trust * (rows - mean), 0.0).T)


def _dependent(gradient: Floats, curvature: Floats, variance: Floats, prior: Floats) -> tuple[float, Floats]:
    """Return the log likelihood, but for a constant, and the mean of steps s given gradient = curvature * s + error.

    LAPACK is called as it is: with many classes what scipy's ``cho_factor`` checks before takes longer than the answer.
    """
    towards = prior * curvature  # prior @ diag(curvature)
    matrix = curvature[:, None] * towards
    matrix.flat[:: len(matrix) + 1] += variance
    factor, failed = dpotrf(matrix, lower=1, clean=0)
    if failed:
        raise np.linalg.LinAlgError("the covariance of a feature's gradients is not positive definite")
    explained, _ = dpotrs(factor, gradient, lower=1)
    likelihood = -0.5 * float(gradient @ explained) - float(np.log(np.diag(factor)).sum())
    return likelihood, np.asarray(towards @ explained)


def _independent(
    gradient: Floats, curvature: Floats, variance: Floats, spread: float, common: float
) -> tuple[float, Floats]:
    """Do the same where steps share a common part only: in a time that grows with the bins, not with their cube."""
    total = variance + (spread * curvature) ** 2
    precision = 1 / common**2 + float((curvature**2 / total).sum())
    shared = float((curvature * gradient / total).sum()) / precision
    likelihood = -0.5 * float((np.log(total) + gradient**2 / total).sum())
    likelihood += 0.5 * shared**2 * precision - 0.5 * float(np.log(common**2 * precision))
    return likelihood, shared + spread**2 * curvature * (gradient - curvature * shared) / total


def _dependent_gain(gradient: Floats, curvature: Floats, variance: Floats, prior: Floats) -> tuple[float, Floats]:
    """Return the log likelihood, but for a constant, and how each step follows each gradient, (bins, bins)."""
    # In units of each gradient's deviation, where no matrix is nearly singular, whatever a file holds.
    root = np.sqrt(variance)
    scaled = curvature / root
    solved = np.linalg.inv(scaled[:, None] * prior * scaled + np.eye(len(scaled)))
    likelihood = np.linalg.slogdet(solved)[1] - gradient / root @ solved @ (gradient / root)
    return float(likelihood) / 2, (prior * scaled) @ solved / root


def _independent_gain(
    gradient: Floats, curvature: Floats, variance: Floats, spread: float, common: float
) -> tuple[float, Floats]:
    """Do the same where steps share a common part only."""
    likelihood, _ = _independent(gradient, curvature, variance, spread, common)
    total = variance + (spread * curvature) ** 2
    precision = 1 / common**2 + float((curvature**2 / total).sum())
    own = spread**2 * curvature / total
    return likelihood, np.diag(own) + np.outer((1 - own * curvature) / precision, curvature / total)
