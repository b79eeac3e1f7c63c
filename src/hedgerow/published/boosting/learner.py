"""The interface of a published boosting system's weak learner, and the records that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.compiled import available_threads, for_each
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event
from hedgerow.published.boosting import kernels
from hedgerow.published.boosting.model import BinaryTrees
from hedgerow.published.branching import Branching, BranchingRule
from hedgerow.published.case import Case
from hedgerow.published.kernels import CUT
from hedgerow.published.records import RawRecords

__all__ = ["Fitter", "Learner", "Ranked", "midpoint", "tested_codes"]


FEW_CELLS = 1 << 22  # are summed in less time than a second thread takes to start


class Fitter(Protocol):
    """A weak learner with its records."""

    def fit(self, weights: Floats, budget: float, randomness: Randomness) -> BinaryTrees:
        """Return one tree for the ``weights`` (training records,) of a round with this budget."""


class Learner(Protocol):
    """A weak learner."""

    @property
    def tests(self) -> BranchingRule:
        """How columns are read."""

    @property
    def max_depth(self) -> int:
        """The tests on a path of a tree."""

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fitter:
        """Return the learner with its records; ``holdout`` are those that prune."""

    def stated(self, case: Case) -> Event | None:
        """Return the cost of one round as the paper states it; None if it draws no noise."""

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Records by the ranks of their values.

    Parameters
    ----------
    data : RawRecords
        The records.
    ranks : ndarray of shape (features, records)
        Where each value stands in ``values``: behind ``start`` of its feature, in ascending order.
    start : ndarray of shape (features + 1,)
        Where the values of each feature begin, and where the last ones end.
    values : ndarray of shape (start[-1],)
        The distinct values of each feature that a record has; a missing number (NaN) is the last of its feature.
    """

    data: RawRecords
    ranks: npt.NDArray[np.int32]
    start: Integers
    values: Floats

    @classmethod
    def of(cls, data: RawRecords) -> Ranked:
        """Return the records with the ranks of their values."""
        values = [np.unique(column) for column in data.columns]
        start = np.cumsum([0, *map(len, values)])
        ranks = np.empty(data.columns.shape, dtype=np.int32)
        for own, first, column, rank in zip(values, start, data.columns, ranks, strict=False):
            rank[:] = first + np.searchsorted(own, column)
        return cls(data, ranks, start, np.concatenate(values))

    @classmethod
    def of_codes(cls, data: RawRecords) -> Ranked:
        """Return records that hold codes only: all codes that there are, whether or not a record has them."""
        arity = data.branching.arity
        start = np.concatenate(([0], np.cumsum(arity)))
        ranks = (data.columns + start[:-1, None]).astype(np.int32)
        return cls(data, ranks, start, np.concatenate([np.arange(codes, dtype=np.float64) for codes in arity]))

    @property
    def numeric(self) -> Truth:
        """Which features are numbers that are cut."""
        return np.asarray(self.data.branching.bins == CUT)

    @cached_property
    def candidates(self) -> Integers:
        """How many tests each feature has: cuts between its numbers, or one for each code."""
        missing = np.add.reduceat(np.isnan(self.values), self.start[:-1])
        return np.where(self.numeric, np.diff(self.start) - missing - 1, np.diff(self.start)).clip(0)

    def class_weights(self, records: Integers, weights: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Return the weight of some records by value and class, of shape (values, 2)."""
        out = np.zeros((len(self.values), 2), dtype=weights.dtype)
        labels = self.data.labels
        few = len(self.ranks) * len(records) < FEW_CELLS
        threads = 1 if few else available_threads()
        step = -(-len(self.ranks) // threads)
        for_each(
            range(0, len(self.ranks), step),
            lambda i: kernels.class_weights(self.ranks[i : i + step], records, labels, weights, out),
            threads,
        )
        return out


def midpoint(low: float, high: float) -> float:
    """Return the middle of two numbers, or the lower one if no float lies between them."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + (high - low) / 2
    return float(middle if low <= middle < high else low)


def tested_codes(branching: Branching, chosen: npt.NDArray[np.integer]) -> Truth:
    """Return a row that marks the codes that go left."""
    left = np.zeros(int(branching.arity.max()), dtype=np.bool_)
    left[chosen] = True
    return left
