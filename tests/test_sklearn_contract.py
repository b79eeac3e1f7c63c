"""Every public estimator passes scikit-learn's own checks, with an inferred schema as its checks need."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from products import name_of_check, thinned
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
)

import hedgerow as hr
from hedgerow.systems import system_class

# Without a given schema every fit says so, and on few records HedgerowClassifier says that they may be noise; what they say
# is tested elsewhere.
pytestmark = [
    pytest.mark.filterwarnings("ignore::hedgerow.errors.PrivacyLeakWarning"),
    pytest.mark.filterwarnings("ignore:the noisy number of records"),
]

CLASSES = [system_class(info.name) for info in hr.list_systems()]
ALMOST_NO_NOISE = 10_000  # epsilon: the checks ask for accuracy on some tens of records
FEWEST_CHECKS = 54  # in scikit-learn 1.7.2 as in 1.9.1
EXPECTED_FAILURES: dict[str, dict[str, str]] = {kind.__name__: {} for kind in CLASSES}

X = np.random.default_rng(0).uniform(size=(60, 2))
Y = np.where(X[:, 0] > 0.5, "b", "a")
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["b", "a"])


def checks_of(kind):
    # What parametrize_with_checks runs; it hands pytest a generator in scikit-learn 1.7, which pytest 9 deprecates.
    failures = EXPECTED_FAILURES[kind.__name__]
    return list(
        estimator_checks_generator(kind(epsilon=ALMOST_NO_NOISE), expected_failed_checks=failures, mark="xfail")
    )


CHECKS = {kind: checks_of(kind) for kind in CLASSES}


ALL_CHECKS = [pair for kind in CLASSES for pair in CHECKS[kind]]


# Quick: of each system another eleventh of the checks, so that each check has systems.
@pytest.mark.parametrize(("estimator", "check"), thinned(ALL_CHECKS, 11), ids=name_of_check)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", CLASSES)
def test_no_check_went_missing_and_few_may_fail(kind):
    assert len(CHECKS[kind]) >= FEWEST_CHECKS
    assert len(EXPECTED_FAILURES[kind.__name__]) <= 3


@pytest.mark.parametrize("kind", CLASSES)
def test_column_names_are_checked_in_scikit_learns_words(kind):
    check_dataframe_column_names_consistency(kind.__name__, kind(epsilon=ALMOST_NO_NOISE))


@pytest.mark.parametrize("kind", CLASSES)
def test_tags_say_what_is_accepted(kind):
    tags = get_tags(kind())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.string
    assert not tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.classifier_tags.multi_class


@pytest.mark.parametrize("kind", CLASSES)
def test_an_unfitted_model_answers_nothing(kind):
    model = kind()
    for name in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(NotFittedError):
        model.save("nowhere")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(60, np.nan), "NaN"),
        (np.full(60, np.inf), "infinity"),
        (X[:, 0], "continuous"),
        ([None] * 60, "Unknown label type"),
        (["a", None] * 30, "cannot be compared"),
        (np.zeros((60, 2)), "1d array"),
    ],
)
def test_labels_without_a_schema_are_checked(labels, message):
    with pytest.raises(ValueError, match=message):
        hr.PFDPDTClassifier().fit(X, labels)


ODD_LABELS = [[None, *Y[1:]], [float("nan"), *Y[1:]], list(X[:, 0]), [complex(1, 2)] * 60, [[1], 2] * 30]


@pytest.mark.parametrize(("kind", "labels"), thinned(product(CLASSES, ODD_LABELS), 4))
def test_under_a_given_schema_no_label_raises_or_warns(kind, labels):
    assert kind(schema=SCHEMA).fit(X, labels).certificate_.holds


@pytest.mark.filterwarnings("ignore::hedgerow.errors.UnreadColumnWarning")  # of what is predicted
@pytest.mark.parametrize("kind", CLASSES)
def test_under_a_given_schema_no_cell_and_no_form_of_table_raises_or_warns(kind):
    model = kind(schema=SCHEMA).fit(X, Y[:, None])
    frame = pd.DataFrame(X, columns=["a", "b"])
    for table in (X, X.tolist(), frame, frame[["b", "a"]], {"b": X[:, 1], "a": X[:, 0]}, frame.astype(object)):
        assert len(model.predict(table)) == 60


def test_a_column_of_labels_warns_where_the_schema_is_inferred():
    with pytest.warns(DataConversionWarning):
        hr.PFDPDTClassifier().fit(X, Y[:, None])


@pytest.mark.parametrize("kind", CLASSES)
def test_complex_numbers_and_wrong_shapes_are_refused_in_scikit_learns_words(kind):
    with pytest.raises(ValueError, match="Complex data not supported"):
        kind().fit(X + 1j, Y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        kind(schema=SCHEMA).fit(X + 1j, Y)
    for schema in (None, SCHEMA):
        model = kind(schema=schema).fit(X, Y)
        with pytest.raises(ValueError, match="Reshape your data"):
            model.predict(X[0])
        with pytest.raises(ValueError, match=r"X has 3 features, but \w+ is expecting 2 features"):
            model.predict(np.hstack([X, X])[:, :3])


def test_classes_are_sorted_and_the_schema_keeps_its_order():
    assert list(hr.PFDPDTClassifier().fit(X, Y).classes_) == ["a", "b"]
    model = hr.PFDPDTClassifier(schema=SCHEMA).fit(X, Y)
    assert (list(model.classes_), list(model.schema_.classes)) == (["a", "b"], ["b", "a"])


@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_feature_names_are_the_columns_where_they_are_text(schema, tmp_path):
    named = hr.PFDPDTClassifier(schema=schema).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    named.save(tmp_path / "m.hedgerow")
    for model in (named, pickle.loads(pickle.dumps(named)), hr.load(tmp_path / "m.hedgerow")):
        assert model.feature_names_in_.dtype == object
        assert list(model.feature_names_in_) == ["a", "b"]
    for table in (X, pd.DataFrame(X)) if schema is None else (X,):
        unnamed = clone(named).fit(table, Y)
        assert not hasattr(unnamed, "feature_names_in_")
        assert len(unnamed.predict(table)) == 60


def test_without_a_schema_other_names_than_fits_are_noticed():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = hr.PFDPDTClassifier().fit(frame, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[["b", "a"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame.set_axis(["a", "c"], axis=1))
    assert len(model.predict(dict(frame.items()))) == 60
