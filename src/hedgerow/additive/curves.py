"""The contribution of each feature to the margin of an additive model, by itself and with others (docs/curves.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import softmax

from hedgerow.additive.estimate import (
    LOG_ODDS,
    MIN_SAME_CURVE,
    NEGLIGIBLE,
    TINY,
    Information,
    Measured,
    Prior,
    Visit,
    as_one_curve,
    denoised,
    estimated,
    posterior_covariances,
    weights_of,
)
from hedgerow.additive.model import AdditiveModel, joined
from hedgerow.additive.round import Term
from hedgerow.additive.starts import codes_in
from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.curator import Cut
from hedgerow.estimator.plans import Explanation, cells_in_words
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder, Numeric
from hedgerow.texts import short_repr

# If a curve has error e, a later gradient changes by H * e if gradients are linear in margins, else by about
# SHOWN * N (N + H)^-1 H e, with N the covariance of their noise (calibrated by simulation, docs/curves.md). Later steps correct
# part of the error, so errors are tracked jointly.
SHOWN = 0.7


class Response:
    """The linear response of a term's steps, (cells, codes, columns), to its noisy sums, with the priors' weights held fixed."""

    def __init__(
        self, measured: Measured, steps: Floats, *, numeric: bool, linear: bool = False, prior: Prior = LOG_ODDS
    ) -> None:
        self._numeric, self._prior = numeric, prior
        self.curvature = denoised(measured.curvature, measured.curvature_noise, measured.covariance)
        variance, covariance = measured.noise**2, measured.covariance
        self._information = Information.of(measured.gradient, self.curvature, variance, covariance)
        self._weights = weights_of(self.curvature, variance, covariance)
        # The change of gradients per unit error of the curve, in the form of ``_weights``: in full if ``linear``, else see SHOWN
        self.shown = np.moveaxis(self.curvature, 2, 0)
        if covariance is not None:
            self.shown = self.shown[..., None] * np.eye(len(covariance))
        if not linear:
            known = self._weights * self.shown if covariance is None else self._weights @ self.shown
            self.shown = SHOWN * (self.shown - known)
        # The variance of the noise that steps respond to: see ``Measured.variance``
        self.variance = measured.variance(steps)
        self._evidence = np.zeros(1)
        if len(steps) > 1:
            self._evidence = estimated(measured, numeric=numeric, prior=prior).evidence

    def of(self, rows: Floats, column: int) -> Floats:
        """Return the derivatives by gradients of averages of steps, given the averages' weights ``rows``; same shape."""
        cells, codes, _ = self.curvature.shape
        followed = np.zeros((len(rows), cells, codes))
        for depth, weight in enumerate(softmax(self._evidence)):
            if weight > NEGLIGIBLE:
                parts = (1 << depth, cells >> depth, codes)
                whole = Information(self._information.precision[[column]], self._information.pull[[column]])
                information = whole.at_depth(depth)
                gains = posterior_covariances(information, numeric=self._numeric, prior=self._prior)
                of_parts = np.einsum("qgi,gij->qgj", rows.reshape(-1, *parts).sum(axis=2), gains, optimize=True)
                followed += weight * np.repeat(of_parts, parts[1], axis=1)
        return times_blocks(followed.reshape(len(rows), -1), self._weights[column])


