"""The only holder of records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.scores import Candidates
from hedgerow.table import kernels

__all__ = ["Frontier", "Table"]

Integers = npt.NDArray[np.int64]

BLOCK_CELLS = 1 << 18  # cells of a histogram block: 2 MiB, which stays in a core's cache
MANY_RECORDS = 1 << 16  # fewer are not worth a second thread


@dataclass(frozen=True, eq=False)
class Frontier:
    """Nodes and the records in each: node i owns order[starts[i]:starts[i + 1]]."""

    order: npt.NDArray[np.int32]
    starts: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, nodes: npt.NDArray[np.intp]) -> Frontier:
        """Return the frontier of some of the nodes, in the order given."""
        sizes = np.diff(self.starts)[nodes]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][nodes] - starts[:-1], sizes)
        return Frontier(self.order[rows], starts)


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
        self._codes = codes
        self._labels = labels
        self.offsets: Integers = np.concatenate(([0], np.cumsum(n_codes))).astype(np.int64)
        self.n_classes = n_classes

    def __len__(self) -> int:
        return len(self._labels)

    def roots(self, part: npt.NDArray[np.int32], parts: int) -> Frontier:
        """Return one node for each part, holding the records that were assigned to it."""
        starts = np.zeros(parts + 1, dtype=np.int64)
        order = np.empty(np.count_nonzero(self._labels >= 0), dtype=np.int32)
        kernels.group(part, self._labels, starts, order)
        return Frontier(order, starts)

    def class_counts(self, frontier: Frontier) -> Integers:
        """Return the number of records of each class in each node, of shape (nodes, classes)."""
        out = np.zeros((len(frontier), self.n_classes), dtype=np.int64)
        kernels.class_counts(self._labels, frontier.order, frontier.starts, out)
        return out

    def histogram(self, frontier: Frontier, first: int, last: int) -> Integers:
        """Return the records of nodes first to last - 1 by code and class, of shape (nodes, codes, classes).

        The codes of all features stand one after another; ``offsets`` says where each feature's begin.
        """
        out = np.zeros((last - first, int(self.offsets[-1]), self.n_classes), dtype=np.int64)
        kernels.histogram(self._codes, self._labels, frontier.order, frontier.starts, first, last, self.offsets, out)
        return out

    def for_blocks(self, frontier: Frontier, work: Callable[[int, int, Integers], None]) -> None:
        """Call ``work(first, last, histogram)`` for blocks of nodes that together are all nodes; on threads where it pays."""
        blocks = list(self._blocks(frontier))

        def run(block: tuple[int, int]) -> None:
            work(*block, self.histogram(frontier, *block))

        if len(blocks) == 1 or len(frontier.order) < MANY_RECORDS:
            for block in blocks:
                run(block)
        else:
            with ThreadPoolExecutor(
                len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
            ) as pool:
                list(pool.map(run, blocks))

    def _blocks(self, frontier: Frontier) -> Iterator[tuple[int, int]]:
        most = max(1, BLOCK_CELLS // (int(self.offsets[-1]) * self.n_classes))
        share = max(MANY_RECORDS, len(frontier.order) // 8)
        first = 0
        while first < len(frontier):
            last = int(np.searchsorted(frontier.starts, frontier.starts[first] + share, side="right")) - 1
            last = min(max(last, first + 1), first + most, len(frontier))
            yield first, last
            first = last

    def partition(self, frontier: Frontier, candidates: Candidates, chosen: Integers) -> Frontier:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones."""
        arity = candidates.arity[chosen].astype(np.int64)
        first_child = np.cumsum(arity) - arity
        starts = np.zeros(int(arity.sum()) + 1, dtype=np.int64)
        order = np.empty(len(frontier.order), dtype=np.int32)
        kernels.move(
            self._codes,
            frontier.order,
            frontier.starts,
            chosen,
            candidates.feature,
            candidates.branch,
            first_child,
            starts,
            order,
        )
        return Frontier(order, starts)
