"""The exact law of fits whose number of rounds a released value chooses: never above epsilon, whatever was chosen."""

import hedgerow as hr
from hedgerow.audit import Grid, exact_search
from hedgerow.boosting.additive import AdditivePlan
from hedgerow.privacy.accounting import Cost

ONE = hr.Schema({"a": hr.Categorical(["x"])}, classes=["no", "yes"])
RECORDS = (("x", "no"), ("x", "yes"))


def chosen(monkeypatch):
    """Return the worst loss where the noisy number of records chooses between one round and two."""
    monkeypatch.setattr("hedgerow.boosting.additive.MENU", (1, 2))
    estimator = hr.HedgerowClassifier(epsilon=1.0, schema=ONE)
    grid = Grid((0,), (0, 10**6))
    return exact_search(estimator, RECORDS, most=2, grid=grid).loss


def test_a_released_number_of_records_that_chooses_the_rounds_loses_at_most_epsilon(monkeypatch):
    assert 0.6 < chosen(monkeypatch) <= 1


def test_rounds_at_four_times_their_budget_are_caught(monkeypatch):
    """The curator, which would refuse them, looks away."""
    right = AdditivePlan._round
    monkeypatch.setattr(
        AdditivePlan, "_round", lambda self, budget, *rest, **strict: right(self, 4 * budget, *rest, **strict)
    )
    monkeypatch.setattr(Cost, "at_most", lambda self, ceiling: True)
    assert chosen(monkeypatch) > 1
