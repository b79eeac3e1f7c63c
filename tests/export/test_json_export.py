"""JSON: what any program can score with."""

from __future__ import annotations

import json

import numpy as np
import pytest
from export_helpers import scored
from export_records import FORMS, SCHEMA, fitted, odd_records
from products import thinned

import hedgerow as hr
from hedgerow.export.archive import read_archive

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")


@pytest.mark.parametrize("name", thinned(FORMS, 3))
def test_other_programs_can_score_with_it(name):
    model = fitted(name)
    X = odd_records(model, 300)
    answers = json.loads(model.to_json())["answers"]
    records = [{column: cells[i] for column, cells in X.items()} for i in range(300)]
    found = [scored(answers, record) for record in records]
    assert [label for label, _ in found] == model.predict(X).tolist()
    np.testing.assert_allclose([shares for _, shares in found], model.predict_proba(X), rtol=0, atol=1e-9)


def test_it_says_what_a_file_says_of_its_model(tmp_path):
    model = fitted("hedgerow")
    model.save(tmp_path / "model")
    document, _ = read_archive(tmp_path / "model")
    found = json.loads(model.to_json())
    assert found.pop("hedgerow") == 1
    assert found.pop("answers")["classes"] == list(model.classes_)
    assert found == document


def test_what_is_too_large_is_not_written(monkeypatch):
    monkeypatch.setattr("hedgerow.export.json_text.MOST_VALUES", 10)
    with pytest.raises(hr.ConfigurationError, match=r"use model\.save"):
        fitted("forest").to_json()


def test_it_is_an_export_which_load_refuses(tmp_path):
    (tmp_path / "model.json").write_text("\n" + fitted("forest").to_json(), "utf-8")
    with pytest.raises(hr.FileFormatError, match="is not a model file"):
        hr.load(tmp_path / "model.json")


def test_infinite_markers_stand_as_text():
    schema = SCHEMA.replace(missing=["inf", "-inf", "x"])
    X = odd_records(fitted("forest"), 300)
    model = hr.ForestClassifier(schema=schema).fit(X, ["no", "yes", "no"] * 100)
    answers = json.loads(model.to_json())["answers"]
    found = [scored(answers, {column: cells[i] for column, cells in X.items()})[0] for i in range(300)]
    assert found == model.predict(X).tolist()
