"""Printed AdaBoost on raw records: its trees, their weighted vote, the rounds, and the estimators that have a printed form.

A paper's own weak learner stands in the paper's module.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.compiled import available_threads, for_each
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PublicCoins, RawPlan
from hedgerow.export.form import importances
from hedgerow.mechanisms import Randomness
from hedgerow.papers import kernels
from hedgerow.papers.forest import FLOATS
from hedgerow.papers.kernels import CUT
from hedgerow.papers.noise import Laplace, Permutation
from hedgerow.papers.records import Branching, RawRecords
from hedgerow.parameters import Choice, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder, Schema
from hedgerow.systems.base import BoostedSystem, Size
from hedgerow.texts import short_repr
from hedgerow.trees.forest import OF_ROUNDS

UNIT = Laplace(Fraction(1))
LEAST_ERROR = 1e-10
ROUNDING = 1e-12  # an error of one half is not above one half because its sum was rounded
FEW_CELLS = 1 << 22  # are summed in less time than a second thread takes to start


# Trees and their vote


@dataclass(frozen=True, eq=False)
class BinaryTrees:
    """Nodes of all trees in one array; the two children of a node are side by side and behind it. Shapes are (nodes,)."""

    roots: npt.NDArray[np.int32]  # (trees,)
    feature: npt.NDArray[np.int32]  # what a node tests, -1 for a leaf
    first_child: npt.NDArray[np.int32]  # the left child, 0 for a leaf
    label: npt.NDArray[np.int32]  # the class, 0 or 1, of a leaf, and what it would be for another node
    cut: Floats  # the largest number that goes left; 0 where no number is tested
    left: Truth  # (nodes, codes): which codes go left; False where no code is tested

    @classmethod
    def of_leaves(cls, label: npt.NDArray[Any], codes: int) -> Self:
        nodes = len(label)
        zero = np.zeros(nodes, dtype=np.int32)
        root, none = np.zeros(1, dtype=np.int32), np.full(nodes, -1, dtype=np.int32)
        return cls(root, none, zero, label.astype(np.int32), np.zeros(nodes), np.zeros((nodes, codes), dtype=np.bool_))

    @classmethod
    def leaf(cls, label: int, codes: int) -> Self:
        return cls.of_leaves(np.array([label]), codes)

    @classmethod
    def stump(cls, feature: int, label: int, cut: float, left: Truth) -> Self:
        """Return a tree of one test, with a label on the left and the other one on the right."""
        tree = cls.of_leaves(np.array([label, label, 1 - label]), len(left))
        tree.feature[0], tree.first_child[0], tree.cut[0], tree.left[0] = feature, 1, cut, left
        return tree

    @classmethod
    def joined(cls, trees: list[Self], codes: int) -> Self:
        none = cls.of_leaves(np.empty(0), codes)
        parts, behind = [replace(none, roots=none.roots[:0])], 0
        for tree in trees:
            parts.append(tree._behind(behind))
            behind += len(tree.feature)
        return cls(*(np.concatenate([getattr(tree, field.name) for tree in parts]) for field in fields(cls)))

    def _behind(self, nodes: int) -> Self:
        """Return the trees, renumbered to follow this many nodes."""
        first_child = np.where(self.feature >= 0, self.first_child + nodes, 0).astype(np.int32)
        return replace(self, roots=(self.roots + nodes).astype(np.int32), first_child=first_child)

    def labels(self, tree: int, columns: Floats, branching: Branching) -> npt.NDArray[np.int32]:
        """Return the label that one tree gives each record of ``columns`` (features, records)."""
        out = np.empty(columns.shape[1], dtype=np.int32)
        kernels.labels(columns, self.roots[tree], *self.walk(branching), out)
        return out

    def walk(self, branching: Branching) -> tuple[npt.NDArray[Any], ...]:
        return self.feature, self.first_child, self.label, branching.bins == CUT, self.cut, self.left

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return dict(vars(self))


def most_codes(branching: Branching) -> int:
    """Return how many codes a feature of codes has at most."""
    return int(branching.arity.max())


@dataclass(frozen=True, eq=False)
class PrintedVote:
    """A weighted vote: F(x) = sum of alpha_t h_t(x), h_t = 1 for the schema's second class and -1 for its first.

    ``alphas`` (trees,) are the weights of the trees in the papers. The model returns 2 F, the log-odds of the
    second class by AdaBoost's loss (Friedman, Hastie and Tibshirani 2000); the papers release its sign only.
    """

    branching: Branching
    trees: BinaryTrees
    alphas: Floats

    importance_rule: ClassVar[str] = OF_ROUNDS

    __repr__ = short_repr

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield the second class's log-odds after each round, of shape (records,)."""
        return accumulate(self._terms(self._columns(X)))

    def decision(self, X: Any) -> Floats:
        """Return the second class's log-odds, of shape (records,); zeros if training stopped before the first tree."""
        columns = self._columns(X)
        return sum(self._terms(columns), start=np.zeros(columns.shape[1]))

    def _columns(self, X: Any) -> Floats:
        return np.ascontiguousarray(self.branching.read(X).T)

    def _terms(self, columns: Floats) -> Iterator[Floats]:
        """Yield 2 alpha_t h_t of each tree, for ``columns`` (features, records)."""
        for tree, alpha in enumerate(self.alphas):
            yield 2 * alpha * (2 * self.trees.labels(tree, columns, self.branching) - 1)

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities of which ``decision`` is the log-odds, of shape (records, classes).

        Where it is 0 both classes have one half [our choice, the papers are silent].
        """
        return _shares(self.decision(X))

    def staged_answers(self, X: Any) -> Iterator[Floats]:
        return map(_shares, self.staged_decision(X))

    def importances(self) -> Floats:
        """Return the share of each feature in the tests, each test weighted by its depth."""
        trees = self.trees
        return importances(trees.roots, trees.feature, trees.first_child, len(self.branching.schema.names))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**self.trees.to_arrays(), "alphas": self.alphas}


def _shares(log_odds: Floats) -> Floats:
    second = (1 + np.tanh(log_odds / 2)) / 2  # 1 / (1 + exp(-log_odds)), which passes the range of no float
    return np.stack((1 - second, second), axis=1)


# Records by the ranks of their values


@dataclass(frozen=True, eq=False)
class Ranked:
    """Records by the ranks of their values, as features (features, records) see them."""

    data: RawRecords
    ranks: npt.NDArray[np.int32]  # (features, records): where each value stands in ``values``
    start: Integers  # (features + 1,): where the values of each feature begin, ascending, and where the last ones end
    values: (
        Floats  # the distinct values of each feature that a record has; a missing number (NaN) is its feature's last
    )

    @classmethod
    def of(cls, data: RawRecords) -> Ranked:
        values = [np.unique(column) for column in data.columns]
        start = np.cumsum([0, *map(len, values)])
        ranks = np.empty(data.columns.shape, dtype=np.int32)
        for own, first, column, rank in zip(values, start, data.columns, ranks, strict=False):
            rank[:] = first + np.searchsorted(own, column)
        return cls(data, ranks, start, np.concatenate(values))

    @classmethod
    def of_codes(cls, data: RawRecords) -> Ranked:
        """Return records that hold codes only: all codes that there are, whether or not a record has them."""
        arity = data.branching.arity
        start = np.concatenate(([0], np.cumsum(arity)))
        ranks = (data.columns + start[:-1, None]).astype(np.int32)
        return cls(data, ranks, start, np.concatenate([np.arange(codes, dtype=np.float64) for codes in arity]))

    @property
    def numeric(self) -> Truth:
        return np.asarray(self.data.branching.bins == CUT)

    @lazy
    def candidates(self) -> Integers:
        """How many tests each feature has: cuts between its numbers, or one for each code."""
        missing = np.add.reduceat(np.isnan(self.values), self.start[:-1])
        return np.where(self.numeric, np.diff(self.start) - missing - 1, np.diff(self.start)).clip(0)

    def class_weights(self, records: Integers, weights: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Return the weight of some records by value and class, of shape (values, 2)."""
        out = np.zeros((len(self.values), 2), dtype=weights.dtype)
        labels = self.data.labels
        few = len(self.ranks) * len(records) < FEW_CELLS
        threads = 1 if few else available_threads()
        step = -(-len(self.ranks) // threads)
        for_each(
            range(0, len(self.ranks), step),
            lambda i: kernels.class_weights(self.ranks[i : i + step], records, labels, weights, out),
            threads,
        )
        return out


def midpoint(low: float, high: float) -> float:
    """Return the middle of two numbers, or the lower one if no float lies between them."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + (high - low) / 2
    return float(middle if low <= middle < high else low)


def tested_codes(branching: Branching, chosen: npt.NDArray[np.integer]) -> Truth:
    left = np.zeros(most_codes(branching), dtype=np.bool_)
    left[chosen] = True
    return left


# The rounds

# Returns one tree for the weights (training records,) of a round with this budget.
Fit = Callable[[Floats, float, Randomness], BinaryTrees]


class Learner(Protocol):
    """A weak learner."""

    def tests(self, schema: Schema, max_bins: int) -> Branching:
        """Return how columns are read."""

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        """Return the learner with its records; ``holdout`` are those that prune."""

    def reasons(self, branching: Branching) -> Iterator[str]:
        """Yield what is read without protection."""


def adaboost_alpha(error: float) -> float:
    """Return ln((1 - e) / e) / 2 for an error e that is kept between 1e-10 and 1/2."""
    error = min(max(error, LEAST_ERROR), 0.5)
    return math.log((1 - error) / error) / 2


@dataclass(frozen=True)
class PrintedBoosting:
    """AdaBoost on a weak learner: each round has epsilon / T, and an error above 1/2 ends the training.

    A paper that prints another rule overrides its method. ``holdout`` is the share of the records, drawn at random and rounded
    down, that prunes trees and trains none. An error below 1e-10 is taken as that, so that no weight is infinite [our choice,
    the papers are silent].
    """

    learner: Learner
    holdout: Fraction = field(default=Fraction(0), kw_only=True)

    ends_without_error: ClassVar[bool] = False  # whether a tree without an error on held-out records ends the training

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        """Return the budget of a round after one with such an error, None before the first."""
        return epsilon / rounds

    def start(self, records: int) -> Floats:
        """Return the weights of the first round."""
        return np.full(records, 1 / records)

    def error(self, wrong: npt.NDArray[np.bool_], weights: Floats) -> float:
        """Return the error of a tree that is ``wrong`` (records,)."""
        return float(weights[wrong].sum())

    def stops(self, error: float) -> bool:
        return error > 0.5 + ROUNDING

    def alpha(self, error: float) -> float:
        return adaboost_alpha(error)

    def perturbed(self, weights: Floats, epsilon: float, rounds: int, randomness: Randomness) -> Floats:
        """Return the normalized weights (records,) after the noise of a marked round."""
        return weights

    def answering(self, model: PrintedVote, epsilon: float, randomness: Randomness) -> PrintedVote:
        """Return the model as it answers: with noise or without."""
        return model

    def reasons(self, branching: Branching, epsilon: Fraction, rounds: int) -> Iterator[str]:
        """Yield what is read without protection."""
        yield from self.learner.reasons(branching)
        yield from self.noise_reasons(epsilon, rounds)
        yield from self.round_reasons(rounds)
        yield FLOATS

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        yield from ()

    def round_reasons(self, rounds: int) -> Iterator[str]:
        yield (
            "the weights of the trees are exact: with k errors of N training records that of the first is ln((N - k) / k) / 2, "
            "and for N and N + 1 no two such values are the same. So the model tells for certain that one more record trained "
            "it, unless the first tree has no error both times: delta = 1 at every epsilon"
        )
        if rounds > 1:
            yield "the number of rounds follows from the raw training errors, since an error above 1/2 ends the training"


class PrintedBoostingPlan(RawPlan):
    """A printed boosting system that is about to be trained. No guarantee holds.

    ``epsilon`` is the budget that the paper states, ``rounds`` the maximum number of trees, ``max_bins`` the bins of a
    numeric feature where the recipe has any, and ``marked`` the numbers of the rounds, from 1, that noise follows. Of the
    schema's two classes the second is the papers' +1.
    """

    def __init__(
        self,
        recipe: PrintedBoosting,
        schema: Schema,
        epsilon: Fraction,
        *,
        rounds: int,
        max_bins: int = 5,
        marked: Collection[int] = (),
    ) -> None:
        if len(schema.classes) != 2:
            raise ConfigurationError(
                f"the schema has {len(schema.classes)} classes, but AdaBoost as these papers print it knows two. Pass a "
                "schema with two classes, or choose a forest."
            )
        self._recipe = recipe
        self._epsilon = epsilon
        self._rounds = rounds
        self._marked = marked
        self._branching = recipe.learner.tests(schema, max_bins)
        self.reasons = tuple(recipe.reasons(self._branching, epsilon, rounds))

    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> PrintedVote:
        branching = self._branching
        data = RawRecords.labelled(branching.read(X), Encoder(branching.schema, 2).labels(y), branching)
        training, holdout = self._divided(data, randomness)
        trees, alphas = self._boost(training, holdout, randomness) if len(training.labels) else ([], [])
        joined = BinaryTrees.joined(trees, most_codes(branching))
        model = PrintedVote(branching, joined, np.array(alphas, dtype=np.float64))
        return self._recipe.answering(model, float(self._epsilon), randomness)

    def _divided(self, data: RawRecords, randomness: Randomness) -> tuple[RawRecords, RawRecords]:
        """Return the records that train and those that prune."""
        if self._recipe.holdout == 0:
            return data, data.some(np.empty(0, dtype=np.int64))
        records = len(data.labels)
        order = randomness.draw(Permutation(), records)
        held = int(records * self._recipe.holdout)
        return data.some(np.sort(order[held:])), data.some(np.sort(order[:held]))

    def _boost(
        self, training: RawRecords, holdout: RawRecords, randomness: Randomness
    ) -> tuple[list[BinaryTrees], list[float]]:
        recipe, epsilon = self._recipe, float(self._epsilon)
        fit = recipe.learner.fitter(training, holdout)
        weights = recipe.start(len(training.labels))
        sign = 2 * training.labels - 1
        trees: list[BinaryTrees] = []
        alphas: list[float] = []
        error: float | None = None

        def labels(tree: BinaryTrees, data: RawRecords) -> npt.NDArray[np.int32]:
            return tree.labels(0, data.columns, self._branching)

        for number in range(1, self._rounds + 1):
            tree = fit(weights, recipe.budget(epsilon, self._rounds, error), randomness)
            vote = 2 * labels(tree, training) - 1
            error = recipe.error(vote != sign, weights)
            if recipe.stops(error):
                break
            alphas.append(recipe.alpha(error))
            trees.append(tree)
            if recipe.ends_without_error and np.all(labels(tree, holdout) == holdout.labels):
                break
            weights = weights * np.exp(-alphas[-1] * sign * vote)
            weights /= weights.sum()
            if number in self._marked:
                weights = recipe.perturbed(weights, epsilon, self._rounds, randomness)
        return trees, alphas


class PaperBooster(BoostedSystem):
    """A boosting system of a paper, in the form whose guarantee is proved and in the form that the paper prints.

    Parameters
    ----------
    variant : {"private", "published"}
        "private": the form whose guarantee is proved. "published": the form that the paper prints, for two classes, to fit and
        predict; its certificate says that no guarantee holds, and why.
    """

    variant: str = parameter(Choice(("private", "published")), default="private")

    @property
    @abstractmethod
    def _published_size(self) -> Size:
        """The default size of the published form."""

    @abstractmethod
    def _published(self) -> PrintedBoosting:
        """Return the parts of the published form."""

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
        if self.variant == "private":
            return super()._plan(schema, claim, coins)
        if claim.delta:
            raise ConfigurationError("the published form knows no delta; pass delta=0, or variant='private'.")
        size = self._published_size.of(self)
        rounds, bins = size.n_estimators, size.max_bins
        return PrintedBoostingPlan(self._published(), schema, claim.epsilon, rounds=rounds, max_bins=bins, marked=coins)
