"""The squared loss of regression: its norms hold for every clip, rounds keep to epsilon exactly, and clips are released."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.additive.round import Fit, OneRound
from hedgerow.additive.squared import Counts, Spread, Squared, counts_of_outcomes, counts_of_residuals
from hedgerow.audit import Grid, open_law, worst_loss
from hedgerow.curator import Queryable
from hedgerow.margins import UNIT
from hedgerow.mechanisms import Budget
from hedgerow.privacy.accounting import cost
from hedgerow.schema import Categorical, Encoder, Numeric, Schema
from hedgerow.table import MemoryTable

STEPS = 1 << 20
CLIPS = [1, 2, 3, 1000, STEPS]


def loss(clip, thousandths=500):
    return Squared(clip, clip / 2, 0.9, thousandths)


@pytest.mark.parametrize("thousandths", [250, 500])
@pytest.mark.parametrize("clip", CLIPS)
def test_a_record_adds_as_much_as_the_norms_say_and_no_more(clip, thousandths):
    found = loss(clip, thousandths)
    values = np.unique([0, 1, clip // 2, clip, clip + 1, STEPS // 3, STEPS])
    labels, margins = (np.array(part) for part in zip(*product(values, [*values, -STEPS, 2 * STEPS]), strict=True))
    channels = found(margins[:, None].astype(np.int32), labels)
    assert np.abs(channels).sum(axis=1).max() == found.l1
    assert (channels**2).sum(axis=1).max() == found.l2_squared
    assert np.abs(channels[:, 0]).max() == found.scored_l1 == UNIT
    residual = np.clip(labels - margins, -clip, clip)
    assert np.array_equal(channels[:, 0], np.trunc(residual * UNIT / clip).astype(np.int64))


def test_a_record_without_an_outcome_adds_nothing():
    labels, margins = np.array([-1, 5]), np.zeros((2, 1), dtype=np.int32)
    for rule in (loss(3), counts_of_residuals(STEPS), counts_of_outcomes(STEPS, 0)):
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


def law(labels, clip):
    """Return the exact law of what one round of epsilon 1 selects and measures on records of two features with two codes."""
    schema = Schema({name: Categorical(["a"]) for name in "fg"}, outcome=Numeric(0, 4))
    codes = np.array([[number % 2, number // 2 % 2] for number in range(len(labels))], dtype=np.uint8).reshape(-1, 2)
    one = OneRound(loss(clip), Budget(Fraction(1)), 0, 2)

    def fit(source):
        table = MemoryTable(codes, np.array(labels, dtype=np.int32), np.array([2, 2]), 0)
        curator = Queryable(table, cost(one.event), source)
        state = Fit(Encoder(schema, 2), np.array([4.0]))
        state.begin(np.array([1]))
        opened = curator.open_round(one.loss, state.take())
        chosen = opened.select(one.selection, np.zeros((1, 2), dtype=np.int64))
        return chosen.feature, tuple(opened.sums(chosen, one.noise).reshape(-1).tolist())

    return open_law(fit, Grid((0,), (0, 8 * UNIT)))


def worst(clip):
    return max(
        worst_loss(law(labels, clip), law((*labels, added), clip))
        for labels in [(), (0,), (4, 0)]
        for added in (0, 1, 4)
    )


@pytest.mark.parametrize("clip", [1, 2])
def test_a_round_loses_at_most_epsilon_and_a_fair_part_of_it(clip):
    assert 0.5 < worst(clip) <= 1 + 1e-9


def test_noise_for_norms_without_the_count_loses_more_than_epsilon(monkeypatch):
    monkeypatch.setattr(Squared, "l1", UNIT)
    monkeypatch.setattr(Squared, "scored_l1", UNIT // 4)
    assert worst(1) > 1


def histogram(values, rule):
    return rule(np.zeros((len(values), 1), dtype=np.int32), np.asarray(values)).sum(axis=0)


def test_the_mean_of_a_released_histogram_is_near_that_of_the_outcomes():
    rule = counts_of_outcomes(STEPS, 0)
    for scale in (STEPS // 2, STEPS // 50, STEPS // 5000):
        values = (np.random.default_rng(0).beta(2, 4, 50_000) * scale).astype(np.int64)
        assert Spread.of(rule, histogram(values, rule), 10.0).mean == pytest.approx(values.mean(), rel=0.05)


def test_bins_are_merged_where_the_noise_hides_them():
    rule = counts_of_outcomes(STEPS, 0)
    values = np.random.default_rng(0).normal(STEPS / 2, STEPS / 10, 4000).clip(0, STEPS).astype(np.int64)
    noise = 150.0
    means = [
        Spread.of(
            rule,
            np.rint(histogram(values, rule) + noise * np.random.default_rng(seed).normal(size=rule.channels)),
            noise,
        )
        for seed in range(20)
    ]
    assert np.abs([spread.mean - STEPS / 2 for spread in means]).mean() < 0.06 * STEPS


def test_the_clip_is_wider_where_noise_is_small_and_where_tails_are_heavy():
    rule, generator = counts_of_residuals(STEPS), np.random.default_rng(0)
    even = Spread.of(rule, histogram(np.abs(generator.normal(0, 10_000, 20_000)).astype(np.int64), rule), 1.0)
    heavy = Spread.of(rule, histogram(np.abs(generator.standard_t(2, 20_000) * 10_000).astype(np.int64), rule), 1.0)
    chosen = [even.loss(noise, 10.0, 0.2, 500).clip for noise in (1000.0, 100.0, 1.0)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]
    assert heavy.loss(1.0, 10.0, 0.2, 500).clip > even.loss(1.0, 10.0, 0.2, 500).clip
    assert heavy.wide_clip(100.0) > heavy.loss(100.0, 10.0, 0.2, 500).clip


def test_nothing_that_stands_out_is_told_as_what_it_is():
    rule = counts_of_residuals(STEPS)
    spread = Spread.of(rule, np.zeros(rule.channels, dtype=np.int64), 100.0)
    assert spread.records == 1
    assert np.isfinite(spread.mean)
    assert 1 <= spread.loss(10.0, 10.0, 0.2, 500).clip <= spread.edges[-1]
    assert isinstance(rule, Counts)
