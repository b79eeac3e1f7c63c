"""The exact loss of HedgerowRegressor on tiny data: a whole fit, from the histogram of the outcome to the final mean."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.additive import regression
from hedgerow.additive.regression import OutcomeQueries
from hedgerow.additive.squared import Counts, Spread
from hedgerow.audit import Grid, exact_loss
from hedgerow.mechanisms import Budget
from hedgerow.parameters import UNIT
from hedgerow.systems import hedgerow

SCHEMA = hr.Schema({"a": hr.Categorical(["x"])}, outcome=hr.Numeric(0, 1))
TOLD = Grid((0,), (0, 8 * UNIT))
LOW, HIGH = ("x", 0.0), ("x", 1.0)


@pytest.fixture(autouse=True)
def few_bins(monkeypatch):
    """Few bins and no sample, so that all outcomes can be walked through; rounds however few records there are.

    The coarse grid releases half a million records, of which rounds without cuts would score a sample.
    """
    monkeypatch.setattr(
        regression, "counts_of_outcomes", lambda steps, zero, link: Counts((0, steps // 2, steps + 1), False, link)
    )
    monkeypatch.setattr(regression, "counts_of_residuals", lambda steps, link: Counts((0, steps + 1), True, link))
    for rules in ("OUTCOME_RULES", "COUNTS"):
        few = replace(getattr(hedgerow, rules), mean_noise=math.inf, max_residual_queries=1, curve_sample=2.0**40)
        monkeypatch.setattr(hedgerow, rules, few)


def loss_of(first, second, **parameters):
    finding = exact_loss(
        hr.HedgerowRegressor(1.0, schema=SCHEMA, n_estimators=1, **parameters), first, second, grid=TOLD
    )
    assert finding.subject == "hedgerow-regressor, private"
    return finding.loss


@pytest.mark.parametrize("loss", ["squared", pytest.param("poisson", marks=pytest.mark.full)])
def test_a_whole_fit_loses_most_of_its_epsilon_and_no_more(loss):
    assert 0.5 < loss_of([LOW], [LOW, HIGH], loss=loss) <= 1


@pytest.mark.full
@pytest.mark.parametrize("loss", ["squared", "poisson"])
@pytest.mark.parametrize("pair", [([LOW], [LOW, LOW]), ([LOW, HIGH], [LOW, HIGH, HIGH])])
def test_other_records_lose_no_more(loss, pair):
    assert 0.3 < loss_of(*pair, loss=loss) <= 1


@pytest.mark.full
def test_a_replaced_record_loses_no_more():
    assert 0.3 < loss_of([LOW, LOW], [LOW, HIGH], adjacency="replace-one") <= 1


@pytest.mark.full
def test_a_start_at_the_mean_of_raw_outcomes_is_caught(monkeypatch):
    """A planted bug: the histogram is asked for and paid, and the model starts at the mean of the records all the same."""
    asked = OutcomeQueries.outcome

    def planted(self, curator):
        asked(self, curator)
        labels = curator._table._labels
        exact = self.of_outcomes(np.zeros((len(labels), 1), dtype=np.int32), labels).sum(axis=0)
        return Spread.of(self.of_outcomes, exact, Budget(Fraction(10**6)).noise())

    monkeypatch.setattr(OutcomeQueries, "outcome", planted)
    assert loss_of([LOW], [LOW, HIGH]) == math.inf
