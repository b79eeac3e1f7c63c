"""HedgerowRegressor's plan: a histogram of the outcome, rounds with clipped residuals, and a final mean residual."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive.model import COUNT_WEIGHT, LOG_LINK, AdditiveModel
from hedgerow.additive.plan import AdditivePlan, InitialQueries, RoundSchedule, Rules
from hedgerow.additive.round import Fit, OneRound
from hedgerow.additive.squared import Link, LogLink, Spread, Squared, counts_of_outcomes, counts_of_residuals
from hedgerow.additive.starts import StartVotes
from hedgerow.curator import Queryable
from hedgerow.curator.released_warnings import outcome_warnings
from hedgerow.curator.survey import Survey, too_few
from hedgerow.export.archive import array_of
from hedgerow.mechanisms import Budget
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import Event, Sequence
from hedgerow.schema.types import OutcomeGrid

LEAST_NOISE = 0.05  # standard deviation of a count, below which the share of the outcome's histogram no longer falls
OUTCOME = "an outcome that can be read"
OLD_PURE_WEIGHT = 250  # ``count_weight`` of fits without a delta in files of version 0.3


@dataclass(frozen=True)
class RegressionRules(Rules):
    """The constants of a regressor's fit; see ``Rules``. docs/decisions/0018-regression.md has the measurements."""

    # The outcome's histogram gets a share of initial_share * v**0.75 of the budget, at most max_initial_share. v is the noise of
    # one count at the whole budget. A wrong mean costs most at small budgets. The final mean gets at least the same share of the
    # rounds' units.
    initial_share: Fraction = Fraction(1, 50)
    max_initial_share: Fraction = Fraction(1, 10)
    survey_share: Fraction = Fraction(1, 40)  # of the budget, for the histograms of features
    # of the budget, for each histogram of residuals, which sets the clip: with a delta, and without
    residual_share: Fraction = Fraction(1, 100)
    pure_residual_share: Fraction = Fraction(1, 200)
    max_residual_queries: int = 5  # the last one is for the final mean
    # The first of these is after one round, and each next one after this many times as many rounds
    interval_growth: float = 2.0
    rounds_by_snr: tuple[float, float] = (0.45, 0.55)
    pure_rounds_by_snr: tuple[float, float] = (0.1, 0.55)
    max_rounds: float = 120.0
    pure_bins_by_snr: tuple[float, float] = (1.65, 0.3)
    rare_cuts: bool = False
    min_snr_for_cells: float = 2.0**13.5
    cell_cuts_below: float = 12.5
    cell_cuts: tuple[int, int] = (2, 5)
    cell_rounds_by_snr: tuple[float, float] = (120.0, 0.0)
    # The target noise of the final mean, in clips: it gets as many units as this needs, up to all; with given rounds, none extra.
    mean_noise: float = 0.08
    # c of ``Squared`` in 1/1000, what a record adds to its cell's count over the largest residual
    count_weight: int = 500
    # The clip minimizes the error of a step in a cell that holds 1 / clip_cells of the records. A share clip_skew of the mean
    # excess over the clip counts as bias, since outcomes have skewed tails.
    clip_cells: float = 10.0
    clip_skew: float = 0.2
    loss: type[Squared] = Squared  # or Poisson, with LogLink
    link: type[Link] = Link
    # loss="auto" takes the log link if the outcome's released coefficient of variation is at least this
    log_link_from: float = 0.9
    # and, without a delta, if also ``snr`` is at least this: the log link's curvatures have REACH times the noise of counts.
    pure_log_snr: float = 3000.0
    chooses_link: bool = False


