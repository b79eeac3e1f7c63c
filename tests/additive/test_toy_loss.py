"""The engine knows of a task what a loss says: another loss is one class, and nothing else changes."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from costs import sums

import hedgerow as hr
from hedgerow.additive.estimate import LOG_ODDS
from hedgerow.additive.losses import Start
from hedgerow.additive.plan import AdditivePlan
from hedgerow.additive.round import OneRound
from hedgerow.curator import Queryable
from hedgerow.curator.survey import Ones
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.systems.hedgerow import RULES
from hedgerow.table import MemoryTable


@dataclass(frozen=True)
class LeastSquares:
    """Half the squared distance of a margin to 1 for the second of two classes, and to -1 for the first; residuals up to 1."""

    n_classes: int
    normal: bool

    columns = 1
    scored = 1
    channels = 2
    scored_l1 = UNIT
    l1 = 2 * UNIT
    l2_squared = 2 * UNIT**2
    curvature = 1.0
    gradient_sd = 1.0
    unit = 1.0
    prior = LOG_ODDS
    initial_counts = Ones()
    vote_steps = VOTE_STEPS
    scores = property(lambda self: self)

    def in_cells(self):
        return self

    def start(self, released, deviation):
        records = max(float(released[0]), 1.0)
        return Start(records, 1.0, np.zeros(1, dtype=np.int64), np.array([records]))

    def curvature_of(self, measured):
        return measured

    def votes(self, steps):
        return np.trunc(np.clip(steps, -1, 1) * VOTE_STEPS).astype(np.int64)

    def answer(self, margins):
        second = (1 + np.clip(margins / VOTE_STEPS, -1, 1)) / 2
        return np.hstack([1 - second, second])

    def __call__(self, margins, labels):
        """In units: the residual, and one for the record."""
        residual = (2 * labels.astype(np.int64) - 1) * UNIT - margins[:, 0].astype(np.int64) * (UNIT // VOTE_STEPS)
        known = labels >= 0
        return np.stack([np.clip(residual, -UNIT, UNIT) * known, UNIT * known], axis=1)


SCHEMA = hr.Schema(
    {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical(["x", "y", "z"])}, classes=["no", "yes"]
)


@pytest.fixture
def other_loss(monkeypatch):
    monkeypatch.setattr("hedgerow.additive.plan.Logistic", LeastSquares)


def records(count=6000):
    generator = np.random.default_rng(3)
    a, b = generator.uniform(0, 1, (2, count))
    c = generator.choice(list("xyz"), count)
    share = 0.5 + 0.4 * np.where((a > 0.5) ^ (c == "x"), 1, -1) * (2 * b - 1)
    return {"a": a, "b": b, "c": c}, np.where(generator.uniform(size=count) < share, "yes", "no")


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)], ids=["pure", "delta"])
@pytest.mark.usefixtures("other_loss")
def test_another_loss_is_boosted_within_its_claim(delta):
    X, y = records()
    plan = AdditivePlan(RULES, SCHEMA, Claim(Fraction(5), delta, "replace-one"), rounds=None, bins=None)
    planned = cost(plan.event)
    assert planned.under("replace-one").delta(Fraction(5)) <= delta
    table = MemoryTable(plan.encoder.transform(X), plan.encoder.labels(y), plan.encoder.n_codes, 2)
    curator = Queryable(table, planned, Randomness(0))
    model = plan.fit(curator)
    assert all(amount <= sums(planned)[part] for part, amount in sums(curator.total).items())
    assert type(model.loss) is LeastSquares
    assert any(term.cuts for term in model.terms)
    p = model.probabilities(X)[:, 1]
    assert ((p - (y == "yes")) ** 2).mean() < 0.23  # .25 of a coin, .2 of the law itself
    decided = model.decision(X)
    assert np.array_equal(p, (1 + np.clip(decided, -1, 1)) / 2)


@pytest.mark.usefixtures("other_loss")
def test_noise_follows_the_norms_of_the_loss():
    rounds = AdditivePlan(RULES, SCHEMA, Claim(Fraction(5)), rounds=4, bins=None).stage
    one = rounds.one(1, 0)
    assert one.noise == (one.budget * Fraction(3, 4)).noise_for(2 * UNIT, 2 * UNIT**2)
    assert one.selection.score_range == 2 * UNIT


@pytest.mark.usefixtures("other_loss")
def test_a_loss_whose_records_add_more_than_it_says_has_no_say_in_the_noise(monkeypatch):
    """The curator compares the noise with the norms of the rule that it is asked about, not with what the plan says of it."""
    X, y = records(50)
    plan = AdditivePlan(RULES, SCHEMA, Claim(Fraction(5)), rounds=2, bins=None)
    table = MemoryTable(plan.encoder.transform(X), plan.encoder.labels(y), plan.encoder.n_codes, 2)
    monkeypatch.setattr(LeastSquares, "l1", 3 * UNIT)
    monkeypatch.setattr(OneRound, "noise", property(lambda one: (one.budget / 2).noise_for(2 * UNIT, 2 * UNIT**2)))
    with pytest.raises(ConfigurationError, match="less than one record adds"):
        plan.fit(Queryable(table, cost(plan.event), Randomness(0)))


@pytest.mark.parametrize("label", [-1, 0, 1])
def test_no_record_of_the_toy_adds_more_than_its_norms(label):
    rule, margins = LeastSquares(2, normal=True), np.arange(-5 * VOTE_STEPS, 5 * VOTE_STEPS)[:, None]
    channels = rule(margins, np.full(len(margins), label, dtype=np.int16))
    assert np.abs(channels[:, 0]).max() == (rule.scored_l1 if label >= 0 else 0)
    assert np.abs(channels).sum(axis=1).max() == (rule.l1 if label >= 0 else 0)
    assert np.square(channels, dtype=np.int64).sum(axis=1).max() == (rule.l2_squared if label >= 0 else 0)
