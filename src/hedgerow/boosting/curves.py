"""What each feature adds to the margin of an additive model, and what the noise of the released sums leaves open of it.

All of it is worked out from released values (docs/curves.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.additive_model import AdditiveModel
from hedgerow.boosting.bands import Errors
from hedgerow.boosting.monotone import Monotone, averages_of
from hedgerow.boosting.plan import columns_of, lead
from hedgerow.boosting.visits import Visit, Visits
from hedgerow.boosting.weights import VOTE_STEPS
from hedgerow.curator import Cut
from hedgerow.estimator.explanation import Explanation, cells_in_words

__all__ = [
    "Curve",
    "Pair",
    "curve_of",
    "explained",
    "noise_by_feature",
    "pair_of",
    "pairs",
    "spread_by_feature",
    "spread_of",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Of an error, that gradients of later rounds show: by whether rounds are strict, for two classes and for more.
FOUND = {False: (0.4, 0.7), True: (0.2, 0.0)}
MOST_CELLS = 1024  # of a curve with a band
MOST_ERRORS = 1 << 25  # numbers that are worked with at once: four for each pair of a cell and a sum behind it
SURE = 3  # deviations of its noise that a curvature is above where there are records
RULE = (
    "a feature adds what its curves say more than their mean; curves on the sides of a cut count for the feature whose "
    "curves they are, and not for the one that is cut"
)
LONGEST = {1: 2.0}  # where a step is cut, for two classes in the second's log-odds; 1 for each of more


@dataclass(frozen=True, eq=False)
class Curve:
    """What a feature adds by itself: its own curves, and what those on the sides of cuts of it or by it add on average.

    Parameters
    ----------
    values : ndarray of shape (codes, columns)
        Log-odds, less their mean; for two classes one column, the second class's.
    deviation : ndarray of shape (codes, columns) or None
        What noise adds, one standard deviation; None where the sums behind the curve are not known.
    mass : ndarray of shape (codes,)
        The share of each code in the mean: of the released curvatures, or even where none was released.
    seen : ndarray of shape (codes,), bool
        Whether records stand out of the noise there; everywhere where nothing is known.
    """

    values: Floats
    deviation: Floats | None
    mass: Floats
    seen: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pair:
    """What two features add together beyond what each adds by itself.

    ``values`` and ``deviation`` are of shape (codes of ``first``, codes of ``second``, columns).
    """

    first: int
    second: int
    values: Floats
    deviation: Floats | None


@dataclass(frozen=True, eq=False)
class Response:
    """How noise came into a round with cuts: ``steps`` (cells, columns) are ``gain`` (columns, cells, cells) times gradients.

    ``curvature`` (cells, columns) is how a gradient follows its margin, and ``variance`` (cells, columns) that of its noise.
    """

    gain: Floats
    curvature: Floats
    variance: Floats
    steps: Floats


@dataclass(frozen=True, eq=False)
class Piece:
    """One round: the values of its cells, (cells, columns), those of the first side first, and how noise came into them.

    ``into`` (codes,) is the cell of each code of ``feature`` on a side; each of the ``cuts`` doubles the sides. ``sums`` are the
    released gradients and curvatures, each (cells, columns), None where they are not known. ``averages`` says which means a
    constraint makes of steps (cells,), None where there is none. The one that ``opens`` the model holds its intercept, too.
    """

    feature: int
    cuts: tuple[Cut, ...]
    into: Integers
    values: Floats
    sums: tuple[Floats, Floats] | None
    respond: Callable[[], Response | None]
    averages: Callable[[Floats], Floats] | None = None
    opens: bool = False

    @cached_property
    def response(self) -> Response | None:
        """How noise came into it, where it has cuts; None where that is not known, or too much to work out."""
        found = self.respond()
        if found is None or self.averages is None:
            return found
        return replace(found, gain=self.averages(found.steps[:, 0]) @ found.gain)

    @property
    def measured(self) -> Floats:
        """The released curvature of the cells, (cells,); ones where it is not known."""
        return np.ones(len(self.values)) if self.sums is None else self.sums[1].sum(axis=1)

    @property
    def mass(self) -> Floats:
        """How much the cells hold, (cells,), above zero."""
        return np.maximum(self.measured, 0) + 1e-9

    @property
    def features(self) -> tuple[int, ...]:
        """The features that it reads: those that are cut, and the one whose curve it is."""
        return (*(cut.by for cut in self.cuts), self.feature)

    @cached_property
    def shares(self) -> list[Floats]:
        """The shares in the mass of the sides of each cut, and of the cells of one side."""
        axes = range(len(self.cuts) + 1)
        mass = self.mass.reshape(*(2 for _ in self.cuts), -1)
        return [mass.sum(axis=tuple(other for other in axes if other != axis)) / mass.sum() for axis in axes]

    @property
    def places(self) -> list[Integers]:
        """The side, or the cell, of each code of its features."""
        return [*(cut.side for cut in self.cuts), self.into]

    def onto(self, feature: int) -> Floats:
        """Return how the cells count in the curve of one of its features, (codes, cells): an average over the others."""
        parts = [
            np.eye(len(share))[place] if own == feature else share[None]
            for own, share, place in zip(self.features, self.shares, self.places, strict=True)
        ]
        return _kron(parts)

    def means(self, feature: int, mass: Floats) -> Floats:
        """Return the average over the codes of one of its features in each cell, (cells, codes)."""
        parts = [
            np.eye(len(share))[place].T * mass if own == feature else np.ones((len(share), 1))
            for own, share, place in zip(self.features, self.shares, self.places, strict=True)
        ]
        rows = _kron(parts)
        return np.asarray(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300))

    def of(self, codes: npt.NDArray[np.unsignedinteger]) -> Floats:
        """Return the values of records, (records, columns), by their codes (records, features)."""
        place = np.zeros(len(codes), dtype=np.int64)
        for feature, share, own in zip(self.features, self.shares, self.places, strict=True):
            place = place * len(share) + own[codes[:, feature]]
        return self.values[place]


def _kron(parts: list[Floats]) -> Floats:
    """Return the Kronecker product of matrices, the rows and columns of the first one slowest."""
    product = np.ones((1, 1))
    for part in parts:
        product = np.kron(product, part).astype(np.float64)
    return product


def pieces_of(model: AdditiveModel) -> Iterator[Piece]:
    """Yield the rounds of a model in their order."""
    so_far: dict[int, Floats] = {}
    for number, (tests, feature, firsts) in enumerate(model.rounds()):
        piece = _piece(model, feature, tuple(model.cut(test) for test in tests), firsts)
        piece = replace(piece, opens=number == 0)
        yield piece if model.monotone is None else _constrained(piece, model.monotone, so_far)


def _constrained(piece: Piece, monotone: Monotone, so_far: dict[int, Floats]) -> Piece:
    """Return a round with what its constraints do to noise; ``so_far`` holds the one-sided curves of features, and is updated."""
    sides, feature = 1 << len(piece.cuts), piece.feature
    before = np.zeros(1) if piece.cuts else so_far.get(feature, np.zeros(1))
    if not piece.cuts:
        so_far[feature] = before + piece.values[:, 0]
    sign, across = monotone.signs[feature], monotone.across(piece.cuts)
    if not (sign or across):
        return piece
    weights = piece.mass.reshape(sides, -1)
    return replace(piece, averages=lambda steps: averages_of(steps.reshape(sides, -1) + before, weights, sign, across))


def _piece(model: AdditiveModel, feature: int, cuts: tuple[Cut, ...], firsts: list[int]) -> Piece:
    """Return the round whose leaves on each side begin at ``firsts``."""
    assert model.share is not None
    codes = int(model.encoder.n_codes[feature])
    leaves = np.concatenate([np.arange(first, first + codes) for first in firsts])
    if model.measured is None:
        return Piece(feature, cuts, np.arange(codes), _columns(model.share[leaves]), None, lambda: None)
    cells, at, into = np.unique(model.measured.cell[leaves], return_index=True, return_inverse=True)
    sums = model.measured.of_cells(cells)
    respond = partial(_response, model, *sums, feature, len(firsts)) if cuts else lambda: None
    return Piece(feature, cuts, into[:codes], _columns(model.share[leaves[at]]), sums, respond)


def _columns(votes: Floats) -> Floats:
    return columns_of(lead(votes))


def _response(model: AdditiveModel, gradient: Floats, curvature: Floats, feature: int, sides: int) -> Response | None:
    if model.measured is None or len(gradient) > MOST_CELLS:
        return None
    noise, curvature_noise = model.measured.deviations
    numeric = bool(model.encoder.schema.is_numeric[feature])
    cells, columns = gradient.shape
    gains, levels = np.zeros((columns, cells, cells)), np.zeros_like(curvature)
    for part in np.split(np.arange(cells), sides):
        found, levels[part] = model.smoothing.gains(gradient[part], curvature[part], noise, curvature_noise, numeric)
        gains[:, part[:, None], part] = found
    steps = np.einsum("kij,jk->ik", gains, gradient)
    gains[np.abs(steps.T) >= LONGEST.get(columns, 1.0)] = 0  # cut: noise does not move them
    longest = LONGEST.get(columns, 1.0)
    return Response(gains, levels, noise**2 + (steps * curvature_noise) ** 2, np.clip(steps, -longest, longest))


def curve_of(model: AdditiveModel, feature: int) -> Curve:
    """Return what a feature adds by itself, with its noise."""
    codes = int(model.encoder.n_codes[feature])
    pieces = [piece for piece in pieces_of(model) if feature in piece.features]
    columns = _columns(np.zeros((1, len(model.encoder.schema.classes)))).shape[1]
    mass = sum((piece.mass for piece in pieces if not piece.cuts), start=np.full(codes, 1e-9))
    mass = mass / mass.sum()
    values = np.zeros((codes, columns))
    for piece in pieces:
        values += piece.onto(feature) @ piece.values
    values -= mass @ values
    seen = _seen(model, codes, [piece for piece in pieces if not piece.cuts])
    variance = None if codes > MOST_CELLS else _variance(model, feature, pieces, mass, columns)
    return Curve(values, None if variance is None else np.sqrt(_of_centred_classes(variance)), mass, seen)


def _variance(model: AdditiveModel, feature: int, pieces: list[Piece], mass: Floats, columns: int) -> Floats | None:
    """Return the variance that noise adds to each code of a feature's curve, (codes, columns); None where that is not known."""
    draws = sum(len(piece.values) for piece in pieces)
    if model.measured is None or 4 * len(mass) * draws > MOST_ERRORS:
        return None
    if any(piece.cuts and piece.response is None for piece in pieces):
        return None
    visits, variance = _visits(model, pieces, columns), []
    for k in range(columns):
        errors = Errors(len(mass), draws, FOUND[model.strict][columns > 1])
        for piece, visit in zip(pieces, visits, strict=True):
            if visit is not None:
                _take_visit(model, piece, visit, k, errors)
            elif piece.response is not None:
                gain, response = piece.onto(feature) @ piece.response.gain[k], piece.response
                errors.alone(gain, response.curvature[:, k], response.variance[:, k], piece.means(feature, mass))
        variance.append(errors.variance(mass))
    return np.stack(variance, axis=1)


