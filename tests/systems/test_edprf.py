"""EDPRFClassifier and PFDPDTClassifier as a user meets them."""

from __future__ import annotations

import pickle
import traceback
import warnings
import zipfile
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers import plan_at
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from hedgerow import arrays
from hedgerow.privacy.accounting import cost
from hedgerow.table import memory as table_module

BOTH = [hr.EDPRFClassifier, hr.PFDPDTClassifier]
SCHEMA = hr.Schema(
    {"age": hr.Numeric(0, 100), "job": hr.Categorical(["nurse", "clerk", "none"]), "score": hr.Numeric(-1, 1)},
    classes=["no", "yes"],
)


def frame(rows=400, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": generator.uniform(0, 100, rows),
            "job": generator.choice(["nurse", "clerk", "none"], rows),
            "score": generator.uniform(-1, 1, rows),
        }
    )


def labels(table):
    return np.where(table["age"] > 60, "yes", "no")


X = frame()
Y = labels(X)


@pytest.mark.parametrize("kind", BOTH)
def test_a_fit_learns_and_its_certificate_holds(kind):
    model = kind(epsilon=50.0, schema=SCHEMA).fit(X, Y)
    assert (model.predict(frame(seed=1)) == labels(frame(seed=1))).mean() > 0.8
    assert model.certificate_.holds
    assert model.certificate_.reasons == ()
    shares = model.predict_proba(X)
    assert shares.shape == (400, 2)
    assert np.allclose(shares.sum(axis=1), 1)
    assert list(model.classes_) == ["no", "yes"]


@pytest.mark.parametrize("kind", BOTH)
def test_the_published_form_holds_nothing_and_says_why(kind):
    certificate = kind(schema=SCHEMA, variant="published").fit(X, Y).certificate_
    assert not certificate.holds
    assert certificate.spent is None
    assert "single class" in certificate.details()
    assert "NO" in certificate.details()


@given(
    epsilon=st.fractions(Fraction(1, 1000), 100, max_denominator=10**6),
    trees=st.integers(1, 60),
    depth=st.integers(0, 12),
    stop=st.sampled_from(["none", "noisy-minority"]),
    adjacency=st.sampled_from(["add-remove", "replace-one"]),
)
@settings(max_examples=60, deadline=None)
def test_no_plan_is_above_its_budget_in_exact_numbers(epsilon, trees, depth, stop, adjacency):
    model = hr.EDPRFClassifier(schema=SCHEMA, n_estimators=trees, max_depth=depth, stop=stop)
    plan = plan_at(model, SCHEMA, epsilon, adjacency)
    spent = cost(plan.event).under(adjacency).epsilon
    assert epsilon * (1 - Fraction(1, 10**6)) < spent <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "adjacency", "trees", "levels"),
    [(1, "add-remove", 11, 4), (0.5, "add-remove", 11, 4), (0.49, "add-remove", 5, 3), (0.99, "replace-one", 5, 3)],
)
def test_the_defaults_follow_from_the_budget(epsilon, adjacency, trees, levels):
    forest = hr.EDPRFClassifier(epsilon, schema=SCHEMA, adjacency=adjacency).fit(X, Y).model_.forest
    tree = hr.PFDPDTClassifier(epsilon, schema=SCHEMA, adjacency=adjacency).fit(X, Y)
    assert len(forest.roots) == trees
    assert forest.trees.levels.max() == levels
    assert len(tree.model_.forest.roots) == 1
    assert tree.certificate_.lines[-1].level == levels + 1


def test_the_published_defaults_are_the_papers():
    arrays = hr.EDPRFClassifier(schema=SCHEMA, variant="published").fit(X, Y).model_.to_arrays()
    assert len(arrays["roots"]) == 35


def test_replace_one_runs_at_half_the_budget():
    certificate = hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA, adjacency="replace-one").fit(X, Y).certificate_
    assert certificate.holds
    assert cost(certificate.event).epsilon <= Fraction(1, 2)
    assert "replaced" in certificate.details()


def test_the_certificate_does_not_depend_on_the_records():
    texts = set()
    for table in (X, frame(3, seed=5), X.assign(age="odd", job=None, score=np.inf)):
        texts.add(hr.EDPRFClassifier(schema=SCHEMA).fit(table, labels(frame(len(table)))).certificate_.details())
    assert len(texts) == 1


