"""Private tuning: train candidates on records of their own, compare them on others, and release the best within one budget."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, pairwise
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hedgerow import estimator as estimators
from hedgerow.arrays import without_sizes
from hedgerow.curator import ModelScores, Queryable
from hedgerow.curator.given import RULES, promised, read_given
from hedgerow.engines.records import table_of
from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator.planning import BaseEstimator, MetaEstimatorMixin
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.parameters import RandomSource
from hedgerow.privacy.accounting import Event, OneOf, Parallel, cost
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import Claim
from hedgerow.reading.columns import Columns
from hedgerow.schema import Encoder, Schema
from hedgerow.table import SHARE_BITS, Coded, Keep, PersonPart, Reading, Table, keep_of
from hedgerow.table.reading import Codes, Labelled, Labels

# Parameters that the search sets, and no candidate.
FIXED = ("epsilon", "delta", "schema", "adjacency", "records_per_person", "random_state", "ledger", "variant")
SHARES = 1 << SHARE_BITS  # of the persons or records, of which parts are made
ERROR_STEPS = 64  # of a clipped error: a step is far below the differences between candidates
WITNESS_BINS = 255  # of the codes whose checksums show that records did not change between two readings
ASSUMPTIONS = (
    "the schema (ranges, categories, classes) being public knowledge, as its owner declared",
    "X and y as given to fit: a scaler, imputer or selection fitted on the same records came before, uncovered",
    "the estimator's own epsilon being replaced by the search's; the other candidates, their number and scores were never shown",
)


@dataclass(frozen=True, eq=False)
class Scores(Labelled):
    """Labelled records with a code for each of some released models: what the record adds to the model's score.

    For a classifier that is whether it predicts the label. For a regressor it is ``64 - min(|y - f|, largest_error)``, with the
    error in steps of a 64th of ``largest_error``, rounded up.
    """

    code_type: ClassVar[type] = np.uint8
    models: tuple[estimators.Model, ...]
    largest_error: float | None = None

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        return np.full(len(self.models), largest_score(self.largest_error) + 1)

    def _codes(self, block: dict[str, Any], truth: Any) -> Any:
        if self.largest_error is None:
            order = estimators.ClassOrder.of(self.schema)
            predicted = [order.columns(model.probabilities(block)).argmax(axis=1) for model in self.models]
            return np.stack(predicted, axis=1) == order.codes(truth)[:, None]
        predictions = [model.predictions(block) for model in self.models]
        error = np.abs(truth[:, None] - np.stack(predictions, axis=1))
        return ERROR_STEPS - np.ceil(np.minimum(error / self.largest_error, 1) * ERROR_STEPS)


def largest_score(largest_error: float | None) -> int:
    """Return the most that a record adds to a model's score, which is the range of the choice."""
    return 1 if largest_error is None else ERROR_STEPS


