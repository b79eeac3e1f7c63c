"""Private forests as plans and models: from encoded records to votes, and the contributions of the tests on a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, lazy
from hedgerow.curator import Queryable
from hedgerow.estimator import Model
from hedgerow.export import Link, Mean, ScoringForm, Trees
from hedgerow.mechanisms import Budget
from hedgerow.privacy.accounting import Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.survey import FINE, Ones, Survey, fine_encoder, merged_encoder, merged_to_arrays
from hedgerow.texts import short_repr
from hedgerow.trees.grower import Grower, Recipe
from hedgerow.trees.model import Forest

PSEUDO_COUNT = 2.0  # in units of the noise of one count
OF_TESTS = "share of the tests, each weighing what its depth leaves to it"
OF_ROUNDS = f"{OF_TESTS}; all rounds count alike, however large their votes"


@dataclass(frozen=True, eq=False)
class ForestModel(Model):
    """A grown forest that reads raw records by its schema."""

    encoder: Encoder
    forest: Forest
    votes: Integers | None  # (nodes, classes): those of each leaf; None: each tree has one vote
    link: Link  # from their sums to probabilities
    surveyed: bool = False  # whether the encoder's cut points were released by a survey

    importance_rule: ClassVar[str] = OF_TESTS

    __repr__ = short_repr

    @lazy
    def form(self) -> ScoringForm:
        votes = self.forest.label_votes(len(self.encoder.schema.classes)) if self.votes is None else self.votes
        return self.forest.trees.scoring(self.encoder, votes, self.link)

    def sums(self, codes: npt.NDArray[np.unsignedinteger]) -> Integers:
        if self.votes is not None:
            return self.forest.trees.sums_of(codes, self.votes, self.votes.shape[1])
        n_classes, trees = len(self.encoder.schema.classes), len(self.forest.roots)
        return self.forest.trees.sums_of(codes, self.forest.label, n_classes) * (trees * n_classes) + trees

    def answer(self, sums: Integers) -> Floats:
        return self.link(sums)

    def importances(self) -> Floats:
        return self.forest.trees.importances()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.forest.to_arrays() | (merged_to_arrays(self.encoder) if self.surveyed else {})


def smoothed_votes(forest: Forest, pseudo_count: float, weights: tuple[float, ...] = (1.0,)) -> tuple[Integers, Mean]:
    """Return as votes (nodes, classes) the class shares of every leaf from its released counts, and the link to probabilities.

    Each leaf gets ``pseudo_count`` records more, divided as the classes are over all leaves together: few records behind
    much noise then have little influence. Counts below zero count as zero. ``weights`` multiply the counts of the classes, with
    what was added to them.
    """
    assert forest.counts is not None, "leaves with counts"
    overall = np.maximum(forest.counts.sum(axis=0, dtype=np.float64), 1)  # a sum of integers could pass their range
    counts = np.maximum(forest.counts, 0) + pseudo_count * overall / overall.sum()
    counts = counts * np.array(weights)
    trees = len(forest.roots)
    unit = 1 << (52 - (trees - 1).bit_length())  # floats add up so many shares of this unit exactly, in any order
    votes = np.rint(counts / counts.sum(axis=1, keepdims=True) * unit).astype(np.int64)
    return votes, Mean(trees * unit)


class ForestPlan:
    """A private forest that is about to be grown, with a budget of ``epsilon`` under add/remove adjacency."""

    def __init__(
        self, recipe: Recipe, schema: Schema, epsilon: Fraction, *, n_estimators: int, max_depth: int, max_bins: int
    ) -> None:
        self.encoder = Encoder(schema, max_bins)
        self.schedule = recipe.schedule(
            epsilon, self.encoder.n_codes, schema.is_numeric, n_estimators=n_estimators, max_depth=max_depth
        )
        self.event, self.schedules = self.schedule.event, [self.schedule]
        self.most_trees = self.schedule.sampling.rounds * self.schedule.sampling.coin.parts

    def model(self, forest: Forest) -> ForestModel:
        soft, weights = self.schedule.recipe.soft, self.schedule.recipe.weights
        weighted = min(weights) < 1
        trees, n_classes = len(forest.roots), len(self.encoder.schema.classes)
        one_vote = Mean(trees * n_classes * (trees + 1))
        if forest.counts is None or not (soft or weighted):
            return ForestModel(self.encoder, forest, None, one_vote)
        votes, link = smoothed_votes(forest, PSEUDO_COUNT / float(self.schedule.sampling.budget.amount), weights)
        if weighted:  # a leaf votes for its label
            forest = replace(forest, label=np.where(forest.test < 0, votes.argmax(axis=1), -1).astype(np.int32))
        return ForestModel(self.encoder, forest, *((votes, link) if soft else (None, one_vote)))

    def fit(self, curator: Queryable) -> ForestModel:
        return self.model(Grower(curator, self.schedule).grow())

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return self.model(Forest.from_arrays(arrays, self.schedule.candidates, len(self.encoder.schema.classes)))


class SurveyedForestPlan:
    """The plan of a private forest with bins that follow the noisy histograms of the records.

    The survey asks about numeric features first, and places at most ``max_bins`` bins. It merges those of ``fine``, at most 255
    per feature; None: those of ``fine_encoder``.
    """

    def __init__(
        self,
        recipe: Recipe,
        schema: Schema,
        epsilon: Fraction,
        *,
        max_bins: int,
        fine: Encoder | None = None,
        **size: int,
    ) -> None:
        self._recipe, self._schema, self._epsilon, self._bins, self._size = recipe, schema, epsilon, max_bins, size
        # Numeric features in fine bins, which the survey merges
        self.encoder = fine_encoder(schema) if fine is None else fine
        self._survey = Survey(Budget(epsilon), self.encoder)
        self._remaining = epsilon * self._survey.left
        most = [np.minimum(np.arange(codes), max_bins - 1) for codes in self.encoder.n_codes.tolist()]
        trees = self._forest(self.encoder.merged(most))  # which does not change categories
        self.event, self.schedules = Sequence((*self._survey.event.parts, trees.event)), trees.schedules

    def _forest(self, encoder: Encoder) -> ForestPlan:
        """Return the plan of the trees on merged bins. Its cost depends on the budget and the schema, not on the bins."""
        return ForestPlan(self._recipe, encoder.schema, self._remaining, max_bins=FINE, **self._size)

    def on(self, encoder: Encoder) -> SurveyedForestPlan:
        """Return the plan that merges the bins of an encoder, if there are at most as many as fine bins may be."""
        if encoder.max_bins != FINE:
            return self
        return SurveyedForestPlan(
            self._recipe, self._schema, self._epsilon, max_bins=self._bins, fine=encoder, **self._size
        )

    def fit(self, curator: Queryable) -> ForestModel:
        histograms = self._survey.histograms(curator.open_round(Ones()))
        curator.warnings += self._survey.column_warnings(histograms)
        merges = self._survey.merged(histograms, self._bins)
        curator.merge(merges)
        return replace(self._forest(self.encoder.merged(merges)).fit(curator), surveyed=True)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return replace(self._forest(merged_encoder(arrays, self.encoder)).restore(arrays), surveyed=True)


@dataclass(frozen=True, eq=False)
class HardRecords:
    """The probability that a record takes part: 1 if the vote of released trees is wrong, otherwise ``easy``.

    It is given as a number of 2**32 equally probable values. With equal votes the first class wins.
    """

    easy: Fraction

    def __call__(self, margins: npt.NDArray[np.int64], labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.uint64]:
        right = margins.argmax(axis=1) == labels
        return np.where(right, np.uint64(int(self.easy * 2**32)), np.uint64(2**32))


@dataclass(frozen=True, eq=False)
class TreeVotes:
    """What the leaves of released trees vote, as for ``Trees.add_votes``: a value of its own, which a worker can be sent."""

    trees: Trees
    votes: npt.NDArray[np.signedinteger]
    columns: int

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: npt.NDArray[np.signedinteger]) -> None:
        self.trees.add_votes(codes, self.votes, margins)


class TwoPhasePlan:
    """The plan of two private forests that are grown one after the other on the same records; all their trees vote.

    Both have the same schema and bins, and their budgets add up. The second samples records by weighted coins: those that the
    first gets right take part in a tree with the probability ``easy``.
    """

    def __init__(self, first: ForestPlan, second: ForestPlan, easy: Fraction) -> None:
        self._first, self._second, self._easy = first, second, easy
        self.encoder, self.most_trees = first.encoder, first.most_trees + second.most_trees
        self.event, self.schedules = Sequence((first.event, second.event)), [*first.schedules, *second.schedules]

    def fit(self, curator: Queryable) -> ForestModel:
        first = Grower(curator, self._first.schedule).grow()
        curator.update_margins(TreeVotes(first.trees, first.label, curator.n_classes))
        second = Grower(curator, self._second.schedule, HardRecords(self._easy)).grow()
        return self._first.model(Forest.joined(first, second))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return self._first.restore(arrays)
