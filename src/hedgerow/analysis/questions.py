"""What all private questions about records share: the rules of their parameters, what they promise, where draws come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from hedgerow.ledgers.ledger import Ledger
from hedgerow.limits import MOST_RECORDS_OF_ONE
from hedgerow.mechanisms import Randomness
from hedgerow.parameters import Choice, Constraint, Exact, Instance, Integer, Seed, check_parameters
from hedgerow.privacy.accounting import Adjacency
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact, exact_delta

__all__ = ["RULES", "promised"]

RULES: Mapping[str, Constraint] = {
    "epsilon": Exact(exact, "the privacy budget, a number from 1e-9 to 1e9; pass for example epsilon=0.1"),
    "delta": Exact(
        exact_delta, "the probability that the guarantee fails, from 0 to below 1; pass for example delta=1e-7"
    ),
    "adjacency": Choice(get_args(Adjacency)),
    "records_per_person": Integer(1, MOST_RECORDS_OF_ONE, or_none=True),
    "random_state": Seed(),
    "ledger": Instance(Ledger, "an hr.Ledger, which keeps budgets; pass hr.Ledger(epsilon=...) or None"),
}


def promised(records: int, **given: Any) -> tuple[Claim, Randomness]:
    """Return what a question promises and where its draws come from, or raise ConfigurationError where a parameter is wrong.

    ``records`` is how many a person has where ``records_per_person`` is None.
    """
    values = check_parameters(given, {name: RULES[name] for name in given})
    delta = exact_delta(values.get("delta", 0))
    of_one = values["records_per_person"]
    claim = Claim(exact(values["epsilon"]), delta, values["adjacency"], records if of_one is None else of_one)
    return claim, Randomness(values["random_state"])
