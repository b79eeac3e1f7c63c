"""The only door to the records: batched questions, each charged before it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import AtMost, Geometric, PerRecordCoin, Randomness, Selection
from hedgerow.scores import Candidates, ClassCount, Gini, Minority
from hedgerow.table import Frontier, Table

__all__ = ["Curator", "Nodes"]

Integers = npt.NDArray[np.int64]

CHUNK = 1 << 22  # scores that are held at once; a public number, so that the draws do not depend on the records


@dataclass(frozen=True, eq=False)
class Nodes:
    """Names of nodes: disjoint sets of records inside one curator. They hold no records and no counts."""

    generation: int
    index: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Nodes:
        return Nodes(self.generation, self.index[chosen])


class Curator:
    """Answers questions about the records of nodes by mechanisms, and stops at its budget.

    Parameters
    ----------
    table : Table
        The records.
    epsilon : Fraction
        The budget under add/remove adjacency.
    randomness : Randomness
        Where every draw comes from.

    Notes
    -----
    Each question is asked of nodes that hold disjoint records, so on each path from a root what was asked adds up, and
    the costliest path counts (SYSTEMS.md lemmas 2 and 3). A node that was partitioned answers no more: its children do.
    """

    def __init__(self, table: Table, epsilon: Fraction, randomness: Randomness) -> None:
        self._table = table
        self._budget = epsilon
        self._randomness = randomness
        self._frontiers: dict[int, Frontier] = {}
        self._open: dict[int, npt.NDArray[np.bool_]] = {}
        self._account: dict[int, npt.NDArray[np.intp]] = {}
        self._accounts: list[Fraction] = [Fraction(0)]
        self._generations = 0

    @property
    def n_classes(self) -> int:
        """How many classes the schema has."""
        return self._table.n_classes

    @property
    def spent(self) -> Fraction:
        """What the costliest path has been charged so far."""
        return max(self._accounts)

    def assign(self, coin: PerRecordCoin) -> Nodes:
        """Send each record to a root by its own coin, once, and return the roots: they count in parallel.

        Raises
        ------
        ConfigurationError
            If the records were assigned before: roots of two assignments share records.
        """
        if self._generations:
            raise ConfigurationError("the records are assigned already; open another curator to assign them again.")
        part = self._randomness.draw(coin, len(self._table))
        return self._register(self._table.roots(part, coin.parts), np.zeros(coin.parts, dtype=np.intp))

    def count(self, nodes: Nodes, budget: Fraction) -> Integers:
        """Return the number of records in each node, with two-sided geometric noise."""
        noise = Geometric(budget)
        frontier = self._charge(nodes, noise.cost)
        noisy: Integers = self._randomness.draw(noise, np.diff(frontier.starts))
        return noisy

    def class_counts(self, nodes: Nodes, budget: Fraction) -> Integers:
        """Return the number of records of each class in each node, (nodes, classes), with two-sided geometric noise."""
        noise = Geometric(budget)
        frontier = self._charge(nodes, noise.cost)
        noisy: Integers = self._randomness.draw(noise, self._table.class_counts(frontier))
        return noisy

    def histogram(self, nodes: Nodes, features: npt.NDArray[np.intp], budget: Fraction) -> list[Integers]:
        """Return for each feature the records of each node by code and class, (nodes, codes, classes), with noise.

        A record is in one cell of each feature's histogram, so the sensitivity is the number of features.
        """
        noise = Geometric(budget, sensitivity=len(features))
        frontier = self._charge(nodes, noise.cost)
        offsets = self._table.offsets
        exact = self._table.histogram(frontier)
        cells = [exact[:, offsets[feature] : offsets[feature + 1]] for feature in features]
        noisy = self._randomness.draw(noise, np.concatenate([np.empty(0, np.int64), *(cell.ravel() for cell in cells)]))
        parts = np.split(noisy, np.cumsum([cell.size for cell in cells])[:-1])
        return [part.reshape(cell.shape) for part, cell in zip(parts, cells, strict=True)]

    def select(
        self, nodes: Nodes, candidates: Candidates, offered: npt.NDArray[np.bool_], score: Gini, mechanism: Selection
    ) -> Integers:
        """Return one test for each node, chosen by the mechanism among those ``offered`` (nodes, tests) to it."""
        _check_range(mechanism, score.name, score.range)
        if not offered.any(axis=1).all():
            raise ConfigurationError("a node is offered no test, so none can be selected; make it a leaf.")
        frontier = self._charge(nodes, mechanism.cost)
        chosen = np.empty(len(nodes), dtype=np.int64)
        step = max(1, CHUNK // len(candidates))
        for start in range(0, len(nodes), step):
            chunk = slice(start, min(start + step, len(nodes)))
            scores = self._scores(frontier, chunk, candidates, score)
            chosen[chunk] = self._randomness.draw(mechanism, scores, offered[chunk])
        return chosen

    def _scores(self, frontier: Frontier, chunk: slice, candidates: Candidates, score: Gini) -> Integers:
        part = frontier.part(chunk.start, chunk.stop)
        scores = np.empty((len(part), len(candidates)), dtype=np.int64)
        offsets = self._table.offsets
        self._table.for_histograms(
            part, lambda first, last, counts: score.score(counts, offsets, candidates, scores[first:last])
        )
        return scores

    def select_label(self, nodes: Nodes, mechanism: Selection) -> Integers:
        """Return one class for each node, chosen by the mechanism with the class counts as scores."""
        _check_range(mechanism, ClassCount.name, ClassCount.range)
        frontier = self._charge(nodes, mechanism.cost)
        counts = self._table.class_counts(frontier)
        labels: Integers = self._randomness.draw(mechanism, counts, np.ones(counts.shape, dtype=np.bool_))
        return labels

    def minority_at_most(self, nodes: Nodes, mechanism: AtMost) -> npt.NDArray[np.bool_]:
        """Say for each node whether its noisy number of records outside its largest class is at most the threshold."""
        frontier = self._charge(nodes, mechanism.noise.cost)
        minority = Minority().of(self._table.class_counts(frontier))
        return np.asarray(self._randomness.draw(mechanism, minority), dtype=np.bool_)

    def partition(self, nodes: Nodes, candidates: Candidates, chosen: Integers) -> Nodes:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones.

        Free: the tests are public or released. The nodes themselves answer no more.
        """
        frontier = self._frontier(nodes)
        accounts = np.repeat(self._account[nodes.generation][nodes.index], candidates.arity[chosen])
        children = self._register(self._table.partition(frontier, candidates, chosen), accounts)
        self._close(nodes)
        return children

    def _register(self, frontier: Frontier, accounts: npt.NDArray[np.intp]) -> Nodes:
        generation = self._generations
        self._generations += 1
        self._frontiers[generation] = frontier
        self._open[generation] = np.ones(len(frontier), dtype=np.bool_)
        self._account[generation] = accounts
        return Nodes(generation, np.arange(len(frontier)))

    def _close(self, nodes: Nodes) -> None:
        self._open[nodes.generation][nodes.index] = False
        if not self._open[nodes.generation].any():  # nothing can be asked of it: let its rows go
            del self._frontiers[nodes.generation]

    def _frontier(self, nodes: Nodes) -> Frontier:
        """Return the records of nodes that may still be asked, each once."""
        if not self._open[nodes.generation][nodes.index].all():
            raise ConfigurationError("a node that was partitioned answers no more; ask its children.")
        if not np.all(nodes.index[1:] > nodes.index[:-1]):
            raise ConfigurationError("a question names a node twice, or nodes out of order; name each once, in order.")
        frontier = self._frontiers[nodes.generation]
        return frontier if len(nodes) == len(frontier) else frontier.take(nodes.index)

    def _charge(self, nodes: Nodes, amount: Fraction) -> Frontier:
        """Charge every node on its path, or raise BudgetExceeded, and return the records to ask."""
        frontier = self._frontier(nodes)
        account = self._account[nodes.generation]
        of_nodes = account[nodes.index]
        old = np.flatnonzero(np.bincount(of_nodes))  # few: what a path was charged depends on its level alone
        new = [self._accounts[i] + amount for i in old]
        if any(total > self._budget for total in new):
            raise BudgetExceeded(
                "this question would take a path of the tree above the curator's budget; it was not answered and nothing was "
                "drawn."
            )
        account[nodes.index] = len(self._accounts) + np.searchsorted(old, of_nodes)
        self._accounts += new
        return frontier


def _check_range(mechanism: Selection, name: str, score_range: int) -> None:
    if mechanism.score_range < score_range:
        raise ConfigurationError(
            f"the mechanism is calibrated for scores that one record moves by at most {mechanism.score_range}, but the {name} "
            f"moves by up to {score_range}; build the mechanism with the score's range."
        )
