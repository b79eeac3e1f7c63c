"""HedgerowClassifier's method: each round selects one feature and takes one damped Newton step for each of its bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.boosting import kernels
from hedgerow.boosting.gradients import Gradients, calibrated
from hedgerow.boosting.plan import BoostedModel, restored
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.survey import FINE, Ones, Survey, SurveyRecipe
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Queryable, Round
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, OneOf, Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.scores import multiway
from hedgerow.trees import Forest

__all__ = ["AdditiveModel", "AdditivePlan", "AdditiveRecipe", "Sizes"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LONGEST = 1.0  # step of a class: far from the best margin the curvature says too little of the way there
LARGEST_PENALTY = 2.0**61  # where noise is near the samplers' largest
MENU = (2, 3, 5, 8, 12, 18, 28, 42)  # rounds to choose from


@dataclass(frozen=True)
class Sizes:
    """Rounds and bins by precision: how many times the noise of one count, at the whole budget, there are records.

    Parameters
    ----------
    rounds, bins : (float, float)
        A factor, and the power of the precision that it is for.
    least_bins, most_bins : int
        The range of bins.
    """

    rounds: tuple[float, float]
    bins: tuple[float, float]
    least_bins: int = 8
    most_bins: int = 40

    def rounds_at(self, precision: float) -> int:
        """Return the number of rounds in the menu that is nearest to what the precision asks for."""
        wanted = self.rounds[0] * precision ** self.rounds[1]
        return min(MENU, key=lambda rounds: abs(np.log(rounds / wanted)))

    def bins_at(self, precision: float) -> int:
        """Return the number of bins of a numeric feature."""
        return int(np.clip(round(self.bins[0] * precision ** self.bins[1]), self.least_bins, self.most_bins))


@dataclass(frozen=True)
class AdditiveRecipe:
    """Additive boosting in its parts.

    Parameters
    ----------
    survey : SurveyRecipe
        What is asked before the first round.
    share : Fraction
        The share of a round's budget that the selection gets.
    pure, concentrated : Sizes
        How many rounds and bins without and with a delta.
    smoothing : Smoothing
        What is known of steps beforehand.
    """

    survey: SurveyRecipe
    share: Fraction
    pure: Sizes
    concentrated: Sizes
    smoothing: Smoothing

    def round(self, budget: Budget, n_classes: int, most_codes: int) -> FeatureRound:
        """Return a round that costs at most the budget, for features of at most so many codes."""
        rule = Gradients(n_classes, normal=budget.concentrated)
        selection = (budget * self.share).selection(PermuteAndFlip, 2 * rule.scored_l1)
        noise = (budget * (1 - self.share)).noise_for(rule.l1, rule.l2_squared)
        return FeatureRound(self.smoothing, rule, selection, noise, most_codes)

    def sizes(self, budget: Budget) -> Sizes:
        """Return the sizes for a kind of budget."""
        return self.concentrated if budget.concentrated else self.pure


@dataclass(frozen=True, eq=False)
class FeatureRound:
    """Select one feature by the absolute gradients of its bins, and measure gradients and curvatures of these bins only."""

    smoothing: Smoothing
    gradients: Gradients
    selection: Selection
    noise: Noise
    most_codes: int

    @property
    def event(self) -> Event:
        """What it costs."""
        return Sequence(
            (
                self.selection.event("feature of a round", "absolute gradients summed over its bins"),
                self.noise.event(
                    "gradients and curvatures of the feature's bins", draws=self.most_codes * 2 * self.gradients.scored
                ),
            )
        )

    def run(self, asked: Round, encoder: Encoder, curvature: Floats) -> tuple[int, Integers, Floats]:
        """Return the feature, the votes for its codes, (codes, classes), in fixed point, and the curvature of all records.

        The curvature is known from what was released before: its sum over the records for each scored channel.
        """
        feature = asked.select_feature(self.selection, self._penalty(encoder.n_codes, curvature))
        sums = asked.sums(feature, self.noise)
        scored = self.gradients.scored
        measured = sums[:, scored:] / (UNIT * self.gradients.curvature)
        votes = self._votes(sums[:, :scored] / UNIT, measured, numeric=encoder.schema.is_numeric[feature])
        return feature, votes, measured.sum(axis=0)

    def _penalty(self, n_codes: Integers, curvature: Floats) -> Integers:
        """Return what a feature's score loses for its bins: what noise of their sums, and chance, would add to it by themselves.

        By chance alone residuals of records add up to about the root of their curvature in each bin, most where bins are even.
        """
        chance = UNIT * np.sqrt(np.maximum(curvature, 0)).sum()
        noise = self.noise.deviation * self.gradients.scored
        by_itself = np.rint(np.sqrt(2 / np.pi * n_codes) * (noise + chance))
        penalty: Integers = np.minimum(by_itself, LARGEST_PENALTY).astype(np.int64)
        return penalty

    def _votes(self, gradient: Floats, measured: Floats, *, numeric: bool) -> Integers:
        curvature, deviation = self.gradients.curvature, self.noise.deviation / UNIT
        steps = self.smoothing.steps(gradient, measured, deviation, deviation / curvature, numeric)
        if self.gradients.n_classes == 2:
            steps = np.hstack([-steps / 2, steps / 2])
        steps = np.clip(steps, -LONGEST, LONGEST)
        steps = steps - steps.mean(axis=1, keepdims=True)
        votes: Integers = np.trunc(steps * VOTE_STEPS).astype(np.int64)
        return votes


@dataclass(frozen=True, eq=False)
class StumpVotes:
    """What a stump says of records: the votes (codes, classes) for the codes of one feature."""

    feature: int
    votes: Integers

    def __call__(self, codes: npt.NDArray[np.unsignedinteger], margins: npt.NDArray[np.signedinteger]) -> None:
        """Add it to ``margins`` (records, classes) of ``codes`` (records, features)."""
        kernels.add_votes(codes, self.feature, self.votes, margins)


class AdditiveModel(BoostedModel):
    """Stumps whose votes add up to the margins of capped gradients."""

    def said(self, sums: Floats) -> Floats:
        """Return the probabilities that sums of votes (records, classes) stand for."""
        return calibrated(super().said(sums))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the stumps, their votes and the cut points as named arrays."""
        edges = self.encoder.edges
        return {
            **super().to_arrays(),
            "edges": np.concatenate(edges),
            "edge_counts": np.array([len(cuts) for cuts in edges], dtype=np.int64),
        }


