"""Additive models put together from random terms, and records for them."""

from __future__ import annotations

import numpy as np

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.round import Term
from hedgerow.curator import Cut
from hedgerow.parameters import UNIT
from hedgerow.schema import Encoder

FEATURES = {
    "a": hr.Numeric(0, 1, [0.2, 0.4, 0.6, 0.8]),
    "b": hr.Numeric(0, 1, [0.3, 0.7]),
    "c": hr.Categorical(["x", "y", "z"]),
    "d": hr.Categorical(["u", "v"]),
    "e": hr.Integer(0, 9, [2.5, 5.5]),
    "f": hr.Numeric(-1, 1, [0.0]),
}
DEPTHS = (0, 0, 1, 2, 0, 3, 4, 5, 0)
NOISE = round(2.5 * UNIT)


def schema_of(classes=2):
    return hr.Schema(FEATURES, classes=[f"k{place}" for place in range(classes)])


def term_of(encoder, loss, cuts, feature, generator, *, released=True):
    """Return a random term; released gradients and curvatures are those of about a hundred records a cell.

    ``feature`` is a number, or that of each cell.
    """
    numeric, n_codes = encoder.schema.is_numeric, encoder.n_codes
    made = [Cut.at(by, int(generator.integers(n_codes[by] - 1)), int(n_codes[by]), ordered=numeric[by]) for by in cuts]
    widths = np.broadcast_to(n_codes[feature], 1 << len(made))
    shape = (1 << len(made), int(widths.max()))
    used = (np.arange(shape[1]) < widths[:, None])[..., None]
    votes = generator.integers(-400, 400, (*shape, loss.columns)) * used
    sums = np.concatenate(
        [generator.normal(0, 10, (*shape, loss.columns)), generator.uniform(5, 40, (*shape, loss.columns))], axis=2
    )
    sums = np.rint(sums * UNIT * used).astype(np.int64) if released else None
    mixed = widths if np.ndim(feature) else None
    return Term(tuple(made), np.array(feature), votes, sums, NOISE if released else 0, n_codes=mixed)


def model_of(depths=DEPTHS, classes=2, *, seed=0, released=True, by_cell=(2, 3)):
    """Return a model with a term of each depth, and then of each depth ``by_cell``, whose cells have features of their own."""
    generator, encoder = np.random.default_rng(seed), Encoder(schema_of(classes), 8)
    loss, terms = Logistic(classes, normal=True), []
    for depth in depths:
        *cuts, feature = generator.permutation(len(FEATURES))[: depth + 1].tolist()
        terms.append(term_of(encoder, loss, cuts, feature, generator, released=released))
    for depth in by_cell:  # numbers may be cut again
        cuts = [*generator.choice([0, 1, 4, 5], depth - 1).tolist(), 2]
        features = generator.integers(0, len(FEATURES), 1 << depth)
        terms.append(term_of(encoder, loss, cuts, features, generator, released=released))
    start = generator.integers(-100, 100, loss.columns)
    return AdditiveModel(encoder, loss, start, tuple(terms))


def records(count=500, seed=1):
    generator = np.random.default_rng(seed)
    columns = {"a": generator.uniform(-0.2, 1.2, count), "b": generator.uniform(0, 1, count)}
    columns |= {"c": generator.choice(list("xyz?"), count), "d": generator.choice(list("uv"), count)}
    columns |= {"e": generator.integers(0, 10, count).astype(float), "f": generator.uniform(-1, 1, count)}
    for name in "aef":
        columns[name][generator.random(count) < 0.1] = np.nan
    return columns


def by_hand(model, codes):
    """Margins, (records, columns), one record after another."""
    out = np.tile(model.start, (len(codes), 1))
    for row, record in zip(out, codes, strict=True):
        for term in model.terms:
            cell = 0
            for cut in term.cuts:
                cell = 2 * cell + int(cut.side[record[cut.by]])
            row += term.votes[cell, record[term.feature[cell]]]
    return out
