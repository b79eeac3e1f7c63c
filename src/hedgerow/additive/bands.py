"""What the noise of released sums leaves open of a model's curves and pairs (docs/curves.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from hedgerow.additive.estimate import COMMON, SPREADS, TINY, _dependent, _independent, _priors, denoised, estimated
from hedgerow.additive.terms import AdditiveModel, Measured, Term
from hedgerow.margins import VOTE_STEPS

__all__ = ["Response", "curve_variance", "of_centred_classes"]

Floats = npt.NDArray[np.float64]

SHOWN = 0.4  # of an error that noise left in a curve, what the gradients of later rounds show
LITTLE = 1e-3  # the weight below which a prior is left out


class Response:
    """How the steps of a term follow its noisy sums, at fixed weights of the priors.

    Parameters
    ----------
    measured : Measured
        What was released of the term's cells.
    steps : ndarray of shape (cells, codes, columns)
        What the sums became, in log-odds.
    numeric : bool
        Whether neighboring codes are alike.
    """

    def __init__(self, measured: Measured, steps: Floats, *, numeric: bool) -> None:
        self._numeric = numeric
        self.level = denoised(measured.curvature, measured.curvature_noise)
        total = measured.noise**2 + self.level + TINY
        self._weight, self._pull = self.level**2 / total, self.level * measured.gradient / total
        self._taken = self.level / total
        self.variance = variance_of(measured, steps)
        self._evidence = np.zeros(1)
        if len(steps) > 1:
            noise = measured.noise, measured.curvature_noise
            self._evidence = estimated(measured.gradient, measured.curvature, *noise, numeric=numeric).evidence

    def of(self, rows: Floats, column: int) -> Floats:
        """Return how averages of steps, ``rows`` (averages, cells * codes), follow gradients, of the same shape."""
        cells, codes, _ = self.level.shape
        followed = np.zeros((len(rows), cells, codes))
        for depth, weight in enumerate(softmax(self._evidence)):
            if weight > LITTLE:
                parts = (1 << depth, cells >> depth, codes)
                gains = self._gains(
                    *(sums[..., column].reshape(parts).sum(axis=1) for sums in (self._weight, self._pull))
                )
                of_parts = rows.reshape(-1, *parts).sum(axis=2)
                found = np.einsum("qgi,gij->qgj", of_parts, gains, optimize=True)
                followed += weight * np.repeat(found, parts[1], axis=1)
        return (followed * self._taken[..., column]).reshape(len(rows), -1)

    def _gains(self, weight: Floats, pull: Floats) -> Floats:
        """Return the posterior covariances of curves, (curves, codes, codes), which steps are times their pulls."""
        codes = weight.shape[1]
        root = np.sqrt(weight)
        dependent = self._numeric and codes >= 3
        likely, _ = (_dependent if dependent else _independent)(root, pull / np.maximum(root, TINY))
        alike = softmax(likely.sum(axis=1))
        gains = np.zeros((len(weight), codes, codes))
        for number in np.flatnonzero(alike > LITTLE):
            prior = _priors(codes)[number] if dependent else SPREADS[number] ** 2 * np.eye(codes) + COMMON**2
            gains += alike[number] * np.linalg.solve(np.eye(codes) + prior * weight[:, None], prior)
        return gains


def curve_variance(model: AdditiveModel, feature: int, rows: Sequence[Floats], mass: Floats) -> Floats:
    """Return the variance that noise adds to each code of a feature's curve less its mean, (codes, columns).

    Parameters
    ----------
    model : AdditiveModel
        Its terms know their noise.
    feature : int
        The feature.
    rows : sequence of ndarray of shape (codes, cells * codes of the term)
        How the cells of each term that reads the feature count in its curve, term by term.
    mass : ndarray of shape (codes,)
        The share of each code in the mean.
    """
    terms = [term for term in model.terms if feature in term.features]
    numeric = model.encoder.schema.is_numeric
    centred = np.eye(len(mass)) - mass
    found = []
    for column in range(len(model.start)):
        errors = _Errors(len(mass))
        visits: list[tuple[Measured, Floats]] = []
        for term, onto in zip(terms, rows, strict=True):
            measured = term.measured(model.loss.curvature)
            assert measured is not None
            if term.cuts:
                response = Response(measured, term.votes / VOTE_STEPS, numeric=numeric[term.feature])
                errors.cut(response, response.of(onto, column), _means(term, feature, mass), column)
            else:
                said = term.votes / VOTE_STEPS
                visits.append((measured, said + visits[-1][1] if visits else said))
                response = _together(visits, numeric=numeric[feature])
                errors.visit(response, len(visits), variance_of(*visits[-1])[0, :, column], column)
        found.append(np.einsum("ij,jk,ik->i", centred, errors.of_curve, centred))
    return np.maximum(np.stack(found, axis=1), 0)


def _together(visits: Sequence[tuple[Measured, Floats]], *, numeric: bool) -> Response:
    """Return how a curve follows the mean of the gradients of all its visits, moved back to where it stood before the first."""
    level = np.mean([measured.curvature for measured, _ in visits], axis=0)
    said = [np.zeros_like(level), *(curve for _, curve in visits)]
    needed = np.mean(
        [measured.gradient + level * curve for (measured, _), curve in zip(visits, said, strict=False)], axis=0
    )
    noise, curvature_noise = (
        float(np.sqrt(sum(getattr(measured, name) ** 2 for measured, _ in visits))) / len(visits)
        for name in ("noise", "curvature_noise")
    )
    return Response(Measured(needed, level, noise, curvature_noise), said[-1], numeric=numeric)


def _means(term: Term, feature: int, mass: Floats) -> Floats:
    """Return the average over the codes of one of a term's features in each of its cells, (cells * codes, codes)."""
    axis = term.features.index(feature)
    if axis == len(term.cuts):
        return np.tile(np.eye(len(mass)), (len(term.votes), 1))
    side = np.eye(2)[:, term.cuts[axis].side] * mass
    of_cells = np.arange(len(term.votes)) >> (len(term.cuts) - 1 - axis) & 1
    return np.repeat((side / np.maximum(side.sum(axis=1, keepdims=True), TINY))[of_cells], term.votes.shape[1], axis=0)


