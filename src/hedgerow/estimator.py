"""The estimator that all learners share: plan, certify, book, and only then read records."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow.archive import write_archive
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import Constraint, check_parameters
from hedgerow.privacy.accounting import check_adjacency, plan_budget
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import Event, Sequence, Unprotected
from hedgerow.privacy.exact import exact
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_columns

__all__ = ["FORMAT", "Model", "Plan", "PrivateClassifier"]

FORMAT = 1  # version of the model files


class Model(Protocol):
    """What a fit leaves behind: released values that answer for new records."""

    def probabilities(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class."""

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the plan's ``restore`` needs."""


class Plan(Protocol):
    """What a fit will do, fixed by the configuration and the schema before any record is read."""

    @property
    def event(self) -> Event:
        """Everything that will read records."""

    def run(self, X: Any, y: Any, randomness: Randomness) -> Model:
        """Read the records and return what is released."""

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Model:
        """Return the model that ``to_arrays`` wrote."""


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The parent of every classifier here.

    A subclass declares its parameters' constraints and turns a schema and a budget into a plan. ``fit`` certifies and
    books the plan before it reads a record, and keeps released values only.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The schema's classes, in its order.
    schema_ : Schema
        The schema that was used.
    certificate_ : Certificate
        What was spent on what, and whether the guarantee holds.
    n_features_in_ : int
        How many features the schema has.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    epsilon: float
    schema: Schema | None
    adjacency: str
    random_state: Any
    ledger: Ledger | None
    variant: str = "private"

    @abstractmethod
    def _plan(self, schema: Schema, epsilon: Fraction) -> Plan:
        """Return the plan of a fit whose budget under add/remove adjacency is ``epsilon``."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model on records ``X`` with labels ``y``.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow) or array of shape (n_samples, n_features)
            The records; a frame's columns are found by name, an array's stand in the schema's order.
        y : sequence of length n_samples
            The labels. A record whose label is missing or not in the schema is left out, by public rule.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If a parameter, or the schema's fit to the columns, is wrong; nothing was booked or drawn.
        BudgetExceeded
            If the ledger refuses the plan; nothing was drawn.
        """
        check_parameters(self.get_params(deep=False), self._constraints)
        epsilon, adjacency = exact(self.epsilon), check_adjacency(self.adjacency)
        randomness = Randomness(self.random_state)
        if self.ledger is not None and not isinstance(self.ledger, Ledger):
            raise ConfigurationError(
                f"ledger is {type(self.ledger).__name__}, but budgets are kept by an hr.Ledger; pass hr.Ledger(epsilon=...)."
            )
        schema = self._resolve_schema(X, y)
        if read_columns(X, schema.names, allow_empty=False).n_rows != len(y):
            raise ConfigurationError("X and y have different lengths, so labels cannot be matched to records.")
        plan = self._plan(schema, plan_budget(epsilon, adjacency))
        certificate = Certificate(
            system=type(self).__name__,
            variant=self.variant,
            epsilon=epsilon,
            delta=Fraction(0),
            adjacency=adjacency,
            event=_with_inferred(plan.event, schema),
            seeded=randomness.seeded,
        )
        if self.ledger is not None:
            self.ledger.reserve(certificate)
        self._set_fitted(schema, certificate, plan.run(X, y, randomness))
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class of ``classes_``."""
        check_is_fitted(self, "model_")
        probabilities: npt.NDArray[np.float64] = self.model_.probabilities(X)
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each record; among equals, the first in the schema's order."""
        labels: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all; ``hedgerow.load`` reads it. It holds no ledger."""
        check_is_fitted(self, "model_")
        document = {
            "format": FORMAT,
            "class": type(self).__name__,
            "parameters": {
                name: value
                for name, value in self.get_params(deep=False).items()
                if name not in ("schema", "ledger") and isinstance(value, int | float | str | None)
            },
            "schema": self.schema_.to_dict(),
            "certificate": self.certificate_.to_dict(),
        }
        write_archive(path, document, self.model_.to_arrays())

    @classmethod
    def _from_file(cls, document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the model that ``save`` wrote."""
        try:
            schema = Schema.from_dict(document["schema"])
            certificate = Certificate.from_dict(document["certificate"])
            estimator = cls(**document["parameters"], schema=schema)
            check_parameters(estimator.get_params(deep=False), cls._constraints)
            plan = estimator._plan(schema, plan_budget(certificate.epsilon, certificate.adjacency))
            estimator._set_fitted(schema, certificate, plan.restore(arrays))
        except (KeyError, TypeError, ConfigurationError) as error:
            raise FileFormatError("the model file is damaged; save the model again.") from error
        return estimator

    def _set_fitted(self, schema: Schema, certificate: Certificate, model: Model) -> None:
        self.schema_ = schema
        self.classes_ = _class_array(schema)
        self.n_features_in_ = len(schema.names)
        self.certificate_ = certificate
        self.model_ = model

    def _resolve_schema(self, X: Any, y: Any) -> Schema:
        if self.schema is None:
            return Schema.infer(X, y)
        if not isinstance(self.schema, Schema):
            raise ConfigurationError(
                f"schema is {type(self.schema).__name__}, but what is public about the data must be an hr.Schema; "
                "build one or load one with hr.Schema.load(path)."
            )
        return self.schema


def _with_inferred(event: Event, schema: Schema) -> Event:
    if schema.is_given:
        return event
    reason = f"the schema was read off the data ({', '.join(schema.inferred)})"
    return Sequence((Unprotected(reason), event))


def _class_array(schema: Schema) -> npt.NDArray[Any]:
    kinds = {type(label) for label in schema.classes}
    if len(kinds) == 1:
        return np.array(schema.classes)
    classes = np.empty(len(schema.classes), dtype=object)
    classes[:] = schema.classes
    return classes
