"""The finding of an attack on a claim, and bounds on epsilon from counts of an event: exact intervals, no asymptotics."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import beta, binom

from hedgerow.arrays import Floats
from hedgerow.privacy.accounting import Adjacency
from hedgerow.systems import list_systems

CONFIDENCE = 0.999  # the default of every audit
LARGEST_LOSS = 60.0
SEEN = 0.9  # the probability with which a loss of the stated power is detected
BY_CONTENTS = ("contents", "certificate")  # ways of which no loss is told


@dataclass(frozen=True, repr=False)
class Finding:
    """One attack on one claim: a loss that is certainly, or at a stated confidence, there.

    Parameters
    ----------
    subject : str
        What was attacked, such as ``"edprf, published"``.
    attack : str
        How: ``"exact"``, ``"distinguishing"``, ``"contents"``, or ``"certificate"`` where a model's own certificate says that
        there is no guarantee, which no loss is claimed of.
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
        return self.loss > self.epsilon

    @property
    def verdict(self) -> str:
        """What the finding comes to: "refuted", "not refuted", or "no guarantee" where the certificate says so itself."""
        if self.attack == "certificate":
            return "no guarantee"
        return "refuted" if self.refuted else "not refuted"

    @property
    def claim(self) -> str:
        return f"epsilon {self.epsilon:.12g}" + (f", delta {self.delta:.12g}" if self.delta else "")

    @property
    def certainty(self) -> str:
        return "exact" if self.confidence >= 1 else f"{100 * self.confidence:.12g} % for all pairs together"

    def __repr__(self) -> str:
        loss = "" if self.attack in BY_CONTENTS else f", a loss of at least {self.loss:.3g}"
        return f"<Finding: {self.subject}: {self.verdict}{loss}>"

    def __str__(self) -> str:
        if self.attack in BY_CONTENTS:
            return f"{self.subject}: {self.verdict}: {self.words}"
        seen = f"; a loss of {self.power:.3g} would have been seen" if math.isfinite(self.power) else ""
        lines = [
            f"{self.subject}: {self.claim}, {self.adjacency}: " + ("REFUTED" if self.refuted else "not refuted"),
            f"  {self.pair}",
            f"  the loss is at least {self.loss:.3g} ({self.certainty}){seen}",
            f"  {self.words}",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the verdict as plain values; infinite losses are the text ``"infinity"``."""
        plain = {name: "infinity" if value == float("inf") else value for name, value in asdict(self).items()}
        return {**plain, "refuted": self.refuted, "verdict": self.verdict}


def system_name(class_name: str) -> str:
    names = {info.class_name: info.name for info in (*list_systems(), *list_systems(regressors=True))}
    return names.get(class_name, class_name)


def at_least(hits: Any, runs: Any, risk: float) -> Floats:
    """Return a lower bound on the probability of an event, which fails with probability ``risk`` (Clopper and Pearson 1934)."""
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, beta.ppf(risk, np.maximum(hits, 1), runs - hits + 1), 0.0)


def at_most(hits: Any, runs: Any, risk: float) -> Floats:
    """Return an upper bound on the probability of an event, which fails with probability ``risk`` (Clopper and Pearson 1934)."""
    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits < runs, beta.ppf(1 - risk, hits + 1, np.maximum(runs - hits, 1)), 1.0)


def epsilon_bound(more: Any, fewer: Any, runs: tuple[int, int], delta: float, risk: float) -> Floats:
    """Return a lower bound on every epsilon for which (epsilon, delta)-DP holds, which fails with probability ``risk`` at most.

    An (epsilon, delta)-DP learner gives an event that has the probability q on one data set at most e^epsilon q + delta on a
    neighbor. ``more`` and ``fewer`` are the runs with the event, of ``runs`` each, on the data set where it is more likely and
    on the other one. Half of the risk is for each of the two probabilities.
    """
    high = at_least(more, runs[0], risk / 2) - delta
    low = at_most(fewer, runs[1], risk / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high > 0, np.maximum(np.log(np.maximum(high, 0.0)) - np.log(low), 0.0), 0.0)


def smallest_loss_seen(epsilon: float, delta: float, runs: int, risk: float) -> float:
    """Return the smallest loss that would be distinguished from ``epsilon`` nine times in ten; infinite if none would.

    It is the loss L of randomized response, which is the easiest loss to detect: its event has the probability
    e^L / (1 + e^L) on one data set and 1 / (1 + e^L) on the other. A loss that shows in rare events only needs more runs.
    """

    def surplus(loss: float) -> float:
        likely = 1 / (1 + math.exp(-loss))
        half = math.sqrt(SEEN)  # both counts are as good as expected here
        more = binom.ppf(1 - half, runs, likely)
        fewer = binom.ppf(half, runs, 1 - likely)
        return float(epsilon_bound(more, fewer, (runs, runs), delta, risk)) - epsilon

    if runs < 1 or surplus(LARGEST_LOSS) <= 0:
        return math.inf
    # Counts are whole numbers, so the surplus has steps. The result is its last change of sign.
    smallest = float(brentq(surplus, min(epsilon, LARGEST_LOSS), LARGEST_LOSS, xtol=1e-4))
    while surplus(smallest) <= 0:
        smallest += 0.001
    return smallest
