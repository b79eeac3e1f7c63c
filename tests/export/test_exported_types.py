"""Whole numbers, dates and truth values leave the library as what the schema says of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from export_helpers import ENGINES, check_sql, onnx_answers, scored
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.errors.UnreadColumnWarning")  # of odd cells none may be read

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
    days = [None, *"2020-01-01|2020-06-30T23:59:59.9|2020-07-01|2021-01-01|9999-12-31|x||2020-07-01 00:00Z".split("|")]
    moments = "2020-01-01T00:00:01|2020-01-01 12:00:00+02:00|2020-01-02|2019-12-31||2020-01-01T11:59:59.999999".split(
        "|"
    )
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


@pytest.mark.full
def test_onnx_reads_dates_moments_and_truth_values_as_the_model_does(model):
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


def test_json_says_the_units_of_dates_and_is_scored_as_the_model(model):
    X = records(200, seed=1)
    text = model.to_json()
    told, answers = counted(X), json.loads(text)["answers"]
    assert [feature.get("unit") for feature in answers["features"]] == [None, "day", "second", None]
    found = [scored(answers, {name: cells[i] for name, cells in told.items()})[0] for i in range(200)]
    assert found == model.predict(X).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_sql_reads_dates_moments_and_truth_values_as_the_model_does(engine, model):
    check_sql(engine, model, records(seed=1), ("DOUBLE", "VARCHAR", "VARCHAR", "VARCHAR"))


DAYS = "2020-02-29 2019-02-29 2020-02-30 2020-13-01 2020-00-10 0001-01-01 0000-01-01 9999-12-31 1969-12-31".split()
TIMES = "| 00:00|T23:59| 24:00|T23:60| 12:30:59|T12:30:60| 12:30:15.5| 12:30:15.123456789|T12:30:15.".split("|")
TIMES += " 12:30:15.1234567890| 12:30123| 12:301234| 12:30:15999|t12:30|  12:30|T12|T1:30| 12:30.5".split("|")
OFFSETS = "|Z|z|+00:00|-23:59|+24:00|+0530|+05:30:15|+0530:15|-05:30:59|+05|+05:3| +05:30|+00:99".split("|")
WHOLE = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-5][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?(Z|[+-][0-2][0-9]:?[0-6][0-9])?"
)
ODD = st.text("0123456789-:.TZ+ x", max_size=30)


@pytest.fixture(scope="module")
def of_moments():
    """A model that tells days apart, and one that tells seconds apart, by cuts of their own."""
    models = []
    cuts = (["2020-02-29", "2020-03-01", "1969-12-31", "9999-01-01"], ["1969-12-31 12:30:15", "2020-02-29 12:30:15"])
    for low, high, own in (
        ("0001-01-01", "9999-12-31", cuts[0]),
        ("0001-01-01 00:00:00", "9999-12-31 23:59:59", cuts[1]),
    ):
        feature = hr.Date(low, high)
        schema = hr.Schema({"when": feature}, classes=["no", "yes"], missing=["2020-02-29 12:30:15.5", "9999-12-31"])
        X = {"when": np.array(own * 100, dtype=object)}
        models.append(
            hr.DPAdaBoostClassifier(epsilon=500.0, schema=schema, max_bins=1000, n_estimators=1).fit(
                X, ["no", "yes"] * (len(own) * 50)
            )
        )
    return models


@pytest.mark.parametrize("engine", ENGINES)
def test_every_text_is_the_moment_that_predict_reads(engine, of_moments):
    cells = [day + time + offset for day in DAYS for time in TIMES for offset in OFFSETS]
    cells += [*map(str, (20200101, 1.5, True)), " 2020-02-29\t", "2020-02-29 (BC)", "", "nan", None, "\u0662020-02-29"]
    for model in of_moments:
        check_sql(engine, model, {"when": np.array(cells, dtype=object)}, ("VARCHAR",))


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=20, deadline=None)
@given(cells=st.lists(WHOLE | ODD, min_size=50, max_size=50))
def test_any_text_is_the_moment_that_predict_reads(engine, of_moments, cells):
    if engine == "postgresql":  # whose text has no NUL
        cells = [cell.replace("\0", "") for cell in cells]
    for model in of_moments:
        check_sql(engine, model, {"when": np.array(cells, dtype=object)}, ("VARCHAR",))
