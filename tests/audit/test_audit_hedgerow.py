"""The exact law of two rounds of additive boosting on all small data sets and their neighbors: never above epsilon."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from helpers import data_sets, make_table
from test_audit_boosting import Codes, LastCountsOpen, open_loss

import hedgerow as hr
from hedgerow.boosting import BoostingPlan, hedgerow, plan
from hedgerow.boosting.gradients import Gradients
from hedgerow.boosting.weights import UNIT
from hedgerow.curator import Curator
from hedgerow.mechanisms import Geometric
from hedgerow.privacy.accounting import cost

TYPES = tuple(product((0, 1), repeat=3))


@pytest.fixture(autouse=True)
def codes_as_they_are(monkeypatch):
    monkeypatch.setattr(plan, "Encoder", Codes)


def additive():
    schema = hr.Schema({f"f{i}": hr.Categorical(["a", "b"]) for i in range(2)}, classes=["no", "yes"])
    return BoostingPlan(
        hedgerow.RECIPE, schema, Fraction(1), Fraction(0), "add-remove", rounds=2, max_depth=1, max_bins=2
    )


def laws(records):
    """Return, for everything that is told before the last sums, its probability and the laws of these."""
    kind = type("Open", (LastCountsOpen,), {"ends": (0,), "answers": (0, 8 * UNIT), "batches": 2})
    boosted = additive()
    found, known, script = {}, {}, []
    while script is not None:
        replay = kind(script, known)
        curator = Curator(make_table(records, (2, 2)), Fraction(1), replay)
        boosted.boost(curator)
        assert curator.spent <= cost(boosted.event).epsilon <= 1
        told = tuple(replay.told)
        found[told] = (replay.probability, replay.last)
        script = replay.next_script()
    assert sum(probability for probability, _ in found.values()) == pytest.approx(1, abs=1e-9)
    return found


def worst(most):
    known = {}

    def of(records):
        key = tuple(sorted(records))
        if key not in known:
            known[key] = laws(key)
        return known[key]

    return max(open_loss(of(records), of((*records, record))) for records in data_sets(most, TYPES) for record in TYPES)


def test_two_rounds_lose_at_most_epsilon_and_a_fair_part_of_it():
    assert 0.5 < worst(1) <= 1


@pytest.mark.slow
def test_two_rounds_lose_at_most_epsilon_on_up_to_three_records():
    assert 0.5 < worst(3) <= 1


def test_noise_for_half_of_what_a_record_adds_is_caught(monkeypatch):
    built = additive()
    weaker = replace(built._round, noise=Geometric(4 * built._round.noise.epsilon, Gradients(2, normal=False).l1))
    monkeypatch.setattr(type(built._round), "event", built._round.event)

    def boosted():
        made = BoostingPlan.__new__(BoostingPlan)
        made.__dict__.update({**built.__dict__, "_round": weaker})
        return made

    monkeypatch.setitem(globals(), "additive", boosted)
    monkeypatch.setattr(Curator, "_charge_all", lambda self, amount, draws=0: None)
    assert worst(1) > 1
