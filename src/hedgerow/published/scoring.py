"""How published trees answer, for other programs: what raw numbers decide is decided by their place among all cut points.

Branches are taken from the functions that answer here, at one number of every interval between neighboring cut points, which
all numbers of the interval go with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.errors import ConfigurationError
from hedgerow.export import Link, NumberReading, Reading, ScoringForm, readings_of
from hedgerow.published.branching import Branching
from hedgerow.schema import Encoder

__all__ = ["coded"]

# The branches of columns (features, numbers), all of which come to each of some nodes, of shape (nodes, numbers).
Branches = Callable[[Floats, Integers], npt.NDArray[Any]]


class RawNodes(Protocol):
    """Trees in one array; see ``Trees`` and ``BinaryTrees``."""

    @property
    def roots(self) -> npt.NDArray[np.int32]:
        """The root of each tree."""

    @property
    def feature(self) -> npt.NDArray[np.int32]:
        """The feature that a node tests, -1 for a leaf."""

    @property
    def first_child(self) -> npt.NDArray[np.int32]:
        """The node's first child, 0 for a leaf."""


MOST_BRANCHES = 1 << 24  # tests times codes


def coded(
    branching: Branching,
    trees: RawNodes,
    cuts: Sequence[Floats],
    branches: Branches,
    votes: Integers,
    link: Link,
) -> ScoringForm:
    """Return the form of trees on raw columns.

    Parameters
    ----------
    branching : Branching
        How cells become numbers, and which of these are tested as they are.
    trees : Trees or BinaryTrees
        The nodes.
    cuts : sequence of ndarray, one for each feature
        The numbers from which on a node of the feature may send a number elsewhere.
    branches : callable
        See above.
    votes : ndarray of shape (nodes, classes)
        What a leaf gives.
    link : Link
        What makes probabilities of sums.

    Raises
    ------
    ConfigurationError
        If there are too many tests and cut points for a table of them.
    """
    readings = _readings(branching, cuts)
    inner, none = np.flatnonzero(trees.feature >= 0), np.zeros((1, votes.shape[1]), dtype=np.int64)
    most = max(reading.n_codes for reading in readings)
    if len(inner) * most > MOST_BRANCHES:
        raise ConfigurationError(
            f"the published form has {len(inner)} tests by up to {most} codes, and other programs are told {MOST_BRANCHES} "
            "branches at most; fit fewer or smaller trees, or keep the model in hedgerow, by model.save(path)."
        )
    table = np.zeros((len(inner), most), dtype=np.int64)
    for feature, reading in enumerate(readings):
        own = np.flatnonzero(trees.feature[inner] == feature)
        if len(own):
            columns = np.zeros((len(readings), reading.n_codes))
            columns[feature] = _representatives(branching, feature, reading)
            table[own, : reading.n_codes] = branches(columns, inner[own])
    test = np.full(len(trees.feature), -1, dtype=np.int64)
    test[inner] = np.arange(len(inner))
    roots, first_child = trees.roots.astype(np.int64), trees.first_child.astype(np.int64)
    if not len(roots):  # training stopped before the first tree: a leaf without votes says the same
        roots, test, first_child, votes = np.zeros(1, dtype=np.int64), np.array([-1]), np.zeros(1, dtype=np.int64), none
    return ScoringForm(
        readings,
        branching.schema.classes,
        roots,
        test,
        first_child,
        trees.feature[inner].astype(np.int64),
        table,
        votes,
        link,
    )


def _readings(branching: Branching, cuts: Sequence[Floats]) -> tuple[Reading, ...]:
    """Return how cells become codes: by the encoder where all are codes already, otherwise numbers by all cut points."""
    if branching.encoder is not None:
        return readings_of(branching.encoder)
    return tuple(
        replace(reading, edges=tuple(np.unique(own).tolist())) if isinstance(reading, NumberReading) else reading
        for reading, own in zip(readings_of(Encoder(branching.schema, 2)), cuts, strict=True)
    )


def _representatives(branching: Branching, feature: int, reading: Reading) -> Floats:
    """Return what the learner reads for each code: the code itself, or the least number of each interval and then NaN."""
    if branching.encoder is not None or not isinstance(reading, NumberReading):
        return np.arange(reading.n_codes, dtype=np.float64)
    values = np.array([-np.inf, *reading.edges, np.nan])
    return np.asarray(branching.clipped(feature, values))
