"""The parent of every regressor."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from hedgerow.errors import ConfigurationError
from hedgerow.estimator.base import PrivateEstimator
from hedgerow.estimator.inferred import inferred_outcome_schema
from hedgerow.estimator.plans import OutcomeModel
from hedgerow.schema import Schema

__all__ = ["PrivateRegressor"]


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """The parent of every regressor here: its labels are the schema's outcome, a number with a public range.

    Parameters are those of ``PrivateEstimator``.
    """

    def _check_labels(self, schema: Schema) -> None:
        if schema.outcome is None:
            raise ConfigurationError(
                f"{type(self).__name__} predicts a number, but the schema declares classes. Pass the schema to a classifier, or "
                "declare the number's public range, as in hr.Schema(features, outcome=hr.Numeric(0, 20_000))."
            )

    def _inferred(self, X: Any, y: Any) -> Schema:
        return inferred_outcome_schema(X, y)

    @property
    def model_(self) -> OutcomeModel:
        """What the fit released."""
        return cast(OutcomeModel, self._result.model)

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predicted outcome of each record, of shape (records,), within the schema's range."""
        return self.model_.predictions(self._features_of(X))
