"""Specializations of a public generalization: which run of codes to divide, and where, scored on counts by code and class.

All codes of all features stand in one public line, feature by feature, so that every group that may ever be divided is a
run of places in it. A record is at one place of each feature. A specialization divides one run into smaller ones; records
at other places of that feature are not concerned, and add nothing to its score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.errors import ConfigurationError

__all__ = ["BRANCH_SCORES", "BranchScore", "Majority", "Purity", "Specializations", "most_concerned"]


FRACTION_BITS = 10


class BranchScore(Protocol):
    """What the class counts of one branch are worth; a specialization's score is the sum over its branches."""

    @property
    def name(self) -> str:
        """The score's name."""

    @property
    def detail(self) -> str:
        """The score's name, with the size of its steps where they are no whole records, for certificates."""

    @property
    def range(self) -> int:
        """R under add/remove adjacency, in steps: the spread of 0 and all changes that one record makes to a branch."""

    def of(self, counts: Integers) -> Integers:
        """Return the score of each row of class counts (branches, classes)."""


@dataclass(frozen=True)
class Majority:
    """The largest class count: one record more adds 0 or 1, so the score is one-sided with range 1."""

    name = "majority score"
    detail = name
    range = 1

    def of(self, counts: Integers) -> Integers:
        """Return the score of each row of class counts (branches, classes)."""
        return np.asarray(counts.max(axis=1))


@dataclass(frozen=True)
class Purity:
    """The sum of squared class counts over the size, in steps of 1/1024: records less Gini impurity.

    One record more adds a value in (-1, 1], in steps an integer from -1024 to 1024: range 2 (docs/proofs/cells.md). Unlike the
    majority score it tells shares apart where one class is the largest everywhere.
    """

    name = "purity score"
    detail = f"{name} in steps of 1/{1 << FRACTION_BITS}"
    range = 2 << FRACTION_BITS

    def of(self, counts: Integers) -> Integers:
        """Return the score of each row of class counts (branches, classes)."""
        squares = (counts * counts).sum(axis=1)
        size = np.maximum(counts.sum(axis=1), 1)
        whole, rest = np.divmod(squares, size)
        return np.asarray((whole << FRACTION_BITS) + (rest << FRACTION_BITS) // size)


BRANCH_SCORES: Mapping[str, BranchScore] = {"gini": Purity(), "max": Majority()}  # names as in SCORES


@dataclass(frozen=True, eq=False)
class Specializations:
    """What one selection chooses from.

    Parameters
    ----------
    line : ndarray of shape (places,), int64
        The code, counted through all features, that stands at each place of the line.
    edges : sequence of tuple of int
        For each specialization the places where its branches begin, ascending, and the place where the last one ends.
    weight : ndarray of shape (specializations,), int64
        Public base weights, for mechanisms that take them.
    """

    line: Integers
    edges: Sequence[tuple[int, ...]]
    weight: Integers = field(repr=False)

    def __post_init__(self) -> None:
        flat = self.flat
        if not len(self.edges) or min(map(len, self.edges)) < 3 or len(self.weight) != len(self.edges):
            raise ConfigurationError(
                "a selection needs a specialization, each with two branches or more, and a weight."
            )
        inner = np.diff(flat)[~self._joints]
        if flat.min() < 0 or flat.max() > len(self.line) or inner.min() <= 0 or self.weight.min() < 1:
            raise ConfigurationError("the specializations do not ascend along the line of codes.")

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def flat(self) -> Integers:
        """All edges, one specialization after another."""
        return np.array([place for edges in self.edges for place in edges], dtype=np.int64)

    @property
    def _joints(self) -> npt.NDArray[np.bool_]:
        """Which steps between flat edges lead from one specialization to the next."""
        ends = np.cumsum([len(edges) for edges in self.edges])
        joints = np.zeros(int(ends[-1]) - 1, dtype=np.bool_)
        joints[ends[:-1] - 1] = True
        return joints

    def scores(self, histogram: Integers, score: BranchScore) -> Integers:
        """Return the score of each specialization on counts by code and class (codes of all features, classes)."""
        up_to = np.zeros((len(self.line) + 1, histogram.shape[1]), dtype=np.int64)
        np.cumsum(histogram[self.line], axis=0, out=up_to[1:])
        counts = np.diff(up_to[self.flat], axis=0)[~self._joints]
        first = np.cumsum([0, *(len(edges) - 1 for edges in self.edges[:-1])])
        return np.asarray(np.add.reduceat(score.of(counts), first))


def most_concerned(choices: Iterable[Specializations], features: Integers) -> int:
    """Return how many of the choices one record may concern, whatever it is.

    A choice within one feature concerns the records at the places that it divides; one over several features may concern
    every record. A record is at one place of each feature, so for each feature the place with most choices counts.

    Parameters
    ----------
    features : ndarray of shape (features + 1,)
        Where each feature's places begin in the line, and their number.
    """
    over_all, depth = 0, np.zeros(int(features[-1]), dtype=np.int64)
    for choice in choices:
        low, high = min(edges[0] for edges in choice.edges), max(edges[-1] for edges in choice.edges)
        if np.searchsorted(features, low, side="right") == np.searchsorted(features, high - 1, side="right"):
            depth[low:high] += 1
        else:
            over_all += 1
    return over_all + int(np.maximum.reduceat(depth, features[:-1]).sum())
