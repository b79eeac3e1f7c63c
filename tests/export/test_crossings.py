"""Declarations crossed with each other: formats of numbers and dates, markers of missing cells, links, readers and exports.

Each two choices meet in a case (tests/products.py). A model reads text by the schema, and an export gets typed columns of the
same cells: a number as a float, a date as ISO text or as a count. All must answer alike (docs/exports.md).
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from functools import partial

import numpy as np
import pandas as pd
import pytest
from export_helpers import ENGINES, predicted, table_of
from products import pairwise

import hedgerow as hr

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

ROWS = 600
RNG = np.random.default_rng(0)
AMOUNTS = np.append(
    RNG.uniform(0, 2000, ROWS - 200).round(2), np.full(200, 1234.5)
)  # of which the last may be a marker
DAYS = np.datetime64("2001-01-01") + RNG.integers(0, 300, ROWS).astype("m8[D]")
DAYS[::7] = np.datetime64("2001-12-31")  # which may be a marker
JOBS = RNG.choice(["nurse", "clerk", "none", "other"], ROWS)
SIGNAL = AMOUNTS / 1000 + (np.datetime64("2001-06-01") < DAYS) + 0.5 * (JOBS == "nurse")

FORMATS = {  # how an amount is declared, and how it is written
    "plain": ({}, lambda amount: f"{amount:.2f}"),
    "decimal comma": ({"decimal": ","}, lambda amount: f"{amount:.2f}".replace(".", ",")),
    "groups": (
        {"decimal": ",", "thousands": "."},
        lambda amount: f"{amount:,.2f}".translate(str.maketrans(",.", ".,")),
    ),
    "amounts": ({"amounts": True}, lambda amount: f"{amount:.2f} €"),
}
DATES = {"ISO": (None, "%Y-%m-%d"), "day first": ("%d.%m.%Y", "%d.%m.%Y"), "short": ("%m/%d/%y", "%m/%d/%y")}
MARKERS = {"none": (), "text": ("?",), "amount": ("amount",), "date": ("date",), "all": ("?", "amount", "date", "none")}
LINKS = {
    "two classes": (hr.HedgerowClassifier, {}),
    "three classes": (hr.HedgerowClassifier, {}),
    "shares": (hr.ForestClassifier, {}),
    "outcome": (hr.HedgerowRegressor, {"loss": "squared"}),
    "log outcome": (hr.HedgerowRegressor, {"loss": "poisson"}),
}
READERS = {
    "mapping": lambda columns: columns,
    "pandas": pd.DataFrame,
    "rows": lambda columns: list(map(list, zip(*columns.values(), strict=True))),
}
PERSONS = {"records": {}, "persons": {"person": "who"}}


def case_of(number, date, markers, link, persons):
    """A model, and the records that it is asked for: as text in the declared formats, and by type."""
    declared, written = FORMATS[number]
    date_format, pattern = DATES[date]
    texts = {
        "amount": np.array([written(amount) for amount in AMOUNTS], dtype=object),
        "since": np.array([day.strftime(pattern) for day in DAYS.astype(object)], dtype=object),
        "job": JOBS.astype(object),
    }
    spelled = {"amount": written(1234.5), "date": pd.Timestamp("2001-12-31").strftime(pattern)}
    kind, settings = LINKS[link]
    labels = {"outcome": hr.Numeric(0, 4)} if kind is hr.HedgerowRegressor else {"classes": ["low", "middle", "high"]}
    y = SIGNAL
    if "classes" in labels:
        labels["classes"] = labels["classes"][: 3 if link == "three classes" else 2]
        y = np.array(labels["classes"], dtype=object)[np.minimum(SIGNAL, len(labels["classes"]) - 1).astype(int)]
    schema = hr.Schema(
        {
            "amount": hr.Numeric(0, 2000, **declared),
            "since": hr.Date("2001-01-01", "2001-12-31", date_format=date_format),
            "job": hr.Categorical(["nurse", "clerk", "none"]),
        },
        missing=[spelled.get(marker, marker) for marker in MARKERS[markers]],
        **PERSONS[persons],
        **labels,
    )
    model = kind(epsilon=50.0, schema=schema, n_estimators=8, random_state=0, **settings)
    model.fit({**texts, **({"who": np.arange(ROWS)} if persons == "persons" else {})}, y)
    typed = {"amount": AMOUNTS, "since": DAYS.astype(str).astype(object), "job": JOBS.astype(object)}
    return model, texts, typed


def answers_of(model, X):
    return model.predict(X)[:, None] if isinstance(model, hr.HedgerowRegressor) else model.predict_proba(X)


def by_sql(model, typed, engine):
    connection = table_of(engine, typed, ("DOUBLE", "VARCHAR", "VARCHAR"))
    rows = sorted(connection.execute(model.to_sql("people", engine, keep=["#"], typed=True)).fetchall())
    return np.array([row[1 if isinstance(model, hr.HedgerowRegressor) else 2 :] for row in rows], dtype=np.float64)


def by_json(model, cells):
    """Reads cells as the exported JSON declares them: the format of their text, and the markers of missing ones."""
    answers = json.loads(model.to_json())["answers"]
    readers = [{"job": str}.get(feature["name"], partial(of_text, feature)) for feature in answers["features"]]
    read = {
        feature["name"]: [reader(cell) for cell in cells[feature["name"]]]
        for feature, reader in zip(answers["features"], readers, strict=True)
    }
    return [predicted(answers, {name: column[place] for name, column in read.items()}) for place in range(ROWS)]


def of_text(feature, cell):
    form = feature.get("text", {})
    if "unit" in feature:
        try:
            day = datetime.fromisoformat(cell)
        except ValueError:
            day = datetime.strptime(cell, form["date_format"])
        return (
            math.nan if day.isoformat() + ".000000" in feature["missing_dates"] else (day - datetime(1970, 1, 1)).days
        )
    if isinstance(cell, str):
        cell = cell.removesuffix(" €" if form.get("amounts") else "").replace(form.get("thousands", ""), "")
        return float(cell.replace(form.get("decimal", "."), "."))
    return cell


CASES = pairwise(FORMATS, DATES, MARKERS, LINKS, READERS, PERSONS)


@pytest.mark.parametrize(("number", "date", "markers", "link", "reader", "persons"), CASES)
def test_exports_answer_as_the_model_does_whatever_is_declared(number, date, markers, link, reader, persons):
    model, texts, typed = case_of(number, date, markers, link, persons)
    answers = answers_of(model, READERS[reader](texts))
    assert len(np.unique(answers.round(9), axis=0)) > 5  # the model tells records apart
    np.testing.assert_allclose(by_sql(model, typed, "sqlite"), answers, rtol=1e-12, atol=1e-9)
    for cells in (texts, typed):
        np.testing.assert_allclose(by_json(model, cells), answers, rtol=1e-12, atol=1e-9)
    formats = [name for name, declared in (("amount", number != "plain"), ("since", date != "ISO")) if declared]
    if formats:  # SQL reads no such text, so it is refused unless the columns have none
        with pytest.raises(hr.ConfigurationError, match=", ".join(map(repr, formats))):
            model.to_sql("people", "sqlite")
    else:
        assert model.to_sql("people", "sqlite") == model.to_sql("people", "sqlite", typed=True)


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize(("number", "date", "markers", "link", "reader", "persons"), CASES[::4])
def test_other_engines_answer_alike(number, date, markers, link, reader, persons, engine):
    model, texts, typed = case_of(number, date, markers, link, persons)
    np.testing.assert_allclose(by_sql(model, typed, engine), answers_of(model, texts), rtol=1e-12, atol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize(("number", "date", "markers", "link", "reader", "persons"), CASES[::2])
def test_graphs_answer_alike(number, date, markers, link, reader, persons):
    pytest.importorskip("onnx", reason="make test-exports installs it")
    runtime = pytest.importorskip("onnxruntime", reason="make test-exports installs it")
    model, texts, typed = case_of(number, date, markers, link, persons)
    since = model.schema_.features["since"].reader(model.schema_.missing)(typed["since"])
    session = runtime.InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {name: np.asarray(column).reshape(-1, 1) for name, column in {**typed, "since": since}.items()}
    answers = np.asarray(session.run(None, feed)[-1]).reshape(ROWS, -1)
    for name in ("amount", "since"):  # nothing reads text in another way than predict: the graph takes numbers alone
        with pytest.raises(Exception, match="Unexpected input data type"):
            session.run(None, {**feed, name: texts[name].reshape(-1, 1)})
    np.testing.assert_allclose(answers, answers_of(model, texts), rtol=1e-12, atol=1e-9)


def test_a_marker_is_missing_and_nothing_else_is():
    """So that the cases above are about markers: with them, other answers than without."""
    with_markers, texts, _ = case_of("groups", "day first", "all", "two classes", "records")
    without = case_of("groups", "day first", "none", "two classes", "records")[0]
    rate = [float(np.mean(model.schema_.features["amount"].reader(model.schema_.missing)(texts["amount"]) != 1234.5))
            for model in (with_markers, without)]  # fmt: skip
    assert math.isclose(rate[1], 1 - 200 / ROWS)
    assert rate[0] == 1
