"""The base classes of every classifier and of every regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator.base import PrivateEstimator
from hedgerow.estimator.planning import ClassifierMixin, RegressorMixin
from hedgerow.estimator.plans import ClassOrder, model_digest
from hedgerow.reading.cells import numbers
from hedgerow.reading.columns import check_same_order, read_columns, read_labels
from hedgerow.schema import Schema


def _column(X: Any, y: Any) -> Any:
    read_columns(X, allow_empty=False)
    return column_or_1d(y, warn=True) if getattr(y, "ndim", 1) == 2 else y


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """The base class of every classifier: its labels are the schema's classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The schema's classes, sorted as ``numpy.unique`` sorts labels, which scikit-learn's scorers and calibration assume. If
        the schema has numbers and text, numbers come first.
    """

    def _inferred(self, X: Any, y: Any) -> Schema:
        # After scikit-learn's checks, which may refuse values: there is no public rule.
        y = _column(X, y)
        try:
            with np.errstate(invalid="ignore"):  # scikit-learn casts labels to integers before it reports a NaN
                check_classification_targets(np.asarray(read_labels(y).tolist()))
        except TypeError:
            raise ConfigurationError(
                "y holds labels that cannot be compared, such as text and None, so no classes can be inferred. "
                "Leave out records without a label, or pass a schema."
            ) from None
        return Schema.infer(X, y)

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
        shares = order.columns(self._looked_at(X, self.model_.probabilities))
        # For two classes, a comparison takes a tenth of the time.
        best = (shares[:, 1] > shares[:, 0]).astype(np.intp) if shares.shape[1] == 2 else shares.argmax(axis=1)
        labels: npt.NDArray[Any] = order.array()[best]
        return labels


class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """The base class of every regressor: its labels are the schema's outcome, a number with a public range."""

    def _inferred(self, X: Any, y: Any) -> Schema:
        y = _column(X, y)
        if not np.isfinite(numbers(read_labels(y))).all():
            raise ConfigurationError(
                "Input y contains NaN, infinity or what is no number, so no range can be inferred. Leave out such records, or "
                "pass a schema."
            )
        return Schema.infer(X, y, outcome=True)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predicted outcome of each record, of shape (records,), within the schema's range.

        Warns
        -----
        UnreadColumnWarning
            Once for each column that has no cell that can be read, or has nearly all its numbers outside the declared range.
        """
        return self._looked_at(X, self.model_.predictions)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the R2 on raw records, which no guarantee covers; ``hr.evaluate`` releases figures privately."""
        check_same_order(X, y, "y")
        return super().score(X, y, sample_weight)

    def predict_interval(
        self, X: Any, level: float = 0.9, *, card: Any, by_prediction: bool = False
    ) -> npt.NDArray[np.float64]:
        """Return an interval for the outcome of each new record, computed from a released report card at no cost.

        The interval is the prediction plus and minus a half-width, which follows from the noisy counts of absolute residuals (a
        private split conformal interval). If a record is drawn from the same distribution as the card's records, its outcome is
        in the interval with a probability of at least ``level``. The probability is over the card's records, its noise and the
        new record together. The outcome is meant as the schema reads it, clipped to its range, and so is the interval. Where the
        card's counts guarantee nothing, it is the whole range.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            The records.
        level : float, default 0.9
            The probability, above 0 and below 1.
        card : RegressionCard
            The result of ``hr.evaluate`` for this model, on records that were not used in its fit.
        by_prediction : bool, default False
            Whether each bin of predictions has a half-width of its own, which needs many more records. The statement then holds
            within each bin. Choose it before you see the card.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper ends.

        Raises
        ------
        ConfigurationError
            If the card is of another model, or of persons with several records, or the level is not a probability.

        Examples
        --------
        >>> import numpy as np, hedgerow as hr
        >>> X = np.random.default_rng(0).uniform(0, 1, (8000, 2))
        >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 10))
        >>> model = hr.HedgerowRegressor(epsilon=1.0, schema=schema).fit(X[:4000], 8 * X[:4000, 0])
        >>> card = hr.evaluate(model, X[4000:], 8 * X[4000:, 0], epsilon=1.0)
        >>> model.predict_interval(X[:3], 0.9, card=card).shape
        (3, 2)
        """
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise ConfigurationError(f"level is {shown(level)}, but it is a probability; pass a number such as 0.9.")
        if getattr(card, "model_digest", None) != model_digest(self.model_):
            raise ConfigurationError("the card is not this model's; pass what hr.evaluate made of this very model.")
        center, outcome = self.predict(X), self.schema_.outcome_grid
        reach = card.reach(center, float(level), by_prediction=by_prediction)
        ends = np.column_stack([center - reach, center + reach])
        return np.asarray(np.clip(ends, outcome.low, outcome.high))
