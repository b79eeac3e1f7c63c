"""The finding of an attack on a claim."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from hedgerow.notebook import html_table
from hedgerow.privacy.accounting import Adjacency

__all__ = ["Finding"]

BY_CONTENTS = ("contents", "certificate")  # ways of which no loss is told


@dataclass(frozen=True, repr=False)
class Finding:
    """One attack on one claim: a loss that is certainly, or at a stated confidence, there.

    Parameters
    ----------
    subject : str
        What was attacked, such as ``"edprf, published"``.
    attack : str
        How: ``"exact"``, ``"distinguishing"``, ``"canaries"``, ``"membership"``, ``"contents"``, or ``"certificate"``
        where a model's own certificate says that there is no guarantee, which no loss is claimed of.
    pair : str
        The two data sets, in words.
    adjacency : {"add-remove", "replace-one"}
        What makes them neighbors.
    epsilon, delta : float
        The claim.
    loss : float
        A lower bound on the epsilon that holds at ``delta``; infinite where no epsilon does.
    confidence : float
        The probability that the bound is right; 1.0 where the loss is exact.
    power : float
        The smallest loss that this attack would have distinguished from a loss within the claim; infinite if none.
    words : str
        The event that tells the two data sets apart, in words.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.audit import exact_loss
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
    >>> model = hr.EDPRFClassifier(epsilon=1.0, schema=schema, n_estimators=1, max_depth=1)
    >>> finding = exact_loss(model, [("x", "no")], [("x", "no"), ("x", "no")])
    >>> finding.attack, finding.loss <= finding.epsilon, finding.refuted
    ('exact', True, False)
    """

    subject: str
    attack: str
    pair: str
    adjacency: Adjacency
    epsilon: float
    delta: float
    loss: float
    confidence: float
    power: float
    words: str

    @property
    def refuted(self) -> bool:
        """Whether the loss is above the claim."""
        return self.loss > self.epsilon

    @property
    def verdict(self) -> str:
        """What the finding comes to: "refuted", "not refuted", or "no guarantee" where the certificate says so itself."""
        if self.attack == "certificate":
            return "no guarantee"
        return "refuted" if self.refuted else "not refuted"

    @property
    def claim(self) -> str:
        """The claim in words."""
        return f"epsilon {self.epsilon:.12g}" + (f", delta {self.delta:.12g}" if self.delta else "")

    @property
    def certainty(self) -> str:
        """How certain the bound is, in words."""
        return "exact" if self.confidence >= 1 else f"{100 * self.confidence:.12g} % for all pairs together"

    def __repr__(self) -> str:
        loss = "" if self.attack in BY_CONTENTS else f", a loss of at least {self.loss:.3g}"
        return f"<Finding: {self.subject}: {self.verdict}{loss}>"

    def __str__(self) -> str:
        if self.attack in BY_CONTENTS:
            return f"{self.subject}: {self.verdict}: {self.words}"
        seen = f"; a loss of {self.power:.3g} would have been seen" if isfinite(self.power) else ""
        lines = [
            f"{self.subject}: {self.claim}, {self.adjacency}: " + ("REFUTED" if self.refuted else "not refuted"),
            f"  {self.pair}",
            f"  the loss is at least {self.loss:.3g} ({self.certainty}){seen}",
            f"  {self.words}",
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        return html_table(title, [(line.strip(),) for line in lines])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the verdict as plain values; infinite losses are the text ``"infinity"``."""
        plain = {name: "infinity" if value == float("inf") else value for name, value in asdict(self).items()}
        return {**plain, "refuted": self.refuted, "verdict": self.verdict}
