"""What a holder of records must answer, wherever it keeps them."""

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
    """A handle of disjoint sets of records, the nodes, inside one table; what it holds is the table's own affair."""

    def __len__(self) -> int:
        """Return the number of nodes, also of empty ones."""


class Table(Protocol):
    """The holder of encoded records: exact counts of them, and nothing else, leave it.

    Contract
    --------
    - A table takes its own frontiers only, hence ``Any``.
    - A record is a row of codes and a class, or no class (-1), which keeps it out of every node and every sum. Its row
      number among all records is what its coins are read at.
    - Of a regression, the label is the code of an outcome, from 0 up, and all labelled records are of one class. Rules of
      channels are told the code; frontiers know the class alone.
    - Every answer is a sum over records of integers that depend on one record each, so neither the order of the records nor
      how they are divided among parts, threads or machines changes it. It is exact, and the same for the same queries.
    - What it is told (coins, rules, votes, tests, merges) is public or released, and so is the number of nodes of a frontier.
    - Answers are not private: only a curator asks a table, charges first and adds noise. Nothing is drawn here but the coins,
      whose key draws nothing else.
    - ``merge``, ``update_margins`` and the votes of ``sums`` change what later queries see. They change every record or,
      interrupted, any of them: whoever asked then asks no more. No other method has an effect, and a frontier stays what it
      was when it was made.
    """

    @property
    def offsets(self) -> Integers:
        """Where the codes of each feature begin when all stand in a row, and their number, of shape (features + 1,)."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    def fresh(self) -> Table:
        """Return a table of the same records whose margins are zero and whose codes may be merged apart from these."""

    def sampled(self, coins: Coins, first: int, last: int) -> Table:
        """Return a table of the same records, of which only those have a class whose coins fell on parts first to last - 1.

        All others are in no node and no sum of it. Its margins are zero, and its codes may be merged apart from these.
        """

    def thinned(self, coins: Coins) -> Table:
        """Return a table of those records alone that the coins send to part 0, with the codes and margins that they have now.

        It answers ``sums`` and takes votes, and is asked nothing else: its records have lost their row numbers.
        """

    def merge(self, into: Sequence[Integers]) -> None:
        """Replace the codes of each feature by ``into[feature][code]``; no frontier may have been made before."""

    def assign(self, coins: Coins, rule: RecordRule | None = None, weights: WeightRule | None = None) -> Any:
        """Return a frontier with a node for each part of the coins, holding the records that they send there.

        ``rule`` says for a weighted coin how probably a record takes part; ``weights`` how much it counts, None: 1.
        """

    def take(self, frontier: Any, nodes: npt.NDArray[np.intp]) -> Any:
        """Return the frontier of some of the nodes, in the order given."""

    def partition(self, frontier: Any, candidates: Candidates, chosen: Integers) -> Any:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones."""

    def sizes(self, frontier: Any) -> Integers:
        """Return the number of records in each node, whatever they weigh, of shape (nodes,)."""

    def class_counts(self, frontier: Any) -> Integers:
        """Return the weight of the records of each class in each node, of shape (nodes, classes)."""

    def cell_counts(self, frontier: Any, rule: CellRule) -> Integers:
        """Return the number of records of each class in each cell of a rule, all nodes together, (cells, classes)."""

    def histogram(self, frontier: Any) -> Integers:
        """Return the weight of the records of each node by code and class, (nodes, codes of all features, classes)."""

    def for_histograms(self, frontier: Any, first: int, last: int, work: Callable[[int, int, Integers], None]) -> None:
        """Call ``work(begin, end, histogram)`` for blocks of nodes that together are nodes first to last - 1, in any order.

        Blocks may be worked on side by side, on threads.
        """

    def update_margins(self, votes: RecordVotes) -> None:
        """Add what released trees say of each record to its margins."""

    def sums(self, rule: ChannelRule, votes: RecordVotes | None = None, layout: Layout | None = None) -> Integers:
        """Add votes to the margins, then return the sums of a rule's channels by part and code.

        The answer is of shape (parts, codes of all features, channels), for a whole layout (1, 1, channels); without a ``layout``
        all records are one part.
        """
