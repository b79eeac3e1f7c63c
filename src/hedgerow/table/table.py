"""The only holder of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError
from hedgerow.schema import Encoder
from hedgerow.scores import Candidates
from hedgerow.shapes import check_shape
from hedgerow.table import kernels
from hedgerow.threads import for_each, for_slices

__all__ = ["CellRule", "ChannelRule", "Frontier", "RecordRule", "RecordVotes", "Table", "WeightRule"]

Integers = npt.NDArray[np.int64]
Margins = npt.NDArray[
    np.signedinteger
]  # int32 in a table: sums of released votes, of which 10 000 rounds stay far below 2**31

BLOCK_CELLS = (
    1 << 18
)  # cells of a histogram block, channels of a block of records: 2 MiB, which stays in a core's cache
MOST_RECORDS = 1 << 31  # squared counts fit 64 bits (docs/proofs/gini.md)
NO_WEIGHTS: Integers = np.empty(0, dtype=np.int64)
MANY_RECORDS = 1 << 16  # fewer are not worth a second thread


@dataclass(frozen=True, eq=False)
class Frontier:
    """Disjoint sets of records: node i owns rows starts[i] to starts[i + 1] - 1 of the codes, labels and weights.

    ``weights`` is empty where every record counts 1.
    """

    codes: npt.NDArray[np.unsignedinteger]
    labels: npt.NDArray[np.signedinteger]
    starts: Integers
    weights: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part(self, first: int, last: int) -> Frontier:
        """Return nodes first to last - 1."""
        return Frontier(self.codes, self.labels, self.starts[first : last + 1], self.weights)

    def take(self, nodes: npt.NDArray[np.intp]) -> Frontier:
        """Return some of the nodes, in the order given."""
        sizes = np.diff(self.starts)[nodes]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][nodes] - starts[:-1], sizes)
        weights = self.weights[rows] if len(self.weights) else self.weights
        return Frontier(self.codes[rows], self.labels[rows], starts, weights)


class RecordRule(Protocol):
    """A public or released function of one record at a time: what it says of a record depends on that record alone."""

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        """Return a number for each record of ``margins`` (records, classes) and ``labels`` (records,; -1: none).

        A record's margins are what released trees said of it so far.
        """


class WeightRule(RecordRule, Protocol):
    """A rule that says how much each record counts."""

    @property
    def unit(self) -> int:
        """The largest weight."""


class RecordVotes(Protocol):
    """What released trees say of records."""

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: Margins) -> None:
        """Add it to ``margins`` (records, classes) of ``codes`` (records, features), one record at a time."""


class ChannelRule(Protocol):
    """Several integers for each record, by its margins and its label: what it adds to sums; the scored ones first."""

    @property
    def scored(self) -> int:
        """How many of the channels rank features."""

    @property
    def channels(self) -> int:
        """How many channels there are."""

    @property
    def scored_l1(self) -> int:
        """A bound on the sum of the absolute values of a record's scored channels."""

    @property
    def l1(self) -> int:
        """A bound on the sum of the absolute values of a record's channels."""

    @property
    def l2_squared(self) -> int:
        """A bound on the sum of the squares of a record's channels."""

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger], used: int | None = None) -> Integers:
        """Return the channels of each record of ``margins`` (records, classes), of shape (records, channels).

        ``used`` is the number of scored channels where these are enough; None: all.
        """


