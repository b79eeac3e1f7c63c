"""Steps from noisy gradients: post-processing by what is known of steps beforehand and of the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Smoothing"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Smoothing:
    """The posterior mean of a feature's steps under a Gaussian prior.

    A bin's gradient is its curvature times the step that it needs, plus the noise, plus what sampling adds, whose variance is
    the curvature. Steps of neighboring bins of a numeric feature are alike: their correlation falls by exp(-1 / ``reach``)
    from bin to bin. Steps of categories, and of missing cells, are not. Everything here is released or public.

    Parameters
    ----------
    spread : float
        The prior standard deviation of a step, in log odds.
    reach : float
        How many bins away a step still says something, as a share of a numeric feature's bins.
    common : float
        The prior standard deviation of what all steps of a feature share.
    """

    spread: float = 1.0
    reach: float = 0.25
    common: float = 1.0

    def steps(self, gradient: Floats, curvature: Floats, noise: float, curvature_noise: float, numeric: bool) -> Floats:
        """Return the step of each bin, of the shape of ``gradient`` (bins, classes or 1).

        ``curvature`` is of that shape too; ``noise`` and ``curvature_noise`` are their standard deviations.
        """
        prior = self._prior(len(gradient), numeric)
        certain = np.maximum(curvature, 0)
        columns = [
            _posterior(gradient[:, k], _denoised(certain[:, k], curvature_noise), noise, prior)
            for k in range(gradient.shape[1])
        ]
        return np.stack(columns, axis=1)

    def _prior(self, bins: int, numeric: bool) -> Floats:
        """Return the covariance of the steps, of shape (bins, bins); a numeric feature's last bin is for missing cells."""
        if not numeric or bins < 3:
            return np.asarray(self.spread**2 * np.eye(bins) + self.common**2)
        place = np.arange(bins - 1)
        covariance = np.zeros((bins, bins))
        covariance[:-1, :-1] = np.exp(-np.abs(place[:, None] - place) / (self.reach * (bins - 1)))
        covariance[-1, -1] = 1
        return np.asarray(self.spread**2 * covariance + self.common**2)


def _denoised(curvature: Floats, noise: float) -> Floats:
    """Return curvatures with what is below their noise taken back towards their mean."""
    mean = max(float(curvature.mean()), 1e-9)
    variance = max(float(curvature.var()) - noise**2, 0.0)
    trust = variance / (variance + noise**2)
    return np.maximum(mean + trust * (curvature - mean), 0.0)


def _posterior(gradient: Floats, curvature: Floats, noise: float, prior: Floats) -> Floats:
    """Return the mean of steps s given gradient = curvature * s + an error of variance noise^2 + curvature."""
    towards = prior * curvature  # prior @ diag(curvature)
    seen = curvature[:, None] * towards + np.diag(noise**2 + curvature + 1e-9)
    return np.asarray(towards @ np.linalg.solve(seen, gradient))