class AdditivePlan:
    """Additive boosting that is about to be fitted: a survey, then as many rounds as its answer asks for.

    Parameters
    ----------
    recipe : AdditiveRecipe
        Its parts.
    schema : Schema
        What is public about the records.
    claim : Claim
        What the plan keeps to.
    rounds, bins : int or None
        Rounds, and bins of a numeric feature; None: by the precision that the noisy number of records shows.
    """

    def __init__(
        self,
        recipe: AdditiveRecipe,
        schema: Schema,
        claim: Claim,
        *,
        rounds: int | None,
        bins: int | None,
    ) -> None:
        self._recipe = recipe
        self._rounds, self._bins = rounds, bins
        self._menu = MENU if rounds is None else (rounds,)
        self._encoder = Encoder(schema, FINE)
        self._counts = rounds is None or (bins is None and any(map(len, self._encoder.edges)))
        bins = bins or max(recipe.pure.most_bins, recipe.concentrated.most_bins)
        n_codes, numeric = self._encoder.n_codes, schema.is_numeric
        self._most_codes = int(np.where(numeric, np.minimum(n_codes, bins + 1), n_codes).max())
        self._budget = Budget.of(claim, self._event)

    def _survey(self, budget: Budget) -> Survey:
        return self._recipe.survey.survey(budget, self._encoder, counts=self._counts)

    def _round(self, budget: Budget, rounds: int) -> FeatureRound:
        budget_of_one = budget * self._survey(budget).left / rounds
        return self._recipe.round(budget_of_one, len(self._encoder.schema.classes), self._most_codes)

    def _event(self, budget: Budget) -> Event:
        choices = tuple(Sequence((self._round(budget, rounds).event,) * rounds) for rounds in self._menu)
        label = f"{', '.join(map(str, self._menu))} rounds, as the noisy number of records says"
        boosting = choices[0] if len(choices) == 1 else OneOf(choices, label)
        return Sequence((*self._survey(budget).event.parts, boosting))

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return self._event(self._budget)

    @property
    def encoder(self) -> Encoder:
        """How records are read: numeric features in fine bins, which the survey merges."""
        return self._encoder

    def fit(self, curator: Queryable) -> AdditiveModel:
        """Boost by asking a curator."""
        survey = self._survey(self._budget)
        asked = curator.open_round(Ones())
        released = survey.records(asked)
        curator.doubts += survey.doubts(released)
        records = None if released is None else max(float(released), 1.0)
        rounds, bins = self._sizes(records)
        merges = survey.merges(asked, bins)
        curator.merge(merges)
        encoder, one = self._encoder.merged(merges), self._round(self._budget, rounds)
        curvature, last = one.gradients.first_curvature(records or 0.0), None
        stumps = []
        for _ in range(rounds):
            feature, votes, curvature = one.run(curator.open_round(one.gradients, last), encoder, curvature)
            last = StumpVotes(feature, votes)
            stumps.append((feature, votes))
        return additive_model(encoder, stumps)

    def _sizes(self, records: float | None) -> tuple[int, int]:
        """Return rounds and bins; what the user asked for comes first."""
        if records is None:
            assert self._rounds is not None
            return self._rounds, self._bins or FINE
        left = float(self._budget.amount * self._survey(self._budget).left)
        precision = records * (np.sqrt(2 * left) if self._budget.concentrated else left)
        sizes = self._recipe.sizes(self._budget)
        return self._rounds or sizes.rounds_at(precision), self._bins or sizes.bins_at(precision)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> AdditiveModel:
        """Return the model whose stumps, votes and cut points stand in the arrays, or raise FileFormatError."""
        encoder = _with_edges(self._encoder, arrays)
        model = restored(arrays, encoder, multiway(encoder.n_codes), max(self._menu))
        test = model.forest.test
        if np.any(test[model.forest.roots] < 0) or np.count_nonzero(test >= 0) != len(model.forest.roots):
            raise FileFormatError("the file's trees are no stumps, as this model's are; fit the model again.")
        return AdditiveModel(model.encoder, model.forest, model.share)


