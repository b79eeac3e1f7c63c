"""HedgerowClassifier's method: each round selects one feature and takes one damped Newton step for each of its bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.additive_model import AdditiveModel, additive_model, restored_additive
from hedgerow.boosting.additive_round import MENU, AdditiveRecipe, DenseRecipe, OneRound, Scout, Shares
from hedgerow.boosting.gradients import Gradients, intercept_of
from hedgerow.boosting.measured import Measured
from hedgerow.boosting.monotone import Monotone
from hedgerow.boosting.steps import MOST_CUTS, Step, can_be_cut, constant, largest, largest_cuts, splits_of, widest_side
from hedgerow.class_weights import ClassWeights
from hedgerow.curator import Cut, Queryable, Splits
from hedgerow.mechanisms import Budget, PublicChoice
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, OneOf, Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.survey import CLEAR, FINE, Ones, Survey, fine_encoder

__all__ = ["AdditivePlan"]

Floats = npt.NDArray[np.float64]

MOST_SPLIT_SUMS = 1 << 21  # of a round, more than which are not worked out


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
    monotone : Monotone or None
        How curves may go; steps are projected as soon as they are released.
    weights : ClassWeights or None
        What the classes count in the decision, which moves the released margins by a constant; None: all alike.
    fine : Encoder or None
        The bins that the survey merges, at most 255 of a feature; None: those of ``fine_encoder``.
    """

    def __init__(
        self,
        recipe: AdditiveRecipe,
        schema: Schema,
        claim: Claim,
        *,
        rounds: int | None,
        bins: int | None,
        monotone: Monotone | None = None,
        weights: ClassWeights | None = None,
        fine: Encoder | None = None,
    ) -> None:
        self._recipe, self._schema, self._claim = recipe, schema, claim
        self._rounds, self._bins, self._weights = rounds, bins, weights
        self._monotone = Monotone.of(None, schema) if monotone is None else monotone
        self._menu = MENU if rounds is None else (rounds,)
        self._encoder = fine_encoder(schema) if fine is None else fine
        self._counts = rounds is None or (bins is None and any(map(len, self._encoder.edges)))
        bins = bins or max(recipe.pure.most_bins, recipe.concentrated.most_bins)
        n_codes, numeric = self._encoder.n_codes, np.array(schema.is_numeric)
        n_codes = np.where(numeric, np.minimum(n_codes, bins + 1), n_codes)
        most = int(n_codes.max())
        self._most_cells = {False: most, True: max(most, (1 << MOST_CUTS) * widest_side(n_codes, numeric))}
        self._budget = Budget.of(claim, self._event)

    def on(self, encoder: Encoder) -> AdditivePlan:
        """Return the plan that merges the bins of an encoder, where they are as many as fine ones may be."""
        if encoder.max_bins != FINE:
            return self
        return AdditivePlan(
            self._recipe,
            self._schema,
            self._claim,
            rounds=self._rounds,
            bins=self._bins,
            monotone=self._monotone,
            weights=self._weights,
            fine=encoder,
        )

    def _survey(self, budget: Budget) -> Survey:
        return self._recipe.survey.survey(budget, self._encoder, counts=self._counts)

    def _round(self, budget: Budget, rounds: int, share: Fraction | None = None, *, strict: bool = False) -> OneRound:
        most = self._most_cells[rounds >= self._recipe.splits.least_rounds]
        return self._recipe.round(budget / rounds, len(self._encoder.schema.classes), most, share, strict=strict)

    def _shares(self, left: Budget, share: Fraction) -> Shares:
        """Return what is asked of the classes before the first round, for a share of what is left of the budget."""
        return Shares(self._gradients_of(left), (left * share).noise(), left * (1 - share))

    def _scout(self, left: Budget) -> Scout:
        """Return what is asked of all features before the first round."""
        dense, features = self._dense(left), len(self._encoder.schema.names)
        most = self._gradients_of(left).scored_l1
        noise = (left * dense.scores).noise_for(features * most, features * most**2)
        return Scout(self._shares(left, dense.shares), noise, features, left * (1 - dense.scores - dense.shares))

    def _dense(self, budget: Budget) -> DenseRecipe:
        return self._recipe.dense if budget.concentrated else self._recipe.pure_dense

    def _gradients_of(self, budget: Budget) -> Gradients:
        return Gradients(len(self._encoder.schema.classes), normal=budget.concentrated)

    @property
    def _asks_scores(self) -> bool:
        """Whether the scores of all features may be asked for: where the rounds are to be found, and there are some to choose."""
        return self._rounds is None and len(self._encoder.schema.names) > 1

    @property
    def _least_for_scores(self) -> float:
        """The precision from which they are asked for."""
        return self._recipe.little if self._budget.concentrated else self._recipe.pure_dense.least

    def _event(self, budget: Budget) -> Event:
        left = budget * self._survey(budget).left
        openings: list[tuple[tuple[Event, ...], Budget, Fraction | None]] = [((), left, None)]
        if self._counts:
            shares = self._shares(left, self._recipe.few)
            openings.append((shares.events, shares.left, None))
        if self._asks_scores:
            scout = self._scout(left)
            shares_of_selections = (None, self._recipe.dense.share) if budget.concentrated else (None,)
            openings += [(scout.events, scout.left, share) for share in shares_of_selections]
        choices = [
            Sequence((*events, *(self._round(rest, rounds, share, strict=strict).event,) * rounds))
            for events, rest, share in openings
            for rounds in self._menu
            for strict in ((False, True) if self._counts else (False,))
        ]
        label = f"{', '.join(map(str, self._menu))} rounds, as noisy numbers of records and scores say"
        boosting = choices[0] if len(choices) == 1 else OneOf(tuple(choices), label)
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
        encoder, left = self._encoder.merged(merges), self._budget * survey.left
        last: Step | None = None
        said: Floats | None = None
        share: Fraction | None = None
        intercept = np.zeros(len(encoder.schema.classes), dtype=np.int64)
        if records is not None and self._precision(records) < self._recipe.little:
            shares = self._shares(left, self._recipe.few)
            said, intercept = shares.ask(curator)
            last, left = constant(encoder, intercept), shares.left
        elif records is not None and self._asks_scores and self._precision(records) >= self._least_for_scores:
            scout = self._scout(left)
            dense, share, last = self._for_dense(curator, scout, encoder, records)
            rounds, left = max(rounds, dense), scout.left
        strict = self._strict(records, rounds)
        one = self._round(left, rounds, share, strict=strict)
        curvature = one.gradients.first_curvature(records or 0.0, said)
        alone = 0.0 if share is None else min(self._dense(left).alone * len(encoder.n_codes), 2 * rounds // 3)
        steps: list[Step] = []
        visits = one.begin()
        for number in range(rounds):
            splits = None if number < alone else self._splits(curator, encoder, steps, rounds, number, records)
            asked = curator.open_round(one.gradients, last, splits)
            found, curvature = one.run(asked, encoder, splits, curvature, steps, visits)
            last = self._monotone.projected(found, steps)
            steps.append(last)
        if self._weights:
            intercept = intercept + intercept_of(self._weights.array(), one.gradients.cap)
        steps[0] = replace(steps[0], votes=steps[0].votes + intercept)
        measured = Measured.of(steps, one.noise, one.gradients)
        return additive_model(encoder, steps, measured, self._recipe.smoothing, self._monotone, strict=strict)

    def _sizes(self, records: float | None) -> tuple[int, int]:
        """Return rounds and bins; what the user asked for comes first."""
        if records is None:
            assert self._rounds is not None
            return self._rounds, self._bins or FINE
        precision, sizes = self._precision(records), self._recipe.sizes(self._budget)
        return self._rounds or sizes.rounds_at(precision, self._menu), self._bins or sizes.bins_at(precision)

    def _precision(self, records: float) -> float:
        """Return how many times the noise of one count, at the budget that is left, there are records."""
        left = float(self._budget.amount * self._survey(self._budget).left)
        return float(records * (np.sqrt(2 * left) if self._budget.concentrated else left))

    def _strict(self, records: float | None, rounds: int) -> bool:
        """Return whether rounds are strict: so precise that what a step leaves of its candidate's score is not their noise."""
        parts = len(self._schema.classes) * (np.sqrt(rounds) if self._budget.concentrated else rounds)
        return records is not None and bool(self._precision(records) / parts >= self._recipe.strict_from)

    def _for_dense(
        self, curator: Queryable, scout: Scout, encoder: Encoder, records: float
    ) -> tuple[int, Fraction | None, Step]:
        """Return the rounds that features ask for, the share of their selections and the step that takes margins back to zero.

        With a delta there are some rounds for each feature where nearly all are alike; without one they are too dear. Else there
        are some for each whose noisy score stands out of the noise of so many rounds: so many alike features carry as much as
        (sum q)^2 / sum q^2 of scores q, less what noise and chance add to them. The scores are asked where the margins say the
        classes' shares, which otherwise every score would hold.
        """
        rule, recipe = scout.shares.rule, self._dense(self._budget)
        shares, intercept = scout.shares.ask(curator)
        scores = curator.open_round(rule, constant(encoder, intercept)).scores(scout.noise).astype(float)
        curvature = rule.first_curvature(records, shares)
        back = constant(encoder, -intercept)
        _, chance = self._round(scout.left, 1).by_itself(encoder.n_codes, curvature)
        if self._budget.concentrated and recipe.all_alike(scores, chance, scout.noise.deviation):
            return self._most_within(recipe.per_feature * len(scores)), recipe.share, back
        found, doubt = 0, CLEAR * scout.noise.deviation
        # What a signal and chance add to a score grows as the root of their squares.
        signal = np.sqrt(np.maximum(np.maximum(scores, 0.0) ** 2 - chance**2, 0))
        for rounds in self._menu if self._precision(records) >= recipe.least else ():
            noise, _ = self._round(scout.left, rounds).by_itself(encoder.n_codes, curvature)
            clear = np.where(scores > chance + doubt, np.maximum(signal - noise, 0), 0)
            if clear.any() and recipe.per_clear * clear.sum() ** 2 / (clear**2).sum() >= rounds:
                found = rounds
        return found, None, back

    def _most_within(self, wanted: float) -> int:
        """Return the most rounds of the menu that are not more than wanted, or its least."""
        return max((rounds for rounds in self._menu if rounds <= wanted), default=self._menu[0])

    def _splits(
        self, curator: Queryable, encoder: Encoder, steps: list[Step], rounds: int, number: int, records: float | None
    ) -> Splits | None:
        """Return the splits of a round, by public coins and what was released; None where it has none."""
        recipe, can = self._recipe.splits, can_be_cut(encoder)
        if rounds < recipe.least_rounds or number < recipe.after or len(can) < 2:
            return None
        part = 1
        if records is not None and records > recipe.many_records:
            part = 2
            if (number - recipe.after) % recipe.every:
                return None
        by = largest(steps, can, recipe.largest // part)
        others = can.copy()
        others[by] = False
        for _ in range(min((recipe.largest + recipe.drawn) // part - len(by), int(others.sum()))):
            drawn = int(curator.draw_public(PublicChoice(), others[None].astype(np.int64))[0])
            by.append(drawn)
            others[drawn] = False
        if not by:
            return None
        channels = Gradients(len(encoder.schema.classes), normal=self._budget.concentrated).channels
        second_cuts = self._second_cuts(steps, by, number, records, part)
        for more in (second_cuts, []):  # without them where sums would be too many
            features, earlier = [*by, *(j for j, _ in more)], [*(None for _ in by), *(cut for _, cut in more)]
            splits = splits_of(encoder, features, earlier)
            if splits.groups.n_groups * int(encoder.n_codes.sum()) * channels <= MOST_SPLIT_SUMS:
                return splits
        return None

    def _second_cuts(
        self, steps: list[Step], by: list[int], number: int, records: float | None, part: int
    ) -> list[tuple[int, Cut]]:
        """Return the features that a round also cuts on both sides of earlier cuts, each with that cut."""
        recipe = self._recipe.splits
        if (
            records is None
            or self._monotone
            or number < recipe.deep_after
            or self._precision(records) < recipe.deep_from
        ):
            return []
        earlier = largest_cuts(steps, recipe.deep_cuts[len(self._schema.classes) > 2] // part)
        return [(j, cut) for cut in earlier for j in [k for k in by if k != cut.by][: recipe.deep_by // part]]

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> AdditiveModel:
        """Return the model whose steps, votes and cut points stand in the arrays, or raise FileFormatError."""
        return restored_additive(arrays, self._encoder, max(self._menu), self._recipe.smoothing, self._monotone)