def curve_variance(model: AdditiveModel, feature: int, rows: Sequence[Floats], mass: Floats) -> Floats:
    """Return the variance from noise of each code of a feature's curve minus its mean, (codes, columns), in squared votes."""
    # The noise of the model's sums is known (``knows_noise``). For each term that reads the feature, ``rows`` has the weights of
    # the term's cells and codes in the curve, (codes, cells * codes); ``mass`` (codes,) has those of codes in the mean.
    terms = [term for term in model.terms if feature in term.features]
    numeric, linear, prior = model.encoder.schema.is_numeric, model.loss.linear, model.loss.prior
    errors = [_Errors(len(mass)) for _ in model.start]
    pool: list[Visit] = []
    curve_before, unit = np.zeros((len(mass), len(model.start))), UNIT
    for term, onto in zip(terms, rows, strict=True):
        measured, steps = term.measured(model.loss.curvature), term.steps
        assert measured is not None
        factor, unit = unit / term.unit, term.unit
        curve_before, pool = factor * curve_before, [visit.scaled(factor) for visit in pool]
        for one in errors:
            one.covariance *= factor**2
        response = Response(measured, steps, numeric=numeric[term.feature[0]], linear=linear, prior=prior)
        if term.cuts:
            means = _means(term, feature, mass)
            for column, one in enumerate(errors):
                one.cut(response, response.of(onto, column), means, column)
            continue
        pool.append(Visit(measured, curve_before))
        trust, ordered = np.ones(len(errors)), numeric[feature]
        if len(pool) > 1:
            trust = as_one_curve(pool, numeric=ordered, prior=prior)[1]
        anew, together = bool(trust.mean() < MIN_SAME_CURVE), _pooled(pool, steps[0], numeric=ordered, prior=prior)
        curve_before = curve_before + steps[0]
        variance = measured.variance(curve_before[None])
        for column, one in enumerate(errors):
            one.visit(response, together, len(pool), float(trust[column]), anew, variance[column], column)
        pool = pool[-1:] if anew else pool
    centred, codes = np.eye(len(mass)) - mass, len(mass)
    of_curve = [one.covariance[:codes, :codes] for one in errors]
    variances = [np.einsum("ij,jk,ik->i", centred, own, centred, optimize=True) for own in of_curve]
    return np.asarray(np.maximum(np.stack(variances, axis=1), 0) * (unit / UNIT) ** 2)


def _pooled(pool: Sequence[Visit], step: Floats, *, numeric: bool, prior: Prior) -> Response:
    """Return the response of a curve to the mean gradient of its visits, corrected to the curve before the first visit."""
    sums, base, count = [visit.measured for visit in pool], pool[0].curve_before, len(pool)
    curvature = np.mean([each.curvature for each in sums], axis=0)
    needed = [each.gradient + curvature * (visit.curve_before - base) for each, visit in zip(sums, pool, strict=True)]
    noise = math.sqrt(sum(each.noise**2 for each in sums)) / count
    curvature_noise = math.sqrt(sum(each.curvature_noise**2 for each in sums)) / count
    measured = Measured(np.mean(needed, axis=0), curvature, noise, curvature_noise, sums[0].covariance)
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

    These are the errors of the curve, of its terms without cuts, of the latter before the first pooled visit, and of the sum of
    the pooled gradients. Later gradients contain a part of an error, and later steps correct it, so variances do not just add.
    """

    def __init__(self, codes: int) -> None:
        self._codes = codes
        self.covariance = np.zeros((4 * codes, 4 * codes))  # of the curve's codes first

    def visit(
        self, alone: Response, together: Response, count: int, trust: float, anew: bool, variance: Floats, column: int
    ) -> None:
        """Add a round without cuts, the last of ``count`` visits; gradients have ``variance`` (1, codes) or (1, codes, codes)."""
        one = np.eye(self._codes)
        none, curvature = 0 * one, np.diag(together.curvature[0, :, column])
        by_itself, gain = (1 - trust) * alone.of(one, column), trust * together.of(one, column) / count
        gradient = np.hstack([-times_blocks(one, alone.shown[column]), none, none, none])
        needed = gradient + np.hstack([none, curvature, -curvature, one])
        own = by_itself @ gradient + gain @ needed + np.hstack([none, (1 - trust) * one, trust * one, none])
        curve = own + np.hstack([one, -one, none, none])
        base = np.hstack([none, one, none, none] if anew else [none, none, one, none])
        move = np.vstack([curve, own, base, gradient if anew else needed])
        self._take(move, np.vstack([by_itself + gain, by_itself + gain, none, one]), variance)

    def cut(self, response: Response, gain: Floats, means: Floats, column: int) -> None:
        """Add a round with cuts: ``gain`` is the curve's response to gradients, ``means`` the weights of codes in its cells."""
        move = np.eye(4 * self._codes)
        move[: self._codes, : self._codes] -= times_blocks(gain, response.shown[column]) @ means
        self._take(move, np.pad(gain, ((0, 3 * self._codes), (0, 0))), response.variance[column])

    def _take(self, move: Floats, gain: Floats, variance: Floats) -> None:
        self.covariance = move @ self.covariance @ move.T + times_blocks(gain, variance) @ gain.T