def _visits(model: AdditiveModel, pieces: list[Piece], columns: int) -> list[Visit | None]:
    """Return how the one-sided rounds of one curve came about, worked out again from their sums; None for those with cuts."""
    assert model.measured is not None
    again, said = Visits(model.smoothing, *model.measured.deviations), np.zeros((1, columns))
    found: list[Visit | None] = []
    for piece in pieces:
        if piece.cuts or piece.sums is None:
            found.append(None)
            continue
        said = np.broadcast_to(said, piece.values.shape)
        numeric = bool(model.encoder.schema.is_numeric[piece.feature])
        visit = again.visit(piece.feature, *piece.sums, said, numeric=numeric)
        found.append(visit)
        said = said + piece.values
        if piece.opens:  # the fit knew the curve without the intercept, which is what stands here beside the step
            steps = _cut(visit.steps)
            steps = steps - steps.mean(axis=1, keepdims=True) if columns > 1 else steps
            said = said - piece.mass @ (piece.values - steps) / piece.mass.sum()
    return found


def _cut(steps: Floats) -> Floats:
    longest = LONGEST.get(steps.shape[1], 1.0)
    return np.clip(steps, -longest, longest)


def _take_visit(model: AdditiveModel, piece: Piece, visit: Visit, k: int, errors: Errors) -> None:
    """Let the noise of one column of a one-sided round into the errors of its curve."""
    assert model.measured is not None
    assert piece.sums is not None
    numeric = bool(model.encoder.schema.is_numeric[piece.feature])
    noise, curvature_noise = model.measured.deviations
    root = np.sqrt(visit.number)
    gradient, curvature = (part[:, [k]] for part in piece.sums)
    (own,), _ = model.smoothing.gains(gradient, curvature, noise, curvature_noise, numeric)
    together = visit.gradient[:, [k]], visit.curvature[:, [k]]
    (mean,), level = model.smoothing.gains(*together, noise / root, curvature_noise / root, numeric)
    steps = _cut(visit.steps)
    errors.visited(
        (own, mean),
        level[:, 0],
        noise**2 + (steps[:, k] * curvature_noise) ** 2,
        number=visit.number,
        trust=float(visit.trust[k]),
        anew=visit.anew,
        cut=steps[:, k] != visit.steps[:, k],
        averages=None if piece.averages is None else piece.averages(steps[:, 0]),
    )


