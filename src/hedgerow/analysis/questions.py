"""What all private questions about records share: the rules of their parameters, and which records they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from hedgerow.engines.records import Records
from hedgerow.errors import ConfigurationError
from hedgerow.parameters import Choice, Constraint, Exact, Instance, Integer, Seed
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact, exact_delta
from hedgerow.privacy.ledger import Ledger
from hedgerow.privacy.unit import MOST_RECORDS

__all__ = ["RULES", "claim_of_values", "refuse_elsewhere"]

RULES: Mapping[str, Constraint] = {
    "epsilon": Exact(exact, "the privacy budget, a number from 1e-9 to 1e9; pass for example epsilon=0.1"),
    "delta": Exact(
        exact_delta, "the probability that the guarantee fails, from 0 to below 1; pass for example delta=1e-7"
    ),
    "adjacency": Choice(get_args(Adjacency)),
    "records_per_person": Integer(1, MOST_RECORDS),
    "random_state": Seed(),
    "ledger": Instance(Ledger, "an hr.Ledger, which keeps budgets; pass hr.Ledger(epsilon=...) or None"),
}


def claim_of_values(values: Mapping[str, Any]) -> Claim:
    """Return what a question promises, by its checked parameters."""
    delta = exact_delta(values.get("delta", 0))
    return Claim(exact(values["epsilon"]), delta, values["adjacency"], values["records_per_person"])


def refuse_elsewhere(X: Any) -> None:
    """Raise ConfigurationError where records are not in memory: what is asked here reads them as columns."""
    if isinstance(X, Records):
        raise ConfigurationError(
            "X is hr.Records, but this question reads records in the memory of one machine. Pass a frame of them."
        )
