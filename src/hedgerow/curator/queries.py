"""Queries about nodes as values that state their cost and what a mechanism draws from; a curator charges, then draws."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, frozen_copy
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import AtMost, Noise, Selection
from hedgerow.privacy.accounting import Event
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.scores import CLASS_COUNTS, BranchScore, Candidates, Score, Specializations, most_concerned
from hedgerow.table import CellCounts, ClassCounts, Frontier, Histogram, Query, Table

CHUNK = 1 << 22  # scores that are held at once; a public number, so that the draws do not depend on the records


@dataclass(frozen=True, eq=False)
class Nodes:
    """Names of nodes: disjoint sets of records inside one curator. They hold no records and no counts.

    ``generation`` is their assignment of the records, ``index`` (nodes,) their numbers. Another curator would read them as nodes
    of its own.
    """

    generation: int
    index: npt.NDArray[np.intp]

    def __post_init__(self) -> None:
        index = np.asarray(self.index)
        if index.ndim != 1 or index.dtype.kind != "i":
            raise ConfigurationError("nodes are named by signed integers in one dimension.")
        # A read-only copy: what was checked is what is queried and charged.
        object.__setattr__(self, "index", frozen_copy(index, np.intp))

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Nodes:
        return Nodes(self.generation, self.index[chosen])


def check_noise(noise: Noise, cells: int, unit: int) -> None:
    if not noise.covers(cells * unit, cells * unit**2):
        raise ConfigurationError(
            f"a record of weight {unit} is in {cells} counts of this query; build the noise for that."
        )


def check_tests(candidates: Candidates, table: Table) -> None:
    if type(candidates) is not Candidates or not np.array_equal(candidates.offsets, table.offsets):
        raise ConfigurationError("these tests read other features or codes than the records have; build them anew.")


def check_one(nodes: Nodes, what: str) -> None:
    if len(nodes) != 1:
        raise ConfigurationError(f"{what} in one node, not in {len(nodes)}.")


@dataclass(frozen=True, eq=False)
class Release(ABC):
    of: Nodes

    @abstractmethod
    def event(self, mechanism: Any, unit: int, table: Table) -> Event:
        """Return what it costs every node, or raise ConfigurationError if it covers less than a record of this weight adds."""

    @abstractmethod
    def statistics(self, mechanism: Any, table: Table, nodes: Frontier) -> Iterator[tuple[Any, ...]]:
        """Yield what the mechanism draws from, one draw after another, by exact counts of the nodes, a frontier of the table."""

    def answer(self, drawn: Sequence[Any], table: Table) -> Any:
        return drawn[0] if len(drawn) == 1 else np.concatenate([np.empty(0, dtype=np.int64), *drawn])


@dataclass(frozen=True, eq=False)
class Noisy(Release):
    """What a table counts, with noise. A record is in one count, or in a histogram in one of each feature that is released."""

    of: Nodes = field(init=False)
    query: Query

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", self.query.of)

    def event(self, noise: Noise, unit: int, table: Table) -> Event:
        query, n_codes, cells = self.query, np.diff(table.offsets), 1
        draws = math.prod(query.shape(n_codes, table.n_classes))
        if isinstance(query, CellCounts):
            check_one(self.of, "cells are counted")
        if isinstance(query, Histogram):
            cells, asked = len(n_codes), query.asked
            if asked is not None:
                if asked.dtype != np.bool_ or asked.shape != (len(self.of), len(n_codes)):
                    raise ConfigurationError("the queried features must be truth values of shape (nodes, features).")
                cells = int(asked.sum(axis=1).max(initial=0))
                draws = int((asked @ n_codes).sum()) * table.n_classes
        check_noise(noise, cells, unit if query.weighted else 1)
        return noise.event(query.purpose, draws=draws)

    def statistics(self, noise: Noise, table: Table, nodes: Frontier) -> Iterator[tuple[Integers]]:
        counts, released = table.answer(replace(self.query, of=nodes)), self._released(table)
        yield (counts if released is None else counts[released],)

    def answer(self, drawn: Sequence[Any], table: Table) -> Integers:
        released = self._released(table)
        if released is None:
            return np.asarray(drawn[0])
        counts = np.zeros((*released.shape, table.n_classes), dtype=np.int64)
        counts[released] = drawn[0]
        return counts

    def _released(self, table: Table) -> Truth | None:
        asked = self.query.asked if isinstance(self.query, Histogram) else None
        return None if asked is None else np.repeat(asked, np.diff(table.offsets), axis=1)


@dataclass(frozen=True, eq=False)
class SelectTests(Release):
    of: Nodes
    candidates: Candidates
    offered: Truth
    score: Score

    def __post_init__(self) -> None:
        object.__setattr__(self, "offered", frozen_copy(self.offered, np.asarray(self.offered).dtype))

    def event(self, mechanism: Selection, unit: int, table: Table) -> Event:
        mechanism.check_range(self.score.name, self.score.range * unit)
        check_tests(self.candidates, table)
        if unit > 1 and not self.score.weighs:
            raise ConfigurationError(f"the {self.score.name} squares counts, so it needs records that count 1 only.")
        if self.offered.dtype != np.bool_ or self.offered.shape != (len(self.of), len(self.candidates)):
            raise ConfigurationError("what is offered must be truth values of shape (nodes, tests).")
        if not self.offered.any(axis=1).all():
            raise ConfigurationError("a node is offered no test, so none can be selected; make it a leaf.")
        return mechanism.event("tests", self.score.name)

    def statistics(self, mechanism: Selection, table: Table, nodes: Frontier) -> Iterator[tuple[Any, ...]]:
        step = max(1, CHUNK // len(self.candidates))
        for start in range(0, len(self.of), step):
            stop = min(start + step, len(self.of))
            scores = np.empty((stop - start, len(self.candidates)), dtype=np.int64)

            def score(first: int, last: int, counts: Integers, scores: Integers = scores, start: int = start) -> None:
                self.score.score(counts, self.candidates, scores[first - start : last - start])

            table.for_histograms(nodes, start, stop, score)
            yield scores, self.offered[start:stop] * self.candidates.weight


class SelectLabels(Release):
    def event(self, mechanism: Selection, unit: int, table: Table) -> Event:
        mechanism.check_range(CLASS_COUNTS, unit)
        return mechanism.event("labels", CLASS_COUNTS)

    def statistics(self, mechanism: Selection, table: Table, nodes: Frontier) -> Iterator[tuple[Any, ...]]:
        counts = table.answer(ClassCounts(nodes))
        yield counts, np.ones(counts.shape, dtype=np.bool_)


class CompareMinorities(Release):
    """Whether each node's number of records outside its largest class is at most a threshold (docs/proofs/gini.md)."""

    def event(self, mechanism: AtMost, unit: int, table: Table) -> Event:
        check_noise(mechanism.noise, 1, unit)
        return mechanism.noise.event("minority counts")

    def statistics(self, mechanism: AtMost, table: Table, nodes: Frontier) -> Iterator[tuple[Any, ...]]:
        counts = table.answer(ClassCounts(nodes))
        yield (counts.sum(axis=1) - counts.max(axis=1),)

    def answer(self, drawn: Sequence[Any], table: Table) -> Truth:
        return np.asarray(drawn[0], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class SelectSpecializations(Release):
    """One specialization for each of the choices, all of them in one node; each costs the records that it reads.

    Choices among the cuts of disjoint intervals of one feature share no record, so they count once.
    """

    choices: Sequence[Specializations]
    score: BranchScore

    def event(self, mechanism: Selection, unit: int, table: Table) -> Event:
        if unit > 1:
            raise ConfigurationError("specializations need records that count 1 only.")
        mechanism.check_range(self.score.name, self.score.range)
        check_one(self.of, "specializations are queried")
        concerned = most_concerned(self.choices, table.offsets)
        return InSequence((mechanism.event("specializations", self.score.name),) * concerned)

    def statistics(self, mechanism: Selection, table: Table, nodes: Frontier) -> Iterator[tuple[Any, ...]]:
        kept = vars(nodes)  # specializations of a node read its histogram again and again
        if "histogram" not in kept:
            kept["histogram"] = table.answer(Histogram(nodes))[0]
        histogram = kept["histogram"]
        for choice in self.choices:
            scores = choice.scores(histogram, self.score)[None]
            yield scores, choice.weight[None]


MODEL_SCORE = "a score of records"


@dataclass(frozen=True, eq=False)
class ModelScores(Release):
    """The best of released models, by scores that are sums over the records of one node.

    The table has a code for each model, from 0 to ``most``: what the record adds to the model's score, by the record and the
    model alone. So ``most`` is the range of a selection. Where it is 1, a code says whether the model is right.
    """

    most: int = 1

    def event(self, mechanism: Selection, unit: int, table: Table) -> Event:
        check_one(self.of, "models are scored")
        mechanism.check_range(MODEL_SCORE, self.most * unit)
        return mechanism.event("the best candidate", MODEL_SCORE)

    def statistics(self, mechanism: Selection, table: Table, nodes: Frontier) -> Iterator[tuple[Any, ...]]:
        by_code = table.answer(Histogram(nodes))[0, :, 0].reshape(-1, self.most + 1)
        scores = (by_code @ np.arange(self.most + 1))[None]
        yield scores, np.ones(scores.shape, dtype=np.bool_)
