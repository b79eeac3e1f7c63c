"""The published boosting systems as recipes over shared parts, and as plans: from raw records to a weighted vote."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.estimator import RawPlan
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Sequence, Unprotected
from hedgerow.published.boosting.learner import Learner
from hedgerow.published.boosting.model import BinaryTrees, PublishedBoosted, most_codes
from hedgerow.published.boosting.noisy_votes import KEY_WORDS, AnswerKey, NoisyAnswers, NoisyVotes
from hedgerow.published.boosting.perturbation import PerturbExtremes
from hedgerow.published.boosting.rounds import AdaBoostStep, BoostingStep, EqualRounds, RoundBudgets
from hedgerow.published.case import Case
from hedgerow.published.noise import Permutation
from hedgerow.published.recipe import FLOATS
from hedgerow.published.records import RawRecords
from hedgerow.schema import Encoder, Schema

__all__ = ["PublishedBoosting", "PublishedBoostingPlan"]


@dataclass(frozen=True)
class PublishedBoosting:
    """A published boosting system in its parts.

    Parameters
    ----------
    learner : Learner
        What each round fits.
    budgets : RoundBudgets
        What a round may spend.
    step : BoostingStep
        What a tree weighs in the vote, and when training ends.
    perturbation : PerturbExtremes or None
        What noise the weights get between rounds.
    votes : NoisyVotes or None
        What noise the trees' answers get.
    holdout : Fraction
        The share of the records, drawn at random and rounded down, that prunes trees and trains none.
    """

    learner: Learner
    budgets: RoundBudgets = field(default_factory=EqualRounds)
    step: BoostingStep = field(default_factory=AdaBoostStep)
    perturbation: PerturbExtremes | None = None
    votes: NoisyVotes | None = None
    holdout: Fraction = Fraction(0)

    def event(self, case: Case) -> Event:
        """Return every unprotected step, then the budgets that the paper states for the others."""
        return Sequence((*map(Unprotected, self._reasons(case)), *self._stated(case)))

    def _reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        yield from self.learner.reasons(case)
        if self.perturbation is not None:
            yield from self.perturbation.reasons(case)
        if self.votes is not None:
            yield from self.votes.reasons(case)
        yield from self.budgets.reasons(case)
        yield from self.step.reasons(case)
        yield FLOATS

    def _stated(self, case: Case) -> Iterator[Event]:
        """Yield the budgets that the paper states for noise."""
        one = self.learner.stated(case)
        if one is not None:
            yield one if case.trees == 1 else Sequence((one,) * case.trees)
        weights = None if self.perturbation is None else self.perturbation.stated(case)
        if weights is not None:
            yield weights
        if self.votes is not None:
            yield self.votes.stated(case)


class PublishedBoostingPlan(RawPlan):
    """A published boosting system that is about to be trained. No guarantee holds.

    Where a paper is silent, the choice is ours and stands beside the part that makes it.

    Parameters
    ----------
    recipe : PublishedBoosting
        Its parts.
    schema : Schema
        The features, their categories, and two classes, of which the second is the papers' +1; ranges only where the recipe
        cuts or bins them.
    epsilon : Fraction
        The budget that the paper states.
    rounds : int
        The most trees; training may end before.
    max_bins : int
        Bins of a numeric feature where the recipe has any.
    marked : collection of int
        The numbers of the rounds, from 1, that noise follows where the recipe perturbs weights.

    Raises
    ------
    ConfigurationError
        If the schema has other than two classes.
    """

    def __init__(
        self,
        recipe: PublishedBoosting,
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
        self._schema = schema
        self._epsilon = epsilon
        self._rounds = rounds
        self._marked = marked
        self._branching = recipe.learner.tests.branching(schema, max_bins)
        self._event = recipe.event(Case(self._branching, epsilon, rounds, recipe.learner.max_depth))

    @property
    def event(self) -> Event:
        """Every unprotected step, then the budgets that the paper states for the others."""
        return self._event

    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> PublishedBoosted:
        """Train on the records whose label is in the schema."""
        labels = Encoder(self._schema, 2).labels(y)
        data = RawRecords.labelled(self._branching.read(X), labels, self._branching)
        training, holdout = self._divided(data, randomness)
        trees, alphas = self._boost(training, holdout, randomness) if len(training.labels) else ([], [])
        joined = BinaryTrees.joined(trees, most_codes(self._branching))
        model = PublishedBoosted(self._branching, joined, np.array(alphas, dtype=np.float64))
        return model if self._recipe.votes is None else self._answering(model, randomness.draw(AnswerKey()))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> PublishedBoosted:
        """Return the model whose trees stand in the arrays, or raise FileFormatError."""
        model = PublishedBoosted.from_arrays(arrays, self._branching, self._rounds)
        if self._recipe.votes is None:
            return model
        key = arrays.get("key")
        if key is None or key.shape != (KEY_WORDS,) or key.dtype != np.int64 or np.any(key < 0):
            raise FileFormatError("the key of the noise of the file's answers is damaged; fit the model again.")
        return self._answering(model, key)

    def _answering(self, model: PublishedBoosted, key: npt.NDArray[np.int64]) -> NoisyAnswers:
        return NoisyAnswers(model.branching, model.trees, model.alphas, key, float(self._epsilon))

    def _divided(self, data: RawRecords, randomness: Randomness) -> tuple[RawRecords, RawRecords]:
        """Return the records that train and those that prune."""
        if self._recipe.holdout == 0:
            return data, _some(data, np.empty(0, dtype=np.int64))
        records = len(data.labels)
        order = randomness.draw(Permutation(), records)
        held = int(records * self._recipe.holdout)
        return _some(data, np.sort(order[held:])), _some(data, np.sort(order[:held]))

    def _boost(
        self, training: RawRecords, holdout: RawRecords, randomness: Randomness
    ) -> tuple[list[BinaryTrees], list[float]]:
        """Return the trees of all rounds and their weights."""
        recipe, epsilon = self._recipe, float(self._epsilon)
        fitter = recipe.learner.fitter(training, holdout)
        weights = recipe.step.start(len(training.labels))
        sign = 2 * training.labels - 1
        trees: list[BinaryTrees] = []
        alphas: list[float] = []
        error: float | None = None
        for number in range(1, self._rounds + 1):
            budget = recipe.budgets.budget(epsilon, self._rounds, error)
            tree = fitter.fit(weights, budget, randomness)
            vote = 2 * tree.labels(0, training.columns, self._branching) - 1
            error = recipe.step.error(vote != sign, weights)
            if recipe.step.stops(error):
                break
            alphas.append(recipe.step.alpha(error))
            trees.append(tree)
            if recipe.step.ends_without_error and self._is_right(tree, holdout):
                break
            weights = weights * np.exp(-alphas[-1] * sign * vote)
            weights /= weights.sum()
            if number in self._marked and recipe.perturbation is not None:
                weights = recipe.perturbation.apply(weights, epsilon, self._rounds, randomness)
        return trees, alphas

    def _is_right(self, tree: BinaryTrees, data: RawRecords) -> bool:
        """Return whether a tree has no error on some records."""
        return bool(np.all(tree.labels(0, data.columns, self._branching) == data.labels))


def _some(data: RawRecords, rows: npt.NDArray[np.int64]) -> RawRecords:
    return RawRecords(np.ascontiguousarray(data.columns[:, rows]), data.labels[rows], data.branching)
