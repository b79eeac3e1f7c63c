"""Estimators and a ledger that outlives the process."""

import os
from fractions import Fraction

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from hedgerow.estimator import certificate_of, claim_of, plan_of
from hedgerow.privacy.accounting import cost

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["no", "yes"])
X = np.random.default_rng(0).uniform(size=(40, 2))
Y = np.where(X[:, 0] > 0.5, "yes", "no")


@pytest.mark.full
def test_workers_of_a_grid_search_share_one_sum(tmp_path):
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon=1)
    estimator = hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=ledger)
    GridSearchCV(estimator, {"max_depth": [1, 2]}, cv=2, n_jobs=2).fit(X, Y)
    assert ledger.spent == Fraction(1, 2)
    assert [entry.state for entry in ledger.entries] == ["finished"] * 5
    with pytest.raises(hr.BudgetExceeded):
        estimator.set_params(epsilon=0.6).fit(X, Y)
    assert len(ledger.entries) == 5


@pytest.mark.full
def test_a_refusal_in_a_worker_of_a_grid_search_reaches_the_user(tmp_path):
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon="0.35")
    estimator = hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=ledger)
    with pytest.raises(hr.BudgetExceeded, match=r"'a' has epsilon 0\.05"):
        GridSearchCV(estimator, {"max_depth": [1, 2]}, cv=2, n_jobs=2).fit(X, Y)
    assert len(ledger.entries) == 3


@pytest.mark.full
def test_workers_of_dask_share_one_sum(tmp_path):
    distributed = pytest.importorskip("distributed")
    store = hr.LedgerStore(tmp_path / "b.db")
    store.create("whole", epsilon=1)
    part = store.create("part", epsilon=1, parent="whole")
    fitted = hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=part)

    def fit(number):
        fitted.fit(X, Y)
        return os.getpid()

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        futures = client.map(fit, range(15), pure=False)
        distributed.wait(futures)
        processes = {future.result() for future in futures if future.status == "finished"}
        errors = [future.exception() for future in futures if future.status != "finished"]
    assert {type(error) for error in errors} == {hr.BudgetExceeded}
    assert (len(part.entries), len(errors)) == (10, 5)
    assert store.ledger("whole").remaining == part.remaining == 0
    assert processes == {entry.process for entry in part.entries}
    assert os.getpid() not in processes
    store.verify("whole")


def test_a_fit_that_breaks_off_stays_booked(tmp_path, monkeypatch):
    ledger = hr.LedgerStore(tmp_path / "b.db").create("a", epsilon=1)
    during = []

    def broken(*_):
        during.extend(ledger.entries)  # on disk before anything is drawn
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.estimator.planning.run", broken)
    with pytest.raises(KeyboardInterrupt):
        hr.EDPRFClassifier(epsilon=0.5, schema=SCHEMA, ledger=ledger).fit(X, Y)
    assert [entry.state for entry in during] == ["unfinished"]
    assert [entry.state for entry in ledger.entries] == ["failed"]
    assert ledger.spent == Fraction(1, 2)


def test_twenty_fits_are_less_in_rho_than_in_epsilon():
    model = hr.HedgerowClassifier(epsilon=0.5, delta=1e-6, schema=SCHEMA)
    claim = claim_of(model)
    certificate = certificate_of(model, SCHEMA, claim, plan := plan_of(model, SCHEMA, claim, ()), seeded=False)
    ledger = hr.Ledger(rho=20 * cost(plan.event).rho)
    for _ in range(20):
        ledger.reserve(certificate)
    assert ledger.remaining == 0
    assert 2.68 < ledger.epsilon_at(1e-6) < 2.71
    assert ledger.epsilon_at(2e-5) < 2.34
    plain = hr.Ledger(10, 2e-5)
    for _ in range(20):
        plain.reserve(certificate)
    assert (plain.remaining, plain.ceiling.delta - plain.total.delta) == (0, 0)
