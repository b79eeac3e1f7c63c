"""The exact law of the release of a fit: the fit runs once for every sequence of outcomes of its draws.

There are no statistics and no model of the code. The shipped learner runs on a ``Replay``, which follows a script of outcomes,
and each mechanism's ``law`` gives their probabilities. It is for tiny data: there are as many runs as possible releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from hedgerow import mechanisms
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.papers.noise import IntervalChoice, Laplace, Permutation, Resample, SomeFeatures

AuditedNoise = mechanisms.Geometric | mechanisms.RoundedNormal
PRINTED = (IntervalChoice, Laplace, Resample, SomeFeatures)  # whose outcomes are not told one by one
MOST_ORDERS = 7  # records: 5040 orders
MOST_OUTCOMES = 1 << 20  # of one draw

Mixture = list[tuple[float, tuple[Floats, ...]]]  # weights, and the laws of the independent items of a last draw
Law = Mapping[Any, Any]  # of each release: its probability, or the mixture of all that its last draw may say


@dataclass(frozen=True)
class Grid:
    """What an audit tells of a noisy count: its cell. The fit goes on with that cell's answer.

    Beyond its ends the law of geometric noise decays by the same factor per step, so the cells at the ends lose
    all that the noise loses, wherever the counts lie inside them.

    Parameters
    ----------
    ends : tuple of int
        Where cells end, ascending: cell i ends at ``ends[i]``, and one more cell never ends. None: nothing is told of
        counts, so a loss is that of the choices alone.
    answers : tuple of int
        The count that stands for each cell.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from hedgerow.audit import Grid
    >>> from hedgerow.mechanisms import Geometric
    >>> Grid().law(Geometric(Fraction(1)), 0).round(3).tolist()
    [0.731, 0.269]
    """

    ends: tuple[int, ...] = (0,)
    answers: tuple[int, ...] = (0, 1 << 19)  # far more records than a stop asks for; 8 records that weigh up to 2**16

    def __post_init__(self) -> None:
        if len(self.answers) != len(self.ends) + 1 or list(self.ends) != sorted(set(self.ends)):
            raise ConfigurationError("a grid has ascending ends, and one answer more than ends.")

    def law(self, noise: AuditedNoise, value: float) -> npt.NDArray[np.float64]:
        if not self.ends:
            return np.ones(1)
        below, above = np.array([_sides(noise, value, end) for end in self.ends]).T
        return np.array([below[0], *np.diff(below), above[-1]])


def _sides(noise: AuditedNoise, value: float, end: int) -> npt.NDArray[np.float64]:
    if isinstance(noise, mechanisms.Geometric):
        return mechanisms.AtMost(noise, end).law(int(value))[::-1]
    room = (end + 0.5 - value) / float(noise.sigma.fraction)
    return np.array([ndtr(room), ndtr(-room)])


class Replay(mechanisms.Randomness):
    """Stands in for a fit's randomness: follows a script of outcomes, takes the first possible one beyond its end.

    ``script`` has the outcome of each draw of each item, in the order in which they are drawn. ``known`` are laws that runs on
    the same records share. ``told`` are the outcomes so far, but for those of coins that decide which records take part where.
    ``last`` is where the last batch begins, in ``laws`` and in ``told``; their ends where it is hidden.
    """

    def __init__(self, script: list[int], known: dict[Hashable, Floats], grid: Grid = Grid()) -> None:
        super().__init__(random_state=0)  # its streams are never read
        self.script = script
        self.known = known
        self.grid = grid
        self.laws: list[Floats] = []
        self.told: list[int] = []
        self.last = 0, 0

    def probability(self, end: int | None = None) -> float:
        return math.prod(float(law[outcome]) for law, outcome in zip(self.laws[:end], self.script[:end], strict=True))

    def draw(self, mechanism: Any, *statistics: Any) -> npt.NDArray[Any]:
        if isinstance(mechanism, PRINTED):
            raise ConfigurationError(
                f"{type(mechanism).__name__} draws real numbers or sets, which the exact audit cannot walk through one by one; "
                "use the distinguishing attack."
            )
        if isinstance(mechanism, Permutation):
            order = orders(*statistics)[self._outcome(mechanism, mechanism.law, statistics)]
            self.last = len(self.laws), len(self.told)  # it is not told
            return np.array(order, dtype=np.int64)
        self.last = len(self.laws), len(self.told)
        if isinstance(mechanism, AuditedNoise):
            return self._count(mechanism, *statistics)
        outcomes = [self._outcome(mechanism, mechanism.law, item) for item in zip(*statistics, strict=True)]
        self.told += outcomes
        return np.array(outcomes, dtype=np.int64)

    def coins(self, coin: mechanisms.Coin) -> mechanisms.Coins:
        return ScriptedCoins(coin, b"", self)

    def random_bits(self) -> mechanisms.RandomBits:
        """Return words of which only the order is scripted: which of any are least is all that is read of them."""
        return ScriptedBits(b"", self)

    def _count(self, noise: AuditedNoise, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        law = partial(self.grid.law, noise)
        cells = [self._outcome((self.grid, noise), law, (value,)) for value in np.ravel(values).tolist()]
        self.told += cells
        return np.array(self.grid.answers)[np.array(cells, dtype=np.intp)].reshape(np.shape(values))

    def assign(self, coin: mechanisms.Coin, about: Any) -> npt.NDArray[np.int32]:
        items: Iterator[Any] = iter(about) if isinstance(coin, mechanisms.WeightedCoin) else iter([about] * about)
        outcomes = np.array([self._outcome(coin, coin.law, (item,)) for item in items], dtype=np.int32)
        self.last = len(self.laws), len(self.told)
        return outcomes if isinstance(coin, mechanisms.PerRecordCoin) else -outcomes  # the second is part -1

    def _outcome(self, name: object, law_of: Callable[..., Floats], item: tuple[Any, ...]) -> int:
        key = (name, *(np.asarray(statistic).tobytes() for statistic in item))
        if key not in self.known:
            self.known[key] = np.asarray(law_of(*item))
        law = self.known[key]
        if len(self.laws) == len(self.script):
            self.script.append(int(np.flatnonzero(law > 0)[0]))
        self.laws.append(law)
        return self.script[len(self.laws) - 1]

    def next_script(self, *, last_is_open: bool = False) -> list[int] | None:
        """Return the script of the next run, or None after the last one; an open last batch stays as it is."""
        for place in reversed(range(self.last[0] if last_is_open else len(self.script))):
            later = np.flatnonzero(self.laws[place] > 0)
            later = later[later > self.script[place]]
            if len(later):
                return [*self.script[:place], int(later[0])]
        return None


@dataclass(frozen=True, eq=False)
class ScriptedCoins(mechanisms.Coins):
    replay: Replay
    fell: dict[tuple[int, int], npt.NDArray[np.int32]] = field(default_factory=dict)

    def parts(self, first_row: int, about: Any) -> npt.NDArray[np.int32]:
        if not isinstance(about, int):
            return self.replay.assign(self.coin, about)
        if (first_row, about) not in self.fell:
            self.fell[first_row, about] = self.replay.assign(self.coin, about)
        return self.fell[first_row, about]


@dataclass(frozen=True, eq=False)
class ScriptedBits(mechanisms.RandomBits):
    replay: Replay

    def of(self, first_row: int, records: int) -> npt.NDArray[np.uint64]:
        return self.replay.draw(Permutation(), records).astype(np.uint64)


@lru_cache(maxsize=16)
def orders(records: int) -> list[tuple[int, ...]]:
    if records > MOST_ORDERS:
        raise ConfigurationError(
            f"{records} records have too many orders to walk through; audit at most {MOST_ORDERS}."
        )
    return list(permutations(range(records)))


def open_law(fit: Callable[[Replay], Hashable], grid: Grid = Grid()) -> dict[Hashable, Mixture]:
    """Return the law of everything that is drawn and of everything that ``fit`` returns, without a run for each.

    The outcomes of the last draw decide nothing that is drawn later, so a run stands for all of them. The keys hold what was
    told before it and what ``fit`` returned; the values are what the items of the last draw may say, a mixture over the coins
    that decide which records take part where: these alone are not told.
    """
    law: dict[Hashable, Mixture] = {}
    known: dict[Hashable, Floats] = {}
    script: list[int] | None = []
    while script is not None:
        replay = Replay(script, known, grid)
        released = fit(replay)
        start, told = replay.last
        items = tuple(replay.laws[start:])
        key = released, tuple(replay.told[:told]), tuple(map(len, items))
        law.setdefault(key, []).append((replay.probability(start), items))
        script = replay.next_script(last_is_open=True)
    return law


class ReleaseSet(NamedTuple):
    """A set of releases that distinguishes two data sets: its loss, and its probability on both."""

    loss: float
    probability: float
    other: float


def worst_loss(law: Law, other: Law, delta: float = 0.0) -> float:
    """Return the smallest epsilon for which two laws are (epsilon, ``delta``)-close; infinite if there is none.

    At delta 0 it is the largest absolute log ratio of the probabilities of one release.
    """
    return max(worst_event(law, other, delta).loss, worst_event(other, law, delta).loss)


def worst_event(law: Law, other: Law, delta: float = 0.0) -> ReleaseSet:
    """Return the set S of releases with the largest ln((P(S) - delta) / Q(S)), P the law and Q the other.

    It holds all releases above some ratio of P to Q.
    """
    both = [_outcomes(_mixture(law.get(key, [])), _mixture(other.get(key, []))) for key in {**law, **other}]
    p, q = (np.concatenate(side) for side in zip(*both, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.where(p > 0, np.inf, 0.0)), kind="stable")
        sum_p, sum_q = np.cumsum(p[order]), np.cumsum(q[order])
        losses = np.where(sum_p > delta, np.log(sum_p - delta) - np.log(sum_q), 0.0)
    best = int(np.flatnonzero(losses == losses.max())[-1])
    return ReleaseSet(max(0.0, float(losses[best])), float(sum_p[best]), float(sum_q[best]))


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
        parts = [
            reduce(
                lambda law, item: np.multiply.outer(law, item).ravel(), (items[i] for i in places), np.full(1, weight)
            )
            for weight, items in mixture
        ]
        return np.sum(parts, axis=0) if parts else np.zeros(math.prod(len(items[0][place]) for place in places))

    return joint(first), joint(second)