def test_a_seed_is_named_in_the_certificate_and_gives_the_same_model():
    models = [hr.EDPRFClassifier(schema=SCHEMA, random_state=seed).fit(X, Y) for seed in (1, 1, 2)]
    first, again, other = (model.model_.to_arrays() for model in models)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not all(np.array_equal(first[name], other[name]) for name in first)
    assert not models[0].certificate_.holds
    assert "random_state" in models[0].certificate_.details()


def test_unseeded_fits_differ():
    first, second = (hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA).fit(X, Y).model_.to_arrays() for _ in range(2))
    assert any(not np.array_equal(first[name], second[name]) for name in first)


def test_one_thread_and_many_give_the_same_model(monkeypatch):
    alone = hr.EDPRFClassifier(schema=SCHEMA, random_state=3).fit(X, Y).model_.to_arrays()
    monkeypatch.setattr(arrays, "available_threads", lambda: 4)
    monkeypatch.setattr(table_module, "MANY_RECORDS", 16)
    monkeypatch.setattr(table_module, "BLOCK_CELLS", 16)
    together = hr.EDPRFClassifier(schema=SCHEMA, random_state=3).fit(X, Y).model_.to_arrays()
    assert all(np.array_equal(alone[name], together[name]) for name in alone)


ODD = ["abc", None, np.nan, np.inf, -np.inf, "", 10**400, [1], {"a": 1}, b"\xff", "1e999", pd.NaT, complex(1, 2)]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_cell_raises_or_moves_another_record(odd):
    table = X.astype(object)
    clean = hr.EDPRFClassifier(schema=SCHEMA, random_state=3)
    dirty = pd.concat([table, pd.DataFrame({name: [odd] for name in table}, dtype=object)], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clean.fit(dirty, [*Y, odd])  # an odd label: the record is left out
    plain = clone(clean).fit(X, Y)
    assert all(
        np.array_equal(plain.model_.to_arrays()[name], array) for name, array in model.model_.to_arrays().items()
    )
    assert len(model.predict(dirty)) == 401


def test_records_without_a_declared_label_leave_nothing_behind():
    model = hr.EDPRFClassifier(schema=SCHEMA).fit(X, ["maybe"] * 400)
    assert model.certificate_.holds
    assert set(model.predict(X)) <= {"no", "yes"}


def test_parameters_that_are_set_after_the_fit_do_not_change_what_is_saved(tmp_path):
    model = hr.EDPRFClassifier(schema=SCHEMA).fit(X, Y)
    expected = model.predict_proba(X)
    model.set_params(max_bins=7, epsilon=5.0, n_estimators=2)
    model.save(tmp_path / "m")
    again = hr.load(tmp_path / "m")
    assert np.array_equal(again.predict_proba(X), expected)
    assert again.epsilon == 1.0


def test_nothing_of_a_record_is_in_a_fitted_model(tmp_path):
    """A private model holds the schema, the configuration and released trees; odd values must not be among them."""
    table = X.astype(object)
    table.loc[0, "job"] = "undeclared-secret"
    table.loc[1, "age"] = 71.23456789
    target = [*Y[:-1], "secret-label"]
    model = hr.EDPRFClassifier(schema=SCHEMA).fit(table, target)
    model.save(tmp_path / "m.hedgerow")
    with zipfile.ZipFile(tmp_path / "m.hedgerow") as archive:
        contents = b"".join(archive.read(name) for name in archive.namelist())
    pickled = pickle.dumps(model)
    for needle in (b"secret", b"71.23456789", np.float64(71.23456789).tobytes()):
        for text in (
            contents,
            pickled,
            repr(model).encode(),
            repr(model.get_params()).encode(),
            str(vars(model)).encode(),
        ):
            assert needle not in text


def test_what_a_fitted_model_holds_is_known():
    """A new attribute must be argued about here before it ships."""
    model = hr.EDPRFClassifier(schema=SCHEMA).fit(X, Y)
    assert set(vars(model)) == {*model.get_params(), "_fitted"}
    assert set(vars(model._fitted)) == {"schema", "certificate", "model", "parameters", "named", "coins"}
    assert set(model.model_.to_arrays()) == {"roots", "test", "first_child", "label"}
    assert set(vars(model.model_)) == {"encoder", "forest", "link", "surveyed", "votes"}


def test_two_models_of_different_records_differ_in_released_values_only():
    models = [
        hr.EDPRFClassifier(schema=SCHEMA).fit(frame(rows, seed), labels(frame(rows, seed)))
        for rows, seed in ((7, 1), (900, 2))
    ]
    encoders = {pickle.dumps(model.model_.encoder) for model in models}
    assert len(encoders) == 1


def test_an_inferred_schema_warns_and_taints():
    with pytest.warns(hr.PrivacyLeakWarning):
        model = hr.EDPRFClassifier(epsilon=50.0).fit(X, Y)
    assert not model.certificate_.holds
    assert "read off the data" in model.certificate_.details()
    assert (model.predict(X) == Y).mean() > 0.8


def test_columns_that_are_not_the_schemas_are_refused_before_anything_is_booked():
    ledger = hr.Ledger(1.0)
    model = hr.EDPRFClassifier(epsilon=1.0, schema=SCHEMA, ledger=ledger)
    for wrong in (X.drop(columns="age"), X.assign(extra=1), X.iloc[:0], X.to_numpy()[:, :2]):
        with pytest.raises(hr.ConfigurationError):
            model.fit(wrong, Y[: len(wrong)])
    with pytest.raises(hr.ConfigurationError, match="different lengths"):
        model.fit(X, Y[:-1])
    assert ledger.entries == ()


def test_a_ledger_adds_fits_up_and_refuses_the_one_too_many():
    ledger = hr.Ledger(0.3)
    for _ in range(3):
        hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=ledger).fit(X, Y)
    assert ledger.spent == Fraction(3, 10)
    model = hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=ledger)
    with pytest.raises(hr.BudgetExceeded, match="nothing was drawn"):
        model.fit(X, Y)
    assert not hasattr(model, "model_")
    assert len(ledger.entries) == 3


