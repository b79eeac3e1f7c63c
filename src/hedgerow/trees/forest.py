"""Private forests as plans and models: from encoded records to votes, and the contributions of the tests on a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.curator import Queryable
from hedgerow.estimator.explanation import Explanation, cells_in_words
from hedgerow.export import Link, Mean, ScoringForm, shares_of_votes, whole_votes_of_labels
from hedgerow.margins import ClassWeights
from hedgerow.mechanisms import Budget
from hedgerow.privacy.events import Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.survey import FINE, Ones, SurveyRecipe, fine_encoder, merged_encoder, merged_to_arrays
from hedgerow.table import RecordRule
from hedgerow.texts import short_repr
from hedgerow.trees.grower import Grower, Recipe
from hedgerow.trees.model import Forest, parents

MOST_TESTS = 128  # on a path, with room to spare
PSEUDO_COUNT = 2.0  # in units of the noise of one count
OF_TESTS = "share of the tests, each weighing what its depth leaves to it"
OF_ROUNDS = f"{OF_TESTS}; all rounds count alike, however large their votes"
PATHS = "a test on a record's path adds what its branch says more than the mean of its branches, which count alike"


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A grown forest that reads raw records by its schema.

    ``share`` (nodes, classes) is the vote of each leaf under soft voting; None if each tree has one vote. ``surveyed`` says
    whether the encoder's cut points were released by a survey.
    """

    encoder: Encoder
    forest: Forest
    share: Floats | None = None
    surveyed: bool = False

    importance_rule: ClassVar[str] = OF_TESTS

    __repr__ = short_repr

    def probabilities(self, X: Any) -> Floats:
        """Return the share of each class, (records, classes): the mean of leaves' shares, or of votes and one even vote."""
        n_classes, trees = len(self.encoder.schema.classes), len(self.forest.roots)
        share = self.share
        if share is None:
            return self.encoder.answers(X, lambda codes: shares_of_votes(self.forest.votes(codes, n_classes), trees))
        return self.encoder.answers(X, lambda codes: self.forest.shares(codes, share) / trees)

    def explained(self, X: Any) -> Explanation:
        """Return the contributions of the tests on each record's paths to its prediction."""
        codes, schema = self.encoder.transform(X), self.encoder.schema
        scale, values = self._said_by_nodes()
        baseline, contributions = path_contributions(self.forest, codes, values)
        alone = values.shape[1] == 1
        return Explanation(
            names=tuple(schema.names),
            classes=tuple(schema.classes),
            scale=scale,
            baseline=float(baseline[0]) if alone else baseline,
            contributions=contributions[:, :, 0] if alone else contributions,
            cells=cells_in_words(self.encoder, codes),
            deviation=None,
            rule=PATHS,
        )

    def _said_by_nodes(self) -> tuple[Literal["log-odds", "probability"], Floats]:
        """Return the kind of sum over the trees, and each leaf's part, (nodes, classes), for two classes of the second."""
        votes, link = self.whole_votes()
        said = link(votes)
        return "probability", said[:, 1:] if said.shape[1] == 2 else said

    def whole_votes(self) -> tuple[Integers, Link]:
        """Return each node's integer votes by class, (nodes, classes), and the link from sums to probabilities."""
        trees = len(self.forest.roots)
        if self.share is None:
            return whole_votes_of_labels(self.forest.label, len(self.encoder.schema.classes), trees)
        unit = share_unit(trees)
        return np.rint(self.share * unit).astype(np.int64), Mean(trees * unit)

    def scoring(self) -> ScoringForm:
        return self.forest.scoring(self.encoder, *self.whole_votes())

    def importances(self) -> Floats:
        """Return the share of each feature in the tests, each test weighted by its depth."""
        forest = self.forest
        feature = np.where(forest.test < 0, -1, forest.candidates.feature[forest.test])
        return importances(forest.roots, feature, forest.first_child, len(self.encoder.schema.names))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.forest.to_arrays() | (merged_to_arrays(self.encoder) if self.surveyed else {})


