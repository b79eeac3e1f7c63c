"""How other programs answer by what was exported: engines of SQL, a scorer of JSON, a runtime of graphs, and readings alone."""

from __future__ import annotations

import math
import sqlite3

import numpy as np
import postgres
import pytest
from export_records import ROWS

from hedgerow.export import NumberReading
from hedgerow.export.sql_text import DIALECTS

POSTGRES = pytest.param(
    "postgresql",
    marks=[pytest.mark.full, pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not()))],
)


ENGINES = ("sqlite", pytest.param("duckdb", marks=pytest.mark.full), POSTGRES)


def connect(engine):
    if engine == "sqlite":
        return sqlite3.connect(":memory:")
    if engine == "postgresql":
        return postgres.shared().connection()
    return pytest.importorskip("duckdb", reason="make test-exports installs it").connect()


def rows_of(engine):
    """How many odd records: PostgreSQL answers a row at a time."""
    return 5000 if engine == "postgresql" else ROWS


def plain(cell):
    """A cell as an engine takes it, NULL for NaN in SQLite, which has none."""
    return None if isinstance(cell, float) and cell != cell else cell.item() if isinstance(cell, np.generic) else cell


def table_of(engine, X, types, name="people"):
    """A connection with a table of records, the columns being of these types, and their number as its key."""
    connection = connect(engine)
    quoted = [DIALECTS[engine].identifier(column) for column in ("#", *X)]
    types = [kind.replace("DOUBLE", DIALECTS[engine].double) for kind in types]
    columns = ", ".join(f"{column} {kind}" for column, kind in zip(quoted, ("BIGINT", *types), strict=True))
    connection.execute(f"CREATE TABLE {DIALECTS[engine].identifier(name)} ({columns})")
    rows = [tuple(map(plain, row)) for row in zip(range(len(next(iter(X.values())))), *X.values(), strict=True)]
    if engine == "duckdb" and len(rows) > 1000:
        import pyarrow

        columns = zip(("#", *X), zip(*rows, strict=True), strict=True)
        frame = pyarrow.table({column: pyarrow.array(cells) for column, cells in columns})
        connection.register("frame of records", frame)
        connection.execute(f'INSERT INTO {DIALECTS[engine].identifier(name)} SELECT * FROM "frame of records"')
    elif engine == "postgresql":
        with connection.cursor().copy(f"COPY {DIALECTS[engine].identifier(name)} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    else:
        places = ", ".join("?" * len(quoted))
        connection.executemany(f"INSERT INTO {DIALECTS[engine].identifier(name)} VALUES ({places})", rows)
    return connection


def sql_answers(connection, statement):
    """Labels and probabilities in the order of the records."""
    rows = sorted(connection.execute(statement).fetchall())
    return np.array([row[1] for row in rows], dtype=object), np.array([row[2:] for row in rows], dtype=np.float64)


def check_sql(engine, model, X, types, name="people"):
    labels, probabilities = sql_answers(table_of(engine, X, types, name), model.to_sql(name, engine, keep=["#"]))
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)


def scored(answers, record):
    """The label and the probabilities of one record, by the words of the rule and by nothing of this library."""
    sums = votes_of(answers, [json_code(feature, record[feature["name"]]) for feature in answers["features"]])
    return answers["classes"][sums.index(max(sums))], shares_of(answers["probabilities"], sums)


def predicted(answers, record):
    """The probabilities, or the prediction, of one record, by the words of the rule and by nothing of this library."""
    if "probabilities" in answers:
        return scored(answers, record)[1]
    codes = [json_code(feature, record[feature["name"]]) for feature in answers["features"]]
    link, (total,) = answers["outcome"], votes_of(answers, codes)
    if "base" in link:
        log = min(max(total, link["first"]), link["last"]) / link["steps"]
        return [min(max(link["base"] * math.exp(log), link["low"]), link["high"])]
    share = min(max(total, 0), link["steps"]) / link["steps"]
    return [link["low"] * (1 - share) + link["high"] * share]


def votes_of(answers, codes):
    """The sums of the votes of the leaves that a record of these codes reaches."""
    reached = []
    for place in answers["roots"]:
        node = answers["nodes"][place]
        while "test" in node:
            test = answers["tests"][node["test"]]
            node = answers["nodes"][node["children"][test["branches"][codes[test["feature"]]]]]
        reached.append(node["votes"])
    return [sum(votes) for votes in zip(*reached, strict=True)]


def json_code(feature, cell):
    if "edges" in feature:
        if cell != cell or cell in map(float, feature["missing_numbers"]):
            return feature["missing"]
        return sum(float(edge) <= cell for edge in feature["edges"])
    text = cell.strip(" \t\n\r\x0b\x0c\u00a0\u202f")
    if text in feature["texts"]:
        return feature["texts"][text]
    number = {"true": 1.0, "false": 0.0}.get(text.lower())
    if number is None:
        try:
            number = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            number = math.nan
    return {float(key): code for key, code in feature["numbers"]}.get(number, feature["undeclared"])


def shares_of(rule, sums):
    if "total" in rule:
        return [sum_ / rule["total"] for sum_ in sums]
    odds = [math.exp((sum_ - max(sums)) / rule["steps"]) for sum_ in sums]
    shares = [odd / sum(odds) for odd in odds]
    if rule["cap"] is None:
        return shares
    odds = [share * max(1, (1 - share) / rule["cap"]) for share in shares]
    return [odd / sum(odds) for odd in odds]


def codes_of(form, X):
    """Codes by the readings alone: the plain meaning of what is exported."""
    columns = []
    for reading in form.readings:
        cells = X[reading.name].tolist()
        columns.append(
            [number_code(reading, cell) for cell in cells]
            if isinstance(reading, NumberReading)
            else [value_code(reading, cell) for cell in cells]
        )
    return np.array(columns).T


def number_code(reading, cell):
    if cell != cell or cell in reading.markers:
        return reading.missing
    return sum(edge <= cell for edge in reading.edges)


def value_code(reading, cell):
    text = cell.strip(" \t\n\r\x0b\x0c\u00a0\u202f")
    if text in dict(reading.texts):
        return dict(reading.texts)[text]
    words = {"true": 1.0, "false": 0.0}
    try:
        plain = text.isascii() and "_" not in text
        number = words[text.lower()] if text.lower() in words else float(text) if plain else None
    except ValueError:
        number = None
    return dict(reading.numbers).get(number, reading.undeclared)


def onnx_answers(proto, X):
    """Labels and probabilities of records, whose categories are text, by the runtime."""
    runtime = pytest.importorskip("onnxruntime", reason="make test-exports installs it")
    options = runtime.SessionOptions()
    options.log_severity_level = 1
    session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {one.name: np.asarray(X[one.name]).reshape(-1, 1) for one in session.get_inputs()})
