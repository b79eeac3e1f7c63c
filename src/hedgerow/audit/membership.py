"""Membership inference: how well can one tell who was trained on, and how well does epsilon allow it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_regressor
from sklearn.metrics import roc_auc_score, roc_curve

from hedgerow.arrays import Floats
from hedgerow.audit.bounds import CONFIDENCE
from hedgerow.audit.canaries import best_bound, label_probabilities, smallest_loss_told
from hedgerow.audit.findings import Finding
from hedgerow.errors import ConfigurationError
from hedgerow.ledgers.ledger import uncounted
from hedgerow.texts import short_repr

__all__ = ["MembershipReport", "Operating", "allowed_rate", "membership_attack"]

Attack = Literal["label", "likelihood-ratio", "loss"]

RATES = (0.01, 0.001)
LEAST = 1e-6  # of a probability, whose log-odds are then finite
LEAST_DEVIATION = 0.1  # of log-odds over few shadow models


@dataclass(frozen=True)
class Operating:
    """One threshold of an attack: of those that were not trained on it accuses a share ``false``, of the others ``true``.

    ``allowed`` is the largest share that the claim allows at that rate of false accusations.
    """

    false: float
    true: float
    allowed: float


@dataclass(frozen=True)
class MembershipReport:
    """What a membership attack reaches, beside what the claim allows.

    Parameters
    ----------
    auc : float
        The area under the attack's curve of true against false accusations; 1/2 is guessing.
    operating : tuple of Operating
        The attack at low rates of false accusations.
    finding : Finding
        The lower bound on epsilon that the same guesses show.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from hedgerow.audit import membership_attack
    >>> random = np.random.default_rng(0)
    >>> X, y = random.uniform(0, 1, (400, 2)), random.integers(0, 2, 400)
    >>> report = membership_attack(DecisionTreeClassifier(), X, y, epsilon=1.0, random_state=0)
    >>> report.auc > 0.6
    True
    """

    auc: float
    operating: tuple[Operating, ...]
    finding: Finding

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {
            "auc": self.auc,
            "operating": [asdict(point) for point in self.operating],
            "finding": self.finding.to_dict(),
        }


def allowed_rate(false: float, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest rate of true accusations that (epsilon, delta)-DP allows at a rate of false ones.

    Parameters
    ----------
    false : float
        The rate of false accusations, from 0 to 1.
    epsilon, delta : float
        The guarantee.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from hedgerow.audit import allowed_rate
    >>> round(allowed_rate(0.01, 1.0), 4)
    0.0272
    """
    factor = math.exp(min(epsilon, 700.0))
    return min(1.0, factor * false + delta, 1 - (1 - false - delta) / factor)


