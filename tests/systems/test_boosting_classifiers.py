"""The boosting classifiers as a user meets them, in their private form."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from products import pairwise
from scipy.special import expit

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.estimator import claim_of
from hedgerow.mechanisms import Randomness
from hedgerow.papers import dpada
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import Sequence, cost

KINDS = [hr.DPAdaBoostClassifier, hr.CARTDPsAdaBoostClassifier, hr.DPAdaClassifier, hr.SmoothBoostClassifier]
SCHEDULES = ["all", "from-second", "swing", "random", "improved"]
TWO = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
THREE = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}, classes=["no", "yes", "maybe"])


def frame(rows=300, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame({"a": generator.uniform(0, 1, rows), "b": generator.choice(["x", "y"], rows)})


def labels(X, schema=TWO):
    y = np.where(X["a"] > 0.6, "yes", "no")
    return y if schema is TWO else np.where((X["b"] == "x") & (X["a"] < 0.3), "maybe", y)


X = frame()
Y = labels(X)
DELTAS = [0, 1e-5]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_holds_and_covers_its_steps(kind, adjacency, delta):
    model = kind(1.0, schema=TWO, delta=delta, adjacency=adjacency, n_estimators=6).fit(X, Y)
    certificate = model.certificate_
    assert certificate.holds
    total = cost(certificate.event).under(adjacency)
    assert total.delta(Fraction(1)) <= Fraction(str(delta))
    assert not total.delta(Fraction(97, 100)) <= Fraction(str(delta))
    assert (total.mu_squared > 0) == (delta > 0)
    text = certificate.details()
    assert ("of zero-concentrated DP" in text) == (delta > 0)
    assert ("but for a probability of 1e-5" in text) == (delta > 0)
    assert ("one record replaced" in text) == (adjacency == "replace-one")


@pytest.mark.parametrize(("kind", "delta", "schema"), pairwise(KINDS, DELTAS, [TWO, THREE]))
def test_boosting_learns_at_a_large_budget(kind, delta, schema):
    model = kind(8.0 if delta else 200.0, schema=schema, delta=delta, random_state=0).fit(X, labels(X, schema))
    test = frame(seed=1)
    assert (model.predict(test) == labels(test, schema)).mean() > 0.75


@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_tree_for_each_round(kind, schema):
    model = kind(5.0, schema=schema, n_estimators=7).fit(X, labels(X, schema))
    assert len(model.model_.forest.roots) == 7
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    if schema is TWO:
        lead = model.decision_function(X)
        assert lead.shape == (300,)
        assert np.allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-lead)))
        assert np.array_equal(model.predict(X) == "yes", lead > 0)
    else:
        assert model.decision_function(X).shape == (300, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_holds_released_values_only(kind):
    model = kind(schema=TWO).fit(X, Y)
    assert set(vars(model)) == {*model.get_params(), "_fitted"}
    assert set(vars(model._fitted)) == {"schema", "certificate", "model", "parameters", "named", "coins"}
    assert set(vars(model.model_)) == {"encoder", "forest", "link", "surveyed", "votes"}
    assert set(model.model_.to_arrays()) == {"roots", "test", "first_child", "label", "counts", "votes"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_ledger_without_delta_refuses_a_fit_with_one(kind):
    with pytest.raises(hr.BudgetExceeded):
        kind(0.5, schema=TWO, delta=1e-6, ledger=hr.Ledger(1.0), n_estimators=3).fit(X, Y)


@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_does_not_depend_on_the_records(kind):
    texts = {
        replace(kind(schema=TWO).fit(table, y).certificate_, warnings=()).details()
        for table, y in ((X, Y), (frame(3), ["odd"] * 3), (X.assign(a="odd", b=None), Y))
    }
    assert len(texts) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_deltas_get_one_clear_sentence(kind):
    for delta in (-1e-9, 1, 1.5, float("nan"), "much", True):
        with pytest.raises(hr.ConfigurationError, match=f"delta is {delta!r}"):
            kind(schema=TWO, delta=delta).fit(X, Y)


def test_sampling_gives_way_to_weights_where_there_is_a_delta():
    pure, other = (hr.CARTDPsAdaBoostClassifier(schema=TWO, delta=delta).fit(X, Y) for delta in (0, 1e-6))
    assert "sample with probability 0.5" in pure.certificate_.details()
    assert "sample" not in other.certificate_.details()


FORMS = [(kind, {}) for kind in (*KINDS, hr.HedgerowClassifier)]
FORMS += [(kind, {"variant": "published"}) for kind in KINDS if hasattr(kind, "_published")]


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_probabilities_are_those_of_the_log_odds_in_every_form(kind, form):
    model = kind(5.0, schema=TWO, random_state=0, **form).fit(X, Y)
    log_odds = model.decision_function(X)
    second = expit(log_odds)
    odds = np.stack([1 - second, second], axis=1)
    if kind is hr.HedgerowClassifier:
        odds *= np.maximum(1, (1 - odds) * UNIT / Logistic(2, normal=True).cap)
    expected = odds / odds.sum(axis=1, keepdims=True)
    assert np.abs(log_odds).max() > 0.1
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    assert np.array_equal(model.predict(X) == "yes", log_odds > 0)


def test_weights_of_a_published_form_are_the_papers_and_its_decision_is_twice_their_sum():
    model = hr.DPAdaBoostClassifier(5.0, schema=TWO, variant="published", n_estimators=1, random_state=0).fit(X, Y)
    assert np.abs(model.decision_function(X)) == pytest.approx(2 * abs(model.model_.alphas[0]))


def test_a_published_form_fits_and_predicts_only():
    model = hr.DPAdaBoostClassifier(5.0, schema=TWO, variant="published", n_estimators=1, random_state=0).fit(X, Y)
    with pytest.raises(hr.ConfigurationError, match="fit and predict only"):
        _ = model.feature_importances_


# DPAda's paid rounds.


def paid(model):
    """Return how many rounds a certificate says are paid for."""
    event = model.certificate_.event
    assert isinstance(event, Sequence)
    assert len(set(event.parts)) == 1
    return len(event.parts)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_unpaid_rounds_add_no_tree_and_the_certificate_holds(schedule, delta):
    for _ in range(4):
        model = hr.DPAdaClassifier(schema=TWO, delta=delta, schedule=schedule, n_estimators=12).fit(X, Y)
        assert (
            len(model.model_.forest.roots)
            == paid(model)
            <= {"all": 12, "from-second": 12, "swing": 7, "random": 12, "improved": 7}[schedule]
        )
        assert model.certificate_.holds
        assert not cost(model.certificate_.event).delta(Fraction(97, 100)) <= Fraction(str(delta))
    assert paid(hr.DPAdaClassifier(schema=TWO, n_estimators=12).fit(X, Y)) == 12
    assert paid(hr.DPAdaClassifier(schema=TWO, schedule="swing", n_estimators=12).fit(X, Y)) == 7


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_paid_rounds_are_drawn_before_a_record_is_read(schedule):
    for seed in range(3):
        events = {
            pickle.dumps(
                hr.DPAdaClassifier(schema=TWO, schedule=schedule, n_estimators=20, random_state=seed)
                .fit(table, y)
                .certificate_.event
            )
            for table, y in ((X, Y), (frame(2), ["no", "yes"]), (frame(40, 3), ["odd"] * 40))
        }
        assert len(events) == 1


def test_paid_rounds_are_the_first_draw_and_depend_on_public_coins():
    seen = []

    class Watched(Randomness):
        def draw(self, mechanism, *statistics):
            seen.append((type(mechanism).__name__, *statistics))
            return super().draw(mechanism, *statistics)

    model = hr.DPAdaClassifier(schema=TWO, schedule="random", n_estimators=9)
    model._draw_coins(claim_of(model), Watched(0).draw)
    ((name, coins),) = seen
    assert name == "PublicChoice"
    assert coins.tolist() == [[1, 1]] * 9
    numbers = {
        paid(hr.DPAdaClassifier(schema=TWO, schedule="random", n_estimators=30, random_state=seed).fit(X, Y))
        for seed in range(8)
    }
    assert len(numbers) > 2


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_first_round_is_always_paid(schedule, monkeypatch):
    assert paid_of_one(schedule) == 1
    monkeypatch.setitem(dpada.SCHEDULES, "random", lambda rounds, draw: np.zeros(rounds, dtype=np.bool_))
    model = hr.DPAdaClassifier(schema=TWO, schedule="random", n_estimators=9).fit(X, Y)
    assert len(model.model_.forest.roots) == paid(model) == 1


def paid_of_one(schedule):
    model = hr.DPAdaClassifier(schema=TWO, schedule=schedule, n_estimators=1).fit(X, Y)
    assert model.certificate_.holds
    return len(model.model_.forest.roots)


def test_fewer_paid_rounds_have_more_for_each():
    def each(schedule):
        model = hr.DPAdaClassifier(schema=TWO, schedule=schedule, n_estimators=20, random_state=0).fit(X, Y)
        return cost(model.certificate_.event.parts[0]).epsilon * paid(model), paid(model)

    for schedule in SCHEDULES:
        total, rounds = each(schedule)
        assert Fraction(999, 1000) < total <= 1
        assert rounds <= 20


def test_a_fit_leaves_the_schedule_of_the_next_one_open():
    model = hr.DPAdaClassifier(schema=TWO, schedule="random", n_estimators=40)
    assert len({paid(model.fit(X, Y)) for _ in range(8)}) > 1
    assert set(vars(model)) == {*model.get_params(), "_fitted"}
