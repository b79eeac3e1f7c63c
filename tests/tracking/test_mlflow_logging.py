"""What MLflow writes by itself, and what ``hr.mlflow`` writes instead."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import hedgerow as hr

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Categorical(["x", "y"])}, classes=["low", "high"])


def records(rows=300, last=0.5):
    generator = np.random.default_rng(0)
    a = generator.uniform(0, 1, rows)
    a[-1] = last
    return {"a": a, "b": generator.choice(["x", "y"], rows)}, np.where(a > 0.5, "high", "low")


@pytest.fixture
def tracked(tmp_path, monkeypatch):
    """MLflow that tracks in a folder of this test."""
    mlflow = pytest.importorskip("mlflow", reason="make test-mlflow installs it")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    yield mlflow
    mlflow.sklearn.autolog(disable=True)


def autologged(mlflow, last):
    """What autolog writes of a pipeline's fit."""
    import pandas as pd
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = records(last=last)
    mlflow.sklearn.autolog(log_models=False)
    with mlflow.start_run() as run:
        model = make_pipeline(FunctionTransformer(), hr.ForestClassifier(schema=SCHEMA)).fit(pd.DataFrame(X), y)
    mlflow.sklearn.autolog(disable=True)
    return model, mlflow.get_run(run.info.run_id), (X, y)


@pytest.mark.filterwarnings("ignore")
def test_autolog_writes_exact_training_scores_and_a_digest_of_the_records(tracked):
    import pandas as pd

    model, run, (X, y) = autologged(tracked, last=0.25)
    exact = float(np.mean(model.predict(pd.DataFrame(X)) == y))
    assert run.data.metrics["training_accuracy_score"] == pytest.approx(exact)
    digests = {one.dataset.digest for one in run.inputs.dataset_inputs}
    _, other, _ = autologged(tracked, last=0.75)
    assert digests
    assert digests.isdisjoint(one.dataset.digest for one in other.inputs.dataset_inputs)  # one record tells
    assert model[-1].certificate_.holds  # which cannot see it


@pytest.mark.filterwarnings("ignore")
def test_log_model_writes_the_model_and_its_certificate_and_nothing_of_the_records(tracked):
    import pandas as pd

    X, y = records()
    model = hr.ForestClassifier(epsilon=0.5, schema=SCHEMA).fit(X, y)
    with tracked.start_run() as run:
        info = hr.mlflow.log_model(model)
    written = tracked.get_run(run.info.run_id)
    assert written.data.metrics == {}
    assert written.data.params == {}
    assert list(written.inputs.dataset_inputs) == []
    tags = {key: value for key, value in written.data.tags.items() if key.startswith("hedgerow.")}
    assert tags == {
        "hedgerow.class": "ForestClassifier",
        "hedgerow.epsilon": "0.5",
        "hedgerow.delta": "0",
        "hedgerow.adjacency": "add-remove",
        "hedgerow.guarantee": "holds",
    }
    loaded = tracked.pyfunc.load_model(info.model_uri)
    frame = pd.DataFrame({**X, "more": 1})
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(X))
    folder = tracked.artifacts.download_artifacts(info.model_uri)
    files = {path.name: path for path in __import__("pathlib").Path(folder).rglob("*") if path.is_file()}
    assert files["certificate.txt"].read_text("utf-8") == f"{model.certificate_.details()}\n"
    np.testing.assert_array_equal(hr.load(files["model.hedgerow"]).predict_proba(X), model.predict_proba(X))
    assert {name for name in files if name.endswith((".csv", ".json", ".parquet"))} == set()


@pytest.mark.filterwarnings("ignore")
def test_tags_say_that_no_guarantee_holds(tracked):
    X, y = records()
    model = hr.ForestClassifier(schema=SCHEMA, random_state=0).fit(X, y)
    with tracked.start_run() as run:
        hr.mlflow.log_model(model, "seeded")
    assert tracked.get_run(run.info.run_id).data.tags["hedgerow.guarantee"].startswith("does not hold: ")


def test_without_the_package_one_sentence_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    X, y = records()
    with pytest.raises(hr.MissingExtraError, match=r'pip install "hedgerow\[mlflow\]"'):
        hr.mlflow.log_model(hr.ForestClassifier(schema=SCHEMA).fit(X, y))


def test_what_mlflow_calls_loads_a_file_or_a_folder(tmp_path):
    X, y = records()
    model = hr.ForestClassifier(schema=SCHEMA).fit(X, y)
    model.save(tmp_path / "model.hedgerow")
    for place in (tmp_path, tmp_path / "model.hedgerow"):
        loaded = hr.mlflow._load_pyfunc(str(place))
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
