"""The contribution of each feature to the margin of an additive model, by itself and with others (docs/curves.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.additive.bands import Response, curve_variance, of_centred_classes
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.starts import codes_in
from hedgerow.additive.terms import Term, joined
from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.curator import Cut
from hedgerow.estimator.explanation import Explanation, cells_in_words
from hedgerow.margins import UNIT, VOTE_STEPS
from hedgerow.schema import Encoder, Numeric
from hedgerow.texts import short_repr

__all__ = ["Curve", "Pair", "condition", "curve_of", "explained", "noise_by_feature", "pair_of"]


MOST_CELLS = 1024  # codes of a curve with a band
SURE = 3  # records are visible where a curvature is above this many standard deviations of its noise
RULE = (
    "a feature adds what its codes say more than the mean of their cell, and where it is cut what its side says more than the "
    "mean of both sides; means weigh cells by what was released of them"
)


@dataclass(frozen=True, eq=False)
class Curve:
    """The contribution of a feature by itself: its partial dependence, averaged term by term over the other features."""

    values: (
        Floats  # (codes, columns), log-odds (of two classes the second's), or in the outcome's unit, less their mean
    )
    deviation: (
        Floats | None
    )  # (codes, columns), of what noise adds, one standard deviation; None where that is not known
    mass: Floats  # (codes,), the share of each code in the mean: of the released curvatures, or even where none was released
    seen: Truth  # (codes,), whether records stand out of the noise; everywhere where nothing is known

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class Pair:
    """The joint contribution of two features beyond that of each by itself."""

    first: int
    second: int
    values: Floats  # (codes of first, codes of second, columns)
    deviation: Floats | None  # likewise

    __repr__ = short_repr


def averaged(term: Term, features: tuple[int, ...]) -> Floats:
    """Return the weights of a term's cells in averages over all features but ``features``, (parts of these, cells * codes).

    Averages weigh by the released masses. The parts of a feature are the sides of its cut, or the codes of the feature in bins.
    """
    mass = term.mass.reshape(*(2 for _ in term.cuts), -1)
    shape, axes = mass.shape, [term.features.index(feature) for feature in features]
    of_others = mass.sum(axis=tuple(axes), keepdims=True)
    kept = [shape[axis] for axis in axes]
    part = np.ravel_multi_index([np.indices(shape)[axis] for axis in axes], kept).reshape(-1)
    rows = np.zeros((int(np.prod(kept)), len(part)))
    rows[part, np.arange(len(part))] = np.broadcast_to(of_others / of_others.sum(), shape).reshape(-1)
    return rows


def held_by(term: Term, feature: int) -> Floats:
    """Return the released mass of each part of one of a term's features, (parts,)."""
    mass, axis = term.mass.reshape(*(2 for _ in term.cuts), -1), term.features.index(feature)
    return np.asarray(np.moveaxis(mass, axis, 0).reshape(mass.shape[axis], -1).sum(axis=1))


def places(term: Term, feature: int) -> Integers:
    """Return the part of each code of one of a term's features: the side of its cut, or the code."""
    sides = {cut.by: cut.side for cut in term.cuts}
    return sides.get(feature, np.arange(term.votes.shape[1]))


def steps_of(model: AdditiveModel, term: Term) -> Floats:
    """Return the votes of a term in the unit of predictions, log-odds or outcomes, (cells * codes, columns)."""
    return np.asarray(term.votes.reshape(-1, term.columns) / model.vote_steps)


def curve_of(model: AdditiveModel, feature: int) -> Curve:
    """Return the contribution of a feature by itself, with its noise."""
    codes, columns = int(model.encoder.n_codes[feature]), len(model.start)
    terms = [term for term in model.terms if feature in term.features]
    mass, seen = _held(model, [term for term in terms if term.feature == feature], codes)
    rows = [averaged(term, (feature,))[places(term, feature)] for term in terms]
    values = sum(
        (row @ steps_of(model, term) for row, term in zip(rows, terms, strict=True)), np.zeros((codes, columns))
    )
    values -= mass @ values
    if model.own is not model:  # the band is for this fit's noise
        own, part = curve_of(model.own, feature), list(codes_in(model.own.encoder, model.encoder))[feature]
        return Curve(values, None if own.deviation is None else own.deviation[part], mass, own.seen[part])
    deviation = None
    if knows_noise(model) and codes <= MOST_CELLS:
        deviation = np.sqrt(of_centred_classes(curve_variance(model, feature, rows, mass))) / model.vote_steps
    return Curve(values, deviation, mass, seen)


def knows_noise(model: AdditiveModel) -> bool:
    """Return whether the noise of all sums behind the fit's own terms is known."""
    return all(term.sums is not None and term.noise > 0 for term in model.own.terms)


def _held(model: AdditiveModel, terms: list[Term], codes: int) -> tuple[Floats, Truth]:
    """Return a curve's ``mass`` and ``seen``, by those of its terms in bins with the fewest cuts."""
    fewest = min((len(term.cuts) for term in terms), default=0)
    measured = [term.measured(model.loss.curvature) for term in terms if len(term.cuts) == fewest]
    known = [one for one in measured if one is not None]
    held = np.sum([one.curvature.sum(axis=(0, 2)) for one in known], axis=0) if known else np.zeros(codes)
    noise = np.sqrt(sum(one.curvature_noise**2 * one.curvature[:, 0].size for one in known))
    mass = np.maximum(held, 0) + 1e-9
    seen = held > SURE * noise if known and noise > 0 else np.ones(codes, dtype=np.bool_)
    return mass / mass.sum(), seen


