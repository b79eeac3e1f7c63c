"""A fit's randomness that follows a script, and says how probable the script was."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.audit.grid import NOISE, AuditedNoise, Grid
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Coin, Coins, Mechanism, PerRecordCoin, Randomness, WeightedCoin, Words
from hedgerow.papers.noise import IntervalChoice, Permutation, Resample, SomeFeatures

__all__ = ["Replay"]

Law = npt.NDArray[np.float64]

RESAMPLES = (Permutation, Resample)
DENSITIES = (IntervalChoice, SomeFeatures)  # whose outcomes are not told one by one
MOST_ORDERS = 7  # records: 5040 orders, 1716 samples


class Replay(Randomness):
    """Stands in for a fit's randomness: follows a script of outcomes, takes the first possible one beyond its end.

    Parameters
    ----------
    script : list of int
        The outcome of each draw of each item, in the order in which they are drawn.
    known : dict
        Laws that were worked out before, which runs on the same records share.
    grid : Grid
        What is told of noisy counts.

    Attributes
    ----------
    told : list of int
        The outcomes so far, but for those of coins that decide which records take part where: these stay hidden.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from hedgerow.audit import Grid, Replay
    >>> from hedgerow.mechanisms import Geometric
    >>> replay = Replay([1], {}, Grid((0,), (0, 8)))
    >>> replay.draw(Geometric(Fraction(1)), np.array([3])), replay.told
    (array([8]), [1])
    """

    def __init__(self, script: list[int], known: dict[Hashable, Law], grid: Grid = Grid()) -> None:
        super().__init__(random_state=0)  # its streams are never read
        self.script = script
        self.known = known
        self.grid = grid
        self.laws: list[Law] = []
        self.told: list[int] = []
        self._batch: tuple[int, int] | None = (
            None  # where the last batch begins, in laws and in told; None: it is hidden
        )

    @property
    def probability(self) -> float:
        """The probability of all outcomes so far."""
        return self._probability(len(self.script))

    def _probability(self, end: int) -> float:
        return math.prod(float(law[outcome]) for law, outcome in zip(self.laws[:end], self.script[:end], strict=True))

    @property
    def told_before(self) -> tuple[int, ...]:
        """What was told before the last batch."""
        return tuple(self.told if self._batch is None else self.told[: self._batch[1]])

    @property
    def _open_from(self) -> int:
        return len(self.script) if self._batch is None else self._batch[0]

    @property
    def open_shape(self) -> tuple[int, ...]:
        """How many outcomes each item of the last batch has."""
        return tuple(map(len, self.laws[self._open_from :]))

    def open(self) -> tuple[float, tuple[Law, ...]]:
        """Return the probability of all outcomes before the last batch, and the laws of its items."""
        return self._probability(self._open_from), tuple(self.laws[self._open_from :])

    def draw(self, mechanism: Mechanism, *statistics: Any) -> npt.NDArray[Any]:
        """Return the scripted outcome of every item of the batch."""
        if isinstance(mechanism, RESAMPLES):
            self._batch = None
            return self._resample(mechanism, *statistics)
        if isinstance(mechanism, DENSITIES):
            raise ConfigurationError(
                f"{type(mechanism).__name__} draws real numbers or sets, which the exact audit cannot walk through one by one; "
                "use the distinguishing attack."
            )
        self._batch = len(self.laws), len(self.told)
        if isinstance(mechanism, NOISE):
            return self._count(mechanism, *statistics)
        outcomes = [self._outcome(mechanism, mechanism.law, item) for item in zip(*statistics, strict=True)]
        self.told += outcomes
        return np.array(outcomes, dtype=np.int64)

    def coins(self, coin: Coin) -> Coins:
        """Return coins whose outcomes are scripted too, for each record one."""
        return ScriptedCoins(coin, b"", self)

    def words(self) -> Words:
        """Return words of which only the order is scripted: which of any are least is all that is read of them."""
        return ScriptedWords(b"", self)

    def _count(self, noise: AuditedNoise, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        counts = np.asarray(values)
        if counts.dtype.kind == "f":
            raise ConfigurationError(
                "the fit adds noise to real numbers, or scales it afterwards, so no grid of counts can tell it; use the "
                "distinguishing attack."
            )
        grid = self.grid
        told = (grid, noise)
        cells = [
            self._outcome(told, lambda value: grid.law(noise, value), (value,)) for value in counts.ravel().tolist()
        ]
        self.told += cells
        return np.array(grid.answers)[np.array(cells, dtype=np.intp)].reshape(counts.shape)

    def assign(self, coin: Coin, about: Any) -> npt.NDArray[np.int32]:
        """Return the scripted part of each record; these outcomes stay hidden."""
        self._batch = None
        items: Iterator[Any] = iter(about) if isinstance(coin, WeightedCoin) else iter([about] * about)
        outcomes = np.array([self._outcome(coin, coin.law, (item,)) for item in items], dtype=np.int32)
        return outcomes if isinstance(coin, PerRecordCoin) else -outcomes  # the second outcome is part -1: not taken in

    def order(self, records: int) -> npt.NDArray[np.uint64]:
        """Return the scripted place of each record's word among all; it stays hidden."""
        self._batch = None
        order = self._outcome(
            "words", lambda count: np.full(math.factorial(count), 1 / math.factorial(count)), (records,)
        )
        return np.array(orders(records)[order], dtype=np.uint64)

    def _resample(self, mechanism: Any, *statistics: Any) -> npt.NDArray[np.int64]:
        records = statistics[0] if isinstance(mechanism, Permutation) else len(statistics[0])
        if records > MOST_ORDERS:
            raise ConfigurationError(
                f"{records} records have too many orders or samples to walk through; audit at most {MOST_ORDERS}."
            )
        if isinstance(mechanism, Permutation):
            order = self._outcome(mechanism, mechanism.law, (records,))
            return np.array(orders(records)[order], dtype=np.int64)
        weights, samples = statistics
        drawn = [self._outcome(mechanism, sample_law, (weights,)) for _ in range(samples)]
        return np.array([samples_of(records)[sample] for sample in drawn], dtype=np.int64).reshape(samples, records)

    def _outcome(self, name: object, law_of: Callable[..., Law], item: tuple[Any, ...]) -> int:
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
        for place in reversed(range(self._open_from if last_is_open else len(self.script))):
            later = np.flatnonzero(self.laws[place] > 0)
            later = later[later > self.script[place]]
            if len(later):
                return [*self.script[:place], int(later[0])]
        return None