class OutcomeQueries(InitialQueries):
    """All queries except rounds: histograms of the outcome, of features, and of residuals between rounds."""

    loss: Squared  # that of rounds, before a clip is chosen

    def __init__(
        self,
        loss: Squared,
        budget: Budget,
        rules: RegressionRules,
        survey: Survey,
        start_share: Fraction,
        grid: OutcomeGrid,
    ) -> None:
        self.loss, self.survey, self.renewals = loss, survey, rules.max_residual_queries
        noise = max(budget.noise().deviation, LEAST_NOISE)
        share = min(rules.max_initial_share, rules.initial_share * Fraction(noise**0.75).limit_denominator(1 << 10))
        self.final_share = float(share)
        self.of_outcomes = counts_of_outcomes(grid.steps, int(grid.codes(np.array([0.0]))[0]), loss.link)
        self.of_residuals = counts_of_residuals(grid.steps, loss.link)
        self.n_counts = self.of_outcomes.channels
        of_residuals = rules.residual_share if budget.concentrated else rules.pure_residual_share
        self._noise, self._watching = (budget * share).noise(), (budget * of_residuals).noise()
        self.deviation = self._noise.deviation * math.sqrt(self.n_counts)
        watched = self._watching.event("histogram of absolute residuals", draws=self.of_residuals.channels)
        parts: list[Event] = [self._noise.event("histogram of the outcome", draws=self.n_counts), *survey.event.parts]
        if start_share:
            self._of_start = counts_of_residuals(grid.steps, loss.link, signed=True)
            self._start_noise = (budget * start_share).noise()
            parts.append(self._start_noise.event("histogram of residuals of the start", draws=self._of_start.channels))
        self.event = Sequence((*parts, *(watched,) * self.renewals))
        self.left = budget * (survey.left - share - start_share - self.renewals * of_residuals)

    def residuals_of_start(self, curator: Queryable, votes: StartVotes, outcome: Spread) -> Spread | None:
        # Return the released histogram of signed residuals of the init model, or None if noise dominates.
        released = curator.open_round(self._of_start, votes, whole=True).whole_sums(self._start_noise)
        spread = Spread.of(self._of_start, released, self._start_noise)
        return spread if spread.clear > outcome.records / 2 else None

    def outcome(self, curator: Queryable) -> Spread:
        released = curator.open_round(self.of_outcomes, whole=True).whole_sums(self._noise)
        curator.warnings += too_few(int(released.sum()), self._noise, self.n_counts, OUTCOME)
        schema = self.survey.encoder.schema
        assert schema.outcome is not None
        edges = np.array(self.of_outcomes.edges)
        ends = schema.outcome_grid.values(edges[:-1]), schema.outcome_grid.values(edges[1:] - 1)
        curator.warnings += outcome_warnings(schema.outcome, ends, released, self._noise.deviation)
        return Spread.of(self.of_outcomes, released, self._noise)

    def residuals(self, curator: Queryable, fit: Fit, before: Spread, link: Link) -> Spread:
        """Return the released histogram of absolute residuals; may run at most ``renewals`` times."""
        # Keep the previous histogram, ``before``, if noise dominates or the mean square grew (an artefact of merging).
        counts = replace(self.of_residuals, link=link)
        released = curator.open_round(counts, fit.pending_terms(), whole=True).whole_sums(self._watching)
        spread = Spread.of(counts, released, self._watching)
        smaller = spread.clipped(math.inf)[0] <= before.clipped(math.inf)[0]
        return spread if spread.clear > before.records / 2 and smaller else before


