"""The estimator that all learners share: plan, certify, book, and only then read records."""

from __future__ import annotations

import html
import inspect
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.archive import write_archive
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.limits import Allowance
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import (
    Choice,
    Constraint,
    Exact,
    Instance,
    Seed,
    check_keywords,
    check_parameters,
    checks_keywords,
    stored_parameters,
)
from hedgerow.privacy.accounting import Adjacency, check_adjacency, plan_budget
from hedgerow.privacy.certificate import Certificate, certify, warn_of_delta
from hedgerow.privacy.events import Event
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_columns, read_labels, read_records
from hedgerow.schema.size import check_size

__all__ = ["FORMAT", "Model", "Plan", "PrivateClassifier"]

FORMAT = 1  # version of the model files
STACK = 3  # frames from a warning in ``fit`` to the caller, beyond the check of keywords

COMMON: Mapping[str, Constraint] = {
    "epsilon": Exact(exact, "the privacy budget, a number from 1e-9 to 1e9; pass for example epsilon=1.0"),
    "schema": Instance(
        Schema,
        "an hr.Schema, which says what is public about the data; build one, load one with hr.Schema.load(path), or pass "
        "None to explore without a guarantee",
    ),
    "adjacency": Choice(get_args(Adjacency)),
    "random_state": Seed(),
    "ledger": Instance(Ledger, "an hr.Ledger, which keeps budgets; pass hr.Ledger(epsilon=...) or None"),
}