def _seen(model: AdditiveModel, codes: int, pieces: list[Piece]) -> npt.NDArray[np.bool_]:
    """Say where the curvatures of a feature's rounds together stand out of their noise."""
    if model.measured is None or not pieces:
        return np.ones(codes, dtype=np.bool_)
    total = np.sum([piece.measured for piece in pieces], axis=0)
    channels = model.measured.sums.shape[1] / 2
    return np.asarray(total > SURE * model.measured.deviations[1] * np.sqrt(len(pieces) * channels))


def _of_centred_classes(variance: Floats) -> Floats:
    """Return the variances (cells, columns) of steps less their mean over the classes, from those of each by itself."""
    classes = variance.shape[1]
    if classes == 1:
        return np.asarray(np.maximum(variance, 0))
    together = variance.sum(axis=1, keepdims=True) / classes**2
    return np.asarray(np.maximum(variance * (1 - 2 / classes) + together, 0))


def explained(model: AdditiveModel, X: Any) -> Explanation:
    """Return what each feature adds to the margin of each record; sums are exact, since all values are on one grid.

    The curves on the sides of cuts count for the feature whose curves they are.
    """
    encoder = model.encoder
    codes, classes = encoder.transform(X), tuple(encoder.schema.classes)
    columns = _columns(np.zeros((1, len(classes)))).shape[1]
    contributions = np.zeros((*codes.shape, columns))
    baseline = np.zeros(columns)
    for piece in pieces_of(model):
        mean = np.rint(piece.mass @ piece.values / piece.mass.sum() * VOTE_STEPS) / VOTE_STEPS
        contributions[:, piece.feature] += piece.of(codes) - mean
        baseline += mean
    found = [curve_of(model, feature).deviation for feature in range(codes.shape[1])]
    deviation = None
    if model.measured is not None:
        parts = [
            np.full((len(codes), columns), np.nan) if own is None else own[codes[:, feature]]
            for feature, own in enumerate(found)
        ]
        deviation = np.stack(parts, axis=1)
    alone = columns == 1
    return Explanation(
        names=tuple(encoder.schema.names),
        classes=classes,
        scale="log-odds",
        baseline=float(baseline[0]) if alone else baseline,
        contributions=contributions[:, :, 0] if alone else contributions,
        cells=cells_in_words(encoder, codes),
        deviation=deviation[:, :, 0] if alone and deviation is not None else deviation,
        rule=RULE,
    )


