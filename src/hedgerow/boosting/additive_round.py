"""One round of additive boosting, what is asked before the first, and the recipe that they follow."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients, uncalibrated
from hedgerow.boosting.plan import columns_of, lead
from hedgerow.boosting.smoothing import Smoothing
from hedgerow.boosting.steps import Step, of_split, one_sided, own_votes
from hedgerow.boosting.visits import Visits
from hedgerow.boosting.weights import UNIT, VOTE_STEPS
from hedgerow.curator import Queryable, Round, Splits
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder
from hedgerow.survey import CLEAR, OnesByClass, SurveyRecipe

__all__ = ["MENU", "AdditiveRecipe", "DenseRecipe", "OneRound", "Scout", "Shares", "Sizes", "SplitRecipe"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LONGEST = 1.0  # step of a class: far from the best margin the curvature says too little of the way there
LARGEST_PENALTY = 2.0**61  # where noise is near the samplers' largest
MENU = (2, 3, 5, 8, 12, 18, 28, 42, 63, 94)  # rounds to choose from


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

    def rounds_at(self, precision: float, menu: tuple[int, ...]) -> int:
        """Return the number of rounds in a menu that is nearest to what the precision asks for."""
        wanted = self.rounds[0] * precision ** self.rounds[1]
        return min(menu, key=lambda rounds: abs(np.log(rounds / wanted)))

    def bins_at(self, precision: float) -> int:
        """Return the number of bins of a numeric feature."""
        return int(np.clip(round(self.bins[0] * precision ** self.bins[1]), self.least_bins, self.most_bins))


@dataclass(frozen=True)
class SplitRecipe:
    """Which rounds have splits, and what these lose by themselves.

    Parameters
    ----------
    least_rounds : int
        Only plans of so many rounds have splits.
    after : int
        The rounds of single features before the first splits.
    largest, drawn : int
        How many features are cut in a round: those with the largest curves, and others by public coins; half of them, and in each
        ``every``-th round alone, where the released number of records is above ``many_records``, so that a fit stays affordable.
    penalty, many : float
        The factor of a split's penalty, and of what splits lose together for being many: the logarithm of how many there are for
        each feature, over the rate of the selection.
    deep_from, deep_after, deep_cuts, deep_by : float, int, (int, int), int
        From this precision on, and after ``deep_after`` rounds, features are also cut on both sides of an earlier released cut.
        ``deep_cuts`` is how many earlier cuts, for two classes and for more, those whose steps vote most; ``deep_by`` is how many
        of the round's features each of them gets. Both are halved above ``many_records``.
    strict_chance : float
        The share of what chance adds to a score that candidates of two cuts lose, and in strict rounds those of one cut, too, in
        place of ``AdditiveRecipe.chance``; it is multiplied by ``penalty``.
    clear, clear_penalty : float
        In strict rounds the factor of the penalty is ``clear_penalty`` where the score of the last split that was measured was
        more than ``clear`` times what chance adds to it; without a delta chance is reckoned a little too large for three classes
        and more, whose shares are measured.
    """

    least_rounds: int = 12
    after: int = 3
    largest: int = 2
    drawn: int = 2
    penalty: float = 1.2
    many: float = 2.0
    many_records: float = 250_000.0
    every: int = 4
    deep_from: float = 17_000.0
    deep_after: int = 12
    deep_cuts: tuple[int, int] = (2, 4)
    deep_by: int = 2
    strict_chance: float = 0.75
    clear: float = 1.35
    clear_penalty: float = 1.0


@dataclass(frozen=True)
class DenseRecipe:
    """What is asked of all features before the first round, and the rounds that follow where many of them say something.

    Where nearly all are alike, a selection says little: each round then spends less on it, and there are rounds for every
    feature.

    Parameters
    ----------
    scores, shares : Fraction
        The shares of the budget that the scores of all features get, and the shares of the classes.
    even : float
        Nearly all features are alike where the square of the sum of scores is so much of their number times the sum of squares,
    clear : float
        and the mean score so many deviations of the noise of one.
    share : Fraction
        The share of a round's budget that its selection then gets.
    per_feature, alone : float
        Rounds for each feature, where nearly all are alike, and those of them that go before the first splits.
    least : float
        The precision from which features that stand out by themselves count, and without a delta any are asked for.
    per_clear : float
        Rounds for each of as many alike features as these amount to.
    """

    scores: Fraction = Fraction(6, 100)
    shares: Fraction = Fraction(1, 200)
    even: float = 0.9
    clear: float = 1.6
    share: Fraction = Fraction(1, 12)
    per_feature: float = 4.0
    alone: float = 2.0
    least: float = 1000.0
    per_clear: float = 2.0

    def all_alike(self, scores: Floats, chance: Floats, noise: float) -> bool:
        """Return whether nearly all features say something, and alike, by noisy scores and what chance adds to each."""
        said = scores - chance
        # What the noise adds to squares by itself is taken from them.
        squares = max(float((said**2).sum()) - len(said) * noise**2, 0.0)
        total = float(said.sum())
        return total >= self.clear * noise * len(said) and total**2 >= self.even * len(said) * squares


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
    splits : SplitRecipe
        The rounds that may split.
    chance : float
        How much of what chance adds to a score by itself a candidate loses.
    pure_dense, dense : DenseRecipe
        What is asked of all features without and with a delta, and what follows from it.
    few : Fraction
        The share of the budget that the shares of the classes get where they are asked for alone.
    little : float
        The precision below which the shares of the classes alone are asked for, and from which on, with a delta, the scores of
        all features.
    strict_from : float
        From this precision of one round on, for each class, rounds are strict: what a candidate's last step left of its score
        counts for nothing, and records that the model is surely wrong about count more.
    """

    survey: SurveyRecipe
    share: Fraction
    pure: Sizes
    concentrated: Sizes
    smoothing: Smoothing
    splits: SplitRecipe = SplitRecipe()
    chance: float = 0.5
    pure_dense: DenseRecipe = DenseRecipe(scores=Fraction(3, 100), least=800.0)
    dense: DenseRecipe = DenseRecipe()
    few: Fraction = Fraction(1, 4)
    little: float = 400.0
    strict_from: float = 1500.0

    def round(
        self, budget: Budget, n_classes: int, most_cells: int, share: Fraction | None = None, *, strict: bool = False
    ) -> OneRound:
        """Return a round that costs at most the budget, of candidates with at most so many cells.

        ``share`` is what the selection gets of it; None: what the recipe says.
        """
        rule, share = Gradients(n_classes, budget.concentrated, strict), self.share if share is None else share
        selection = (budget * share).selection(PermuteAndFlip, 2 * rule.scored_l1)
        noise = (budget * (1 - share)).noise_for(rule.l1, rule.l2_squared)
        return OneRound(self, rule, selection, noise, most_cells)

    def sizes(self, budget: Budget) -> Sizes:
        """Return the sizes for a kind of budget."""
        return self.concentrated if budget.concentrated else self.pure


