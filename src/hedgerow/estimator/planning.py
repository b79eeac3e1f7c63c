"""From parameters to a claim and to a plan that runs; shared by fits, ``load``, audits and reproductions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, dataclass_transform

from hedgerow.arrays import without_sizes
from hedgerow.curator import Queryable
from hedgerow.curator.given import RULES, Call
from hedgerow.curator.interactive import Curator
from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.estimator.plans import Fitted, Model, Plan, PublicCoins, RawPlan
from hedgerow.ledgers.ledger import Ledger
from hedgerow.mechanisms import Randomness
from hedgerow.mechanisms.randomness import Draw
from hedgerow.parameters import Instance, RandomSource, check_parameters, describe, parameter, rules_of
from hedgerow.privacy.accounting import check_adjacency, cost
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import RECORD, Claim, Start, Unit
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.schema import Encoder, Schema
from hedgerow.table import Coded, Keep, MemoryTable, Table

if TYPE_CHECKING:
    from sklearn.utils import Tags

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **parameters: Any) -> Self: ...
        def __sklearn_clone__(self) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class MetaEstimatorMixin: ...

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin  # noqa: F401


SCHEMA = Instance(
    Schema,
    "an hr.Schema, which says what is public about the data; build one, load one with hr.Schema.load(path), or pass None to "
    "explore without a guarantee",
)


class _Attributes(BaseEstimator):
    # Here, because annotations of ``Planned`` and its subclasses are parameters.
    _fitted: Fitted
    _cloned_by: Call | None = None
    variant: str = "private"


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
@dataclass(eq=False, repr=False)
class Planned(_Attributes):
    """The parameters of an estimator, checked and read, from which a fit is planned.

    A subclass declares its parameters as fields, each with its constraint, and turns a schema and a budget into a plan. Its
    ``__init__`` is generated from its fields and its parents'.

    Parameters
    ----------
    epsilon : float, default 1.0
        The total privacy budget, read as its shortest decimal.
    schema : Schema or None
        What is public about the data. None infers it from the records, which voids the guarantee.
    adjacency : {"add-remove", "replace-one"}
        What neighboring data sets are. Under "replace-one" the plan runs at half the budget.
    records_per_person : int, optional
        The guarantee protects a person, of whom at most this many records are read. None: the schema's value, or 1. If the
        schema names a column of persons, or ``fit`` has ``groups``, these records are drawn at random. Otherwise it is the data
        owner's promise that no person has more.
    random_state : None, int or numpy generator
        None draws from the operating system's entropy, which a guarantee requires. Other values are for tests.
    ledger : Ledger or None
        The ledger that is charged for the fit's plan before anything is drawn.
    """

    epsilon: float = parameter(RULES["epsilon"], default=1.0, kw_only=False)
    schema: Schema | None = parameter(SCHEMA, default=None)
    adjacency: str = parameter(RULES["adjacency"], default="add-remove")
    records_per_person: int | None = parameter(RULES["records_per_person"], default=None)
    random_state: RandomSource = parameter(RULES["random_state"], default=None)
    ledger: Ledger | None = parameter(RULES["ledger"], default=None)

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        dataclass(cls, eq=False, repr=False)
        describe(cls, Planned)

    @abstractmethod
    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan:
        """Return the plan of a private fit; ``coins`` are those of ``_draw_coins``."""

    def _printed_plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> RawPlan:
        raise ConfigurationError(f"{type(self).__name__} has no published form; pass variant='private'.")

    def _draw_coins(self, claim: Claim, draw: Draw) -> PublicCoins:
        """Return the public coins on which the plan depends. No record has been read."""
        return ()

    def _starts(self) -> tuple[Start, ...]:
        return ()


Estimator = TypeVar("Estimator", bound=Planned)


def plain(estimator: Estimator) -> Estimator:
    return type(estimator)(**check_parameters(estimator.get_params(deep=False), rules_of(type(estimator))))


def claim_of(estimator: Planned) -> Claim:
    delta, schema, records = exact_delta(getattr(estimator, "delta", 0)), estimator.schema, estimator.records_per_person
    if records is None:
        records = 1 if schema is None else schema.records_per_person
    return Claim(exact(estimator.epsilon), delta, check_adjacency(estimator.adjacency), int(records))


# Other packages read no protected name, so these hand on what an estimator keeps to itself.


def draw_coins(estimator: Planned, claim: Claim, draw: Draw) -> PublicCoins:
    return estimator._draw_coins(claim, draw)


def starts_of(estimator: Planned) -> tuple[Start, ...]:
    return estimator._starts()


def plan_of(estimator: Planned, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
    """Return the plan of a fit, which depends on these arguments alone: the one place where a fit is planned."""
    name, of_numbers = type(estimator).__name__, isinstance(estimator, RegressorMixin)
    if of_numbers == (schema.outcome is None):
        wanted, declared, way = "classes", "an outcome", "hr.HedgerowRegressor, or declare classes=[...]"
        if of_numbers:
            wanted, declared, way = "a number", "classes", "a classifier, or declare outcome=hr.Numeric(low, high)"
        raise ConfigurationError(
            f"{name} predicts {wanted}, but the schema declares {declared}. Pass the schema to {way}."
        )
    checked = plain(estimator)
    make = checked._plan if checked.variant == "private" else checked._printed_plan
    return make(schema, claim, coins)


def certificate_of(
    estimator: Planned,
    schema: Schema,
    claim: Claim,
    plan: Plan | RawPlan,
    *,
    seeded: bool,
    person: str | None = None,
    premises: tuple[str, ...] = (),
) -> Certificate:
    name, variant, starts = type(estimator).__name__, estimator.variant, estimator._starts()
    return certify(
        name, plan.event, schema, claim, seeded=seeded, variant=variant, person=person, starts=starts, premises=premises
    )


@without_sizes()
def run(
    plan: Plan | RawPlan, X: Any, y: Any, randomness: Randomness, keep: Keep | None = None
) -> tuple[Model, Sequence[str]]:
    if isinstance(plan, RawPlan):
        return plan.fit_raw(X, y, randomness), ()
    reading = Coded(plan.encoder)
    opened: AbstractContextManager[Table] = (
        closing(X.read(reading, keep)) if isinstance(X, Records) else nullcontext(MemoryTable.by(reading, X, y, keep))
    )
    with opened as table:
        queryable = Queryable(table, cost(plan.event), randomness)
        return plan.fit(queryable), queryable.warnings_of(plan.encoder)


def check_published(X: Any, unit: Unit) -> None:
    if unit != RECORD or isinstance(X, Records):
        raise ConfigurationError(
            "the published form protects nobody and reads raw columns in memory, so it takes no hr.Records, groups or "
            "records_per_person. Pass a frame and its labels, or variant='private'."
        )


def plan_by_bins(estimator: Estimator, curator: Curator, claim: Claim, coins: PublicCoins) -> tuple[Estimator, Plan]:
    """Return a plan that reads records as the curator does, and in its bins if the estimator does not choose them."""
    ways, given = [estimator], estimator.get_params(deep=False)
    if given.get("bins") == "survey":  # the few bins of an analyst leave no room for a survey
        ways.append(type(estimator)(**{**given, "bins": "equal-width"}))
    if given.get("max_bins", curator.max_bins) is None:
        ways += [type(way)(**{**way.get_params(deep=False), "max_bins": curator.max_bins}) for way in ways]
    bins = curator.max_bins
    for way in ways:
        plan = plan_of(way, curator.schema, claim, coins)
        assert not isinstance(plan, RawPlan), "a private form asks a curator"
        if hasattr(plan, "on"):  # its survey merges fine bins of its own, and may merge an analyst's in their place
            plan = plan.on(Encoder(curator.schema, curator.max_bins))
        bins = plan.encoder.max_bins
        if bins == curator.max_bins:
            return way, plan
    raise ConfigurationError(
        f"{type(estimator).__name__} reads numeric features in {bins} bins, but the curator has {curator.max_bins}; make the "
        f"curator with max_bins={bins}."
    )