def spread_by_feature(model: AdditiveModel) -> Floats:
    """Return how far each feature's curves spread over their cells, (features,).

    Standard deviations over the cells, which count alike, added up over the classes; curves on the sides of a cut count for
    the feature whose curves they are.
    """
    spread = [spread_of(columns_of(model.curve(feature))) for feature in range(len(model.encoder.n_codes))]
    for interaction in model.interactions():
        spread[interaction.feature] += spread_of(interaction.values)
    return np.array(spread)


def noise_by_feature(model: AdditiveModel) -> Floats:
    """Return how far noise alone would spread what each feature adds by itself, (features,); NaN where it is not known."""
    found = [curve_of(model, feature).deviation for feature in range(len(model.encoder.n_codes))]
    return np.array([np.nan if own is None else np.sqrt((own**2).mean(axis=0)).sum() for own in found])


def spread_of(values: Floats) -> float:
    """Return the standard deviation of values (cells, columns) over the cells, added up over the columns."""
    return float(np.std(values, axis=0).sum())


def pairs(model: AdditiveModel) -> list[tuple[int, int]]:
    """Return the pairs of features that rounds looked at together, each in the order of the schema, the first found first."""
    found = [pair for piece in pieces_of(model) for pair in combinations(sorted(piece.features), 2)]
    return list(dict.fromkeys(found))


def pair_of(model: AdditiveModel, first: int, second: int) -> Pair:
    """Return what two features add together beyond what each adds by itself, with its noise; zeros where no round says so."""
    n_codes = model.encoder.n_codes
    columns = _columns(np.zeros((1, len(model.encoder.schema.classes)))).shape[1]
    values = np.zeros((int(n_codes[first]), int(n_codes[second]), columns))
    variance: Floats | None = np.zeros_like(values) if model.measured is not None else None
    for piece in pieces_of(model):
        if not {first, second} <= set(piece.features):
            continue
        # Less the means over either, and averaged over what else it reads.
        parts = [
            np.eye(len(share)) - share if own in (first, second) else share[None]
            for own, share in zip(piece.features, piece.shares, strict=True)
        ]
        alone = _kron(parts)
        (one, rows), (other, across) = [
            (own, place) for own, place in zip(piece.features, piece.places, strict=True) if own in (first, second)
        ]
        cells = len(piece.shares[piece.features.index(other)])
        place = rows[:, None] * cells + across
        place = place if one == first else place.T
        values += (alone @ piece.values)[place]
        if piece.response is None:
            variance = None
        if variance is not None and piece.response is not None:
            gains = alone @ piece.response.gain
            own = np.einsum("kij,jk->ik", gains**2, piece.response.variance)
            variance += _of_centred_classes(own)[place]
    return Pair(first, second, values, None if variance is None else np.sqrt(variance))
