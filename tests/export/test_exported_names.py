"""Names, values and classes of any characters neither break an export nor say anything to an engine."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from export_helpers import ENGINES, sql_answers, table_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hedgerow as hr

NASTY = """ " ' "" '' a.b /* */ -- \\ select NULL t k0 c0 v0 cells label probabilities hedgerow:0 hedgerow_cells
hedgerow_ Zo\u00eb \u6f22\u5b57 \U0001f600 %s {} $1 ? :a @a ` [a] """.split()
NASTY += ["a b", "\n", "\t", "\u2028", "x; DROP TABLE people; --", "'); DROP TABLE people; --", "'||(SELECT 1)||'"]
NASTY += ['" AS x FROM people--']
letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
names = st.one_of(st.sampled_from(NASTY), st.text(letters, min_size=1, max_size=12))
distinct = {"unique_by": lambda name: name.casefold().upper().strip()}


def distinct_to_a_schema(texts):
    """Texts that a schema tells apart, and that are no missing cell."""
    found = {}
    for text in texts:
        if text.strip():
            found.setdefault(text.strip(" \t\n\r\x0b\x0c\u00a0\u202f"), text)
    return list(found.values())


@st.composite
def models(draw):
    columns = draw(st.lists(names, min_size=2, max_size=3, **distinct))
    values = distinct_to_a_schema(draw(st.lists(names, min_size=2, max_size=5))) or ["a"]
    classes = distinct_to_a_schema(draw(st.lists(names, min_size=2, max_size=4))) or ["b"]
    try:
        features = {columns[0]: hr.Numeric(0, 1), **{name: hr.Categorical(values) for name in columns[1:]}}
        schema = hr.Schema(features, classes=classes)
    except hr.SchemaError:  # numbers that are one value, and the like
        return None
    generator = np.random.default_rng(0)
    X = {columns[0]: generator.uniform(0, 1, 80)}
    X |= {name: generator.choice(np.array([*values, "", "other"], dtype=object), 80) for name in columns[1:]}
    y = generator.choice(np.array(classes, dtype=object), 80)
    return hr.ForestClassifier(epsilon=20.0, schema=schema, max_depth=3).fit(X, y), X, draw(names)


slow = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.parametrize("engine", ENGINES)
@slow
@given(found=models())
def test_sql_answers_alike_whatever_names_and_values_are(engine, found):
    if found is not None:
        check_sql(engine, *found)


def check_sql(engine, model, X, table):
    first, *others = X
    if first == "#" or "#" in others:
        return
    connection = table_of(engine, X, ("DOUBLE", *["VARCHAR"] * len(others)), table)
    labels, probabilities = sql_answers(connection, model.to_sql(table, engine, keep=["#"]))
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)
    if engine == "sqlite":
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        assert tables == [(table,)]


@pytest.mark.full
@slow
@given(models())
def test_onnx_answers_alike_whatever_names_and_values_are(found):
    pytest.importorskip("onnx", reason="make test-exports installs it")
    runtime = pytest.importorskip("onnxruntime", reason="make test-exports installs it")
    if found is None:
        return
    model, X, _ = found
    session = runtime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    labels, probabilities = session.run(None, {name: cells.reshape(-1, 1) for name, cells in X.items()})
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))


@slow
@given(models())
def test_json_answers_alike_whatever_names_and_values_are(found):
    if found is None:
        return
    model, X, _ = found
    answers = json.loads(model.to_json())["answers"]
    assert [feature["name"] for feature in answers["features"]] == list(X)
    assert answers["classes"] == model.classes_.tolist()


def test_an_identifier_is_closed_by_nothing_in_it():
    connection = sqlite3.connect(":memory:")
    from hedgerow.export import DIALECTS

    for name in NASTY:
        connection.execute(f"CREATE TABLE {DIALECTS['sqlite'].identifier(name)} (a)")
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == NASTY
