"""What has no privacy: scikit-learn's AdaBoost, and the rule that answers the larger class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier

from hedgerow.schema import Categorical, Schema

__all__ = ["BASELINES", "Baseline"]

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
