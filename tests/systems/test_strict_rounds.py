"""Strict rounds: where they are, and that they do not come back to an exhausted feature again and again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.boosting.additive import AdditivePlan
from hedgerow.boosting.additive_round import OneRound
from hedgerow.privacy.claim import Claim
from hedgerow.systems import hedgerow


def schema_of(classes):
    return hr.Schema({name: hr.Numeric(0, 1) for name in "abcdef"}, classes=classes)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_rounds_are_strict_from_their_precision_for_each_class_on(delta, classes):
    claim = Claim(Fraction(1), Fraction(delta))
    plan = AdditivePlan(hedgerow.RECIPE, schema_of(list(range(classes))), claim, rounds=None, bins=None)
    for rounds in (12, 42):
        parts = classes * (rounds**0.5 if delta else rounds)
        least = hedgerow.RECIPE.strict_from * parts / plan._precision(1.0)
        assert plan._strict(least * 1.001, rounds)
        assert not plan._strict(least * 0.999, rounds)
        assert not plan._strict(None, rounds)


def records(count=20_000):
    """A smooth curve of one feature, and nothing else."""
    generator = np.random.default_rng(0)
    columns = {name: generator.uniform(0, 1, count) for name in "abcdef"}
    return columns, np.where(generator.random(count) < 1 / (1 + np.exp(3 - 6 * columns["a"])), "yes", "no")


def most_often(monkeypatch, **changes):
    """Fit, and return the share of the rounds in which the most frequent candidate was chosen, and the penalties."""
    rounds, run, penalties = [], OneRound.run, []
    penalty = OneRound.penalty

    def ran(self, *arguments):
        step, curvature = run(self, *arguments)
        rounds.append((step.feature, *(cut.key for cut in step.cuts)))
        return step, curvature

    def lost(self, *arguments):
        penalties.append(penalty(self, *arguments))
        return penalties[-1]

    with monkeypatch.context() as patch:
        patch.setattr(OneRound, "run", ran)
        patch.setattr(OneRound, "penalty", lost)
        patch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, **changes))
        hr.HedgerowClassifier(10.0, delta=1e-6, schema=schema_of(["no", "yes"]), random_state=0).fit(*records())
    return Counter(rounds).most_common(1)[0][1] / len(rounds), penalties


def test_strict_rounds_do_not_come_back_to_what_is_exhausted(monkeypatch):
    share, penalties = most_often(monkeypatch, strict_from=np.inf)
    assert share > 0.8
    assert all(np.ptp(lost) == 0 for lost in penalties)  # of features alike
    strict, penalties = most_often(monkeypatch, strict_from=0.0)
    assert strict < share - 0.15
    assert np.ptp(penalties[0]) == 0  # nothing was left yet
    assert any(np.ptp(lost) > 0 for lost in penalties)
    noise = [lost.min() for lost in penalties]
    assert all(
        lost.max() <= 2 * least for lost, least in zip(penalties, noise, strict=True)
    )  # never above all of chance
