"""The interface of a table, which holds the records of one fit and answers with exact sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.mechanisms import Coins
from hedgerow.scores import Candidates
from hedgerow.table.rules import CellRule, ChannelRule, Layout, RecordRule, RecordVotes, WeightRule

__all__ = ["Frontier", "Table"]


class Frontier(Protocol):
    """A handle of disjoint sets of records, the nodes, inside one table. Only the table knows its contents."""

    def __len__(self) -> int:
        """Return the number of nodes, also of empty ones."""


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
    - ``merge``, ``update_margins`` and the votes of ``sums`` change what later queries see. They change every record. If one is
      interrupted, any records may have changed, and the caller must make no further query. No other method has an effect, and
      a frontier never changes.
    """

    @property
    def offsets(self) -> Integers:
        """The position of each feature's first code among the codes of all features, and their number; (features + 1,)."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    def fresh(self) -> Table:
        """Return a table of the same records with margins of zero, whose codes can be merged independently of this table."""

    def sampled(self, coins: Coins, first: int, last: int) -> Table:
        """Return a table of the same records, in which only records with coins in the parts first to last - 1 have a class.

        All others are in no node and no sum. Margins are zero, and codes can be merged independently of this table.
        """

    def thinned(self, coins: Coins) -> Table:
        """Return a table of only the records that the coins assign to part 0, with their present codes and margins.

        It accepts ``sums`` and votes, and no other query, because its records have no row numbers.
        """

    def merge(self, into: Sequence[Integers]) -> None:
        """Replace the codes of each feature by ``into[feature][code]``; no frontier may have been made before."""

    def assign(self, coins: Coins, rule: RecordRule | None = None, weights: WeightRule | None = None) -> Any:
        """Return a frontier with a node for each part of the coins, with the records that they assign to it.

        For a weighted coin, ``rule`` gives the probability that a record takes part. ``weights`` gives its weight; None: 1.
        """

    def take(self, frontier: Any, nodes: npt.NDArray[np.intp]) -> Any:
        """Return the frontier of some of the nodes, in the order given."""

    def partition(self, frontier: Any, candidates: Candidates, chosen: Integers) -> Any:
        """Return the children of all nodes, including empty ones, each node's in the order of its test's branches."""

    def sizes(self, frontier: Any) -> Integers:
        """Return the number of records in each node, without weights, of shape (nodes,)."""

    def class_counts(self, frontier: Any) -> Integers:
        """Return the weight of the records of each class in each node, of shape (nodes, classes)."""

    def cell_counts(self, frontier: Any, rule: CellRule) -> Integers:
        """Return the number of records of each class in each cell of a rule, over all records, (cells, classes)."""

    def histogram(self, frontier: Any) -> Integers:
        """Return the weight of the records of each node by code and class, (nodes, codes of all features, classes)."""

    def for_histograms(self, frontier: Any, first: int, last: int, work: Callable[[int, int, Integers], None]) -> None:
        """Call ``work(begin, end, histogram)`` for blocks that make up the nodes first to last - 1, in any order.

        Several threads may work on blocks at the same time.
        """

    def update_margins(self, votes: RecordVotes) -> None:
        """Add the votes of released trees for each record to its margins."""

    def sums(self, rule: ChannelRule, votes: RecordVotes | None = None, layout: Layout | None = None) -> Integers:
        """Add votes to the margins, then return the sums of a rule's channels by part and code.

        The answer has the shape (parts, codes of all features, channels), or (1, 1, channels) for a whole layout. Without a
        ``layout`` all records are one part.
        """
