"""HedgerowClassifier's plan: an opening, then rounds; each stage states its event and performs it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from hedgerow.additive.files import restored
from hedgerow.additive.losses import Logistic, Loss, Start
from hedgerow.additive.monotone import projected
from hedgerow.additive.round import MOST_SUMS, MOST_VALUES, Fit, OneRound
from hedgerow.additive.terms import AdditiveModel
from hedgerow.class_weights import ClassWeights
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Budget, PublicChoice
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, OneOf, Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.survey import FINE, Ones, Survey, SurveyRecipe, fine_encoder, too_few

__all__ = ["AdditivePlan", "Rules"]

Integers = npt.NDArray[np.int64]

UNITS = 240  # equal parts of the budget of all rounds; a round spends whole units
LEAST_BINS, MOST_BINS = 8, 40
FEWEST, MOST_ROUNDS = 2.0, 60.0
MEMORY = 3  # the last rounds with cuts, whose depths decide how many cuts the next may have
SELDOM = 3  # where none of these found a cut that matters, only one round in so many may have one
ROUNDING = Fraction(1, 2**24)  # the share by which a round's budget shrinks until its cost is within its units


@dataclass(frozen=True)
class Rules:
    """The constants of the rules that decide about rounds, from released values alone.

    Precision is the signal-to-noise ratio of a count: the released number of records over the noise of one count at the budget
    of all rounds together.

    Pairs are a factor and a power, with a delta and, as ``pure_...``, without one.
    """

    opening: Fraction = Fraction(1, 50)  # the share of the budget for what the loss starts with
    rounds: tuple[float, float] = (0.8, 0.45)  # their number: factor * (precision * spread of the classes) ** power
    pure_rounds: tuple[float, float] = (0.15, 0.45)
    bins: tuple[float, float] = (2.5, 0.3)  # of a number: factor * precision ** power
    pure_bins: tuple[float, float] = (1.5, 0.3)
    most_cuts: int = 5  # of a round
    first: int = 12  # rounds may cut after so many, or earlier after one that found nothing
    cuts_from: float = 300.0  # the precision from which rounds may cut
    largest: int = 2  # the last cut of a round may cut so many features of the largest released curves
    drawn: int = 2  # and so many others, drawn at random


@dataclass(frozen=True, eq=False)
class Opening:
    """The queries before the first round: what the loss starts with, and the histograms by which fine bins are merged."""

    loss: Loss
    budget: Budget
    share: Fraction
    survey: Survey

    @property
    def left(self) -> Budget:
        """The budget that remains for the rounds."""
        return self.budget * (self.survey.left - self.share)

    @cached_property
    def _noise(self) -> Any:
        return (self.budget * self.share).noise()

    @property
    def event(self) -> Sequence:
        """What it costs."""
        start = self._noise.event("what the model starts with", draws=self.loss.opening.channels)
        return Sequence((start, *self.survey.event.parts))

    def act(self, curator: Queryable) -> Start:
        """Return what the model starts with."""
        released = curator.open_round(self.loss.opening).whole_sums(self._noise)
        start = self.loss.start(released, self._noise.deviation)
        curator.doubts += too_few(int(released.sum()), self._noise, self.loss.opening.channels)
        return start

    def merge(self, curator: Queryable, bins: int, records: float) -> Encoder:
        """Merge the fine bins of each number to about ``bins``, and return the encoder with merged bins."""
        histograms = self.survey.histograms(curator.open_round(Ones()))
        deviation = self._noise.deviation * math.sqrt(self.loss.opening.channels)
        curator.doubts += self.survey.column_doubts(histograms, records, deviation)
        merges = self.survey.merged(histograms, bins)
        curator.merge(merges)
        return self.survey.encoder.merged(merges)


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds of a fit: each spends up to ``largest`` of the units, and has up to ``most_cuts`` cuts.

    The plan is charged for all units beforehand. A round of u units is built so that it costs at most u times one unit: by every
    accountant with a delta, by epsilon without one. Without a delta the fewest, largest rounds cost the most by the other
    accountants, so the event holds them as an alternative.
    """

    loss: Loss
    budget: Budget
    units: int
    largest: int
    most_cuts: int
    most_codes: int
    _made: dict[tuple[int, int], OneRound] = field(default_factory=dict)

    @cached_property
    def _unit(self) -> OneRound:
        return OneRound(self.loss, self.budget / self.units, self.most_cuts, self.most_codes)

    @cached_property
    def _cost(self) -> Cost:
        return cost(self._unit.event)

    @cached_property
    def event(self) -> Event:
        """The most that they cost."""
        alternatives = [Sequence((self._unit.event,) * self.units)]
        if not self.budget.concentrated:
            alternatives.append(Sequence((self.one(self.largest, 0).event,) * (self.units // self.largest)))
        label = "rounds of some units and cuts each, as released values say, none of which costs more than its units"
        return OneOf(tuple(alternatives), label)

    def one(self, units: int, cuts: int) -> OneRound:
        """Return the round of so many units and cuts."""
        if (units, cuts) not in self._made:
            budget, most = self.budget * Fraction(units, self.units), self._cost.times(units)
            made = OneRound(self.loss, budget, cuts, self.most_codes)
            while not cost(made.event).at_most(most):
                made = replace(made, budget=made.budget * (1 - ROUNDING))
            self._made[units, cuts] = made
        return self._made[units, cuts]


@dataclass(frozen=True, eq=False)
class AdditivePlan:
    """A fit of additive boosting before it reads a record: an opening, then rounds.

    What is None is decided by ``rules``.
    """

    rules: Rules
    schema: Schema
    claim: Claim
    _: KW_ONLY
    rounds: int | None
    bins: int | None  # about how many a number has
    most_cuts: int | None = None  # of a round; 0 for a sum of curves
    signs: tuple[int, ...] = ()  # how the margin may go with each feature: 1 rising, -1 falling, 0 either
    weights: ClassWeights | None = None  # what each class counts in the decision; they move the start by a constant
    fine: Encoder | None = (
        None  # with the bins that the survey merges, at most 255 of a feature; None: ``fine_encoder``
    )

    def __post_init__(self) -> None:
        assert self._stages  # a claim that no budget keeps is refused here

    def on(self, encoder: Encoder) -> AdditivePlan:
        """Return the plan that merges the bins of ``encoder``, if these are fine."""
        return replace(self, fine=encoder) if encoder.max_bins == FINE else self

    @cached_property
    def encoder(self) -> Encoder:
        """How records are read: numbers in fine bins, which the survey merges."""
        return fine_encoder(self.schema) if self.fine is None else self.fine

    @cached_property
    def limit(self) -> int:
        """The most cuts of a round: one with ``signs``, and no feature twice."""
        given = self.rules.most_cuts if self.most_cuts is None else self.most_cuts
        return min(given, self.rules.most_cuts, 1 if any(self.signs) else given, len(self.schema.names) - 1)

    @cached_property
    def _budget(self) -> Budget:
        return Budget.of_whole(self.claim, lambda budget: _together(*self._stages_of(budget)))

    @cached_property
    def _stages(self) -> tuple[Opening, Rounds]:
        return self._stages_of(self._budget)

    @property
    def _opening(self) -> Opening:
        return self._stages[0]

    @property
    def _stage(self) -> Rounds:
        return self._stages[1]

    def _loss_of(self, budget: Budget) -> Logistic:
        return Logistic(len(self.schema.classes), normal=budget.concentrated)

    def _stages_of(self, budget: Budget) -> tuple[Opening, Rounds]:
        """Return the opening and the rounds of a budget."""
        loss, n_codes = self._loss_of(budget), self.encoder.n_codes
        survey = SurveyRecipe().survey(budget, self.encoder, counts=False)
        opening = Opening(loss, budget, self.rules.opening, survey)
        most_bins = MOST_BINS if self.bins is None else self.bins
        codes = np.where(self.encoder.schema.is_numeric, np.minimum(n_codes, most_bins + 1), n_codes)
        units, largest = (UNITS, UNITS) if self.rounds is None else (self.rounds, 1)
        return opening, Rounds(loss, opening.left, units, largest, self.limit, int(codes.max()))

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return _together(*self._stages)

    def fit(self, curator: Queryable) -> AdditiveModel:
        """Boost by queries to a curator."""
        start, loss = self._opening.act(curator), self._loss_of(self._budget)
        precision = self._precision(start.records)
        fit = Fit(self._opening.merge(curator, self._bins_at(precision), start.records), start.curvature)
        fit.begin(start.margins)
        course = Course(self, precision, start.spread)
        while units := course.next_units():
            cuts = min(course.next_cuts(), self._affordable(fit))
            by = self._cut_by(curator, fit) if cuts else []
            term, estimate = self._stage.one(units, cuts).run(curator, fit, by)
            course.saw(estimate.evidence, offered=cuts > 0)
            fit.terms.append(projected(term, self.signs, fit.curve(term.feature, term.columns)[:, 0]))
        margins = start.margins
        if self.weights:
            margins = margins + loss.weighted(self.weights.array())
        return AdditiveModel(fit.encoder, loss, margins, tuple(fit.terms), self.signs)

    def _precision(self, records: float) -> float:
        """Return the records over the noise of one count at the budget of all rounds together."""
        amount = float(self._opening.left.amount)
        return records * (math.sqrt(2 * amount) if self._budget.concentrated else amount)

    def _bins_at(self, precision: float) -> int:
        if self.bins is not None:
            return self.bins
        factor, power = self.rules.bins if self._budget.concentrated else self.rules.pure_bins
        return int(np.clip(round(factor * precision**power), LEAST_BINS, MOST_BINS))

    def _affordable(self, fit: Fit) -> int:
        """Return how many cuts a round may have so that no scan has more than about ``MOST_SUMS`` sums."""
        sums = (
            int(fit.offsets[-1]) * self._opening.loss.channels * 4 * 10
        )  # of a cut's splits, ten groups for each of four features
        return 0 if len(fit.numeric) < 2 else max(1, 1 + int(math.log2(max(MOST_SUMS / sums, 1))))

    def _cut_by(self, curator: Queryable, fit: Fit) -> list[int]:
        """Return the features that the last cut may cut: those of the largest released curves, and others drawn at random."""
        may = fit.numeric | (fit.encoder.n_codes <= MOST_VALUES + 2)
        by = fit.largest(may, self.rules.largest)
        others = may.copy()
        others[by] = False
        for _ in range(min(self.rules.largest + self.rules.drawn - len(by), int(others.sum()))):
            drawn = int(curator.draw_public(PublicChoice(), others[None].astype(np.int64))[0])
            by.append(drawn)
            others[drawn] = False
        return by

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> AdditiveModel:
        """Return the model that ``to_arrays`` wrote, or raise FileFormatError."""
        return restored(arrays, self.encoder, self._loss_of(self._budget), self._stage.units, self.signs)


def _together(opening: Opening, rounds: Rounds) -> Sequence:
    return Sequence((*opening.event.parts, rounds.event))


class Course:
    """How a fit goes on: the units and the cuts of its next round, by what its last rounds released."""

    def __init__(self, plan: AdditivePlan, precision: float, spread: float) -> None:
        self._rules, self._remaining, self._limit = plan.rules, plan._stage.units, plan.limit
        factor, power = self._rules.rounds if plan._budget.concentrated else self._rules.pure_rounds
        rounds = float(np.clip(factor * (precision * spread) ** power, FEWEST, MOST_ROUNDS))
        self._size = 1 if plan.rounds is not None else max(1, round(UNITS / rounds))
        self._may_cut = precision >= self._rules.cuts_from
        self._cutting = False
        self._depths: list[int] = []
        self._rounds = 0

    def next_units(self) -> int:
        """Return how many units the next round spends, 0 where none remain; the last round takes a remainder with it."""
        size = self._size if self._remaining >= 2 * self._size else self._remaining
        self._remaining -= size
        return size

    def next_cuts(self) -> int:
        """Return how many cuts the next round may have."""
        if not (self._may_cut and self._cutting):
            return 0
        deepest = max(self._depths[-MEMORY:], default=0)
        if deepest == 0 and len(self._depths) >= MEMORY and self._rounds % SELDOM:
            return 0
        return min(self._limit, 1 + deepest)

    def saw(self, evidence: npt.NDArray[np.float64], *, offered: bool) -> None:
        """Take note of a round's log evidence by depth, and whether it was offered cuts."""
        self._rounds += 1
        if offered:
            self._depths.append(int(np.argmax(evidence)))
        found_nothing = float(logsumexp(evidence) - math.log(len(evidence))) <= -1
        if found_nothing or self._rounds >= self._rules.first:
            self._cutting = True
