"""HedgerowClassifier's method: each round selects one feature and takes one damped Newton step for each of its bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients
from hedgerow.boosting.plan import BoostedModel, restored
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Curator
from hedgerow.mechanisms import Exponential, Geometric, Noise, PermuteAndFlip, Randomness, RoundedNormal, Selection
from hedgerow.privacy.accounting import Adjacency, largest
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder, Numeric, Schema
from hedgerow.scores import multiway
from hedgerow.table import Table
from hedgerow.trees import Forest

__all__ = ["AdditivePlan", "AdditiveRecipe"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AdditiveRecipe:
    """Additive boosting in its parts.

    Parameters
    ----------
    rounds : int
        How many features are selected and measured, one after another; the same may come again.
    share : Fraction
        The share of a round's budget that the selection gets.
    rate : float
        How much of each step is taken.
    smoothing : Smoothing
        What is known of steps beforehand.
    """

    rounds: int
    share: Fraction
    rate: float
    smoothing: Smoothing


class AdditivePlan:
    """Additive boosting that is about to be fitted (docs/proofs/hedgerow.md).

    Parameters
    ----------
    recipe : AdditiveRecipe
        Its parts.
    schema : Schema
        What is public about the records.
    epsilon, delta : Fraction
        The claim.
    adjacency : {"add-remove", "replace-one"}
        What the claim is for.
    max_bins : int
        Bins of a numeric feature.
    """

    def __init__(
        self,
        recipe: AdditiveRecipe,
        schema: Schema,
        epsilon: Fraction,
        delta: Fraction,
        adjacency: Adjacency,
        *,
        max_bins: int,
    ) -> None:
        self._recipe = recipe
        self._encoder = Encoder(schema, max_bins)
        self._candidates = multiway(self._encoder.n_codes)
        self._is_numeric = [isinstance(feature, Numeric) for feature in schema.features.values()]
        self._gradients = Gradients(len(schema.classes), normal=delta > 0)
        self._claim = epsilon, delta, adjacency
        if delta > 0:
            amount = largest(lambda part: self._event(*self._mechanisms(part)), epsilon, delta, adjacency)
        else:
            amount = (epsilon if adjacency == "add-remove" else epsilon / 2) / recipe.rounds
        self._selection, self._noise = self._mechanisms(amount)

    def _mechanisms(self, amount: Fraction) -> tuple[Selection, Noise]:
        """Return what one round runs: ``amount`` is its epsilon, or its rho where the noise is normal."""
        rule, share = self._gradients, self._recipe.share
        if not rule.normal:
            selection = PermuteAndFlip(amount * share, 2 * rule.scored_l1)
            return selection, Geometric(amount * (1 - share), rule.l1)
        epsilon = Fraction(float(8 * amount * share) ** 0.5).limit_denominator(10**12)
        return Exponential(epsilon, 2 * rule.scored_l1), RoundedNormal(
            2 * amount * (1 - share), Fraction(rule.l2_squared)
        )

    def _event(self, selection: Selection, noise: Noise) -> Event:
        steps = (
            selection.event("feature of a round", "absolute gradients summed over its bins"),
            noise.event("gradients and curvatures of the feature's bins"),
        )
        return Sequence((Sequence(steps),) * self._recipe.rounds)

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return self._event(self._selection, self._noise)

    def run(self, X: Any, y: Any, randomness: Randomness) -> BoostedModel:
        """Fit on the records."""
        n_classes = len(self._encoder.schema.classes)
        table = Table(self._encoder.transform(X), self._encoder.labels(y), self._encoder.n_codes, n_classes)
        epsilon, delta, adjacency = self._claim
        return self.boost(Curator(table, epsilon, randomness, delta=delta, adjacency=adjacency))

    def boost(self, curator: Curator) -> BoostedModel:
        """Fit by asking a curator whose records were encoded as this plan's schema and bins say."""
        handicap = self._handicap()
        trees, votes = [], []
        for _ in range(self._recipe.rounds):
            curator.open_round(self._gradients)
            feature = curator.select_feature(self._selection, handicap)
            vote = self._votes(feature, curator.sums(feature, self._noise))
            tree = self._stump(feature)
            curator.learn(lambda codes, margins, tree=tree, vote=vote: tree.add_shares(codes, vote, margins))
            trees.append(tree)
            votes.append(vote)
        return BoostedModel(self._encoder, Forest.joined(*trees), np.concatenate(votes) / VOTE_STEPS)

    def _handicap(self) -> Integers:
        """Return what a feature's score loses for its bins: what noise of their sums would add to it by itself."""
        noise = self._noise.deviation * self._gradients.scored
        handicap: Integers = np.rint(np.sqrt(2 / np.pi) * noise * np.sqrt(self._encoder.n_codes)).astype(np.int64)
        return handicap

    def _votes(self, feature: int, sums: Integers) -> Integers:
        """Return the votes of a stump's root, which has none, and of its leaves, (1 + codes, classes), in fixed point."""
        scored, curvature = self._gradients.scored, self._gradients.curvature
        gradient = sums[:, :scored] / UNIT
        measured = sums[:, scored:] / (UNIT * curvature) if curvature else np.zeros_like(gradient)
        deviation = self._noise.deviation / UNIT
        steps = self._recipe.smoothing.steps(
            gradient, measured, deviation, deviation / curvature if curvature else np.inf, self._is_numeric[feature]
        )
        if scored == 1:
            steps = np.hstack([-steps / 2, steps / 2])
        steps = steps - steps.mean(axis=1, keepdims=True)
        votes = np.trunc(self._recipe.rate * steps / 2 * VOTE_STEPS).astype(np.int64)
        return np.vstack([np.zeros((1, votes.shape[1]), dtype=np.int64), votes])

    def _stump(self, feature: int) -> Forest:
        leaves = int(self._encoder.n_codes[feature])
        test = np.full(1 + leaves, -1, dtype=np.int32)
        test[0] = feature
        first_child = np.zeros(1 + leaves, dtype=np.int32)
        first_child[0] = 1
        label = np.zeros(1 + leaves, dtype=np.int32)
        label[0] = -1
        return Forest(np.zeros(1, dtype=np.int32), test, first_child, label, self._candidates)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> BoostedModel:
        """Return the model whose trees and votes stand in the arrays, or raise FileFormatError."""
        return restored(arrays, self._encoder, self._candidates, self._recipe.rounds)
