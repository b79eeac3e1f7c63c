"""Exports of terms with up to five cuts and of one to seven classes answer as the model does."""

import json
import sqlite3

import numpy as np
import pytest
from hand_built import model_of, records

from hedgerow.errors import ConfigurationError
from hedgerow.export.json_text import answers_of
from hedgerow.export.onnx_graph import onnx_model
from hedgerow.export.sql_text import sql_statement

CLASSES = [1, 2, 3, 7]


@pytest.mark.parametrize("classes", CLASSES)
def test_trees_say_what_terms_say_to_the_last_bit(classes):
    model = model_of(classes=classes)
    form, codes = model.form, model.encoder.transform(records())
    sums = form.sums(codes)
    assert sums.shape == (500, classes)
    assert form.depth == 6
    np.testing.assert_array_equal(sums[:, 1:] if classes == 2 else sums, model.packed.margins(codes))
    np.testing.assert_array_equal(form.link(sums), model.probabilities(records()))
    assert len(form.merged().roots) == len(form.roots)  # terms of the same cuts and feature are one tree already
    assert json.loads(json.dumps(answers_of(form)))["classes"] == [f"k{place}" for place in range(classes)]


def test_a_model_without_terms_says_its_start():
    model = model_of(())
    form = model.form
    np.testing.assert_array_equal(
        form.link(form.sums(model.encoder.transform(records()))), model.probabilities(records())
    )


@pytest.mark.parametrize("classes", CLASSES)
def test_a_statement_says_what_the_model_says(classes):
    model, X = model_of(classes=classes), records(200)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE people (id INTEGER, a REAL, b REAL, c TEXT, d TEXT, e REAL, f REAL)")
    rows = zip(range(200), *(column.tolist() for column in X.values()), strict=True)
    rows = [[None if cell != cell else cell for cell in row] for row in rows]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    found = sorted(connection.execute(sql_statement(model.form, "people", "sqlite", ["id"])))
    probabilities = model.probabilities(X)
    assert [row[1] for row in found] == [f"k{place}" for place in probabilities.argmax(axis=1)]
    np.testing.assert_allclose([row[2:] for row in found], probabilities, rtol=0, atol=1e-9)


def test_a_model_too_large_for_a_statement_is_refused_with_the_reason():
    model = model_of((5,) * 500, classes=7)
    with pytest.raises(ConfigurationError, match="votes of leaves"):
        sql_statement(model.form, "people", "duckdb")


@pytest.mark.parametrize("classes", CLASSES)
def test_a_graph_says_what_the_model_says(classes):
    pytest.importorskip("onnx", reason="the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="make test-exports installs it")
    model, X = model_of(classes=classes), records(200)
    session = runtime.InferenceSession(onnx_model(model.form, {}, "").SerializeToString())
    feed = {
        name: (column if column.dtype.kind == "f" else column.astype(object))[:, None] for name, column in X.items()
    }
    labels, probabilities = session.run(None, feed)
    expected = model.probabilities(X)
    assert labels.tolist() == [f"k{place}" for place in expected.argmax(axis=1)]
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-9)
