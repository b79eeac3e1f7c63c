"""The exact law of fits whose number of rounds a released value chooses: never above epsilon, whatever was chosen."""

from dataclasses import replace
from fractions import Fraction

import pytest
from audit_helpers import exact_search

import hedgerow as hr
from hedgerow.additive.plan import Rounds
from hedgerow.additive.round import OneRound
from hedgerow.audit import Grid, exact_loss
from hedgerow.privacy.accounting import Cost
from hedgerow.systems import hedgerow

ONE = hr.Schema({"a": hr.Categorical(["x"])}, classes=["no", "yes"])
RECORDS = (("x", "no"), ("x", "yes"))


def chosen(monkeypatch, search=False):
    """Return the loss of a record more, or the worst of all small pairs.

    The noisy number of records chooses between one round of two units and two of one.
    """
    monkeypatch.setattr("hedgerow.additive.plan.BUDGET_UNITS", 2)
    monkeypatch.setattr("hedgerow.additive.plan.MIN_ROUNDS", 1.0)
    monkeypatch.setattr(hedgerow, "RULES", replace(hedgerow.RULES, curve_sample=2.0**40))
    estimator = hr.HedgerowClassifier(epsilon=1.0, schema=ONE)
    grid = Grid((0,), (0, 10**6))
    if search:
        return exact_search(estimator, RECORDS, most=2, grid=grid)[0].loss
    return exact_loss(estimator, RECORDS[:1], RECORDS, grid=grid).loss


@pytest.fixture
def made(monkeypatch):
    """How many units the rounds have that were made."""
    found, one = set(), Rounds.one
    monkeypatch.setattr(Rounds, "one", lambda self, units, *how: found.add(units) or one(self, units, *how))
    return found


@pytest.mark.parametrize("search", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_released_number_of_records_that_chooses_the_rounds_loses_at_most_epsilon(monkeypatch, made, search):
    assert (0.6 if search else 0.5) < chosen(monkeypatch, search) <= 1
    assert made == {1, 2}


def test_rounds_at_four_times_their_units_are_caught(monkeypatch):
    """The curator, which would refuse them, looks away."""

    def dear(self, units, cuts, kind=OneRound):
        return kind(self._loss, self.budget * Fraction(4 * units, self.units), cuts, self._most_codes)

    monkeypatch.setattr(Rounds, "one", dear)
    monkeypatch.setattr(Cost, "at_most", lambda self, ceiling: True)
    assert chosen(monkeypatch) > 1