def times_blocks(rows: Floats, matrix: Floats) -> Floats:
    """Return ``rows`` (rows, cells * codes) times a matrix: a diagonal (cells, codes), or blocks (cells, codes, codes)."""
    if matrix.ndim == 2:
        return np.asarray(rows * matrix.reshape(-1))
    by_cell = rows.reshape(len(rows), *matrix.shape[:2])
    return np.asarray(np.einsum("qci,cij->qcj", by_cell, matrix, optimize=True)).reshape(rows.shape)


def of_centred_classes(variance: Floats) -> Floats:
    """Return the variances (..., columns) of steps minus their mean over the classes, from the variances of the steps."""
    classes = variance.shape[-1]
    if classes == 1:
        return variance
    return np.asarray(variance * (1 - 2 / classes) + variance.sum(axis=-1, keepdims=True) / classes**2)


MOST_CELLS = 1024  # the most codes of a curve with a band: memory grows with their square
SURE = 3  # standard deviations of noise, above which a curvature shows that a code has records; noise alone does so once in 700
RULE = (
    "a feature contributes its votes for the record's value minus their average in the record's cell; a cut contributes the "
    "average of the record's side minus that of both sides; averages are weighted by released sums"
)


@dataclass(frozen=True, eq=False)
class Curve:
    """The contribution of a feature by itself: its partial dependence, averaged term by term over the other features."""

    values: Floats  # (codes, columns), in log-odds (of two classes the second's) or the outcome's unit, less their mean
    deviation: Floats | None  # (codes, columns), the standard deviation from the added noise; None if unknown
    mass: Floats  # (codes,), weights of codes in the mean: shares of the released curvature, or equal if none was released
    seen: Truth  # (codes,), whether the code's records are significant; all true if nothing is known

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Pair:
    """The joint contribution of two features beyond that of each by itself."""

    first: int
    second: int
    values: Floats  # (codes of first, codes of second, columns)
    deviation: Floats | None  # likewise

    __repr__ = short_repr


def parts_of(term: Term, feature: int) -> tuple[Integers, Integers]:
    """Return one code of each part of a feature of a term, (parts,), and the part of each of its codes, (codes,).

    If the feature is measured in any cell, each code is a part. Else a part is the codes on the same sides of all its cuts.
    """
    if feature in term.feature:
        codes = np.arange(int(term.used[term.feature == feature].sum(axis=1)[0]))
        return codes, codes
    sides = np.stack([cut.side for cut in term.cuts if cut.by == feature])
    _, at, place = np.unique(sides, axis=1, return_index=True, return_inverse=True)
    return at, place


def digits_of(term: Term, feature: int, codes: Integers) -> tuple[int, Integers]:
    """Return the binary digits of cells that a feature's cuts set, and those that are 1 for some of its codes, (codes,)."""
    own = [(1 << k, cut.side[codes]) for k, cut in enumerate(reversed(term.cuts)) if cut.by == feature]
    return sum(digit for digit, _ in own), sum((digit * side for digit, side in own), np.zeros_like(codes))


def averages(term: Term, features: tuple[int, ...], values: Floats) -> Floats:
    """Return the averages of ``values`` (cells, codes, columns) over all features but ``features``, (parts of these, columns)."""
    # Cells and codes weigh by their released masses. The mass of a cell moves to the cell on the part's sides. If both have the
    # same measured feature, it keeps its code there, else it takes the target cell's mean.
    mass, cells = term.mass, np.arange(len(values))
    held = mass.sum(axis=1)
    means = np.einsum("cb,cbk->ck", mass, values) / held[:, None]
    at = [parts_of(term, feature)[0] for feature in features]
    out = np.zeros((*map(len, at), values.shape[2]))
    digits, of_parts = zip(*(digits_of(term, *each) for each in zip(features, at, strict=True)), strict=True)
    fixed = sum(digits)
    for setting in product(*(np.unique(own).tolist() for own in of_parts)):
        target = (cells & ~fixed) | sum(setting)
        block = np.ix_(*(np.flatnonzero(own == one) for own, one in zip(of_parts, setting, strict=True)))
        feature = term.feature[target]
        kept, moved = feature == term.feature, ~np.isin(feature, features)
        same, other = kept & moved, ~kept & moved
        out[block] += np.einsum("cb,cbk->k", mass[same], values[target[same]]) + held[other] @ means[target[other]]
        for axis, (codes, one) in enumerate(zip(at, features, strict=True)):
            own = np.bincount(target[feature == one], held[feature == one], minlength=len(cells))
            inside = np.flatnonzero(own)
            if len(inside):
                by_code = np.tensordot(own[inside], values[inside][:, codes[block[axis].reshape(-1)]], axes=1)
                out[block] += by_code.reshape([-1 if k == axis else 1 for k in range(len(at))] + [values.shape[2]])
    return np.asarray(out / held.sum())


