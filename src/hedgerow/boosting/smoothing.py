"""Steps from noisy gradients: post-processing by what is known of steps beforehand and of the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

__all__ = ["Smoothing"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Smoothing:
    """The posterior mean of a feature's steps under Gaussian priors that the released sums weigh themselves.

    A bin's gradient is its curvature times the step that it needs, plus the noise, plus what sampling adds, whose variance is
    the curvature. Steps of neighboring bins of a numeric feature are alike: their correlation falls by exp(-1 / ``reach``)
    from bin to bin. Steps of categories, and of missing cells, are not. How far steps spread is not known beforehand: each
    of ``spreads`` counts as much as the sums are likely under it. Everything here is released or public.

    Parameters
    ----------
    spreads : tuple of float
        The prior standard deviations of a step, in log odds, each as likely as the others.
    reach : float
        How many bins away a step still says something, as a share of a numeric feature's bins.
    common : float
        The prior standard deviation of what all steps of a feature share.
    """

    spreads: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    reach: float = 0.25
    common: float = 1.0

    def steps(self, gradient: Floats, curvature: Floats, noise: float, curvature_noise: float, numeric: bool) -> Floats:
        """Return the step of each bin, of the shape of ``gradient`` (bins, classes or 1).

        ``curvature`` is of that shape too; ``noise`` and ``curvature_noise`` are their standard deviations.
        """
        columns = [
            self._column(gradient[:, k], _denoised(curvature[:, k], curvature_noise), noise, numeric)
            for k in range(gradient.shape[1])
        ]
        return np.stack(columns, axis=1)

    def _column(self, gradient: Floats, curvature: Floats, noise: float, numeric: bool) -> Floats:
        variance = noise**2 + curvature + 1e-9
        if numeric and len(gradient) >= 3:
            alike = self._alike(len(gradient))
            found = [
                _dependent(gradient, curvature, variance, spread**2 * alike + self.common**2) for spread in self.spreads
            ]
        else:
            found = [_independent(gradient, curvature, variance, spread, self.common) for spread in self.spreads]
        weights = softmax([likelihood for likelihood, _ in found])
        return np.asarray(weights @ np.stack([steps for _, steps in found]))

    def _alike(self, bins: int) -> Floats:
        """Return the correlation of steps, of shape (bins, bins); a numeric feature's last bin is for missing cells."""
        place = np.arange(bins - 1)
        correlation = np.eye(bins)
        correlation[:-1, :-1] = np.exp(-np.abs(place[:, None] - place) / (self.reach * (bins - 1)))
        return correlation


def _denoised(curvature: Floats, noise: float) -> Floats:
    """Return curvatures with what is below their noise taken back towards their mean."""
    mean = max(float(curvature.mean()), 1e-9)
    variance = max(float(curvature.var()) - noise**2, 0.0)
    trust = variance / (variance + noise**2)
    return np.maximum(mean + trust * (curvature - mean), 0.0)


def _dependent(gradient: Floats, curvature: Floats, variance: Floats, prior: Floats) -> tuple[float, Floats]:
    """Return the log likelihood, but for a constant, and the mean of steps s given gradient = curvature * s + error."""
    towards = prior * curvature  # prior @ diag(curvature)
    factor = cho_factor(curvature[:, None] * towards + np.diag(variance), lower=True)
    explained = cho_solve(factor, gradient)
    likelihood = -0.5 * float(gradient @ explained) - float(np.log(np.diag(factor[0])).sum())
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
