"""What the noise of released sums leaves open of a model's curves and pairs (docs/curves.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from hedgerow.additive.estimate import (
    COMMON,
    SAME,
    SPREADS,
    TINY,
    _dependent,
    _independent,
    _priors,
    _together,
    _Visit,
    denoised,
    estimated,
)
from hedgerow.additive.terms import AdditiveModel, Measured, Term
from hedgerow.margins import UNIT

__all__ = ["Response", "curve_variance", "of_centred_classes"]

Floats = npt.NDArray[np.float64]

SHOWN = 0.6  # of an error that noise left in a curve, what gradients of later rounds show where noise is all that moves them
LITTLE = 1e-3  # the weight below which a prior is left out


class Response:
    """How the steps of a term follow its noisy sums, at fixed weights of the priors.

    Parameters
    ----------
    measured : Measured
        What was released of the term's cells.
    steps : ndarray of shape (cells, codes, columns)
        What the sums became, in steps of the term's loss.
    numeric : bool
        Whether neighboring codes are alike.
    linear : bool
        Whether gradients follow an error of the curve in full.
    """

    def __init__(self, measured: Measured, steps: Floats, *, numeric: bool, linear: bool = False) -> None:
        self._numeric = numeric
        self.level = denoised(measured.curvature, measured.curvature_noise)
        total = measured.noise**2 + self.level + TINY
        self._weight, self._pull = self.level**2 / total, self.level * measured.gradient / total
        self._taken = self.level / total
        # How far gradients follow an error of the curve. Of a classifier as far as it is noise that moves them.
        self.shown = self.level if linear else SHOWN * self.level * measured.noise**2 / total
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
    """Return the variance that noise adds to each code of a feature's curve less its mean, (codes, columns), in squared votes.

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
    errors = [_Errors(len(mass)) for _ in model.start]
    pool: list[_Visit] = []
    said, unit = np.zeros((len(mass), len(model.start))), UNIT
    for term, onto in zip(terms, rows, strict=True):
        measured, steps = term.measured(model.loss.curvature), term.steps
        assert measured is not None
        factor, unit = unit / term.unit, term.unit
        said, pool = factor * said, [visit.scaled(factor) for visit in pool]
        for one in errors:
            one.scale(factor)
        response = Response(measured, steps, numeric=numeric[term.feature], linear=model.loss.linear)
        if term.cuts:
            means = _means(term, feature, mass)
            for column, one in enumerate(errors):
                one.cut(response, response.of(onto, column), means, column)
            continue
        noise = measured.noise, measured.curvature_noise
        pool.append(_Visit(measured.gradient[0], measured.curvature[0], said, *noise))
        trust = _together(pool, numeric=numeric[feature])[1] if len(pool) > 1 else np.ones(len(errors))
        anew, together = bool(trust.mean() < SAME), _pooled(pool, steps[0], numeric=numeric[feature])
        said = said + steps[0]
        variance = variance_of(measured, said)
        for column, one in enumerate(errors):
            one.visit(response, together, len(pool), float(trust[column]), anew, variance[:, column], column)
        pool = pool[-1:] if anew else pool
    centred = np.eye(len(mass)) - mass
    found = [np.einsum("ij,jk,ik->i", centred, one.of_curve, centred, optimize=True) for one in errors]
    return np.asarray(np.maximum(np.stack(found, axis=1), 0) * (unit / UNIT) ** 2)


def _pooled(pool: Sequence[_Visit], step: Floats, *, numeric: bool) -> Response:
    """Return how a curve follows the mean of the gradients of visits, moved back to where it stood before the first."""
    level = np.mean([visit.curvature for visit in pool], axis=0)
    needed = np.mean([visit.gradient + level * (visit.said - pool[0].said) for visit in pool], axis=0)
    noise, curvature_noise = (
        float(np.sqrt(sum(getattr(visit, name) ** 2 for visit in pool))) / len(pool)
        for name in ("noise", "curvature_noise")
    )
    return Response(Measured(needed[None], level[None], noise, curvature_noise), step[None], numeric=numeric)


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
        self._covariance = np.zeros((4 * codes, 4 * codes))

    def scale(self, factor: float) -> None:
        """Tell errors in other units: so many times what they were."""
        self._covariance *= factor**2

    @property
    def of_curve(self) -> Floats:
        """The covariance of the curve's errors, (codes, codes)."""
        return self._covariance[: self._codes, : self._codes]

    def visit(
        self, alone: Response, together: Response, count: int, trust: float, anew: bool, variance: Floats, column: int
    ) -> None:
        """Take a round without cuts, the last of so many, whose gradients have noise of this variance, (codes,)."""
        one = np.eye(self._codes)
        none, level = 0 * one, np.diag(together.level[0, :, column])
        shown = np.diag(alone.shown[0, :, column])
        by_itself, gain = (1 - trust) * alone.of(one, column), trust * together.of(one, column) / count
        gradient = np.hstack([-shown, none, none, none])
        needed = gradient + np.hstack([none, level, -level, one])
        own = by_itself @ gradient + gain @ needed + np.hstack([none, (1 - trust) * one, trust * one, none])
        curve = own + np.hstack([one, -one, none, none])
        base = np.hstack([none, one, none, none] if anew else [none, none, one, none])
        move = np.vstack([curve, own, base, gradient if anew else needed])
        self._take(move, np.vstack([by_itself + gain, by_itself + gain, none, one]), variance)

    def cut(self, response: Response, gain: Floats, means: Floats, column: int) -> None:
        """Take a round with cuts, of which the curve follows gradients by ``gain`` and cells average the curve by ``means``."""
        move = np.eye(4 * self._codes)
        move[: self._codes, : self._codes] -= gain @ (response.shown[..., column].reshape(-1, 1) * means)
        self._take(move, np.pad(gain, ((0, 3 * self._codes), (0, 0))), response.variance[..., column].reshape(-1))

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
