"""The interface of a table, which holds the records of one fit and answers queries with exact sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, frozen_copy, lazy
from hedgerow.mechanisms import Coins
from hedgerow.scores import Candidates

# int32 in a table: sums of released votes, of which 10 000 rounds stay far below 2**31.
Margins = npt.NDArray[np.signedinteger]
Channels = npt.NDArray[np.int32]


class RecordRule(Protocol):
    """A public or released function of one record at a time. Its value for a record depends on that record alone."""

    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        """Return a number for each record of ``margins`` (records, classes), its votes, and ``labels`` (records,; -1: none)."""


class WeightRule(RecordRule, Protocol):
    """A rule that gives each record a weight of at most ``unit``."""

    @property
    def unit(self) -> int: ...


class RecordVotes(Protocol):
    """The votes of released trees for records, which have ``columns`` columns of margins.

    Votes by cells may have an attribute ``cells`` (``Cells`` or None). A table that knows the cell of each record then passes
    these, (records,), as a third argument.
    """

    @property
    def columns(self) -> int: ...

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: Margins) -> None:
        """Add the votes to ``margins`` (records, columns) by ``codes`` (records, features), one record at a time."""


class ChannelRule(ABC):
    """Several integers for each record, by its margins and its label, which it adds to sums. The scored ones are first."""

    columns: int  # margins of a record; 0 if none are read
    channels: int
    scored: int  # the first channels, which rank features; for a loss gradients, and curvatures follow
    # Bounds on what a record adds: the sums of the absolute values of its scored channels and of all, and of all squares
    scored_l1: int
    l1: int
    l2_squared: int

    @abstractmethod
    def __call__(self, margins: Margins, labels: npt.NDArray[np.signedinteger]) -> Channels:
        """Return what records of ``margins`` (records, columns) and ``labels`` (records,; -1: none) add, (records, channels).

        Their squares may exceed 32 bits.
        """


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells into which several cuts divide all possible records. Each cut doubles their number.

    A record's cell is the binary number of its sides. The first cut's side is the highest digit.
    """

    by: Integers  # (cuts,): the feature whose code each cut reads
    # (cuts, codes): The side of each of the feature's codes, 0 or 1. Columns beyond a feature's codes are not read
    side: Integers

    @property
    def n_cells(self) -> int:
        return 1 << len(self.by)


