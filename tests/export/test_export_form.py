"""The one form that all exports are written of says what the model says."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from export_helpers import codes_of
from export_records import FORMS, SCHEMA, fitted, odd_records, training
from products import thinned

import hedgerow as hr
from hedgerow.export import Mean, NumberReading, ScoringForm, ValueReading, readings_of
from hedgerow.schema import Encoder

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")


@pytest.mark.parametrize("name", thinned(FORMS, 3))
def test_the_form_says_what_the_model_says(name):
    model = fitted(name)
    X = odd_records(model, 3000)
    form = model.model_.form
    sums = form.sums(codes_of(form, X))
    np.testing.assert_array_equal(model.classes_[sums.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(form.link(sums), model.predict_proba(X), rtol=0, atol=1e-12)
    assert np.abs(sums).max() < 2**53  # so that floats hold them too


@pytest.mark.parametrize("name", FORMS)
def test_trees_that_ask_the_same_become_one_and_say_the_same(name):
    model = fitted(name)
    form = model.model_.form
    merged = form.merged()
    codes = codes_of(form, odd_records(model, 1000))
    np.testing.assert_array_equal(merged.sums(codes), form.sums(codes))
    assert merged.merged() is merged


def test_merging_takes_place():
    form = fitted("dpada").model_.form
    assert len(form.merged().roots) < len(form.roots)


def test_a_type_that_other_programs_are_not_told_of_is_refused():
    class Ordinal(hr.Categorical):
        """A type to come."""

    schema = hr.Schema({"a": Ordinal(["x", "y"])}, classes=["no", "yes"])
    with pytest.raises(hr.ConfigurationError, match=r"feature 'a' is of the type Ordinal, .* model.save"):
        readings_of(Encoder(schema, 4))


@pytest.mark.parametrize(
    "schema",
    [
        hr.Schema({"a\ud800": hr.Numeric(0, 1)}, classes=["no", "yes"]),
        hr.Schema({"a": hr.Categorical(["x", "\ud800"])}, classes=["no", "yes"]),
        hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "\ud800"]),
    ],
    ids=["name", "value", "class"],
)
def test_text_that_no_file_holds_is_refused(schema):
    with pytest.raises(hr.SchemaError, match="UTF-8"):
        readings_of(Encoder(schema, 4))


def test_readings_are_plain_values():
    age, job, score = readings_of(Encoder(SCHEMA, 4))
    assert age == NumberReading("age", (25.0, 50.0, 75.0), (-9.0, 7.0))
    assert (age.missing, score.missing) == (4, 4)  # of five cuts, three for four bins
    assert isinstance(job, ValueReading)
    assert (job.missing, job.undeclared) == (9, 10)
    texts, numbers = dict(job.texts), dict(job.numbers)
    assert (texts["Nan"], texts["nan"], texts["?"], texts["nurse"]) == (6, 9, 9, 0)
    assert numbers == {-9.0: 9, 7.0: 9, 1.0: 3, 2.5: 4, 0.0: 5}


@pytest.mark.parametrize(
    ("kind", "marker"),
    [
        (partial(hr.Numeric, 0, 9), "7"),
        (partial(hr.Numeric, 0, 9, decimal=","), "7,5"),
        (partial(hr.Integer, 0, 9), "7"),
        (partial(hr.Date, "2024-01-01", "2024-12-31"), "2024-02-29"),
        (partial(hr.Date, "2024-01-01", "2024-12-31", date_format="%d.%m.%Y"), "29.02.2024"),
        (partial(hr.Categorical, ["a", "b", "c"]), "z"),
        (partial(hr.Categorical, ["a", "b", 1]), "2.50"),
        (partial(hr.Boolean), "x"),
    ],
)
def test_a_marker_of_one_column_is_exported_as_one_of_all_columns(kind, marker):
    own, of_all, none = (
        readings_of(Encoder(hr.Schema({"a": one}, classes=["no", "yes"], missing=markers), 8))
        for one, markers in ((kind(missing=marker), ()), (kind(), marker), (kind(), ()))
    )
    assert own == of_all != none


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (("a", "b"), ("a", "b")),
        ((1, 2), (1, 2)),
        ((True, False), (True, False)),
        ((0.5, 2.5), (0.5, 2.5)),
        ((1, "b", 2.5), ("1", "b", "2.5")),
        ((2**63, 1), (str(2**63), "1")),
        ((-(2**63), 1), (-(2**63), 1)),
    ],
)
def test_labels_are_of_one_type(classes, labels):
    none = np.zeros(0, dtype=np.int64)
    form = ScoringForm(0, *[none] * 6, None, classes, none, Mean(1))
    assert form.labels == labels
    assert [type(label) for label in form.labels] == [type(label) for label in labels]


def test_shares_of_many_trees_add_up_exactly_in_any_order():
    trees, generator = 37, np.random.default_rng(0)
    model = hr.ForestClassifier(schema=SCHEMA, n_estimators=trees, max_depth=2).fit(*training(500)).model_
    unit = model.link.total // trees
    for _ in range(100):
        leaves = generator.integers(0, len(model.votes), trees)
        shares = (model.votes[leaves, 0] / unit).tolist()
        assert sum(shares) == sum(shares[::-1]) == int(model.votes[leaves, 0].sum()) / unit
        assert int(sum(shares) * unit) == model.votes[leaves, 0].sum()