def membership_attack(
    classifier: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    attack: Attack = "loss",
    shadows: int = 16,
    rates: Sequence[float] = RATES,
    confidence: float = CONFIDENCE,
    subject: str = "",
    random_state: int | None = None,
) -> MembershipReport:
    """Train a model on records of which a fair coin chose each, and tell from the model which these are.

    Parameters
    ----------
    classifier : scikit-learn classifier or regressor
        Not fitted; it is cloned. It may be of any library: only ``fit``, ``predict_proba`` and ``predict`` are used.
    X : array of shape (n_samples, n_features)
        The records; a frame is read as the array of its cells.
    y : array of shape (n_samples,)
        The labels.
    epsilon, delta : float
        The claim, for one record added or removed.
    attack : {"loss", "likelihood-ratio", "label"}
        Accuse those whose label the model finds probable (Yeom and others 2018); those whose label it finds more probable than
        shadow models do that were trained without them (Carlini and others 2022, offline); or those whose label it predicts.
        Of a regressor "loss" accuses those whose outcome it predicts best; the others need classes.
    shadows : int
        How many shadow models are trained, each on a half of the records.
    rates : sequence of float
        Rates of false accusations at which the attack is reported.
    confidence : float
        Of the finding's bound.
    subject : str
        A description of the learner; empty: its class.
    random_state : int or None
        For the coins.

    Returns
    -------
    MembershipReport
        How well the attack tells members, and the bound on epsilon that follows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from hedgerow.audit import membership_attack
    >>> random = np.random.default_rng(0)
    >>> report = membership_attack(
    ...     DecisionTreeClassifier(), random.uniform(size=(1000, 3)), random.integers(0, 2, 1000), epsilon=1.0, random_state=0
    ... )
    >>> report.auc > 0.7, report.finding.refuted
    (True, True)
    """
    random = np.random.default_rng(random_state)
    order = random.permutation(len(np.asarray(y)))  # so that equal scores stand in random order
    cells, labels = np.array(X)[order], np.array(y)[order]
    member = random.integers(0, 2, len(labels)).astype(np.bool_)
    if attack not in ("label", "likelihood-ratio", "loss"):
        raise ConfigurationError(f"attack is {attack!r}; pass 'loss', 'likelihood-ratio' or 'label'.")
    of_numbers = is_regressor(classifier)
    if of_numbers and attack != "loss":
        raise ConfigurationError(f"attack is {attack!r}, which needs classes; pass attack='loss' for a regressor.")
    with uncounted():
        model = clone(classifier).fit(cells[member], labels[member])
    if of_numbers:
        scores = -np.abs(np.asarray(model.predict(cells), dtype=np.float64) - labels.astype(np.float64))
    elif attack == "label":
        scores = (np.asarray(model.predict(cells)) == labels).astype(np.float64)
    else:
        scores = label_probabilities(model, cells, labels)
    if attack == "likelihood-ratio":
        scores = _against_shadows(classifier, cells, labels, scores, shadows, random)
    loss, right, guesses = best_bound(scores, member, delta=delta, confidence=confidence)
    false, true, _ = roc_curve(member, scores)
    finding = Finding(
        subject=subject or type(classifier).__name__,
        attack="membership",
        pair=f"{len(labels)} real records, each of which is trained on by a fair coin; {attack}",
        adjacency="add-remove",
        epsilon=epsilon,
        delta=delta,
        loss=loss,
        confidence=confidence,
        power=smallest_loss_told(len(labels), epsilon, delta=delta, confidence=confidence),
        words=f"{right} of the {guesses} guesses about records that were the surest are right",
    )
    reached = np.interp(rates, false, true)  # between two thresholds a coin chooses
    points = tuple(
        Operating(rate, float(share), allowed_rate(rate, epsilon, delta))
        for rate, share in zip(rates, reached, strict=True)
    )
    return MembershipReport(float(roc_auc_score(member, scores)), points, finding)


def _against_shadows(
    classifier: Any,
    cells: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    scores: Floats,
    shadows: int,
    random: np.random.Generator,
) -> Floats:
    """Return how far each record's log-odds are above those of models that were trained without it, in deviations."""
    if shadows < 4:
        raise ConfigurationError(f"shadows is {shadows}, but a record needs models without it; pass 4 or more.")
    without = np.full((shadows, len(labels)), np.nan)
    halves = np.array([random.permutation(shadows) < shadows // 2 for _ in labels]).T  # each record is in half of them
    for shadow, half in zip(without, halves, strict=True):
        with uncounted():
            model = clone(classifier).fit(cells[half], labels[half])
        shadow[~half] = _log_odds(label_probabilities(model, cells[~half], labels[~half]))
    mean = np.nanmean(without, axis=0)
    deviation = np.maximum(np.nanstd(without, axis=0), LEAST_DEVIATION)
    return np.asarray((_log_odds(scores) - mean) / deviation)


def _log_odds(probability: Floats) -> Floats:
    kept = np.clip(probability, LEAST, 1 - LEAST)
    return np.log(kept) - np.log1p(-kept)