@dataclass(frozen=True, eq=False)
class OneRound:
    """Select one candidate by the absolute gradients of its cells, and measure gradients and curvatures of these cells only.

    In a round of ``strict`` gradients a candidate also loses what its last step left of its score.
    """

    recipe: AdditiveRecipe
    gradients: Gradients
    selection: Selection
    noise: Noise
    most_cells: int

    @property
    def event(self) -> Event:
        """What it costs."""
        return Sequence(
            (
                self.selection.event("candidate of a round", "absolute gradients summed over its cells"),
                self.noise.event(
                    "gradients and curvatures of the candidate's cells",
                    draws=self.most_cells * 2 * self.gradients.scored,
                ),
            )
        )

    def begin(self) -> Visits:
        """Return what records the rounds of a fit by their candidates."""
        return Visits(self.recipe.smoothing, *self.deviations)

    @property
    def deviations(self) -> tuple[float, float]:
        """The standard deviations of the noise of a gradient and of a curvature."""
        gradient = self.noise.deviation / UNIT
        return gradient, gradient / self.gradients.curvature

    def run(
        self,
        asked: Round,
        encoder: Encoder,
        splits: Splits | None,
        curvature: Floats,
        before: abc.Sequence[Step],
        visits: Visits,
    ) -> tuple[Step, Floats]:
        """Return what the round adds, and the curvature of all records.

        The curvature is known from what was released before: its sum over the records for each scored channel. ``before`` are the
        steps of the rounds before, and ``visits`` what these measured.
        """
        penalty = self.penalty(encoder.n_codes, curvature, visits.left(len(encoder.n_codes)))
        if splits is not None:
            of_splits = self.penalty_of_splits(splits, curvature, visits.left_of(splits), visits.last_split)
            penalty = np.concatenate([penalty, of_splits])
        chosen = asked.select(self.selection, penalty)
        sums, scored = asked.sums(chosen, self.noise), self.gradients.scored
        gradient, measured = sums[:, :scored] / UNIT, sums[:, scored:] / (UNIT * self.gradients.curvature)
        after = self.gradients.curvature_of(measured.sum(axis=0))
        numeric = encoder.schema.is_numeric
        if chosen < len(numeric):
            own = own_votes(before, chosen, int(encoder.n_codes[chosen]), self.gradients.n_classes)
            said = columns_of(lead(own / VOTE_STEPS))
            visit = visits.visit(chosen, gradient, measured, said, numeric=numeric[chosen])
            if self.gradients.strict:
                visits.leave(chosen, gradient, measured, visit.steps)
            return replace(one_sided(chosen, self._votes(visit.steps)), sums=sums), after
        assert splits is not None
        split = splits[chosen - len(numeric)]
        sides = zip(np.split(gradient, split.n_sides), np.split(measured, split.n_sides), strict=True)
        steps = np.concatenate(
            [self.recipe.smoothing.steps(*side, *self.deviations, numeric[split.feature]) for side in sides]
        )
        if self.gradients.strict:
            visits.leave(split, gradient, measured, steps)
        return replace(of_split(split, self._votes(steps)), sums=sums), after

    def penalty(self, n_cells: Integers, curvature: Floats, left: Floats) -> Integers:
        """Return what a score loses for its cells: what noise of their sums, and part of what chance, would add by themselves.

        What the last step ``left`` (candidates,) takes the place of that part where it is more, up to all that chance would add.
        """
        noise, chance = self.by_itself(n_cells, curvature)
        return _capped(np.rint(noise + self._by_chance(self.recipe.chance, chance, left)))

    def penalty_of_splits(self, splits: Splits, curvature: Floats, left: Floats, last: float) -> Integers:
        """Return what the scores of splits lose: the same for their cells, and for being many.

        Splits of one cut compete with each other, splits of two cuts with all splits. ``last`` is how many times what chance adds
        to it the score of the last split was that was measured: where splits say something they lose less.
        """
        recipe, features, deep = self.recipe.splits, len(splits.into), splits.n_sides > 2
        noise, chance = self.by_itself(splits.n_cells, curvature)
        share = np.where(deep | self.gradients.strict, recipe.strict_chance, self.recipe.chance)
        penalty = recipe.clear_penalty if last > recipe.clear else recipe.penalty
        cells = np.rint(penalty * (noise + self._by_chance(share, chance, left)))
        rivals = np.where(deep, len(deep), (~deep).sum())
        many = recipe.many * np.log(np.maximum(rivals / features, 1)) / float(self.selection.rate.fraction)
        return _capped(cells + many)

    def by_itself(self, n_cells: Integers, curvature: Floats) -> tuple[Floats, Floats]:
        """Return what noise, and what chance, add to a score of so many cells that says nothing.

        By chance alone residuals of records add up to about the root of their curvature in each cell, most where cells are even.
        """
        cells = np.sqrt(2 / np.pi * n_cells)
        chance = UNIT * np.sqrt(np.maximum(curvature, 0)).sum()
        return cells * self.noise.deviation * self.gradients.scored, cells * chance

    @staticmethod
    def _by_chance(share: float | Floats, chance: Floats, left: Floats) -> Floats:
        return np.maximum(share * chance, np.minimum(UNIT * left, chance))

    def _votes(self, steps: Floats) -> Integers:
        """Return steps (cells, columns) as votes, (cells, classes)."""
        if self.gradients.n_classes == 2:
            steps = np.hstack([-steps / 2, steps / 2])
        steps = np.clip(steps, -LONGEST, LONGEST)
        steps = steps - steps.mean(axis=1, keepdims=True)
        votes: Integers = np.trunc(steps * VOTE_STEPS).astype(np.int64)
        return votes


