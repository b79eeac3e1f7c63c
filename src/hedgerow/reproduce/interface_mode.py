"""Which systems learn through a curator, who answers questions and keeps the records: the interface mode of the papers."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.curator import Curator
from hedgerow.errors import HedgerowError
from hedgerow.reproduce.claims import fact, stated
from hedgerow.reproduce.experiment import Verdict
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.systems import system_class

__all__ = ["through_curator"]


@fact
def through_curator(systems: Sequence[str]) -> Verdict:
    """Say whether the private form of each system fits by asking a curator, and answers."""
    refused = [found for found in map(_refusal, systems) if found]
    words = f"{len(systems)} of {len(systems)} fitted through a curator: {', '.join(systems)}"
    return stated(not refused, "; ".join(refused) or words)


def _refusal(system: str) -> str:
    """Return why a system does not learn through a curator, or nothing."""
    schema = Schema({"number": Numeric(0, 1), "word": Categorical(["a", "b"])}, classes=["no", "yes"])
    X = [[0.1, "a"], [0.3, "a"], [0.7, "b"], [0.9, "b"]] * 5
    curator = Curator(X, ["no", "no", "yes", "yes"] * 5, schema, epsilon=1.0)
    try:
        model = system_class(system)(epsilon=1.0).fit_curator(curator)
    except HedgerowError as error:
        return f"{system}: {error}"
    return "" if len(model.predict(X)) == len(X) and curator.spent > 0 else f"{system}: the curator was asked nothing"
