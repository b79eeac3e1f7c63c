"""Guesses about who was trained on: the one-run audit with canaries, and membership inference beside what epsilon allows.

The one-run audit is that of Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import binom
from sklearn.base import clone, is_regressor
from sklearn.metrics import roc_auc_score, roc_curve

from hedgerow.arrays import Floats, Truth
from hedgerow.audit.findings import CONFIDENCE, Finding, check_confidence
from hedgerow.errors import ConfigurationError
from hedgerow.ledgers.ledger import uncounted
from hedgerow.privacy.accounting import Adjacency
from hedgerow.texts import short_repr

Shares = Sequence[tuple[float, float]]

RATES = (0.01, 0.001)
LARGEST_EPSILON = 100.0
# Shares of the canaries that are guessed to have taken part, and not to.
SHARES = ((0.05, 0.05), (0.1, 0.0), (0.0, 0.1), (0.25, 0.0), (0.0, 0.25), (0.25, 0.25), (0.5, 0.5))


def chance_of_guesses(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """Return an upper bound on the probability of this many right guesses, or more, if (epsilon, delta)-DP holds.

    Each canary took part by a fair coin of its own; the guesser may leave canaries out. For delta 0 the number of right guesses
    is at most a binomial one with the probability e^epsilon / (1 + e^epsilon) (theorem 5.2 of the paper); a delta adds
    2 m delta times the largest average of the probabilities of 1 to i fewer.
    """
    if not 0 <= right <= guesses <= canaries:
        raise ConfigurationError(
            "there are at most as many right guesses as guesses, and as many of these as canaries."
        )
    q = 1 / (1 + math.exp(-epsilon))
    chance = float(binom.sf(right - 1, guesses, q))
    if delta > 0:
        fewer = np.cumsum(binom.pmf(np.arange(right)[::-1], guesses, q)) / np.arange(1, right + 1)
        chance += 2 * canaries * delta * float(fewer.max(initial=0.0))
    return min(1.0, chance)


def guessing_bound(
    canaries: int, guesses: int, right: int, *, delta: float = 0.0, confidence: float = CONFIDENCE
) -> float:
    """Return the epsilon that this many right guesses refute, at a confidence; 0 if they refute none."""
    risk = 1 - check_confidence(confidence)

    def surplus(epsilon: float) -> float:
        return chance_of_guesses(canaries, guesses, right, epsilon, delta) - risk

    if surplus(0.0) >= 0:
        return 0.0
    return LARGEST_EPSILON if surplus(LARGEST_EPSILON) < 0 else float(brentq(surplus, 0.0, LARGEST_EPSILON)) - 1e-9


def numbers_of(canaries: int, shares: Shares) -> list[tuple[int, int]]:
    """Return the numbers guessed to have taken part and not to have, for each pair of shares; at least one guess."""
    return [(round(high * canaries) or int(low == 0), round(low * canaries) or int(high == 0)) for high, low in shares]


def best_bound(
    scores: Floats, took_part: Truth, *, delta: float, confidence: float, shares: Shares = SHARES
) -> tuple[float, int, int]:
    """Return the best bound over several numbers of guesses, each at its part of the risk; then right guesses and guesses.

    The highest scores are guessed to have taken part, and the lowest not. Equal ones must be in random order.
    """
    canaries, ascending = len(scores), took_part[np.argsort(scores, kind="stable")]
    risk = (1 - check_confidence(confidence)) / len(shares)
    bounds = []
    for high, low in numbers_of(canaries, shares):
        right = int(ascending[canaries - high :].sum() + (~ascending[:low]).sum())
        bound = guessing_bound(canaries, high + low, right, delta=delta, confidence=1 - risk)
        bounds.append((bound, right, high + low))
    return max(bounds)


def smallest_loss_told(
    canaries: int, epsilon: float, *, delta: float, confidence: float, shares: Shares = SHARES
) -> float:
    """Return the loss whose mean number of right guesses would refute ``epsilon``; infinite where all of them would not."""
    risk = (1 - check_confidence(confidence)) / len(shares)
    losses = [math.inf]
    for guesses in {high + low for high, low in numbers_of(canaries, shares)}:
        enough = [
            n for n in range(guesses // 2, guesses) if chance_of_guesses(canaries, guesses, n, epsilon, delta) < risk
        ]
        losses += [math.log(right / (guesses - right)) for right in enough[:1]]
    return min(losses)


def finding_of(
    scores: Floats, took_part: Truth, epsilon: float, delta: float, confidence: float, words: str, **described: Any
) -> Finding:
    """Return the finding of guesses by scores, which must be in random order where they are equal."""
    loss, right, guesses = best_bound(scores, took_part, delta=delta, confidence=confidence)
    return Finding(
        epsilon=epsilon,
        delta=delta,
        loss=loss,
        confidence=confidence,
        power=smallest_loss_told(len(scores), epsilon, delta=delta, confidence=confidence),
        words=words.format(right=right, guesses=guesses),
        **described,
    )


def make_canaries(
    X: npt.ArrayLike, y: npt.ArrayLike, count: int, random: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the places of some records, and the cells and labels of their canaries.

    A canary has another label than its record and, in a feature drawn at random, the rarest value of that feature.
    """
    cells, labels = np.array(X), np.array(y)
    if not 2 <= count <= len(labels) // 2:
        raise ConfigurationError(f"{count} canaries of {len(labels)} records; take from 2 to half of the records.")
    rows = random.choice(len(labels), count, replace=False)
    rarest = []
    for column in cells.T:
        _, first, times = np.unique(column.astype(str), return_index=True, return_counts=True)
        rarest.append(column[first[times.argmin()]])
    taken = cells[rows]
    for row, feature in enumerate(random.integers(0, cells.shape[1], count)):
        taken[row, feature] = rarest[feature]
    classes = np.unique(labels)
    shift = random.integers(1, len(classes), count)
    return rows, taken, classes[(np.searchsorted(classes, labels[rows]) + shift) % len(classes)]


