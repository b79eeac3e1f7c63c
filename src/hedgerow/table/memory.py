"""Records in the memory of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, check_shape, for_each, for_slices
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Coins
from hedgerow.reading.columns import read_columns
from hedgerow.scores import Candidates
from hedgerow.table import kernels
from hedgerow.table.reading import Keep, Reading
from hedgerow.table.table import (
    UNCUT,
    CellCounts,
    Cells,
    ChannelRule,
    CodeGroups,
    Histogram,
    Query,
    RecordRule,
    RecordVotes,
    Sizes,
    Sums,
    WeightRule,
)

# Cells of a histogram block, or channels of a block of records: 2 MiB, which fit a core's cache.
BLOCK_CELLS = 1 << 18
# Records of a block, whose codes fit the cache, too. For larger blocks the system would give numpy new pages each time.
BLOCK_RECORDS = 1 << 14
LARGEST_HALF = (1 << 31) - 1  # of a packed pair of sums
MOST_RECORDS = 1 << 31  # squared counts fit 64 bits (docs/proofs/gini.md)
NO_WEIGHTS: Integers = np.empty(0, dtype=np.int64)
NO_GROUPS = CodeGroups(NO_WEIGHTS, np.zeros((0, 0), dtype=np.int64))
MANY_RECORDS = 1 << 16  # fewer take longer on two threads


@dataclass(frozen=True, eq=False, repr=False)
class MemoryFrontier:
    """A frontier in memory: node i owns rows starts[i] to starts[i + 1] - 1 of the codes, labels and weights."""

    codes: npt.NDArray[np.unsignedinteger]
    labels: npt.NDArray[np.signedinteger]
    starts: Integers
    weights: Integers  # empty if every record counts 1

    def __len__(self) -> int:
        return len(self.starts) - 1


def count(query: Query, offsets: Integers, n_classes: int) -> Integers:
    nodes: MemoryFrontier = query.of
    if isinstance(query, Sizes):
        return np.diff(nodes.starts)
    if isinstance(query, CellCounts):
        first, last = nodes.starts[[0, -1]].tolist()
        place = query.rule.cell(nodes.codes[first:last]) * n_classes + nodes.labels[first:last]
        return np.bincount(place, minlength=query.rule.n_cells * n_classes).reshape(query.rule.n_cells, n_classes)
    out = np.zeros(query.shape(np.diff(offsets), n_classes), dtype=np.int64)
    if isinstance(query, Histogram):
        kernels.histogram(nodes.codes, nodes.labels, nodes.weights, nodes.starts, 0, len(nodes), offsets, out)
    else:
        kernels.class_counts(nodes.labels, nodes.weights, nodes.starts, out)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """What a scan computed of each record, for later scans: its cell under some cuts, and its channels under a rule."""

    part: npt.NDArray[np.uint32]  # (records,), by ``cells``
    channels: npt.NDArray[np.int32]  # (records, channels)
    cells: Cells = UNCUT
    rule: ChannelRule | None = None  # None: the channels are of no rule at the present margins

    def known_of(self, cells: Cells) -> int:
        """Return how many of the first cuts of ``cells`` are in ``part``; 0 if it has other cuts."""
        known, codes = self.cells.side.shape
        same = np.array_equal(self.cells.by, cells.by[:known])
        return int(known) if same and np.array_equal(self.cells.side, cells.side[:known, :codes]) else 0


class MemoryTable:
    """Encoded records in memory; see ``Table`` for its queries.

    ``codes`` (records, features), in C order, are the bin or category of each cell, ``labels`` (records,) the class or the code
    of the outcome: -1 is in no node. ``n_classes`` is one if labels are outcomes. ``first_row`` is the number of the first record
    among all. ``margins`` (records, classes) are the votes of released trees so far, to which others are added; None: no votes.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.unsignedinteger],
        labels: npt.NDArray[np.signedinteger],
        n_codes: Integers,
        n_classes: int,
        first_row: int = 0,
        *,
        margins: npt.NDArray[np.int32] | None = None,
    ) -> None:
        check_shape(codes, (len(labels), len(n_codes)), "codes (records, features)")
        check_shape(labels, (len(codes),), "labels (records,)")
        if len(codes) >= MOST_RECORDS:
            raise ConfigurationError(f"a table holds fewer than {MOST_RECORDS} records, so that its sums stay exact.")
        self._codes = codes
        self._labels = labels
        self.offsets: Integers = np.concatenate(([0], np.cumsum(n_codes))).astype(np.int64)
        self.n_classes = n_classes
        self._first_row = first_row
        self._margins = margins
        self._shares_codes = False
        self._seen: Seen | None = None

    @classmethod
    def by(cls, reading: Reading, X: Any, y: Any, keep: Keep | None = None) -> Self:
        codes, labels = reading.read(read_columns(X, reading.schema.features), y)
        return cls(codes, labels if keep is None else keep.labels(labels), reading.n_codes, reading.n_classes)

    def __len__(self) -> int:
        return len(self._labels)

    def fresh(self) -> MemoryTable:
        other = MemoryTable(self._codes, self._labels, np.diff(self.offsets), self.n_classes, self._first_row)
        self._shares_codes = other._shares_codes = True
        return other

    def sampled(self, coins: Coins, first: int, last: int) -> MemoryTable:
        other, part = self.fresh(), coins.parts(self._first_row, len(self))
        other._labels = np.where((first <= part) & (part < last), self._labels, -1)
        return other

    def thinned(self, coins: Coins) -> MemoryTable:
        chosen = coins.parts(self._first_row, len(self)) == 0
        margins = None if self._margins is None else self._margins[chosen]
        codes, labels = self._codes[chosen], self._labels[chosen]
        return MemoryTable(codes, labels, np.diff(self.offsets), self.n_classes, margins=margins)

    def merge(self, into: Sequence[Integers]) -> None:
        together = np.concatenate(into).astype(self._codes.dtype)
        codes = self._codes.copy() if self._shares_codes else self._codes
        for_slices(len(self), lambda rows: kernels.merge(codes[rows], self.offsets, together))
        self._codes, self._shares_codes, self._seen = codes, False, None
        sizes = np.array(list(map(np.max, into))) + 1
        self.offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def assign(self, coins: Coins, rule: RecordRule | None = None, weights: WeightRule | None = None) -> MemoryFrontier:
        weight, part = NO_WEIGHTS if weights is None else self.weights(weights), self.parts(coins, rule)
        return grouped(self._codes, self._labels, self.n_classes, weight, part, coins.coin.parts)

    def parts(self, coins: Coins, rule: RecordRule | None) -> npt.NDArray[np.int32]:
        part = coins.parts(self._first_row, len(self) if rule is None else self._values_of(rule))
        check_shape(part, (len(self),), "part (records,)")
        return part

    def weights(self, rule: WeightRule) -> Integers:
        return np.minimum(self._values_of(rule), np.uint64(rule.unit)).astype(np.int64)

    def _values_of(self, rule: RecordRule) -> npt.NDArray[np.uint64]:
        values = rule(self.margins(), self._labels)
        check_shape(values, (len(self),), "values of a rule (records,)")
        return values

    def update_margins(self, votes: RecordVotes) -> None:
        margins, self._seen = self.margins(votes.columns), None
        for_slices(len(self), lambda rows: votes(self._codes[rows], margins[rows]))

    def answer(self, query: Query) -> Integers:
        """Answer ``Sums`` in one scan, which for a few records at a time adds votes, computes channels and adds these up.

        Two channels are added as the halves of one integer, for so few records that neither half can overflow. All numbers are
        integers, so any blocks and any number of threads give the same sums. Channels and cells of the scan before are used
        again, unless votes changed the margins or there are other cuts.
        """
        if not isinstance(query, Sums):
            return count(query, self.offsets, self.n_classes)
        rule, votes, layout = query.rule, query.votes, query.layout
        margins = self.margins(rule.columns if votes is None else votes.columns)
        most, used = LARGEST_HALF // max(rule.l1, 1), rule.channels
        offsets = layout.offsets(self.offsets)
        shape = layout.n_parts, int(offsets[-1])
        groups, cells = NO_GROUPS if layout.groups is None else layout.groups, layout.cells
        seen, self._seen = self._seen, None  # the handler of a signal scans with its own
        if seen is None:
            seen = Seen(np.zeros(len(self), dtype=np.uint32), np.empty((len(self), 0), dtype=np.int32))
        again, kept = votes is None and seen.rule == rule, layout.bins is None and not layout.whole
        known_channels, known_rule = seen.channels, rule if kept else seen.rule if votes is None else None
        if kept and known_channels.shape[1] != rule.channels:
            known_channels = np.empty((len(self), rule.channels), dtype=np.int32)
        known = 0 if layout.whole else seen.known_of(cells)
        of_votes = getattr(votes, "cells", None) or UNCUT
        by_cell: Any = votes if 0 < len(of_votes.by) == seen.known_of(of_votes) else None  # ``part`` has their cells
        cuts = cells.by[known:], cells.side[known:]
        side, n_cells = (-1, cells.n_cells) if layout.side is None else (layout.side, cells.n_cells // 2)
        parts_of = *cuts, side, groups.feature, groups.group, layout.n_parts // n_cells
        step = min(BLOCK_RECORDS, max(1, BLOCK_CELLS // rule.channels), most)
        if step < 1:
            raise ValueError("a rule's channels are beyond 31 bits, more than a record's sums are packed in.")
        if kept and again and used == 1 and side >= 0:  # no channels are computed, so nothing has to fit the cache
            step = max(len(self), 1)
        parts: list[Integers] = []

        def work(rows: slice) -> None:
            out = np.zeros((*shape, used), dtype=np.int64)
            pairs = -(-used // 2)
            packed = out if used == 1 else np.zeros((*shape, pairs), dtype=np.int64)
            row, unpacked, end = np.empty(pairs, dtype=np.int64), 0, min(rows.stop, len(self._labels))
            for start in range(rows.start, end, step):
                block = slice(start, min(start + step, end))
                codes, before, own = self._codes[block], margins[block], seen.part[block]
                if by_cell is not None:
                    by_cell(codes, before, own)
                elif votes is not None:
                    votes(codes, before)
                if not (known or layout.whole):
                    own[:] = 0
                if kept and again:
                    channels = known_channels[block]
                else:
                    channels = rule(before, self._labels[block])
                    check_shape(channels, (len(codes), rule.channels), "channels (records, channels)")
                    if layout.whole:
                        out[0, 0] += channels[:, :used].sum(axis=0, dtype=np.int64)
                        continue
                    if kept:
                        known_channels[block] = channels
                if used > 1 and unpacked + len(codes) > most:
                    kernels.unpack(packed, out)
                    unpacked = 0
                if layout.bins is not None:
                    of_cells = layout.bins.feature, layout.bins.group
                    kernels.pack_one(codes, channels, used, *of_cells, *cuts, own, packed)
                elif layout.pairs is not None:
                    of_pairs = layout.pairs.order, len(layout.pairs.by), self.offsets, layout.pairs.number
                    kernels.add_pairs(codes, channels, used, *of_pairs, out)
                else:
                    kernels.pack(codes, channels, used, offsets, *parts_of, own, row, packed)
                unpacked += len(codes)
            if used > 1:
                kernels.unpack(packed, out)
            parts.append(out)

        for_slices(len(self._labels), work)
        self._seen = Seen(seen.part, known_channels, seen.cells if layout.whole else cells, known_rule)
        for other in parts[1:]:
            parts[0] += other
        return parts[0] if parts else np.zeros((*shape, used), dtype=np.int64)

    def margins(self, columns: int | None = None) -> npt.NDArray[np.int32]:
        """Return the margins, which are zeros before the first votes. All rules and votes of a table use as many columns."""
        if columns == 0:
            return np.empty((len(self), 0), dtype=np.int32)
        if self._margins is None:
            self._margins = np.zeros((len(self), self.n_classes if columns is None else columns), dtype=np.int32)
        return self._margins

    def take(self, frontier: MemoryFrontier, nodes: npt.NDArray[np.intp]) -> MemoryFrontier:
        sizes = np.diff(frontier.starts)[nodes]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.arange(starts[-1]) + np.repeat(frontier.starts[:-1][nodes] - starts[:-1], sizes)
        weights = frontier.weights[rows] if len(frontier.weights) else frontier.weights
        return MemoryFrontier(frontier.codes[rows], frontier.labels[rows], starts, weights)

    def for_histograms(
        self, frontier: MemoryFrontier, first: int, last: int, work: Callable[[int, int, Integers], None]
    ) -> None:
        most = max(1, BLOCK_CELLS // (int(self.offsets[-1]) * self.n_classes))
        some = replace(frontier, starts=frontier.starts[first : last + 1])

        def of_block(block: tuple[int, int]) -> None:
            begin, end = block
            nodes = replace(some, starts=some.starts[begin : end + 1])
            work(first + begin, first + end, self.answer(Histogram(nodes)))

        _on_threads(some, most, of_block)

    def partition(self, frontier: MemoryFrontier, candidates: Candidates, chosen: Integers) -> MemoryFrontier:
        first_child = np.concatenate(([0], np.cumsum(candidates.arity[chosen], dtype=np.int64)))
        tests, test = np.unique(chosen, return_inverse=True)
        feature, branch = candidates.feature[tests], candidates.branches(tests)
        starts = np.empty(int(first_child[-1]) + 1, dtype=np.int64)
        starts[-1] = frontier.starts[-1]
        columns = frontier.codes, frontier.labels, frontier.weights
        codes, labels = np.empty_like(frontier.codes), np.empty_like(frontier.labels)
        weights = np.empty_like(frontier.weights)

        def move(block: tuple[int, int]) -> None:
            to = starts, codes, labels, weights
            kernels.move(*columns, frontier.starts, *block, test, feature, branch, first_child, *to)

        _on_threads(frontier, len(frontier), move)
        return MemoryFrontier(codes, labels, starts, weights)


def grouped(
    codes: npt.NDArray[np.unsignedinteger],
    labels: npt.NDArray[np.signedinteger],
    n_classes: int,
    weights: Integers,
    part: npt.NDArray[np.int32],
    parts: int,
) -> MemoryFrontier:
    """Return one node for each part, with its labelled records. ``part`` is -1 for records in no part."""
    if n_classes == 1:  # all outcomes are of one class
        labels = np.minimum(labels, 0)
    labeled = np.count_nonzero((labels >= 0) & (part >= 0))
    roots = MemoryFrontier(
        np.empty((labeled, codes.shape[1]), dtype=codes.dtype),
        np.empty(labeled, dtype=labels.dtype),
        np.zeros(parts + 1, dtype=np.int64),
        np.empty(labeled if len(weights) else 0, dtype=np.int64),
    )
    kernels.group(codes, labels, weights, part, roots.starts, roots.codes, roots.labels, roots.weights)
    return roots


def _on_threads(frontier: MemoryFrontier, most: int, work: Callable[[tuple[int, int]], None]) -> None:
    """Call ``work`` for blocks of at most ``most`` nodes, each of about the records that are worth a thread."""
    records = len(frontier.labels)
    share, first, blocks = max(MANY_RECORDS, records // 8), 0, []
    while first < len(frontier):
        last = int(np.searchsorted(frontier.starts, frontier.starts[first] + share, side="right")) - 1
        last = min(max(last, first + 1), first + most, len(frontier))
        blocks.append((first, last))
        first = last
    for_each(blocks, work, threads=1 if records < MANY_RECORDS else None)
