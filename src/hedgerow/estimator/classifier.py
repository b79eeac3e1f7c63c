"""The base class of every classifier."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from hedgerow.errors import ConfigurationError
from hedgerow.estimator.base import PrivateEstimator
from hedgerow.estimator.class_order import ClassOrder
from hedgerow.estimator.inferred import inferred_schema
from hedgerow.estimator.plans import ClassModel
from hedgerow.schema import Schema

__all__ = ["PrivateClassifier"]


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """The base class of every classifier: its labels are the schema's classes.

    Parameters are those of ``PrivateEstimator``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The schema's classes, sorted as ``numpy.unique`` sorts labels, which scikit-learn's scorers and calibration assume. If
        the schema has numbers and text, numbers come first.
    """

    def _check_labels(self, schema: Schema) -> None:
        if not schema.classes:
            raise ConfigurationError(
                f"{type(self).__name__} predicts classes, but the schema declares an outcome, which is a number. Pass the schema "
                "to hr.HedgerowRegressor, or declare classes."
            )

    def _inferred(self, X: Any, y: Any) -> Schema:
        return inferred_schema(X, y)

    @property
    def model_(self) -> ClassModel:
        """What the fit released."""
        return cast(ClassModel, self._result.model)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The schema's classes, sorted."""
        return self._order.array()

    @property
    def _order(self) -> ClassOrder:
        return ClassOrder.of(self.schema_)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class of ``classes_``.

        Warns
        -----
        UnreadColumnWarning
            Once for each column that has no cell that can be read, or has nearly all its numbers outside the declared range.
        """
        return self._order.columns(self._looked_at(X, self.model_.probabilities))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each record. Ties go to the first class in ``classes_``.

        The warnings are those of ``predict_proba``.
        """
        order = self._order
        said = order.columns(self._looked_at(X, self.model_.probabilities))
        # For two classes, a comparison takes a tenth of the time.
        best = (said[:, 1] > said[:, 0]).astype(np.intp) if said.shape[1] == 2 else said.argmax(axis=1)
        labels: npt.NDArray[Any] = order.array()[best]
        return labels
