"""HedgerowClassifier's plan: initial queries, then rounds. Each stage states its event and runs its queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive.cell_round import CellRound, PairRound
from hedgerow.additive.estimate import Estimate, Measured, estimated
from hedgerow.additive.losses import Logistic, Loss, Start
from hedgerow.additive.model import DAMAGED, OF_START, AdditiveModel, restored
from hedgerow.additive.monotone import projected
from hedgerow.additive.round import MAX_CUT_VALUES, MAX_SCAN_SUMS, Fit, OneRound, TurnRound
from hedgerow.additive.squared import Squared
from hedgerow.additive.starts import MOST_TERMS, StartVotes, codes_in, start_on, together
from hedgerow.arrays import Integers
from hedgerow.curator import Queryable
from hedgerow.curator.survey import FINE, Survey, fine_encoder, too_few
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.mechanisms import Budget, PublicChoice
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import SAMPLER_ERROR, Cost, Event, OneOf, Pure, Sequence, cost
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder, Schema

# Equal parts (units) of the budget of all rounds: a multiple of 60 and 120, the defaults of ``Rules.max_rounds``.
BUDGET_UNITS = 240
# A round may have one cut more than the largest estimated depth of the last so many rounds with cuts; 6 or 12 gained nothing.
DEPTH_WINDOW = 3
# If so many rounds in a row each select a new feature, many features have small effects, so later rounds get half the units.
NEW_FEATURES_IN_A_ROW = 6
# The weight of the gain of a ``PairRound``: a pair is selected among more candidates, so its gain is overstated more.
PAIR_GAIN = 2 / 3
CUT_INTERVAL = 3  # while the estimated depth is 0, only every third round may have cuts: this saves time
KINDS = "a round whose cells share one feature or select one each"
ROUNDING = Fraction(1, 2**24)  # relative: the first cut in the budget of a round that exceeds its units


@dataclass(frozen=True)
class Rules:
    """The constants of a fit. Every decision depends only on released values.

    ``snr`` below is the signal-to-noise ratio of a count: the released number of records over the standard deviation of the noise
    of one count at the budget of all rounds. ``python benchmarks/recipes.py`` measures what each rule gains; the tables and the
    alternatives are in docs/decisions/0012-hedgerow.md.
    """

    initial_share: Fraction = Fraction(1, 50)  # of the budget, for the numbers of records by class
    start_share: Fraction = Fraction(1, 50)  # of the budget, for a constant correction of the ``init`` model
    # (factor, exponent): the number of rounds is factor * (snr * ``Start.spread``) ** exponent, with a delta, and without.
    rounds_by_snr: tuple[float, float] = (0.8, 0.45)
    pure_rounds_by_snr: tuple[float, float] = (0.15, 0.45)
    max_rounds: float = 60.0
    # (factor, exponent): the number of bins of a numeric feature is factor * snr ** exponent, with a delta, and without.
    bins_by_snr: tuple[float, float] = (2.5, 0.3)
    pure_bins_by_snr: tuple[float, float] = (1.5, 0.3)
    max_cuts: int = 5  # of a ``OneRound``; more gained nothing with 800 000 records
    rounds_before_cuts: int = 12  # without cuts, or fewer if one has no significant effect
    min_snr_for_cuts: float = 300.0
    # From this ``snr`` on, once the last DEPTH_WINDOW rounds with cuts each had an estimated depth of 2 or more, all further
    # rounds are by cell (``CellRound``). With a window of one, many weak features pass for interactions: that lost .01 of AUC.
    min_snr_for_cells: float = 2.0**13
    pure_min_snr_for_cells: float = 2.0**15  # without a delta
    # A round by cell has log2(2 * snr / classes) - cell_cuts_below cuts, rounded, clipped to the range cell_cuts. With log2(snr)
    # 7 and 12 classes lose .002 to .007 of AUC. Up to 9 cuts take half as much time again at 2**19, and lose .001.
    cell_cuts_below: float = 10.0
    cell_cuts: tuple[int, int] = (2, 7)
    curves_before_cells: int = 6  # replaces rounds_before_cuts where rounds may be by cell
    # (factor, exponent): max_rounds of rounds by cell is factor * (snr / 2**17.5) ** exponent, clipped to [factor, 2 * factor].
    cell_rounds_by_snr: tuple[float, float] = (46.0, 0.5)
    rare_cuts: bool = True  # while cuts have no effect, only every CUT_INTERVAL-th round may have one: this saves time
    # Selections read a random sample of this many records, up to a factor of the square root of 2. This saves time, and the noise
    # of a selection would hide what more records add.
    cut_sample: float = 2.0**20  # in rounds of several cuts
    curve_sample: float = 2.0**17  # in rounds of at most one cut; more if its ``snr`` would be below curve_sample_snr
    curve_sample_snr: float = 2.0**14
    # A round's last cut is selected together with the feature. It may use only a few features, since each adds candidates:
    large_cut_features: int = 2  # those whose curves have the largest standard deviations,
    random_cut_features: int = 2  # and others drawn at random;
    fewer_features_from_snr: float = 2.0**17  # from this ``snr`` on, half as many of each


MIN_BINS, MAX_BINS = 8, 40  # of a numeric feature, at any signal-to-noise ratio
MIN_ROUNDS = 2.0  # with one, a single query would spend the whole budget
MAX_MEASURED_SUMS = 1 << 18  # of a round by cell; with a delta fewer, since each draw adds the sampler's error to delta


MakeRound = Callable[[int, int, type[OneRound]], OneRound]  # its arguments: units, cuts and kind


class InitialQueries:
    """The queries before the first round: records by class, histograms of fine bins, and the correction of an ``init`` model."""

    final_share = 0.0  # of the rounds' units, for a query after the last round; only regressors have one

    def __init__(self, loss: Logistic, budget: Budget, share: Fraction, survey: Survey, start_share: Fraction) -> None:
        self.loss, self.survey, self.n_counts = loss, survey, loss.initial_counts.channels
        self._noise = (budget * share).noise()
        self.deviation = self._noise.deviation * math.sqrt(self.n_counts)  # of the number of records, a sum of counts
        parts: list[Event] = [self._noise.event("what the model starts with", draws=self.n_counts), *survey.event.parts]
        if start_share:
            self._start_noise = (budget * start_share).noise_for(loss.l1, loss.l2_squared)
            parts.append(self._start_noise.event("what the start lacks", draws=loss.channels))
        self.event = Sequence(tuple(parts))
        self.left = budget * (survey.left - share - start_share)

    def act(self, curator: Queryable) -> Start:
        released = curator.open_round(self.loss.initial_counts).whole_sums(self._noise)
        few = too_few(int(released.sum()), self._noise, self.n_counts)
        curator.warnings += few
        if not few and released.shape == curator.evidence.sums.shape:  # otherwise the warning above covers all classes
            curator.evidence.add(released, self._noise.deviation)
        return self.loss.start(released, self._noise.deviation)

    def beyond(self, curator: Queryable, votes: StartVotes, start: Start) -> Start:
        """Return the start with ``init`` model: its margins are a constant correction of that model, one shrunken Newton step."""
        # Add ``votes``, the init model's, to all margins (which are 0), and measure the sums of gradients and curvatures there.
        loss, noise = self.loss, self._start_noise
        sums = curator.open_round(loss, votes, whole=True).whole_sums(noise)
        gradient, curvature = sums[: loss.scored] / UNIT, sums[loss.scored :] / (UNIT * loss.curvature)
        deviations = noise.deviation / UNIT, noise.deviation / (UNIT * loss.curvature)
        measured = Measured(gradient[None, None], curvature[None, None], *deviations)
        estimate = estimated(measured, numeric=False, prior=loss.prior)
        return replace(start, margins=loss.votes(estimate.steps[0, 0]), curvature=loss.curvature_of(curvature))


class Rounds:
    """The rounds of a fit. A round spends a whole number of units.

    The plan charges, in advance, ``units`` rounds of one unit with ``most_cuts`` cuts, of the most expensive kind. ``one``
    builds a round of u units that costs at most u times as much: in epsilon if delta is 0, else under every accountant. If delta
    is 0, the event also covers one pure step of the total epsilon. The reason: one large step has a larger rho and mu^2 than many
    small ones of the same total epsilon, so the event covers rounds of any size.
    """

    def __init__(
        self,
        loss: Loss,
        budget: Budget,
        units: int,
        most_cuts: int,
        most_codes: int,
        kinds: tuple[type[OneRound], ...] = (OneRound,),
    ) -> None:
        self.budget, self.units, self.most_cuts = budget, units, most_cuts
        self._loss, self._most_codes, self._plain = loss, most_codes, kinds[0]
        self._made: dict[tuple[int, int, type[OneRound]], OneRound] = {}
        first, *others = (self._round(kind, budget / units, most_cuts) for kind in kinds)
        self._cost = cost(first.event)
        # Selections of other kinds may have a larger epsilon, which does not matter with a delta
        more = [replace(self._cost, epsilon=max(self._cost.epsilon, cost(each.event).epsilon)) for each in others]
        unit = OneOf((first.event, *(within(each, most).event for each, most in zip(others, more, strict=True))), KINDS)
        self._cost = cost(unit)
        alternatives: list[Event] = [Sequence((unit if others else first.event,) * units)]
        if not budget.concentrated:
            alternatives.append(Pure(self._cost.epsilon * units, "any rounds", "all units in one step"))
        label = "rounds; released values decide how many there are and how they divide the budget"
        self.event = OneOf(tuple(alternatives), label)

    def _round(self, kind: type[OneRound], budget: Budget, cuts: int) -> OneRound:
        loss = self._loss.in_cells() if issubclass(kind, CellRound) else self._loss
        return kind(loss, budget, cuts, self._most_codes)

    def one(self, units: int, cuts: int, kind: type[OneRound] = OneRound) -> OneRound:
        kind = self._plain if kind is OneRound else kind
        if (units, cuts, kind) not in self._made:
            budget, most = self.budget * Fraction(units, self.units), self._cost.times(units)
            if not budget.concentrated:  # a pure round costs at most its budget, so capping that is enough
                budget = replace(budget, amount=min(budget.amount, most.epsilon))
            self._made[units, cuts, kind] = within(self._round(kind, budget, cuts), most)
        return self._made[units, cuts, kind]


def within(made: OneRound, most: Cost) -> OneRound:
    if made.budget.concentrated:  # a round of another kind may be more expensive
        own = cost(made.event)
        allowed, asked = (most.rho, own.rho) if own.by_rho else (most.total_mu_squared, own.total_mu_squared)
        part = Fraction(float(allowed / asked)).limit_denominator(1 << 20)
        made = replace(made, budget=made.budget * min(part, Fraction(1)))
    less = ROUNDING
    while not cost(made.event).at_most(most):  # mostly by a rounding
        made = replace(made, budget=made.budget * (1 - less))
        less = min(2 * less, Fraction(1, 2))
    return made


class AdditivePlan:
    """The plan of one additive boosting fit: initial queries, then rounds.

    If ``rounds`` or ``bins`` (of a numeric feature) is None, it follows from released values. A round has at most ``most_cuts``
    cuts; 0 makes a sum of curves. ``signs`` are monotonicity constraints (``signs_of``). ``weights`` are those of classes in the
    decision; they shift the start by a constant. ``init`` is the model to start from; a plan that only restores a model which
    ``started`` from one does not need it. ``fine`` are the bins that the survey merges, at most 255 per feature; None: those of
    ``fine_encoder``. With ``shares``, owners add the noise.
    """

    def __init__(
        self,
        rules: Rules,
        schema: Schema,
        claim: Claim,
        *,
        rounds: int | None,
        bins: int | None,
        most_cuts: int | None = None,
        signs: tuple[int, ...] = (),
        weights: tuple[float, ...] | None = None,
        init: AdditiveModel | None = None,
        started: bool = False,
        fine: Encoder | None = None,
        shares: int = 0,
    ) -> None:
        again = partial(type(self), rules, schema, claim, init=init, started=started, shares=shares)
        self._on_fine_bins = partial(again, rounds=rounds, bins=bins, most_cuts=most_cuts, signs=signs, weights=weights)
        self._claim = claim
        self._rules, self._rounds, self._bins, self._signs, self._weights = rules, rounds, bins, signs, weights
        self.most_bins = MAX_BINS if bins is None else bins  # of a numeric feature
        self._started, self._shares = started or init is not None, shares
        self._start_share = rules.start_share if self._started else Fraction(0)
        # Numeric features in fine bins, which the survey merges
        self.encoder = fine_encoder(schema) if fine is None else fine
        limit = 0 if shares else rules.max_cuts if most_cuts is None else min(most_cuts, rules.max_cuts)
        if shares and claim.delta == 0:
            raise ConfigurationError("noise_shares need a delta; pass delta=1e-6, or leave them out.")
        self._most_cuts = max(0, min(limit, 1 if any(signs) else limit, len(schema.names) - 1))
        # Rounds by cell are excluded if interactions or signs are constrained, or if owners add the noise.
        self._by_cell = most_cuts is None and not any(signs) and not shares
        # Holds the last budget that the search below tried, which is the one that is used
        self._known: dict[Budget, tuple[InitialQueries, Rounds]] = {}
        self._budget = Budget.of(claim, self._event, largest=Claim.rho)
        self.event = self._event(self._budget)
        self._initial_queries, self.stage = self._known[self._budget]
        self._loss = self._initial_queries.loss
        self._start = None if init is None else start_on(init, self.encoder, self._loss, signs, most_cuts)
        # Adds the init model's votes, from codes of the fine bins
        self._votes: StartVotes | None = None
        if self._start is not None:
            self._votes = StartVotes(self._start.packed, codes_in(self._start.encoder, self.encoder))

    def on(self, encoder: Encoder) -> AdditivePlan:
        """Return the plan that merges the bins of this encoder, if they are as fine as the survey's."""
        return self._on_fine_bins(fine=encoder) if encoder.max_bins == FINE else self

    def _queries(self, budget: Budget) -> InitialQueries:
        loss = Logistic(len(self.encoder.schema.classes), normal=budget.concentrated)
        survey = Survey(budget, self.encoder)
        return InitialQueries(loss, budget, self._rules.initial_share, survey, self._start_share)

    def _event(self, budget: Budget) -> Event:
        key, budget = budget, replace(budget, shares=self._shares)
        if key not in self._known:
            initial, units = self._queries(budget), self._rounds or BUDGET_UNITS
            if self._rounds is not None:
                units += math.ceil(units * initial.final_share)
            numeric = np.array(self.encoder.schema.is_numeric)
            codes = np.where(numeric, np.minimum(self.encoder.n_codes, self.most_bins + 1), self.encoder.n_codes)
            most_codes, plain = int(codes.max()), TurnRound if self._shares else OneRound
            kinds = (plain, CellRound) if self._by_cell else (plain,)
            most_cuts = self._cuts_within(initial.loss, most_codes, units, normal=budget.concentrated)
            rounds = Rounds(initial.loss, initial.left, units, most_cuts, most_codes, kinds)
            self._known = {key: (initial, rounds)}
        initial, rounds = self._known[key]
        return Sequence((*initial.event.parts, rounds.event))

    def fit(self, curator: Queryable) -> AdditiveModel:
        start = self._initial_queries.act(curator)
        if self._votes is not None:
            start = self._initial_queries.beyond(curator, self._votes, start)
        snr = self._snr(start.records)
        total = start.records, self._initial_queries.deviation
        encoder, mass = self._initial_queries.survey.merge(curator, self._bins_for(snr), total)
        fit = Fit(encoder, mass, start.curvature, start.margins, *self._draw_samples(curator, start.records))
        schedule = RoundSchedule(self, snr, self.stage.units, start.spread)
        self._boost(curator, fit, snr, schedule, self.stage.one)
        margins = start.margins
        if self._weights and min(self._weights) < 1:
            margins = margins + self._loss.weighted(np.array(self._weights))
        return self._model(fit, self._loss, margins)

    def _cuts_within(self, loss: Loss, most_codes: int, units: int, *, normal: bool) -> int:
        if not self._by_cell:
            return self._most_cuts
        draws = float(MAX_MEASURED_SUMS)
        if normal:  # the sampler's errors take at most a tenth of delta
            growth = 1 + math.exp(min(float(self._claim.epsilon), 700.0))
            draws = min(draws, float(self._claim.delta) / 10 / float(SAMPLER_ERROR) / growth / units)
        cuts = int(math.log2(max(draws / (most_codes * loss.channels), 1)))
        return max(self._most_cuts, min(self._rules.cell_cuts[1], cuts))

    def _boost(self, curator: Queryable, fit: Fit, snr: float, schedule: RoundSchedule, one: MakeRound) -> None:
        sums = int(fit.offsets[-1]) * self._loss.channels
        while units := schedule.next_units():
            if schedule.next_cell_cuts:
                affordable = max(1, int(math.log2(max(MAX_SCAN_SUMS / sums, 1))))
                cuts = min(schedule.next_cell_cuts, self.stage.most_cuts, affordable)
                kind = schedule.next_kind()
                term, _ = one(units, cuts, kind).run(curator, fit)
                schedule.gains[kind].append(term.gain * (PAIR_GAIN if kind is PairRound else 1))
                fit.add(term)
                continue
            # As many cuts as keep a scan within MAX_SCAN_SUMS; the last cut has up to 4 features of about 10 groups each.
            affordable = 0 if len(fit.numeric) < 2 else max(1, 1 + int(math.log2(max(MAX_SCAN_SUMS / (sums * 40), 1))))
            cuts = min(schedule.next_cuts(), affordable)
            by = self._cut_features(curator, fit, snr) if cuts else []
            term, estimate = one(units, cuts, OneRound).run(curator, fit, by)
            assert estimate is not None
            schedule.record(estimate, int(term.feature[0]), offered=cuts > 0)
            if self._signs:
                term = projected(term, self._signs, fit.curves[int(term.feature[0])][:, 0])
            fit.add(term)

    def _model(self, fit: Fit, loss: Logistic | Squared, margins: Integers) -> AdditiveModel:
        own = AdditiveModel(fit.encoder, loss, margins, tuple(fit.terms), self._signs)
        return own if self._start is None else together(self._start, own)

    def _snr(self, records: float) -> float:
        """Return the signal-to-noise ratio of ``Rules``."""
        left = float(self._initial_queries.left.amount)
        return records * (math.sqrt(2 * left) if self._budget.concentrated else left)

    def _draw_samples(self, curator: Queryable, records: float) -> tuple[int, int]:
        """Draw the two samples that selections read. Return their exponents n (sampling probability 2**-n)."""
        rules = self._rules
        if self._shares:  # nothing is selected
            return 0, 0
        sizes = rules.curve_sample, rules.cut_sample
        of_curves, of_cuts = (round(math.log2(max(records / size, 1))) for size in sizes)
        of_curves = min(of_curves, int(math.log2(max(self._snr(records) / rules.curve_sample_snr, 1))))
        for halvings in sorted({of_curves, of_cuts} - {0}):
            curator.draw_sample(halvings)
        return of_curves, of_cuts

    def _bins_for(self, snr: float) -> int:
        if self._bins is not None:
            return self._bins
        factor, power = self._rules.bins_by_snr if self._budget.concentrated else self._rules.pure_bins_by_snr
        return int(np.clip(round(factor * snr**power), MIN_BINS, MAX_BINS))

    def _cut_features(self, curator: Queryable, fit: Fit, snr: float) -> list[int]:
        """Return the features that the last cut may use: those with the largest released curves, and others at random."""
        may, rules = fit.numeric | (fit.encoder.n_codes <= MAX_CUT_VALUES + 2), self._rules
        divisor = 2 if snr >= rules.fewer_features_from_snr else 1
        largest, drawn = -(-rules.large_cut_features // divisor), -(-rules.random_cut_features // divisor)
        spread = np.zeros(len(may))
        for j in np.flatnonzero(may).tolist():
            spread[j] = fit.curves[j].std(axis=0).sum()
        ranked = np.argsort(spread)[::-1][:largest]
        by: list[int] = ranked[spread[ranked] > 0].tolist()
        others = may.copy()
        others[by] = False
        for _ in range(min(largest + drawn - len(by), int(others.sum()))):
            by.append(int(curator.draw_public(PublicChoice(), others[None].astype(np.int64))[0]))
            others[by] = False
        return by

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> AdditiveModel:
        of_start = {name.removeprefix(OF_START): arrays[name] for name in arrays if name.startswith(OF_START)}
        others = {name: arrays[name] for name in arrays if not name.startswith(OF_START)}
        if bool(of_start) != self._started:
            raise FileFormatError(DAMAGED)
        loss = self._loss_in(others)
        own = restored(others, self.encoder, loss, self.stage.units, self._signs)
        if not of_start:
            return own
        return together(restored(of_start, self.encoder, self._loss_in(of_start), MOST_TERMS, self._signs), own)

    def _loss_in(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Logistic | Squared:
        return self._loss


class RoundSchedule:
    """Decides the units, cuts and kind of a fit's next round from what earlier rounds released."""

    def __init__(self, plan: AdditivePlan, snr: float, units: int, spread: float = 1.0) -> None:
        """``spread`` is that of ``Start``."""
        rules, features = plan._rules, len(plan.encoder.n_codes)
        self._rules = rules
        self._left, self._most = units, plan._most_cuts
        factor, power = rules.rounds_by_snr if plan._budget.concentrated else rules.pure_rounds_by_snr
        self.next_cell_cuts = 0  # the cuts of all further rounds once they are by cell, until then 0
        self._cell_cuts, self._before_cuts = 0, rules.rounds_before_cuts
        # The gains of each kind of round by cell. With more than two classes there are no pairs: .001 of AUC on seven classes.
        kinds = (PairRound, CellRound) if plan._initial_queries.loss.scored == 1 else (CellRound,)
        self.gains: dict[type[CellRound], list[float]] = {kind: [] for kind in kinds}
        least = rules.min_snr_for_cells if plan._budget.concentrated else rules.pure_min_snr_for_cells
        if plan._by_cell and snr >= least:
            of_class = 2 * snr / max(2, len(plan.encoder.schema.classes))
            self._cell_cuts = int(np.clip(round(math.log2(of_class) - rules.cell_cuts_below), *rules.cell_cuts))
            self._before_cuts = rules.curves_before_cells
        self._fixed = plan._rounds is not None

        def size(most: float) -> int:
            wanted = float(np.clip(factor * (snr * spread) ** power, MIN_ROUNDS, most))
            if plan._shares:  # whole turns
                wanted = max(1.0, round(wanted / features)) * features
            return 1 if self._fixed else max(1, round(units / wanted))

        most, growth = rules.cell_rounds_by_snr
        self.size = size(rules.max_rounds)
        self._cell_size = size(most * float(np.clip((snr / 2**17.5) ** growth, 1, 2)))
        self._smallest = max(self.size // 4, 1 if self._fixed else round(units / rules.max_rounds))
        self._new_in_a_row, self._features = 0, set[int]()
        self._may_cut = snr >= rules.min_snr_for_cuts
        self._cutting = False
        self._depths: list[int] = []
        self._rounds = 0

    def next_units(self) -> int:
        size = self.size if self._fixed or self._left >= 2 * self.size else self._left
        size = min(size, self._left)
        self._left -= size
        return size

    def next_kind(self) -> type[CellRound]:
        """Return the kind of the next round by cell: the one whose last two released gains have the larger mean."""
        # Each kind runs once first. Gains shrink, so a kind that has not run for a while has older, larger ones, and runs again.
        recent = {kind: gains[-2:] for kind, gains in self.gains.items()}
        return max(recent, key=lambda kind: float(np.mean(recent[kind])) if recent[kind] else math.inf)

    def next_cuts(self) -> int:
        if not (self._may_cut and self._cutting):
            return 0
        deepest = max(self._depths[-DEPTH_WINDOW:], default=0)
        seldom = self._rules.rare_cuts and deepest == 0 and len(self._depths) >= DEPTH_WINDOW
        if seldom and self._rounds % CUT_INTERVAL:
            return 0
        return min(self._most, 1 + deepest)

    def record(self, estimate: Estimate, feature: int, *, offered: bool) -> None:
        # Cuts are allowed after the first round with log evidence <= -1 (no effect), or after ``rounds_before_cuts`` rounds.
        # After NEW_FEATURES_IN_A_ROW rounds with a new feature and log evidence >= 0 each, the round size is halved.
        evidence = float(np.logaddexp.reduce(estimate.evidence) - math.log(len(estimate.evidence)))
        self._rounds += 1
        self._new_in_a_row = self._new_in_a_row + 1 if feature not in self._features and evidence >= 0 else 0
        self._features.add(feature)
        if self._new_in_a_row == NEW_FEATURES_IN_A_ROW:
            self.size, self._new_in_a_row = max(self.size // 2, self._smallest), 0
        if offered:
            self._depths.append(estimate.depth)
            recent = self._depths[-DEPTH_WINDOW:]
            if self._cell_cuts and len(recent) == DEPTH_WINDOW and min(recent) >= 2:
                self.next_cell_cuts, self.size = self._cell_cuts, self._cell_size
        if evidence <= -1 or self._rounds >= self._before_cuts:
            self._cutting = True
