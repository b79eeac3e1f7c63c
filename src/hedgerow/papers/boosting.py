"""Printed AdaBoost on raw records: its vote, its rounds, and the estimators that have a printed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth, available_threads, for_each
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import PublicCoins, RawPlan
from hedgerow.mechanisms import Randomness
from hedgerow.papers import kernels
from hedgerow.papers.noise import Laplace, Permutation
from hedgerow.papers.records import Branching, Ranked, RawRecords
from hedgerow.papers.trees import PaperSystem, PrintedTrees, reason
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.systems.base import BoostedSystem, Size
from hedgerow.texts import short_repr

Weights = npt.NDArray[Any]

UNIT = Laplace(Fraction(1))
LEAST_ERROR = 1e-10
ROUNDING = 1e-12  # an error of one half is not above one half because its sum was rounded
FEW_CELLS = 1 << 22  # are summed in less time than a second thread takes to start


# CART-DPsAdaBoost: algorithm 4
@dataclass(frozen=True, eq=False)
class PrintedVote:  # DPAda: equation 6
    """A weighted vote: F(x) = sum of alpha_t h_t(x), h_t = 1 for the schema's second class and -1 for its first.

    ``alphas`` (trees,) are the weights of the trees in the papers. The model returns 2 F, the log-odds of the
    second class by AdaBoost's loss (Friedman, Hastie and Tibshirani 2000); the papers release its sign only.
    """

    trees: PrintedTrees
    alphas: Floats

    __repr__ = short_repr

    def decision(self, X: Any) -> Floats:
        """Return the second class's log-odds, of shape (records,); zeros if training stopped before the first tree."""
        columns = np.ascontiguousarray(self.trees.branching.read(X).T)
        return sum(self._terms(columns), start=np.zeros(columns.shape[1]))

    def _terms(self, columns: Floats) -> Iterator[Floats]:
        for tree, alpha in enumerate(self.alphas):
            yield 2 * alpha * (2 * self.trees.labels(columns, tree) - 1)

    def probabilities(self, X: Any) -> Floats:
        """Return probabilities, (records, classes); both are one half where the log-odds are 0 [our choice]."""
        second = (1 + np.tanh(self.decision(X) / 2)) / 2  # 1 / (1 + exp(-log_odds)), which passes the range of no float
        return np.stack((1 - second, second), axis=1)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**self.trees.to_arrays(), "alphas": self.alphas}


