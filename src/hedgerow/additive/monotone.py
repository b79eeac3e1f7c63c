"""Curves that may only rise, or only fall: each term's votes are projected before the next round (docs/curves.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from sklearn.isotonic import isotonic_regression

from hedgerow.additive.terms import Term
from hedgerow.arrays import Floats, Integers
from hedgerow.errors import ConfigurationError, shown
from hedgerow.schema import Numeric, Schema

__all__ = ["cell_weights", "isotonic", "projected", "signs_of"]


LEAST = 1e-6  # weight of a cell whose released curvature is not above zero, as a share of the mean weight


def signs_of(given: Mapping[str, int] | Sequence[int] | None, schema: Schema) -> tuple[int, ...]:
    """Return how the second class's log-odds may go with each feature: 1 rising, -1 falling, 0 either; empty for no constraint.

    Raises
    ------
    ConfigurationError
        If ``given`` does not fit the features, names one without an order, or if there are not two classes.
    """
    names = list(schema.names)
    if given is None:
        return ()
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ConfigurationError(
                f"monotonic_cst names {shown(unknown[0])}, which is no feature; name some of {', '.join(names)}."
            )
        given = [given.get(name, 0) for name in names]
    signs = tuple(map(int, given))
    if len(signs) != len(names):
        raise ConfigurationError(
            f"monotonic_cst has {len(signs)} entries for {len(names)} features; pass one for each, or a dict by name."
        )
    for name, sign in zip(names, signs, strict=True):
        if sign and not isinstance(schema.features[name], Numeric):
            raise ConfigurationError(
                f"monotonic_cst names {name!r}, whose values have no order; declare it as hr.Numeric, hr.Integer or hr.Date, "
                "or leave it out."
            )
    if any(signs) and len(schema.classes) not in (0, 2):
        raise ConfigurationError(
            f"monotonic_cst says how the odds of the second of two classes go, but there are {len(schema.classes)}; leave "
            "it out, or declare two classes."
        )
    return signs if any(signs) else ()


def projected(term: Term, signs: Sequence[int], before: Integers) -> Term:
    """Return a term of at most one cut, changed so that every curve still goes as ``signs`` say.

    A term without cuts becomes the step from the feature's own curve, ``before`` (codes,), to the isotonic regression of the sum,
    weighted by released curvatures. Of a term with a cut each cell becomes isotonic. If the feature that is cut has a sign too,
    codes at which the two cells are out of order move to the cells' mean, whose weights are the same for all codes, so that cells
    stay isotonic. Missing values stand outside the order.
    """
    if not signs or term.sums is None:
        return term
    sign, across = signs[term.feature], across_of(term, signs)
    if not (sign or across):
        return term
    weights, votes = cell_weights(term.sums), term.votes[..., 0].astype(np.float64)
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


def across_of(term: Term, signs: Sequence[int]) -> int:
    """Return how a term of one cut may go from its first cell to its second; 0 where the second holds missing values alone."""
    return signs[term.cuts[0].by] if term.cuts and term.cuts[0].side[:-1].any() else 0


def cell_weights(sums: Integers) -> Floats:
    """Return a weight above zero for each cell and code, from released gradients and curvatures (cells, codes, 2)."""
    curvature = np.maximum(sums[..., 1].astype(np.float64), 0)
    return np.asarray(curvature + LEAST * max(float(curvature.mean()), 1.0))


def isotonic(values: Floats, weights: Floats, sign: int) -> Floats:
    """Return the isotonic regression of ``values`` (codes,) but for the last, which is of missing values."""
    if len(values) < 3:
        return values
    fitted = isotonic_regression(values[:-1], sample_weight=weights[:-1], increasing=sign > 0)
    return np.append(fitted, values[-1])
