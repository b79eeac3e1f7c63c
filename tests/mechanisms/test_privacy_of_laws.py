"""The exact laws on neighboring statistics: the privacy loss never exceeds the cost, and comes close to it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from costs import stated

from hedgerow.mechanisms import AtMost, Exponential, Geometric, PermuteAndFlip, RoundedNormal
from hedgerow.privacy.accounting import gaussian_delta
from hedgerow.scores import Gini, multiway

ROUNDING = 1 + 1e-9
BOTH = [PermuteAndFlip, Exponential]


def loss(law, neighbor):
    """The largest absolute log ratio of two laws, over outcomes whose masses are no float dust."""
    alive = np.minimum(law, neighbor) > 1e-280
    return float(np.abs(np.log(law[alive] / neighbor[alive])).max())


def largest_selection_loss(mechanism, changes, weighted=False, cases=1200):
    """Over random scores, and changes as a generator draws them."""
    generator = np.random.default_rng(11)
    worst = 0.0
    for _ in range(cases):
        count = int(generator.integers(2, 7))
        scores = generator.integers(-60, 61, count) * int(generator.choice([0, 1, 3]))
        offered = generator.integers(1, 9, count) if weighted else generator.random(count) < 0.8
        offered[int(generator.integers(count))] = 1
        worst = max(
            worst, loss(mechanism.law(scores, offered), mechanism.law(scores + changes(generator, count), offered))
        )
    return worst


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("epsilon", "score_range"), [("1/10", 1), ("1", 1), ("1", 4), ("3", 2)])
@pytest.mark.parametrize("sign", [1, -1])
def test_one_sided_changes_cost_the_range_once(kind, epsilon, score_range, sign):
    mechanism = kind(Fraction(epsilon), score_range)
    worst = largest_selection_loss(
        mechanism, lambda generator, count: sign * generator.integers(0, score_range + 1, count), kind is Exponential
    )
    assert 0.95 * float(stated(mechanism)) <= worst <= float(stated(mechanism)) * ROUNDING


@pytest.mark.parametrize("kind", BOTH)
def test_changes_of_both_signs_cost_their_spread(kind):
    """A score that moves by at most 3 up or down has range 6: half the signal at the same cost."""
    mechanism = kind(Fraction(1), 6)
    worst = largest_selection_loss(mechanism, lambda generator, count: generator.integers(-3, 4, count))
    assert 0.95 * float(stated(mechanism)) <= worst <= float(stated(mechanism)) * ROUNDING


@pytest.mark.parametrize("kind", BOTH)
def test_one_record_replaced_costs_twice_as_much(kind):
    mechanism = kind(Fraction(1, 2), 2)

    def replaced(generator, count):
        return generator.integers(0, 3, count) - generator.integers(0, 3, count)

    worst = largest_selection_loss(mechanism, replaced)
    assert 1.9 * float(stated(mechanism)) <= worst <= 2 * float(stated(mechanism)) * ROUNDING


@pytest.mark.parametrize("kind", BOTH)
def test_a_range_below_the_scores_changes_would_break_the_guarantee(kind):
    mechanism = kind(Fraction(1), 1)
    worst = largest_selection_loss(mechanism, lambda generator, count: generator.integers(0, 3, count))
    assert worst > 1.5 * float(stated(mechanism))


@pytest.mark.parametrize("kind", BOTH)
def test_selection_on_the_gini_score_of_neighboring_nodes(kind):
    """From records to the law: one record more changes the loss by at most the cost."""
    codes = (3, 2, 4)
    offsets, score, tests = np.array([0, 3, 5, 9]), Gini(), multiway(codes)
    generator = np.random.default_rng(3)
    mechanism = kind(Fraction(1), score.range)
    worst, lowest = 0.0, 0
    for case in range(600):
        size = int(generator.choice([0, 1, 2, 5, 40, 300]))
        records = np.column_stack([generator.integers(0, n, size + 1) for n in codes])
        labels = generator.integers(0, 3, size + 1)
        if case % 3 == 0:  # classes apart on one feature only, the new record alone against its branch there
            labels = records[:, 1] % 3
            labels[-1] = 2
        histogram = np.zeros((2, 9, 3), dtype=np.int64)
        for node in range(2):
            for row in range(size + node):
                histogram[node, offsets[:-1] + records[row], labels[row]] += 1
        scores = np.empty((2, 3), dtype=np.int64)
        score.score(histogram, tests, scores)
        changes = scores[1] - scores[0]
        assert changes.max() <= 0
        assert changes.min() >= -score.range
        lowest = min(lowest, changes.min())
        laws = [mechanism.law(row, np.ones(3, dtype=bool)) for row in scores]
        worst = max(worst, loss(*laws))
    assert lowest < -0.95 * score.range
    assert worst <= float(stated(mechanism)) * ROUNDING
    assert worst > 0.25 * float(stated(mechanism))  # these few records do not reach the worst case


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1/10", 1), ("1", 1), ("2", 3)])
def test_geometric_noise_costs_its_budget_exactly(epsilon, sensitivity):
    noise, outcomes = Geometric(Fraction(epsilon), sensitivity), np.arange(-120, 121)
    for change in range(-sensitivity, sensitivity + 1):
        worst = loss(noise.law(0, outcomes), noise.law(change, outcomes))
        assert worst == pytest.approx(float(stated(noise)) * abs(change) / sensitivity, rel=1e-9, abs=1e-12)


def test_geometric_noise_on_a_batch_adds_up_to_the_budget():
    """The record changes several values of a batch by an L1 norm of at most the sensitivity."""
    noise, outcomes = Geometric(Fraction(1), sensitivity=4), np.arange(-80, 81)
    for change in ([4, 0, 0], [1, -2, 1], [0, 3, -1]):
        total = sum(loss(noise.law(0, outcomes), noise.law(step, outcomes)) for step in change)
        assert total == pytest.approx(float(stated(noise)), rel=1e-9)


@pytest.mark.parametrize("threshold", [-4, 0, 7])
def test_at_most_costs_no_more_than_its_noise(threshold):
    mechanism = AtMost(Geometric(Fraction(1, 2)), threshold)
    losses = [loss(mechanism.law(value), mechanism.law(value + 1)) for value in range(-60, 60)]
    assert 0.95 * float(stated(mechanism.noise)) <= max(losses) <= float(stated(mechanism.noise)) * ROUNDING


@pytest.mark.parametrize("sigma", ["1/2", "1", "4", "30"])
def test_rounded_normal_lies_below_the_gaussian_curve(sigma):
    """Rounding is post-processing: delta at every epsilon is at most the continuous one, and close to it for wide noise."""
    noise, outcomes = RoundedNormal(1 / Fraction(sigma) ** 2), np.arange(-1500, 1501)
    law, neighbor = noise.law(0, outcomes), noise.law(1, outcomes)
    mu = math.sqrt(stated(noise))
    for epsilon in np.array([0.01, 0.1, 0.5, 1.0, 2.0]) * mu:
        delta = np.maximum(law - math.exp(epsilon) * neighbor, 0).sum()
        assert delta <= gaussian_delta(epsilon, mu) + 1e-14
        if Fraction(sigma) >= 4:
            assert delta >= 0.9 * gaussian_delta(epsilon, mu)
            assert delta > gaussian_delta(epsilon, 0.9 * mu)  # a curve for less noise-to-signal would be broken