def class_weights(ranked: Ranked, labels: Integers, records: Integers, weights: Weights) -> Weights:
    out = np.zeros((len(ranked.values), 2), dtype=weights.dtype)
    few = len(ranked.ranks) * len(records) < FEW_CELLS
    threads = 1 if few else available_threads()
    step = -(-len(ranked.ranks) // threads)
    for_each(
        range(0, len(ranked.ranks), step),
        lambda i: kernels.class_weights(ranked.ranks[i : i + step], records, labels, weights, out),
        threads,
    )
    return out


def cut_between(low: float, high: float) -> float:
    """Return the bound below which lie all numbers up to the middle of two, or up to the lower one if no float lies between."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + (high - low) / 2
    return float(np.nextafter(middle if low <= middle < high else low, np.inf))


def stump(branching: Branching, feature: int, label: int, cut: float, codes: Integers | None = None) -> PrintedTrees:
    tree = PrintedTrees.of_leaves(branching, [-1, label, 1 - label])
    tree.feature[0], tree.first_child[0], tree.low[0] = feature, 1, cut
    if codes is not None:
        tree.left[0, codes] = True
    return tree


# Returns one tree for the weights (training records,) of a round with this budget.
Fit = Callable[[Floats, float, Randomness], PrintedTrees]


class Learner(Protocol):
    """A weak learner: how it reads columns, its fit on some records, of which ``holdout`` prune, and what it reads raw."""

    def tests(self, schema: Schema, max_bins: int) -> Branching: ...

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit: ...

    def reasons(self, branching: Branching) -> Iterator[str]: ...


# CART-DPsAdaBoost: algorithm 2, step 8
def adaboost_alpha(error: float) -> float:  # DPAda: equation 10
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

    # CART-DPsAdaBoost: algorithm 3, step 3, without its logarithm
    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        """Return the budget of a round after one with such an error, None before the first."""
        return epsilon / rounds

    def start(self, records: int) -> Floats:
        return np.full(records, 1 / records)

    def weigh(self, wrong: Truth, weights: Floats) -> tuple[float, float | None]:
        """Return the error of a tree that is ``wrong`` (records,), and its alpha; None ends the training without it."""
        error = float(weights[wrong].sum())
        return error, None if error > 0.5 + ROUNDING else adaboost_alpha(error)

    def perturbed(self, weights: Floats, epsilon: float, rounds: int, randomness: Randomness) -> Floats:
        """Return the normalized weights (records,) after the noise of a marked round."""
        return weights

    def answering(self, model: PrintedVote, epsilon: float, randomness: Randomness) -> PrintedVote:
        return model

    def reasons(self, branching: Branching, epsilon: Fraction, size: Size) -> Iterator[str]:
        yield from self.learner.reasons(branching)
        yield from self.noise_reasons(epsilon, size.n_estimators)
        yield from self.round_reasons(size.n_estimators)
        yield reason("floating-point")

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        yield from ()

    def round_reasons(self, rounds: int) -> Iterator[str]:
        yield reason("exact-weights")
        if rounds > 1:
            yield reason("rounds-by-errors")

    def read_by(self, schema: Schema, max_bins: int) -> Branching:
        if len(schema.classes) != 2:
            raise ConfigurationError(
                f"the schema has {len(schema.classes)} classes, but AdaBoost as these papers print it knows two. Pass a "
                "schema with two classes, or choose a forest."
            )
        return self.learner.tests(schema, max_bins)

    # DPAda: algorithm 1; equations 9 and 11
    # CART-DPsAdaBoost: algorithm 2; algorithm 3, steps 9 to 14; figure 1
    def fit(
        self, data: RawRecords, budget: Fraction, size: Size, coins: PublicCoins, randomness: Randomness
    ) -> PrintedVote:
        """Return a vote in which the second class is the papers' +1."""
        training, branching, epsilon, rounds = data, data.branching, float(budget), size.n_estimators
        holdout = training.some(np.empty(0, dtype=np.int64))
        if self.holdout:
            order = randomness.draw(Permutation(), len(training.labels))
            held = int(len(order) * self.holdout)
            holdout, training = training.some(np.sort(order[:held])), training.some(np.sort(order[held:]))
        trees: list[PrintedTrees] = []
        alphas: list[float] = []
        sign = 2 * training.labels - 1
        if len(sign):
            fit, weights, error = self.learner.fitter(training, holdout), self.start(len(sign)), None
        for number in range(1, rounds + 1) if len(sign) else ():
            tree = fit(weights, self.budget(epsilon, rounds, error), randomness)
            vote = 2 * tree.labels(training.columns) - 1
            error, alpha = self.weigh(vote != sign, weights)
            if alpha is None:
                break
            alphas.append(alpha)
            trees.append(tree)
            if self.ends_without_error and np.all(tree.labels(holdout.columns) == holdout.labels):
                break
            weights = weights * np.exp(-alpha * sign * vote)
            weights /= weights.sum()
            if number in coins:
                weights = self.perturbed(weights, epsilon, rounds, randomness)
        model = PrintedVote(PrintedTrees.joined(branching, trees), np.array(alphas, dtype=np.float64))
        return self.answering(model, epsilon, randomness)


class PaperBooster(PaperSystem, BoostedSystem):
    """A boosting system of a paper, whose published form is for two classes and pure epsilon."""

    def _printed_plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> RawPlan:
        if claim.delta:
            raise ConfigurationError("the published form knows no delta; pass delta=0, or variant='private'.")
        return super()._printed_plan(schema, claim, coins)
