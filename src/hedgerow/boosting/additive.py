"""HedgerowClassifier's method: each round selects one feature and takes one damped Newton step for each of its bins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Curator
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder
from hedgerow.scores import Candidates, multiway
from hedgerow.trees import Forest

__all__ = ["AdditiveRecipe", "FeatureRound"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AdditiveRecipe:
    """Additive boosting in its parts.

    Parameters
    ----------
    share : Fraction
        The share of a round's budget that the selection gets.
    rate : float
        How much of each step is taken.
    smoothing : Smoothing
        What is known of steps beforehand.
    """

    share: Fraction
    rate: float
    smoothing: Smoothing

    def round(self, budget: Budget, encoder: Encoder, max_depth: int) -> FeatureRound:
        """Return a round that costs at most the budget; it makes no path of more than one test."""
        rule = Gradients(len(encoder.schema.classes), normal=budget.concentrated)
        selection = (budget * self.share).selection(PermuteAndFlip, 2 * rule.scored_l1)
        noise = (budget * (1 - self.share)).noise_for(rule.l1, rule.l2_squared)
        return FeatureRound(self, encoder, multiway(encoder.n_codes), rule, selection, noise)


@dataclass(frozen=True, eq=False)
class FeatureRound:
    """Select one feature by the absolute gradients of its bins, and measure gradients and curvatures of these bins only."""

    recipe: AdditiveRecipe
    encoder: Encoder
    candidates: Candidates
    gradients: Gradients
    selection: Selection
    noise: Noise

    @property
    def event(self) -> Event:
        """What it costs."""
        return Sequence(
            (
                self.selection.event("feature of a round", "absolute gradients summed over its bins"),
                self.noise.event("gradients and curvatures of the feature's bins", draws=self._most_draws),
            )
        )

    @property
    def _most_draws(self) -> int:
        return int(self.encoder.n_codes.max()) * 2 * self.gradients.scored

    def run(self, curator: Curator, number: int) -> tuple[Forest, Integers]:
        """Return a stump with a leaf for each bin and its votes, (nodes, classes) in fixed point."""
        curator.open_round(self.gradients)
        feature = curator.select_feature(self.selection, self._handicap())
        return self._stump(feature), self._votes(feature, curator.sums(feature, self.noise))

    def _handicap(self) -> Integers:
        """Return what a feature's score loses for its bins: what noise of their sums would add to it by itself."""
        noise = self.noise.deviation * self.gradients.scored
        handicap: Integers = np.rint(np.sqrt(2 / np.pi) * noise * np.sqrt(self.encoder.n_codes)).astype(np.int64)
        return handicap

    def _votes(self, feature: int, sums: Integers) -> Integers:
        """Return the votes of a stump's root, which has none, and of its leaves, (1 + codes, classes), in fixed point."""
        scored, curvature = self.gradients.scored, self.gradients.curvature
        gradient, deviation = sums[:, :scored] / UNIT, self.noise.deviation / UNIT
        measured = sums[:, scored:] / (UNIT * curvature)
        numeric = self.encoder.schema.is_numeric[feature]
        steps = self.recipe.smoothing.steps(gradient, measured, deviation, deviation / curvature, numeric)
        if self.gradients.n_classes == 2:
            steps = np.hstack([-steps / 2, steps / 2])
        steps = steps - steps.mean(axis=1, keepdims=True)
        votes = np.trunc(self.recipe.rate * steps / 2 * VOTE_STEPS).astype(np.int64)
        return np.vstack([np.zeros((1, votes.shape[1]), dtype=np.int64), votes])

    def _stump(self, feature: int) -> Forest:
        nodes = 1 + int(self.encoder.n_codes[feature])
        test, first_child, label = (np.full(nodes, fill, dtype=np.int32) for fill in (-1, 0, 0))
        test[0], first_child[0], label[0] = feature, 1, -1
        return Forest(np.zeros(1, dtype=np.int32), test, first_child, label, self.candidates)
