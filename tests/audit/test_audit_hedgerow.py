"""The exact law of two rounds of additive boosting on all small data sets and their neighbors: never above epsilon."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import pytest
from audit_helpers import Codes
from helpers import data_sets, make_table, plan_at

import hedgerow as hr
from hedgerow.audit import Grid, open_law, worst_loss
from hedgerow.audit.exact import total
from hedgerow.boosting.weights import UNIT
from hedgerow.curator import Queryable
from hedgerow.mechanisms import Geometric
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.events import Pure
from hedgerow.privacy.exact import Dyadic

TYPES = tuple(product((0, 1), repeat=3))
SCHEMA = hr.Schema({f"f{i}": hr.Categorical(["a", "b"]) for i in range(2)}, classes=["no", "yes"])


@pytest.fixture(autouse=True)
def codes_as_they_are(monkeypatch):
    monkeypatch.setattr("hedgerow.boosting.additive.Encoder", Codes)


def law(records, schema=SCHEMA):
    boosted = plan_at(hr.HedgerowClassifier(epsilon=1.0, schema=schema, n_estimators=2), schema, Fraction(1))

    def fit(source):
        curator = Queryable(make_table(records, (2, 2), len(schema.classes)), Fraction(1), source)
        boosted.fit(curator)
        assert curator.spent <= cost(boosted.event).epsilon <= 1

    found = open_law(fit, Grid((0,), (0, 8 * UNIT)))
    assert total(found) == pytest.approx(1, abs=1e-9)
    return found


def worst(most):
    known = {}

    def of(records):
        key = tuple(sorted(records))
        if key not in known:
            known[key] = law(key)
        return known[key]

    return max(
        worst_loss(of(records), of((*records, record))) for records in data_sets(most, TYPES) for record in TYPES
    )


def test_two_rounds_lose_at_most_epsilon_and_a_fair_part_of_it():
    assert 0.5 < worst(1) <= 1


@pytest.mark.slow
def test_two_rounds_lose_at_most_epsilon_on_up_to_three_records():
    assert 0.5 < worst(3) <= 1


def test_records_of_the_only_class_leave_the_law_as_it_is():
    """Each has the probability 1, so its gradient and its curvature are 0: nothing is lost about it."""
    schema = SCHEMA.replace(classes=["yes"])
    empty = law((), schema)
    types = tuple((*codes, 0) for codes in product((0, 1), repeat=2))
    assert all(worst_loss(law(records, schema), empty) == 0 for records in data_sets(2, types))


@dataclass(frozen=True)
class ForAQuarter(Geometric):
    """Geometric noise for a quarter of the sensitivity that it names."""

    def event(self, purpose: str, level: int = 0, draws: int = 0) -> Pure:
        found = super().event(purpose, level, draws)
        return replace(found, epsilon=found.epsilon / 4)

    @property
    def rate(self) -> Dyadic:
        return Geometric(4 * self.epsilon, self.sensitivity).rate


def test_noise_for_a_quarter_of_what_a_record_adds_is_caught(monkeypatch):
    monkeypatch.setattr("hedgerow.mechanisms.budget.Geometric", ForAQuarter)
    assert worst(1) > 1
