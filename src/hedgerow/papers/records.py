"""Raw records as printed algorithms read them: which branches the test on each feature has, and counts node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth, available_threads, for_each, lazy
from hedgerow.papers import kernels
from hedgerow.papers.kernels import CUT, GROUPS
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.schema.encoder import raw_columns

MOST_CELLS = 1 << 21  # of histograms that are in memory at once


@dataclass(frozen=True, eq=False)
class Branching:
    """The branches of the test on each feature; shapes are (features,)."""

    schema: Schema  # what the columns are read by
    bins: Integers  # above 0 the bins of a numeric feature in a node, 0 for a branch per code, CUT for a cut, or GROUPS of codes
    arity: Integers  # how many branches there are, or codes that are divided in two groups
    low: Floats  # the public range of a feature that is cut, 0 for others
    high: Floats
    encoder: Encoder | None = None  # what turns all cells into codes; None where numbers are read as they are

    @property
    def cuts(self) -> Integers:
        return np.flatnonzero(self.bins == CUT)

    @property
    def branches(self) -> Integers:
        return np.where(self.bins == GROUPS, 2, self.arity)

    @property
    def group_codes(self) -> int:
        return int(self.arity[self.bins == GROUPS].max(initial=0))

    def grouped(self) -> Branching:
        return replace(self, bins=np.where(self.bins == 0, GROUPS, self.bins))

    def read(self, X: Any) -> Floats:
        """Return records as float64 of shape (records, features); what is cut is clipped to its public range."""
        if self.encoder is not None:
            return self.encoder.transform(X).astype(np.float64)
        columns = raw_columns(X, self.schema)
        columns[:, self.cuts] = np.clip(columns[:, self.cuts], self.low[self.cuts], self.high[self.cuts])
        return columns


# Returns the branches for a schema and a number of bins of a numeric feature.
BranchingRule = Callable[[Schema, int], Branching]


def node_bins(schema: Schema, max_bins: int) -> Branching:  # eDPRF: algorithm 5, lines 7 to 11
    """Return one branch per bin between the least and the largest finite value in the node, and one for missing cells.

    That is the reading of eDPRF's binning [our choice, the paper is silent]. A categorical feature has one branch for each of its
    values, one for missing and one for undeclared cells.
    """
    encoder, none = Encoder(schema, 2), np.zeros(len(schema.names))
    bins = np.where(schema.is_numeric, max_bins, 0)
    return Branching(schema, bins, np.where(bins > 0, bins + 1, encoder.n_codes), none, none)


def schema_bins(schema: Schema, max_bins: int) -> Branching:
    """Return one branch per category, or per public bin of a numeric feature, and one for missing cells.

    For algorithms on discrete data; that they meet numbers in public bins is our choice.
    """
    encoder, none = Encoder(schema, max_bins), np.zeros(len(schema.names))
    return Branching(schema, none.astype(np.int64), encoder.n_codes, none, none, encoder)


def cut_ranges(schema: Schema, max_bins: int) -> Branching:
    """Return a cut of a numeric feature inside its public range, which cuts above it narrow; categories branch by value.

    A number is read as the nearer end of its range if it is outside, and goes right if it is missing [our choice, the
    papers are silent]. A cut feature can be cut again below.
    """
    numeric = schema.is_numeric
    ranges = [(f.low, f.high) if isinstance(f, Numeric) else (0.0, 0.0) for f in schema.features.values()]
    low, high = np.array(ranges).T
    return Branching(schema, np.where(numeric, CUT, 0), np.where(numeric, 2, Encoder(schema, 2).n_codes), low, high)


def raw_numbers(schema: Schema, max_bins: int) -> Branching:
    """Return a cut of a numeric feature anywhere, whatever its public range; categories by two groups of codes."""
    branching = cut_ranges(schema, max_bins).grouped()
    end = np.full(len(branching.bins), np.inf)
    return replace(branching, low=-end, high=end)


@dataclass(frozen=True, eq=False)
class Ranked:
    ranks: npt.NDArray[np.int32]  # (columns, records): where each value stands in ``values``
    start: Integers  # (columns + 1,): where the values of each column begin, ascending, and where the last ones end
    values: Floats  # the distinct values of each column; a missing number (NaN) is its column's last

    @classmethod
    def of(cls, columns: Floats) -> Ranked:
        values = [np.unique(column) for column in columns]
        start = np.cumsum([0, *map(len, values)])
        ranks = [
            first + np.searchsorted(own, column) for own, first, column in zip(values, start, columns, strict=False)
        ]
        return cls(np.array(ranks, dtype=np.int32), start, np.concatenate(values))

    @lazy
    def numbers(self) -> Integers:
        return np.array([np.count_nonzero(~np.isnan(own)) for own in np.split(self.values, self.start[1:-1])])


@dataclass(frozen=True, eq=False)
class RawRecords:
    columns: Floats
    labels: Integers
    branching: Branching

    @classmethod
    def labelled(cls, columns: Floats, labels: npt.NDArray[Any], branching: Branching) -> RawRecords:
        """Return those of the records ``columns`` (records, features) whose label is a class; the others have the label -1."""
        known = labels >= 0
        return cls(np.ascontiguousarray(columns[known].T), labels[known].astype(np.int64), branching)

    def some(self, rows: Integers) -> RawRecords:
        return RawRecords(np.ascontiguousarray(self.columns[:, rows]), self.labels[rows], self.branching)

    @property
    def n_classes(self) -> int:
        return len(self.branching.schema.classes)

    @lazy
    def ranked_cuts(self) -> Ranked:
        return Ranked.of(self.columns[self.branching.cuts])


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Unfinished nodes of one level of trees that grow on raw records.

    ``row`` (nodes,) is the place of each in its level, ``unused`` (nodes, features) says which features no test above it used up,
    ``low`` and ``high`` (nodes, cuts) what the cuts above it left of their ranges; ``records`` are their records, node by
    node, and ``node`` says in which one each record is.
    """

    data: RawRecords
    row: Integers
    unused: Truth
    low: Floats
    high: Floats
    records: Integers
    node: Integers

    @classmethod
    def roots(cls, data: RawRecords, subsets: Sequence[Integers]) -> OpenNodes:
        """Return a root for each subset of the records, in which one may be several times."""
        branching, trees = data.branching, np.arange(len(subsets))
        unused = np.ones((len(trees), len(branching.arity)), dtype=np.bool_)
        low, high = (np.tile(end[branching.cuts], (len(trees), 1)) for end in (branching.low, branching.high))
        tree = np.repeat(trees, [len(subset) for subset in subsets])
        return cls(data, trees, unused, low, high, np.concatenate(subsets), tree)

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, chosen: Truth) -> OpenNodes:
        if chosen.all():
            return self
        stays = chosen[self.node]
        node = (np.cumsum(chosen) - 1)[self.node[stays]]
        nodes = (self.row[chosen], self.unused[chosen], self.low[chosen], self.high[chosen])
        return OpenNodes(self.data, *nodes, self.records[stays], node)

    @property
    def offered(self) -> Truth:
        offered = self.unused.copy()
        offered[:, self.data.branching.cuts] = self.low < self.high
        return offered

    def class_counts(self) -> Integers:
        n_classes = self.data.n_classes
        cells = self.node * n_classes + self.data.labels[self.records]
        return np.bincount(cells, minlength=len(self) * n_classes).reshape(len(self), n_classes)

    @lazy
    def start(self) -> Integers:
        return np.searchsorted(self.node, np.arange(len(self) + 1))

    @lazy
    def offsets(self) -> Integers:
        """Where the codes of each feature begin in a histogram, and where they end, of shape (features + 1,)."""
        return np.concatenate(([0], np.cumsum(self.data.branching.arity)))

    def ranges(self, offered: Truth) -> tuple[Floats, Floats]:
        """Return the ranges of offered features (nodes, features): of the node's records, or what is left of the public one."""
        low, high = np.zeros(offered.shape), np.zeros(offered.shape)
        low[:, self.data.branching.cuts], high[:, self.data.branching.cuts] = self.low, self.high
        kernels.ranges(self.data.columns, self.records, self.start, offered, self.data.branching.bins, low, high)
        return low, high

    def blocks(self, parts: int = 1) -> list[slice]:
        """Return slices of the nodes, at least ``parts`` where there are so many nodes, whose histograms fit the memory."""
        step = max(1, min(MOST_CELLS // int(self.offsets[-1] * self.data.n_classes), -(-len(self) // parts)))
        return [slice(first, min(first + step, len(self))) for first in range(0, len(self), step)]

    def histogram(self, nodes: slice, offered: Truth, low: Floats, high: Floats) -> Integers:
        """Return the counts by branch and class of some nodes, of shape (nodes, codes, classes); zeros for cuts."""
        data, start = self.data, self.start[nodes.start : nodes.stop + 1]
        counts = np.zeros((len(start) - 1, self.offsets[-1], data.n_classes), dtype=np.int64)
        bins = (data.branching.bins, self.offsets, low[nodes], high[nodes])
        kernels.histogram(data.columns, data.labels, self.records, start, offered[nodes], *bins, counts)
        return counts

    def scores(self, offered: Truth, low: Floats, high: Floats) -> Floats:
        """Return the Gini score of the test on each offered feature that is not cut, of shape (nodes, features)."""
        out = np.zeros(offered.shape)

        def score(nodes: slice) -> None:
            kernels.score_histograms(self.histogram(nodes, offered, low, high), self.offsets, out[nodes])

        for_each(self.blocks(2 * available_threads()), score)
        return out

    def cut_intervals(self, offered: Truth) -> Iterator[tuple[Integers, Integers, Any]]:
        """Yield nodes, features and intervals: one run of intervals for each offered feature that is cut.

        The intervals are (score, left, right, start), as ``IntervalChoice`` takes them.
        """
        ranked = self.data.ranked_cuts
        node, cut = np.nonzero(offered[:, self.data.branching.cuts])
        sizes = np.minimum(np.diff(self.start)[node], ranked.numbers[cut]) + 1
        block = np.cumsum(sizes) // MOST_CELLS
        for number in np.unique(block):
            chosen = block == number
            score, left, right = np.empty((3, sizes[chosen].sum()))
            pairs = (node[chosen], cut[chosen], self.low[node, cut][chosen], self.high[node, cut][chosen])
            records = (ranked.ranks, ranked.values, self.data.labels, self.records, self.start)
            start = kernels.intervals(*records, *pairs, self.data.n_classes, score, left, right)
            written = slice(0, start[-1])
            yield pairs[0], self.data.branching.cuts[pairs[1]], (score[written], left[written], right[written], start)

    def children(self, feature: Integers, cut: Floats, arity: Integers, branch: Integers) -> OpenNodes:
        """Return the children of all nodes by their tests (nodes,), side by side; ``branch`` (records,) is a record's own."""
        first, n_children = np.cumsum(arity) - arity, int(arity.sum())
        child = (first[self.node] + branch).astype(np.min_scalar_type(n_children))  # short numbers are sorted by radix
        order = np.argsort(child, kind="stable")
        unused = np.repeat(self.unused, arity, axis=0)
        low, high = (np.repeat(end, arity, axis=0) for end in (self.low, self.high))
        node = np.flatnonzero(self.data.branching.bins[feature] == CUT)
        place = np.searchsorted(self.data.branching.cuts, feature[node])
        high[first[node], place] = low[first[node] + 1, place] = cut[node]
        return OpenNodes(
            self.data, np.arange(n_children), unused, low, high, self.records[order], child[order].astype(np.int64)
        )