def _capped(loss: Floats) -> Integers:
    """Return losses as whole numbers, rounded towards zero, none above ``LARGEST_PENALTY``."""
    capped: Integers = np.minimum(loss, LARGEST_PENALTY).astype(np.int64)
    return capped


@dataclass(frozen=True, eq=False)
class Shares:
    """What is asked of the classes before the first round: their shares. ``left`` is what it leaves of the budget."""

    rule: Gradients
    noise: Noise
    left: Budget

    @property
    def events(self) -> tuple[Event, ...]:
        """What it costs."""
        return (self.noise.event("number of records of each class", draws=self.rule.n_classes),)

    def ask(self, curator: Queryable) -> tuple[Floats, Integers]:
        """Return what a model says at which gradients cancel, drawn towards even shares by the noise, and the votes for it."""
        released = curator.open_round(OnesByClass(self.rule.n_classes)).whole_sums(self.noise)
        counts = np.maximum(released, 0) + 1 + CLEAR * self.noise.deviation
        shares = uncalibrated(counts / counts.sum(), self.rule.cap)
        odds = np.log(shares)
        votes: Integers = np.trunc((odds - odds.mean()) * VOTE_STEPS).astype(np.int64)
        return shares, votes


@dataclass(frozen=True, eq=False)
class Scout:
    """What is asked of all features before the first round: every feature's score beside the classes' shares.

    ``left`` is what it and the shares leave of the budget.
    """

    shares: Shares
    noise: Noise
    features: int
    left: Budget

    @property
    def events(self) -> tuple[Event, ...]:
        """What it costs, the shares included."""
        return (*self.shares.events, self.noise.event("scores of all features", draws=self.features))
