"""From parameters to a claim, a plan, a model: the functions that fits, ``load``, audits and reproductions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy.typing as npt

from hedgerow.curator import Queryable
from hedgerow.curator.interactive import Curator
from hedgerow.engines.records import Records, table_of
from hedgerow.errors import ConfigurationError, without_sizes
from hedgerow.estimator.plans import Draw, FineBins, Fitted, Model, Plan, PublicCoins, RawPlan
from hedgerow.limits import Allowance
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import Constraint, check_parameters
from hedgerow.privacy.accounting import check_adjacency, cost
from hedgerow.privacy.certificate import Certificate, certify
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.privacy.unit import RECORD, Unit
from hedgerow.schema import Encoder, Schema
from hedgerow.table import Coded, Keep, Table

if TYPE_CHECKING:
    from hedgerow.estimator.base import PrivateEstimator

__all__ = [
    "answered",
    "certificate_of",
    "check_is_private",
    "claim_of",
    "draw_coins",
    "plain",
    "plan_by_bins",
    "plan_of",
    "restored",
    "result_of",
    "rules_of",
    "run",
    "with_result",
]

Estimator = TypeVar("Estimator", bound="PrivateEstimator")


def plain(estimator: Estimator) -> Estimator:
    """Return an unfitted estimator with the same parameters as checked plain values, or raise ConfigurationError."""
    return type(estimator)(**check_parameters(estimator.get_params(deep=False), estimator._rules()))


def claim_of(estimator: PrivateEstimator) -> Claim:
    """Return what a fit of an estimator promises; how many records a person has is the schema's to say where it does not."""
    delta, schema, records = exact_delta(getattr(estimator, "delta", 0)), estimator.schema, estimator.records_per_person
    if records is None:
        records = 1 if schema is None else schema.records_per_person
    return Claim(exact(estimator.epsilon), delta, check_adjacency(estimator.adjacency), int(records))


def draw_coins(estimator: PrivateEstimator, claim: Claim, draw: Draw) -> PublicCoins:
    """Return what public coins decide of a fit's plan."""
    return estimator._draw_coins(claim, draw)


def plan_of(estimator: PrivateEstimator, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
    """Return what a fit of an estimator will do: the one place where a fit is planned.

    It depends on these arguments alone; whatever the estimator was fitted on before has no part in it.
    """
    estimator._check_labels(schema)
    return plain(estimator)._plan(schema, claim, coins)


def certificate_of(
    estimator: PrivateEstimator,
    schema: Schema,
    claim: Claim,
    plan: Plan | RawPlan,
    *,
    seeded: bool,
    person: str | None = None,
) -> Certificate:
    """Return the certificate of a plan that is about to run, or raise BudgetExceeded where it costs more than the claim."""
    name, variant = type(estimator).__name__, estimator.variant
    return certify(name, plan.event, schema, variant=variant, claim=claim, seeded=seeded, person=person)


@without_sizes()
def run(
    plan: Plan | RawPlan, X: Any, y: Any, randomness: Randomness, keep: Keep | None = None
) -> tuple[Model, Sequence[str]]:
    """Return what a plan makes of records, and what its user should be told; ``X`` and ``y`` may have been read before.

    ``keep`` says which of each person's records count, where it is told who they are of.
    """
    if isinstance(plan, RawPlan):
        check_is_private(plan, X)
        return plan.fit_raw(X, y, randomness), ()
    with table_of(X, y, Coded(plan.encoder), keep) as table:
        return answered(plan, table, randomness)


def answered(plan: Plan, table: Table, randomness: Randomness) -> tuple[Model, Sequence[str]]:
    """Return what a plan makes of a table, and what its user should be told."""
    queryable = Queryable(table, cost(plan.event), randomness)
    return plan.fit(queryable), queryable.doubts


def check_is_private(plan: Plan | RawPlan, X: Any, unit: Unit = RECORD) -> None:
    """Raise ConfigurationError where a published form is given what it does not know.

    It reads raw columns, so not records that are not in memory, and it protects nobody, whatever the records of one person are.
    """
    if isinstance(plan, RawPlan) and unit != RECORD:
        raise ConfigurationError(
            "the published form protects nobody, so it knows no persons. Leave out groups and records_per_person, or pass "
            "variant='private'."
        )
    if isinstance(plan, RawPlan) and isinstance(X, Records):
        raise ConfigurationError(
            "the published form reads raw columns in the memory of one machine, so it takes no hr.Records. Pass a frame and "
            "its labels, or variant='private'."
        )


def with_result(
    estimator: Estimator, schema: Schema, certificate: Certificate, model: Model, *, named: bool, coins: PublicCoins
) -> Estimator:
    """Return a checked, unfitted estimator as one that a fit left with this model and certificate."""
    fitted = plain(estimator)
    fitted._fitted = Fitted(schema, certificate, model, fitted._stored(), named, coins)
    return fitted


def result_of(estimator: PrivateEstimator) -> Fitted:
    """Return what a fit left behind, or raise NotFittedError."""
    return estimator._result


def restored(
    kind: type[Estimator], document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], allowed: Allowance
) -> Estimator:
    """Return the fitted estimator that ``save`` wrote, or raise FileFormatError where it would take more than is allowed."""
    return kind._from_file(document, arrays, allowed)


def rules_of(kind: type[PrivateEstimator]) -> Mapping[str, Constraint]:
    """Return the constraint of each parameter of a class."""
    return kind._rules()


def plan_by_bins(estimator: Estimator, curator: Curator, claim: Claim, coins: PublicCoins) -> tuple[Estimator, Plan]:
    """Return a plan that reads records as the curator does, by its bins where the estimator leaves them open."""
    ways, given = [estimator], estimator.get_params(deep=False)
    if given.get("bins") == "survey":  # which an analyst's few bins leave no room for
        ways.append(type(estimator)(**{**given, "bins": "equal-width"}))
    if given.get("max_bins", curator.max_bins) is None:
        ways += [type(way)(**{**way.get_params(deep=False), "max_bins": curator.max_bins}) for way in ways]
    bins = curator.max_bins
    for way in ways:
        plan = plan_of(way, curator.schema, claim, coins)
        assert not isinstance(plan, RawPlan), "a private form asks a curator"
        if isinstance(plan, FineBins):
            plan = plan.on(Encoder(curator.schema, curator.max_bins))
        bins = plan.encoder.max_bins
        if bins == curator.max_bins:
            return way, plan
    raise ConfigurationError(
        f"{type(estimator).__name__} reads numeric features in {bins} bins, but the curator has {curator.max_bins}; make the "
        f"curator with max_bins={bins}."
    )
