"""Every system of the registry, in each variant and with each value of each choice, as a user meets it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from every_system import (
    BY_NAME,
    DELTA,
    EVERY_CHOICE,
    FORMS,
    NEEDS,
    PRIVATE,
    SCHEMA,
    WITH_DELTA,
    build,
    records,
)
from products import thinned

import hedgerow as hr
from hedgerow.parameters import rules_of
from hedgerow.privacy.accounting import Event, Gaussian, cost
from hedgerow.systems import system_class

# On few records HedgerowClassifier says that its number of records may be noise; tests/test_survey.py tests that.
pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")


X, Y = records()
FRESH, _ = records(seed=1)


def check(model, tmp_path):
    """Check the certificate of a fitted model, and that its file answers as it does, or is refused."""
    certificate = model.certificate_
    if certificate.variant == "private":
        assert certificate.holds, certificate.reasons
        assert cost(certificate.event).under(certificate.adjacency).delta(certificate.epsilon) <= certificate.delta
        assert 0 < certificate.spent <= certificate.epsilon or certificate.delta
    else:
        assert not certificate.holds
        assert certificate.reasons
        assert certificate.spent is None
        assert all(reason in certificate.details() for reason in certificate.reasons)
    shares = model.predict_proba(FRESH)
    assert shares.shape == (len(FRESH["age"]), 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if certificate.variant == "published":
        for keep in (
            lambda: model.save(tmp_path / "model"),
            model.to_json,
            lambda: model.to_sql("people"),
            model.to_onnx,
        ):
            with pytest.raises(hr.ConfigurationError, match="fit and predict only"):
                keep()
        assert not (tmp_path / "model").exists()
        return
    model.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(FRESH), shares)
    np.testing.assert_array_equal(loaded.predict(FRESH), model.predict(FRESH))
    assert loaded.certificate_ == certificate


@pytest.mark.parametrize(("name", "variant"), FORMS)
def test_the_defaults_fit_and_say_what_they_cost(name, variant, tmp_path):
    check(build(name, variant).fit(X, Y), tmp_path)


@pytest.mark.parametrize(("name", "variant", "parameter", "value"), thinned(EVERY_CHOICE, 3))
def test_every_choice_fits_and_says_what_it_costs(name, variant, parameter, value, tmp_path):
    needed = NEEDS.get((name, parameter, value), {})
    few = {"n_estimators": 3} if "n_estimators" in rules_of(system_class(name)) else {}  # the defaults stand above
    model = build(name, variant, **{parameter: value, **needed, **few})
    check(model.fit(X, Y), tmp_path)


@pytest.mark.parametrize("parameter", ["leaf"])
def test_what_a_value_needs_is_said_where_it_lacks(parameter):
    (value,) = [value for name, own, value in NEEDS if own == parameter]
    with pytest.raises(hr.ConfigurationError, match="pass "):
        build("forest", "private", **{parameter: value}).fit(X, Y)


@pytest.mark.parametrize("name", PRIVATE)
def test_one_record_replaced_runs_at_half_the_budget(name, tmp_path):
    model = build(name, "private", epsilon=2.0, adjacency="replace-one").fit(X, Y)
    assert model.certificate_.adjacency == "replace-one"
    assert cost(model.certificate_.event).epsilon <= 1
    check(model, tmp_path)


@pytest.mark.parametrize("name", PRIVATE)
def test_a_ledger_books_a_private_fit_and_refuses_the_next(name):
    ledger = hr.Ledger(epsilon=1.5)
    build(name, "private", ledger=ledger).fit(X, Y)
    assert ledger.spent == 1
    with pytest.raises(hr.BudgetExceeded):
        build(name, "private", ledger=ledger).fit(X, Y)
    assert ledger.spent == 1


@pytest.mark.parametrize("name", [name for name, variant in FORMS if variant == "published"])
def test_a_ledger_refuses_every_published_form(name):
    ledger = hr.Ledger(epsilon=10**6)
    with pytest.raises(hr.BudgetExceeded, match="unprotected"):
        build(name, "published", ledger=ledger).fit(X, Y)
    assert ledger.spent == 0


def gaussian_parts(event: Event):
    """Yield the Gaussian steps of an event."""
    if isinstance(event, Gaussian):
        yield event
    for part in (*getattr(event, "parts", ()), *filter(None, [getattr(event, "part", None)])):
        yield from gaussian_parts(part)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", WITH_DELTA)
def test_a_delta_buys_normal_noise_within_the_claim(name, adjacency, tmp_path):
    model = build(name, "private", delta=DELTA, adjacency=adjacency).fit(X, Y)
    certificate = model.certificate_
    assert certificate.delta == Fraction(1, 10**6)
    assert any(gaussian_parts(certificate.event))
    total = cost(certificate.event).under(adjacency)
    assert 0 < total.delta(certificate.epsilon) <= DELTA
    check(model, tmp_path)
    pure = cost(build(name, "private", adjacency=adjacency).fit(X, Y).certificate_.event)
    assert pure.mu_squared == 0


def test_who_takes_a_delta_is_who_the_registry_says():
    assert [name for name in PRIVATE if "(epsilon, delta)" in BY_NAME[name].guarantee] == WITH_DELTA


@pytest.mark.parametrize("name", [name for name in WITH_DELTA if "published" in BY_NAME[name].variants])
def test_published_boosting_knows_no_delta(name):
    with pytest.raises(hr.ConfigurationError, match="delta"):
        build(name, "published", delta=DELTA).fit(X, Y)


@pytest.mark.parametrize("classes", [["no"], ["no", "yes", "maybe"]])
@pytest.mark.parametrize("name", PRIVATE)
def test_any_number_of_classes_fits(name, classes):
    model = build(name, "private", schema=SCHEMA.replace(classes=classes)).fit(X, Y)
    assert model.certificate_.holds
    np.testing.assert_allclose(model.predict_proba(FRESH).sum(axis=1), 1)
