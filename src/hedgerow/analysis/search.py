"""Private tuning: train and compare candidates within one budget, and release the best."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hedgerow.analysis.trials import ByError, ByRight, Disjoint, Found, Scoring, Stopping, Tables, Trials, planned
from hedgerow.curator.interactive import RULES, promised, read_given
from hedgerow.engines.progress import Silent
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, shown, without_sizes
from hedgerow.estimator import (
    PrivateClassifier,
    PrivateEstimator,
    ShowsResult,
    call_of,
    run,
    starts_of,
    with_result,
)
from hedgerow.estimator.bases import MetaEstimatorMixin
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import Randomness, RandomStopping
from hedgerow.parameters import RandomSource
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.events import Event, OneOf
from hedgerow.privacy.events import Sequence as InSequence
from hedgerow.privacy.starts import Start
from hedgerow.schema import Schema
from hedgerow.table import Keep, keep_of
from hedgerow.texts import html_table

FIXED = (
    "epsilon",
    "delta",
    "schema",
    "adjacency",
    "records_per_person",
    "random_state",
    "ledger",
    "variant",
)  # set by the search, not by a candidate
STRATEGIES = ("disjoint", "random-stopping")
GAMMA_BITS = 3  # an expected 3.4 runs by the logarithmic law, 8 by the geometric one
ASSUMPTIONS = (
    "the schema (ranges, categories, classes) being public knowledge, as its owner declared",
    "X and y as given to fit: a scaler, imputer or selection fitted on the same records came before, uncovered",
    "the estimator's own epsilon being replaced by the search's; the other candidates, their number and scores were never shown",
)


@dataclass(frozen=True)
class Searched:
    """The result of a search as one value, so that a model never appears with the certificate of another search."""

    params: Mapping[str, Any]
    estimator: PrivateEstimator
    certificate: Certificate


class PrivateSearchCV(MetaEstimatorMixin, ShowsResult):
    """Tune parameters within one privacy budget.

    Releases  the parameters of the best candidate and a model. Nothing about the others: there is no ``cv_results_``.
    Costs     ``epsilon``, pure.
    Assumes   the same as a fit. Proof: docs/proofs/private-search.md.

    Tuning rarely pays: the defaults follow from public numbers and use the whole budget (docs/tuning.md). If the schema names a
    column of persons, or ``fit`` gets ``groups``, all records of a person are in one part.

    Parameters
    ----------
    estimator : PrivateEstimator
        The estimator to tune, in its private form, with a schema. The search replaces its epsilon, adjacency, random_state and
        ledger, and sets its delta, if it has one, to 0.
    grid : mapping, or sequence of mappings
        The values to try for each parameter, as for scikit-learn's ``GridSearchCV``. It is public.
    epsilon : float, default 1.0
        The budget of the whole search, with the last fit.
    strategy : {"disjoint", "random-stopping"}
        "disjoint" trains each candidate on its own share of the records (or persons), and compares them on another share.
        "random-stopping" trains a random number of candidates, each on most of the records at half the search's epsilon, and
        takes the one with the best noisy score.
    refit : float, default 0.5
        The share of epsilon for a fit of the best candidate on all records. 0: the best candidate's own model is the result.
    validation : float, default 0.25
        The share of the records on which candidates are compared, above 0 and at most 0.9.
    largest_error : float or None
        For regressors: candidates are compared by the sum of ``min(|y - f|, largest_error)``, in the unit of the outcome, so that
        no record has a large influence. A larger value makes the choice noisier. It is public. None: a tenth of the outcome's
        range.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are.
    records_per_person : int, optional
        The guarantee protects a person, of whom at most this many records are read. None: the value in the estimator's schema.
        It replaces the estimator's own value.
    random_state : None, int or numpy generator
        None draws from the operating system's entropy, which a guarantee requires. Other values are for tests.
    ledger : Ledger or None
        The ledger that is charged for the whole search, in one entry, before anything is drawn.

    Attributes
    ----------
    best_params_ : dict
        The parameters of the best candidate.
    best_estimator_ : PrivateEstimator
        The fitted estimator. Its certificate names the search's certificate.
    certificate_ : Certificate
        The cost of the search and the fit together.
    classes_ : ndarray of shape (n_classes,)
        The schema's classes, sorted; for classifiers.

    Examples
    --------
    >>> import hedgerow as hr, numpy as np
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    >>> X = np.random.default_rng(0).uniform(size=(3000, 1))
    >>> y = np.where(X[:, 0] > 0.5, "yes", "no")
    >>> search = hr.PrivateSearchCV(hr.EDPRFClassifier(schema=schema), {"max_depth": [1, 4]}, epsilon=2, random_state=0)
    >>> search.fit(X, y).certificate_.claim.epsilon, sorted(search.best_params_)
    (Fraction(2, 1), ['max_depth'])
    """

    _searched: Searched

    def __init__(
        self,
        estimator: PrivateEstimator,
        grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float = 1.0,
        strategy: str = "disjoint",
        refit: float = 0.5,
        validation: float = 0.25,
        largest_error: float | None = None,
        adjacency: str = "add-remove",
        records_per_person: int | None = None,
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.epsilon = epsilon
        self.strategy = strategy
        self.refit = refit
        self.validation = validation
        self.largest_error = largest_error
        self.adjacency = adjacency
        self.records_per_person = records_per_person
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Compare the candidates and fit the best one.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array of shape (n_samples, n_features), or Records
            The records. ``hr.Records`` are read several times.
        y : sequence of length n_samples
            The labels; None with ``hr.Records``, which hold them. A record whose label is missing or not in the schema is
            ignored.
        groups : sequence of length n_samples, optional
            The person of each record, as for an estimator's ``fit``. All steps use the same records of a person.

        Returns
        -------
        self

        Raises
        ------
        ConfigurationError
            If a parameter, a candidate or a column is wrong. Nothing was charged or drawn.
        BudgetExceeded
            If the ledger refuses the search. Nothing was drawn.

        Warns
        -----
        UserWarning
            What the fit of the released model warns of, by its released counts. Comparing the candidates releases no count.
        """
        whole, randomness, grid, schema = self._checked()
        scoring = self._scoring(schema)
        call = call_of(self.estimator)
        records, labels, named, persons = read_given(X, y, groups, schema, again=True, call=call)
        keep = keep_of(persons, whole.records_per_person, randomness)
        search, last = _shares(whole, exact_share(self.refit))
        tables = Tables(schema, self._unwatched(records), labels, keep)
        trials = Trials(self._candidates(grid, search), schema, tables, randomness, scoring)
        strategy = self._strategy(trials, search)
        # The last fit of every candidate is planned now, so that the costliest can be charged.
        refits = [] if last is None else self._candidates(grid, last)
        last_fits = [planned(one, schema, last or search, randomness) for one in refits]
        event = _together(strategy.event, [plan.event for plan, _ in last_fits])
        # Two models of one configuration have equal certificates, so starts are told apart by the objects that the grid holds.
        several = zip(grid, self._candidates(grid, search), strict=True)
        chains = {(id(given.get("init")), given.get("public_start")): starts_of(one) for given, one in several}
        starts = tuple(chain.from_iterable(chains.values()))
        certificate = self._certified(type(self).__name__, event, whole, randomness, ASSUMPTIONS, keep, starts)
        with nullcontext() if self.ledger is None else self.ledger.reserve(certificate), without_sizes():
            self.__dict__.pop("_searched", None)  # an interrupted search must not show the result of an earlier one
            with trials.tables:
                found = strategy.run()
            own, claim = strategy.event, search
            if last is not None:
                plan, coins = last_fits[found.place]
                fitted = run(plan, records, labels, randomness, keep)
                own, claim, found = plan.event, last, Found(found.place, fitted[0], coins, fitted[1])
            of_best = self._candidates(grid, claim)[found.place]
            rests = (*ASSUMPTIONS, _of_search(certificate, refitted=last is not None))
            own_certificate = self._certified(
                type(of_best).__name__, own, claim, randomness, rests, keep, starts_of(of_best)
            )
            own_certificate = replace(own_certificate, warnings=tuple(found.doubts))
            best = with_result(of_best, schema, own_certificate, found.model, named=named, coins=found.coins)
            self._searched = Searched(grid[found.place], best, certificate)
        for doubt in found.doubts:
            warnings.warn(doubt, UserWarning, stacklevel=2)
        return self

    def _certified(
        self,
        what: str,
        event: Event,
        claim: Claim,
        randomness: Randomness,
        assumptions: tuple[str, ...],
        keep: Keep | None,
        starts: tuple[Start, ...],
    ) -> Certificate:
        """Return the certificate of the whole search, or of the model that it releases."""
        return certify(
            what,
            event,
            self.estimator.schema,
            variant="private",
            claim=claim,
            seeded=randomness.seeded,
            assumptions=assumptions,
            person=None if keep is None else keep.groups.name,
            starts=starts,
        )

    def _checked(self) -> tuple[Claim, Randomness, list[dict[str, Any]], Schema]:
        """Return the claim, the source of randomness, the candidates' parameters and the schema, or raise ConfigurationError."""
        if not isinstance(self.estimator, PrivateEstimator) or self.estimator.variant != "private":
            raise ConfigurationError("estimator must be an estimator of this library in its private form; pass one.")
        if self.estimator.schema is None:
            raise ConfigurationError("the estimator has no schema, but records are read by a public one; pass schema=.")
        records = self.estimator.schema.records_per_person
        claim, randomness = promised(records, **{name: getattr(self, name) for name in RULES if name != "delta"})
        if self.strategy not in STRATEGIES:
            raise ConfigurationError(f"strategy is {shown(self.strategy)}; pass one of {', '.join(STRATEGIES)}.")
        for name, most in (("refit", 0.99), ("validation", 0.9)):
            value = getattr(self, name)
            least = 0 if name == "refit" else 1e-3
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ConfigurationError(
                    f"{name} is {shown(value)}, but it is a share; pass a number from {least} to {most}."
                )
        if self.strategy == "random-stopping" and not self.refit:
            raise ConfigurationError(
                "random-stopping releases parameters, at twice the cost of one run, and no model; pass refit above 0."
            )
        grid = [dict(sorted(one.items())) for one in ParameterGrid(self.grid)]
        fixed = sorted({name for one in grid for name in one if name in FIXED})
        if fixed:
            raise ConfigurationError(f"the grid names {', '.join(fixed)}, which the search sets itself; leave it out.")
        if not 2 <= len(grid) <= 256:
            raise ConfigurationError(f"the grid has {len(grid)} candidates; pass from 2 to 256.")
        return claim, randomness, grid, self.estimator.schema

    def _scoring(self, schema: Schema) -> Scoring:
        """Return the rule that compares candidates, or raise ConfigurationError."""
        largest = self.largest_error
        if isinstance(self.estimator, PrivateClassifier):
            if largest is not None:
                raise ConfigurationError("largest_error is for regressors; leave it out for a classifier.")
            return ByRight()
        if schema.outcome is None:
            raise ConfigurationError(
                "the estimator predicts a number, but its schema declares classes; declare an outcome."
            )
        width = schema.outcome.high - schema.outcome.low
        if largest is None:
            return ByError(width / 10)
        if isinstance(largest, bool) or not isinstance(largest, int | float) or not 0 < largest <= width:
            raise ConfigurationError(
                f"largest_error is {shown(largest)}, but it is an error in the outcome's unit; pass a number above 0, up to the "
                f"width of the range, {width:g}."
            )
        return ByError(float(largest))

    def _candidates(self, grid: Sequence[Mapping[str, Any]], claim: Claim) -> list[PrivateEstimator]:
        """Return an unfitted estimator for each candidate, with the epsilon and delta of one claim."""
        given = self.estimator.get_params(deep=False)
        fixed: dict[str, Any] = {
            "epsilon": claim.epsilon,
            "adjacency": claim.adjacency,
            "records_per_person": claim.records_per_person,
            "random_state": None,
            "ledger": None,
        }
        if "delta" in given:
            fixed["delta"] = 0.0
        return [type(self.estimator)(**{**given, **one, **fixed}) for one in grid]

    def _unwatched(self, records: Any) -> Any:
        """Return records without a progress bar where it would show the number of runs, which must stay secret."""
        watched = isinstance(records, Records) and self.strategy == "random-stopping"
        return records.with_progress(Silent()) if watched else records

    def _strategy(self, trials: Trials, claim: Claim) -> Disjoint | Stopping:
        if self.strategy == "disjoint":
            return Disjoint(trials, claim, self.validation, trials.plans(claim))
        trials.plans(claim)  # refuses what no candidate takes, before anything is charged
        return Stopping(trials, claim, self.validation, RandomStopping(GAMMA_BITS))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_searched")

    def _result_html(self) -> str:
        if not hasattr(self, "_searched"):
            return ""
        return html_table("Best of the candidates", self.best_params_.items()) + self.certificate_._repr_html_()

    @property
    def _result(self) -> Searched:
        check_is_fitted(self)
        return self._searched

    @property
    def best_params_(self) -> dict[str, Any]:
        """The parameters of the best candidate."""
        return dict(self._result.params)

    @property
    def best_estimator_(self) -> PrivateEstimator:
        """The fitted estimator. Its certificate names the search's certificate."""
        return self._result.estimator

    @property
    def certificate_(self) -> Certificate:
        """The cost of the search and the fit together."""
        return self._result.certificate

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each record, or the predicted outcome, by the best estimator."""
        found: npt.NDArray[Any] = self.best_estimator_.predict(X)
        return found

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the best estimator's probabilities, one row per record and one column per class; for classifiers."""
        found: npt.NDArray[np.float64] = self.best_estimator_.predict_proba(X)
        return found

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy or R2 of the best estimator. It reads raw records, which no guarantee covers."""
        return float(self.best_estimator_.score(X, y))

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The schema's classes, sorted; for classifiers."""
        found: npt.NDArray[Any] = self.best_estimator_.classes_
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = own.estimator_type, own.target_tags
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        return tags

    @property
    def n_features_in_(self) -> int:
        """How many features the schema has."""
        return self.best_estimator_.n_features_in_


def exact_share(share: float) -> Fraction:
    """Return a share as its shortest decimal."""
    return Fraction(repr(float(share)))


def _shares(whole: Claim, refit: Fraction) -> tuple[Claim, Claim | None]:
    """Return the budgets of the search and of the last fit, which add up to the whole."""
    if not refit:
        return whole, None
    return replace(whole, epsilon=whole.epsilon * (1 - refit)), replace(whole, epsilon=whole.epsilon * refit)


def _together(search: Event, last: Sequence[Event]) -> Event:
    if not last:
        return search
    return InSequence((search, OneOf(tuple(last), "the best candidate is fitted on all records")))


def _of_search(certificate: Certificate, *, refitted: bool) -> str:
    if refitted:
        return f"its parameters being the choice of certificate {certificate.digest[:16]}: what search and fit cost stands there"
    return f"its model being what certificate {certificate.digest[:16]} shows: all it cost stands there"
