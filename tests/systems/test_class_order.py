"""What scikit-learn reads of a classifier follows the sorted classes, whatever the schema's order."""

import json
import sqlite3
import zipfile
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from products import thinned
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV

import hedgerow as hr
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder
from hedgerow.plots.features import feature_panels
from hedgerow.systems import system_class

pytestmark = [
    pytest.mark.filterwarnings("ignore:the noisy number of records"),
    pytest.mark.filterwarnings("ignore:epsilon"),
]

FORMS = [(info.name, variant) for info in hr.list_systems() for variant in info.variants]
FEATURES = {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}
X = {"a": np.random.default_rng(0).uniform(size=1500), "b": np.random.default_rng(1).uniform(size=1500)}
TWO = np.where(X["a"] > 0.5, "ill", "well")
THREE = np.array(["c", "a", "b"])[(X["a"] * 2.999).astype(int)]


def fitted(name, variant, classes, y, **parameters):
    kind = system_class(name)
    schema = hr.Schema(FEATURES, classes=classes)
    given = {} if variant == "private" else {"variant": variant}
    return kind(epsilon=15.0, schema=schema, random_state=0, **given, **parameters).fit(X, y)


def models():
    for name, variant in FORMS:
        yield pytest.param(name, variant, ["well", "ill"], TWO, id=f"{name}-{variant}-2")
        if ("adaboost" not in name and name != "dpada") or variant == "private":
            yield pytest.param(name, variant, ["b", "c", "a"], THREE, id=f"{name}-{variant}-3")


@pytest.mark.parametrize(("name", "variant", "classes", "y"), thinned(models(), 3))
def test_columns_margins_explanations_and_exports_follow_the_sorted_classes(name, variant, classes, y, tmp_path):
    model = fitted(name, variant, classes, y)
    p, labels = model.predict_proba(X), sorted(classes)
    assert model.classes_.tolist() == labels
    assert model.schema_.classes == tuple(classes)
    assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert np.array_equal(p, model.model_.probabilities(X)[:, [classes.index(label) for label in labels]])
    for k, label in enumerate(labels):
        assert roc_auc_score(y == label, p[:, k]) > 0.5
    if hasattr(model, "decision_function"):
        margins = model.decision_function(X)
        assert (roc_auc_score(y == labels[1], margins if len(labels) == 2 else margins[:, 1])) > 0.5
    try:
        found = model.explain(X)
    except ConfigurationError:  # a model that has no trees of this library
        pass
    else:
        total = model.decision_function(X) if found.scale == "log-odds" else p[:, 1] if len(labels) == 2 else p
        assert np.allclose(found.total, total)
        assert found.classes == tuple(labels)
    if variant == "private":
        answers = json.loads(model.to_json())["answers"]
        assert answers["classes"] == labels
        with sqlite3.connect(":memory:") as base:
            base.execute("CREATE TABLE t (a REAL, b REAL)")
            base.executemany(
                "INSERT INTO t VALUES (?, ?)", zip(X["a"][:50].tolist(), X["b"][:50].tolist(), strict=True)
            )
            read = base.execute(model.to_sql("t", "sqlite"))
            assert [column[0] for column in read.description] == [
                "label",
                *(f"probability_{label}" for label in labels),
            ]
            rows = read.fetchall()
        base.close()
        assert [row[0] for row in rows] == model.predict(X)[:50].tolist()
        assert np.allclose([row[1:] for row in rows], p[:50])
        model.save(tmp_path / "m.hedgerow")
        assert np.array_equal(hr.load(tmp_path / "m.hedgerow").predict_proba(X), p)


def test_scorers_and_searches_read_the_right_column():
    frame = pd.DataFrame(X)
    schema = hr.Schema(FEATURES, classes=["well", "ill"])
    model = hr.HedgerowClassifier(epsilon=5.0, schema=schema, random_state=0)
    assert get_scorer("roc_auc")(model.fit(frame, TWO), frame, TWO) > 0.9
    search = GridSearchCV(model, {"epsilon": [0.01, 10]}, cv=2, scoring="roc_auc").fit(frame, TWO)
    assert search.best_params_ == {"epsilon": 10}


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        (["b", "a", "B"], "U"),
        ([10, 9, -1], "i"),
        ([True, False], "b"),
        ([1.5, 0.5], "f"),
        ([1.5, 1, 0], "f"),
        (["10", 9, "a", 0.5], "O"),
        (["yes", True], "O"),
    ],
)
def test_every_order_of_a_schema_gives_the_order_of_numpy(classes, kind):
    for given in permutations(classes):
        found = ClassOrder.of(hr.Schema(FEATURES, classes=given)).array()
        assert found.dtype.kind == kind
        if kind == "O":  # numbers first, which numpy cannot sort together with text
            assert found.tolist() == sorted(c for c in classes if not isinstance(c, str)) + sorted(
                c for c in classes if isinstance(c, str)
            )
        else:
            assert np.array_equal(found, np.unique(np.array(classes)))


def test_curves_constraints_and_cards_follow_the_second_sorted_class():
    model = fitted(
        "hedgerow", "private", ["well", "ill"], TWO, monotonic_cst={"a": -1}
    )  # of "well", the last of the sorted
    assert model.score(X, TWO) > 0.9
    _, curve = model.feature_curve("a")
    assert curve[0] > 0 > curve[-2]
    [panel] = feature_panels(model, "a")
    assert panel.effect.values[0, 0] > 0
    assert hr.FeatureDisplay.from_estimator(model, "a").classes == ("ill", "well")
    card = hr.evaluate(model, X, TWO, epsilon=10.0, random_state=0)
    assert tuple(card.classes) == ("ill", "well")
    assert card.roc_auc > 0.9
    assert card.accuracy > 0.9
    columns, y, weight = fitted("diffgen", "private", ["well", "ill"], TWO).released_cells()
    assert weight[(columns["a"] > 0.5) & (y == "ill")].sum() > len(X["a"]) / 3


def as_written_by_0_3(model, path):
    """Save a model as version 0.3 did: without the key of the order, and with the sign of the schema's second class."""
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    document.pop("class_order", None)
    if document["parameters"].get("monotonic_cst"):
        document["parameters"]["monotonic_cst"] = {"a": 1}
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("signs", [None, {"a": -1}])
def test_a_file_of_version_0_3_says_that_its_columns_moved(signs, tmp_path):
    model = fitted("hedgerow", "private", ["well", "ill"], TWO, monotonic_cst=signs)
    as_written_by_0_3(model, tmp_path / "old.hedgerow")
    with pytest.warns(UserWarning, match=r"order of the schema \(well, ill\); now they are sorted \(ill, well\)"):
        loaded = hr.load(tmp_path / "old.hedgerow")
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.monotonic_cst == signs
    loaded.save(tmp_path / "new.hedgerow")
    hr.load(tmp_path / "new.hedgerow")  # warnings are errors


def test_a_file_of_sorted_classes_is_what_version_0_3_wrote(tmp_path):
    model = fitted("forest", "private", ["ill", "well"], TWO)
    assert "class_order" not in json.loads(model.to_json())
    as_written_by_0_3(model, tmp_path / "old.hedgerow")
    hr.load(tmp_path / "old.hedgerow")  # warnings are errors
