"""What every tool of scikit-learn does with every kind of labels: it works, or is refused by a sentence with the remedy."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_backend
from products import thinned
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingRegressor, StackingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn_tools import (
    FEATURES,
    LABELS,
    OF_REGRESSORS,
    OUTCOMES,
    REGRESSORS,
    TOOLS,
    Case,
    X,
    partial,
    stacked_search,
    stacking,
)
from sklearn_tools import counts as counted
from sklearn_tools import table as table_of_tools

import hedgerow as hr
from hedgerow.curator.given import Call
from hedgerow.errors import ConfigurationError

pytestmark = [
    pytest.mark.filterwarnings("ignore:the noisy number of records"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*number of unique classes"),  # of fractions
    pytest.mark.filterwarnings("ignore:y contains no unlabeled samples"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning"),
]

GOOD = 0.85  # of a direct fit: an AUC of .975, an accuracy of .907
REMEDIES = r"Use |Declare classes=\[0, 1\]|Pass X as a data frame|Fit the models one by one"
ROWS = [zip(LABELS, row, strict=True) for row in OUTCOMES.values()]
CELLS = [(name, *cell) for name, row in zip(OUTCOMES, ROWS, strict=True) for cell in row if cell[1] != "U"]


@pytest.mark.parametrize(("name", "kind", "outcome"), thinned(CELLS, 5))
def test_a_tool_works_or_is_refused_with_a_remedy(name, kind, outcome):
    tool = TOOLS[name]
    if outcome == "W":
        assert tool(Case(kind)) > GOOD
        return
    with pytest.raises(ValueError, match=r".") as error:
        tool(Case(kind))
    ours = "ConfigurationError" in str(error.value) or isinstance(error.value, ConfigurationError)
    assert ours == (outcome != "S")
    assert not ours or re.search(REMEDIES, str(error.value))
    if outcome == "C":
        assert tool(Case(kind, column=True)) > GOOD


@pytest.mark.parametrize(("name", "outcome"), list(OF_REGRESSORS.items()))
def test_a_tool_for_regressors_works_or_is_refused_with_a_remedy(name, outcome):
    if outcome == "W":
        assert REGRESSORS[name]() > GOOD
    else:
        with pytest.raises(ConfigurationError, match="Use "):
            REGRESSORS[name]()


def test_the_guide_has_the_table():
    page = Path(__file__).parents[2] / "docs" / "guide" / "scikit-learn.md"
    assert OUTCOMES.keys() == TOOLS.keys()
    assert OF_REGRESSORS.keys() == REGRESSORS.keys()
    assert table_of_tools() in page.read_text("utf-8"), "print it by python tests/systems/sklearn_tools.py"
    assert "wrong" not in counted()


def proba(case, **options):
    found = cross_val_predict(case.model, case.X, case.y, cv=2, method="predict_proba", **options)
    return roc_auc_score(case.y == case.high, found[:, sorted(case.classes).index(case.high)])


def search_by_proba(case, n_jobs):
    search = GridSearchCV(case.model, {"epsilon": [1.0, 15.0]}, cv=2, n_jobs=n_jobs, error_score="raise")
    return cross_val_predict(search, case.X, case.y, cv=2, method="predict_proba")


def by_pipeline(case, **options):
    tool = make_pipeline(FunctionTransformer(), case.model)
    found = cross_val_predict(tool, case.X, case.y, cv=2, method="predict_proba", **options)
    return roc_auc_score(case.y == case.high, found[:, sorted(case.classes).index(case.high)])


# In a worker, what called it is not on the stack.
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("tool", "with_column"),
    [
        (partial(proba, n_jobs=2), "works"),
        (partial(by_pipeline, n_jobs=2), "works"),
        (partial(stacking, n_jobs=2), "works"),
        (partial(stacking, n_jobs=2, stack_method="predict"), "works"),
        (partial(stacked_search, n_jobs=2), "compares"),
        (partial(search_by_proba, n_jobs=2), "compares"),
    ],
)
def test_tools_are_recognized_in_workers(tool, with_column, backend):
    with parallel_backend(backend, n_jobs=2):
        with pytest.raises(ConfigurationError, match="numbers the labels"):
            tool(Case("1 and 2"))
        if with_column == "works":
            assert tool(Case("1 and 2", column=True)) > GOOD
        else:
            with pytest.raises(ConfigurationError, match="compares predictions"):
                tool(Case("1 and 2", column=True))


def test_what_a_clone_knows_ends_with_its_fit():
    case = Case("1 and 2", column=True)
    tool = StackingClassifier([("one", case.model)], cv=2).fit(case.X, case.y)
    [fitted] = tool.estimators_
    assert fitted._cloned_by is None
    assert clone(fitted)._cloned_by is None
    marked = clone(case.model)
    marked._cloned_by = Call(numbers="StackingClassifier")
    assert marked.fit(X, case.y).score(X, case.y) > GOOD  # nobody calls but the user


def test_an_absent_class_moves_no_label():
    schema = hr.Schema(FEATURES, classes=[0, 1, 2], target="label")
    y = np.where(X.a > 0.5, 2, 1)  # scikit-learn would number them 1 and 0
    model = hr.ForestClassifier(epsilon=15.0, schema=schema, random_state=0)
    with pytest.raises(ConfigurationError, match="column 'label', the schema's target"):
        cross_val_predict(model, X, y, cv=2, method="predict_proba")
    tool = OneVsRestClassifier(model.set_params(schema=hr.Schema(FEATURES, classes=[0, 1]))).fit(X, y)
    assert tool.score(X, y) > GOOD


AB = {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}
BA = X[["b", "a"]]
HIGH = np.where(X.a > 0.5, "well", "ill").astype(object)


def of_classes():
    return hr.HedgerowClassifier(10, schema=hr.Schema(AB, classes=["ill", "well"]), random_state=0)


def bagged(frame, **options):
    model = hr.HedgerowRegressor(10, delta=1e-6, schema=hr.Schema(AB, outcome=hr.Numeric(0, 1)), random_state=0)
    return BaggingRegressor(model, n_estimators=2, bootstrap=False, **options).fit(frame, X.a).score(frame, X.a)


ARRAYS = {
    "SelfTrainingClassifier": lambda frame: SelfTrainingClassifier(of_classes()).fit(frame, HIGH).score(frame, HIGH),
    "BaggingRegressor": bagged,
    "BaggingRegressor in workers": lambda frame: bagged(frame, n_jobs=2),
    "MinMaxScaler": lambda frame: make_pipeline(MinMaxScaler(), of_classes()).fit(frame, HIGH).score(frame, HIGH),
    "ColumnTransformer": lambda frame: (
        make_pipeline(
            make_column_transformer(("passthrough", frame.columns[:1].tolist()), remainder="passthrough"), of_classes()
        )
        .fit(frame, HIGH)
        .score(frame, HIGH)
    ),
}


@pytest.mark.parametrize(
    "tool", [pytest.param(name, marks=pytest.mark.full) if "workers" in name else name for name in ARRAYS]
)
def test_columns_without_names_are_refused_in_another_order(tool):
    assert ARRAYS[tool](X[["a", "b"]]) > GOOD
    with pytest.raises(ConfigurationError, match=r"Give it X\[list\(schema.names\)\]"):
        ARRAYS[tool](BA)


@pytest.mark.parametrize("steps", [[], ["passthrough"], [FunctionTransformer()]])
def test_frames_are_matched_by_name_behind_any_step(steps):
    assert make_pipeline(*steps, of_classes()).fit(BA, HIGH).score(BA, HIGH) > GOOD


def test_an_array_in_a_tool_is_matched_by_position():
    assert make_pipeline(MinMaxScaler(), of_classes()).fit(X.to_numpy(), HIGH).score(X.to_numpy(), HIGH) > GOOD


@pytest.mark.parametrize("options", [{"bootstrap_features": True}, {"max_features": 1}, {"max_features": 0.5}])
def test_a_bag_of_other_columns_is_refused(options):
    assert bagged(X, max_features=2) > GOOD
    with pytest.raises(ConfigurationError, match="Leave out max_features"):
        bagged(X, **options)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_scores_refuse_labels_in_another_order(kind):
    model, y = of_classes(), pd.Series(HIGH)
    if kind == "regressor":
        model, y = (
            hr.HedgerowRegressor(10, delta=1e-6, schema=hr.Schema(AB, outcome=hr.Numeric(0, 1)), random_state=0),
            X.a,
        )
    assert model.fit(X, y).score(X, y) > GOOD
    with pytest.raises(ConfigurationError, match="in another order"):
        model.score(X, y[::-1])


def test_a_refusal_charges_nothing():
    ledger = hr.Ledger(epsilon=100)
    case = Case("text, unsorted")
    for tool in ("cross_val_predict(method='predict_proba')", "BaggingClassifier", "OneVsRestClassifier", "RFE"):
        kind = type("Charged", (Case,), {"model": property(lambda self: case.model.set_params(ledger=ledger))})
        with pytest.raises(ConfigurationError):
            TOOLS[tool](kind("text, unsorted"))
    assert ledger.spent == 0


def test_an_inferred_schema_is_of_the_labels_that_a_tool_passes():
    with pytest.warns(hr.errors.PrivacyLeakWarning):
        found = cross_val_predict(
            hr.ForestClassifier(epsilon=15.0), X, np.where(X.a > 0.5, 2, 1), cv=2, method="predict_proba"
        )
    assert roc_auc_score(X.a > 0.5, found[:, 1]) > GOOD


FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "mapping": lambda frame: frame.to_dict("list")}


@pytest.mark.parametrize("made", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("kind", ["classes", "outcome"])
def test_the_target_column_is_no_feature(made, kind):
    y = np.where(X.a > 0.5, "b", "a") if kind == "classes" else np.asarray(X.a * 10)
    labels = {"classes": ["a", "b"]} if kind == "classes" else {"outcome": hr.Numeric(0, 10)}
    schema = hr.Schema(FEATURES, target="label", **labels)
    system = hr.ForestClassifier if kind == "classes" else hr.HedgerowRegressor
    model = system(epsilon=15.0, n_estimators=2, schema=schema, random_state=0)
    plain, frame = clone(model).fit(X, y), made(X.assign(label=y))
    for fitted in (clone(model).fit(frame), clone(model).fit(frame, y)):
        assert np.array_equal(fitted.predict(frame), plain.predict(X))
        assert fitted.n_features_in_ == 2
    assert (
        hr.evaluate(plain, frame, epsilon=5.0, random_state=0).to_dict()
        == hr.evaluate(plain, X, y, epsilon=5.0, random_state=0).to_dict()
    )
    assert schema.check(frame).labels == schema.check(X, y).labels
    other = np.roll(y, 1)  # y is read where it is passed
    assert not np.array_equal(clone(model).fit(frame, other).predict(X), plain.predict(X))


READERS = {
    "fit": lambda model, X, y, groups: model.fit(X, y, groups),
    "evaluate": lambda model, X, y, groups: hr.evaluate(model.fit(INDEXED, Y), X, y, epsilon=1.0, groups=groups),
    "search": lambda model, X, y, groups: hr.PrivateSearchCV(model, {"max_depth": [1, 2]}, random_state=0).fit(
        X, y, groups
    ),
    "hold_out": lambda model, X, y, groups: hr.hold_out(X, y, groups=groups),
    "curator": lambda model, X, y, groups: hr.Curator(X, y, model.schema, epsilon=1.0, groups=groups),
    "check": lambda model, X, y, groups: model.schema.check(X, y),
    "private_schema": lambda model, X, y, groups: hr.private_schema(X, y, epsilon=1.0, delta=1e-6, numeric=["a", "b"]),
}
INDEXED = X[:200].set_axis(np.arange(200) + 7)
Y = pd.Series(np.where(INDEXED.a > 0.5, 1, 0), index=INDEXED.index)
PEOPLE = pd.Series([f"p{n}" for n in range(200)], index=INDEXED.index)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("what", ["y", "groups"])
def test_an_index_in_another_order_is_refused(name, what):
    if what == "groups" and name in ("check", "private_schema"):
        pytest.skip("takes no groups")
    model = hr.ForestClassifier(epsilon=5.0, schema=hr.Schema(FEATURES, classes=[0, 1]), random_state=0)
    moved = {"y": Y, "groups": None} | {what: (Y if what == "y" else PEOPLE).iloc[::-1]}
    with pytest.raises(ConfigurationError, match=f"{what} has the index of X in another order.*{what}.loc"):
        READERS[name](model, INDEXED, moved["y"], moved["groups"])


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (range(4), range(4)),
        (range(4), [9, 8, 7, 6]),  # a new index
        (range(4), [0, 1, 2, 9]),
        ([0, 0, 1, 1], [0, 0, 1, 1]),
        (["a", 1, None, 2.5], ["a", 1, None, 2.5]),
        (range(4), [0.0, 1.0, 2.0, 3.0]),
    ],
)
def test_other_indexes_are_read_by_position(rows, labels):
    model = hr.ForestClassifier(epsilon=5.0, schema=hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1]))
    model.fit(
        pd.DataFrame({"a": [0.1, 0.2, 0.8, 0.9]}, index=pd.Index(rows)), pd.Series([0, 0, 1, 1], index=pd.Index(labels))
    )


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ([0, 1, 0, 1], [0, 0, 1, 1]),
        (["a", 1, None, 2.5], [1, "a", None, 2.5]),
        (pd.MultiIndex.from_product([[0, 1], ["a", "b"]]), pd.MultiIndex.from_product([[1, 0], ["a", "b"]])),
        (range(4), [0.0, 2.0, 1.0, 3.0]),
    ],
)
def test_the_same_index_in_another_order_is_refused_whatever_its_type(rows, labels):
    model = hr.ForestClassifier(epsilon=5.0, schema=hr.Schema({"a": hr.Numeric(0, 1)}, classes=[0, 1]))
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.8, 0.9]}, index=pd.Index(rows))
    with pytest.raises(ConfigurationError, match="another order"):
        model.fit(frame, pd.Series([0, 0, 1, 1], index=pd.Index(labels)))
    model.fit(frame, [0, 0, 1, 1])
