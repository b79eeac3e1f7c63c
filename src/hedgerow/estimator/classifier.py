"""The base class of every classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hedgerow.errors import ConfigurationError
from hedgerow.estimator.base import PrivateEstimator
from hedgerow.estimator.bases import ClassifierMixin
from hedgerow.estimator.class_order import ClassOrder
from hedgerow.schema import Schema
from hedgerow.schema.cells import numbers
from hedgerow.schema.columns import check_same_order, read_columns, read_labels


def inferred_schema(X: Any, y: Any) -> Schema:
    """Return a schema read off the records, after scikit-learn's checks, which may refuse values: there is no public rule."""
    y = _checked(X, y)
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn casts labels to integers before it reports a NaN
            check_classification_targets(np.asarray(read_labels(y).tolist()))
    except TypeError:
        raise ConfigurationError(
            "y holds labels that cannot be compared, such as text and None, so no classes can be inferred. "
            "Leave out records without a label, or pass a schema."
        ) from None
    return Schema.infer(X, y)


def inferred_outcome_schema(X: Any, y: Any) -> Schema:
    """Return a schema with an outcome read off the records, after scikit-learn's checks."""
    y = _checked(X, y)
    values = numbers(read_labels(y))
    if not np.isfinite(values).all():
        raise ConfigurationError(
            "Input y contains NaN, infinity or what is no number, so no range can be inferred. Leave out such records, or pass a "
            "schema."
        )
    return Schema.infer(X, y, outcome=True)


def _checked(X: Any, y: Any) -> Any:
    """Return the labels as one column, after scikit-learn's checks of the records."""
    read_columns(X, allow_empty=False)
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
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
    def classes_(self) -> npt.NDArray[Any]:
        """The schema's classes, sorted."""
        return self._order.array()

    @property
    def _order(self) -> ClassOrder:
        return ClassOrder.of(self.schema_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on raw records, which no guarantee covers; ``hr.evaluate`` releases figures privately."""
        check_same_order(X, y, "y")
        return super().score(X, y, sample_weight)

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
