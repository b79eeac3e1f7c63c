"""The base class of all estimators: plan, certify, charge the ledger, and only then read records."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.curator.given import Call, current_call, read_given
from hedgerow.curator.interactive import Curator, for_learner, public_draws
from hedgerow.engines.records import Records
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError, UnreadColumnWarning
from hedgerow.estimator import planning
from hedgerow.estimator.exported import Exported, follows_schema, format_of
from hedgerow.estimator.plans import ClassOrder, Explanation, Fitted, Model, PublicCoins, RawPlan
from hedgerow.export.archive import write_archive
from hedgerow.export.signature import signer
from hedgerow.files import LARGEST_INTEGER, Allowance, Place
from hedgerow.ledgers.ledger import count_fit
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import rules_of, stored_parameters
from hedgerow.privacy.accounting import NONE
from hedgerow.privacy.certificate import Certificate, warn_of_claim
from hedgerow.privacy.claim import Unit
from hedgerow.privacy.exact import decimal_text
from hedgerow.reading.columns import read_columns
from hedgerow.reading.persons import without_column
from hedgerow.schema import Schema
from hedgerow.schema.check import Checker
from hedgerow.schema.encoder import check_size
from hedgerow.table import Coded, keep_of

Estimator = TypeVar("Estimator", bound="PrivateEstimator")


class PrivateEstimator(Exported, planning.Planned):
    """The base class of every classifier and regressor.

    ``fit`` certifies the plan and charges the ledger for it before it reads a record. The model keeps released values only.

    Attributes
    ----------
    schema_ : Schema
        The schema that was used.
    certificate_ : Certificate
        What was spent on what, and whether the guarantee holds.
    n_features_in_ : int
        Number of features in the schema.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        The schema's feature names. It exists only if the fitted records had column names that are all text.
    feature_importances_ : ndarray of shape (``n_features_in_``,)
        The share of the model that each feature accounts for, from released values only.
    """

    # Parameters before version 0.4, and the value that stays
    _former: ClassVar[Mapping[str, object]] = MappingProxyType({})

    @abstractmethod
    def _inferred(self, X: Any, y: Any) -> Schema:
        """Return a schema that is inferred from the records, which voids the guarantee."""

    def _check_coins(self, coins: PublicCoins, certificate: Certificate) -> None:
        """Raise ValueError unless these public coins are possible for a fit with this certificate."""
        if coins:
            raise ValueError(f"{type(self).__name__} draws no public coins.")

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit the model on records ``X`` with labels ``y``.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array of shape (n_samples, n_features), or Records
            The records. The columns of a frame are matched by name; those of an array are in the schema's order. ``hr.Records``
            are read block by block.
        y : sequence of length n_samples
            The labels, classes or outcomes. None with ``hr.Records``, which contain them, or if ``X`` has the column that the
            schema names as ``target``. A public rule leaves out each record
            whose label is missing or not in the schema, or whose outcome is not a number.
        groups : sequence of length n_samples, optional
            The person of each record: text, whole numbers, or a column of a frame, whose name is then shown in the certificate
            and ledgers. At most ``records_per_person`` records of each person are read, drawn at random. A record without an id
            is not read. Omit it if ``X`` contains the column that the schema names as ``person``; ``hr.Records`` have it as
            ``group=``.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If a parameter is wrong, or the schema does not match the columns, or the index of ``y`` is that of ``X`` in another
            order. If a tool of scikit-learn changes labels or draws records several times (docs/guide/scikit-learn.md). Nothing
            was charged or drawn.
        BudgetExceeded
            If the ledger refuses the plan. Nothing was drawn.

        Warns
        -----
        UserWarning
            If delta is 1/1000 or more, or epsilon is above 20. If released counts (the number of records, of a class, or the
            counts of a column) do not stand out from their noise, or show that most of a column cannot be read, or that nearly
            all outcomes lie at an end of their range. Once, if this is the third fit of the class in this process that is not
            charged to a ledger.
        """
        estimator = planning.plain(self)
        randomness = Randomness(estimator.random_state)
        # Errors in the shape of X and y are raised before the ledger is charged.
        if self.schema is None and isinstance(X, Records):
            raise ConfigurationError(
                "schema is None, but hr.Records are read by a public schema, block by block. Pass an hr.Schema."
            )
        schema = self._inferred(X, y) if self.schema is None else self.schema
        claim = planning.claim_of(estimator)
        coins = estimator._draw_coins(claim, randomness.draw)
        plan = planning.plan_of(estimator, schema, claim, coins)
        columns, labels, named, persons = read_given(X, y, groups, schema, call=call_of(self))
        column = None if persons is None else persons.name
        if isinstance(plan, RawPlan):
            planning.check_published(X, Unit(claim.records_per_person, column))
        premises = columns.premises if isinstance(columns, Records) else ()
        certificate = planning.certificate_of(
            estimator, schema, claim, plan, seeded=randomness.seeded, person=column, premises=premises
        )
        if isinstance(columns, Records) and not isinstance(plan, RawPlan):
            columns = columns.proposed(certificate, Coded(plan.encoder))
        holds = certificate.holds
        warn_of_claim(2, claim.delta, claim.epsilon if holds else NONE)
        with nullcontext() if self.ledger is None else self.ledger.reserve(certificate):
            # An earlier result must not be taken for that of a fit that is interrupted.
            self.__dict__.pop("_fitted", None)
            repeated = None
            if self.ledger is None and holds:  # a fit that nothing counts
                repeated = count_fit(type(self).__name__, certificate.epsilon, certificate.delta)
            keep = None if persons is None else keep_of(persons, claim.records_per_person, randomness)
            model, messages = planning.run(plan, columns, labels, randomness, keep)
            certificate = replace(certificate, warnings=tuple(messages))
            stored = stored_parameters(estimator.get_params(deep=False))
            self._fitted = Fitted(schema, certificate, model, stored, named, coins)
        for message in messages if repeated is None else [*messages, repeated]:
            warnings.warn(message, UserWarning, stacklevel=2)
        return self

    def __sklearn_clone__(self) -> Self:
        clone, call = self._cloned(), current_call(self.schema, self._cloned_by)
        if call != Call():
            clone._cloned_by = call
        return clone

    def _cloned(self) -> Self:
        clone: Self = super().__sklearn_clone__()
        return clone

    def fit_curator(self, curator: Curator) -> Self:
        """Fit by queries to a curator that holds the records. The whole plan is charged to its budget before the first query.

        Schema, bins, adjacency and noise are the curator's. Several fits share its budget, also if they run at the same time.

        Parameters
        ----------
        curator : Curator
            An ``hr.Curator``. Records are read in its bins, which are also the default of a learner whose ``max_bins`` is None.
            For ``HedgerowClassifier`` the curator's ``max_bins`` must be 255, and the learner's own may be any.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If the estimator uses the published form, a delta, or a schema, bins or adjacency that differ from the curator's (the
            default adjacency means the curator's), or if the argument is not a curator.
        BudgetExceeded
            If the curator has less than ``epsilon`` left. No record was read.
        """
        estimator = planning.plain(self)
        if not isinstance(curator, Curator):
            raise ConfigurationError(
                f"curator is {type(curator).__name__}, but it must be an hr.Curator; fit(X, y) takes records."
            )
        estimator._check_curator(curator)
        estimator.adjacency, estimator.records_per_person = curator.adjacency, curator.records_per_person
        claim = planning.claim_of(estimator)
        if claim.epsilon > curator.remaining:
            raise BudgetExceeded(
                f"{type(self).__name__} asks for epsilon {decimal_text(claim.epsilon)}, but the curator has "
                f"{decimal_text(curator.remaining)} left; nothing was asked. Pass epsilon=curator.remaining, a fraction, to take "
                "all of it."
            )
        coins = estimator._draw_coins(claim, public_draws(curator))
        estimator, plan = planning.plan_by_bins(estimator, curator, claim, coins)
        certificate = planning.certificate_of(
            estimator, curator.schema, claim, plan, seeded=curator.seeded, person=curator.person
        )
        queryable = for_learner(curator, f"a model by {type(self).__name__}", claim.epsilon, plan.event)
        self.__dict__.pop("_fitted", None)
        model = plan.fit(queryable)
        messages = queryable.warnings_of(plan.encoder)
        certificate = replace(certificate, warnings=messages)
        stored = stored_parameters(estimator.get_params(deep=False))
        self._fitted = Fitted(curator.schema, certificate, model, stored, curator.named, coins)
        for message in messages:
            warnings.warn(message, UserWarning, stacklevel=2)
        return self

    def _check_curator(self, curator: Curator) -> None:
        decided = {
            "variant": self.variant != "private",
            "random_state": self.random_state is not None,
            "ledger": self.ledger is not None,
            "delta": bool(getattr(self, "delta", 0)),
            "schema": self.schema is not None and self.schema != curator.schema,
            "records_per_person": self.records_per_person not in (None, curator.records_per_person),
            "adjacency": self.adjacency not in ("add-remove", curator.adjacency),
        }
        if wrong := [name for name, differs in decided.items() if differs]:
            raise ConfigurationError(
                f"{', '.join(wrong)} must be left out: a curator has its own, and answers pure queries of private forms."
            )

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
    def n_features_in_(self) -> int:
        """Number of features in the schema."""
        return len(self.schema_.names)

    def explain(self, X: Any) -> Explanation:
        """Return what each feature contributes to the prediction for each record. Post-processing of released values: no cost.

        Contributions of boosters add up to ``decision_function``, those of forests and trees to ``predict_proba``. The result's
        ``rule`` says how they are computed.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            The records to explain.

        Returns
        -------
        Explanation
            With ``baseline`` and ``contributions``, of shape (n_samples, n_features), or with more than two classes (n_samples,
            n_features, n_classes).

        Raises
        ------
        ConfigurationError
            If the model is of a published form.
        """
        check_is_fitted(self)
        return ClassOrder.of(self.schema_).explanation(self._explained(self._features_of(X)))

    def _explained(self, X: Any) -> Explanation:
        explained = getattr(self.model_, "explained", None)
        if explained is None:
            raise ConfigurationError(
                f"{type(self).__name__} ({self.variant}) is not explained: a printed form predicts, and no more. "
                "Fit it in its private form."
            )
        explanation: Explanation = explained(X)
        return explanation

    def save(self, path: Place, *, sign: Place | None = None) -> None:
        """Write the fitted model to a file, completely or not at all; ``hedgerow.load`` reads it.

        An existing file is replaced. When this returns, the model is on disk. ``path`` may also be a binary file object with
        ``write``, such as ``io.BytesIO`` or ``open(path, "wb")``. It gets the same bytes where it stands, need not be
        seekable, and stays open.
        The file contains all parameters but three, which are loaded as None: the ledger, ``init``, and a ``random_state`` that
        is a generator.
        Values that ``fit_curator`` took from the curator (schema, bins, adjacency) are loaded as parameters.
        ``sign`` is a PEM file with a private key of Ed25519 that signs the file; ``hr.signature_of`` checks the signature. It
        needs the package cryptography (the extra ``sign``).

        Raises
        ------
        ConfigurationError
            If ``path`` is neither a path nor a binary file object, such as a file that is open for text.
        SchemaError
            If the schema contains text that cannot be encoded in UTF-8.
        ConfigurationError
            If the model is of a published form, which fits and predicts only.
        """
        write_archive(path, self._document(), self._result.model.to_arrays(), None if sign is None else signer(sign))

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The schema's feature names, if the fitted records had column names."""
        if not self._result.named:
            raise AttributeError(f"{type(self).__name__} was not fitted on columns with names.")
        return np.array(self.schema_.names, dtype=object)

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of the model that each feature accounts for, of shape (features,).

        A root has weight 1, and a test divides its weight equally among its branches. In trees of tests with two branches, a test
        on level l has weight 1 / 2**(l - 1). A feature's importance is the share of its tests in the sum of the weights; all are
        zero if there is no test. All boosted trees count equally, whatever the size of their votes. In released cells, a
        specialization is the test of a group, and each feature's whole range is a root. The importance counts tests, not
        records. For ``HedgerowClassifier`` and ``HedgerowRegressor`` it is the spread of a feature's curves around the mean of
        their cell, and between the sides of its cuts; cells have equal weight. It is computed from released values and costs
        nothing.
        """
        return self._exportable.model.importances()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _looked_at(self, X: Any, answer: Callable[[Any], npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return predictions for records. They are the caller's own records, so warnings may depend on them."""
        X = self._features_of(X)
        answers = answer(X)
        look = Checker(self.schema_.features, self.schema_.missing, quick=True)
        look.add(X)
        for text in look.findings():
            warnings.warn(text, UnreadColumnWarning, stacklevel=3)
        return answers

    def _features_of(self, X: Any) -> Any:
        """Return ``X`` without the columns of persons and of labels.

        Under an inferred schema, raise scikit-learn's errors if the columns of ``X`` differ from those of the fit.
        """
        if not self.schema_.is_given:  # it has the order of the columns alone
            columns = read_columns(X)
            by_other_names = isinstance(X, Mapping) or (hasattr(X, "columns") and not columns.named)
            if not by_other_names:  # scikit-learn accepts arrays, and frames whose column names are text
                validate_data(self, X, reset=False, skip_check_array=True)
        X, _ = without_column(self.schema_.without_ignored(X), self.schema_.person)
        return without_column(X, self.schema_.target)[0]