class RegressionPlan(AdditivePlan):
    _rules: RegressionRules
    _initial_queries: OutcomeQueries

    def _queries(self, budget: Budget) -> OutcomeQueries:
        rules, grid = self._rules, self.encoder.schema.outcome_grid
        loss = rules.loss(1, 1.0, 1.0, rules.count_weight, rules.link(grid), chosen=rules.chooses_link)
        survey = Survey(budget, self.encoder, rules.survey_share)
        return OutcomeQueries(loss, budget, rules, survey, self._start_share, grid)

    def _loss_by(self, outcome: Spread) -> Squared:
        # Both links have the same channels and norms, so the choice changes no event.
        loss, grid = self._initial_queries.loss, self.encoder.schema.outcome_grid
        if not loss.chosen or self._start is not None or not LogLink.fits(grid):
            return loss
        enough = self._budget.concentrated or self._snr(outcome.clear) >= self._rules.pure_log_snr
        wide = outcome.variation(-grid.low / grid.step) >= self._rules.log_link_from
        return loss.with_log_link() if enough and wide else loss

    def _loss_in(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Squared:
        loss = self._initial_queries.loss
        if COUNT_WEIGHT in arrays:
            loss = replace(loss, count_weight=int(array_of(arrays, COUNT_WEIGHT, np.int64, (1,), 1, 1000)[0]))
        elif not self._budget.concentrated:
            loss = replace(loss, count_weight=OLD_PURE_WEIGHT)
        if not loss.chosen:
            return loss
        fits = int(LogLink.fits(self.encoder.schema.outcome_grid))
        return loss.with_log_link() if array_of(arrays, LOG_LINK, np.int64, (1,), 0, fits)[0] else loss

    def _final_share(self, outcome: Spread) -> float:
        least = self._initial_queries.final_share
        noise = self.stage.one(self.stage.units, 0).noise.deviation / UNIT / max(outcome.clear, 1.0)
        needed = (noise / self._rules.mean_noise) ** (2 if self._budget.concentrated else 1)
        if needed >= 1:
            return 1.0
        return least if self._rounds is not None else max(least, needed)

    def fit(self, curator: Queryable) -> AdditiveModel:
        rules, initial = self._rules, self._initial_queries
        outcome, all_units = initial.outcome(curator), self.stage.units
        # If the final mean needs all units, there are no rounds: half of the units go to a second histogram of the outcome
        if self._final_share(outcome) >= 1 and all_units > 1:
            all_units -= (again := all_units // 2)
            noise = (self.stage.one(again, 0).budget * (1 - OneRound.selection_share)).noise()
            released = curator.open_round(initial.of_outcomes, whole=True).whole_sums(noise)
            outcome = replace(Spread.of(initial.of_outcomes, released, noise), clear=0.0)
        snr = self._snr(outcome.clear)
        loss = self._loss_by(outcome).about(outcome.mean)
        # The first margin of all records, in addition to an init model's, and the distribution of absolute residuals there
        start, spread = loss.link.margin(outcome.mean), outcome.around(outcome.mean)
        if self._votes is not None:
            start, left = 0, initial.residuals_of_start(curator, self._votes, outcome)
            if left is not None:
                steps = loss.link.grid.steps
                start, spread = replace(loss, clip=steps).shift(left.mean / steps, 1.0), left.around(left.mean)
        encoder, mass = initial.survey.merge(curator, self._bins_for(snr), (outcome.records, initial.deviation))
        samples = self._draw_samples(curator, outcome.records)
        fit = Fit(encoder, mass, np.array([outcome.records]), np.array([start]), *samples)
        units = all_units - math.ceil(all_units * self._final_share(outcome))
        schedule = RoundSchedule(self, snr, units)
        clip_noise = self.stage.one(schedule.size, 0).noise.deviation / UNIT
        clips = ResidualClip(rules, clip_noise, initial, spread, loss)

        def clipped_round(size: int, cuts: int, kind: type[OneRound]) -> OneRound:
            return replace(self.stage.one(size, cuts, kind), loss=clips.renewed(curator, fit))

        self._boost(curator, fit, snr, schedule, clipped_round)
        # The final query measures the mean residual with the remaining units, clipped where noise plus bias is least.
        noise = self.stage.one(all_units - units, 0).noise
        wide = initial.residuals(curator, fit, clips.spread, loss.link).wide_clip(noise.deviation / UNIT)
        last = replace(clips.loss, clip=wide)
        total, mass = curator.open_round(last, whole=True).whole_sums(noise)
        start += last.shift(total / UNIT, max(max(mass, noise.deviation) / (UNIT * last.curvature), 1.0))
        return self._model(fit, loss, np.array([start]))


class ResidualClip:
    """The clip of the next round, renewed after 1, 2, 4, ... rounds (see ``interval_growth``)."""

    def __init__(
        self, rules: RegressionRules, noise: float, queries: OutcomeQueries, spread: Spread, loss: Squared
    ) -> None:
        self._rules, self._noise, self._queries, self.spread = rules, noise, queries, spread
        self._rounds, self._next, self._left = 0, 1.0, queries.renewals - 1
        self.loss = spread.with_best_clip(noise, rules.clip_cells, rules.clip_skew, loss)

    def renewed(self, curator: Queryable, fit: Fit) -> Squared:
        if self._left and self._rounds >= self._next:
            self.spread, before = self._queries.residuals(curator, fit, self.spread, self.loss.link), self.loss
            self.loss = self.spread.with_best_clip(self._noise, self._rules.clip_cells, self._rules.clip_skew, before)
            fit.visits.rescale(before.unit / self.loss.unit)
            self._left -= 1
            self._next *= self._rules.interval_growth
        self._rounds += 1
        return self.loss
