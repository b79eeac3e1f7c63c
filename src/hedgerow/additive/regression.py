"""HedgerowRegressor's plan: a histogram of the outcome, rounds whose clip is released, and the mean of what is left."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from hedgerow.additive.estimate import Estimate
from hedgerow.additive.model import AdditiveModel, RegressionModel
from hedgerow.additive.plan import AdditivePlan, Course, Opening, Rules
from hedgerow.additive.round import Fit
from hedgerow.additive.squared import (
    Counts,
    Link,
    Spread,
    Squared,
    counts_of_outcomes,
    counts_of_residuals,
    counts_of_signed_residuals,
)
from hedgerow.additive.starts import StartVotes
from hedgerow.additive.terms import Term
from hedgerow.curator import Queryable
from hedgerow.doubts import outcome_doubts
from hedgerow.lazy_values import lazy
from hedgerow.margins import UNIT
from hedgerow.mechanisms import Budget, Noise
from hedgerow.privacy.events import Event, Sequence
from hedgerow.survey import SurveyRecipe, too_few

__all__ = ["RegressionPlan", "RegressionRules"]

LEAST_NOISE = 0.05  # of a count, in the shares of the opening
OUTCOME = "an outcome that can be read"


@dataclass(frozen=True)
class RegressionRules(Rules):
    """What decides about a regression, from released values alone; see ``Rules``.

    Parameters
    ----------
    opening : Fraction
        The share of the histogram of the outcome where the noise of a count at the whole budget is 1; it grows with the power 3/4
        of this noise. That of the rounds' budget that the final mean gets is the same.
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
    learns_from : float
        The precision from which there are rounds; below it the model is the mean.
    trusts_from : float
        The precision below which a step counts by the probability that there is one at all.
    multiple, pure_multiple : int
        What a record adds to the count, in thousandths of the largest residual, with normal and other noise.
    cells : float
        The clip is set for a cell that holds one in so many records.
    skew : float
        The share of what a clip cuts off that is taken to have one sign in a cell.
    loss : type
        ``Squared``, or ``Poisson``, whose link is ``LogLink``.
    link : type
        What margins say, of the outcome's grid.
    """

    opening: Fraction = Fraction(1, 50)
    rounds: tuple[float, float] = (0.45, 0.55)
    most_opening: Fraction = Fraction(3, 20)
    survey: Fraction = Fraction(1, 40)
    renewal: Fraction = Fraction(1, 100)
    renewals: int = 5
    later: float = 2.0
    most_rounds: float = 120.0
    seldom: bool = False
    learns_from: float = 20.0
    trusts_from: float = 300.0
    multiple: int = 500
    pure_multiple: int = 250
    pure_rounds: tuple[float, float] = (0.1, 0.55)
    pure_bins: tuple[float, float] = (1.65, 0.3)
    cells: float = 10.0
    skew: float = 0.2
    loss: type[Squared] = Squared
    link: type[Link] = Link


@dataclass(frozen=True, eq=False)
class OutcomeOpening(Opening):
    """Everything that is asked beside rounds: histograms of the outcome, of features, and of residuals between rounds.

    ``of_outcomes`` and ``of_residuals`` say what the histograms count, ``renewals`` how many of the latter there are at most,
    each with the share ``renewal``.
    """

    loss: Squared  # type: ignore[assignment]  # its rounds' loss before there is a clip
    of_outcomes: Counts
    of_residuals: Counts
    renewals: int
    renewal: Fraction

    @property
    def left(self) -> Budget:
        """What it leaves of the budget."""
        return self.budget * (self.survey.left - self.share - self.lacks - self.renewals * self.renewal)

    @lazy
    def _watching(self) -> Noise:
        return (self.budget * self.renewal).noise()

    @property
    def event(self) -> Sequence:
        """What it costs."""
        asked = self._noise.event("histogram of the outcome", draws=self.of_outcomes.channels)
        watched = self._watching.event("histogram of absolute residuals", draws=self.of_residuals.channels)
        return Sequence((asked, *self.survey.event.parts, *self._lacking, *(watched,) * self.renewals))

    @property
    def _lacking(self) -> tuple[Event, ...]:
        if not self.lacks:
            return ()
        return (self._lack.event("histogram of residuals of the start", draws=self._of_start.channels),)

    @lazy
    def _lack(self) -> Noise:
        return (self.budget * self.lacks).noise()

    @lazy
    def _of_start(self) -> Counts:
        return counts_of_signed_residuals(self.loss.link.grid.steps, self.loss.link)

    def left_by(self, curator: Queryable, votes: StartVotes, outcome: Spread) -> Spread | None:
        """Return how residuals spread where ``votes`` are the margins, as they are from now on; None where noise hides that."""
        released = curator.open_round(self._of_start, votes, whole=True).whole_sums(self._lack)
        found = Spread.of(self._of_start, released, self._lack.deviation)
        return found if found.clear > outcome.records / 2 else None

    @property
    def _n_counts(self) -> int:
        return self.of_outcomes.channels

    def outcome(self, curator: Queryable) -> Spread:
        """Return how outcomes spread."""
        released = curator.open_round(self.of_outcomes, whole=True).whole_sums(self._noise)
        curator.doubts += too_few(int(released.sum()), self._noise, self.of_outcomes.channels, OUTCOME)
        schema = self.survey.encoder.schema
        assert schema.outcome is not None
        edges = np.array(self.of_outcomes.edges)
        ends = schema.outcome_grid.values(edges[:-1]), schema.outcome_grid.values(edges[1:] - 1)
        curator.doubts += outcome_doubts(schema.outcome, ends, released, self._noise.deviation)
        return Spread.of(self.of_outcomes, released, self._noise.deviation)

    def residuals(self, curator: Queryable, fit: Fit, before: Spread) -> Spread:
        """Return how absolute residuals spread; at most ``renewals`` times.

        As ``before`` where the noise hides them, or where its bins were merged until they say that residuals grew.
        """
        released = curator.open_round(self.of_residuals, fit.take(), whole=True).whole_sums(self._watching)
        found = Spread.of(self.of_residuals, released, self._watching.deviation)
        shown = found.clear > before.records / 2 and found.mean_square <= before.mean_square
        return found if shown else before


class RegressionPlan(AdditivePlan):
    """Additive boosting of a number that is about to be fitted; parameters are those of ``AdditivePlan``."""

    _rules: RegressionRules
    _opening: OutcomeOpening

    def _opening_of(self, budget: Budget) -> OutcomeOpening:
        rules, grid = self._rules, self._encoder.schema.outcome_grid
        noise = max(budget.noise().deviation, LEAST_NOISE)
        share = min(rules.most_opening, rules.opening * Fraction(noise**0.75).limit_denominator(1 << 10))
        self._final = float(share)
        survey = SurveyRecipe(histograms=rules.survey).survey(budget, self._encoder)
        loss = self._loss_of(budget)
        return OutcomeOpening(
            loss=loss,
            budget=budget,
            share=share,
            survey=survey,
            lacks=self._lacks,
            of_outcomes=counts_of_outcomes(grid.steps, int(grid.codes(np.array([0.0]))[0]), loss.link),
            of_residuals=counts_of_residuals(grid.steps, loss.link),
            renewals=rules.renewals,
            renewal=rules.renewal,
        )

    def _loss_of(self, budget: Budget) -> Squared:  # type: ignore[override]
        rules, link = self._rules, self._rules.link(self._encoder.schema.outcome_grid)
        return rules.loss(1, 1.0, 1.0, rules.multiple if budget.concentrated else rules.pure_multiple, link)

    def _units_for(self, rounds: int) -> int:
        return rounds + self._final_units(rounds)

    def _final_units(self, units: int) -> int:
        return math.ceil(units * self._final)

    def fit(self, curator: Queryable) -> AdditiveModel:
        """Boost by asking a curator."""
        opening = self._opening
        outcome = opening.outcome(curator)
        precision = self._precision(outcome.clear)
        loss = opening.loss.about(outcome.mean)
        start, spread = self._begin(curator, loss, outcome)
        encoder = opening.merge(curator, self._bins_at(precision), outcome.records)
        fit = Fit(encoder, np.array([outcome.records]), self._halvings(curator, outcome.records))
        fit.begin(np.array([start]))
        units = self._stage.units - self._final_units(self._stage.units)
        if precision < self._rules.learns_from:
            units = 0
        course = Course(self, precision, units, may_cut=precision >= self._rules.cuts_from)
        clips = Clips(self, course.size, spread, loss)
        while size := course.next_units():
            clips.renew(curator, fit)
            cuts = min(course.next_cuts(), self._affordable(fit))
            by = self._cut_by(curator, fit, precision) if cuts else []
            one = replace(self._stage.one(size, cuts), loss=clips.loss)
            term, found = one.run(curator, fit, by)
            course.saw(found, term.feature, offered=cuts > 0)
            fit.add(self._kept(term if precision >= self._rules.trusts_from else trusted(term, found), fit))
        start += self._shift(curator, fit, clips, self._stage.units - units)
        return self._whole(RegressionModel(fit.encoder, loss, np.array([start]), tuple(fit.terms), self._signs))

    def _begin(self, curator: Queryable, loss: Squared, outcome: Spread) -> tuple[int, Spread]:
        """Return the margin that every record begins with beyond the start's, and how absolute residuals spread then."""
        if self._votes is None:
            start = loss.link.margin(outcome.mean)
            return start, outcome.around(outcome.mean)
        found = self._opening.left_by(curator, self._votes, outcome)
        if found is None:
            return 0, outcome.around(outcome.mean)
        steps = loss.link.grid.steps
        return loss.clipped_at(steps).shift(found.mean / steps, 1.0), found.around(found.mean)

    def _shift(self, curator: Queryable, fit: Fit, clips: Clips, units: int) -> int:
        """Return the votes by which all margins are too low, by what so many units leave when nothing is selected.

        Residuals are clipped where the noise and what is cut off, which may have one sign, are least together.
        """
        spread, noise = self._opening.residuals(curator, fit, clips.spread), self._stage.one(units, 0).noise
        loss = clips.loss.clipped_at(spread.wide_clip(noise.deviation / UNIT))
        total, mass = curator.open_round(loss, whole=True).whole_sums(noise)
        return loss.shift(total / UNIT, max(max(mass, noise.deviation) / (UNIT * loss.curvature), 1.0))

    def _restored(self, arrays: Mapping[str, npt.NDArray[Any]], most_terms: int) -> RegressionModel:
        model = super()._restored(arrays, most_terms)
        return RegressionModel(model.encoder, self._opening.loss, model.start, model.terms, model.signs)


