"""Outcomes in every source: the same model and the same report card, to the bit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from clusters import dask_frame
from random_records import random_batches, saved

import hedgerow as hr
from hedgerow.engines import local
from hedgerow.table import Coded

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SCHEMA = hr.Schema(
    {"a": hr.Numeric(0, 10), "b": hr.Categorical(["x", "y"])}, outcome=hr.Numeric(-5, 25), target="label", missing=["?"]
)


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(-1, 11, 3000), "b": rng.choice(["x", "y", "z"], 3000)})
    y = 2 * X["a"] + 4 * (X["b"] == "x") + rng.normal(0, 1, 3000)
    y[rng.uniform(size=3000) < 0.05] = np.nan
    return X, y


@pytest.fixture
def small_partitions(monkeypatch):
    monkeypatch.setattr(local, "FEWEST_ROWS", 1)
    monkeypatch.setattr(local, "MOST_ROWS", 301)


def estimator():
    return hr.HedgerowRegressor(epsilon=20, schema=SCHEMA, random_state=0)


def sources(X, y, folder):
    """Yield the records as each source has them."""
    table = X.assign(label=y.to_numpy())
    generator = np.random.default_rng(1)
    yield hr.Records.from_batches(random_batches(X, y, generator), label="label")
    yield hr.Records.from_batches([pl.from_pandas(table)], label="label")
    table.to_parquet(folder / "records.parquet")
    yield hr.Records.from_parquet(folder / "records.parquet", label="label")
    text = table.assign(label=[repr(float(value)) if value == value else "?" for value in table["label"]])
    text.to_csv(folder / "records.csv", index=False)
    yield hr.Records.from_csv(folder / "records.csv", label="label")


@pytest.mark.usefixtures("small_partitions")
def test_every_source_gives_the_same_model_and_card(made, tmp_path):
    X, y = made
    fitted = estimator().fit(X, y)
    whole, card = saved(fitted, tmp_path / "whole"), hr.evaluate(fitted, X, y, epsilon=1, random_state=1)
    for place, records in enumerate(sources(X, y, tmp_path)):
        assert saved(estimator().fit(records), tmp_path / f"model{place}") == whole
        assert np.array_equal(hr.evaluate(fitted, records, epsilon=1, random_state=1).counts, card.counts)


@pytest.mark.full
@pytest.mark.filterwarnings("default")  # Dask's own
def test_dask_gives_the_same_model(made, client, tmp_path):
    X, y = made
    whole = saved(estimator().fit(X, y), tmp_path / "whole")
    records = hr.Records.from_dask(
        dask_frame(random_batches(X, y, np.random.default_rng(1))), label="label", client=client
    )
    assert saved(estimator().fit(records), tmp_path / "parts") == whole


def test_a_column_that_is_no_number_is_refused_before_anything_is_booked(tmp_path):
    dates = pa.table({"a": [1.0], "b": ["x"], "label": pa.array([0], pa.timestamp("us"))})
    pq.write_table(dates, tmp_path / "records.parquet")
    ledger = hr.Ledger(epsilon=1)
    model = hr.HedgerowRegressor(epsilon=1, schema=SCHEMA, ledger=ledger)
    with pytest.raises(hr.SchemaError, match="y has a type of dates or times"):
        model.fit(hr.Records.from_parquet(tmp_path / "records.parquet", label="label"))
    assert ledger.remaining == 1


def test_a_curator_of_outcomes_is_asked_by_a_regressor(made):
    X, y = made
    curator = hr.Curator(X, y, schema=SCHEMA, epsilon=20, max_bins=255, random_state=0)
    model = hr.HedgerowRegressor(epsilon=20).fit_curator(curator)
    known = y.notna()
    assert model.score(X[known], y[known].clip(-5, 25)) > 0.5
    assert Coded(model.model_.encoder).n_classes == 1
    with pytest.raises(hr.ConfigurationError, match="predicts classes"):
        hr.HedgerowClassifier(epsilon=1).fit_curator(hr.Curator(X, y, schema=SCHEMA, epsilon=1, max_bins=255))