def importances(
    roots: npt.NDArray[np.int32], feature: npt.NDArray[np.int32], first_child: npt.NDArray[np.int32], n_features: int
) -> Floats:
    """Return the share of each feature in the tests of trees, of shape (features,); zeros where there is no test.

    ``feature`` is -1 for a leaf. A root weighs 1, and a test shares its weight evenly among its branches.
    """
    inner = np.flatnonzero(feature >= 0)
    if not len(inner):
        return np.zeros(n_features)
    parent = parents(roots, feature >= 0, first_child)
    children = np.flatnonzero(parent >= 0)
    parent = parent[children]
    arity = np.bincount(parent, minlength=len(feature))
    weight = np.zeros(len(feature))
    weight[roots] = 1.0
    for _ in range(MOST_TESTS):
        before = weight.copy()
        weight[children] = before[parent] / arity[parent]
        if np.array_equal(before, weight):
            break
    sums = np.bincount(feature[inner], weights=weight[inner], minlength=n_features)
    return np.asarray(sums / sums.sum())


def share_unit(terms: int) -> int:
    """Return the number of units in a share for which floats add up this many shares exactly, in any order."""
    return 1 << (52 - (terms - 1).bit_length())


def smoothed_shares(forest: Forest, pseudo_count: float, weights: ClassWeights | None = None) -> Floats | None:
    """Return the class shares of every leaf from its released counts; None where leaves released labels.

    Each leaf gets ``pseudo_count`` records more, divided as the classes are over all leaves together: few records behind
    much noise then have little influence. Counts below zero count as zero. Shares are rounded to units whose sums over the trees
    are exact, so that every program that adds them up has the same sums. ``weights`` multiply the counts of the classes, with
    what was added to them.
    """
    if forest.counts is None:
        return None
    overall = np.maximum(forest.counts.sum(axis=0, dtype=np.float64), 1)  # a sum of integers could pass their range
    counts = np.maximum(forest.counts, 0) + pseudo_count * overall / overall.sum()
    if weights:
        counts = counts * weights.array()
    unit = share_unit(len(forest.roots))
    return np.asarray(np.rint(counts / counts.sum(axis=1, keepdims=True) * unit) / unit)


class ForestPlan:
    """A private forest that is about to be grown, with a budget of ``epsilon`` under add/remove adjacency."""

    def __init__(
        self, recipe: Recipe, schema: Schema, epsilon: Fraction, *, n_estimators: int, max_depth: int, max_bins: int
    ) -> None:
        self.encoder = Encoder(schema, max_bins)
        self._schedule = recipe.schedule(
            epsilon, self.encoder.n_codes, schema.is_numeric, n_estimators=n_estimators, max_depth=max_depth
        )
        self.event = self._schedule.event
        self.most_trees = self._schedule.sampling.rounds * self._schedule.sampling.coin.parts

    def model(self, forest: Forest) -> ForestModel:
        soft, weights = self._schedule.recipe.soft, self._schedule.recipe.weights
        if not soft and not weights:
            return ForestModel(self.encoder, forest)
        noise = 1 / float(self._schedule.sampling.budget.amount)
        share = smoothed_shares(forest, PSEUDO_COUNT * noise, weights)
        if weights and share is not None:  # a leaf's label is what it says
            label = np.where(forest.test < 0, share.argmax(axis=1), -1).astype(np.int32)
            forest = replace(forest, label=label)
        return ForestModel(self.encoder, forest, share if soft else None)

    def fit(self, curator: Queryable) -> ForestModel:
        return self.model(self.grow(curator))

    def grow(self, curator: Queryable, rule: RecordRule | None = None) -> Forest:
        """Grow the trees from a curator's answers; ``rule`` is for samples by weighted coins."""
        return Grower(curator, self._schedule, rule).grow()

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return self.model(Forest.from_arrays(arrays, self._schedule.candidates, len(self.encoder.schema.classes)))


def node_means(forest: Forest, values: Floats) -> Floats:
    """Return values (nodes, columns) in which every node but a leaf has the mean of its branches, each with the same weight."""
    values = values.copy()
    parent, level = forest.parents, forest.levels()
    inner = forest.test >= 0
    values[inner] = 0
    arity = np.where(inner, np.bincount(parent[parent >= 0], minlength=forest.n_nodes), 1)
    for number in range(int(level.max()), 1, -1):
        children = np.flatnonzero(level == number)
        np.add.at(values, parent[children], values[children] / arity[parent[children], None])
    return values


