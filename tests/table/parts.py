"""A table in parts, each of them a table: slow and simple, as what stands behind the protocol may be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.table import Histogram, MemoryTable, Sums


@dataclass(frozen=True, eq=False)
class Pieces:
    """A frontier of each part; all have the same nodes."""

    pieces: tuple

    def __len__(self):
        return len(self.pieces[0])


class PartsTable:
    """Tables that hold consecutive rows and answer in an order of their own."""

    def __init__(self, tables, order):
        self.tables, self.order = list(tables), order

    @classmethod
    def cut(cls, codes, labels, n_codes, n_classes, ends, seed=0):
        """The parts that end before these rows; the last one takes the rest."""
        starts = [0, *ends]
        tables = [
            MemoryTable(codes[start:stop].copy(), labels[start:stop], n_codes, n_classes, first_row=start)
            for start, stop in zip(starts, [*ends, len(codes)], strict=True)
        ]
        return cls(tables, np.random.default_rng(seed))

    @property
    def offsets(self):
        return self.tables[0].offsets

    @property
    def n_classes(self):
        return self.tables[0].n_classes

    def fresh(self):
        return PartsTable([table.fresh() for table in self.tables], self.order)

    def sampled(self, coins, first, last):
        return PartsTable([table.sampled(coins, first, last) for table in self.tables], self.order)

    def _each(self, work):
        """What every part answers, in the order of the parts, though they are asked in any order."""
        answers = {
            place: work(place, self.tables[place]) for place in self.order.permutation(len(self.tables)).tolist()
        }
        return [answers[place] for place in range(len(self.tables))]

    def _sum(self, work):
        return sum(self._each(work)[::-1])

    def _frontier(self, work):
        return Pieces(tuple(self._each(work)))

    def merge(self, into):
        self._each(lambda place, table: table.merge(into))

    def assign(self, coins, rule=None, weights=None):
        return self._frontier(lambda place, table: table.assign(coins, rule, weights))

    def take(self, frontier, nodes):
        return self._frontier(lambda place, table: table.take(frontier.pieces[place], nodes))

    def partition(self, frontier, candidates, chosen):
        return self._frontier(lambda place, table: table.partition(frontier.pieces[place], candidates, chosen))

    def answer(self, query):
        if isinstance(query, Sums):
            return self._sum(lambda place, table: table.answer(query))
        return self._sum(lambda place, table: table.answer(replace(query, of=query.of.pieces[place])))

    def for_histograms(self, frontier, first, last, work):
        whole = self.answer(Histogram(frontier))
        for node in self.order.permutation(np.arange(first, last)).tolist():
            work(node, node + 1, whole[node : node + 1])

    def update_margins(self, votes):
        self._each(lambda place, table: table.update_margins(votes))
