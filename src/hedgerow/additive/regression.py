"""HedgerowRegressor's plan: a histogram of the outcome, rounds whose clip is released, and the mean of what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import expit, logsumexp

from hedgerow.additive.estimate import Estimate
from hedgerow.additive.model import AdditiveModel
from hedgerow.additive.plan import AdditivePlan, InitialQueries, RoundSchedule, Rules
from hedgerow.additive.round import Fit, OneRound
from hedgerow.additive.squared import (
    Counts,
    Link,
    Spread,
    Squared,
    counts_of_outcomes,
    counts_of_residuals,
    counts_of_signed_residuals,
)
from hedgerow.additive.starts import StartVotes, together
from hedgerow.additive.terms import Term
from hedgerow.arrays import lazy
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Budget, Noise
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import Sequence
from hedgerow.released_warnings import outcome_warnings
from hedgerow.survey import Survey, too_few

LEAST_NOISE = 0.05  # standard deviation of a count, below which the share of the initial queries falls no more
OUTCOME = "an outcome that can be read"


@dataclass(frozen=True)
class RegressionRules(Rules):
    """The constants of a regressor's fit; see ``Rules``. docs/decisions/0018-regression.md has the measurements."""

    # Share for the outcome histogram: initial_share * v**0.75, at most max_initial_share; v is the noise of one count
    # at the whole budget. A wrong mean costs most at small budgets. The final mean gets the same share of the rounds'
    # units.
    initial_share: Fraction = Fraction(1, 50)
    max_initial_share: Fraction = Fraction(3, 20)
    survey_share: Fraction = Fraction(1, 40)  # of the budget, for the histograms of features
    residual_share: Fraction = Fraction(
        1, 100
    )  # of the budget, for each histogram of residuals, from which the clip follows
    max_residual_queries: int = 5  # the last of them before the final mean
    # A histogram of residuals follows after this many times as many rounds as the one before
    interval_growth: float = 2.0
    rounds_by_snr: tuple[float, float] = (0.45, 0.55)
    pure_rounds_by_snr: tuple[float, float] = (0.1, 0.55)
    max_rounds: float = 120.0
    pure_bins_by_snr: tuple[float, float] = (1.65, 0.3)
    rare_cuts: bool = False
    min_snr: float = 20.0  # below it the model is the released mean
    full_step_snr: float = 300.0  # below it a step is multiplied by the probability that there is an effect
    # What a record adds to the count of its cell, in thousandths of the largest residual, with normal and with other noise.
    count_weight: int = 500
    pure_count_weight: int = 250
    # The clip minimizes the error in a cell with 1/10 of the records, assuming 20 % of the clipped amount is bias:
    # outcomes have skewed tails
    clip_cells: float = 10.0
    clip_skew: float = 0.2
    loss: type[Squared] = Squared  # or Poisson, with LogLink
    link: type[Link] = Link


@dataclass(frozen=True, eq=False)
class OutcomeQueries(InitialQueries):
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
        return self.budget * (self.survey.left - self.share - self.start_share - self.renewals * self.renewal)

    @lazy
    def _watching(self) -> Noise:
        return (self.budget * self.renewal).noise()

    @property
    def event(self) -> Sequence:
        asked = self._noise.event("histogram of the outcome", draws=self.of_outcomes.channels)
        watched = self._watching.event("histogram of absolute residuals", draws=self.of_residuals.channels)
        parts = [asked, *self.survey.event.parts]
        if self.start_share:
            parts.append(self._start_noise.event("histogram of residuals of the start", draws=self._of_start.channels))
        return Sequence((*parts, *(watched,) * self.renewals))

    @lazy
    def _start_noise(self) -> Noise:
        return (self.budget * self.start_share).noise()

    @lazy
    def _of_start(self) -> Counts:
        return counts_of_signed_residuals(self.loss.link.grid.steps, self.loss.link)

    def left_by(self, curator: Queryable, votes: StartVotes, outcome: Spread) -> Spread | None:
        """Set the margins to ``votes``, the start model's.

        Return the released residual histogram, or None if noise dominates.
        """
        released = curator.open_round(self._of_start, votes, whole=True).whole_sums(self._start_noise)
        spread = Spread.of(self._of_start, released, self._start_noise.deviation)
        return spread if spread.clear > outcome.records / 2 else None

    def outcome(self, curator: Queryable) -> Spread:
        released = curator.open_round(self.of_outcomes, whole=True).whole_sums(self._noise)
        curator.warnings += too_few(int(released.sum()), self._noise, self.of_outcomes.channels, OUTCOME)
        schema = self.survey.encoder.schema
        assert schema.outcome is not None
        edges = np.array(self.of_outcomes.edges)
        ends = schema.outcome_grid.values(edges[:-1]), schema.outcome_grid.values(edges[1:] - 1)
        curator.warnings += outcome_warnings(schema.outcome, ends, released, self._noise.deviation)
        return Spread.of(self.of_outcomes, released, self._noise.deviation)

    def residuals(self, curator: Queryable, fit: Fit, before: Spread) -> Spread:
        """Return the released histogram of absolute residuals; at most ``renewals`` times.

        Keep the previous histogram, ``before``, if noise dominates or its mean square grew (an artefact of merging).
        """
        released = curator.open_round(self.of_residuals, fit.pending_terms(), whole=True).whole_sums(self._watching)
        spread = Spread.of(self.of_residuals, released, self._watching.deviation)
        plausible = spread.clear > before.records / 2 and spread.mean_square <= before.mean_square
        return spread if plausible else before


