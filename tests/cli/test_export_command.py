"""``hedgerow export``: what it writes is what the model says."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import hedgerow as hr


@pytest.fixture
def model(train):
    assert train("--system", "forest").exit_code == 0
    return hr.load("m.hedgerow")


RECORDS = {
    "age": np.array([20.0, 55.0, np.nan]),
    "marital status": np.array(["single", "married, or so", "x"], dtype=object),
    "code": np.array(["1", "2", ""], dtype=object),
}


def test_json_has_the_answers_and_is_no_model_file(model, run, is_refused):
    result = run("export", "m.hedgerow", "--to", "json", "--out", "m.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("wrote ")
    assert run("export", "m.hedgerow", "--to", "json").stdout == model.to_json()
    assert json.loads(model.to_json())["answers"]["classes"] == ["high", "low"]
    is_refused(run("predict", "m.json", "people.csv"), 2, "m.json is not a model file")


def test_sql_answers(model, run):
    result = run("export", "m.hedgerow", "--to", "sql", "--table", "main.people", "--dialect", "sqlite", "--keep", "id")
    assert result.stdout == model.to_sql(["main", "people"], "sqlite", keep=["id"]) + "\n"
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE people (id, age, "marital status", code)')
    rows = [
        (i, None if cells[0] != cells[0] else cells[0], *cells[1:])
        for i, cells in enumerate(zip(*RECORDS.values(), strict=True))
    ]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    found = sorted(connection.execute(result.stdout).fetchall())
    assert [row[1] for row in found] == model.predict(RECORDS).tolist()


@pytest.mark.full
def test_onnx_is_a_file(model, run):
    onnx = pytest.importorskip("onnx", reason="make test-exports installs it")
    assert run("export", "m.hedgerow", "--to", "onnx", "--out", "m.onnx").exit_code == 0
    assert [one.name for one in onnx.load("m.onnx").graph.input] == ["age", "marital status", "code"]


def test_wrong_usage_is_one_sentence(model, run, is_refused):
    is_refused(run("export", "m.hedgerow", "--to", "sql"), 2, "--table NAME")
    is_refused(run("export", "m.hedgerow", "--to", "onnx"), 2, "--out FILE")
    is_refused(run("export", "m.hedgerow", "--to", "json", "--out", "m.hedgerow"), 2)
    is_refused(run("export", "people.csv", "--to", "json"), 2, "no", "model")


@pytest.mark.parametrize(
    ("kind", "entry", "refused"),
    [
        (("sql", "--table", "people"), 'decimal = ","', True),
        (("sql", "--table", "people"), "amounts = true", True),
        (("sql", "--table", "people", "--typed"), "amounts = true", False),
        (("json",), 'decimal = ","', False),
        (("sql", "--table", "people"), "", False),
    ],
)
def test_text_that_sql_does_not_read_is_refused(train, run, is_refused, kind, entry, refused):
    path = Path("people.toml")
    path.write_text(path.read_text("utf-8").replace("[features.age]", f"[features.age]\n{entry}"), "utf-8")
    assert train("--system", "forest").exit_code == 0
    result = run("export", "m.hedgerow", "--to", *kind)
    if refused:
        is_refused(result, 2, "'age'", "--typed")
    else:
        assert result.exit_code == 0, result.output
