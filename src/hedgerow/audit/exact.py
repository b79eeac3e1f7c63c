"""The exact law of the release of a fit: the fit runs once for every sequence of outcomes of its draws.

There are no statistics and no model of the code. The shipped learner runs, and each mechanism's ``law`` gives the probabilities
of its answers. It is for tiny data: the number of runs is the number of possible releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.audit.grid import Grid
from hedgerow.audit.replay import Replay
from hedgerow.errors import ConfigurationError

__all__ = ["Law", "ReleaseSet", "exact_law", "open_law", "total", "worst_event", "worst_loss"]

Released = TypeVar("Released", bound=Hashable)
Mixture = list[tuple[float, tuple[Floats, ...]]]  # weights, and the laws of the independent items of a last draw
Law = Mapping[Any, Any]  # of each release: its probability, or the mixture of all that its last draw may say

MOST_OUTCOMES = 1 << 20  # of one draw


def exact_law(fit: Callable[[Replay], Released], grid: Grid = Grid()) -> dict[Released, float]:
    """Return the probability of everything that ``fit`` may release.

    Parameters
    ----------
    fit : callable
        Runs the learner with the randomness that it is given and returns what it releases, as a hashable value. What was
        drawn is in the ``told`` of the randomness.
    grid : Grid
        What is told of noisy counts.

    Returns
    -------
    dict
        The probability of each value that ``fit`` may return; together 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from hedgerow.audit import Grid, exact_law
    >>> from hedgerow.mechanisms import Geometric
    >>> noise, counts = Geometric(Fraction(1)), np.array([3])
    >>> law = exact_law(lambda source: int(source.draw(noise, counts)[0]), Grid((0,), (0, 8)))
    >>> {told: round(probability, 3) for told, probability in law.items()}
    {0: 0.036, 8: 0.964}
    """
    law: dict[Released, float] = {}
    known: dict[Hashable, Floats] = {}
    script: list[int] | None = []
    while script is not None:
        replay = Replay(script, known, grid)
        released = fit(replay)
        law[released] = law.get(released, 0.0) + replay.probability
        script = replay.next_script()
    return law


def open_law(fit: Callable[[Replay], Hashable], grid: Grid = Grid()) -> dict[Hashable, Mixture]:
    """Return the law of everything that is drawn and of everything that ``fit`` returns, without a run for each.

    The outcomes of the last draw decide nothing that is drawn later, so a run stands for all of them. The keys hold what was
    told before it and what ``fit`` returned; the values are what the items of the last draw may say, a mixture over the coins
    that decide which records take part where: these alone are not told.

    Parameters
    ----------
    fit, grid
        As for ``exact_law``; ``fit`` returns what is told beside the draws.

    Returns
    -------
    dict
        A mixture for each key.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from hedgerow.audit import Grid, open_law
    >>> from hedgerow.mechanisms import Geometric
    >>> noise, counts = Geometric(Fraction(1)), np.array([3])
    >>> law = open_law(lambda source: source.draw(noise, counts) is None, Grid((0,), (0, 8)))
    >>> len(law)  # one key stands for all outcomes of the only draw
    1
    """
    law: dict[Hashable, Mixture] = {}
    known: dict[Hashable, Floats] = {}
    script: list[int] | None = []
    while script is not None:
        replay = Replay(script, known, grid)
        key = (fit(replay), replay.told_before, replay.open_shape)
        law.setdefault(key, []).append(replay.open())
        script = replay.next_script(last_is_open=True)
    return law


def total(law: Law) -> float:
    """Return the sum of all probabilities of a law, which is 1."""
    return math.fsum(weight for value in law.values() for weight, _ in _mixture(value))


@dataclass(frozen=True)
class ReleaseSet:
    """A set of releases that distinguishes two data sets: its loss, and its probability on both."""

    loss: float
    probability: float
    other: float


def worst_loss(law: Law, other: Law, delta: float = 0.0) -> float:
    """Return the smallest epsilon for which two laws are (epsilon, ``delta``)-close; infinite if there is none.

    At delta 0 it is the largest absolute log ratio of the probabilities of one release.

    Parameters
    ----------
    law, other : mapping
        The laws of ``exact_law`` on two neighboring data sets.
    delta : float
        The delta of the claim.

    Returns
    -------
    float
        The loss, from 0 on.

    Examples
    --------
    >>> from hedgerow.audit import worst_loss
    >>> round(worst_loss({"a": 0.75, "b": 0.25}, {"a": 0.25, "b": 0.75}), 4)
    1.0986
    """
    return max(worst_event(law, other, delta).loss, worst_event(other, law, delta).loss)


def worst_event(law: Law, other: Law, delta: float = 0.0) -> ReleaseSet:
    """Return the set S of releases with the largest ln((P(S) - delta) / Q(S)), P the law and Q the other.

    It holds all releases above some ratio of P to Q.
    """
    p, q = _side_by_side(law, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.where(p > 0, np.inf, 0.0)), kind="stable")
        sum_p, sum_q = np.cumsum(p[order]), np.cumsum(q[order])
        losses = np.where(sum_p > delta, np.log(sum_p - delta) - np.log(sum_q), 0.0)
    best = int(np.flatnonzero(losses == losses.max())[-1])
    return ReleaseSet(max(0.0, float(losses[best])), float(sum_p[best]), float(sum_q[best]))


def _side_by_side(law: Law, other: Law) -> tuple[Floats, Floats]:
    """Return the probabilities of all releases under both laws."""
    both = [_outcomes(_mixture(law.get(key, [])), _mixture(other.get(key, []))) for key in {**law, **other}]
    p, q = (np.concatenate(side) for side in zip(*both, strict=True))
    return p, q


def _mixture(value: float | Mixture) -> Mixture:
    return value if isinstance(value, list) else [(value, ())]


def _outcomes(first: Mixture, second: Mixture) -> tuple[Floats, Floats]:
    """Return the probabilities of the joint outcomes of two mixtures.

    An item with the same law in all parts of both mixtures is independent of everything else and shows nothing. So it is left
    out. A record changes few of the many sums of a query.
    """
    items = [items for _, items in (*first, *second)]
    places = [place for place, laws in enumerate(zip(*items, strict=True)) if np.any(np.diff(laws, axis=0))]
    if math.prod(len(items[0][place]) for place in places) > MOST_OUTCOMES:
        raise ConfigurationError("the last draw has too many outcomes to tell; audit smaller trees, or fewer bins.")

    def joint(mixture: Mixture) -> Floats:
        parts = [reduce(_times, (items[place] for place in places), np.full(1, weight)) for weight, items in mixture]
        return np.sum(parts, axis=0) if parts else np.zeros(math.prod(len(items[0][place]) for place in places))

    return joint(first), joint(second)


def _times(law: Floats, item: Floats) -> Floats:
    return np.multiply.outer(law, item).ravel()
