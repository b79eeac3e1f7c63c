"""Raw records as published algorithms ask about them, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.compiled import available_threads, for_each
from hedgerow.published import kernels
from hedgerow.published.branching import Branching

__all__ = ["NodeRecords", "RawRecords"]


MOST_CELLS = 1 << 21  # of histograms that are in memory at once


@dataclass(frozen=True, eq=False)
class RawRecords:
    """Raw columns (features, records), the class (records,) of each record, and the branches of the tests."""

    columns: Floats
    labels: Integers
    branching: Branching

    @classmethod
    def labelled(cls, columns: Floats, labels: npt.NDArray[Any], branching: Branching) -> RawRecords:
        """Return those of the records ``columns`` (records, features) whose label is a class; the others have the label -1."""
        known = labels >= 0
        return cls(np.ascontiguousarray(columns[known].T), labels[known].astype(np.int64), branching)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.branching.schema.classes)

    @cached_property
    def sorted_cuts(self) -> tuple[npt.NDArray[np.int32], Floats, Integers]:
        """The features that are cut: the rank of each value (cuts, records), the distinct values, and where each one's begin."""
        ranks, values = [], []
        for feature in self.branching.cuts:
            distinct, rank = np.unique(self.columns[feature], return_inverse=True)
            numbers = distinct[~np.isnan(distinct)]  # a missing value, if any, has the last rank
            ranks.append(np.where(rank < len(numbers), rank, -1).astype(np.int32))
            values.append(numbers)
        sizes = [len(numbers) for numbers in values]
        return np.array(ranks), np.concatenate(values), np.cumsum([0, *sizes[:-1]])


@dataclass(frozen=True, eq=False)
class NodeRecords:
    """The records of some nodes: those of node i are ``records[start[i]:start[i + 1]]``.

    ``low`` and ``high`` (nodes, cuts) are what the tests above leave of the range of each feature that is cut;
    ``tree_size`` is the number of records of the largest tree.
    """

    data: RawRecords
    records: Integers
    start: Integers
    low: Floats
    high: Floats
    tree_size: int

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def branching(self) -> Branching:
        """The branches of the tests."""
        return self.data.branching

    @cached_property
    def offsets(self) -> Integers:
        """Where the codes of each feature begin in a histogram, and where they end, of shape (features + 1,)."""
        return np.concatenate(([0], np.cumsum(self.branching.arity)))

    def ranges(self, offered: Truth) -> tuple[Floats, Floats]:
        """Return the range of each offered feature in each node, of shape (nodes, features), zeros for codes.

        A feature with bins has the range of the node's records, one that is cut what is left of its public range.
        """
        low, high = np.zeros(offered.shape), np.zeros(offered.shape)
        low[:, self.branching.cuts], high[:, self.branching.cuts] = self.low, self.high
        kernels.ranges(self.data.columns, self.records, self.start, offered, self.branching.bins, low, high)
        return low, high

    def blocks(self, parts: int = 1) -> list[slice]:
        """Return slices of the nodes, at least ``parts`` where there are so many nodes, whose histograms fit the memory."""
        step = max(1, min(MOST_CELLS // int(self.offsets[-1] * self.data.n_classes), -(-len(self) // parts)))
        return [slice(first, min(first + step, len(self))) for first in range(0, len(self), step)]

    def histogram(self, nodes: slice, offered: Truth, low: Floats, high: Floats) -> Integers:
        """Return the counts by branch and class of some nodes, of shape (nodes, codes, classes); zeros for cuts."""
        counts = np.zeros((nodes.stop - nodes.start, self.offsets[-1], self.data.n_classes), dtype=np.int64)
        kernels.histogram(
            self.data.columns,
            self.data.labels,
            self.records,
            self.start[nodes.start : nodes.stop + 1],
            offered[nodes],
            self.branching.bins,
            self.offsets,
            low[nodes],
            high[nodes],
            counts,
        )
        return counts

    def scores(self, offered: Truth, low: Floats, high: Floats, kind: int) -> Floats:
        """Return the score of the test on each offered feature that is not cut, of shape (nodes, features)."""
        out = np.zeros(offered.shape)

        def score(nodes: slice) -> None:
            kernels.score_histograms(self.histogram(nodes, offered, low, high), self.offsets, kind, out[nodes])

        for_each(self.blocks(2 * available_threads()), score)
        return out

    def cut_intervals(self, offered: Truth, kind: int) -> Iterator[tuple[Integers, Integers, Any]]:
        """Yield nodes, features and intervals: one run of intervals for each offered feature that is cut.

        The intervals are (score, left, right, start), as ``IntervalChoice`` takes them.
        """
        ranks, values, place = self.data.sorted_cuts
        node, cut = np.nonzero(offered[:, self.branching.cuts])
        distinct = np.append(place[1:], len(values)) - place
        sizes = np.minimum(np.diff(self.start)[node], distinct[cut]) + 1
        block = np.cumsum(sizes) // MOST_CELLS
        for number in np.unique(block):
            chosen = block == number
            score, left, right = np.empty((3, sizes[chosen].sum()))
            pairs = (node[chosen], cut[chosen], self.low[node, cut][chosen], self.high[node, cut][chosen])
            records = (self.data.labels, self.records, self.start)
            start = kernels.intervals(
                ranks, values, place, *records, *pairs, self.data.n_classes, kind, score, left, right
            )
            found = slice(0, start[-1])
            yield pairs[0], self.branching.cuts[pairs[1]], (score[found], left[found], right[found], start)
