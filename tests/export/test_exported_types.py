"""Whole numbers, dates and truth values leave the library as what the schema says of them."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from test_json_export import scored
from test_onnx_export import answers as onnx_answers
from test_sql_export import check

import hedgerow as hr

SCHEMA = hr.Schema(
    {
        "children": hr.Integer(0, 8),
        "day": hr.Date("2020-01-01", "2020-12-31"),
        "moment": hr.Date("2020-01-01T00:00:00", "2020-01-02T00:00:00"),
        "smokes": hr.Boolean(),
    },
    classes=["no", "yes"],
    missing=["9999-12-31", "99"],
)


def records(rows=600, seed=0):
    generator = np.random.default_rng(seed)
    days = [
        "2020-01-01",
        "2020-06-30T23:59:59.9",
        "2020-07-01",
        "2021-01-01",
        "9999-12-31",
        "x",
        "",
        None,
        "2020-07-01 00:00Z",
    ]
    moments = [
        "2020-01-01T00:00:01",
        "2020-01-01 12:00:00+02:00",
        "2020-01-02",
        "2019-12-31",
        "",
        "2020-01-01T11:59:59.999999",
    ]
    return {
        "children": generator.choice(np.array([0, 1, 2.4999, 2.5, 5, 8, 99, -1, np.inf, np.nan]), rows),
        "day": generator.choice(np.array(days, dtype=object), rows),
        "moment": generator.choice(np.array(moments, dtype=object), rows),
        "smokes": generator.choice(np.array(["True", "false", "1", "0.0", "", "maybe", "99"], dtype=object), rows),
    }


@pytest.fixture(scope="module", params=[hr.ForestClassifier, hr.EDPRFClassifier, hr.HedgerowClassifier])
def model(request):
    X = records()
    y = np.where((X["smokes"] == "True") | (X["children"] > 2), "yes", "no")
    return request.param(epsilon=50.0, schema=SCHEMA).fit(X, y)


def counted(X):
    """The records with dates as numbers, as the documentation says."""
    features = SCHEMA.features
    return {
        name: features[name].reader(SCHEMA.missing)(X[name]) if name in ("day", "moment") else X[name] for name in X
    }


def test_onnx(model):
    pytest.importorskip("onnxruntime", reason="make test-exports installs it")
    X = records(seed=1)
    proto = model.to_onnx()
    labels, probabilities = onnx_answers(proto, counted(X))
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)
    assert [one.doc_string.split(";")[0] for one in proto.graph.input] == [
        "a number",
        "whole days since 1970",
        "whole seconds since 1970",
        "text",
    ]


def test_json(model, tmp_path):
    X = records(200, seed=1)
    text = model.to_json()
    (tmp_path / "m.json").write_text(text, "utf-8")
    np.testing.assert_array_equal(hr.load(tmp_path / "m.json").predict_proba(X), model.predict_proba(X))
    told, answers = counted(X), json.loads(text)["answers"]
    assert [feature.get("unit") for feature in answers["features"]] == [None, "day", "second", None]
    found = [scored(answers, {name: cells[i] for name, cells in told.items()})[0] for i in range(200)]
    assert found == model.predict(X).tolist()


def test_sql_without_dates():
    names = ("children", "smokes")
    schema = hr.Schema({name: SCHEMA.features[name] for name in names}, classes=SCHEMA.classes, missing=SCHEMA.missing)
    X = {name: cells for name, cells in records().items() if name in names}
    model = hr.ForestClassifier(epsilon=50.0, schema=schema).fit(X, np.where(X["smokes"] == "True", "yes", "no"))
    check("sqlite", model, X, ("DOUBLE", "VARCHAR"))
    assert sqlite3.sqlite_version_info > (3, 35)
