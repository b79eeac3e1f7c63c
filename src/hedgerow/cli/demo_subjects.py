"""The subjects of ``hedgerow demo``: a public data set, the rules that are compared on it, and the figures that compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hedgerow.datasets import Dataset, load_affairs, load_doctor_visits
from hedgerow.schema import Schema
from hedgerow.systems.edprf import EDPRFClassifier
from hedgerow.systems.hedgerow import HedgerowClassifier
from hedgerow.systems.regressor import HedgerowRegressor

__all__ = ["AFFAIRS", "VISITS", "Subject"]


@dataclass(frozen=True)
class Subject:
    """A public data set and its measurements. The first rule is the library's, and the one named ``baseline`` ignores features.

    ``figures`` take a fitted rule, features and labels. Each rule in ``private`` is fitted with the demo's epsilon.
    """

    title: str
    question: str
    load: Callable[[], Dataset]
    rules: Callable[[float, Schema], Mapping[str, BaseEstimator]]
    private: tuple[str, ...]
    baseline: str
    figures: Mapping[str, Callable[[Any, Any, Any], float]]
    notes: tuple[str, ...]


def _named(schema: Schema) -> Any:
    """Return the positions of the features that are not numeric."""
    return np.flatnonzero(~np.array(schema.is_numeric))


def _scaled(schema: Schema) -> Any:
    """Return the preprocessing of features for a linear model."""
    return make_column_transformer((OneHotEncoder(), _named(schema)), remainder=StandardScaler())


def _classifiers(epsilon: float, schema: Schema) -> dict[str, BaseEstimator]:
    return {
        "HedgerowClassifier": HedgerowClassifier(epsilon, schema=schema),
        "eDPRF": EDPRFClassifier(epsilon, schema=schema),
        "majority rule": DummyClassifier(),
        "logistic regression": make_pipeline(_scaled(schema), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(categorical_features=_named(schema), random_state=0),
    }


def _regressors(epsilon: float, schema: Schema) -> dict[str, BaseEstimator]:
    return {
        "HedgerowRegressor": HedgerowRegressor(epsilon, loss="poisson", schema=schema),
        "mean": DummyRegressor(),
        "ridge regression": make_pipeline(_scaled(schema), Ridge()),
        "gradient boosting": HistGradientBoostingRegressor(
            loss="poisson", categorical_features=_named(schema), random_state=0
        ),
    }


AFFAIRS = Subject(
    title="Fair's survey of extramarital affairs",
    question="who had one?",
    load=load_affairs,
    rules=_classifiers,
    private=("HedgerowClassifier", "eDPRF"),
    baseline="majority rule",
    figures={
        "test accuracy": lambda rule, X, y: float(accuracy_score(y, rule.predict(X))),
        "ROC AUC": lambda rule, X, y: float(roc_auc_score(y, rule.predict_proba(X)[:, 1])),
    },
    notes=(
        "HedgerowClassifier  the library's own ensemble: a sum of curves of one feature each.",
        "eDPRF               a forest by permute-and-flip (Wang et al., 2025). Both private rules are",
        "                    fitted once per split, each with the whole epsilon; new noise at each run.",
        "majority rule       always answers what most training answers are; it ranks nobody: AUC 0.5.",
        "logistic regression and gradient boosting (HistGradientBoostingClassifier) are scikit-learn's,",
        "                    at their defaults and with no privacy at all: what privacy is to be judged by.",
    ),
)

VISITS = Subject(
    title="Doctor visits in the RAND Health Insurance Experiment",
    question="how many a year?",
    load=load_doctor_visits,
    rules=_regressors,
    private=("HedgerowRegressor",),
    baseline="mean",
    figures={
        "test R2": lambda rule, X, y: float(r2_score(y, rule.predict(X))),
        "mean absolute error": lambda rule, X, y: float(mean_absolute_error(y, rule.predict(X))),
    },
    notes=(
        'HedgerowRegressor   the library\'s own ensemble for numbers, with loss="poisson" for counts: curves',
        "                    of the log of the count, which add up. It is fitted once per split, each time",
        "                    with the whole epsilon; new noise at each run.",
        "mean                always answers the training records' mean: R2 0, but for chance.",
        "ridge regression and gradient boosting (HistGradientBoostingRegressor with the Poisson loss) are",
        "                    scikit-learn's, otherwise at their defaults, with no privacy at all: what",
        "                    privacy is to be judged by. Years of one person may be in both parts of a",
        "                    split, which flatters every rule that can tell persons apart.",
        "How often somebody sees a doctor is hard to tell by these seven features, privately or not.",
    ),
)
