"""The plan of HedgerowRegressor: an opening, rounds, histograms of residuals between them, and the mean of what is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from hedgerow.additive.round import MOST_SUMS, MOST_VALUES, Fit, OneRound
from hedgerow.additive.squared import STEPS, Distances, Spread, Squared
from hedgerow.additive.terms import Term
from hedgerow.curator import Queryable
from hedgerow.margins import UNIT
from hedgerow.mechanisms import Budget, Noise, PublicChoice
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, OneOf, Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.survey import FINE, Ones, Survey, SurveyRecipe, fine_encoder, too_few

UNITS = 400
MEMORY = 3
ROUNDING = Fraction(1, 2**24)
LEAST_BINS, MOST_BINS = 8, 40
FEWEST, MOST_ROUNDS = 2.0, 80.0


@dataclass(frozen=True)
class Rules:
    rounds: tuple[float, float] = (0.8, 0.45)
    pure_rounds: tuple[float, float] = (0.1, 0.55)
    bins: tuple[float, float] = (2.5, 0.3)
    pure_bins: tuple[float, float] = (1.65, 0.3)
    most_cuts: int = 5
    first: int = 12
    cuts_from: float = 300.0
    largest: int = 2
    drawn: int = 2
    thousandths: int = 500
    pure_thousandths: int = 250
    clip_cells: float = 10.0
    milestone: int = 4  # units
    last: int = 8  # units
    doubling: float = 1.5
    fallback: float = 20.0
    survey: Fraction = Fraction(1, 20)


RULES = Rules()


class RegressionPlan:
    def __init__(self, rules, schema, claim, *, rounds=None, bins=None, most_cuts=None, anchor=0):
        self.rules, self.rounds_given, self.bins_given, self.anchor = rules, rounds, bins, anchor
        self.encoder = fine_encoder(schema)
        limit = rules.most_cuts if most_cuts is None else min(most_cuts, rules.most_cuts)
        self.most_cuts = max(0, min(limit, len(schema.names) - 1))
        self.budget = Budget.of_whole(claim, self._event)
        self.stages(self.budget)

    def stages(self, budget):
        noise = float(Budget(budget.amount, budget.concentrated).noise().deviation)
        share = Fraction(min(0.1, 0.02 * math.sqrt(noise))).limit_denominator(1000)
        self.opening_noise = (budget * share).noise()
        self.survey = SurveyRecipe(histograms=self.rules.survey).survey(budget, self.encoder, counts=False)
        self.left = budget * (1 - share - self.rules.survey if self.survey.histogram_noise else 1 - share)
        numeric = np.array(self.encoder.schema.is_numeric)
        most = MOST_BINS if self.bins_given is None else self.bins_given
        codes = np.where(numeric, np.minimum(self.encoder.n_codes, most + 1), self.encoder.n_codes)
        self.most_codes = max(int(codes.max()), Distances().channels)
        self.made = {}
        self.thousandths = self.rules.thousandths if budget.concentrated else self.rules.pure_thousandths
        self.any_loss = Squared(1, 1.0, 1.0, self.thousandths)
        self.unit = OneRound(self.any_loss, self.left / UNITS, self.most_cuts, self.most_codes)

    def _event(self, budget):
        self.stages(budget)
        return self.event

    @property
    def event(self):
        rule = Distances(signed=True)
        first = self.opening_noise.event("histogram of the outcome", draws=rule.channels)
        return Sequence((first, *self.survey.event.parts, Sequence((self.unit.event,) * UNITS)))

    def one(self, loss, units, cuts):
        key = units, cuts
        if key not in self.made:
            self.made[key] = self.afford(units, lambda b: OneRound(self.any_loss, b, cuts, self.most_codes), lambda m: m.event)
        return replace(self.made[key], loss=loss)

    def afford(self, units, make, event):
        budget = self.left * Fraction(units, UNITS)
        most = cost(self.unit.event).times(units)
        made = make(budget)
        n = 0
        while not cost(event(made)).at_most(most):
            budget *= 1 - ROUNDING
            made = make(budget)
            n += 1
            if n % 100 == 0: print("afford", n)
        return made

    def fit(self, curator):
        R = self.rules
        rule = Distances(signed=True, anchor=self.anchor)
        released = curator.open_round(rule, whole=True).whole_sums(self.opening_noise)
        spread = Spread.of(rule, released, self.opening_noise.deviation)
        start = self.anchor + spread.mean
        records = spread.records
        left = float(self.left.amount)
        precision = records * (math.sqrt(2 * left) if self.budget.concentrated else left)
        factor, power = R.bins if self.budget.concentrated else R.pure_bins
        bins = int(np.clip(round(factor * precision**power), LEAST_BINS, MOST_BINS)) if self.bins_given is None else self.bins_given
        merges = self.survey.merges(curator.open_round(Ones()), bins)
        curator.merge(merges)
        encoder = self.survey.encoder.merged(merges)
        fit = Fit(encoder, np.array([records]))
        fit.begin(np.array([round(start)]))
        factor, power = R.rounds if self.budget.concentrated else R.pure_rounds
        wanted = float(np.clip(factor * precision ** power, FEWEST, MOST_ROUNDS))
        if self.rounds_given:
            wanted = self.rounds_given
        units_left = UNITS
        self.log = []
        last = R.last
        around = spread.about(spread.mean)
        if precision < R.fallback:
            wanted = 0
            last = 200
        size = max(1, round((UNITS - last - 5 * R.milestone) / max(wanted, 1)))
        noise_of = lambda units: float(self.one(self.any_loss, units, 0).noise.deviation) / UNIT
        loss = around.loss(noise_of(size), R.clip_cells, self.thousandths)
        self.loss = loss
        depths, cutting, done, next_milestone = [], False, 0, 1.0
        votes = None
        pending = True
        while wanted and units_left - last >= size:
            if done >= next_milestone and units_left - last - R.milestone >= size:
                old = loss
                loss = self.renew(curator, fit, R.milestone, noise_of(size))
                fit.visits.rescale(old.unit / loss.unit)
                units_left -= R.milestone
                next_milestone *= R.doubling
                pending = False
            cuts = min(self.most_cuts, 1 + max(depths[-MEMORY:], default=0)) if cutting and precision >= R.cuts_from else 0
            cuts = min(cuts, self.affordable(fit))
            by = self.cut_by(curator, fit) if cuts else []
            term, found = self.one(loss, size, cuts).run(curator, fit, by)
            units_left -= size
            fit.add(term)
            done += 1
            ev = found.evidence
            depths.append(int(np.argmax(ev)))
            self.log.append((term.features, float(logsumexp(ev) - math.log(len(ev))), loss.clip, round(loss.spread), round(loss.inside, 2)))
            if self.log[-1][1] <= -1 or done >= R.first:
                cutting = True
        # the rest: half for the clip, half for the mean
        self.final(curator, fit, units_left)
        self.start, self.encoder_fitted, self.terms = np.array([round(start) + self.shift]), encoder, fit.terms
        return self

    def residuals(self, curator, fit, units):
        rule = Distances()
        votes = fit.take() 
        noise = self.afford(units, lambda b: b.noise(), lambda m: m.event('x', draws=rule.channels))
        released = curator.open_round(rule, votes, whole=True).whole_sums(noise)
        return Spread.of(rule, released, noise.deviation)

    def renew(self, curator, fit, units, noise):
        return self.residuals(curator, fit, units).loss(noise, self.rules.clip_cells, self.thousandths)

    def final(self, curator, fit, units):
        around = self.residuals(curator, fit, units // 2)
        noise = self.afford(units - units // 2, lambda b: b.noise_for(self.any_loss.l1, self.any_loss.l2_squared), lambda m: m.event('x', draws=2))
        d = noise.deviation / UNIT
        best = min(around.edges[1:], key=lambda clip: (clip * d / around.records) ** 2 + self.bias(around, clip) ** 2)
        loss = replace(self.any_loss, clip=int(best))
        total, count = curator.open_round(loss, whole=True).whole_sums(noise) / UNIT
        count = max(count / loss.curvature, d / loss.curvature, 1)
        self.shift = int(total * best / count)
        self.log.append(("final", int(best), self.shift, d, count, around.records))

    def bias(self, around, clip):
        middle = (around.edges[:-1] + around.edges[1:]) / 2
        return float(around.counts @ np.maximum(middle - clip, 0)) / around.counts.sum()

    def affordable(self, fit):
        sums = int(fit.offsets[-1]) * 2 * 4 * 10
        return 0 if len(fit.numeric) < 2 else max(1, 1 + int(math.log2(max(MOST_SUMS / sums, 1))))

    def cut_by(self, curator, fit):
        may = fit.numeric | (fit.encoder.n_codes <= MOST_VALUES + 2)
        by = fit.largest(may, self.rules.largest)
        others = may.copy()
        others[by] = False
        for _ in range(min(self.rules.largest + self.rules.drawn - len(by), int(others.sum()))):
            drawn = int(curator.draw_public(PublicChoice(), others[None].astype(np.int64))[0])
            by.append(drawn)
            others[drawn] = False
        return by

    def predict(self, X):
        from hedgerow.additive.terms import AdditiveModel
        m = AdditiveModel(self.encoder_fitted, self.any_loss, self.start, tuple(self.terms))
        out = [m.margins(codes) for _, codes in self.encoder_fitted.blocks(X, 1 << 16)]
        return np.clip(np.concatenate(out)[:, 0], 0, STEPS) / STEPS