class RegressionPlan(AdditivePlan):
    """Additive boosting of a number that is about to be fitted; parameters are those of ``AdditivePlan``."""

    _rules: RegressionRules
    _initial_queries: OutcomeQueries

    def _initial_queries_of(self, budget: Budget) -> OutcomeQueries:
        rules, grid = self._rules, self.encoder.schema.outcome_grid
        noise = max(budget.noise().deviation, LEAST_NOISE)
        share = min(rules.max_initial_share, rules.initial_share * Fraction(noise**0.75).limit_denominator(1 << 10))
        self._final = float(share)
        survey = Survey(budget, self.encoder, rules.survey_share)
        loss = self._loss_of(budget)
        return OutcomeQueries(
            loss=loss,
            budget=budget,
            share=share,
            survey=survey,
            start_share=self._start_share,
            of_outcomes=counts_of_outcomes(grid.steps, int(grid.codes(np.array([0.0]))[0]), loss.link),
            of_residuals=counts_of_residuals(grid.steps, loss.link),
            renewals=rules.max_residual_queries,
            renewal=rules.residual_share,
        )

    def _loss_of(self, budget: Budget) -> Squared:  # type: ignore[override]
        rules, link = self._rules, self._rules.link(self.encoder.schema.outcome_grid)
        return rules.loss(1, 1.0, 1.0, rules.count_weight if budget.concentrated else rules.pure_count_weight, link)

    def _units_for(self, rounds: int) -> int:
        return rounds + self._final_units(rounds)

    def _final_units(self, units: int) -> int:
        return math.ceil(units * self._final)

    def fit(self, curator: Queryable) -> AdditiveModel:
        initial = self._initial_queries
        outcome = initial.outcome(curator)
        snr = self._snr(outcome.clear)
        loss = initial.loss.about(outcome.mean)
        start, spread = self._begin(curator, loss, outcome)
        encoder = initial.merge(curator, self._bins_for(snr), outcome.records, initial.of_outcomes.channels)
        fit = Fit(encoder, np.array([outcome.records]), *self._draw_samples(curator, outcome.records))
        fit.begin(np.array([start]))
        units = self._stage.units - self._final_units(self._stage.units)
        if snr < self._rules.min_snr:
            units = 0
        schedule = RoundSchedule(self, snr, units, may_cut=snr >= self._rules.min_snr_for_cuts)
        clips = ResidualClip(self, schedule.size, spread, loss)

        def clipped_round(size: int, cuts: int) -> OneRound:
            return replace(self._stage.one(size, cuts), loss=clips.renewed(curator, fit))

        self._boost(curator, fit, snr, schedule, clipped_round)
        start += self._shift(curator, fit, clips, self._stage.units - units)
        own = AdditiveModel(fit.encoder, loss, np.array([start]), tuple(fit.terms), self._signs)
        return own if self._start is None else together(self._start, own)

    def _kept(self, term: Term, estimate: Estimate, fit: Fit, snr: float) -> Term:
        if snr < self._rules.full_step_snr:
            term = trusted(term, estimate)
        return super()._kept(term, estimate, fit, snr)

    def _begin(self, curator: Queryable, loss: Squared, outcome: Spread) -> tuple[int, Spread]:
        """Return the margin that every record begins with beyond the start's, and how absolute residuals spread then."""
        if self._votes is None:
            start = loss.link.margin(outcome.mean)
            return start, outcome.around(outcome.mean)
        spread = self._initial_queries.left_by(curator, self._votes, outcome)
        if spread is None:
            return 0, outcome.around(outcome.mean)
        steps = loss.link.grid.steps
        return loss.clipped_at(steps).shift(spread.mean / steps, 1.0), spread.around(spread.mean)

    def _shift(self, curator: Queryable, fit: Fit, clips: ResidualClip, units: int) -> int:
        """Final query: measure the mean residual under a wide clip with the remaining units; return it in votes.

        The clip minimizes noise plus bias.
        """
        spread, noise = self._initial_queries.residuals(curator, fit, clips.spread), self._stage.one(units, 0).noise
        loss = clips.loss.clipped_at(spread.wide_clip(noise.deviation / UNIT))
        total, mass = curator.open_round(loss, whole=True).whole_sums(noise)
        return loss.shift(total / UNIT, max(max(mass, noise.deviation) / (UNIT * loss.curvature), 1.0))


def trusted(term: Term, estimate: Estimate) -> Term:
    """Multiply the votes by the posterior probability of any effect; the prior is 1/5."""
    trust = expit(logsumexp(estimate.evidence) - math.log(4 * len(estimate.evidence)))
    return replace(term, votes=np.trunc(term.votes * trust).astype(np.int64))


class ResidualClip:
    """The clip of residuals as rounds go on: renewed after numbers of rounds that grow by a factor."""

    def __init__(self, plan: RegressionPlan, size: int, outcome: Spread, loss: Squared) -> None:
        self._plan, self._rules, self.spread = plan, plan._rules, outcome
        self._noise = plan._stage.one(size, 0).noise.deviation / UNIT
        self._rounds, self._next, self._left = 0, 1.0, plan._initial_queries.renewals - 1
        self.loss = self._clipped(loss)

    def _clipped(self, loss: Squared) -> Squared:
        return self.spread.with_best_clip(self._noise, self._rules.clip_cells, self._rules.clip_skew, loss)

    def renewed(self, curator: Queryable, fit: Fit) -> Squared:
        """Return the loss of the next round; ask for the residuals if it is time."""
        if self._left and self._rounds >= self._next:
            self.spread, before = self._plan._initial_queries.residuals(curator, fit, self.spread), self.loss
            self.loss = self._clipped(before)
            fit.visits.rescale(before.unit / self.loss.unit)
            self._left -= 1
            self._next *= self._rules.interval_growth
        self._rounds += 1
        return self.loss
