"""Predictions where the records are: those of the model on a frame, block by block or by workers."""

import numpy as np
import pandas as pd
import pytest
from random_records import random_records

import hedgerow as hr
from hedgerow.engines import predict

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def fitted():
    schema, X, y = random_records(11)
    return hr.EDPRFClassifier(epsilon=5.0, schema=schema, ledger=hr.Ledger(epsilon=5.0)).fit(X, y), X, y


@pytest.mark.parametrize("proba", [False, True])
def test_records_are_answered_block_by_block(fitted, proba, tmp_path):
    model, X, y = fitted
    expected = model.predict_proba(X) if proba else model.predict(X)
    together = X.assign(label=y, more=1)
    pq.write_table(pa.Table.from_pandas(together, preserve_index=False), tmp_path / "t.parquet", row_group_size=50)
    together.to_csv(tmp_path / "t.csv", index=False)
    for records in (
        hr.Records.from_batches([together[:7], together[7:7], together[7:]]),
        hr.Records.from_batches(pa.Table.from_pandas(together).to_reader(max_chunksize=9)),
        hr.Records.from_batches({name: together[name].tolist() for name in together}),
        hr.Records.from_parquet(tmp_path / "t.parquet"),
        hr.Records.from_csv(tmp_path / "t.csv"),
    ):
        assert np.array_equal(np.concatenate(list(predict(records, model, proba=proba))), expected)


@pytest.mark.parametrize("proba", [False, True])
def test_a_dask_frame_is_answered_in_its_partitions(fitted, proba):
    dd = pytest.importorskip("dask.dataframe")
    model, X, _ = fitted
    X = X.set_axis(range(5, 5 + len(X))).assign(more=1)
    frame = dd.from_pandas(X, npartitions=3)
    found = predict(frame, model, proba=proba).compute(scheduler="synchronous")
    assert found.index.equals(X.index)
    if proba:
        assert list(found.columns) == model.classes_.tolist()
        assert np.array_equal(found.to_numpy(), model.predict_proba(X[list(model.schema_.names)]))
    else:
        assert found["prediction"].tolist() == model.predict(X[list(model.schema_.names)]).tolist()


def test_a_regressor_answers_too():
    frame = pd.DataFrame({"age": np.tile(np.arange(40.0), 50)})
    schema = hr.Schema({"age": hr.Numeric(0, 40)}, outcome=hr.Numeric(0, 1))
    model = hr.HedgerowRegressor(epsilon=5.0, delta=1e-6, schema=schema, random_state=0).fit(frame, frame["age"] / 40)
    records = hr.Records.from_batches([frame[:9], frame[9:]])
    assert np.array_equal(np.concatenate(list(predict(records, model))), model.predict(frame))
    with pytest.raises(hr.ConfigurationError, match="has no classes"):
        predict(records, model, proba=True)


def test_a_frame_in_memory_is_refused(fitted):
    model, X, _ = fitted
    with pytest.raises(hr.ConfigurationError, match=r"model\.predict"):
        predict(pd.DataFrame(X), model)
