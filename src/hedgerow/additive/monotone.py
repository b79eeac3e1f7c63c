"""Monotonicity constraints: their signs by feature, and the projection of released steps onto them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from sklearn.isotonic import isotonic_regression

from hedgerow.additive.round import Term
from hedgerow.arrays import Floats, Integers
from hedgerow.errors import ConfigurationError, shown
from hedgerow.schema import Numeric, Schema

LEAST_WEIGHT = 1e-6  # the weight of a code whose released curvature is not positive, as a share of the mean weight


def signs_of(given: Mapping[str, int] | Sequence[int], schema: Schema) -> tuple[int, ...]:
    """Return each feature's constraint on the margin: 1 increasing, -1 decreasing, 0 none; empty if there are none at all."""
    names = list(schema.names)
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ConfigurationError(f"monotonic_cst names {shown(unknown[0])}, which is no feature; correct the name.")
        given = [given.get(name, 0) for name in names]
    signs = tuple(map(int, given))
    if len(signs) != len(names):
        raise ConfigurationError(f"monotonic_cst has {len(signs)} entries for {len(names)} features; pass one each.")
    for name, sign in zip(names, signs, strict=True):
        if sign and not isinstance(schema.features[name], Numeric):
            raise ConfigurationError(
                f"monotonic_cst names {name!r}, whose values have no order; leave it out, or declare it as hr.Numeric."
            )
    if any(signs) and len(schema.classes) not in (0, 2):
        raise ConfigurationError(f"monotonic_cst needs two classes, but there are {len(schema.classes)}; leave it out.")
    return signs if any(signs) else ()


def projected(term: Term, signs: Sequence[int], before: Integers) -> Term:
    # No cuts: isotonic regression of the curve after the step, weighted by released curvatures; ``before`` (codes,) is
    # the curve before it. One cut: isotonic regression in each cell. If the cut's feature is constrained, bins where the two
    # cells violate the order are set to the weighted mean of both cells. All bins have the same two weights, so that each
    # cell stays monotone. Missing values of a constrained feature are exempt.
    sign, across = signs[int(term.feature[0])], 0  # the constraint across the cut
    if term.cuts and term.cuts[0].side[:-1].any():  # not only missing values are on the second side
        across = signs[term.cuts[0].by]
    if not (sign or across) or term.sums is None:
        return term
    curvature = np.maximum(term.sums[..., 1].astype(np.float64), 0)
    weights = curvature + LEAST_WEIGHT * max(float(curvature.mean()), 1.0)
    votes = term.votes[..., 0].astype(np.float64)
    if not term.cuts:
        after = np.rint(isotonic(votes[0] + before, weights[0], sign)).astype(np.int64) - before
        return replace(term, votes=after[None, :, None])
    if sign:
        votes = np.stack([isotonic(own, weight, sign) for own, weight in zip(votes, weights, strict=True)])
    if across:
        share = float(weights[0].sum() / weights.sum())
        low, high = votes[::across]
        middle = share * votes[0] + (1 - share) * votes[1]
        votes = np.stack([np.minimum(low, middle), np.maximum(high, middle)])[::across]
    return replace(term, votes=np.rint(votes).astype(np.int64)[..., None])  # rounding keeps the order


def isotonic(values: Floats, weights: Floats, sign: int) -> Floats:
    if len(values) < 3:
        return values
    fitted = isotonic_regression(values[:-1], sample_weight=weights[:-1], increasing=sign > 0)
    return np.append(fitted, values[-1])


def holds(terms: Iterable[Term], signs: Sequence[int]) -> bool:
    """Return whether the model is monotone after each of the terms: increasing in a feature of sign 1, decreasing for -1."""
    # The order is that of the feature's codes, without the last one, which is for missing values.
    curves: dict[int, Integers] = {}
    for term in terms:
        votes = term.votes[..., 0]
        if not term.cuts:
            votes = votes + curves.get(int(term.feature[0]), 0)
            curves[int(term.feature[0])] = votes
        if term.n_codes is not None:  # a round by cell, which no fit with signs makes: its cells are not compared
            if any(signs[feature] for feature in term.features):
                return False
            continue
        if np.any(signs[int(term.feature[0])] * np.diff(votes[:, :-1], axis=1) < 0):
            return False
        for level, cut in enumerate(term.cuts):
            sides = votes.reshape(1 << level, 2, -1)
            if cut.side[:-1].any() and np.any(signs[cut.by] * (sides[:, 1] - sides[:, 0]) < 0):
                return False
    return True
