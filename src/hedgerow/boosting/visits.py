"""Rounds that come back to a candidate: what all measured of a feature's curve counts together, and what is left of scores.

Post-processing of released sums, by public rules (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hedgerow.boosting.smoothing import Smoothing, denoised
from hedgerow.curator import Split, Splits

__all__ = ["Visit", "Visits"]

EVEN = 0.5  # the trust below which a curve is more likely to have moved

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Visit:
    """How a round's step came about.

    ``number`` is how many visits are taken together, this one included, and ``steps`` (bins, columns) what it adds. ``trust``
    (columns,) is how far the curve goes to what all of them say together, the rest of the step being by this visit alone;
    ``gradient`` and ``curvature`` (bins, columns) are their means. Later visits are taken together with this one alone where
    it begins ``anew``.
    """

    number: int
    steps: Floats
    trust: Floats
    gradient: Floats
    curvature: Floats
    anew: bool


@dataclass(frozen=True, eq=False)
class _Pool:
    """Visits that count together: gradients, measured curvatures, and the curve before each, (visits, bins, columns)."""

    gradients: Floats
    curvatures: Floats
    said: Floats

    @classmethod
    def of(cls, gradient: Floats, curvature: Floats, said: Floats) -> Self:
        """Return one visit alone."""
        return cls(gradient[None], curvature[None], said[None])

    def then(self, later: _Pool) -> _Pool:
        """Return these visits and later ones."""
        return _Pool(
            np.concatenate([self.gradients, later.gradients]),
            np.concatenate([self.curvatures, later.curvatures]),
            np.concatenate([self.said, later.said]),
        )

    def needed(self, curvature: Floats) -> Floats:
        """Return, of each visit, the gradient that it would have met at the curve before the first, (visits, bins, columns)."""
        needed: Floats = self.gradients + curvature * (self.said - self.said[0])
        return needed


class Visits:
    """The rounds of a fit by their candidates: the visits of each feature, and what steps left of scores.

    A round on a feature measures the whole of what its curve lacks, with fresh noise, so all rounds on it together say
    more than the last: the mean of m gradients, each moved back to where the curve stood before the first, has the noise of one
    over the root of m. But what other features say in between may move the curve that is best. So the last gradients are
    compared with the earlier ones: the step follows all rounds as far as they are more likely to be of one curve than not.
    Gradients are moved back as if they followed their own class's margin alone and in full: with three classes and more, and
    where residuals are capped, they follow a little differently, and large curves are then taken for ones that moved.

    Parameters
    ----------
    smoothing : Smoothing
        What is known of steps beforehand.
    noise, curvature_noise : float
        The standard deviations of the noise of a gradient and of a curvature.
    """

    def __init__(self, smoothing: Smoothing, noise: float, curvature_noise: float) -> None:
        self._smoothing, self._noise, self._curvature_noise = smoothing, noise, curvature_noise
        self._pools: dict[int, _Pool] = {}
        self._left: dict[int, float] = {}  # by feature
        self._left_of: dict[tuple[tuple[tuple[int, bytes], ...], int], float] = {}  # by a split's key
        self.last_split = 0.0  # how many times what chance adds the score of the last split was

    def leave(self, candidate: int | Split, gradient: Floats, curvature: Floats, steps: Floats) -> None:
        """Remember what a step leaves of its candidate's score: it would count as much again, and again find nothing.

        It is the sum of the absolute gradients of the cells after the step, less what noise adds to their squares by itself.
        All three are of shape (cells, columns). Of a split it is also kept by how much its score stood out of chance.
        """
        curvature = denoised(curvature, self._curvature_noise)
        left = self._score(gradient - curvature * steps)
        if isinstance(candidate, Split):
            self._left_of[candidate.key] = left
            chance = np.sqrt(2 / np.pi) * float(np.sqrt(curvature).sum())
            self.last_split = self._score(gradient) / max(chance, 1e-9)
        else:
            self._left[candidate] = left

    def _score(self, gradient: Floats) -> float:
        """Return the sum of absolute gradients (cells, columns), less what noise adds to their squares by itself."""
        squares = (gradient**2).sum(axis=0)
        true = np.maximum(1 - len(gradient) * self._noise**2 / np.maximum(squares, 1e-9), 0)
        return float(np.abs(gradient).sum(axis=0) @ np.sqrt(true))

    def left(self, features: int) -> Floats:
        """Return what the last step of each feature left of its score, zero where nothing is known, (features,)."""
        return np.array([self._left.get(feature, 0.0) for feature in range(features)])

    def left_of(self, splits: Splits) -> Floats:
        """Return what the last step of each split left of its score, zero where nothing is known, (splits,)."""
        found = np.zeros(len(splits))
        for key, left in self._left_of.items():
            number = splits.number(key)
            if number is not None:
                found[number] = left
        return found

    def visit(self, feature: int, gradient: Floats, curvature: Floats, said: Floats, *, numeric: bool) -> Visit:
        """Record the next visit of a feature, and return it.

        Parameters
        ----------
        feature : int
            The feature.
        gradient, curvature : ndarray of shape (bins, columns)
            What was released: noisy sums of gradients, and of curvatures.
        said : ndarray of shape (bins, columns)
            The feature's own curve before.
        numeric : bool
            Whether neighboring bins are alike.
        """
        last_curvature = denoised(curvature, self._curvature_noise)
        variance = self._noise**2 + last_curvature + 1e-9
        likely_alone, alone = self._smoothing.posterior(gradient, last_curvature, variance, numeric)
        last = pool = _Pool.of(gradient, curvature, said)
        if feature in self._pools:
            pool = self._pools[feature].then(last)
        self._pools[feature] = pool
        number = len(pool.gradients)
        if number == 1:
            return Visit(1, alone, np.zeros(gradient.shape[1]), gradient, curvature, anew=False)
        level = denoised(pool.curvatures.mean(axis=0), self._curvature_noise / np.sqrt(number))
        needed = pool.needed(level)
        together, trust = self._together(needed, level, likely_alone, numeric)
        steps = alone + trust * (together - (said - pool.said[0]) - alone)
        anew = bool(trust.mean() < EVEN)
        if anew:
            self._pools[feature] = last
        return Visit(number, steps, trust, needed.mean(axis=0), pool.curvatures.mean(axis=0), anew)

    def _together(self, needed: Floats, level: Floats, likely_alone: Floats, numeric: bool) -> tuple[Floats, Floats]:
        """Return the curve that all visits say, (bins, columns), and the probability that there is one, (columns,).

        ``likely_alone`` (columns,) is the log likelihood of the last visit's gradients by themselves.
        Where there is one, gradients moved back are its curvature times the curve plus the noise of each, and what sampling
        adds once; where there is none, the last gradients are of a curve of their own. Both are as likely beforehand.
        """
        number, noise, sampled = len(needed), self._noise**2 + 1e-9, level + 1e-9
        before, after = needed[:-1].mean(axis=0), needed.mean(axis=0)
        earlier, _ = self._smoothing.posterior(before, level, noise / (number - 1) + sampled, numeric)
        likely, together = self._smoothing.posterior(after, level, noise / number + sampled, numeric)
        # The last gradients less the mean of the others do not depend on the curve.
        apart, spread = needed[-1] - before, noise * number / (number - 1)
        likely = likely - 0.5 * (apart**2 / spread + np.log(spread)).sum(axis=0)
        return together, expit(likely - earlier - likely_alone)