@dataclass(frozen=True, eq=False)
class ScriptedCoins(Coins):
    """Coins that fall as a script says."""

    replay: Replay
    fell: dict[tuple[int, int], npt.NDArray[np.int32]] = field(default_factory=dict)

    def parts(self, first_row: int, about: Any) -> npt.NDArray[np.int32]:
        """Return the scripted part of each of some records: the same whenever they are asked for, as a record has one."""
        if not isinstance(about, int):
            return self.replay.assign(self.coin, about)
        if (first_row, about) not in self.fell:
            self.fell[first_row, about] = self.replay.assign(self.coin, about)
        return self.fell[first_row, about]


@dataclass(frozen=True, eq=False)
class ScriptedWords(Words):
    """Words whose order a script says."""

    replay: Replay

    def of(self, first_row: int, records: int) -> npt.NDArray[np.uint64]:
        """Return the scripted words of all records."""
        if records > MOST_ORDERS:
            raise ConfigurationError(
                f"{records} records have too many orders to walk through; audit at most {MOST_ORDERS}."
            )
        return self.replay.order(records)


@lru_cache(maxsize=16)
def orders(records: int) -> list[tuple[int, ...]]:
    """Return all orders of so many rows, in the order of ``Permutation.law``."""
    return list(permutations(range(records)))


@lru_cache(maxsize=16)
def samples_of(records: int) -> list[tuple[int, ...]]:
    """Return all samples of so many draws with replacement from so many rows, rows ascending."""
    return list(combinations_with_replacement(range(records), records))


def sample_law(weights: Law) -> Law:
    """Return the probability of each of ``samples_of`` for rows that are drawn with these weights."""
    n = len(weights)
    times = np.array([np.bincount(sample, minlength=n) for sample in samples_of(n)]).reshape(-1, n)
    ways = [math.factorial(n) / math.prod(map(math.factorial, row)) for row in times.tolist()]
    law: Law = np.array(ways) * np.prod(weights[None] ** times, axis=1)
    return law