def one_run_audit(
    classifier: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    adjacency: Adjacency = "add-remove",
    canaries: int = 1000,
    confidence: float = CONFIDENCE,
    subject: str = "",
    random_state: int | None = None,
) -> Finding:
    """Bound the privacy loss of any classifier from below by one fit on real records and canaries.

    Canaries are real records with another label and a rare value. A fair coin of its own says whether a canary takes part;
    otherwise it is left out, or for one record replaced, the record that it was made of stands in its place. After the fit
    the canaries whose label the model finds most probable are guessed to have taken part, and the least probable not.

    Parameters
    ----------
    classifier : scikit-learn classifier
        Not fitted; it is cloned. It may be of any library: only ``fit`` and ``predict_proba`` are used.
    X : array of shape (n_samples, n_features)
        The records; a frame is read as the array of its cells.
    y : array of shape (n_samples,)
        The labels.
    epsilon, delta : float
        The claim.
    adjacency : {"add-remove", "replace-one"}
        The adjacency of the claim.
    canaries : int
        The number of records that become canaries.
    confidence : float
        The probability that the bound is right.
    subject : str
        A description of the learner; empty: its class.
    random_state : int or None
        For the choice of canaries and their coins.

    Returns
    -------
    Finding
        A lower bound on epsilon, at the confidence.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from hedgerow.audit import one_run_audit
    >>> X = np.random.default_rng(0).uniform(0, 1, (1000, 2))
    >>> finding = one_run_audit(DecisionTreeClassifier(), X, X[:, 0] > 0.5, epsilon=1.0, canaries=400, random_state=0)
    >>> finding.loss > 1, finding.refuted
    (True, True)
    """
    random = np.random.default_rng(random_state)
    rows, cells, labels = make_canaries(X, y, canaries, random)
    took_part = random.integers(0, 2, canaries).astype(np.bool_)
    base, known = np.array(X), np.array(y)
    instead = rows[~took_part] if adjacency == "replace-one" else rows[:0]
    kept = np.append(np.delete(np.arange(len(known)), rows), instead)
    with uncounted():
        model = clone(classifier).fit(
            np.concatenate([base[kept], cells[took_part]]), np.concatenate([known[kept], labels[took_part]])
        )
    scores = label_probabilities(model, cells, labels)
    return finding_of(
        scores,
        took_part,
        epsilon,
        delta,
        confidence,
        "{right} of {guesses} guesses about the canaries that were the surest are right",
        subject=subject or type(classifier).__name__,
        attack="canaries",
        pair=f"{len(known) - canaries} real records with {canaries} canaries, each of which takes part by a fair coin",
        adjacency=adjacency,
    )


def label_probabilities(model: Any, X: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Floats:
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    place = {label: i for i, label in enumerate(np.asarray(model.classes_).tolist())}
    column = np.array([place.get(label, -1) for label in np.asarray(labels).tolist()])
    return np.where(column >= 0, probabilities[np.arange(len(column)), column], 0.0)


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


def allowed_rate(false: float, epsilon: float, delta: float = 0.0) -> float:
    """Return the largest rate of true accusations that (epsilon, delta)-DP allows at a rate of false ones."""
    factor = math.exp(min(epsilon, 700.0))
    return min(1.0, factor * false + delta, 1 - (1 - false - delta) / factor)


def membership_attack(
    classifier: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    rates: Sequence[float] = RATES,
    confidence: float = CONFIDENCE,
    subject: str = "",
    random_state: int | None = None,
) -> MembershipReport:
    """Train a model on records of which a fair coin chose each, and tell from the model which these are.

    It accuses those whose label the model finds probable (Yeom and others 2018), of a regressor those whose outcome it predicts
    best.

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
    with uncounted():
        model = clone(classifier).fit(cells[member], labels[member])
    if is_regressor(classifier):
        scores = -np.abs(np.asarray(model.predict(cells), dtype=np.float64) - labels.astype(np.float64))
    else:
        scores = label_probabilities(model, cells, labels)
    false, true, _ = roc_curve(member, scores)
    finding = finding_of(
        scores,
        member,
        epsilon,
        delta,
        confidence,
        "{right} of the {guesses} guesses about records that were the surest are right",
        subject=subject or type(classifier).__name__,
        attack="membership",
        pair=f"{len(labels)} real records, each of which is trained on by a fair coin",
        adjacency="add-remove",
    )
    reached = np.interp(rates, false, true)  # between two thresholds a coin chooses
    points = tuple(
        Operating(rate, float(share), allowed_rate(rate, epsilon, delta))
        for rate, share in zip(rates, reached, strict=True)
    )
    return MembershipReport(float(roc_auc_score(member, scores)), points, finding)