class Model(Protocol):
    """What a fit leaves behind: released values that answer for new records."""

    def probabilities(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class."""

    def importances(self) -> npt.NDArray[np.float64]:
        """Return one share per feature, which sum to 1, or zeros."""

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


@dataclass(frozen=True)
class Fitted:
    """Everything that a fit leaves behind, as one value: a model never stands beside the certificate of another fit.

    ``parameters`` are those of the fit: ``set_params`` after it must not change what is saved. ``named`` says whether the
    records had column names.
    """

    schema: Schema
    certificate: Certificate
    model: Model
    parameters: Mapping[str, Any]
    named: bool


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The parent of every classifier here.

    A subclass declares its parameters' constraints and turns a schema and a budget into a plan. ``fit`` certifies and
    books the plan before it reads a record, and keeps released values only. A subclass names its own parameters in
    ``__init__`` and takes its parent's as ``**common``; scikit-learn and ``help`` see them all.

    Parameters
    ----------
    epsilon : float, default 1.0
        The total privacy budget, read as its shortest decimal.
    schema : Schema or None
        What is public about the data. None infers it from the records, which voids the guarantee.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. For one record replaced the plan runs at half the budget.
    random_state : None, int or numpy generator
        None draws from the operating system, as a guarantee needs; anything else is for tests.
    ledger : Ledger or None
        Where the fit's plan is booked before anything is drawn.

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
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The schema's names; only where the records that were fitted had column names, all of them text.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much of the model each feature decides, from released values only.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}  # of the parameters that are not in COMMON
    _fitted: Fitted

    variant: str = "private"

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        schema: Schema | None = None,
        adjacency: str = "add-remove",
        random_state: Any = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.adjacency = adjacency
        self.random_state = random_state
        self.ledger = ledger

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse unknown parameters in the name of the class that is called, whichever parent would have met them."""
        check_keywords(cls.__name__, parameters, cls.__init__)
        made: Self = super().__new__(cls)
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__.__signature__ = _with_parents_parameters(cls)  # type: ignore[attr-defined]

    @abstractmethod
    def _plan(self, schema: Schema, epsilon: Fraction) -> Plan:
        """Return the plan of a fit whose budget under add/remove adjacency is ``epsilon``."""

    def _draw_public(self, randomness: Randomness, epsilon: Fraction) -> None:
        """Draw what the plan depends on by public coins; it is called before ``_plan``, and no record has been read."""

    @checks_keywords
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

        Warns
        -----
        UserWarning
            If delta is 1/1000 or more, or a number of records that is released does not stand out from its noise.
        """
        parameters = check_parameters(self.get_params(deep=False), self._rules())
        epsilon, adjacency = exact(parameters["epsilon"]), check_adjacency(parameters["adjacency"])
        randomness = Randomness(parameters["random_state"])
        schema = self._infer_schema(X, y) if self.schema is None else self.schema
        # Whatever is wrong with the shape of X and y is found before anything is booked.
        columns, labels = read_records(X, y, schema.features, schema.classes)
        planner, budget = type(self)(**parameters), plan_budget(epsilon, adjacency)  # from plain values
        planner._draw_public(randomness, budget)
        plan = planner._plan(schema, budget)
        certificate = certify(
            type(self).__name__,
            plan.event,
            schema,
            variant=self.variant,
            epsilon=epsilon,
            delta=exact_delta(parameters.get("delta", 0)),
            adjacency=adjacency,
            seeded=randomness.seeded,
        )
        warn_of_delta(certificate.delta, STACK)
        if self.ledger is not None:
            self.ledger.reserve(certificate)
        self._forget()
        model = plan.run(X, labels, randomness)
        kept = stored_parameters(parameters, self._rules())
        self._fitted = Fitted(schema, certificate, model, kept, columns.named)
        for doubt in getattr(plan, "doubts", ()):  # drawn from released values
            warnings.warn(doubt, UserWarning, stacklevel=STACK)
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit left: if the one that begins is interrupted, nothing passes for its result."""
        self.__dict__.pop("_fitted", None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    @property
    def _result(self) -> Fitted:
        check_is_fitted(self)
        return self._fitted

    @property
    def schema_(self) -> Schema:
        """The schema that was used."""
        return self._result.schema

    @property
    def certificate_(self) -> Certificate:
        """What was spent on what, and whether the guarantee holds."""
        return self._result.certificate

    @property
    def model_(self) -> Model:
        """What the fit released."""
        return self._result.model

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The schema's classes, in its order."""
        return _class_array(self.schema_)

    @property
    def n_features_in_(self) -> int:
        """How many features the schema has."""
        return len(self.schema_.names)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return one row per record and one column per class of ``classes_``."""
        model = self.model_
        self._check_given(X)
        return model.probabilities(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each record; among equals, the first in the schema's order."""
        best = self.predict_proba(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all; ``hedgerow.load`` reads it.

        A file that stands there is replaced. When this returns, the model is on disk.
        All parameters are in it but for two, which come back as None: the ledger, and a ``random_state`` that is a generator.

        Raises
        ------
        SchemaError
            If the schema holds a text that UTF-8 cannot hold.
        """
        result = self._result
        result.schema.check_text()
        document = {
            "format": FORMAT,
            "class": type(self).__name__,
            "parameters": result.parameters,
            "named": result.named,
            "schema": result.schema.to_dict(),
            "certificate": result.certificate.to_dict(),
        }
        write_archive(path, document, result.model.to_arrays())

    @classmethod
    def _from_file(
        cls, document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], allowed: Allowance
    ) -> Self:
        """Return the model that ``save`` wrote, or raise FileFormatError where it would take more than is allowed."""
        try:
            schema = Schema.from_dict(document["schema"])
            check_size(schema, document["parameters"].get("max_bins"), allowed)
            certificate = Certificate.from_dict(document["certificate"])
            unchecked = cls(**{**document["parameters"], "schema": schema})
            estimator = cls(**check_parameters(unchecked.get_params(deep=False), cls._rules()))
            plan = estimator._plan(schema, plan_budget(certificate.epsilon, certificate.adjacency))
            if not _is_claim_of(certificate, estimator):
                raise FileFormatError(
                    "the model file's parameters are not those of its certificate; save the model again."
                )
            named = document.get("named", False) is True
            parameters = stored_parameters(estimator.get_params(deep=False), cls._rules())
            estimator._fitted = Fitted(schema, certificate, plan.restore(arrays), parameters, named)
        except FileFormatError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise FileFormatError("the model file is damaged; save the model again.") from error
        return estimator

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The schema's names, where the records that were fitted had column names."""
        if not self._result.named:
            raise AttributeError(f"{type(self).__name__} was not fitted on columns with names.")
        return np.array(self.schema_.names, dtype=object)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """How much of the model each feature decides, of shape (n_features_in_,).

        A root weighs 1 and a test shares its weight evenly among its branches: in trees of tests with two branches a test on
        level l weighs 1 / 2**(l - 1). A feature's importance is the share of its tests' weights in the sum; all are zero where
        there is no test. Boosted trees count alike, however large their votes are. In released cells a specialization is the
        test of a group, and each feature's whole range is a root. This is read from released values and costs nothing; it
        counts tests, not records.
        """
        return self.model_.importances()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._certificate_html()
        return bundle

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # an AttributeError where scikit-learn is set to show text
        return lambda: str(diagram()) + self._certificate_html()

    def _certificate_html(self) -> str:
        if not hasattr(self, "_fitted"):
            return ""
        return f"<pre>{html.escape(str(self.certificate_))}</pre>"

    @classmethod
    def _rules(cls) -> dict[str, Constraint]:
        return {**COMMON, **cls._constraints}

    def _infer_schema(self, X: Any, y: Any) -> Schema:
        """Return a schema read off the records, after scikit-learn's checks: without a public rule a value may be refused."""
        columns = read_columns(X, allow_empty=False)
        if any(columns.cells(i, 0, 1).dtype.kind == "c" for i in range(len(columns.names))):
            raise ConfigurationError(
                "Complex data not supported: a schema cannot be inferred from complex numbers. Pass real ones."
            )
        if getattr(y, "ndim", 1) == 2:
            y = column_or_1d(y, warn=True)
        try:
            with np.errstate(invalid="ignore"):  # scikit-learn casts labels to integers before it says that one is NaN
                check_classification_targets(np.asarray(read_labels(y).tolist()))
        except TypeError:
            raise ConfigurationError(
                "y holds labels that cannot be compared, such as text and None, so no classes can be inferred. "
                "Leave out records without a label, or pass a schema."
            ) from None
        return Schema.infer(X, y)

    def _check_given(self, X: Any) -> None:
        """Under an inferred schema, raise scikit-learn's errors where ``X`` has other columns than fit's."""
        if not self.schema_.is_given:
            self._check_columns(X)

    def _check_columns(self, X: Any) -> None:
        """Compare columns with those of fit in scikit-learn's words: under an inferred schema their order is all there is."""
        columns = read_columns(X)
        by_other_names = isinstance(X, Mapping) or (hasattr(X, "columns") and not columns.named)
        if not by_other_names:  # scikit-learn knows frames whose columns have text for names, and arrays
            validate_data(self, X, reset=False, skip_check_array=True)


def _with_parents_parameters(cls: type) -> inspect.Signature:
    """Return the signature of a class's ``__init__`` with its parent's parameters in place of ``**common``."""
    own = inspect.signature(vars(cls)["__init__"])
    parameters = dict(own.parameters)
    common = [name for name, parameter in parameters.items() if parameter.kind is parameter.VAR_KEYWORD]
    for name in common:
        del parameters[name]
        for inherited, parameter in inspect.signature(cls.__mro__[1].__init__).parameters.items():  # type: ignore[misc]
            parameters.setdefault(inherited, parameter)
    return own.replace(parameters=list(parameters.values()))


def _is_claim_of(certificate: Certificate, estimator: PrivateClassifier) -> bool:
    """Say whether a certificate is one of a fit with the estimator's class, budget and adjacency."""
    parameters = estimator.get_params(deep=False)
    claimed = exact(parameters["epsilon"]), exact_delta(parameters.get("delta", 0)), parameters["adjacency"]
    of = certificate.system, certificate.epsilon, certificate.delta, certificate.adjacency
    return of == (type(estimator).__name__, *claimed)


def _class_array(schema: Schema) -> npt.NDArray[Any]:
    kinds = {type(label) for label in schema.classes}
    if len(kinds) == 1:
        return np.array(schema.classes)
    classes = np.empty(len(schema.classes), dtype=object)
    classes[:] = schema.classes
    return classes
