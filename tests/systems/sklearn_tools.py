"""Every tool of scikit-learn that fits or inspects an estimator, as a function that returns how good its result is."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import accuracy_score, get_scorer, make_scorer, r2_score, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, TargetEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

import hedgerow as hr

FEATURES = {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}
ROWS = 800
RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.uniform(size=(ROWS, 2)), columns=["a", "b"])
HIGH = np.asarray(X.a + RNG.normal(0, 0.1, ROWS) > 0.5)

# For each kind, the classes in the schema's order, and the label of a low and of a high value of "a".
LABELS = {
    "text, unsorted": (["well", "ill"], "well", "ill"),
    "1 and 2": ([1, 2], 1, 2),
    "0 and 1": ([0, 1], 0, 1),
    "truth values": ([False, True], False, True),
    "fractions": ([0.5, 1.5], 0.5, 1.5),
}


class Case:
    """Records with one kind of labels, and an estimator for them."""

    def __init__(self, kind, column=False):
        self.classes, self.low, self.high = LABELS[kind]
        self.y = np.where(HIGH, self.high, self.low)
        self.X = X.assign(label=self.y) if column else X

    @property
    def model(self):
        schema = hr.Schema(FEATURES, classes=self.classes, target="label")
        return hr.HedgerowClassifier(epsilon=15.0, n_estimators=4, schema=schema, random_state=0)

    def auc(self, tool, X=None):
        """Return how well the column of the class of high values ranks the records."""
        place = tool.classes_.tolist().index(self.high)
        return roc_auc_score(HIGH, tool.predict_proba(self.X if X is None else X)[:, place])

    def accuracy(self, predicted):
        return float(np.mean(np.asarray(predicted) == self.y))


def pipeline(case):
    tool = Pipeline([("same", FunctionTransformer()), ("model", case.model)]).fit(case.X, case.y)
    return min(case.auc(tool), case.accuracy(tool.predict(case.X)))


def column_transformer(case):
    columns = ColumnTransformer([("keep", "passthrough", ["b", "a"])], verbose_feature_names_out=False)
    tool = Pipeline([("columns", columns.set_output(transform="pandas")), ("model", case.model)]).fit(case.X, case.y)
    return case.auc(tool)


def target_encoder(case):
    jobs = pd.DataFrame({"job": np.where(HIGH, "nurse", "clerk")})
    schema = hr.Schema({"job": hr.Numeric(0, 1)}, classes=case.classes)
    tool = Pipeline(
        [("encode", TargetEncoder().set_output(transform="pandas")), ("model", case.model.set_params(schema=schema))]
    )
    return case.auc(tool.fit(jobs, case.y), jobs)


def grid_search(case, scoring):
    search = GridSearchCV(case.model, {"epsilon": [0.01, 15.0]}, cv=2, scoring=scoring, error_score="raise")
    search.fit(case.X, case.y)
    return case.auc(search) if search.best_params_["epsilon"] == 15 else 0.0


def scorer(case, name):
    return get_scorer(name)(case.model.fit(case.X, case.y), case.X, case.y)


def brier(case):
    return 1 - 2 * -get_scorer("neg_brier_score")(case.model.fit(case.X, case.y), case.X, case.y)


def predicted(case, method, tool=None, **options):
    found = cross_val_predict(tool or case.model, case.X, case.y, cv=2, method=method, **options)
    if method == "predict":
        return case.accuracy(found)
    high = sorted(case.classes).index(case.high)
    column = found if found.ndim == 1 else found[:, high]
    return roc_auc_score(bool(high) == HIGH if found.ndim == 1 else HIGH, column)


def voting(case, how, **options):
    tool = VotingClassifier([("one", case.model), ("two", case.model)], voting=how, **options).fit(case.X, case.y)
    return case.accuracy(tool.predict(case.X))


def stacking(case, **options):
    tool = StackingClassifier([("one", case.model), ("two", case.model)], cv=2, **options).fit(case.X, case.y)
    return min(case.auc(tool), case.accuracy(tool.predict(case.X)))


def stacking_last(case):
    tool = StackingClassifier([("one", DummyClassifier())], final_estimator=case.model, cv=2).fit(case.X, case.y)
    return case.auc(tool)


def stacked_search(case, n_jobs):
    search = GridSearchCV(case.model, {"epsilon": [0.01, 15.0]}, cv=2, n_jobs=n_jobs, error_score="raise")
    return case.auc(StackingClassifier([("one", search)], cv=2).fit(case.X, case.y))


def bagging(case):
    return case.auc(BaggingClassifier(case.model, n_estimators=2).fit(case.X, case.y))


def bagging_without_repeats(case):
    return case.auc(BaggingClassifier(case.model, n_estimators=2, bootstrap=False).fit(case.X, case.y))


def decoded(case, kind, **options):
    """Return the accuracy of a tool that codes the labels in columns of 0 and 1, of a schema for these or for the labels."""
    return case.accuracy(kind(case.model, **options).fit(case.X, case.y).predict(case.X))


def of_indicators(case, kind, **options):
    model = case.model.set_params(schema=hr.Schema(FEATURES, classes=[0, 1]))
    y = np.where(HIGH, case.high, case.low)
    return case.accuracy(kind(model, **options).fit(X, y).predict(X))


def multi_output(case):
    y = np.column_stack([case.y, case.y[::-1]])
    found = MultiOutputClassifier(case.model).fit(case.X, y).predict(case.X)
    return case.accuracy(found[:, 0])


def chain(case):
    y = np.column_stack([case.y, case.y])
    model = case.model
    return case.accuracy(ClassifierChain(model).fit(case.X, y).predict(case.X)[:, 0])


def calibrated(case, **options):
    tool = CalibratedClassifierCV(case.model, cv=2, **options).fit(case.X, case.y)
    return min(case.auc(tool), case.accuracy(tool.predict(case.X)))


def tuned_threshold(case):
    score = make_scorer(accuracy_score)
    return case.accuracy(
        TunedThresholdClassifierCV(case.model, cv=2, scoring=score).fit(case.X, case.y).predict(case.X)
    )


def fixed_threshold(case):
    tool = FixedThresholdClassifier(case.model, pos_label=case.high, threshold=0.5).fit(case.X, case.y)
    return case.accuracy(tool.predict(case.X))


def self_training(case):
    y = case.y.astype(object) if case.y.dtype.kind == "U" else case.y.copy()
    if y.dtype.kind in "iO":
        y[::5] = -1  # without a label
    return case.accuracy(SelfTrainingClassifier(case.model).fit(case.X, y).predict(case.X))


def importance(case):
    found = permutation_importance(
        case.model.fit(case.X, case.y), case.X, case.y, n_repeats=2, random_state=0, scoring="roc_auc"
    )
    return 1.0 if found.importances_mean[0] > 0.2 else 0.0


def dependence(case):
    model = case.model.fit(case.X, case.y)
    found = partial_dependence(model, case.X, ["a"], method="brute", grid_resolution=5)["average"]
    rises = found[-1][-1] > found[-1][0]  # of the last class
    return float(rises == (model.classes_[1] == case.high))


def curve_of_learning(case):
    _, _, scores = learning_curve(
        case.model, case.X, case.y, cv=2, train_sizes=[1.0], scoring="roc_auc", error_score="raise"
    )
    return scores.min()


def curve_of_validation(case):
    _, scores = validation_curve(
        case.model,
        case.X,
        case.y,
        param_name="epsilon",
        param_range=[15.0],
        cv=2,
        scoring="roc_auc",
        error_score="raise",
    )
    return scores.min()


def scores(case):
    return cross_val_score(case.model, case.X, case.y, cv=2, scoring="roc_auc", error_score="raise").min()


def selected(case, kind, **options):
    tool = kind(case.model, **options).fit(case.X, case.y)
    return 1.0 if tool.get_support().tolist()[:2] == [True, False] else 0.0


def boosted(case):
    return case.auc(AdaBoostClassifier(case.model, n_estimators=2).fit(case.X, case.y))


def initial(case):
    return case.auc(GradientBoostingClassifier(init=case.model, n_estimators=2).fit(case.X, case.y))


def routed_groups(case):
    people = np.arange(ROWS) // 2
    with sklearn.config_context(enable_metadata_routing=True):
        model = case.model.set_params(records_per_person=2).set_fit_request(groups=True)
        found = cross_validate(
            model,
            case.X,
            case.y,
            cv=GroupKFold(2),
            params={"groups": people},
            scoring="roc_auc",
            return_estimator=True,
            error_score="raise",
        )
    assert found["estimator"][0].certificate_.records_per_person == 2
    return found["test_score"].min()


def indicator_tools(run):
    yield "OneVsRestClassifier", partial(run, kind=OneVsRestClassifier)
    yield "OneVsOneClassifier", partial(run, kind=OneVsOneClassifier)
    yield "OutputCodeClassifier", partial(run, kind=OutputCodeClassifier, code_size=4, random_state=0)


TOOLS = {
    "Pipeline": pipeline,
    "ColumnTransformer, set_output": column_transformer,
    "TargetEncoder in a Pipeline": target_encoder,
    "scorer accuracy": partial(scorer, name="accuracy"),
    "scorer roc_auc": partial(scorer, name="roc_auc"),
    "scorer neg_brier_score": brier,
    "GridSearchCV": partial(grid_search, scoring=None),
    "GridSearchCV(scoring='roc_auc')": partial(grid_search, scoring="roc_auc"),
    "cross_val_score(scoring='roc_auc')": scores,
    "cross_val_predict": partial(predicted, method="predict"),
    "cross_val_predict(method='predict_proba')": partial(predicted, method="predict_proba"),
    "cross_val_predict(method='decision_function')": partial(predicted, method="decision_function"),
    "VotingClassifier(voting='hard')": partial(voting, how="hard"),
    "VotingClassifier(voting='soft')": partial(voting, how="soft"),
    "StackingClassifier": stacking,
    "StackingClassifier(stack_method='predict')": partial(stacking, stack_method="predict"),
    "StackingClassifier(final_estimator=...)": stacking_last,
    "GridSearchCV in StackingClassifier": partial(stacked_search, n_jobs=None),
    "BaggingClassifier": bagging,
    "BaggingClassifier(bootstrap=False)": bagging_without_repeats,
    **dict(indicator_tools(decoded)),
    **{f"{name}, schema of [0, 1]": tool for name, tool in indicator_tools(of_indicators)},
    "MultiOutputClassifier": multi_output,
    "ClassifierChain": chain,
    "CalibratedClassifierCV": calibrated,
    "CalibratedClassifierCV(ensemble=False)": partial(calibrated, ensemble=False),
    "CalibratedClassifierCV(method='temperature')": partial(calibrated, method="temperature"),
    "TunedThresholdClassifierCV": tuned_threshold,
    "FixedThresholdClassifier": fixed_threshold,
    "SelfTrainingClassifier": self_training,
    "AdaBoostClassifier": boosted,
    "GradientBoostingClassifier(init=...)": initial,
    "permutation_importance": importance,
    "partial_dependence": dependence,
    "learning_curve": curve_of_learning,
    "validation_curve": curve_of_validation,
    "RFE": partial(selected, kind=RFE, n_features_to_select=1),
    "RFECV": partial(selected, kind=RFECV, cv=2),
    "SequentialFeatureSelector": partial(selected, kind=SequentialFeatureSelector, n_features_to_select=1, cv=2),
    "SelectFromModel": partial(selected, kind=SelectFromModel),
    "groups by metadata routing": routed_groups,
}


MORE = pd.DataFrame(RNG.uniform(size=(6000, 2)), columns=["a", "b"])
OUTCOME = np.asarray(MORE.a * 10 + RNG.normal(0, 0.5, len(MORE)))


def regressor(low=-5.0, high=15.0):
    return hr.HedgerowRegressor(
        epsilon=15.0, n_estimators=4, schema=hr.Schema(FEATURES, outcome=hr.Numeric(low, high)), random_state=0
    )


def of_regressor(tool, y=OUTCOME):
    found = tool.fit(MORE, y).predict(MORE)
    return r2_score(y, found)


TWO_OUTCOMES = np.column_stack([OUTCOME, OUTCOME])
REGRESSORS = {
    "VotingRegressor": lambda: of_regressor(VotingRegressor([("one", regressor()), ("two", regressor())])),
    "StackingRegressor": lambda: of_regressor(StackingRegressor([("one", regressor()), ("two", regressor())], cv=2)),
    "BaggingRegressor": lambda: of_regressor(BaggingRegressor(regressor(), n_estimators=2)),
    "BaggingRegressor(bootstrap=False)": lambda: of_regressor(
        BaggingRegressor(regressor(), n_estimators=2, bootstrap=False)
    ),
    "AdaBoostRegressor": lambda: of_regressor(AdaBoostRegressor(regressor(), n_estimators=2)),
    "MultiOutputRegressor": lambda: of_regressor(MultiOutputRegressor(regressor()), TWO_OUTCOMES),
    "RegressorChain": lambda: of_regressor(RegressorChain(regressor()), TWO_OUTCOMES),
    "TransformedTargetRegressor": lambda: of_regressor(
        TransformedTargetRegressor(regressor(-0.5, 1.5), func=lambda y: y / 10, inverse_func=lambda y: y * 10)
    ),
    "cross_val_predict": lambda: r2_score(OUTCOME, cross_val_predict(regressor(), MORE, OUTCOME, cv=2)),
    "GridSearchCV": lambda: of_regressor(GridSearchCV(regressor(), {"epsilon": [15.0]}, cv=2)),
    "RFE": lambda: float(RFE(regressor(), n_features_to_select=1).fit(MORE, OUTCOME).get_support()[0]),
    "SelectFromModel": lambda: float(SelectFromModel(regressor()).fit(MORE, OUTCOME).get_support()[0]),
    "permutation_importance": lambda: float(
        permutation_importance(clone(regressor()).fit(MORE, OUTCOME), MORE, OUTCOME, n_repeats=2).importances_mean[0]
        > 0.2
    ),
    "partial_dependence": lambda: float(
        np.ptp(
            partial_dependence(regressor().fit(MORE, OUTCOME), MORE, ["a"], method="brute", grid_resolution=5)[
                "average"
            ]
        )
        > 5
    ),
}

# What each tool does with each kind of labels, in the order of LABELS. W: works. C: works if X has the target column, and is
# refused otherwise. R: refused by this library, with a remedy. S: refused by scikit-learn.
OUTCOMES = {
    "Pipeline": "WWWWW",
    "ColumnTransformer, set_output": "WWWWW",
    "TargetEncoder in a Pipeline": "WWWWW",
    "scorer accuracy": "WWWWS",
    "scorer roc_auc": "WWWWS",
    "scorer neg_brier_score": "SWWWS",
    "GridSearchCV": "WWWWS",
    "GridSearchCV(scoring='roc_auc')": "WWWWS",
    "cross_val_score(scoring='roc_auc')": "WWWWS",
    "cross_val_predict": "WWWWW",
    "cross_val_predict(method='predict_proba')": "CCCCC",
    "cross_val_predict(method='decision_function')": "CCCCC",
    "VotingClassifier(voting='hard')": "RRRRS",
    "VotingClassifier(voting='soft')": "RRRRS",
    "StackingClassifier": "CCCCS",
    "StackingClassifier(stack_method='predict')": "RCCCS",
    "StackingClassifier(final_estimator=...)": "RRRRS",
    "GridSearchCV in StackingClassifier": "RRRRS",
    "BaggingClassifier": "RRRRS",
    "BaggingClassifier(bootstrap=False)": "RRRRS",
    "OneVsRestClassifier": "RRWWS",
    "OneVsOneClassifier": "RRWWS",
    "OutputCodeClassifier": "RRRRS",
    "OneVsRestClassifier, schema of [0, 1]": "WWWWS",
    "OneVsOneClassifier, schema of [0, 1]": "WWWWS",
    "OutputCodeClassifier, schema of [0, 1]": "RRRRS",
    "MultiOutputClassifier": "WWWWS",
    "ClassifierChain": "RRRRR",
    "CalibratedClassifierCV": "WWWWS",
    "CalibratedClassifierCV(ensemble=False)": "CCCCS",
    # It takes labels for positions of an array, and with the label 2 reads beyond its end.
    "CalibratedClassifierCV(method='temperature')": "RUWWS",
    "TunedThresholdClassifierCV": "WWWWS",
    "FixedThresholdClassifier": "WWWWS",
    "SelfTrainingClassifier": "WWWWW",
    "AdaBoostClassifier": "SSSSS",
    "GradientBoostingClassifier(init=...)": "RRRRS",
    "permutation_importance": "WWWWS",
    "partial_dependence": "WWWWW",
    "learning_curve": "WWWWS",
    "validation_curve": "WWWWS",
    "RFE": "RRRRR",
    "RFECV": "RRRRR",
    "SequentialFeatureSelector": "RRRRR",
    "SelectFromModel": "WWWWW",
    "groups by metadata routing": "WWWWS",
}
OF_REGRESSORS = {
    "VotingRegressor": "W",
    "StackingRegressor": "W",
    "BaggingRegressor": "R",
    "BaggingRegressor(bootstrap=False)": "W",
    "AdaBoostRegressor": "R",
    "MultiOutputRegressor": "W",
    "RegressorChain": "R",
    "TransformedTargetRegressor": "W",
    "cross_val_predict": "W",
    "GridSearchCV": "W",
    "RFE": "R",
    "SelectFromModel": "W",
    "permutation_importance": "W",
    "partial_dependence": "W",
}

MEANINGS = {
    "W": "works",
    "C": "needs the column",
    "R": "refused",
    "S": "refused by scikit-learn",
    "U": "undefined in scikit-learn",
}


def table():
    """Return the table of the guide."""
    kinds = list(LABELS)
    lines = [f"| tool | {' | '.join(kinds)} |", "| -- |" + " -- |" * len(kinds)]
    for name, outcomes in OUTCOMES.items():
        lines.append(f"| {name} | {' | '.join(MEANINGS[one] for one in outcomes)} |")
    lines += ["", "| tool for regressors | outcomes |", "| -- | -- |"]
    return "\n".join([*lines, *(f"| {name} | {MEANINGS[one]} |" for name, one in OF_REGRESSORS.items())])


def counts():
    """Return how many cells of the table have each meaning."""
    cells = "".join([*OUTCOMES.values(), *OF_REGRESSORS.values()])
    return {meaning: cells.count(one) for one, meaning in MEANINGS.items()}


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n\n{counts()}\n")
