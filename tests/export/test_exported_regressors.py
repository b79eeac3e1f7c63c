"""Exports of a regressor, in the programs that they are for, against ``predict``."""

from __future__ import annotations

import json
import sqlite3
from functools import cache

import numpy as np
import pytest
from export_helpers import ENGINES, codes_of, predicted, rows_of, table_of
from export_records import ROWS, SCHEMA, odd_records, training

import hedgerow as hr

TYPES = ("DOUBLE", "VARCHAR", "DOUBLE")
OUTCOMES = {
    "number": hr.Numeric(-3.7, 12.1),
    "count": hr.Integer(0, 15),
    "log link": hr.Integer(0, 15),
    "chosen link": hr.Integer(0, 15),
    "log": hr.Numeric(0.3, 700),
    "start": hr.Numeric(-3.7, 12.1),
}
LINKS = {"log link": {"loss": "poisson"}, "chosen link": {"loss": "auto"}, "log": {"outcome_transform": "log"}}


@cache
def regressor(kind="number", outcome=None):
    """A model that is at the ends of its range somewhere, with terms of cuts."""
    outcome = outcome or OUTCOMES[kind]
    options = {"init": regressor("number")} if kind == "start" else LINKS.get(kind, {"loss": "squared"})
    X, _ = training()
    age, nurse = np.nan_to_num(X["age"]), X["job"] == "nurse"
    y = outcome.low + (outcome.high - outcome.low) * np.where((age > 60) ^ nurse, 1.4, -0.4)
    return hr.HedgerowRegressor(20.0, schema=SCHEMA.replace(outcome=outcome), random_state=0, **options).fit(X, y)


def predictions(connection, statement):
    """The predictions in the order of the records."""
    return np.array([row[1] for row in sorted(connection.execute(statement).fetchall())])


@pytest.mark.parametrize("kind", OUTCOMES)
def test_the_form_says_what_the_model_says(kind):
    model = regressor(kind)
    assert any(term.cuts for term in model.model_.terms)
    X, form = odd_records(model, 3000), model.model_.form
    found = form.link(form.sums(codes_of(form, X)))
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-14 if kind in LINKS else 0)
    ends = {15} if kind.endswith("link") else {model.schema_.outcome.low, model.schema_.outcome.high}
    assert ends <= set(found)
    np.testing.assert_array_equal(form.merged().sums(codes_of(form, X)), form.sums(codes_of(form, X)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", OUTCOMES)
def test_sql_predicts_as_the_model_does(kind, engine):
    model = regressor(kind)
    X = odd_records(model, rows_of(engine))
    found = predictions(table_of(engine, X, TYPES), model.to_sql("people", engine, keep=["#"]))
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("number", hr.Numeric(0, 1e30)),
        ("number", hr.Numeric(-1e-7, 1e-7)),
        ("number", hr.Integer(0, 2**40)),
        ("log link", hr.Numeric(0, 1e30)),
        ("log", hr.Numeric(1e-9, 1e-7)),
    ],
)
def test_sql_predicts_outcomes_of_any_size(kind, outcome, engine):
    model = regressor(kind, outcome)
    X = odd_records(model, 500)
    found = predictions(table_of(engine, X, TYPES), model.to_sql("people", engine, keep=["#"]))
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)


def test_the_statement_has_one_column_of_predictions():
    model, connection = regressor(), sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (prediction, age, job, score)")
    statement = model.to_sql("t", "sqlite", keep=["job"])
    assert [column[0] for column in connection.execute(statement).description] == ["job", "prediction"]
    assert "the guarantee DOES NOT HOLD" in statement  # by its seed


@pytest.mark.full
@pytest.mark.parametrize("kind", OUTCOMES)
def test_onnx_predicts_as_the_model_does(kind):
    pytest.importorskip("onnx", reason="make test-exports installs it")
    runtime = pytest.importorskip("onnxruntime", reason="make test-exports installs it")
    model = regressor(kind)
    proto = model.to_onnx()
    assert [(one.name, len(one.type.tensor_type.shape.dim)) for one in proto.graph.output] == [("prediction", 1)]
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for rows in (ROWS, 1, 0):
        X = {name: cells[:rows] for name, cells in odd_records(model).items()}
        (found,) = session.run(None, {one.name: X[one.name].reshape(-1, 1) for one in session.get_inputs()})
        np.testing.assert_allclose(found, model.predict(X) if rows else np.zeros(0), rtol=1e-13, atol=1e-12)


@pytest.mark.parametrize("kind", ["number", *LINKS])
def test_other_programs_can_predict_with_json(kind):
    model = regressor(kind)
    answers, X = json.loads(model.to_json())["answers"], odd_records(model, 300)
    found = [predicted(answers, {name: cells[i] for name, cells in X.items()})[0] for i in range(300)]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-13, atol=1e-12)
