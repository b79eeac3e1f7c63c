"""The losses of regression: their norms hold for every clip, rounds keep to epsilon exactly, and clips are released."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow.additive.regression import RegressionPlan, RegressionRules
from hedgerow.additive.round import Fit, OneRound
from hedgerow.additive.squared import (
    LOWEST,
    Counts,
    Link,
    LogLink,
    LogOutcome,
    Poisson,
    Spread,
    Squared,
    counts_of_outcomes,
    counts_of_residuals,
)
from hedgerow.audit import Grid
from hedgerow.audit.exact import open_law, worst_loss
from hedgerow.curator import Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Budget, RoundedNormal
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Categorical, Encoder, Numeric, Schema
from hedgerow.schema.types import OutcomeGrid
from hedgerow.table import MemoryTable

STEPS = 1 << 20
CLIPS = [1, 2, 3, 1000, STEPS]


def loss(clip, count_weight=500):
    return Squared(clip, clip / 2, 0.9, count_weight)


@pytest.mark.parametrize("count_weight", [250, 500])
@pytest.mark.parametrize("clip", CLIPS)
def test_a_record_adds_as_much_as_the_norms_say_and_no_more(clip, count_weight):
    found = loss(clip, count_weight)
    values = np.unique([0, 1, clip // 2, clip, clip + 1, STEPS // 3, STEPS])
    labels, margins = (np.array(part) for part in zip(*product(values, [*values, -STEPS, 2 * STEPS]), strict=True))
    channels = found(margins[:, None].astype(np.int32), labels)
    assert np.abs(channels).sum(axis=1).max() == found.l1
    assert np.square(channels, dtype=np.int64).sum(axis=1).max() == found.l2_squared
    assert np.abs(channels[:, 0]).max() == found.scored_l1 == UNIT
    residual = np.clip(labels - margins, -clip, clip)
    assert np.array_equal(channels[:, 0], np.trunc(residual * UNIT / clip).astype(np.int64))


def counts(clip, count_weight, mean, steps=STEPS):
    return Poisson(clip, clip / 2, 0.9, count_weight, LogLink(OutcomeGrid(0, 80, steps)), mean)


@pytest.mark.parametrize("count_weight", [250, 500])
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("mean", [1.0, 900.0, float(STEPS)])
def test_a_count_adds_as_much_as_the_norms_say_and_no_more(clip, count_weight, mean):
    found = counts(clip, count_weight, mean)
    values = np.unique([0, 1, clip // 2, clip, STEPS // 3, STEPS])
    margins = [-(2**31), -LOWEST - 1, -LOWEST, -3000, -512, -100, -1, 0, 1, 2**31 - 1]
    labels, at = (np.array(part) for part in zip(*product(values, margins), strict=True))
    channels = found(at[:, None].astype(np.int32), labels)
    assert np.abs(channels).sum(axis=1).max() <= found.l1
    assert np.square(channels, dtype=np.int64).sum(axis=1).max() <= found.l2_squared
    assert np.abs(channels[:, 0]).max() == found.scored_l1 == UNIT
    said = found.link.expected(at)
    residual = np.clip(labels - said, -clip, clip)
    assert np.array_equal(channels[:, 0], np.trunc(residual * UNIT / clip).astype(np.int64))
    assert np.array_equal(channels[:, 1], np.minimum(said, found.cap) * found.constant // found.cap)
    assert channels[:, 1].max() == found.constant or found.cap > STEPS


def test_outcomes_from_a_low_end_above_zero_are_logs_of_the_whole_outcome():
    link = LogLink(OutcomeGrid(20, 80, STEPS))
    found = replace(Poisson(STEPS // 3, 1.0, 0.9, 500, link).about(STEPS / 4), clip=STEPS // 3)
    values, margins = np.array([0, 5, STEPS // 2, STEPS, -1]), np.array([-(2**31), -LOWEST, -700, -100, 0, 2**31 - 1])
    labels, at = (np.array(part) for part in zip(*product(values, margins), strict=True))
    channels, said = found(at[:, None].astype(np.int32), labels), link.expected(at)
    assert link.grid.values(said) == pytest.approx(link.outcomes(at), rel=1e-4)
    residual = np.clip(labels - said, -found.clip, found.clip)
    known = labels >= 0
    assert not channels[~known].any()
    assert np.array_equal(channels[known, 0], np.trunc(residual * UNIT / found.clip).astype(np.int64)[known])
    outcomes = np.minimum(said + STEPS // 3, found.cap)
    assert np.array_equal(channels[known, 1], (outcomes * found.constant // found.cap)[known])
    assert link.outcomes(np.array([link.margin(STEPS / 2)])) == pytest.approx(50, rel=1e-2)


def test_a_step_of_counts_is_newtons():
    """In a cell where the model says 5 % of the range and outcomes are twice that, the step is that of a log link."""
    loss, labels = counts(STEPS, 500, STEPS / 40), np.full(100, STEPS // 10)
    margins = np.full((100, 1), loss.link.margin(STEPS / 20), dtype=np.int32)
    gradient, curvature = loss(margins, labels).sum(axis=0)
    step = gradient / (UNIT * loss.gradient_sd) / (curvature / (UNIT * loss.curvature))
    inside = Poisson(STEPS, STEPS / 2, 1.0, 500, loss.link, STEPS / 40)
    assert step * inside.unit == pytest.approx(512, rel=0.02)
    assert loss.shift(gradient / UNIT, curvature / (UNIT * loss.curvature)) == pytest.approx(512 * np.log(2), rel=0.02)


def test_links_say_outcomes_within_the_range():
    margins = np.array([-(2**31), -5000, -1, 0, 1, 70_000, 2**31 - 1])
    for link in (
        Link(OutcomeGrid(-3, 5, 100)),
        LogLink(OutcomeGrid(0, 80, STEPS)),
        LogOutcome(OutcomeGrid(2, 9000, STEPS)),
    ):
        said = link.outcomes(margins)
        assert (np.diff(said) >= 0).all()
        assert said.min() >= link.grid.low
        assert said.max() <= link.grid.high * (1 + 1e-12)
        assert link.scale == ("outcome" if type(link) is Link else "log outcome")
    assert LogLink(OutcomeGrid(0, 80, STEPS)).outcomes(margins).min() > 0


def test_a_log_of_outcomes_is_that_of_each_outcome():
    link = LogOutcome(OutcomeGrid(2, 9000, STEPS))
    values = np.array([0.0, 2.0, 50.0, 8999.0, 10_000.0, np.nan])
    codes = link.read(link.grid.codes(values))
    assert codes[-1] == -1
    assert link.outcomes(codes[:-1]) == pytest.approx(np.clip(values[:-1], 2, 9000), rel=1e-3)
    assert link.origin + codes[2] / link.vote_steps == pytest.approx(np.log(50), abs=1e-3)


@pytest.mark.parametrize(
    ("link", "low", "match"),
    [
        (LogOutcome, 0, "above 0"),
        (LogOutcome, 1e-4, "times the low"),
        (LogLink, -1, "from 0 or above"),
        (LogLink, 60, "twice its low"),
    ],
)
def test_a_range_that_has_no_logs_is_refused(link, low, match):
    with pytest.raises(ConfigurationError, match=match):
        link(OutcomeGrid(low, 100, STEPS))


def test_a_record_without_an_outcome_adds_nothing():
    labels, margins = np.array([-1, 5]), np.zeros((2, 1), dtype=np.int32)
    log = LogOutcome(OutcomeGrid(2, 9000, STEPS))
    rules = [loss(3), counts(3, 500, 7.0), Squared(3, 1.0, 1.0, 500, log)]
    rules += [
        of(STEPS, *more)
        for more in ((), (log,))
        for of in (counts_of_residuals, lambda *a: counts_of_outcomes(a[0], 0, *a[1:]))
    ]
    for rule in rules:
        channels = rule(margins, labels)
        assert not channels[0].any()
        assert channels[1].any()


@pytest.mark.parametrize("zero", [0, STEPS // 3, STEPS])
def test_each_record_is_in_one_bin_whatever_its_outcome_is(zero):
    labels = np.array([0, 1, zero, STEPS // 2, STEPS])
    margins = np.array([[-STEPS], [0], [7], [STEPS], [2**31 - 1]], dtype=np.int32)
    for rule in (counts_of_residuals(STEPS), counts_of_outcomes(STEPS, zero)):
        channels = rule(margins, labels)
        assert channels.shape == (5, rule.channels)
        assert (channels.sum(axis=1) == 1).all()
        assert channels.max() == rule.l1 == rule.l2_squared == 1


def law(labels, one_loss):
    """Return the exact law of what one round of epsilon 1 selects and measures on records of two features with two codes."""
    schema = Schema({name: Categorical(["a"]) for name in "fg"}, outcome=Numeric(0, 4))
    codes = np.array([[number % 2, number // 2 % 2] for number in range(len(labels))], dtype=np.uint8).reshape(-1, 2)
    one = OneRound(one_loss, Budget(Fraction(1)), 0, 2)

    def fit(source):
        table = MemoryTable(codes, np.array(labels, dtype=np.int32), np.array([2, 2]), 0)
        curator = Queryable(table, cost(one.event), source)
        state = Fit(encoder := Encoder(schema, 2), np.ones(encoder.n_codes.sum()), np.array([4.0]), np.array([1]))
        opened = curator.open_round(one.loss, state.pending_terms())
        chosen = opened.select(one.selection, np.zeros((1, 2), dtype=np.int64))
        return chosen.feature, tuple(opened.sums(chosen, one.noise).reshape(-1).tolist())

    return open_law(fit, Grid((0,), (0, 8 * UNIT)))


def worst(one_loss):
    return max(
        worst_loss(law(labels, one_loss), law((*labels, added), one_loss))
        for labels in [(), (0,), (4, 0)]
        for added in (0, 1, 4)
    )


@pytest.mark.parametrize("one_loss", [loss(1), loss(2), counts(1, 500, 0.5, steps=4), counts(2, 500, 1.0, steps=4)])
def test_a_round_loses_at_most_epsilon_and_a_fair_part_of_it(one_loss):
    assert 0.5 < worst(one_loss) <= 1 + 1e-9


@pytest.mark.parametrize("one_loss", [loss(1), counts(1, 500, 0.5, steps=4)])
def test_noise_for_norms_without_the_count_loses_more_than_epsilon(one_loss):
    one_loss = replace(one_loss)
    vars(one_loss).update(l1=UNIT, scored_l1=UNIT // 4)
    assert worst(one_loss) > 1


def normal(deviation):
    return RoundedNormal(Fraction(1, deviation**2))


def histogram(values, rule):
    return rule(np.zeros((len(values), 1), dtype=np.int32), np.asarray(values)).sum(axis=0)


def test_the_mean_of_a_released_histogram_is_near_that_of_the_outcomes():
    rule = counts_of_outcomes(STEPS, 0)
    for scale in (STEPS // 2, STEPS // 50, STEPS // 5000):
        values = (np.random.default_rng(0).beta(2, 4, 50_000) * scale).astype(np.int64)
        assert Spread.of(rule, histogram(values, rule), normal(10)).mean == pytest.approx(values.mean(), rel=0.05)


def test_bins_are_merged_where_the_noise_hides_them():
    rule = counts_of_outcomes(STEPS, 0)
    values = np.random.default_rng(0).normal(STEPS / 2, STEPS / 10, 4000).clip(0, STEPS).astype(np.int64)
    means = [
        Spread.of(
            rule,
            np.rint(histogram(values, rule) + 150 * np.random.default_rng(seed).normal(size=rule.channels)),
            normal(150),
        )
        for seed in range(20)
    ]
    assert np.abs([spread.mean - STEPS / 2 for spread in means]).mean() < 0.06 * STEPS


@pytest.mark.parametrize("kind", ["geometric", "normal"])
def test_noise_alone_is_seldom_taken_for_records(kind):
    rule = counts_of_outcomes(STEPS, 0)
    noise = Budget(Fraction(1, 100)).noise() if kind == "geometric" else normal(150)
    draws = np.random.default_rng(0).laplace if kind == "geometric" else np.random.default_rng(0).normal
    scale = noise.deviation / (np.sqrt(2) if kind == "geometric" else 1)
    released = np.rint(draws(0, scale, (200, rule.channels))).astype(np.int64)
    assert np.mean([Spread.of(rule, counts, noise).clear > 0 for counts in released]) < 0.1


@pytest.mark.parametrize(("center", "width", "error"), [(0.9, 0.02, 0.05), (0.5, 0.2, 0.1), (0.001, 0.001, 0.05)])
def test_outcomes_that_noise_hides_are_found_by_laws(center, width, error):
    """Few counts are above the noise, and the mean is right to some hundredths of the range, also near its ends."""
    rule, noise = counts_of_outcomes(STEPS, 0), Budget(Fraction(1, 140)).noise()
    generator = np.random.default_rng(0)
    values = (generator.normal(center, width, 3000) * STEPS).clip(0, STEPS).astype(np.int64)
    counts = histogram(values, rule)
    spreads = [
        Spread.of(rule, np.rint(counts + generator.laplace(0, 140, rule.channels)).astype(np.int64), noise)
        for _ in range(40)
    ]
    errors = np.array([abs(spread.mean - values.mean()) for spread in spreads])
    assert np.mean([spread.clear > 0 for spread in spreads]) > 0.9
    assert np.quantile(errors, 0.9) < error * STEPS


def test_noise_that_hides_most_bins_hardly_widens_the_outcomes():
    rule = counts_of_outcomes(STEPS, 0)
    values = (np.random.default_rng(0).normal(0.3, 0.1, 3500) * STEPS).clip(0, STEPS).astype(np.int64)
    for seed in range(20):
        noise = 110 * np.random.default_rng(seed).normal(size=rule.channels)
        spread = Spread.of(rule, np.rint(histogram(values, rule) + noise).astype(np.int64), normal(110))
        assert 0.6 < spread.around(spread.mean).root_mean_square / values.std() < 1.35


def test_values_that_stand_apart_are_not_taken_for_a_law():
    """Counts up to 60 leave most narrow bins empty, so the likeliest law over bins has the zeros alone."""
    rule, noise = counts_of_outcomes(STEPS, 0), Budget(Fraction(1, 70)).noise()
    values = np.random.default_rng(0).poisson(np.random.default_rng(1).gamma(1.2, 1.25, 6000)) * (STEPS // 60)
    for seed in range(40):
        released = histogram(values, rule) + np.random.default_rng(seed).laplace(0, 70, rule.channels)
        assert Spread.of(rule, np.rint(released).astype(np.int64), noise).mean > 0.6 * values.mean()


@pytest.mark.parametrize("noise", [1.0, 100.0, 10_000.0])
def test_no_clip_is_far_below_the_residuals_and_a_wide_one_is_free(noise):
    rule = counts_of_residuals(STEPS)
    residuals = np.abs(np.random.default_rng(0).standard_cauchy(20_000) * 1000).clip(0, STEPS // 4).astype(np.int64)
    spread = Spread.of(rule, histogram(residuals, rule), normal(1))
    assert spread.with_best_clip(noise, 10.0, 0.2, loss(1)).clip >= 0.69 * spread.root_mean_square
    wide = spread.wide_clip(noise)
    assert wide >= min(0.05 * spread.root_mean_square * len(residuals) / noise, spread.edges[-1])
    assert 1 <= wide <= spread.edges[-1]


def test_the_clip_is_wider_where_noise_is_small_and_where_tails_are_heavy():
    rule, generator = counts_of_residuals(STEPS), np.random.default_rng(0)
    even = Spread.of(rule, histogram(np.abs(generator.normal(0, 10_000, 20_000)).astype(np.int64), rule), normal(1))
    heavy = Spread.of(
        rule, histogram(np.abs(generator.standard_t(2, 20_000) * 10_000).astype(np.int64), rule), normal(1)
    )
    chosen = [even.with_best_clip(noise, 10.0, 0.2, loss(1)).clip for noise in (1000.0, 100.0, 1.0)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]
    assert heavy.with_best_clip(1.0, 10.0, 0.2, loss(1)).clip > even.with_best_clip(1.0, 10.0, 0.2, loss(1)).clip
    assert heavy.wide_clip(100.0) > heavy.with_best_clip(100.0, 10.0, 0.2, loss(1)).clip


def test_nothing_that_stands_out_is_told_as_what_it_is():
    rule = counts_of_residuals(STEPS)
    spread = Spread.of(rule, np.zeros(rule.channels, dtype=np.int64), normal(100))
    assert spread.clear == 0
    assert np.isfinite(spread.mean)
    assert 1 <= spread.with_best_clip(10.0, 10.0, 0.2, loss(1)).clip <= spread.edges[-1]
    assert isinstance(rule, Counts)


@pytest.mark.parametrize(("size", "believed"), [(4_000, True), (40_000, False)])
def test_a_histogram_by_which_residuals_grew_changes_no_clip(size, believed):
    schema = Schema({"a": Numeric(0, 1)}, outcome=Numeric(0, 10))
    opening = RegressionPlan(RegressionRules(), schema, Claim(Fraction(1)), rounds=None, bins=None)._initial_queries
    rule, generator = opening.of_residuals, np.random.default_rng(0)

    def spread(size):
        return Spread.of(rule, histogram(np.abs(generator.normal(0, size, 20_000)).astype(np.int64), rule), normal(1))

    released = histogram(np.abs(generator.normal(0, size, 20_000)).astype(np.int64), rule)
    curator = SimpleNamespace(open_round=lambda *_, whole: SimpleNamespace(whole_sums=lambda noise: released))
    before = spread(10_000)
    found = opening.residuals(curator, SimpleNamespace(pending_terms=lambda: None), before, opening.loss.link)
    assert (found is not before) == believed


@pytest.mark.parametrize(("delta", "old"), [(0.0, 250), (1e-6, 500)])
def test_a_file_says_how_much_a_count_weighs(delta, old):
    """Files of version 0.3 do not; without a delta it was half as much."""
    schema, claim = Schema({"a": Numeric(0, 1)}, outcome=Numeric(0, 10)), Claim(Fraction(1), delta=Fraction(delta))
    plan = RegressionPlan(RegressionRules(), schema, claim, rounds=None, bins=None)
    assert plan._loss_in({}).count_weight == old
    assert plan._loss_in({"count_weight": np.array([500])}).count_weight == 500
