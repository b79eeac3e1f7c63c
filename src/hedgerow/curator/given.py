"""The arguments that fits, curators and queries share: records, and the parameters of their claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError, without_sizes
from hedgerow.ledgers.ledger import Ledger
from hedgerow.limits import MOST_RECORDS_OF_ONE
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import Choice, Constraint, Exact, Instance, Seed, WholeNumber, check_parameters
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.schema import Schema
from hedgerow.schema.columns import read_records
from hedgerow.schema.persons import Groups, read_groups, split_groups

__all__ = ["RULES", "check_alone", "promised", "read_given"]

RULES: Mapping[str, Constraint] = {
    "epsilon": Exact(exact, "the privacy budget, a number from 1e-9 to 1e9; pass for example epsilon=1.0"),
    "delta": Exact(
        exact_delta, "the probability that the guarantee fails, from 0 to below 1; pass for example delta=1e-7"
    ),
    "adjacency": Choice(get_args(Adjacency)),
    "records_per_person": WholeNumber(1, MOST_RECORDS_OF_ONE, or_none=True),
    "random_state": Seed(),
    "ledger": Instance(Ledger, "an hr.Ledger, which keeps budgets; pass hr.Ledger(epsilon=...) or None"),
}


def promised(records: int, **given: Any) -> tuple[Claim, Randomness]:
    """Return the claim of a query and the source of its draws, or raise ConfigurationError if a parameter is wrong.

    ``records`` is the number of records of a person if ``records_per_person`` is None.
    """
    values = check_parameters(given, {name: RULES[name] for name in given})
    delta = exact_delta(values.get("delta", 0))
    of_one = values["records_per_person"]
    claim = Claim(exact(values["epsilon"]), delta, values["adjacency"], records if of_one is None else of_one)
    return claim, Randomness(values["random_state"])


@without_sizes()
def read_given(
    X: Any, y: Any, groups: Any, schema: Schema, *, again: bool = False
) -> tuple[Any, Any, bool, Groups | None]:
    """Return the records and their labels, whether the records have column names, and the person of each record.

    ``again`` means that records are read several times.

    Raises
    ------
    SchemaError, ConfigurationError
        As ``read_records`` and ``Records.check`` do; for ``Records`` also with labels beside them.
    """
    if isinstance(X, Records):
        check_alone(y, groups)
        X.check(schema, again=again)
        return X, None, True, X.groups_by(schema)
    X, groups = split_groups(X, groups, schema.person)
    columns, labels = read_records(X, y, schema.features, schema.labels)
    return columns, labels, columns.named, read_groups(groups, columns.n_rows, schema.missing, schema.person)


def check_alone(y: Any, groups: Any) -> None:
    """Raise ConfigurationError if labels or person ids are passed beside ``Records``."""
    if y is not None:
        raise ConfigurationError("hr.Records hold their labels; pass y=None, and name the label column by label=.")
    if groups is not None:
        raise ConfigurationError("hr.Records hold person ids themselves; omit groups, and name the column by group=.")
