"""An additive model as trees, for exports: one for the start, and one for each set of cuts with a feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Integers
from hedgerow.export import Link, ScoringForm, readings_of
from hedgerow.schema import Encoder

if TYPE_CHECKING:
    from hedgerow.additive.terms import Term

__all__ = ["scoring"]


def scoring(encoder: Encoder, start: Integers, terms: Sequence[Term], link: Link) -> ScoringForm:
    """Return a start (columns,) and terms as trees; of two classes the first gets no votes."""
    sides = {(cut.by, cut.side.tobytes()): (cut.by, cut.side) for term in terms for cut in term.cuts}
    codes = {feature: (feature, np.arange(encoder.n_codes[feature])) for feature in (term.feature for term in terms)}
    tests = {key: number for number, key in enumerate([*sides, *codes])}
    read = [*sides.values(), *codes.values()]
    branch = np.zeros((len(read), int(encoder.n_codes.max())), dtype=np.int64)
    for row, (_, branches) in zip(branch, read, strict=True):
        row[: len(branches)] = branches
    test, first_child, votes, roots = [np.array([-1])], [np.zeros(1, dtype=np.int64)], [start[None]], [0]
    for term in terms:
        roots.append(sum(map(len, test)))
        cuts = [tests[cut.by, cut.side.tobytes()] for level, cut in enumerate(term.cuts) for _ in range(1 << level)]
        shape = _shape(len(term.votes), term.votes.shape[1])
        inner = np.array([*cuts, *[tests[term.feature]] * len(term.votes)])
        test.append(np.where(shape == 0, -1, np.pad(inner, (0, len(shape) - len(inner)))))
        first_child.append(np.where(shape == 0, 0, shape + roots[-1]))
        none = np.zeros((len(inner), len(start)), dtype=np.int64)
        votes.append(np.concatenate([none, term.votes.reshape(-1, len(start))]))
    of_nodes = np.concatenate(votes)
    return ScoringForm(
        readings_of(encoder),
        encoder.schema.classes,
        np.array(roots),
        np.concatenate(test),
        np.concatenate(first_child),
        np.array([feature for feature, _ in read], dtype=np.int64),
        branch,
        np.hstack([np.zeros_like(of_nodes), of_nodes]) if len(encoder.schema.classes) == 2 else of_nodes,
        link,
    )


def _shape(cells: int, codes: int) -> Integers:
    """Return the first child of each node of a term's tree, 0 for leaves: a level a cut, a node a cell, its codes."""
    first_child = np.zeros(2 * cells - 1 + cells * codes, dtype=np.int64)
    first_child[: cells - 1] = 2 * np.arange(cells - 1) + 1
    first_child[cells - 1 : 2 * cells - 1] = 2 * cells - 1 + codes * np.arange(cells)
    return first_child
