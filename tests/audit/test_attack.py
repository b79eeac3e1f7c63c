"""The distinguishing attack: its bounds, its power, what it survives and what it catches."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from products import thinned
from scipy.stats import binomtest
from seeds import FITS

import hedgerow as hr
from hedgerow.audit.attack import Trial, attack, system_trial
from hedgerow.audit.cases import NeighborPair, case
from hedgerow.audit.events import look
from hedgerow.audit.findings import at_least, at_most, epsilon_bound, smallest_loss_seen
from hedgerow.mechanisms import Geometric, Randomness

PAIR = NeighborPair("one bit", "A record is there or not.", "add-remove", ([0], [0]), ([1], [1]))


class RandomizedResponse:
    """Answers the bit truthfully with the probability e^loss / (1 + e^loss)."""

    def __init__(self, loss, seed=0):
        self.truth = 1 / (1 + math.exp(-loss))
        self.generator = np.random.default_rng(seed)
        self.fits = 0

    def fit(self, X, y):
        self.fits += 1
        return X[0] if self.generator.random() < self.truth else 1 - X[0]

    def answer(self, model):
        return {"bit": model, "nothing": 7}


def response(loss, claim, **settings):
    learner = RandomizedResponse(loss)
    return Trial("randomized response", learner.fit, learner.answer, PAIR, claim, **settings)


@pytest.mark.parametrize(("hits", "runs"), [(0, 50), (1, 50), (17, 50), (50, 50)])
def test_the_intervals_are_those_of_clopper_and_pearson(hits, runs):
    interval = binomtest(hits, runs).proportion_ci(0.98, method="exact")
    assert at_least(hits, runs, 0.01) == pytest.approx(interval.low)
    assert at_most(hits, runs, 0.01) == pytest.approx(interval.high)


def test_a_bound_is_wrong_no_more_often_than_its_risk():
    generator = np.random.default_rng(1)
    loss, runs, risk = 1.0, 400, 0.05
    truth = 1 / (1 + math.exp(-loss))
    more, fewer = generator.binomial(runs, truth, 4000), generator.binomial(runs, 1 - truth, 4000)
    wrong = np.count_nonzero(epsilon_bound(more, fewer, (runs, runs), 0.0, risk) > loss)
    assert binomtest(wrong, 4000, risk, alternative="greater").pvalue > FITS
    assert np.median(epsilon_bound(more, fewer, (runs, runs), 0.0, risk)) > loss / 2


def test_a_delta_is_taken_off_the_likelier_side():
    assert epsilon_bound(50, 0, (1000, 1000), 0.0, 0.01) > 1
    assert epsilon_bound(50, 0, (1000, 1000), 0.1, 0.01) == 0


@pytest.mark.parametrize(("epsilon", "runs"), [(0.5, 2000), (1.0, 1000), (2.0, 5000)])
def test_the_power_is_what_is_seen_nine_times_in_ten(epsilon, runs):
    risk = 1e-3
    power = smallest_loss_seen(epsilon, 0.0, runs, risk)
    assert epsilon < power < math.inf

    def seen(loss):
        generator = np.random.default_rng(2)
        truth = 1 / (1 + math.exp(-loss))
        more, fewer = generator.binomial(runs, truth, 4000), generator.binomial(runs, 1 - truth, 4000)
        return float(np.mean(epsilon_bound(more, fewer, (runs, runs), 0.0, risk) > epsilon))

    assert seen(power) > 0.88
    assert seen((2 * epsilon + power) / 3) < 0.88


def test_too_few_runs_see_nothing():
    assert smallest_loss_seen(5.0, 0.0, 100, 1e-3) == math.inf


def test_an_honest_claim_survives_and_the_attack_has_teeth():
    (found,) = attack([response(1.0, 1.0)], runs=4000)
    assert not found.refuted
    assert found.loss > 0.7
    assert "bit" in found.words


def test_a_claim_below_the_loss_is_refuted():
    (found,) = attack([response(1.5, 1.0)], runs=4000)
    assert found.refuted
    assert 1.0 < found.loss < 1.5
    assert found.power < 1.5


def test_more_pairs_need_more():
    alone = attack([response(1.0, 1.0)], runs=1000)[0]
    many = attack([response(1.0, 1.0) for _ in range(8)], runs=1000)
    assert many[0].loss < alone.loss
    assert many[0].power > alone.power


class Shifted:
    """Releases a number whose law moves with the record: a threshold tells."""

    def fit(self, X, y):
        return np.random.default_rng().normal(3 * X[0], size=5)

    def answer(self, model):
        return {"array": model}


def test_a_value_above_a_threshold_is_an_event():
    learner = Shifted()
    (found,) = attack([Trial("shifted", learner.fit, learner.answer, PAIR, 1.0)], runs=1000)
    assert found.refuted
    assert "at least" in found.words or "at most" in found.words


def test_a_budget_of_minutes_limits_the_runs():
    (found,) = attack([response(1.0, 1.0)], runs=10**6, minutes=1e-6)
    assert found.power > 1.5  # 200 runs, not a million


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"runs": 10}, "at least 200"),
        ({"runs": 200, "minutes": 0}, "above 0"),
        ({"runs": 200, "confidence": 1.0}, "pass 0.999"),
        ({"runs": 200, "confidence": 0.1}, "pass 0.999"),
    ],
)
def test_wrong_settings_are_refused(settings, said):
    with pytest.raises(hr.ConfigurationError, match=said):
        attack([response(1.0, 1.0)], **settings)


def test_views_of_arrays_that_change_their_size():
    seen = look([{"a": [1, 2], "b": "x"}, {"a": [5.5]}, {"a": []}])
    assert seen["a"].tolist() == ["[1, 2]", "[5.5]", "[]"]
    assert seen["b"].tolist() == ["x", "absent", "absent"]
    assert seen["the size of a"].tolist() == [2, 1, 0]
    assert seen["the largest of a"][:2].tolist() == [2, 5.5]
    assert seen["the different values in a"].tolist() == [2, 1, 0]
    assert math.isnan(seen["a[1]"][1])
    assert len(set(seen["everything"])) == 3


def test_the_last_digit_of_noise_tells_a_count_of_0_from_1():
    noise = np.random.default_rng(0).laplace(scale=1.0, size=2000)
    digits = [look([{"count": count + noise}])["the last binary digit of count[0]"] for count in (0.0, 1.0)]
    assert digits[0].shape == digits[1].shape
    fine = [
        look([{"count": value} for value in count + noise])["the last binary digit of count[0]"] for count in (0.0, 1.0)
    ]
    assert fine[1].min() >= -53
    assert np.mean(fine[0] < -53) > 0.1


# The shipped systems. Runs are few here; `make audit` is the long form.


@pytest.mark.parametrize(
    ("name", "adjacency"),
    thinned([("edprf", "add-remove"), ("tradition", "replace-one")], 2),
)
def test_private_forms_survive(name, adjacency):
    (found,) = attack([system_trial(name, case("one-leaf"), adjacency)], runs=600, confidence=0.9999)
    assert not found.refuted
    assert found.power < 2.1


@pytest.mark.full
def test_a_private_leaf_loses_more_than_half_of_its_claim():
    (found,) = attack([system_trial("forest", case("one-leaf"), "add-remove")], runs=1200)
    assert 0.5 < found.loss <= 1


def test_published_forms_are_refuted():
    (found,) = attack([system_trial("pfdpdt", case("pure-node"), "add-remove", variant="published")], runs=200)
    assert found.refuted
    assert "pure-node" in found.pair


def test_half_of_the_noise_is_caught(monkeypatch):
    draw = Randomness.draw

    def halved(self, mechanism, *statistics):
        if isinstance(mechanism, Geometric):
            mechanism = replace(mechanism, epsilon=2 * mechanism.epsilon)
        return draw(self, mechanism, *statistics)

    monkeypatch.setattr(Randomness, "draw", halved)  # without it, it is not refuted: test_private_forms_survive
    assert attack([system_trial("forest", case("one-leaf"), "add-remove")], runs=600)[0].refuted


@pytest.mark.slow
def test_processes_share_the_work():
    (found,) = attack(
        [system_trial("pfdpdt", case("pure-node"), "add-remove", variant="published")], runs=400, n_jobs=2
    )
    assert found.refuted
