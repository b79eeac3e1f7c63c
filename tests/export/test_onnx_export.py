"""ONNX graphs in onnxruntime, against ``predict``."""

from __future__ import annotations

import datetime
import json
import sys

import numpy as np
import pytest
from export_helpers import onnx_answers
from export_records import FORMS, ROWS, SCHEMA, TEXTS, fitted, odd_records, of_text, training

import hedgerow as hr

onnx = pytest.importorskip("onnx", reason="make test-exports installs it")
runtime = pytest.importorskip("onnxruntime", reason="make test-exports installs it")

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore:the noisy number of records")]


@pytest.mark.parametrize("name", FORMS)
def test_labels_are_equal_and_probabilities_within_rounding(name):
    model = fitted(name)
    X = odd_records(model, texts=(*TEXTS, "a\x00", "\x00"))
    labels, probabilities = onnx_answers(model.to_onnx(), X)
    assert labels.shape == (ROWS,)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=0, atol=1e-9)


def test_cells_of_other_types_are_text_first():
    cells = [None, 1, 1.0, True, False, 0, 2.5, 7, -9, "nurse", datetime.date(2020, 1, 1), 10**30, np.float64(1.0), "x"]
    model = fitted("forest")
    X = {"age": [50.0] * len(cells), "job": cells, "score": [0.0] * len(cells)}
    told = {**X, "job": np.array([of_text(cell) for cell in cells], dtype=object)}
    np.testing.assert_array_equal(onnx_answers(model.to_onnx(), told)[1], model.predict_proba(X))


def test_one_record_and_none():
    model = fitted("hedgerow")
    proto = model.to_onnx()
    X = odd_records(model, 1)
    np.testing.assert_array_equal(onnx_answers(proto, X)[0], model.predict(X))
    labels, probabilities = onnx_answers(proto, {name: cells[:0] for name, cells in X.items()})
    assert labels.shape == (0,)
    assert probabilities.shape == (0, 2)


def test_inputs_outputs_and_metadata_are_as_promised():
    model = fitted("edprf")
    proto = model.to_onnx()
    kinds = onnx.TensorProto
    inputs = [
        (one.name, one.type.tensor_type.elem_type, len(one.type.tensor_type.shape.dim)) for one in proto.graph.input
    ]
    assert inputs == [("age", kinds.DOUBLE, 2), ("job", kinds.STRING, 2), ("score", kinds.DOUBLE, 2)]
    assert [one.name for one in proto.graph.output] == ["label", "probabilities"]
    assert {one.domain: one.version for one in proto.opset_import} == {"": 20, "ai.onnx.ml": 3}
    assert {node.domain for node in proto.graph.node} == {"", "ai.onnx.ml"}
    metadata = {one.key: one.value for one in proto.metadata_props}
    assert json.loads(metadata["hedgerow.certificate"]) == json.loads(json.dumps(model.certificate_.to_dict()))
    assert hr.Schema.from_dict(json.loads(metadata["hedgerow.schema"])) == SCHEMA
    assert metadata["hedgerow.class"] == "EDPRFClassifier"
    assert proto.doc_string == model.certificate_.details()


@pytest.mark.parametrize(
    "classes", [["only"], ["a", "b", "c"], [0, 1], [True, False], [0.5, 2.5], [1, "b"], [-(2**63), 2], [2**70, 2]]
)
@pytest.mark.parametrize("name", ["hedgerow", "edprf", "diffgen", "smooth-boost"])
def test_onnx_predicts_classes_of_any_type(name, classes):
    from hedgerow.systems import system_class

    X, _ = training(400)
    y = np.random.default_rng(2).choice(np.array(classes, dtype=object), 400)
    model = system_class(name)(schema=SCHEMA.replace(classes=classes)).fit(X, y)
    new = odd_records(model, 500)
    labels, probabilities = onnx_answers(model.to_onnx(), new)
    expected = model.predict(new)
    mixed = len({type(label) for label in classes}) > 1 or 2**70 in classes
    np.testing.assert_array_equal(labels, [str(label) for label in expected] if mixed else expected)
    np.testing.assert_allclose(probabilities, model.predict_proba(new), rtol=0, atol=1e-9)


def test_ties_go_to_the_first_class():
    schema = SCHEMA.replace(classes=["a", "b", "c"])
    model = hr.PFDPDTClassifier(schema=schema, max_depth=0).fit(*training(300))
    labels, _ = onnx_answers(model.to_onnx(), odd_records(model, 50))
    np.testing.assert_array_equal(labels, model.predict(odd_records(model, 50)))
    forest = hr.EDPRFClassifier(schema=schema, n_estimators=2, max_depth=0, random_state=0).fit(*training(300))
    sums = forest.model_.form.sums(np.zeros((1, 3), dtype=np.int64))
    labels, _ = onnx_answers(forest.to_onnx(), odd_records(forest, 5))
    assert set(labels) == {"abc"[int(sums.argmax())]}


def test_many_values_and_white_space_around_them():
    values = [f"value {i:05d}" for i in range(3000)]
    schema = hr.Schema({"a": hr.Categorical(values)}, classes=["no", "yes"])
    X = {"a": np.array(values * 4, dtype=object)}
    y = np.where(np.arange(len(X["a"])) % 3 == 0, "yes", "no")
    model = hr.HedgerowClassifier(epsilon=1e6, schema=schema).fit(X, y)
    new = {"a": np.array([f" {value}\n" for value in values] + [value.upper() for value in values], dtype=object)}
    labels, probabilities = onnx_answers(model.to_onnx(), new)
    np.testing.assert_array_equal(labels, model.predict(new))
    np.testing.assert_allclose(probabilities, model.predict_proba(new), rtol=0, atol=1e-9)
    assert len(np.unique(probabilities)) > 2


@pytest.mark.parametrize("name", ["label", "probabilities", "hedgerow:1", "hedgerow:"])
def test_a_feature_may_have_the_name_of_an_output(name):
    schema = hr.Schema({name: hr.Numeric(0, 1), "label_": hr.Categorical(["x"])}, classes=["no", "yes"])
    X = {name: np.linspace(0, 1, 300), "label_": np.array(["x"] * 300, dtype=object)}
    model = hr.ForestClassifier(schema=schema).fit(X, np.where(X[name] > 0.5, "yes", "no"))
    proto = model.to_onnx()
    outputs = [one.name for one in proto.graph.output]
    assert len({*outputs, *schema.names}) == 4
    np.testing.assert_array_equal(onnx_answers(proto, X)[0], model.predict(X))


def test_without_the_package_one_sentence_says_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(hr.MissingExtraError, match="pip install onnx"):
        fitted("forest").to_onnx()


def test_tables_that_no_file_holds_are_refused(monkeypatch):
    model = fitted("forest")
    form = model.model_.form.merged()
    size = sum(8 * numbers for numbers in (form.branch.size, form.votes.size, form.test.size, form.first_child.size))
    monkeypatch.setattr("hedgerow.export.onnx_graph.MOST_BYTES", size - 1)
    with pytest.raises(hr.ConfigurationError, match=f"take {size} bytes.* fewer or smaller trees"):
        model.to_onnx()
    monkeypatch.setattr("hedgerow.export.onnx_graph.MOST_BYTES", size)
    assert model.to_onnx()