def rows_of(term: Term, features: tuple[int, ...]) -> Floats:
    cells, codes, _ = term.votes.shape
    rows = averages(term, features, np.eye(cells * codes).reshape(cells, codes, -1))
    return rows.reshape(-1, cells * codes)


def held_by(term: Term, feature: int) -> Floats:
    at = parts_of(term, feature)[0]
    if feature in term.feature:
        return np.asarray(term.mass[term.feature == feature].sum(axis=0)[: len(at)])
    digits, of_parts = digits_of(term, feature, at)
    by_digits = np.bincount(np.arange(len(term.mass)) & digits, term.mass.sum(axis=1))
    return np.asarray(by_digits[of_parts], dtype=np.float64)


def curve_of(model: AdditiveModel, feature: int) -> Curve:
    codes, columns = int(model.encoder.n_codes[feature]), len(model.start)
    terms = [term for term in model.terms if feature in term.features]
    mass, seen = _held(model, [term for term in terms if feature in term.feature], feature)
    values = np.zeros((codes, columns))
    for term in terms:
        values += averages(term, (feature,), term.votes / model.vote_steps)[parts_of(term, feature)[1]]
    values -= mass @ values
    if model.own is not model:  # the band is for this fit's noise
        own, part = curve_of(model.own, feature), codes_in(model.own.encoder, model.encoder)[feature]
        return Curve(values, None if own.deviation is None else own.deviation[part], mass, own.seen[part])
    deviation = None
    if knows_noise(model) and codes <= MOST_CELLS:
        rows = [rows_of(term, (feature,))[parts_of(term, feature)[1]] for term in terms]
        deviation = np.sqrt(of_centred_classes(curve_variance(model, feature, rows, mass))) / model.vote_steps
    return Curve(values, deviation, mass, seen)


def knows_noise(model: AdditiveModel) -> bool:
    return all(term.sums is not None and term.noise > 0 and term.n_codes is None for term in model.own.terms)


def _held(model: AdditiveModel, terms: list[Term], feature: int) -> tuple[Floats, Truth]:
    codes = int(model.encoder.n_codes[feature])
    held, noise, known = np.zeros(codes), np.zeros(codes), False
    fewest = min((len(term.cuts) for term in terms), default=0)
    for term in terms:
        measured = term.measured(model.loss.curvature)
        if len(term.cuts) == fewest and measured is not None:
            curvature = measured.curvature[term.feature == feature, :codes]
            held, known = held + curvature.sum(axis=(0, 2)), True
            own = 1.0 if measured.covariance is None else np.diag(measured.covariance)
            noise += measured.curvature_noise**2 * curvature[:, 0].size * own
    mass = np.maximum(held, 0) + 1e-9
    seen = held > SURE * np.sqrt(noise) if known and noise.all() else np.ones(codes, dtype=np.bool_)
    return mass / mass.sum(), seen


def pair_of(model: AdditiveModel, first: int, second: int) -> Pair:
    shape = (*(int(model.encoder.n_codes[feature]) for feature in (first, second)), len(model.start))
    values, known = np.zeros(shape), knows_noise(model) and model.own is model
    variance = np.zeros(shape)
    for term in model.terms:
        if not {first, second} <= set(term.features):
            continue
        at = np.ix_(parts_of(term, first)[1], parts_of(term, second)[1])
        held = held_by(term, first), held_by(term, second)
        joint = averages(term, (first, second), term.votes / model.vote_steps)
        values += _centred(joint, held)[at]
        measured = term.measured(model.loss.curvature)
        if known and measured is not None:
            numeric = bool(model.encoder.schema.is_numeric[term.feature[0]])
            response = Response(measured, term.steps, numeric=numeric, prior=model.loss.prior)
            scale = term.unit / UNIT / model.vote_steps
            rows = _centred(rows_of(term, (first, second)).reshape(*joint.shape[:2], -1), held)
            gains = [response.of(rows.reshape(-1, rows.shape[2]), k) * scale for k in range(term.columns)]
            own = [(times_blocks(gain, response.variance[k]) * gain).sum(axis=1) for k, gain in enumerate(gains)]
            variance += np.stack(own, axis=1).reshape(joint.shape)[at]
    deviation = np.sqrt(of_centred_classes(variance)) if known else None
    if model.own is not model:
        codes, part = codes_in(model.own.encoder, model.encoder), pair_of(model.own, first, second)
        deviation = None if part.deviation is None else part.deviation[np.ix_(codes[first], codes[second])]
    return Pair(first, second, values, deviation)