def additive_model(encoder: Encoder, stumps: list[tuple[int, Integers]]) -> AdditiveModel:
    """Return the model of stumps, each a feature and the votes for its codes."""
    candidates = multiway(encoder.n_codes)
    trees, shares = [], []
    for feature, votes in stumps:
        nodes = 1 + len(votes)
        test, first_child, label = (np.full(nodes, fill, dtype=np.int32) for fill in (-1, 0, 0))
        test[0], first_child[0], label[0] = feature, 1, -1
        trees.append(Forest(np.zeros(1, dtype=np.int32), test, first_child, label, candidates))
        shares += [np.zeros((1, votes.shape[1]), dtype=np.int64), votes]
    return AdditiveModel(encoder, Forest.joined(*trees), np.concatenate(shares) / VOTE_STEPS)


def _with_edges(fine: Encoder, arrays: Mapping[str, npt.NDArray[Any]]) -> Encoder:
    """Return the encoder whose edges stand in the arrays: some of the fine ones."""
    edges, counts = arrays.get("edges"), arrays.get("edge_counts")
    if (
        edges is None
        or counts is None
        or edges.dtype != np.float64
        or counts.dtype != np.int64
        or counts.shape != (len(fine.edges),)
        or np.any(counts < 0)
        or np.any(counts > FINE)
        or edges.shape != (int(counts.sum()),)
    ):
        raise FileFormatError("the file's cut points are damaged; fit the model again.")
    cuts = np.split(edges, np.cumsum(counts)[:-1])
    for kept, known in zip(cuts, fine.edges, strict=True):
        if (len(kept) > 0) != (len(known) > 0) or not np.isin(kept, known).all() or np.any(np.diff(kept) <= 0):
            raise FileFormatError("the file's cut points are damaged; fit the model again.")
    return Encoder(
        fine.schema.cut_at({name: kept.tolist() for name, kept in zip(fine.schema.names, cuts, strict=True)}), FINE
    )
