"""One fit of an experiment: everything that decides it, and what is measured of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import roc_auc_score, roc_curve

from hedgerow.reproduce.allocations import AllocationForest, EqualRoundsCART, FromRoundOne, SharesCART, UnsampledCART
from hedgerow.reproduce.tasks import TASKS, Split, load_split
from hedgerow.schema import Categorical, Schema
from hedgerow.systems import system_class

BASELINES: Mapping[str, Any] = {"adaboost": AdaBoostClassifier, "majority": DummyClassifier}


class Baseline:
    """A classifier of scikit-learn on the columns of a split: numbers as they are, one column for each declared category.

    AdaBoost's stumps then cut a number or single out a category, as those of DPAda do.
    """

    def __init__(self, system: str, schema: Schema, **settings: Any) -> None:
        self._schema = schema
        self._reads = system != "majority"
        self._model = BASELINES[system](**settings)

    def fit(self, columns: Mapping[str, npt.NDArray[Any]], y: npt.NDArray[Any]) -> Self:
        """Fit on records, column by column."""
        self._model.fit(self._matrix(columns), y)
        return self

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, as the schema has them."""
        return np.asarray(self._schema.classes)

    def predict_proba(self, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class; zeros for a class that trained nothing."""
        known = self._model.predict_proba(self._matrix(columns))
        out = np.zeros((len(known), len(self._schema.classes)))
        out[:, np.flatnonzero(np.isin(self.classes_, self._model.classes_))] = known
        return out

    def _matrix(self, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.float32]:
        if not self._reads:
            return np.zeros((len(next(iter(columns.values()))), 1), dtype=np.float32)
        parts = [
            columns[name][:, None] == np.array(feature.values, dtype=object)
            if isinstance(feature, Categorical)
            else columns[name][:, None]
            for name, feature in self._schema.features.items()
        ]
        return np.concatenate(parts, axis=1, dtype=np.float32, casting="unsafe")


Setting = str | int | bool

READINGS: Mapping[str, type[Any]] = {
    "allocation": AllocationForest,
    "cart-equal-rounds": EqualRoundsCART,
    "cart-shares": SharesCART,
    "cart-unsampled": UnsampledCART,
    "dpada-from-round-1": FromRoundOne,
}

TINY = 1e-300
KEY = ("data", "records", "system", "variant", "epsilon", "settings", "run")
MEASURES = ("accuracy", "auc", "auc40", "precision", "recall", "f1", "training_accuracy", "seconds", "roc")
THRESHOLDS = np.linspace(-1, 1, 40)  # of the public code of CART-DPsAdaBoost, on half the log-odds
FALSE_RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)  # where ROC curves are kept


@dataclass(frozen=True)
class Fit:
    """One fit.

    Parameters
    ----------
    data : str
        A task of ``TASKS``.
    system : str
        A system of the registry; another reading of one, of ``READINGS``; ``"adaboost"``, scikit-learn's; or ``"majority"``.
    variant : str
        ``"published"``, ``"private"``, or ``"none"`` where there is no privacy.
    epsilon : float
        The budget.
    settings : tuple of (name, value)
        Further parameters of the system.
    records : int
        How many records train, 0 for all.
    run : int
        Which run it is; the split is the same for all runs.
    """

    data: str
    system: str
    variant: str
    epsilon: float = 1.0
    settings: tuple[tuple[str, Setting], ...] = ()
    records: int = 0
    run: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """What stands in the first columns of the fit's row."""
        settings = " ".join(f"{name}={value}" for name, value in sorted(self.settings))
        return (self.data, str(self.records), self.system, self.variant, f"{self.epsilon:g}", settings, str(self.run))

    @property
    def seed(self) -> int:
        """The seed of the noise: the number of the run, or where printed forms are independent a hash of what decides the fit."""
        if self.variant == "published" and self.data in TASKS and TASKS[self.data].apart:
            return int.from_bytes(hashlib.sha256(" ".join(self.key).encode()).digest()[:4], "big")
        return self.run

    @property
    def is_certain(self) -> bool:
        """Whether every run gives the same result."""
        return self.system in BASELINES

    def numbered(self, run: int) -> Fit:
        """Return the same fit with the noise of another run; what has no noise is run once."""
        return replace(self, run=0 if self.is_certain else run)


def estimator(fit: Fit, schema: Schema, random_state: int | None) -> Any:
    """Return the estimator of a fit."""
    if fit.system in BASELINES:
        return Baseline(fit.system, schema, **dict(fit.settings))
    kind: type[Any] = READINGS.get(fit.system) or system_class(fit.system)
    return kind(
        epsilon=fit.epsilon, schema=schema, random_state=random_state, variant=fit.variant, **dict(fit.settings)
    )


def measured(fit: Fit, wanted: Collection[str] = MEASURES) -> dict[str, str]:
    """Fit, and return the row of the results: the key, and the measures that are wanted; others are left empty.

    Precision, recall and F1 are those of the schema's first class, which is the larger one of every set: only so do the
    papers' own figures for them fit their accuracies.
    """
    split = load_split(fit.data).first(fit.records)
    start = time.perf_counter()
    model = estimator(fit, split.schema, fit.seed).fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - start
    probabilities = model.predict_proba(split.X_test)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    found: dict[str, float] = {**_rates(split, predicted), "seconds": seconds}
    actual, score = split.y_test == model.classes_[1], probabilities[:, 1]
    if "auc" in wanted:
        found["auc"] = float(roc_auc_score(actual, score))
    if "auc40" in wanted:
        found["auc40"] = area_by_thresholds(actual, np.log(np.maximum(score, TINY) / np.maximum(1 - score, TINY)) / 2)
    if "training_accuracy" in wanted:
        found["training_accuracy"] = _training_accuracy(model, split)
    texts = {name: f"{value:.4g}" for name, value in found.items()}
    if "roc" in wanted:
        false, true, _ = roc_curve(actual, score)
        texts["roc"] = " ".join(f"{rate:.3f}" for rate in np.interp(FALSE_RATES, false, true))
    kept = {name: texts[name] if name in wanted else "" for name in MEASURES}
    return {**dict(zip(KEY, fit.key, strict=True)), **kept}


def area_by_thresholds(actual: npt.NDArray[np.bool_], votes: npt.NDArray[np.float64]) -> float:
    """Return the area under the ROC curve by trapezoids between 40 thresholds from -1 to 1, and its two ends.

    ``votes`` (records,) are the weighted sums; a record is taken for one of the class above a threshold.
    """
    false, true = (
        np.array([1.0, *(np.mean(votes[actual == label] > at) for at in THRESHOLDS), 0.0]) for label in (False, True)
    )
    return float(np.sum((false[:-1] - false[1:]) * (true[:-1] + true[1:]) / 2))


def number_of(row: Mapping[str, str], measure: str, x: float) -> float | None:
    """Return a measure of a fit's row, of a ROC curve the share of true positives where that of false ones is x."""
    text = row[measure]
    if measure == "roc":
        return float(text.split()[FALSE_RATES.index(x)]) if text else None
    return float(text) if text else None


def _training_accuracy(model: Any, split: Split) -> float:
    predicted = model.classes_[model.predict_proba(split.X_train).argmax(axis=1)]
    return float(np.mean(predicted == split.y_train))


def _rates(split: Split, predicted: npt.NDArray[Any]) -> Mapping[str, float]:
    """Return the measures of the classes that are predicted for the test records."""
    actual, called = (labels == split.schema.classes[0] for labels in (split.y_test, predicted))
    right = float(np.sum(actual & called))
    precision, recall = right / max(1, int(called.sum())), right / max(1, int(actual.sum()))
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    accuracy = float(np.mean(actual == called))
    return {"accuracy": accuracy, "precision": precision, "recall": recall, "f1": f1}