def trusted(term: Term, found: Estimate) -> Term:
    """Return a term whose steps count by the probability that there is a step at all, which beforehand is a fifth."""
    trust = expit(logsumexp(found.evidence) - math.log(4 * len(found.evidence)))
    return replace(term, votes=np.trunc(term.votes * trust).astype(np.int64))


class Clips:
    """The clip of residuals as rounds go on: renewed after numbers of rounds that grow by a factor."""

    def __init__(self, plan: RegressionPlan, size: int, outcome: Spread, loss: Squared) -> None:
        self._plan, self._rules, self.spread = plan, plan._rules, outcome
        self._noise = plan._stage.one(size, 0).noise.deviation / UNIT
        self._rounds, self._next, self._left = 0, 1.0, plan._opening.renewals - 1
        self.loss = self._clipped(loss)

    def _clipped(self, loss: Squared) -> Squared:
        return self.spread.loss(self._noise, self._rules.cells, self._rules.skew, loss)

    def renew(self, curator: Queryable, fit: Fit) -> None:
        """Ask for the residuals if it is time."""
        if self._left and self._rounds >= self._next:
            self.spread, before = self._plan._opening.residuals(curator, fit, self.spread), self.loss
            self.loss = self._clipped(before)
            fit.visits.rescale(before.unit / self.loss.unit)
            self._left -= 1
            self._next *= self._rules.later
        self._rounds += 1
