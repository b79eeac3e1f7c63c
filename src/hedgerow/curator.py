"""The only door to the records: batched questions, each charged before it is answered."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import (
    AtMost,
    Mechanism,
    Noise,
    PerRecordCoin,
    PoissonCoin,
    Randomness,
    Selection,
    WeightedCoin,
)
from hedgerow.privacy.accounting import Cost
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.filter import PrivacyFilter
from hedgerow.scores import BranchScore, Candidates, ClassCount, Minority, Score, Specializations, most_concerned
from hedgerow.table import CellRule, ChannelRule, Frontier, RecordRule, RecordVotes, Table, WeightRule

__all__ = ["Curator", "Nodes"]

Integers = npt.NDArray[np.int64]

CHUNK = 1 << 22  # scores that are held at once; a public number, so that the draws do not depend on the records


@dataclass(frozen=True, eq=False)
class Nodes:
    """Names of nodes: disjoint sets of records inside one curator. They hold no records and no counts."""

    generation: int
    index: npt.NDArray[np.intp]

    def __post_init__(self) -> None:
        index = np.asarray(self.index)
        if index.ndim != 1 or index.dtype.kind != "i":
            raise ConfigurationError("nodes are named by signed integers in one dimension.")
        # A copy that nobody can write to, so that what was checked is what is asked and charged.
        object.__setattr__(self, "index", np.frombuffer(index.astype(np.intp).tobytes(), dtype=np.intp))

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Nodes:
        return Nodes(self.generation, self.index[chosen])


@dataclass(frozen=True, eq=False)
class _State:
    """What was spent, and the records of the nodes that may still be asked, by generation."""

    filter: PrivacyFilter
    frontiers: Mapping[int, Frontier] = field(default_factory=dict)

    def charged(self, nodes: Nodes, amount: Cost, draws: int) -> _State:
        """Return the state after a question to nodes, or raise ConfigurationError or BudgetExceeded."""
        self.filter.check_open(nodes.generation, nodes.index)
        return replace(self, filter=self.filter.charged(nodes.generation, nodes.index, amount, draws))

    def charged_all(self, amount: Cost, draws: int) -> _State:
        """Return the state after a question to all records, or raise BudgetExceeded."""
        return replace(self, filter=self.filter.charged_all(amount, draws))

    def with_generation(self, after: PrivacyFilter, frontier: Frontier) -> _State:
        """Return the state in which the newest generation of a filter may be asked, and nodes without paths no more."""
        known = {**self.frontiers, self.filter.made: frontier}
        return _State(after, {number: known[number] for number in after.generations})

    def frontier(self, nodes: Nodes) -> Frontier:
        """Return the records of nodes that may still be asked, each once."""
        self.filter.check_open(nodes.generation, nodes.index)
        frontier = self.frontiers[nodes.generation]
        return frontier if len(nodes) == len(frontier) else frontier.take(nodes.index)


class Curator:
    """Answers questions about the records of nodes by mechanisms, and stops at its budget.

    Parameters
    ----------
    table : Table
        The records.
    ceiling : Cost or Fraction
        What all questions together may cost under add/remove adjacency; a fraction is a pure epsilon. A plan with Gaussian
        noise passes its own cost, of which every sum is then a ceiling; the (epsilon, delta) that it claims is checked before.
    randomness : Randomness
        Where every draw comes from.

    Notes
    -----
    Each question is asked of nodes that hold disjoint records, so on each path from a root what was asked adds up, and
    the costliest path of an assignment counts (docs/proofs/composition.md). A node that was partitioned answers no more:
    its children do. Every change of what has been spent is one step, and stands before the draw that it pays for, so an
    interruption at any line, or a question that the handler of a signal asks there, gives no answer twice. One that falls
    while the records' codes or margins change closes the curator for good.
    """

    def __init__(self, table: Table, ceiling: Cost | Fraction, randomness: Randomness) -> None:
        self._table = table
        self._state = Atomic(_State(PrivacyFilter(Cost(ceiling) if isinstance(ceiling, Fraction) else ceiling)))
        self._process = os.getpid()
        self._randomness = randomness
        self._changing = False
        self._round: ChannelRule | None = None
        self._counted: tuple[Frontier, Integers] | None = None  # the last histogram that specializations were scored on
        self._lock = threading.RLock()

    @property
    def n_classes(self) -> int:
        """How many classes the schema has."""
        return self._table.n_classes

    @property
    def spent(self) -> Fraction:
        """The pure epsilon that has been charged so far under add/remove adjacency."""
        return self.total.epsilon

    @property
    def total(self) -> Cost:
        """What has been charged so far: the costliest path of each assignment, added up over the assignments."""
        return self._state.value.filter.total

    def learn(self, votes: RecordVotes) -> None:
        """Add what released trees say of each record to its margins, of which rules may speak; it is free."""
        with self._lock, self._change_of_records():
            self._table.learn(votes)

    def assign(
        self,
        coin: PerRecordCoin | PoissonCoin | WeightedCoin,
        rule: RecordRule | None = None,
        weights: WeightRule | None = None,
    ) -> Nodes:
        """Send each record to a root, or to none, by its own coin, and return the roots.

        The roots of one assignment share no record, so they count in parallel; the assignments read the same records, so
        what they cost adds up. Where a record may be in no root, what its assignment costs is amplified. A ``rule``, for a
        weighted coin, says from released values how probably a record takes part, looking at that record alone; ``weights``
        likewise say how much it counts, up to their unit.
        """
        with self._lock:
            self._check_answers()
            about = len(self._table) if rule is None else self._table.apply(rule)
            part = self._randomness.draw(coin, about)
            roots = self._table.roots(part, coin.parts, weights)
            unit = 1 if weights is None else weights.unit
            return self._newest(
                lambda state: state.with_generation(state.filter.assigned(coin.inclusion, unit, coin.parts), roots)
            )

    def count(self, nodes: Nodes, noise: Noise) -> Integers:
        """Return the number of records in each node, whatever they weigh, with noise."""
        _check_noise(noise, 1, 1)
        frontier = self._charge(nodes, noise.price, noise.draws(len(nodes)))
        return self._add(noise, np.diff(frontier.starts))

    def class_counts(self, nodes: Nodes, noise: Noise) -> Integers:
        """Return the number, or the weight, of the records of each class in each node, (nodes, classes), with noise."""
        _check_noise(noise, 1, self._unit(nodes))
        frontier = self._charge(nodes, noise.price, noise.draws(len(nodes) * self.n_classes))
        return self._add(noise, self._table.class_counts(frontier))

    def _add(self, noise: Noise, counts: Integers) -> Integers:
        noisy: Integers = self._randomness.draw(noise, counts)
        return noisy

    def histogram(self, nodes: Nodes, asked: npt.NDArray[np.bool_], noise: Noise) -> Integers:
        """Return the records of each node by code and class, (nodes, codes of all features, classes), with noise.

        ``asked`` (nodes, features) says which features' histograms are released; the others are zero. A record is in one
        cell of each, so the noise is for a sensitivity of as many features as any node is asked about.
        """
        if asked.dtype != np.bool_ or asked.shape != (len(nodes), len(self._table.offsets) - 1):
            raise ConfigurationError(
                "what is asked must be truth values, a row for each node and a column for each feature."
            )
        _check_noise(noise, int(asked.sum(axis=1).max(initial=0)), self._unit(nodes))
        released = np.repeat(asked, np.diff(self._table.offsets), axis=1)
        draws = noise.draws(int(np.count_nonzero(released)) * self.n_classes)
        frontier = self._charge(nodes, noise.price, draws)
        counts = self._table.histogram(frontier)
        counts[~released] = 0
        counts[released] = self._add(noise, counts[released])
        return counts

    def flip(self, mechanism: Mechanism, *public: Any) -> Any:
        """Return outcomes of a mechanism that reads public or released values only; it is free."""
        return self._randomness.draw(mechanism, *public)

    def select(
        self, nodes: Nodes, candidates: Candidates, offered: npt.NDArray[np.bool_], score: Score, mechanism: Selection
    ) -> Integers:
        """Return one test for each node, chosen by the mechanism among those ``offered`` (nodes, tests) to it."""
        _check_range(mechanism, score.name, score.range * self._unit(nodes))
        self._check_tests(candidates)
        if self._unit(nodes) > 1 and not score.weighs:
            raise ConfigurationError(f"the {score.name} squares counts, so it is asked of records that count 1 only.")
        if offered.dtype != np.bool_ or offered.shape != (len(nodes), len(candidates)):
            raise ConfigurationError(
                "what is offered must be truth values, a row for each node and a column for each test."
            )
        if not offered.any(axis=1).all():
            raise ConfigurationError("a node is offered no test, so none can be selected; make it a leaf.")
        frontier = self._charge(nodes, mechanism.price)
        chosen = np.empty(len(nodes), dtype=np.int64)
        step = max(1, CHUNK // len(candidates))
        for start in range(0, len(nodes), step):
            chunk = slice(start, min(start + step, len(nodes)))
            scores = self._scores(frontier, chunk, candidates, score)
            chosen[chunk] = self._randomness.draw(mechanism, scores, mechanism.mass(offered[chunk], candidates.weight))
        return chosen

    def _scores(self, frontier: Frontier, chunk: slice, candidates: Candidates, score: Score) -> Integers:
        part = frontier.part(chunk.start, chunk.stop)
        scores = np.empty((len(part), len(candidates)), dtype=np.int64)
        self._table.for_histograms(
            part, lambda first, last, counts: score.score(counts, candidates, scores[first:last])
        )
        return scores

    def select_label(self, nodes: Nodes, mechanism: Selection) -> Integers:
        """Return one class for each node, chosen by the mechanism with the class counts as scores."""
        _check_range(mechanism, ClassCount.name, ClassCount.range * self._unit(nodes))
        frontier = self._charge(nodes, mechanism.price)
        counts = self._table.class_counts(frontier)
        labels: Integers = self._randomness.draw(mechanism, counts, np.ones(counts.shape, dtype=np.bool_))
        return labels

    def specialize(
        self, node: Nodes, choices: Sequence[Specializations], score: BranchScore, mechanism: Selection
    ) -> list[int]:
        """Return one specialization for each of the choices, all of them asked of one node.

        Each choice costs what the mechanism costs to the records that it concerns: choices among the cuts of disjoint
        intervals of one feature share no record, so they count once.
        """
        if self._unit(node) > 1:
            raise ConfigurationError("specializations are asked of records that count 1 only.")
        _check_range(mechanism, score.name, score.range)
        if len(node) != 1:
            raise ConfigurationError(f"specializations are asked of one node, not of {len(node)}.")
        together = (mechanism.price,) * most_concerned(choices, self._table.offsets)
        frontier = self._charge(node, sum(together, Cost()))
        counted = self._counted  # read once: another thread may ask of another node
        if counted is None or counted[0] is not frontier:
            counted = self._counted = (frontier, self._table.histogram(frontier)[0])
        histogram = counted[1]
        chosen = []
        for choice in choices:
            scores = choice.scores(histogram, score)[None]
            offered = mechanism.mass(np.ones(scores.shape, dtype=np.bool_), choice.weight)
            chosen.append(int(self._randomness.draw(mechanism, scores, offered)[0]))
        return chosen

    def cell_counts(self, node: Nodes, rule: CellRule, noise: Noise) -> Integers:
        """Return how many records of each class one node has in each cell of a rule, (cells, classes), with noise.

        A record is in one cell, whatever the others are, and all cells are counted, also the empty ones.
        """
        if len(node) != 1:
            raise ConfigurationError(f"cells are counted in one node, not in {len(node)}.")
        _check_noise(noise, 1, self._unit(node))
        frontier = self._charge(node, noise.price, noise.draws(rule.n_cells * self.n_classes))
        return self._add(noise, self._table.cell_counts(frontier, rule))

    def open_round(self, rule: ChannelRule) -> None:
        """Say what the questions until the next round sum: what the rule says of every record; it is free."""
        with self._lock:
            self._check_answers()
            self._round = rule

    def select_feature(self, mechanism: Selection, handicap: Integers) -> int:
        """Return a feature, chosen by its absolute sums of the round's scored channels less a public handicap.

        One record moves each score by at most ``scored_l1`` in either direction, so the range is twice that.
        """
        rule = self._opened()
        _check_range(mechanism, "absolute gradients", 2 * rule.scored_l1)
        self._charge_all(mechanism.price)
        scores = (self._table.feature_scores(rule) - handicap)[None]
        return int(self._randomness.draw(mechanism, scores, np.ones(scores.shape, dtype=np.bool_))[0])

    def sums(self, feature: int, noise: Noise) -> Integers:
        """Return the sums of the round's channels by the codes of one feature, (codes, channels), with noise."""
        rule = self._opened()
        _check_sums(noise, rule)
        codes = int(np.diff(self._table.offsets)[feature])
        self._charge_all(noise.price, noise.draws(codes * rule.channels))
        return self._add(noise, self._table.feature_sums(rule, feature))

    def whole_sums(self, noise: Noise) -> Integers:
        """Return the sums of the round's channels over all records, (channels,), with noise."""
        rule = self._opened()
        _check_sums(noise, rule)
        self._charge_all(noise.price, noise.draws(rule.channels))
        return self._add(noise, self._table.whole_sums(rule))

    def merge(self, into: Sequence[Integers]) -> None:
        """Replace the records' codes by coarser ones, ``into[feature][code]``, by public or released values; it is free."""
        with self._lock:
            if self._state.value.filter.made:
                raise ConfigurationError(
                    "codes are merged before records are assigned to nodes; nodes hold codes of their own."
                )
            if [len(codes) for codes in into] != np.diff(self._table.offsets).tolist():
                raise ConfigurationError("every code of every feature needs a code to become; name one for each.")
            with self._change_of_records():
                self._table.merge(into)

    @contextmanager
    def _change_of_records(self) -> Iterator[None]:
        """Change the records' codes or margins; broken off, which of them changed would depend on where they stand."""
        self._check_answers()
        self._changing = True
        yield
        self._changing = False

    def _opened(self) -> ChannelRule:
        if self._round is None:
            raise ConfigurationError("no round is open, so there is nothing to sum; open one.")
        return self._round

    def _charge_all(self, amount: Cost, draws: int = 0) -> None:
        """Charge a question that is asked of all records, or raise BudgetExceeded."""
        _check_cost(amount)
        with self._lock:
            self._check_answers()
            self._state.update(lambda state: state.charged_all(amount, draws))

    def minority_at_most(self, nodes: Nodes, mechanism: AtMost) -> npt.NDArray[np.bool_]:
        """Say for each node whether its noisy number of records outside its largest class is at most the threshold."""
        _check_noise(mechanism.noise, Minority.sensitivity, self._unit(nodes))
        frontier = self._charge(nodes, mechanism.noise.price)
        minority = Minority().of(self._table.class_counts(frontier))
        return np.asarray(self._randomness.draw(mechanism, minority), dtype=np.bool_)

    def partition(self, nodes: Nodes, candidates: Candidates, chosen: Integers) -> Nodes:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones.

        Free: the tests are public or released. The nodes themselves answer no more.
        """
        self._check_tests(candidates)
        if len(chosen) != len(nodes) or np.any((chosen < 0) | (chosen >= len(candidates))):
            raise ConfigurationError("a partition needs one of the candidates for each node.")

        def partitioned(state: _State) -> _State:
            children = self._table.partition(state.frontier(nodes), candidates, chosen)
            after = state.filter.partitioned(nodes.generation, nodes.index, candidates.arity[chosen])
            return state.with_generation(after, children)

        with self._lock:
            self._check_answers()
            return self._newest(partitioned)

    def _check_tests(self, candidates: Candidates) -> None:
        """Refuse tests on other codes than the table's: a record would be in several of their branches, or in none."""
        if not np.array_equal(candidates.offsets, self._table.offsets):
            raise ConfigurationError("these tests read other features or codes than the records have; build them anew.")

    def _newest(self, change: Callable[[_State], _State]) -> Nodes:
        """Return the nodes of the generation that a change makes."""
        state = self._state.update(change)
        generation = state.filter.made - 1
        return Nodes(generation, np.arange(len(state.frontiers[generation])))

    def _unit(self, nodes: Nodes) -> int:
        """Return the largest weight of a record in nodes, which are all of one assignment."""
        known = self._state.value.filter
        known.check_open(nodes.generation, nodes.index)
        return known.unit(nodes.generation)

    def _charge(self, nodes: Nodes, amount: Cost, draws: int = 0) -> Frontier:
        """Charge every node on its path, or raise BudgetExceeded, and return the records to ask."""
        _check_cost(amount)
        with self._lock:
            self._check_answers()
            return self._state.update(lambda state: state.charged(nodes, amount, draws)).frontier(nodes)

    def __copy__(self) -> Curator:
        return self  # a copy would be a second budget

    def _check_answers(self) -> None:
        """Raise BudgetExceeded where nothing may be answered any more."""
        if os.getpid() != self._process:
            raise BudgetExceeded("a curator answers in the process that made it: a copy would spend its budget again.")
        if self._changing:
            raise BudgetExceeded(
                "this curator was interrupted while its records' codes or margins changed, so it answers no more; make a new one."
            )


def _check_cost(amount: Cost) -> None:
    if amount.epsilon <= 0 and amount.mu_squared <= 0:
        raise ConfigurationError(
            "a question costs nothing, but only noise with a cost protects; pass a positive budget."
        )


def _check_noise(noise: Noise, cells: int, unit: int) -> None:
    if not noise.covers(cells * unit, cells * unit**2):
        raise ConfigurationError(
            f"a record of weight up to {unit} is in {cells} of the counts that are asked for; build the noise for that."
        )


def _check_sums(noise: Noise, rule: ChannelRule) -> None:
    if not noise.covers(rule.l1, rule.l2_squared):
        raise ConfigurationError(
            "the noise is calibrated for less than one record adds to the sums; build it for that."
        )


def _check_range(mechanism: Selection, name: str, score_range: int) -> None:
    if mechanism.score_range < score_range:
        raise ConfigurationError(
            f"the mechanism is calibrated for scores that one record moves by at most {mechanism.score_range}, but the {name} "
            f"moves by up to {score_range}; build the mechanism with the score's range."
        )
