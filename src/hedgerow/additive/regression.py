"""HedgerowRegressor's plan: a histogram of the outcome, rounds whose clip released histograms set, and the mean of what is left."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive.outcome_model import RegressionModel
from hedgerow.additive.plan import AdditivePlan, Course, Opening, Rules
from hedgerow.additive.round import Fit
from hedgerow.additive.squared import Distances, Spread, Squared
from hedgerow.curator import Queryable
from hedgerow.margins import UNIT
from hedgerow.mechanisms import Budget, Noise
from hedgerow.privacy.events import Event, Sequence
from hedgerow.survey import SurveyRecipe, too_few

__all__ = ["RegressionPlan", "RegressionRules"]


@dataclass(frozen=True)
class RegressionRules(Rules):
    """What decides about a regression, from released values alone; see ``Rules``.

    Parameters
    ----------
    opening : Fraction
        The share of the histogram of the outcome where the noise of a count at the whole budget is 1; it grows with its root.
    most_opening : Fraction
        The largest share of the opening.
    survey : Fraction
        The share of the histograms of features.
    renewal : Fraction
        The share of each histogram of residuals.
    renewals : int
        How many of these there are at most, the last before the final mean.
    later : float
        After so many times as many rounds as before the last histogram of residuals there is another one.
    final : float
        The share of the rounds' budget that the final mean gets.
    learns_from : float
        The precision from which there are rounds; below it the model is the mean.
    multiple, pure_multiple : int
        What a record adds to the count, in thousandths of the largest residual, with normal and other noise.
    cells : float
        The clip is set for a cell that holds one in so many records.
    """

    opening: Fraction = Fraction(1, 50)
    most_opening: Fraction = Fraction(1, 10)
    survey: Fraction = Fraction(1, 20)
    renewal: Fraction = Fraction(1, 100)
    renewals: int = 7
    later: float = 1.7
    final: float = 0.02
    learns_from: float = 20.0
    multiple: int = 500
    pure_multiple: int = 250
    cells: float = 10.0


@dataclass(frozen=True, eq=False)
class OutcomeOpening(Opening):
    """Everything that is asked beside rounds: histograms of the outcome, of features, and of residuals between rounds.

    ``anchor`` is the point of the grid next to zero, around which bins of the outcome are narrow.
    """

    anchor: int
    rules: RegressionRules

    @property
    def left(self) -> Budget:
        """What it leaves of the budget."""
        return self.budget * (self.survey.left - self.share - self.rules.renewals * self.rules.renewal)

    @cached_property
    def _watching(self) -> Noise:
        return (self.budget * self.rules.renewal).noise()

    @property
    def event(self) -> Event:
        """What it costs."""
        asked = self._noise.event("histogram of the outcome", draws=Distances(signed=True).channels)
        watched = self._watching.event("histogram of absolute residuals", draws=Distances().channels)
        return Sequence((asked, *self.survey.event.parts, *(watched,) * self.rules.renewals))

    def outcome(self, curator: Queryable) -> Spread:
        """Return how far outcomes are from the anchor."""
        rule = Distances(signed=True, anchor=self.anchor)
        released = curator.open_round(rule, whole=True).whole_sums(self._noise)
        curator.doubts += too_few(int(released.sum()), self._noise, rule.channels)
        return Spread.of(rule, released, self._noise.deviation)

    def residuals(self, curator: Queryable, fit: Fit) -> Spread:
        """Return how absolute residuals spread; at most ``renewals`` times."""
        rule = Distances()
        released = curator.open_round(rule, fit.take(), whole=True).whole_sums(self._watching)
        return Spread.of(rule, released, self._watching.deviation)


class RegressionPlan(AdditivePlan):
    """Additive boosting of a number that is about to be fitted; parameters are those of ``AdditivePlan``."""

    _rules: RegressionRules
    _opening: OutcomeOpening

    def _opening_of(self, budget: Budget) -> OutcomeOpening:
        rules, grid = self._rules, self._encoder.schema.outcome_grid
        share = Fraction(math.sqrt(budget.noise().deviation)).limit_denominator(1 << 10) * rules.opening
        survey = SurveyRecipe(histograms=rules.survey).survey(budget, self._encoder, counts=False)
        loss = Squared(1, 1.0, 1.0, rules.multiple if budget.concentrated else rules.pure_multiple)
        anchor = int(grid.codes(np.array([0.0]))[0])
        return OutcomeOpening(loss, budget, min(share, rules.most_opening), survey, anchor, rules)

    def _units_for(self, rounds: int) -> int:
        return rounds + self._final_units(rounds)

    def _final_units(self, units: int) -> int:
        return math.ceil(units * self._rules.final)

    def fit(self, curator: Queryable) -> RegressionModel:
        """Boost by asking a curator."""
        opening = self._opening
        outcome = opening.outcome(curator)
        precision = self._precision(outcome.records)
        fit = Fit(opening.merge(curator, self._bins_at(precision)), np.array([outcome.records]))
        start = opening.anchor + round(outcome.mean)
        fit.begin(np.array([start]))
        units = self._stage.units - self._final_units(self._stage.units)
        if precision < self._rules.learns_from:
            units = 0
        course = Course(self, precision, units, may_cut=precision >= self._rules.cuts_from)
        clips = Clips(self, course.size, outcome.around(outcome.mean))
        while size := course.next_units():
            clips.renew(curator, fit)
            cuts = min(course.next_cuts(), self._affordable(fit))
            by = self._cut_by(curator, fit) if cuts else []
            one = replace(self._stage.one(size, cuts), loss=clips.loss)
            term, found = one.run(curator, fit, by)
            course.saw(found.evidence)
            fit.add(self._kept(term, fit))
        start += self._shift(curator, fit, self._stage.units - units)
        return RegressionModel(fit.encoder, opening.loss, np.array([start]), tuple(fit.terms), self._signs)

    def _shift(self, curator: Queryable, fit: Fit, units: int) -> int:
        """Return the mean residual, by what so many units leave when nothing is selected.

        Residuals are clipped where the noise and what is cut off, which may have one sign, are least together.
        """
        spread, noise = self._opening.residuals(curator, fit), self._stage.one(units, 0).noise
        loss = replace(self._opening.loss, clip=spread.wide_clip(noise.deviation / UNIT))
        total, count = curator.open_round(loss, whole=True).whole_sums(noise)
        records = max(count / loss.constant, noise.deviation / loss.constant, 1.0)
        return int(np.clip(total / UNIT / records, -1, 1) * loss.clip)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> RegressionModel:
        """Return the model whose terms and cut points stand in the arrays, or raise FileFormatError."""
        model = super().restore(arrays)
        return RegressionModel(model.encoder, self._opening.loss, model.start, model.terms, model.signs)


class Clips:
    """The clip of residuals as rounds go on: renewed after numbers of rounds that grow by a factor."""

    def __init__(self, plan: RegressionPlan, size: int, outcome: Spread) -> None:
        self._plan, self._rules = plan, plan._rules
        self._noise = plan._stage.one(size, 0).noise.deviation / UNIT
        self._rounds, self._next, self._left = 0, 1.0, self._rules.renewals - 1
        self.loss = self._loss(outcome)

    def _loss(self, spread: Spread) -> Squared:
        return spread.loss(self._noise, self._rules.cells, self._plan._opening.loss.thousandths)

    def renew(self, curator: Queryable, fit: Fit) -> None:
        """Ask for the residuals if it is time."""
        if self._left and self._rounds >= self._next:
            before, self.loss = self.loss, self._loss(self._plan._opening.residuals(curator, fit))
            fit.visits.rescale(before.unit / self.loss.unit)
            self._left -= 1
            self._next *= self._rules.later
        self._rounds += 1
