"""Which systems learn through a curator, who answers questions and keeps the records: the interface mode of the papers."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.curator import Curator
from hedgerow.errors import HedgerowError
from hedgerow.reproduce.experiment import Check, Form, Measured, Verdict
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.systems import system_class

__all__ = ["INTERFACE", "through_curator"]

# Table 1 of the CART-DPsAdaBoost paper names these for the interface mode; the others that it lists need all records.
INTERFACE = ("sulq-id3", "pinq-id3", "diffp-id3", "diffp-c45", "diffprf", "diffprfs")


def through_curator(systems: Sequence[str]) -> Check:
    """Return the check that the private form of each system fits by asking a curator, and answers; no run is needed."""

    def check(results: Measured, form: Form) -> Verdict:
        refused = [found for found in map(_refusal, systems) if found]
        if refused:
            return Verdict("does not", "; ".join(refused))
        return Verdict("holds", f"{len(systems)} of {len(systems)} fitted through a curator: {', '.join(systems)}")

    return check


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