class CellRule(Protocol):
    """A public or released partition of all possible records into cells."""

    @property
    def n_cells(self) -> int:
        """How many cells there are, whatever the records are."""

    def cell(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        """Return the cell of each record of ``codes`` (records, features); it depends on that record alone."""


class Table:
    """Encoded records, and exact counts over them.

    Parameters
    ----------
    codes : ndarray of shape (records, features), unsigned
        The bin or category of each cell; C order.
    labels : ndarray of shape (records,), integer
        The class of each record; -1 where it has none, so that the record is in no node.
    n_codes : sequence of int
        How many codes each feature has, by the schema.
    n_classes : int
        How many classes the schema has.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.unsignedinteger],
        labels: npt.NDArray[np.signedinteger],
        n_codes: Integers,
        n_classes: int,
    ) -> None:
        check_shape(codes, (len(labels), len(n_codes)), "codes (records, features)")
        check_shape(labels, (len(codes),), "labels (records,)")
        if len(codes) >= MOST_RECORDS:
            raise ConfigurationError(f"a table holds fewer than {MOST_RECORDS} records, so that its sums stay exact.")
        self._codes = codes
        self._labels = labels
        self.offsets: Integers = np.concatenate(([0], np.cumsum(n_codes))).astype(np.int64)
        self.n_classes = n_classes
        self._margins: npt.NDArray[np.int32] | None = None

    @classmethod
    def of(cls, encoder: Encoder, X: Any, y: Any) -> Self:
        """Return records ``X`` with labels ``y`` as an encoder reads them."""
        return cls(encoder.transform(X), encoder.labels(y), encoder.n_codes, len(encoder.schema.classes))

    def __len__(self) -> int:
        return len(self._labels)

    def merge(self, into: Sequence[Integers]) -> None:
        """Replace the codes of each feature by ``into[feature][code]``, the numbers from 0 to some number; in place."""
        sizes = [int(codes.max()) + 1 for codes in into]
        together = np.concatenate(into).astype(self._codes.dtype)
        for_slices(len(self), lambda rows: kernels.merge(self._codes[rows], self.offsets, together))
        self.offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def roots(self, part: npt.NDArray[np.int32], parts: int, weights: WeightRule | None = None) -> Frontier:
        """Return one node for each part, holding the records that were assigned to it; part -1 is no part."""
        weight = NO_WEIGHTS if weights is None else self._weigh(weights)
        check_shape(part, (len(self),), "part (records,)")
        labeled = np.count_nonzero((self._labels >= 0) & (part >= 0))
        roots = Frontier(
            np.empty((labeled, self._codes.shape[1]), dtype=self._codes.dtype),
            np.empty(labeled, dtype=self._labels.dtype),
            np.zeros(parts + 1, dtype=np.int64),
            np.empty(labeled if len(weight) else 0, dtype=np.int64),
        )
        kernels.group(self._codes, self._labels, weight, part, roots.starts, roots.codes, roots.labels, roots.weights)
        return roots

    def _weigh(self, rule: WeightRule) -> Integers:
        return np.minimum(self.apply(rule), np.uint64(rule.unit)).astype(np.int64)

    def apply(self, rule: RecordRule) -> npt.NDArray[np.uint64]:
        """Return what the rule says of each record, of shape (records,)."""
        said = rule(self._seen(), self._labels)
        check_shape(said, (len(self),), "what a rule says (records,)")
        return said

    def feature_scores(self, rule: ChannelRule) -> Integers:
        """Return for each feature the sum over codes of the absolute sums of the scored channels, of shape (features,)."""
        if rule.scored < 1:
            raise ConfigurationError("the rule scores nothing, so it ranks no features; ask for sums.")
        total = self._sums(rule, rule.scored, int(self.offsets[-1]), partial(kernels.sums, offsets=self.offsets))
        return np.add.reduceat(np.abs(total).sum(axis=1), self.offsets[:-1])

    def feature_sums(self, rule: ChannelRule, feature: int) -> Integers:
        """Return the sums of all channels by the codes of one feature, of shape (codes, channels)."""
        codes = int(self.offsets[feature + 1] - self.offsets[feature])
        return self._sums(rule, rule.channels, codes, partial(kernels.feature_sums, feature=feature))

    def whole_sums(self, rule: ChannelRule) -> Integers:
        """Return the sums of all channels over all records, of shape (channels,)."""
        total: Integers = self._sums(rule, rule.channels, 1, _add_all)[0]
        return total

    def _sums(self, rule: ChannelRule, used: int, places: int, add: Callable[..., None]) -> Integers:
        """Return what ``add`` makes of the first channels of all records, of shape (places, used).

        Records are taken in blocks: with many classes the channels of all of them would not fit memory. They are integers, so
        any blocks give the same sums.
        """
        margins, step = self._seen(), max(1, BLOCK_CELLS // used)
        parts: list[Integers] = []

        def work(rows: slice) -> None:
            out = np.zeros((places, used), dtype=np.int64)
            for start in range(rows.start, min(rows.stop, len(self)), step):
                block = slice(start, min(start + step, rows.stop))
                channels = rule(margins[block], self._labels[block], used)
                check_shape(channels, (len(self._labels[block]), used), "channels (records, channels)")
                add(self._codes[block], channels, out=out)
            parts.append(out)

        for_slices(len(self), work)
        return sum(parts, np.zeros((places, used), dtype=np.int64))

    def learn(self, votes: RecordVotes) -> None:
        """Add what released trees say of each record to its margins."""
        margins = self._seen()
        for_slices(len(self), lambda rows: votes(self._codes[rows], margins[rows]))

    def _seen(self) -> npt.NDArray[np.int32]:
        if self._margins is None:
            self._margins = np.zeros((len(self), self.n_classes), dtype=np.int32)
        return self._margins

    def class_counts(self, frontier: Frontier) -> Integers:
        """Return the number of records of each class in each node, of shape (nodes, classes)."""
        out = np.zeros((len(frontier), self.n_classes), dtype=np.int64)
        kernels.class_counts(frontier.labels, frontier.weights, frontier.starts, out)
        return out

    def cell_counts(self, frontier: Frontier, rule: CellRule) -> Integers:
        """Return the number of records of each class in each cell of a rule, all nodes together, of shape (cells, classes)."""
        first, last = frontier.starts[[0, -1]].tolist()
        place = rule.cell(frontier.codes[first:last]) * self.n_classes + frontier.labels[first:last]
        return np.bincount(place, minlength=rule.n_cells * self.n_classes).reshape(rule.n_cells, self.n_classes)

    def histogram(self, frontier: Frontier) -> Integers:
        """Return the records of each node by code and class, of shape (nodes, codes, classes).

        The codes of all features stand one after another; ``offsets`` says where each feature's begin.
        """
        return self._histogram(frontier, 0, len(frontier))

    def for_histograms(self, frontier: Frontier, work: Callable[[int, int, Integers], None]) -> None:
        """Call ``work(first, last, histogram)`` for blocks of nodes that together are all nodes."""
        most = max(1, BLOCK_CELLS // (int(self.offsets[-1]) * self.n_classes))
        _on_threads(frontier, most, lambda first, last: work(first, last, self._histogram(frontier, first, last)))

    def _histogram(self, frontier: Frontier, first: int, last: int) -> Integers:
        out = np.zeros((last - first, int(self.offsets[-1]), self.n_classes), dtype=np.int64)
        kernels.histogram(
            frontier.codes, frontier.labels, frontier.weights, frontier.starts, first, last, self.offsets, out
        )
        return out

    def partition(self, frontier: Frontier, candidates: Candidates, chosen: Integers) -> Frontier:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones."""
        first_child = np.concatenate(([0], np.cumsum(candidates.arity[chosen], dtype=np.int64)))
        tests, test = np.unique(chosen, return_inverse=True)
        feature, branch = candidates.feature[tests], candidates.branches(tests)
        starts = np.empty(int(first_child[-1]) + 1, dtype=np.int64)
        starts[-1] = frontier.starts[-1]
        children = Frontier(
            np.empty_like(frontier.codes), np.empty_like(frontier.labels), starts, np.empty_like(frontier.weights)
        )

        def move(first: int, last: int) -> None:
            kernels.move(
                frontier.codes,
                frontier.labels,
                frontier.weights,
                frontier.starts,
                first,
                last,
                test,
                feature,
                branch,
                first_child,
                starts,
                children.codes,
                children.labels,
                children.weights,
            )

        _on_threads(frontier, len(frontier), move)
        return children


def _add_all(codes: npt.NDArray[np.unsignedinteger], channels: Integers, out: Integers) -> None:
    out += channels.sum(axis=0)


def _on_threads(frontier: Frontier, most: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(first, last)`` for blocks of at most so many nodes, on threads where there are records enough."""
    few = len(frontier.labels) < MANY_RECORDS
    for_each(_blocks(frontier, most), lambda block: work(*block), threads=1 if few else None)


def _blocks(frontier: Frontier, most: int) -> Iterator[tuple[int, int]]:
    share = max(MANY_RECORDS, len(frontier.labels) // 8)
    first = 0
    while first < len(frontier):
        last = int(np.searchsorted(frontier.starts, frontier.starts[first] + share, side="right")) - 1
        last = min(max(last, first + 1), first + most, len(frontier))
        yield first, last
        first = last