def _centred(joint: Floats, held: tuple[Floats, Floats]) -> Floats:
    """Return the interaction of two features, (parts, parts, columns): minus the means over either, weighted by ``held``."""
    for axis, weights in enumerate(held):
        joint = joint - np.average(joint, axis=axis, weights=weights, keepdims=True)
    return joint


def explained(model: AdditiveModel, X: Any) -> Explanation:
    """Return the contribution of each feature to the margin of each record; sums are exact, since all values are whole votes."""
    encoder = model.encoder
    codes = encoder.transform(X)
    contributions = np.zeros((*codes.shape, len(model.start)))
    baseline, every = model.start.astype(np.float64), np.arange(len(codes))
    for term in model.terms:
        means = [np.rint(mean) for mean in term.means(term.mass)]
        baseline += means[0][0]
        place = np.zeros(len(codes), dtype=np.int64)
        for cut, before, after in zip(term.cuts, means, means[1:], strict=False):
            side = 2 * place + cut.side[codes[:, cut.by]]
            contributions[:, cut.by] += after[side] - before[place]
            place = side
        feature = term.feature[place]
        contributions[every, feature] += term.votes[place, codes[every, feature]] - means[-1][place]
    deviation = None
    if knows_noise(model):
        of_curves = [curve_of(model, feature).deviation for feature in range(codes.shape[1])]
        none = np.full((len(codes), len(model.start)), np.nan)
        deviation = np.stack([none if own is None else own[codes[:, j]] for j, own in enumerate(of_curves)], axis=1)
    whole = model.shown(baseline / model.vote_steps + model.loss.origin)
    return Explanation(
        names=tuple(encoder.schema.names),
        classes=tuple(encoder.schema.classes),
        scale=model.loss.scale,
        baseline=float(whole) if whole.ndim == 0 else whole,
        contributions=model.shown(contributions / model.vote_steps),
        cells=cells_in_words(encoder, codes),
        deviation=None if deviation is None else model.shown(deviation),
        rule=RULE,
    )


def noise_by_feature(model: AdditiveModel) -> Floats | None:
    # None where the noise is not known; NaN for curves without a band.
    if not knows_noise(model):
        return None
    of_curves = [curve_of(model, feature).deviation for feature in range(len(model.encoder.n_codes))]
    noise = np.array([np.nan if own is None else np.sqrt((own**2).mean(axis=0)).sum() for own in of_curves])
    noise *= model.vote_steps / VOTE_STEPS
    return np.asarray(noise / max(sum(term.spread().sum() for term in joined(model.terms)), 1e-300))


def condition(encoder: Encoder, cut: Cut) -> str:
    name = encoder.schema.names[cut.by]
    kind, codes = encoder.schema.features[name], np.flatnonzero(cut.side == 0)
    if not isinstance(kind, Numeric):
        return " or ".join(f"{name} = {kind.code_label(code, encoder.max_bins)}" for code in codes.tolist())
    edges = [kind.edge_label(float(edge)) for edge in encoder.edges[cut.by]]
    parts = []
    for run in np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1):
        first, last = int(run[0]), min(int(run[-1]), len(edges))  # the code for missing values is beyond the bins
        low, high = (
            f"{edges[first - 1]} <= " if 0 < first <= len(edges) else "",
            edges[last] if last < len(edges) else "",
        )
        if first > len(edges):
            parts.append(f"{name} is missing")
        elif low and not high:
            parts.append(f"{name} >= {edges[first - 1]}")
        else:
            parts.append(f"{low}{name} < {high}" if high else f"{name} is not missing")
    return " or ".join(parts)