def path_contributions(forest: Forest, codes: npt.NDArray[np.unsignedinteger], values: Floats) -> tuple[Floats, Floats]:
    """Return the unweighted mean of the trees over their branches, (columns,), and each feature's contribution for each record.

    The second is of shape (records, features, columns): a test adds the value of its branch minus the mean of its branches.
    ``values`` (nodes, columns) are the values of the leaves, and are added up over the trees.
    """
    means = node_means(forest, values)
    out = np.zeros((*codes.shape, values.shape[1]))
    rows: Integers = np.arange(len(codes))
    tests = np.unique(forest.test[forest.test >= 0])
    branches = forest.candidates.branches(tests)
    features = forest.candidates.feature[tests]
    for root in forest.roots.tolist():
        node: Integers = np.full(len(codes), root, dtype=np.int64)
        at = rows
        while len(at := at[forest.test[node[at]] >= 0]):
            here = node[at]
            test = np.searchsorted(tests, forest.test[here])
            feature = features[test]
            child = forest.first_child[here] + branches[test, codes[at, feature]]
            out[at, feature] += means[child] - means[here]
            node[at] = child
    return means[forest.roots].sum(axis=0), out


class SurveyedForestPlan:
    """The plan of a private forest with bins that follow the noisy histograms of the records.

    The survey asks about numeric features first, and places at most ``max_bins`` bins. It merges those of ``fine``, at most 255
    per feature; None: those of ``fine_encoder``.
    """

    def __init__(
        self,
        recipe: Recipe,
        survey: SurveyRecipe,
        schema: Schema,
        epsilon: Fraction,
        *,
        n_estimators: int,
        max_depth: int,
        max_bins: int,
        fine: Encoder | None = None,
    ) -> None:
        self._recipe, self._parts, self._schema, self._epsilon = recipe, survey, schema, epsilon
        self._size = {"n_estimators": n_estimators, "max_depth": max_depth, "max_bins": max_bins}
        self.encoder = (
            fine_encoder(schema) if fine is None else fine
        )  # numeric features in fine bins, which the survey merges
        self._survey = survey.survey(Budget(epsilon), self.encoder)
        self._remaining = epsilon * self._survey.left
        most = [np.minimum(np.arange(codes), max_bins - 1) for codes in self.encoder.n_codes.tolist()]
        trees = self._forest(self.encoder.merged(most))  # which does not change categories
        self.event = Sequence((*self._survey.event.parts, trees.event))

    def _forest(self, encoder: Encoder) -> ForestPlan:
        """Return the plan of the trees on merged bins. Its cost depends on the budget and the schema, not on the bins."""
        size = {**self._size, "max_bins": FINE}
        return ForestPlan(self._recipe, encoder.schema, self._remaining, **size)

    def on(self, encoder: Encoder) -> SurveyedForestPlan:
        """Return the plan that merges the bins of an encoder, if there are at most as many as fine bins may be."""
        if encoder.max_bins != FINE:
            return self
        return SurveyedForestPlan(self._recipe, self._parts, self._schema, self._epsilon, **self._size, fine=encoder)

    def fit(self, curator: Queryable) -> ForestModel:
        histograms = self._survey.histograms(curator.open_round(Ones()))
        curator.doubts += self._survey.column_warnings(histograms)
        merges = self._survey.merged(histograms, self._size["max_bins"])
        curator.merge(merges)
        return replace(self._forest(self.encoder.merged(merges)).fit(curator), surveyed=True)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        if "edges" not in arrays:  # a file of 0.1.0, whose bins have one width
            return ForestPlan(self._recipe, self._schema, self._epsilon, **self._size).restore(arrays)
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
class ForestVotes:
    """The number of trees of a forest that predict each class, in the ``columns`` of margins, for a record."""

    forest: Forest
    columns: int

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: npt.NDArray[np.signedinteger]) -> None:
        self.forest.add_votes(codes, margins)


class TwoPhasePlan:
    """The plan of two private forests that are grown one after the other on the same records; all their trees vote.

    Both have the same schema and bins, and their budgets add up. The second samples records by weighted coins: those that the
    first gets right take part in a tree with the probability ``easy``.
    """

    def __init__(self, first: ForestPlan, second: ForestPlan, easy: Fraction) -> None:
        self._first, self._second, self._easy = first, second, easy
        self.encoder, self.most_trees = first.encoder, first.most_trees + second.most_trees
        self.event = Sequence((first.event, second.event))

    def fit(self, curator: Queryable) -> ForestModel:
        first = self._first.grow(curator)
        curator.update_margins(ForestVotes(first, curator.n_classes))
        second = self._second.grow(curator, HardRecords(self._easy))
        return self._first.model(Forest.joined(first, second))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        return self._first.restore(arrays)
