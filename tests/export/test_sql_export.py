"""SQL statements in SQLite and DuckDB, against ``predict``."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pytest
from export_helpers import ENGINES, POSTGRES, check_sql, connect, rows_of, sql_answers, table_of
from export_records import FORMS, NUMBERS, SCHEMA, TEXTS, around, fitted, odd_records, training
from hypothesis import example, given, settings
from hypothesis import strategies as st
from products import thinned

import hedgerow as hr
from hedgerow.export.sql_text import DECIMAL, DIALECTS, _added

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", thinned(FORMS, 6))
def test_labels_are_equal_and_probabilities_within_rounding(name, engine):
    model = fitted(name)
    check_sql(engine, model, odd_records(model, rows_of(engine)), ("DOUBLE", "VARCHAR", "DOUBLE"))


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_may_stand_there_as_text(engine):
    model = fitted("forest")
    edges = [edge for reading in model.model_.form.readings[::2] for edge in reading.edges]
    numbers = [repr(float(number)) for number in (*around(edges), *NUMBERS) if not 0 < abs(number) < 1e-200]
    texts = [*numbers, *(text for text in TEXTS if text.isascii() and "_" not in text), " 12\t", "+3.5e1", None]
    X = {"age": texts, "job": ["nurse"] * len(texts), "score": texts[::-1]}
    check_sql(engine, model, {name: np.array(cells, dtype=object) for name, cells in X.items()}, ("VARCHAR",) * 3)


def test_sqlite_reads_every_type_that_one_column_holds():
    model = fitted("forest")
    numbers = [1, 1.0, 2.5, 0, 7, -9, 50, 2**53 + 1, 1e22, -(2**63)]
    cells = [None, *numbers, "1", "1.0", "2.50", "50", "TRUE", "x", "", "nan", "inf"]
    X = {"age": cells, "job": cells[::-1], "score": cells[5:] + cells[:5]}
    check_sql("sqlite", model, {name: np.array(column, dtype=object) for name, column in X.items()}, ("", "", ""))


@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("INTEGER", [1, 0, 2, 7, -9, None]),
        ("BOOLEAN", [True, False, None]),
        ("REAL", [1.0, 2.5, 0.0, -0.0, 7.0, float(np.float32(0.1)), float(np.float32(1e30)), float("inf"), None]),
        ("DOUBLE", [1.0, 2.5, 0.0, -0.0, 7.0, 1e22, float("inf"), None]),
        ("DECIMAL(12, 3)", [1, 2.5, 7, None]),
        ("NUMERIC(400, 3)", [1, 2.5, 7, 10**310, -(10**310), None]),
        ("CHAR(8)", ["1", " 2.5", "1e999", "nan", "clerk", None]),
        ("DATE", [datetime.date(2020, 1, 1), None]),
        ("TIMESTAMP", [datetime.datetime(2020, 1, 1, 12, 30), None]),
    ],
)
def test_engines_with_types_read_columns_of_every_type(engine, kind, cells):
    if engine == "duckdb" and kind in ("REAL", "NUMERIC(400, 3)", "CHAR(8)"):
        pytest.skip("a type that means something else in DuckDB")
    schema = SCHEMA.replace({"job": hr.Categorical([1, 2.5, 0, 0.1, "2020-01-01", "2020-01-01 12:30:00"])})
    X, y = training(500)
    X["job"] = np.random.default_rng(0).choice(np.array([1, 2.5, 0, "2020-01-01", "x"], dtype=object), 500)
    model = hr.PFDPDTClassifier(epsilon=50.0, schema=schema).fit(X, y)
    number = kind not in ("DATE", "TIMESTAMP")
    column = np.array(cells, dtype=object)
    X = {"age": column if number else np.full(len(cells), 50.0), "job": column, "score": np.zeros(len(cells))}
    check_sql(engine, model, X, (kind if number else "DOUBLE", kind, "DOUBLE"))


@pytest.mark.parametrize("engine", [POSTGRES])
@pytest.mark.parametrize(
    "setting", ["standard_conforming_strings = off", "backslash_quote = off", "DateStyle = 'German'"]
)
def test_settings_of_a_postgresql_server_change_no_answer(engine, setting):
    values = ["a\\b", "\\' OR 1=1 --", "it''s", "c"]
    schema = hr.Schema({"x": hr.Categorical(values), "d": hr.Date("2020-01-01", "2020-12-31")}, classes=["no", "yes"])
    days = [datetime.date(2020, month, 5) for month in range(1, 13)]
    X = {"x": np.array(values * 30, dtype=object), "d": np.array(days * 10, dtype=object)}
    model = hr.PFDPDTClassifier(50.0, schema=schema).fit(X, np.where(X["d"] < days[6], "no", "yes"))
    connection = table_of(engine, X, ("TEXT", "DATE"))
    connection.execute(f"SET {setting}")
    labels, _ = sql_answers(connection, model.to_sql("people", engine, keep=["#"]))
    np.testing.assert_array_equal(labels, model.predict(X))


DECIMALS = st.from_regex(r"[+-]?(0|00)?[0-9]{0,30}\.?[0-9]{0,400}([eE][+-]?0{0,3}[0-9]{0,8})?", fullmatch=True)
BOUNDS = (
    "1.7976931348623158e308",
    "17976931348623159" + "0" * 292,
    "1e309",
    "1e-400",
    "2.4703282292062328e-324",
    "1e99999999999",
)


@pytest.mark.parametrize("engine", [POSTGRES])
@settings(max_examples=30, deadline=None)
@given(texts=st.lists(DECIMALS | st.text("0123456789.eE+-infa ", max_size=12), min_size=20, max_size=20))
@example(
    texts=[*BOUNDS, *(f"-{bound}" for bound in BOUNDS), "0." + "0" * 330 + "1e20", "1" * 20_000, "." + "3" * 20_000]
)
def test_postgresql_reads_every_decimal_and_never_ends(engine, texts):
    connection, sql = connect(engine), DIALECTS[engine]
    connection.execute("CREATE TABLE t (i INTEGER, x TEXT)")
    connection.cursor().executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(texts)))
    rows = connection.execute(
        f"SELECT x, {sql.number_of('x')}, {sql.decimal_of('x', sql.text_of('x'))} FROM t ORDER BY i"
    )
    for text, number, decimal in rows.fetchall():
        expected = float(text) if re.fullmatch(DECIMAL + "|[+-]?inf(inity)?", text.strip(" ")) else None
        assert (number, decimal) == (expected, expected), text


def test_a_name_that_postgresql_would_shorten_is_refused():
    with pytest.raises(hr.ConfigurationError, match="more than 63 bytes"):
        fitted("forest").to_sql("p" * 64, "postgresql")
    assert fitted("forest").to_sql("p" * 63, "postgresql")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "classes", [["only"], ["a", "b", "c"], [True, False], [0.5, 2.5], [1, "b"], ["it's", 'a "b"'], [2**70, 2]]
)
@pytest.mark.parametrize("name", ["hedgerow", "edprf"])
def test_sql_predicts_classes_of_any_type(name, classes, engine):
    from hedgerow.systems import system_class

    X, _ = training(400)
    y = np.random.default_rng(2).choice(np.array(classes, dtype=object), 400)
    model = system_class(name)(schema=SCHEMA.replace(classes=classes)).fit(X, y)
    new = odd_records(model, 300)
    labels, probabilities = sql_answers(
        table_of(engine, new, ("DOUBLE", "VARCHAR", "DOUBLE")), model.to_sql("people", engine, keep=["#"])
    )
    mixed = len({type(label) for label in classes}) > 1 or 2**70 in classes
    np.testing.assert_array_equal(labels, list(map(str, model.predict(new))) if mixed else model.predict(new))
    np.testing.assert_allclose(probabilities, model.predict_proba(new), rtol=0, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_hundreds_of_classes(engine):
    classes = [f"class {i}" for i in range(250)]
    X, _ = training(600)
    y = np.random.default_rng(0).choice(classes, 600)
    model = hr.ForestClassifier(schema=SCHEMA.replace(classes=classes), max_depth=1).fit(X, y)
    check_sql(engine, model, odd_records(model, 50), ("DOUBLE", "VARCHAR", "DOUBLE"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_is_not_there_is_an_error(engine):
    # unqualified, SQLite would take "age" for a text
    model = fitted("forest")
    X = {name: cells for name, cells in odd_records(model, 5).items() if name != "age"}
    with pytest.raises(Exception, match=r"age"):
        table_of(engine, X, ("VARCHAR", "DOUBLE")).execute(model.to_sql("people", engine)).fetchall()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["cells", "votes", "t", "hedgerow_cells", "HEDGEROW_Cells", "hedgerow__votes"])
def test_a_table_may_have_the_name_of_a_step(name, engine):
    model = fitted("hedgerow")
    check_sql(engine, model, odd_records(model, 20), ("DOUBLE", "VARCHAR", "DOUBLE"), name)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_statement_is_one_and_its_columns_are_as_promised(engine):
    model = fitted("hedgerow")
    connection = table_of(engine, odd_records(model, 5), ("DOUBLE", "VARCHAR", "DOUBLE"))
    statement = model.to_sql(["main", "people"], engine, keep=["#", "job"])
    assert ";" not in statement
    named = connection.execute(statement).description
    assert [column[0] for column in named] == ["#", "job", "label", "probability_no", "probability_yes"]
    assert statement.splitlines()[:2] == [
        f"-- hedgerow {hr.__version__}, HedgerowClassifier: epsilon 1, add-remove",
        "-- the guarantee holds",
    ]
    created = connection.execute(f"CREATE TABLE scored AS {statement}")
    assert created is not None
    assert connection.execute("SELECT count(*) FROM scored").fetchone() == (5,)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_are_written_exactly(engine):
    generator = np.random.default_rng(0)
    numbers = [
        *generator.normal(size=300) * 10.0 ** generator.integers(-12, 12, 300),
        *generator.integers(0, 2**63, 300).view(np.float64),
        *(0.1 + 0.2, 1 / 3, 2.0**53 + 2, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456.789, np.inf, -np.inf),
    ]
    numbers = [float(number) for number in numbers if number == number]
    connection, dialect = connect(engine), DIALECTS[engine]
    for number in numbers:
        assert connection.execute(f"SELECT {dialect.number(number)}").fetchone() == (number,)


def test_an_unknown_dialect_and_names_that_sql_cannot_hold_are_refused():
    model = fitted("forest")
    with pytest.raises(hr.ConfigurationError, match="pass one of 'duckdb', 'postgresql', 'sqlite'"):
        model.to_sql("people", "oracle")
    with pytest.raises(hr.ConfigurationError, match="NUL"):
        model.to_sql("peo\0ple")
    schema = hr.Schema({"a": hr.Numeric(0, 1), "A": hr.Numeric(0, 1)}, classes=["no", "yes"])
    twins = hr.ForestClassifier(schema=schema).fit(np.zeros((20, 2)), ["no", "yes"] * 10)
    with pytest.raises(hr.ConfigurationError, match="'a' and 'A' are one column"):
        twins.to_sql("people")


@pytest.mark.parametrize("engine", [pytest.param("duckdb", marks=pytest.mark.full), POSTGRES])
@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("DATE", [datetime.date(2020, 3, 1), datetime.date(1969, 12, 31), None]),
        ("TIMESTAMP", [datetime.datetime(2020, 2, 29, 23, 59, 59, 999_999), datetime.datetime(2020, 3, 1), None]),
        ("TIMESTAMP WITH TIME ZONE", [datetime.datetime(2020, 3, 1, 1, tzinfo=datetime.UTC), None]),
    ],
)
def test_engines_with_dates_read_every_type_of_them(engine, kind, cells):
    schema = hr.Schema({"d": hr.Date("2020-01-01", "2020-12-31")}, classes=["no", "yes"])
    days = np.array(["2020-02-01", "2020-02-29", "2020-03-01", "2020-08-01"] * 50, dtype=object)
    model = hr.PFDPDTClassifier(50.0, schema=schema, max_bins=366).fit(
        {"d": days}, np.where(days < "2020-03-01", "no", "yes")
    )
    check_sql(engine, model, {"d": np.array(cells, dtype=object)}, (kind,))


def test_a_statement_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("hedgerow.export.sql_text.MOST_LEAVES", 10)
    with pytest.raises(hr.ConfigurationError, match="use to_onnx"):
        fitted("forest").to_sql("people")


def test_sums_are_balanced():
    """SQLite takes an expression that is 1000 deep, and none that is deeper."""
    text = _added([str(i) for i in range(1000)])
    assert eval(text) == 999 * 500
    assert max(np.cumsum([(letter == "(") - (letter == ")") for letter in text])) == 10