def test_grid_search_books_every_fit_and_a_refusal_reaches_the_user():
    grid = {"max_depth": [1, 2]}
    enough = hr.Ledger(1.0)
    search = GridSearchCV(hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=enough), grid, cv=3)
    search.fit(X, Y)
    assert len(enough.entries) == 7
    assert enough.spent == Fraction(7, 10)
    short = hr.Ledger(0.5)
    search = GridSearchCV(hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=short), grid, cv=3)
    with pytest.raises(hr.BudgetExceeded):
        search.fit(X, Y)
    assert short.spent == Fraction(5, 10)


def test_a_ledger_refuses_other_processes_with_a_clear_error():
    search = GridSearchCV(
        hr.EDPRFClassifier(epsilon=0.1, schema=SCHEMA, ledger=hr.Ledger(10)), {"max_depth": [1, 2]}, cv=2, n_jobs=2
    )
    with pytest.raises(pickle.PicklingError) as refusal:
        search.fit(X, Y)
    shown = "".join(traceback.format_exception(refusal.value))
    assert "LedgerPickleError: a ledger cannot be pickled, because" in shown


def test_a_ledger_refuses_what_no_budget_covers():
    ledger = hr.Ledger(100)
    with pytest.raises(hr.BudgetExceeded, match="unprotected"):
        hr.EDPRFClassifier(schema=SCHEMA, variant="published", ledger=ledger).fit(X, Y)
    with pytest.warns(hr.PrivacyLeakWarning), pytest.raises(hr.BudgetExceeded, match="read off the data"):
        hr.EDPRFClassifier(ledger=ledger).fit(X, Y)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("kind", "settings", "stops"),
    [
        (hr.PFDPDTClassifier, {"max_depth": 3}, False),
        (hr.PFDPDTClassifier, {"max_depth": 4}, True),
        (hr.PFDPDTClassifier, {"max_depth": 4, "stop": "none"}, False),
        (hr.PFDPDTClassifier, {"max_depth": 2, "stop": "noisy-minority"}, True),
        (hr.EDPRFClassifier, {"max_depth": 5, "n_estimators": 35}, False),
        (hr.EDPRFClassifier, {"max_depth": 5, "n_estimators": 1}, True),
        (hr.EDPRFClassifier, {"max_depth": 5, "n_estimators": 3, "stop": "noisy-minority"}, True),
    ],
)
def test_one_deep_tree_stops_at_small_nodes_and_a_forest_does_not(kind, settings, stops):
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abcdef"}, classes=["no", "yes"])
    model = kind(epsilon=1.0, schema=schema, **settings).fit([[0.5] * 6, [0.2] * 6], ["no", "yes"])
    assert ("noisy minority" in model.certificate_.details()) == stops
    assert model.certificate_.holds
    assert model.certificate_.spent <= 1
