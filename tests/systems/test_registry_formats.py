"""A model file says its format as a whole number; what only compares equal to one is refused."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.export.archive import read_archive, write_archive

X = {"a": np.random.default_rng(0).random(400)}
Y = np.where(X["a"] > 0.5, "yes", "no")
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1)}, ["no", "yes"])


@pytest.fixture
def model():
    return hr.EDPRFClassifier(2.0, schema=SCHEMA, random_state=0).fit(X, Y)


@pytest.mark.parametrize("format_", [True, 1.0, "1", None, 0, 99, [1]])
def test_what_is_no_format_is_refused(model, tmp_path, format_):
    path = tmp_path / "m.hedgerow"
    model.save(path)
    document, arrays = read_archive(path)
    write_archive(path, {**document, "format": format_}, dict(arrays))
    with pytest.raises(hr.FileFormatError, match="has format"):
        hr.load(path)


def test_a_label_of_an_inner_node_that_is_no_class_is_refused_when_it_is_loaded(model, tmp_path):
    path = tmp_path / "m.hedgerow"
    model.save(path)
    document, arrays = read_archive(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    inner = np.flatnonzero(arrays["test"] >= 0)
    assert len(inner)
    arrays["label"][inner[0]] = 2
    write_archive(path, document, arrays)
    with pytest.raises(hr.FileFormatError, match="damaged"):
        hr.load(path)