class _Errors:
    """The covariance of the errors of one column of a curve, of its terms without cuts alone, and of what these are made of.

    An error that noise left shows, in part, in the gradients of later rounds, and is taken back as far as their steps follow
    these: so errors of rounds do not add up.
    """

    def __init__(self, codes: int) -> None:
        self._codes = codes
        self._covariance = np.zeros((3 * codes, 3 * codes))

    @property
    def of_curve(self) -> Floats:
        """The covariance of the curve's errors, (codes, codes)."""
        return self._covariance[: self._codes, : self._codes]

    def visit(self, response: Response, visits: int, variance: Floats, column: int) -> None:
        """Take a round without cuts, the last of so many, whose gradients have noise of this variance, (codes,)."""
        one = np.eye(self._codes)
        none, level = 0 * one, np.diag(response.level[0, :, column])
        gain = response.of(one, column) / visits
        needed = np.hstack([-SHOWN * level, level, one])
        own = gain @ needed
        move = np.vstack([own + np.hstack([one, -one, none]), own, needed])
        self._take(move, np.vstack([gain, gain, one]), variance)

    def cut(self, response: Response, gain: Floats, means: Floats, column: int) -> None:
        """Take a round with cuts, of which the curve follows gradients by ``gain`` and cells average the curve by ``means``."""
        move = np.eye(3 * self._codes)
        level = response.level[..., column].reshape(-1, 1)
        move[: self._codes, : self._codes] -= SHOWN * gain @ (level * means)
        self._take(move, np.pad(gain, ((0, 2 * self._codes), (0, 0))), response.variance[..., column].reshape(-1))

    def _take(self, move: Floats, gain: Floats, variance: Floats) -> None:
        self._covariance = move @ self._covariance @ move.T + (gain * variance) @ gain.T


def variance_of(measured: Measured, steps: Floats) -> Floats:
    """Return the variance of the noise of what steps follow: that of gradients, and of curvatures times the steps."""
    return np.asarray(measured.noise**2 + (steps * measured.curvature_noise) ** 2)


def of_centred_classes(variance: Floats) -> Floats:
    """Return the variances (..., columns) of steps less their mean over the classes, from those of each by itself."""
    classes = variance.shape[-1]
    if classes == 1:
        return variance
    return np.asarray(variance * (1 - 2 / classes) + variance.sum(axis=-1, keepdims=True) / classes**2)