class Repeated:
    """A reading of records that are read several times in one search, in which each must keep its row number.

    A record's part is its row's, so checksums are of ``same``, which is alike for all readings of one search.
    """

    def __init__(self, of: Reading, same: Coded) -> None:
        self.of, self.same, self.name = of, same, same.name
        self.schema, self.n_codes, self.n_classes = of.schema, of.n_codes, of.n_classes
        self.dtype, self.label_dtype = of.dtype, of.label_dtype

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        return self.of.read(columns, y)

    def witness(self, columns: Columns, y: Any, codes: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        return codes if self.of.name == self.same.name else self.same.read(columns, y)


class Parts:
    """The records of a search, each in one of 1024 shares by a coin of its own, or of its person's where there are persons.

    One table is kept at a time, since most candidates are read alike.
    """

    def __init__(self, schema: Schema, records: Any, labels: Any, randomness: Randomness, keep: Keep | None) -> None:
        self._records, self._labels, self._keep = records, labels, keep
        self._same = Coded(Encoder(schema, WITNESS_BINS))
        self._key = None if keep is None else randomness.random_bits().key
        self._coins = randomness.coins(PerRecordCoin(SHARES)) if keep is None else None
        self._kept: tuple[tuple[str, PersonPart | None], Table] | None = None
        self._open = ExitStack()

    def close(self) -> None:
        self._open.close()

    def table(self, reading: Reading, shares: range) -> Table:
        """Return the records of some shares; the table is gone when one of another reading, or of other persons, is made."""
        part = None if self._key is None else PersonPart(self._key, shares.start, shares.stop)
        wanted = reading.name, part
        if self._kept is None or self._kept[0] != wanted:
            self._kept = None
            self._open.close()
            keep = None if self._keep is None else replace(self._keep, part=part)
            again = Repeated(reading, self._same)
            self._kept = wanted, self._open.enter_context(table_of(self._records, self._labels, again, keep))
        table = self._kept[1]
        # The other records have no class in this table, so nothing counts them.
        return table if self._coins is None else table.sampled(self._coins, shares.start, shares.stop)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A plan and public coins for each candidate, trained on records of its own, and a choice of the best on other records.

    ``claim`` is that of the whole comparison, and each part runs at all of it, because a record is in one part.
    """

    plans: Sequence[tuple[estimators.Plan, estimators.PublicCoins]]
    claim: Claim
    validation: float
    schema: Schema
    largest_error: float | None = None
    by_person: bool = False

    @property
    def mechanism(self) -> PermuteAndFlip:
        return PermuteAndFlip(self.claim.pure, largest_score(self.largest_error))

    @property
    def _choice(self) -> Event:
        score = "records predicted right" if self.largest_error is None else "clipped errors of predictions"
        return self.mechanism.event("the best candidate", score)

    @property
    def event(self) -> Event:
        who = "person" if self.by_person else "record"
        label = f"every {who} is in one part, by its own coin: one candidate's, or that on which the best is chosen"
        return Parallel((*(plan.event for plan, _ in self.plans), self._choice), label)

    def run(self, parts: Parts, randomness: Randomness) -> tuple[int, estimators.Model, Sequence[str]]:
        compared, *trained = divided(self.validation, len(self.plans))
        fits = []
        for (plan, _), part in zip(self.plans, trained, strict=True):
            queryable = Queryable(parts.table(Coded(plan.encoder), part), cost(plan.event), randomness)
            fits.append((plan.fit(queryable), queryable.warnings_of(plan.encoder)))
        scores = Scores(self.schema, tuple(model for model, _ in fits), self.largest_error)
        curator = Queryable(parts.table(scores, compared), cost(self._choice), randomness)
        asked = ModelScores(curator.assign(PerRecordCoin(1)), largest_score(self.largest_error))
        best = int(curator.answer(asked, self.mechanism)[0])
        return best, *fits[best]


def planned(
    candidate: estimators.PrivateEstimator, schema: Schema, claim: Claim, randomness: Randomness
) -> tuple[estimators.Plan, estimators.PublicCoins]:
    coins = estimators.draw_coins(candidate, claim, randomness.draw)
    plan = estimators.plan_of(candidate, schema, claim, coins)
    assert not isinstance(plan, estimators.RawPlan), "private forms only are searched"
    return plan, coins


def divided(validation: float, candidates: int) -> list[range]:
    kept = max(1, round(validation * SHARES))
    each, more = divmod(SHARES - kept, candidates)
    bounds = [0, *accumulate([each + (i < more) for i in range(candidates)], initial=kept)]
    return [range(first, last) for first, last in pairwise(bounds)]


@dataclass(frozen=True)
class Searched:
    """The result of a search as one value, so that a model never appears with the certificate of another search."""

    params: Mapping[str, Any]
    estimator: estimators.PrivateEstimator
    certificate: Certificate


@dataclass(eq=False, repr=False)
class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Tune parameters within one privacy budget.

    Releases  the parameters of the best candidate and a model. Nothing about the others: there is no ``cv_results_``.
    Costs     ``epsilon``, pure.
    Assumes   the same as a fit. Proof: docs/proofs/private-search.md.

    Each candidate is trained on its own share of the records, and the candidates are compared on another share. If the schema
    names a column of persons, or ``fit`` gets ``groups``, all records of a person are in one share. Tuning rarely pays: the
    defaults follow from public numbers and use the whole budget (docs/tuning.md).

    Parameters
    ----------
    estimator : PrivateEstimator
        The estimator to tune, in its private form, with a schema. The search replaces its epsilon, adjacency, random_state and
        ledger, and sets its delta, if it has one, to 0.
    grid : mapping, or sequence of mappings
        The values to try for each parameter, as for scikit-learn's ``GridSearchCV``. It is public.
    epsilon : float, default 1.0
        The budget of the whole search, with the last fit.
    refit : float, default 0.5
        The share of epsilon for a fit of the best candidate on all records. 0: the best candidate's own model is the result.
    validation : float, default 0.25
        The share of the records on which candidates are compared, above 0 and at most 0.9.
    largest_error : float or None
        For regressors: candidates are compared by the sum of ``min(|y - f|, largest_error)``, in the unit of the outcome, so that
        no record has a large influence. A larger value makes the choice noisier. It is public. None: a tenth of the outcome's
        range.
    adjacency, records_per_person, random_state, ledger
        As for the estimator, whose own values they replace. The ledger is charged for the whole search, in one entry.

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

    estimator: estimators.PrivateEstimator
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
    _: KW_ONLY
    epsilon: float = 1.0
    refit: float = 0.5
    validation: float = 0.25
    largest_error: float | None = None
    adjacency: str = "add-remove"
    records_per_person: int | None = None
    random_state: RandomSource = None
    ledger: Ledger | None = None
    _searched: Searched = field(init=False)

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
        largest_error = self._largest_error(schema)
        call = estimators.call_of(self.estimator)
        records, labels, named, persons = read_given(X, y, groups, schema, again=True, call=call)
        keep = keep_of(persons, whole.records_per_person, randomness)
        share = Fraction(repr(float(self.refit)))
        search = replace(whole, epsilon=whole.epsilon * (1 - share))
        last = replace(whole, epsilon=whole.epsilon * share) if share else None
        candidates = self._candidates(grid, search)
        plans = [planned(one, schema, search, randomness) for one in candidates]
        comparison = Comparison(plans, search, self.validation, schema, largest_error, by_person=keep is not None)
        # The last fit of every candidate is planned now, so that the costliest can be charged.
        last_plans = (
            [] if last is None else [planned(one, schema, last, randomness) for one in self._candidates(grid, last)]
        )
        event = comparison.event
        if last is not None:
            refit = OneOf(tuple(plan.event for plan, _ in last_plans), "the best candidate is fitted on all records")
            event = InSequence((event, refit))
        # Two models of one configuration have equal certificates, so starts are distinguished by the objects that the grid holds.
        chains = {
            (id(given.get("init")), given.get("public_start")): estimators.starts_of(one)
            for given, one in zip(grid, candidates, strict=True)
        }
        starts = tuple(chain.from_iterable(chains.values()))
        person = None if persons is None else persons.name
        certified = partial(certify, seeded=randomness.seeded, person=person)
        name = type(self).__name__
        certificate = certified(name, event, schema, whole, assumptions=ASSUMPTIONS, starts=starts)
        with nullcontext() if self.ledger is None else self.ledger.reserve(certificate), without_sizes():
            self.__dict__.pop("_searched", None)  # an interrupted search must not show the result of an earlier one
            with closing(Parts(schema, records, labels, randomness, keep)) as parts:
                best, model, warned = comparison.run(parts, randomness)
            if last is None:
                own, claim, coins = comparison.event, search, plans[best][1]
                source = "its model being what certificate {} shows: all it cost stands there"
            else:
                plan, coins = last_plans[best]
                model, warned = estimators.run(plan, records, labels, randomness, keep)
                own, claim = plan.event, last
                source = "its parameters being the choice of certificate {}: what search and fit cost stands there"
            winner = self._candidates(grid, claim)[best]
            assumptions = (*ASSUMPTIONS, source.format(certificate.digest[:16]))
            name, starts = type(winner).__name__, estimators.starts_of(winner)
            own_certificate = certified(name, own, schema, claim, assumptions=assumptions, starts=starts)
            own_certificate = replace(own_certificate, warnings=tuple(warned))
            fitted = estimators.with_result(winner, schema, own_certificate, model, named=named, coins=coins)
            self._searched = Searched(grid[best], fitted, certificate)
        for warning in warned:
            warnings.warn(warning, UserWarning, stacklevel=2)
        return self

    def _checked(self) -> tuple[Claim, Randomness, list[dict[str, Any]], Schema]:
        if not isinstance(self.estimator, estimators.PrivateEstimator) or self.estimator.variant != "private":
            raise ConfigurationError("estimator must be an estimator of this library in its private form; pass one.")
        if self.estimator.schema is None:
            raise ConfigurationError("the estimator has no schema, but records are read by a public one; pass schema=.")
        records = self.estimator.schema.records_per_person
        claim, randomness = promised(records, **{name: getattr(self, name) for name in RULES if name != "delta"})
        for name, least, most in (("refit", 0, 0.99), ("validation", 1e-3, 0.9)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise ConfigurationError(
                    f"{name} is {shown(value)}, but it is a share; pass a number from {least} to {most}."
                )
        grid = [dict(sorted(one.items())) for one in ParameterGrid(self.grid)]
        fixed = sorted({name for one in grid for name in one if name in FIXED})
        if fixed:
            raise ConfigurationError(f"the grid names {', '.join(fixed)}, which the search sets itself; leave it out.")
        if not 2 <= len(grid) <= 256:
            raise ConfigurationError(f"the grid has {len(grid)} candidates; pass from 2 to 256.")
        return claim, randomness, grid, self.estimator.schema

    def _largest_error(self, schema: Schema) -> float | None:
        largest = self.largest_error
        if isinstance(self.estimator, estimators.PrivateClassifier):
            if largest is not None:
                raise ConfigurationError("largest_error is for regressors; leave it out for a classifier.")
            return None
        if schema.outcome is None:
            raise ConfigurationError(
                "the estimator predicts a number, but its schema declares classes; declare an outcome."
            )
        width = schema.outcome.high - schema.outcome.low
        if largest is None:
            return width / 10
        if isinstance(largest, bool) or not isinstance(largest, int | float) or not 0 < largest <= width:
            raise ConfigurationError(
                f"largest_error is {shown(largest)}, but it is an error in the outcome's unit; pass a number above 0, up to the "
                f"width of the range, {width:g}."
            )
        return float(largest)

    def _candidates(self, grid: Sequence[Mapping[str, Any]], claim: Claim) -> list[estimators.PrivateEstimator]:
        given = self.estimator.get_params(deep=False)
        fixed = {name: getattr(claim, name) for name in ("epsilon", "adjacency", "records_per_person")}
        fixed |= {"random_state": None, "ledger": None, **({"delta": 0.0} if "delta" in given else {})}
        return [type(self.estimator)(**{**given, **one, **fixed}) for one in grid]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_searched")

    @property
    def _result(self) -> Searched:
        check_is_fitted(self)
        return self._searched

    best_estimator_ = property(attrgetter("_result.estimator"), doc="The fitted estimator.")
    certificate_ = property(attrgetter("_result.certificate"), doc="The cost of the search and the fit together.")
    classes_ = property(attrgetter("best_estimator_.classes_"), doc="The schema's classes, sorted; for classifiers.")
    n_features_in_ = property(attrgetter("best_estimator_.n_features_in_"), doc="How many features the schema has.")

    @property
    def best_params_(self) -> dict[str, Any]:
        """The parameters of the best candidate."""
        return dict(self._result.params)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each record, or the predicted outcome, by the best estimator."""
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the best estimator's probabilities, one row per record and one column per class; for classifiers."""
        return np.asarray(self.best_estimator_.predict_proba(X))

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy or R2 of the best estimator. It reads raw records, which no guarantee covers."""
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = own.estimator_type, own.target_tags
        tags.classifier_tags, tags.regressor_tags = own.classifier_tags, own.regressor_tags
        return tags
