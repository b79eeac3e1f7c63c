"""Batched queries about records, each charged before it is answered: private learners have no other access to tables."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np

from hedgerow.arrays import Integers, Truth, frozen_copy, lazy, without_sizes
from hedgerow.curator.queries import Nodes, Noisy, Release, check_tests
from hedgerow.curator.released_warnings import ClassEvidence, class_warnings, column_warnings
from hedgerow.curator.rounds import Cut, OwnersRound, Round, Splits, cells_of, check_cuts
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import Coin, Noise, PassesThreshold, PerRecordCoin, Randomness
from hedgerow.privacy.accounting import Cost, Event, OneOf, Pure, cost
from hedgerow.privacy.filter import Atomic, PrivacyFilter
from hedgerow.reading.cells import public_value
from hedgerow.schema import Encoder
from hedgerow.schema.features import Value
from hedgerow.scores import Candidates
from hedgerow.table import (
    CellBins,
    ChannelRule,
    Frontier,
    Histogram,
    Layout,
    MemoryTable,
    OwnersTable,
    Pairs,
    Query,
    RecordRule,
    RecordVotes,
    Sums,
    Table,
    WeightRule,
)


@dataclass(frozen=True, eq=False)
class _State:
    filter: PrivacyFilter
    frontiers: Mapping[int, Frontier] = field(default_factory=dict)

    def with_generation(self, after: PrivacyFilter, frontier: Frontier) -> _State:
        """Return the state in which the newest generation may be queried; those whose nodes are all closed are dropped."""
        known = {**self.frontiers, self.filter.made: frontier}
        for closed in known.keys() - after.generations.keys():
            del known[closed]
        return _State(after, known)

    def frontier(self, nodes: Nodes, table: Table) -> Frontier:
        self.check_open(nodes)
        frontier = self.frontiers[nodes.generation]
        some: Frontier = frontier if nodes.index.size == len(frontier) else table.take(frontier, nodes.index)
        return some

    def check_open(self, nodes: Nodes) -> None:
        if type(nodes) is not Nodes:  # another class could name other nodes after these were charged
            raise ConfigurationError("nodes are named by what a curator returned, and by nothing else.")
        self.filter.check_open(nodes.generation, nodes.index)


class Queryable:
    """Answers queries about the records of nodes by mechanisms, and stops at its budget.

    ``ceiling`` is what all queries together may cost under add/remove adjacency; a fraction is a pure epsilon. A plan with
    Gaussian noise passes its own cost, of which every sum is then a ceiling; the (epsilon, delta) that it claims is checked
    before. ``warnings`` are those of a learner for its user, and ``evidence`` is what all class counts that were released say
    of the classes: both follow from released values.

    Each query reads nodes with disjoint records. So the costs on each path from a root add up, and the most expensive path
    of an assignment counts (docs/proofs/composition.md). A node that was partitioned is closed: its children answer. The
    spent budget changes in one step, before the draw that it pays for. So no interruption at any line, and no query from the
    handler of a signal there, gives an answer twice. An interruption while the records' codes or margins change closes the
    curator permanently.
    """

    def __init__(self, table: Table, ceiling: Cost | Fraction, randomness: Randomness) -> None:
        self._table, self.n_classes = table, table.n_classes
        limit = cost(Pure(ceiling, "any", "any")) if isinstance(ceiling, Fraction) else ceiling
        self._state = Atomic(_State(PrivacyFilter(limit)))
        self._process = os.getpid()
        self._randomness = randomness
        self._changing = False
        self._changes = 0  # of margins and codes
        self._samples: dict[int, Table] = {}
        self._scans = 0  # of readings of records in progress
        self._lock = threading.RLock()
        self.warnings: list[str] = []
        self._roots: set[int] = set()  # generations that were assigned
        self._of_roots: dict[int, tuple[Integers, float]] = {}  # the first counts of a feature's codes, and their noise

    @without_sizes()
    def for_learner(self, event: Event) -> Queryable:
        """Reserve the cost of a learner's whole plan, or raise BudgetExceeded, and return a curator with that budget.

        Its queries read the same records, with margins, codes, nodes and warnings of its own. Nothing is refunded.
        """
        budget = cost(event)
        # A pure budget is a limit on epsilon alone, so one step may take all of it, which costs most.
        step = Pure(budget.epsilon, "any queries", "all of a learner's budget in one step")
        self._charge(OneOf((event, step), "what a learner asks") if budget.pure else event)
        return Queryable(self._table.fresh(), budget, self._randomness)

    @without_sizes()
    def reserve(self, event: Event, nodes: Nodes | None = None) -> None:
        """Charge selections and the measurement after them together, or raise BudgetExceeded.

        ``event`` is a ``SelectAndMeasure`` about all records, or the paths that may start at each of the ``nodes``. Later queries
        that are its steps, in its order, are charged for their draws only. Any other query gives up the remaining steps.
        """
        self._charge(event, nodes, ahead=True)

    def warnings_of(self, encoder: Encoder) -> tuple[str, ...]:
        """Return the warnings of a learner for its user, also those about classes and columns of its roots' histograms."""
        texts = list(self.warnings)
        if encoder.schema.outcome is None and "evidence" in vars(self):  # of no counts there is nothing to say
            texts += class_warnings(encoder.schema.classes, self.evidence)
        for place, (counts, deviation) in self._of_roots.items():
            if len(counts) == encoder.n_codes[place]:  # codes of numbers may have been merged; these have a survey
                texts += column_warnings(encoder, {place: counts}, deviation)
        return tuple(texts)

    @lazy
    def evidence(self) -> ClassEvidence:
        return ClassEvidence(self.n_classes)

    @property
    def spent(self) -> Fraction:
        return self.total.epsilon

    @property
    def total(self) -> Cost:
        return self._state.value.filter.total

    @without_sizes()
    def update_margins(self, votes: RecordVotes) -> None:
        """Add the votes of released trees for each record to its margins, which rules may read; it is free."""
        with self._lock, self._change_of_records():
            self._table.update_margins(votes)

    @without_sizes()
    def assign(self, coin: Coin, rule: RecordRule | None = None, weights: WeightRule | None = None) -> Nodes:
        """Send each record to a root, or to none, by its own coin, and return the roots.

        The roots of one assignment share no record, so they count in parallel. The assignments read the same records, so
        their costs add up. If a record may be in no root, sampling amplifies the privacy of the assignment. A ``rule``, for a
        weighted coin, is the probability that a record takes part, from released values and that record alone. ``weights``
        is likewise the record's weight, up to their unit.
        """
        with self._lock:
            with self._scan_of_records():
                roots = self._table.assign(self._randomness.coins(coin), rule, weights)
            unit = 1 if weights is None else weights.unit
            assigned = self._newest(
                lambda state: state.with_generation(state.filter.assigned(coin.inclusion, unit, coin.parts), roots)
            )
            self._roots.add(assigned.generation)
            return assigned

    @without_sizes()
    def answer(self, query: Query | Release, mechanism: Any) -> Any:
        """Return the answer of a query about nodes, as a mechanism draws it; each node is charged on its path before that."""
        release = Noisy(query) if isinstance(query, Query) else query
        state = self._state.value
        state.check_open(release.of)
        unit = state.filter.generations[release.of.generation].unit  # the largest weight of a record
        charged = self._charge(release.event(mechanism, unit, self._table), release.of)
        frontier = charged.frontier(release.of, self._table)
        # Nodes in memory hold copies of their records; others must not change while they are read.
        with nullcontext() if isinstance(self._table, MemoryTable) else self._scan_of_records():
            statistics = release.statistics(mechanism, self._table, frontier)
            drawn = list(starmap(partial(self._randomness.draw, mechanism), statistics))
        answer = release.answer(drawn, self._table)
        if isinstance(query, Query):
            if query.by_class:
                self.evidence.add(drawn[0] / unit, mechanism.deviation / unit)
            if isinstance(query, Histogram) and query.of.generation in self._roots:
                self._keep_columns(answer, query.asked, mechanism)
        return answer

    def _keep_columns(self, counts: Integers, asked: Truth | None, noise: Noise) -> None:
        """Keep the first counts of each feature among all records; within other nodes a column may well have one value."""
        nodes = len(counts)
        draws = np.full(len(self._table.offsets) - 1, nodes) if asked is None else asked.sum(axis=0)
        by_code = np.split(counts.sum(axis=(0, 2)), self._table.offsets[1:-1])
        for place in np.flatnonzero(draws).tolist():
            deviation = noise.deviation * math.sqrt(draws[place] * self.n_classes)
            self._of_roots.setdefault(place, (by_code[place], deviation))

    def draw_public(self, mechanism: Any, *public: Any) -> Any:
        """Return outcomes of a mechanism that reads public or released values only; it is free."""
        return self._randomness.draw(mechanism, *public)

    @without_sizes()
    def open_round(
        self,
        rule: ChannelRule,
        votes: RecordVotes | None = None,
        cuts: Sequence[Cut] = (),
        splits: Splits | None = None,
        *,
        bins: CellBins | None = None,
        pairs: Pairs | None = None,
        whole: bool = False,
        halvings: int = 0,
        before: Round | None = None,
    ) -> Round:
        """Return a round that answers queries about the sums of a rule's channels, in each cell of released cuts; it is free.

        ``votes`` are first added to the margins, in the same scan of the records. ``splits`` are further candidates, public or
        released. With ``bins`` it answers about groups of the codes of one feature in each cell, and accepts no splits. With
        ``pairs`` it answers ``select_pair`` alone. A ``whole`` round answers about all records together. These two accept no
        splits and no cuts. With ``halvings`` it reads only the records of that ``draw_sample``, and their margins. ``before`` is
        the round of the same rule and records with all cuts except the last, after which no code or margin changed. Then only one
        side of the last cut is added up, and the other side is the difference.
        """
        if (whole and cuts) or ((whole or bins is not None) and splits is not None):
            raise ConfigurationError("a whole round takes no cuts; neither it nor a round with bins takes splits.")
        if pairs is not None and (whole or cuts or splits is not None or bins is not None or before is not None):
            raise ConfigurationError("a round of pairs takes no cuts, splits, bins or round before, and is not whole.")
        if before is not None and (whole or bins is not None or splits is not None or votes is not None):
            raise ConfigurationError("a round with the round before it takes no votes, splits, bins, and is not whole.")
        with self._lock:
            table = self._samples.get(halvings) if halvings else self._table
            if table is None:
                raise ConfigurationError("no such sample was drawn; call draw_sample first.")
            if bins is not None:  # read-only copies: what is checked is what is read
                bins = CellBins(frozen_copy(bins.feature, np.int64), frozen_copy(bins.group, np.int64))
            if pairs is not None:
                copies = (frozen_copy(each, np.int64) for each in (pairs.first, pairs.second, pairs.offsets))
                pairs = Pairs(tuple(pairs.by), *copies)
            check_cuts(cuts, splits, table.offsets, bins, pairs)
            groups, draw = None if splits is None else splits.groups, (self._charge, self._randomness)
            side = cuts[-1].smaller_side if before is not None and cuts else None
            layout = Layout(cells_of(cuts), groups, whole=whole, bins=bins, side=side, pairs=pairs)
            with self._scan_of_records() if votes is None else self._change_of_records():
                offsets = table.offsets  # a signal's handler may have merged codes; from here on it cannot
                check_cuts(cuts, splits, offsets, bins, pairs)
                # Sums of all records together or of groups of codes are no sums by cell and code, so no round follows these
                of = () if whole or bins is not None or pairs is not None else (self, self._changes, halvings, rule)
                if before is not None and (
                    not cuts or before._splits is not None or (before._of, before._cuts) != (of, tuple(cuts[:-1]))
                ):
                    raise ConfigurationError("the round before is of other records, margins or cuts; leave it out.")
                if isinstance(table, OwnersTable):  # nothing is read before its noise is known
                    if votes is not None:
                        table.update_margins(votes)
                    none = np.zeros((1, 1, int(offsets[-1]), rule.channels), dtype=np.int64)
                    return OwnersRound(rule, none, offsets, splits, *draw, _layout=layout, _ask=table.noisy_sums)
                sums = table.answer(Sums(rule, votes, layout))
            if before is not None and side is not None:
                of_side, sums = sums, np.empty((len(sums), 2, *sums.shape[1:]), dtype=np.int64)
                sums[:, side] = of_side
                np.subtract(before._sums[:, 0], of_side, out=sums[:, 1 - side])
            by_cell = sums.reshape(layout.cells.n_cells, -1, *sums.shape[-2:])
            if pairs is None:
                offsets = layout.offsets(offsets)
            return Round(rule, by_cell, offsets, splits, *draw, of, tuple(cuts), pairs)

    @without_sizes()
    def draw_sample(self, halvings: int) -> None:
        """Sample the records that rounds with these ``halvings`` read, each with probability 2**-halvings; it is free.

        They have the present codes, and margins of their own, which begin with the present ones. No amplification is claimed.
        """
        with self._lock, self._scan_of_records():
            self._changes += 1
            self._samples[halvings] = self._table.thinned(self._randomness.coins(PerRecordCoin(1 << halvings)))

    @without_sizes()
    def merge(self, into: Sequence[Integers]) -> None:
        """Replace the records' codes by coarser ones, ``into[feature][code]``, by public or released values; it is free."""
        with self._lock:
            if self._state.value.filter.made:
                raise ConfigurationError("codes are merged before records are assigned to nodes, not afterwards.")
            if list(map(len, into)) != np.diff(self._table.offsets).tolist():
                raise ConfigurationError("every code of every feature needs a code to become; name one for each.")
            with self._change_of_records():
                self._table.merge(into)
                self._samples = {}  # they have the earlier codes

    @contextmanager
    def _change_of_records(self) -> Iterator[None]:
        """Change the records' codes or margins. After an interruption, which of them changed would depend on their places."""
        self._check_answers()
        if self._scans:  # in a signal's handler: some records would be seen before the change, and some after it
            raise BudgetExceeded("the records are being read, so nothing about them may change; ask again later.")
        self._changing = True
        self._changes += 1
        yield
        self._changing = False

    @contextmanager
    def _scan_of_records(self) -> Iterator[None]:
        """Read the records' codes and margins, which must not change meanwhile."""
        self._check_answers()
        with self._lock:
            self._scans += 1
        try:
            yield
        finally:
            with self._lock:
                self._scans -= 1

    @without_sizes()
    def partition(self, nodes: Nodes, candidates: Candidates, chosen: Integers) -> Nodes:
        """Return the children of all nodes, each node's in the order of its test's branches, also the empty ones.

        This is free, because the tests are public or released. The nodes themselves are closed.
        """
        check_tests(candidates, self._table)
        chosen = np.array(chosen)  # a copy: what was checked is what moves records and paths
        fits = chosen.dtype.kind in "iu" and chosen.shape == nodes.index.shape
        if not fits or np.any((chosen < 0) | (chosen >= len(candidates))):
            raise ConfigurationError(
                f"chosen must be a test from 0 to {len(candidates) - 1} for each of the {nodes.index.size} nodes."
            )
        chosen = chosen.astype(np.int64)

        def partitioned(state: _State) -> _State:
            children = self._table.partition(state.frontier(nodes, self._table), candidates, chosen)
            after = state.filter.partitioned(nodes.generation, nodes.index, candidates.arity[chosen])
            return state.with_generation(after, children)

        with self._lock:
            self._check_answers()
            return self._newest(partitioned)

    def _newest(self, change: Callable[[_State], _State]) -> Nodes:
        state = self._state.update(change)
        generation = state.filter.made - 1
        return Nodes(generation, np.arange(len(state.frontiers[generation])))

    def _charge(self, event: Event, nodes: Nodes | None = None, *, ahead: bool = False) -> _State:
        """Charge every node on its path, or all records, or raise BudgetExceeded; return the state after it.

        What is charged ``ahead`` are steps that later queries take.
        """
        amount = cost(event)
        if amount.epsilon <= 0 and amount.mu_squared <= 0 and amount.rho <= 0:
            raise ConfigurationError("a query that costs nothing protects nobody; pass a positive budget.")

        def charged(state: _State) -> _State:
            of: tuple[Any, ...] = ()
            if nodes is not None:
                state.check_open(nodes)
                of = nodes.generation, nodes.index
            before = state.filter
            after = before.reserving(event, *of) if ahead else before.charged(amount, *of, step=event)
            return replace(state, filter=after)

        with self._lock:
            self._check_answers()
            return self._state.update(charged)

    def __copy__(self) -> Queryable:
        return self  # a copy would be a second budget

    def _check_answers(self) -> None:
        if os.getpid() != self._process:
            raise BudgetExceeded("a curator answers in the process that made it: a copy would spend its budget again.")
        if self._changing:
            raise BudgetExceeded("a change of this curator's records was interrupted, so it is closed; make a new one.")


class Values:
    """Holds the counts of the values of some columns, and releases which values occur; each query is charged before its answer.

    ``counts`` are those of each column by the key that compares values, ``ceiling`` the cost of all queries (add/remove).
    """

    def __init__(self, counts: Sequence[Mapping[float | str, int]], ceiling: Cost, randomness: Randomness) -> None:
        self._counts = tuple(counts)
        self._filter = Atomic(PrivacyFilter(ceiling))
        self._randomness = randomness
        self._process = os.getpid()

    def shown(self, column: int, mechanism: PassesThreshold) -> list[Value]:
        """Return the values of a column that pass the threshold, sorted, numbers before text, never in order of appearance."""
        if os.getpid() != self._process:
            raise BudgetExceeded("values are shown in the process that began it: a copy would spend its budget again.")
        amount = cost(mechanism.event("values"))
        self._filter.update(lambda before: before.charged(amount))
        counts = dict(sorted(self._counts[column].items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))
        passes = self._randomness.draw(mechanism, np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))
        return [public_value(key) for key, shown in zip(counts, passes.tolist(), strict=True) if shown]
