"""The uncertainty of curves and pairs from the noise of the released sums (docs/curves.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from hedgerow.additive.estimate import (
    LITTLE,
    LOG_ODDS,
    SAME,
    TINY,
    Prior,
    Visit,
    as_one_curve,
    denoised,
    estimated,
    posterior_covariances,
)
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.terms import Measured, Term
from hedgerow.arrays import Floats
from hedgerow.margins import UNIT

__all__ = ["Response", "curve_variance", "of_centred_classes"]


SHOWN = 0.6  # the part of a curve's error that later gradients show, times the share of the noise in their variance


class Response:
    """How the steps of a term, (cells, codes, columns) of its loss, follow its noisy sums at fixed weights of the priors.

    ``linear`` says that gradients follow an error of the curve in full.
    """

    def __init__(
        self, measured: Measured, steps: Floats, *, numeric: bool, linear: bool = False, prior: Prior = LOG_ODDS
    ) -> None:
        self._numeric, self._prior = numeric, prior
        self.level = denoised(measured.curvature, measured.curvature_noise)
        total = measured.noise**2 + self.level + TINY
        self._weight, self._pull = self.level**2 / total, self.level * measured.gradient / total
        self._taken = self.level / total
        # How far gradients follow an error of the curve: for a classifier only by the noise's share of their variance.
        self.shown = self.level if linear else SHOWN * self.level * measured.noise**2 / total
        self.variance = variance_of(measured, steps)
        self._evidence = np.zeros(1)
        if len(steps) > 1:
            noise = measured.noise, measured.curvature_noise
            estimate = estimated(measured.gradient, measured.curvature, *noise, numeric=numeric, prior=prior)
            self._evidence = estimate.evidence

    def of(self, rows: Floats, column: int) -> Floats:
        """Return how averages of steps, ``rows`` (averages, cells * codes), follow gradients, of the same shape."""
        cells, codes, _ = self.level.shape
        followed = np.zeros((len(rows), cells, codes))
        for depth, weight in enumerate(softmax(self._evidence)):
            if weight > LITTLE:
                parts = (1 << depth, cells >> depth, codes)
                sums = (each[..., column].reshape(parts).sum(axis=1) for each in (self._weight, self._pull))
                gains = posterior_covariances(*sums, numeric=self._numeric, prior=self._prior)
                of_parts = np.einsum("qgi,gij->qgj", rows.reshape(-1, *parts).sum(axis=2), gains, optimize=True)
                followed += weight * np.repeat(of_parts, parts[1], axis=1)
        return (followed * self._taken[..., column]).reshape(len(rows), -1)


def curve_variance(model: AdditiveModel, feature: int, rows: Sequence[Floats], mass: Floats) -> Floats:
    """Return the variance from noise of each code of a feature's curve minus its mean, (codes, columns), in squared votes.

    ``model`` knows its noise. ``rows`` hold for each term that reads the feature how its cells count in the curve, (codes,
    cells * codes of the term); ``mass`` (codes,) is the share of each code in the mean.
    """
    terms = [term for term in model.terms if feature in term.features]
    numeric, linear, prior = model.encoder.schema.is_numeric, model.loss.linear, model.loss.prior
    errors = [_Errors(len(mass)) for _ in model.start]
    pool: list[Visit] = []
    said, unit = np.zeros((len(mass), len(model.start))), UNIT
    for term, onto in zip(terms, rows, strict=True):
        measured, steps = term.measured(model.loss.curvature), term.steps
        assert measured is not None
        factor, unit = unit / term.unit, term.unit
        said, pool = factor * said, [visit.scaled(factor) for visit in pool]
        for one in errors:
            one.scale(factor)
        response = Response(measured, steps, numeric=numeric[term.feature], linear=linear, prior=prior)
        if term.cuts:
            means = _means(term, feature, mass)
            for column, one in enumerate(errors):
                one.cut(response, response.of(onto, column), means, column)
            continue
        noise = measured.noise, measured.curvature_noise
        pool.append(Visit(measured.gradient[0], measured.curvature[0], said, *noise))
        trust, ordered = np.ones(len(errors)), numeric[feature]
        if len(pool) > 1:
            trust = as_one_curve(pool, numeric=ordered, prior=prior)[1]
        anew, together = bool(trust.mean() < SAME), _pooled(pool, steps[0], numeric=ordered, prior=prior)
        said = said + steps[0]
        variance = variance_of(measured, said)
        for column, one in enumerate(errors):
            one.visit(response, together, len(pool), float(trust[column]), anew, variance[:, column], column)
        pool = pool[-1:] if anew else pool
    centred = np.eye(len(mass)) - mass
    variances = [np.einsum("ij,jk,ik->i", centred, one.of_curve, centred, optimize=True) for one in errors]
    return np.asarray(np.maximum(np.stack(variances, axis=1), 0) * (unit / UNIT) ** 2)


def _pooled(pool: Sequence[Visit], step: Floats, *, numeric: bool, prior: Prior) -> Response:
    """Return how a curve follows the mean gradient of its visits, moved back to the curve before the first."""
    level = np.mean([visit.curvature for visit in pool], axis=0)
    needed = np.mean([visit.gradient + level * (visit.said - pool[0].said) for visit in pool], axis=0)
    noise, curvature_noise = (
        float(np.sqrt(sum(getattr(visit, name) ** 2 for visit in pool))) / len(pool)
        for name in ("noise", "curvature_noise")
    )
    measured = Measured(needed[None], level[None], noise, curvature_noise)
    return Response(measured, step[None], numeric=numeric, prior=prior)


def _means(term: Term, feature: int, mass: Floats) -> Floats:
    """Return the weight of each code of a feature in the cells and codes of a term that reads it, (cells * codes, codes)."""
    axis = term.features.index(feature)
    if axis == len(term.cuts):
        return np.tile(np.eye(len(mass)), (len(term.votes), 1))
    side = np.eye(2)[:, term.cuts[axis].side] * mass
    of_cells = np.arange(len(term.votes)) >> (len(term.cuts) - 1 - axis) & 1
    return np.repeat((side / np.maximum(side.sum(axis=1, keepdims=True), TINY))[of_cells], term.votes.shape[1], axis=0)


class _Errors:
    """The joint covariance of four errors of one column of a curve.

    These are the errors of the curve, of its terms without cuts, of these before the first pooled visit, and of the sum of
    the pooled gradients. Later gradients show a part of an error, and their steps correct it, so errors do not add up.
    """

    def __init__(self, codes: int) -> None:
        self._codes = codes
        self._covariance = np.zeros((4 * codes, 4 * codes))

    def scale(self, factor: float) -> None:
        """Convert errors to other units, by this factor."""
        self._covariance *= factor**2

    @property
    def of_curve(self) -> Floats:
        """The covariance of the curve's errors, (codes, codes)."""
        return self._covariance[: self._codes, : self._codes]

    def visit(
        self, alone: Response, together: Response, count: int, trust: float, anew: bool, variance: Floats, column: int
    ) -> None:
        """Add a round without cuts, the last of ``count`` visits, whose gradients have noise of this variance, (codes,)."""
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
        """Add a round with cuts: the curve follows its gradients by ``gain``, its cells average the curve by ``means``."""
        move = np.eye(4 * self._codes)
        move[: self._codes, : self._codes] -= gain @ (response.shown[..., column].reshape(-1, 1) * means)
        self._take(move, np.pad(gain, ((0, 3 * self._codes), (0, 0))), response.variance[..., column].reshape(-1))

    def _take(self, move: Floats, gain: Floats, variance: Floats) -> None:
        self._covariance = move @ self._covariance @ move.T + (gain * variance) @ gain.T


def variance_of(measured: Measured, steps: Floats) -> Floats:
    """Return the variance of gradients plus that of curvatures times steps: the noise that the steps follow."""
    return np.asarray(measured.noise**2 + (steps * measured.curvature_noise) ** 2)


def of_centred_classes(variance: Floats) -> Floats:
    """Return the variances (..., columns) of steps minus their mean over the classes, from the variances of the steps."""
    classes = variance.shape[-1]
    if classes == 1:
        return variance
    return np.asarray(variance * (1 - 2 / classes) + variance.sum(axis=-1, keepdims=True) / classes**2)