UNCUT = Cells(np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class CodeGroups:
    """Public or released partitions of all possible records, each by the code of one feature."""

    feature: Integers  # (partitions,): the feature whose code each partition reads
    # (partitions, codes): The group of each of the feature's codes. Groups of different partitions have different
    # numbers, from 0 on. Columns beyond a feature's codes are not read
    group: Integers


@dataclass(frozen=True, eq=False)
class CellBins:
    feature: Integers  # (cells,)
    group: Integers  # (cells, codes): the group of each of the feature's codes, from 0 on. Columns beyond its codes are not read


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of features: each one in ``by`` as the first, with every other one as the second.

    ``first`` and ``second``, (codes of all features,), number the groups of codes of the first and of the second feature of a
    pair. Neighboring codes of a feature with equal numbers are one group.
    """

    by: tuple[int, ...]
    first: Integers
    second: Integers
    offsets: Integers  # (features + 1,): the first code of each feature

    def _begins(self, group: Integers) -> Truth:
        begins = np.diff(group, prepend=group[:1] - 1) != 0
        begins[self.offsets[:-1]] = True
        return np.asarray(begins)

    @lazy
    def order(self) -> Integers:
        """All features, (features,), those in ``by`` first."""
        return np.array([*self.by, *np.setdiff1d(np.arange(len(self.offsets) - 1), self.by)], dtype=np.int64)

    @lazy
    def number(self) -> Integers:
        """The number of each code, (codes of all features,), in ``order`` of features; codes of the same two groups share one."""
        place = np.cumsum(self._begins(self.first) | self._begins(self.second))
        ends = np.append(place[self.offsets[1:-1]], place[-1] + 1)
        sizes, before = ends - place[self.offsets[:-1]], np.empty(len(ends), dtype=np.int64)
        before[self.order] = np.cumsum(sizes[self.order]) - sizes[self.order]
        return np.asarray(place + np.repeat(before - place[self.offsets[:-1]], np.diff(self.offsets)))

    @property
    def n_parts(self) -> int:
        return int(self.number[self.offsets[np.array(self.by) + 1] - 1].max()) + 1

    def scores(self, sums: Integers) -> Integers:
        """Return the scores of pairs, (by, features), from sums of ``add_pairs``: absolute sums over two groups, added up."""
        by_group, places, rows = sums.copy(), [], len(sums)
        by_group[:, :rows] += np.swapaxes(sums[:, :rows], 0, 1)  # of two features in ``by`` either may be the first
        for axis, group in enumerate((self.first, self.second)):
            starts, of_features = (np.sort(self.number[at]) for at in (self._begins(group), self.offsets[:-1]))
            starts, of_features = (each[each < sums.shape[axis]] for each in (starts, of_features))
            by_group = np.add.reduceat(by_group, starts, axis=axis)
            places.append(np.searchsorted(starts, of_features))
        by_row = np.add.reduceat(np.abs(by_group).sum(axis=2), places[0], axis=0)
        return np.asarray(np.add.reduceat(by_row, places[1], axis=1)[:, np.argsort(self.order)])


@dataclass(frozen=True, eq=False)
class Layout:
    """What divides sums of channels, besides the codes of each feature.

    ``cells`` are those of released cuts, ``groups`` partitions within each cell. With a ``side`` only records on that side of the
    last cut are added up, in the cells of the cuts before; this excludes groups and bins. With ``bins`` sums are by the groups of
    one feature's codes in each cell. With ``whole`` all records are added up as if they had one code; this excludes cells and
    groups. Each of these takes a fraction of the time. With ``pairs`` sums are by groups of two features; this excludes the rest.
    """

    cells: Cells = UNCUT
    groups: CodeGroups | None = None
    whole: bool = False
    bins: CellBins | None = None
    side: int | None = None
    pairs: Pairs | None = None

    def offsets(self, offsets: Integers) -> Integers:
        """Return the position of the first of the codes that divide sums, among those of all features, and their number."""
        if self.whole:
            return np.arange(2)
        if self.pairs is not None:
            return np.array([0, int(self.pairs.number.max()) + 1])
        return offsets if self.bins is None else np.array([0, int(self.bins.group.max()) + 1])

    @property
    def n_parts(self) -> int:
        if self.pairs is not None:
            return self.pairs.n_parts
        cells = self.cells.n_cells if self.side is None else self.cells.n_cells // 2
        return cells * (1 if self.groups is None else int(self.groups.group.max()) + 1)


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """A query whose answer is a sum of integers over records.

    The same value goes from a curator to its table and to every partition. ``of`` names the nodes that it is about: in a
    curator by numbers, in a table by that table's frontier.
    """

    of: Any

    purpose: ClassVar[str]  # in events and certificates
    by_class: ClassVar[bool] = True  # whether the last axis of the answer is the classes
    weighted: ClassVar[bool] = True  # whether a record adds its weight, and not 1
    reads_codes: ClassVar[bool] = False
    signed: ClassVar[bool] = False  # whether integers of the answer may be negative

    @abstractmethod
    def shape(self, n_codes: Integers, n_classes: int) -> tuple[int, ...]:
        """Return the shape of the answer, given the number of codes of each feature, (features,)."""


class Sizes(Query):
    """The number of records in each node, without weights, (nodes,)."""

    purpose, by_class, weighted = "numbers of records", False, False

    def shape(self, n_codes: Integers, n_classes: int) -> tuple[int, ...]:
        return (len(self.of),)


class ClassCounts(Query):
    """The weight of the records of each class in each node, (nodes, classes)."""

    purpose = "class counts"

    def shape(self, n_codes: Integers, n_classes: int) -> tuple[int, ...]:
        return len(self.of), n_classes


@dataclass(frozen=True, eq=False)
class CellCounts(Query):
    """The number of records of each class in each cell of a rule, over all nodes, (cells, classes)."""

    # Public or released: ``n_cells``, and ``cell(codes)``, the cell of each record, which depends on that record alone
    rule: Any

    purpose, reads_codes = "class counts of cells", True

    def shape(self, n_codes: Integers, n_classes: int) -> tuple[int, ...]:
        return self.rule.n_cells, n_classes


@dataclass(frozen=True, eq=False)
class Histogram(Query):
    """The weight of the records of each node by code and class, (nodes, codes of all features, classes).

    A curator releases the features that are marked in ``asked`` (nodes, features); the others are zero. None: all of them.
    """

    asked: Truth | None = None

    purpose, reads_codes = "histograms", True

    def __post_init__(self) -> None:
        if self.asked is not None:  # a read-only copy: what is charged is what is released
            object.__setattr__(self, "asked", frozen_copy(self.asked, np.asarray(self.asked).dtype))

    def shape(self, n_codes: Integers, n_classes: int) -> tuple[int, ...]:
        return len(self.of), int(n_codes.sum()), n_classes


@dataclass(frozen=True, eq=False)
class Sums(Query):
    """The sums of a rule's channels by part and code, over all records, (parts, codes of all features, channels).

    It is (1, 1, channels) for a whole layout. ``votes`` are added to the margins first, in the same scan. That is an effect:
    if it is interrupted, any records may have changed, and the caller must make no further query.
    """

    of: None = field(default=None, init=False)
    rule: ChannelRule
    votes: RecordVotes | None = None
    layout: Layout = Layout()

    purpose, by_class, weighted, reads_codes, signed = "sums", False, False, True, True

    def shape(self, n_codes: Integers, n_classes: int) -> tuple[int, ...]:
        codes = self.layout.offsets(np.concatenate(([0], np.cumsum(n_codes))))[-1]
        return self.layout.n_parts, int(codes), self.rule.channels


Frontier = Sized  # a handle of disjoint sets of records, the nodes, inside one table, which alone knows its contents


class Table(Protocol):
    """The holder of encoded records. It returns exact counts of them, and nothing else.

    Contract
    --------
    - A table accepts only its own frontiers, so their type is ``Any``.
    - A record is a row of codes and a class. A record without a class (-1) is in no node and no sum. A record's coins are read
      at its row number among all records.
    - In a regression the label is the code of an outcome, from 0 up, and all labelled records have one class. Rules of
      channels read the code, frontiers only the class.
    - Every answer is a sum of integers over records, each of which depends on one record. So the answer does not depend on the
      order of the records, or on how they are divided among parts, threads or machines. It is exact, and the same for the
      same queries.
    - All arguments (coins, rules, votes, tests, merges) are public or released. The number of nodes of a frontier is, too.
    - Answers are not private. Only a curator queries a table. It charges first and adds noise. A table draws nothing but the
      coins, whose key is used for nothing else.
    - ``merge``, ``update_margins`` and the votes of ``Sums`` change what later queries see. They change every record. If one is
      interrupted, any records may have changed, and the caller must make no further query. No other method has an effect, and
      a frontier never changes.
    """

    @property
    def offsets(self) -> Integers:
        """The position of each feature's first code among the codes of all features, and their number; (features + 1,)."""

    @property
    def n_classes(self) -> int: ...

    def answer(self, query: Query) -> Integers: ...

    def for_histograms(self, frontier: Any, first: int, last: int, work: Callable[[int, int, Integers], None]) -> None:
        """Call ``work(begin, end, histogram)`` for blocks that make up the nodes first to last - 1, in any order.

        Several threads may work on blocks at the same time.
        """

    def fresh(self) -> Table:
        """Return a table of the same records with margins of zero, whose codes can be merged independently of this table."""

    def sampled(self, coins: Coins, first: int, last: int) -> Table:
        """Return a table of the same records, in which only records with coins in the parts first to last - 1 have a class.

        All others are in no node and no sum. Margins are zero, and codes can be merged independently of this table.
        """

    def thinned(self, coins: Coins) -> Table:
        """Return a table of only the records that the coins assign to part 0, with their present codes and margins.

        It accepts ``Sums`` and votes, and no other query, because its records have no row numbers.
        """

    def merge(self, into: Sequence[Integers]) -> None:
        """Replace the codes of each feature by ``into[feature][code]``; no frontier may have been made before."""

    def assign(self, coins: Coins, rule: RecordRule | None = None, weights: WeightRule | None = None) -> Any:
        """Return a frontier with a node for each part of the coins, with the records that they assign to it.

        For a weighted coin, ``rule`` gives the probability that a record takes part. ``weights`` gives its weight; None: 1.
        """

    def take(self, frontier: Any, nodes: npt.NDArray[np.intp]) -> Any: ...

    def partition(self, frontier: Any, candidates: Candidates, chosen: Integers) -> Any:
        """Return the children of all nodes, including empty ones, each node's in the order of its test's branches."""

    def update_margins(self, votes: RecordVotes) -> None:
        """Add the votes of released trees for each record to its margins."""