def pair_of(model: AdditiveModel, first: int, second: int) -> Pair:
    """Return the joint contribution of two features beyond that of each, with its noise; zeros if no term reads both."""
    shape = (*(int(model.encoder.n_codes[feature]) for feature in (first, second)), len(model.start))
    values, known = np.zeros(shape), knows_noise(model) and model.own is model
    variance = np.zeros(shape)
    for term in model.terms:
        if not {first, second} <= set(term.features):
            continue
        rows, at = _centred(term, first, second), np.ix_(places(term, first), places(term, second))
        parts = len(held_by(term, first)), len(held_by(term, second))
        values += (rows @ steps_of(model, term)).reshape(*parts, -1)[at]
        measured = term.measured(model.loss.curvature)
        if known and measured is not None:
            numeric = bool(model.encoder.schema.is_numeric[term.feature])
            response = Response(measured, term.steps, numeric=numeric)
            noise = response.variance.reshape(-1, term.columns)
            own = [
                (response.of(rows, k) * (term.unit / UNIT / model.vote_steps)) ** 2 @ noise[:, k]
                for k in range(term.columns)
            ]
            variance += np.stack(own, axis=1).reshape(*parts, -1)[at]
    deviation = np.sqrt(of_centred_classes(variance)) if known else None
    if model.own is not model:
        codes, part = list(codes_in(model.own.encoder, model.encoder)), pair_of(model.own, first, second)
        deviation = None if part.deviation is None else part.deviation[np.ix_(codes[first], codes[second])]
    return Pair(first, second, values, deviation)


def _centred(term: Term, first: int, second: int) -> Floats:
    """Return how cells count in what two of a term's features add together, beyond the means over either; see ``averaged``."""
    rows = averaged(term, (first, second))
    mass = held_by(term, first), held_by(term, second)
    rows = rows.reshape(len(mass[0]), len(mass[1]), -1)
    for axis, held in enumerate(mass):
        rows = rows - np.average(rows, axis=axis, weights=held, keepdims=True)
    return np.asarray(rows.reshape(-1, rows.shape[2]))


def explained(model: AdditiveModel, X: Any) -> Explanation:
    """Return the contribution of each feature to the margin of each record; sums are exact, since all values are whole votes."""
    encoder = model.encoder
    codes = encoder.transform(X)
    contributions = np.zeros((*codes.shape, len(model.start)))
    baseline = model.start.astype(np.float64)
    for term in model.terms:
        means = [np.rint(mean) for mean in term.means(term.mass)]
        baseline += means[0][0]
        place = np.zeros(len(codes), dtype=np.int64)
        for cut, before, after in zip(term.cuts, means, means[1:], strict=False):
            side = 2 * place + cut.side[codes[:, cut.by]]
            contributions[:, cut.by] += after[side] - before[place]
            place = side
        contributions[:, term.feature] += term.votes[place, codes[:, term.feature]] - means[-1][place]
    deviation = None
    if knows_noise(model):
        of_curves = [curve_of(model, feature).deviation for feature in range(codes.shape[1])]
        none = np.full((len(codes), len(model.start)), np.nan)
        deviation = np.stack([none if own is None else own[codes[:, j]] for j, own in enumerate(of_curves)], axis=1)
    whole = model.shown(baseline / model.vote_steps + model.origin)
    return Explanation(
        names=tuple(encoder.schema.names),
        classes=tuple(encoder.schema.classes),
        scale=model.scale,
        baseline=float(whole) if whole.ndim == 0 else whole,
        contributions=model.shown(contributions / model.vote_steps),
        cells=cells_in_words(encoder, codes),
        deviation=None if deviation is None else model.shown(deviation),
        rule=RULE,
    )


def noise_by_feature(model: AdditiveModel) -> Floats | None:
    """Return the spread that noise alone gives each feature's curve, (features,), as a share of the spread of all terms.

    None where the noise is not known; NaN for curves without a band.
    """
    if not knows_noise(model):
        return None
    of_curves = [curve_of(model, feature).deviation for feature in range(len(model.encoder.n_codes))]
    noise = np.array([np.nan if own is None else np.sqrt((own**2).mean(axis=0)).sum() for own in of_curves])
    noise *= model.vote_steps / VOTE_STEPS
    return np.asarray(noise / max(sum(term.spread().sum() for term in joined(model.terms)), 1e-300))


def condition(encoder: Encoder, cut: Cut) -> str:
    """Return a description of the first side of a cut."""
    name = encoder.schema.names[cut.by]
    kind, edges = encoder.schema.features[name], encoder.edges[cut.by]
    if not isinstance(kind, Numeric):
        return f"{name} = {kind.code_label(cut.code, encoder.max_bins)}"
    return f"{name} < {kind.edge_label(float(edges[cut.code]))}" if cut.code < len(edges) else f"{name} is not missing"