def with_result(
    estimator: Estimator, schema: Schema, certificate: Certificate, model: Model, *, named: bool, coins: PublicCoins
) -> Estimator:
    """Return an unfitted estimator as a fitted one with this model and certificate."""
    fitted = planning.plain(estimator)
    fitted._fitted = Fitted(schema, certificate, model, stored_parameters(fitted.get_params(deep=False)), named, coins)
    return fitted


def call_of(estimator: PrivateEstimator) -> Call | None:
    """Return the tools of scikit-learn that call ``fit``; None if the schema is inferred from what they pass."""
    known = estimator.__dict__.pop("_cloned_by", None)  # what a clone knows ends with its fit
    return None if estimator.schema is None else current_call(estimator.schema, known)


def result_of(estimator: PrivateEstimator) -> Fitted:
    """Return the result of a fit, or raise NotFittedError."""
    return estimator._result


def former_parameters(kind: type[PrivateEstimator]) -> Mapping[str, object]:
    """Return parameters that systems had before version 0.4, and the values that stay: all had a variant."""
    return {"variant": "private", **kind._former}


def restored(
    kind: type[Estimator], document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], allowed: Allowance
) -> Estimator:
    """Return the fitted estimator that ``save`` wrote, or raise FileFormatError if it exceeds the limits."""
    try:
        if document["format"] != format_of(arrays):
            raise ValueError("the arrays are not those of the format")
        schema = Schema.from_dict(document["schema"])
        check_size(schema, document["parameters"].get("max_bins"), allowed)
        parameters = {**document["parameters"], "schema": schema}
        signs = parameters.get("monotonic_cst")
        if follows_schema(document, schema) and signs:  # of the other of two classes
            named = isinstance(signs, Mapping)
            parameters["monotonic_cst"] = {n: -s for n, s in signs.items()} if named else [-s for s in signs]
        certificate = Certificate.from_dict(document["certificate"])
        if certificate.variant != "private" or parameters.get("variant", "private") != "private":
            raise FileFormatError(
                "the file holds a published form, which is for reproduction: this version fits it and predicts, and does not "
                "load it. Fit it again, or fit and save variant='private'."
            )
        for name, kept in former_parameters(kind).items():
            if name not in rules_of(kind) and parameters.pop(name, kept) != kept:
                raise FileFormatError(
                    f"the model was fitted with another {name} than {kept!r}, which is all that this version has. Load it "
                    "with the version that wrote it, or fit it again."
                )
        try:
            estimator = planning.plain(kind(**parameters))
        except ConfigurationError as error:
            raise FileFormatError(
                f"the model file is damaged, or an earlier version wrote it with an option that went: {error} Load it with "
                "that version, or fit it again."
            ) from error
        claimed = certificate.system, certificate.variant, certificate.claim
        if claimed != (kind.__name__, estimator.variant, planning.claim_of(estimator)):
            raise FileFormatError("the model file's parameters are not those of its certificate; save the model again.")
        coins = document["coins"]
        if not isinstance(coins, list) or not all(type(coin) is int and 0 <= coin < LARGEST_INTEGER for coin in coins):
            raise ValueError("these are no public coins")
        estimator._check_coins(tuple(coins), certificate)
        plan = planning.plan_of(estimator, schema, certificate.claim, tuple(coins))
        assert not isinstance(plan, RawPlan), "a private form"
        model, named = plan.restore(arrays), document["named"] is True
        return with_result(estimator, schema, certificate, model, named=named, coins=tuple(coins))
    except FileFormatError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError("the model file is damaged; save the model again.") from error
