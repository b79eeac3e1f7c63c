"""Ranges of any magnitude are refused before anything is charged, or right wherever they are shown, stored or exported."""

import json
import sqlite3
from itertools import product

import numpy as np
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.schema.types import as_outcome, check_outcome

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records", "ignore:.*times in this process")

SHARE = np.random.default_rng(0).random(400)
POWERS = (-300, -40, -31, -30, 0, 30, 31, 38, 300)
KINDS = [hr.HedgerowClassifier, hr.HedgerowRegressor, hr.ForestClassifier]
ENDS = [(-1.7e308, 1.7e308), (0, 1e300), (0, 1e-300), (-5e-324, 5e-324), (1e300, 1.1e300)]


def use_everywhere(model, X, y, folder):
    """Use a model in every way, and return its predictions."""
    assert all([str(model), repr(model.certificate_), json.dumps(model.certificate_.to_dict())])
    ledger = hr.Ledger(epsilon=1)
    card = hr.evaluate(model, X, y, epsilon=1, ledger=ledger)
    assert all([str(card), repr(card), card._repr_html_(), json.dumps(card.to_dict())])
    assert all([str(model.explain(X)), model.feature_importances_.shape == (2,)])
    model.save(folder / "m")
    found = model.predict(X)
    assert np.array_equal(hr.load(folder / "m").predict(X), found)
    json.loads(model.to_json())
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE t (a REAL, b REAL)")
    table.executemany("INSERT INTO t VALUES (?, ?)", np.column_stack([X["a"], X["b"]]).tolist())
    answers = table.execute(model.to_sql("t", dialect="sqlite")).fetchall()
    table.close()
    if np.issubdtype(found.dtype, np.floating):
        assert np.allclose([row[-1] for row in answers], found, rtol=1e-6, atol=0)
    return found


@pytest.mark.parametrize(
    ("power", "loss"), [(power, ("squared", "poisson")[place % 2]) for place, power in enumerate(POWERS)]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_outcomes(power, loss, tmp_path):
    high = 10.0**power
    X, y = {"a": SHARE, "b": SHARE[::-1]}, SHARE * high
    features = {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}
    if abs(power) > 30:
        with pytest.raises(hr.SchemaError, match="in another unit"):
            hr.Schema(features, outcome=hr.Numeric(0, high))
        return
    schema = hr.Schema(features, outcome=hr.Numeric(0, high))
    model = hr.HedgerowRegressor(epsilon=20, schema=schema, loss=loss, random_state=0).fit(X, y)
    found = use_everywhere(model, X, y, tmp_path)
    assert np.sqrt(np.mean((found - y) ** 2)) < 0.3 * high
    assert ((found >= 0) & (found <= high)).all()


@pytest.mark.parametrize(("kind", "ends"), thinned(product(KINDS, ENDS), 4))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_features(kind, ends, tmp_path):
    low, high = ends
    labels = {"outcome": hr.Numeric(0, 1)} if kind is hr.HedgerowRegressor else {"classes": [0, 1]}
    schema = hr.Schema({"a": hr.Numeric(low, high), "b": hr.Numeric(0, 1)}, **labels)
    X = {"a": low * (1 - SHARE) + high * SHARE, "b": SHARE[::-1]}
    y = SHARE if kind is hr.HedgerowRegressor else (SHARE > 0.5).astype(int)
    model = kind(epsilon=20, schema=schema, random_state=0).fit(X, y)
    use_everywhere(model, X, y, tmp_path)
    if kind is not hr.ForestClassifier:
        pytest.importorskip("matplotlib").use("Agg")
        hr.FeatureDisplay.from_estimator(model)


@pytest.mark.parametrize(
    "ends",
    [(0, 1e40), (-1e200, 1e-200), (1e40, 1e41), (-1e41, -1e40), (0, 1e-40), (1e-40, 2e-40), (1e-14, 1.0000001e-14)],
)
def test_a_released_range_becomes_an_outcome(ends):
    """Its budget is spent, so it is moved where a declared one is refused."""
    assert check_outcome(as_outcome(hr.Numeric(*ends))).low < 1e30


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_outcome_far_out_is_released():
    y = SHARE.repeat(50) * 1e60
    schema = hr.private_schema({"a": y}, y, epsilon=5, numeric=["a"], outcome=True, target="b")
    assert schema.outcome.high == 1e30
