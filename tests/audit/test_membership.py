"""Membership inference: what the attack reaches on learners that leak and that do not, beside what epsilon allows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import membership_attack
from hedgerow.audit.membership import allowed_rate

rng = np.random.default_rng(5)
X = rng.uniform(0, 1, (1200, 3))
Y = np.where(X[:, 0] + 0.4 * rng.normal(size=1200) > 0.5, "yes", "no")
SCHEMA = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=["no", "yes"])


def test_a_tree_without_privacy_gives_its_members_away():
    tree = DecisionTreeClassifier(min_samples_leaf=1, random_state=0)
    report = membership_attack(tree, X, Y, epsilon=0.1, random_state=1)
    assert report.auc > 0.6
    assert report.finding.refuted
    assert report.finding.attack == "membership"
    assert [point.false for point in report.operating] == [0.01, 0.001]


def test_a_private_classifier_keeps_within_what_epsilon_allows():
    model = hr.ForestClassifier(epsilon=1.0, schema=SCHEMA)
    report = membership_attack(model, X, Y, epsilon=1.0, rates=(0.1,), random_state=1)
    assert not report.finding.refuted
    assert abs(report.auc - 0.5) < 0.1
    assert report.operating[0].true < report.operating[0].allowed


@pytest.mark.parametrize(
    ("false", "epsilon", "delta", "rate"),
    [(0.01, 1.0, 0.0, 0.01 * math.e), (0.9, 1.0, 0.0, 1 - 0.1 / math.e), (0.5, 0.0, 0.1, 0.6), (0.9, 0.0, 0.2, 1.0)],
)
def test_what_epsilon_allows(false, epsilon, delta, rate):
    assert allowed_rate(false, epsilon, delta) == pytest.approx(rate)
