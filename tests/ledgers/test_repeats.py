import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import attack
from hedgerow.audit.attack import Trial
from hedgerow.audit.cases import NeighborPair
from hedgerow.ledgers import ledger
from hedgerow.ledgers.ledger import count_fit, uncounted
from hedgerow.privacy.filter import Atomic

X = np.random.default_rng(0).uniform(0, 1, (200, 1))
Y = np.where(X[:, 0] > 0.5, "high", "low")
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, ["low", "high"])
PAIR = NeighborPair("one more", "One record more.", "add-remove", (X[1:], Y[1:]), (X, Y))


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    monkeypatch.setattr(ledger, "COUNTED_AT", 3)
    monkeypatch.setattr(ledger, "private_fits", Atomic({}))


def fit(times, kind=hr.ForestClassifier, epsilon=1.0, **parameters):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(times):
            kind(epsilon, schema=SCHEMA, **parameters).fit(X, Y)
    return [str(one.message) for one in told if "without a ledger" in str(one.message)]


def test_the_third_fit_without_a_ledger_says_what_they_add_up_to_and_no_other_does():
    assert fit(2) == []
    [told] = fit(1, epsilon=0.5)
    assert told.startswith("ForestClassifier was fitted 3 times in this process without a ledger")
    assert "add up to epsilon 2.5," in told
    assert "hr.Ledger" in told
    assert fit(3) == []


def test_each_class_counts_its_own_fits():
    assert fit(2) == fit(2, hr.EDPRFClassifier) == []
    [told] = fit(1, hr.EDPRFClassifier)
    assert told.startswith("EDPRFClassifier")


def test_deltas_add_up_as_well():
    [told] = fit(3, hr.HedgerowClassifier, delta=1e-6)
    assert "add up to epsilon 3 and delta" in told


@pytest.mark.parametrize("parameters", [{"random_state": 0}, {"ledger": hr.Ledger(epsilon=99)}])
def test_seeded_fits_and_fits_with_a_ledger_do_not_count(parameters):
    assert fit(4, **parameters) == []


def test_published_fits_do_not_count():
    assert fit(4, hr.EDPRFClassifier, variant="published") == []


def test_audits_do_not_count():
    trial = Trial("forest", hr.ForestClassifier(1.0, schema=SCHEMA).fit, vars, PAIR, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attack._batch(trial, 0, 4)
        with uncounted():
            assert fit(4) == []


def test_fits_on_many_threads_are_told_once():
    told = []
    fits = [
        threading.Thread(target=lambda: told.append(count_fit("A", Fraction(1, 3), Fraction(0)))) for _ in range(40)
    ]
    for one in fits:
        one.start()
    for one in fits:
        one.join()
    [text] = [text for text in told if text is not None]
    assert "A was fitted 3 times" in text
    assert "add up to epsilon 1," in text


@pytest.mark.parametrize(("epsilon", "warned"), [(20, False), (20.1, True), (1e9, True)])
def test_an_epsilon_above_20_promises_next_to_nothing(epsilon, warned):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        hr.ForestClassifier(epsilon, schema=SCHEMA).fit(X, Y)
    assert [str(one.message).startswith("epsilon is") for one in told] == [True] * warned
    assert all("next to nothing" in str(one.message) for one in told)
