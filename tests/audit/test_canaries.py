"""The one-run audit: its bound, its canaries, and what it says of learners that leak and that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import one_run_audit
from hedgerow.audit.membership import best_bound, chance_of_guesses, guessing_bound, make_canaries, smallest_loss_told
from hedgerow.errors import ConfigurationError

rng = np.random.default_rng(3)
X = np.c_[rng.uniform(0, 1, (1500, 2)), rng.integers(0, 4, 1500)]
Y = np.where(X[:, 0] + 0.2 * rng.normal(size=1500) > 0.5, "yes", "no")
SCHEMA = hr.Schema(
    {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical([0, 1, 2, 3])}, classes=["no", "yes"]
)

HALVES = ((0.5, 0.5),)


def test_the_bound_is_the_published_one():
    """Appendix D of the paper: 75 of 100 guesses about 1000 canaries, delta = 1e-4, 95 %."""
    assert guessing_bound(1000, 100, 75, delta=1e-4, confidence=0.95) == pytest.approx(0.673, abs=5e-4)


@pytest.mark.parametrize(("guesses", "right", "epsilon"), [(50, 40, 0.5), (200, 150, 1.0), (10, 10, 2.0)])
def test_the_chance_of_right_guesses_is_the_binomial_tail(guesses, right, epsilon):
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    tail = sum(math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(right, guesses + 1))
    assert chance_of_guesses(500, guesses, right, epsilon) == pytest.approx(tail)
    assert chance_of_guesses(500, guesses, right, epsilon, 1e-3) > tail


def test_the_chance_with_a_delta_takes_the_worst_average():
    law = binom(20, 1 / (1 + math.exp(-1)))
    worst = max(sum(law.pmf(18 - j) for j in range(1, i + 1)) / i for i in range(1, 19))
    assert chance_of_guesses(30, 20, 18, 1.0, 1e-3) == pytest.approx(law.sf(17) + 2 * 30 * 1e-3 * worst)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_the_bound_is_right_as_often_as_it_says(epsilon):
    """Randomized response is the worst case: the bound is above its epsilon in at most one run of ten."""
    draws = np.random.default_rng(0)
    keep, above = math.exp(epsilon) / (1 + math.exp(epsilon)), 0
    for _ in range(200):
        took_part = draws.integers(0, 2, 60).astype(bool)
        answer = np.where(draws.random(60) < keep, took_part, ~took_part)
        above += best_bound(answer.astype(float), took_part, delta=0.0, confidence=0.9, shares=HALVES)[0] > epsilon
    assert above <= binom(200, 0.1).isf(1e-6)


def test_guesses_that_are_all_right_bound_epsilon_by_their_number():
    scores = np.arange(100.0)
    assert best_bound(scores, scores >= 50, delta=0.0, confidence=0.95, shares=HALVES) == (
        pytest.approx(-math.log(0.05 ** (-1 / 100) - 1), abs=1e-6), 100, 100,
    )  # fmt: skip
    assert best_bound(scores, scores < 50, delta=0.0, confidence=0.95)[0] == 0.0


def test_the_smallest_loss_told_refutes_and_less_does_not():
    loss = smallest_loss_told(1000, 1.0, delta=0.0, confidence=0.95, shares=HALVES)
    right = round(1000 / (1 + math.exp(-loss)))
    assert 1.0 < loss < 1.3
    bound, one_less = (guessing_bound(1000, 1000, guesses, confidence=0.95) for guesses in (right, right - 1))
    assert bound > 1.0 >= one_less
    assert smallest_loss_told(2, 5.0, delta=0.0, confidence=0.95) == math.inf


def test_canaries_have_another_label_and_a_rare_value():
    cells = np.array([["a", "1"]] * 97 + [["b", "1"]] * 2 + [["a", "2"]], dtype=object)
    labels = np.array(["no", "yes"] * 50)
    rows, taken, flipped = make_canaries(cells, labels, 20, np.random.default_rng(0))
    assert len(set(rows.tolist())) == 20
    assert np.all(flipped != labels[rows])
    assert np.all((taken[:, 0] == "b") | (taken[:, 1] == "2"))
    with pytest.raises(ConfigurationError, match="canaries"):
        make_canaries(cells, labels, 51, np.random.default_rng(0))


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_tree_without_privacy_is_refuted(adjacency):
    finding = one_run_audit(
        DecisionTreeClassifier(), X, Y, epsilon=1.0, adjacency=adjacency, canaries=500, random_state=0
    )
    assert finding.refuted
    assert finding.loss > 1.5
    assert (finding.attack, finding.adjacency, finding.power < 1.7) == ("canaries", adjacency, True)


@pytest.mark.parametrize("kind", [hr.EDPRFClassifier, hr.HedgerowClassifier])
def test_a_private_classifier_is_not(kind):
    finding = one_run_audit(kind(epsilon=1.0, schema=SCHEMA), X, Y, epsilon=1.0, canaries=500, random_state=0)
    assert not finding.refuted
    assert finding.subject == kind.__name__


def test_a_classifier_that_learns_nothing_shows_nothing():
    assert one_run_audit(DummyClassifier(), X, Y, epsilon=0.1, canaries=500, random_state=0).loss < 0.1
