"""The exact law of what a fit releases: the fit is run once for every sequence of outcomes of its draws.

No statistics and no model of the code: the shipped learner runs, and each mechanism's ``law`` weighs what it could have
answered. It is for tiny data; the number of runs is the number of possible releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import Mechanism, PerRecordCoin, PoissonCoin, Randomness, WeightedCoin

__all__ = ["Replay", "exact_law", "worst_loss"]

Released = TypeVar("Released", bound=Hashable)


class Replay(Randomness):
    """Stands in for a fit's randomness: follows a script of outcomes, takes the first possible one beyond its end.

    Parameters
    ----------
    script : sequence of int
        The outcome of each draw of each item, in the order in which they are drawn.
    known : dict
        Laws that were worked out before, which runs on the same records share.
    """

    def __init__(self, script: list[int], known: dict[Hashable, npt.NDArray[np.float64]]) -> None:
        super().__init__(random_state=0)  # its streams are never read
        self.script = script
        self.known = known
        self.laws: list[npt.NDArray[np.float64]] = []

    @property
    def probability(self) -> float:
        """The probability of all outcomes so far."""
        return math.prod(float(law[outcome]) for law, outcome in zip(self.laws, self.script, strict=True))

    def draw(self, mechanism: Mechanism, *statistics: Any) -> npt.NDArray[np.int64]:
        """Return the scripted outcome of every item of the batch."""
        outcomes = np.array(
            [self._follow(self._law(mechanism, item)) for item in _items(mechanism, statistics)], dtype=np.int64
        )
        return (
            -outcomes if isinstance(mechanism, PoissonCoin | WeightedCoin) else outcomes
        )  # its second outcome is part -1: not taken in

    def _law(self, mechanism: Mechanism, item: tuple[Any, ...]) -> npt.NDArray[np.float64]:
        key = (mechanism, *(np.asarray(statistic).tobytes() for statistic in item))
        if key not in self.known:
            self.known[key] = mechanism.law(*item)
        return self.known[key]

    def _follow(self, law: npt.NDArray[np.float64]) -> int:
        if len(self.laws) == len(self.script):
            self.script.append(int(np.flatnonzero(law > 0)[0]))
        self.laws.append(law)
        return self.script[len(self.laws) - 1]

    def next_script(self) -> list[int] | None:
        """Return the script of the next run, or None after the last one."""
        for place in reversed(range(len(self.script))):
            later = np.flatnonzero(self.laws[place] > 0)
            later = later[later > self.script[place]]
            if len(later):
                return [*self.script[:place], int(later[0])]
        return None


def _items(mechanism: Mechanism, statistics: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(mechanism, PerRecordCoin | PoissonCoin):
        return iter([statistics] * statistics[0])
    return zip(*statistics, strict=True)


def exact_law(fit: Callable[[Randomness], Released]) -> dict[Released, float]:
    """Return the probability of everything that ``fit`` may release.

    Parameters
    ----------
    fit : callable
        Runs the learner with the randomness that it is given and returns what it releases, as a hashable value.
    """
    law: dict[Released, float] = {}
    known: dict[Hashable, npt.NDArray[np.float64]] = {}
    script: list[int] | None = []
    while script is not None:
        replay = Replay(script, known)
        released = fit(replay)
        law[released] = law.get(released, 0.0) + replay.probability
        script = replay.next_script()
    return law


def worst_loss(law: Mapping[Released, float], other: Mapping[Released, float]) -> float:
    """Return the largest absolute log ratio of two laws; infinite where one of them cannot release what the other can."""
    if law.keys() != other.keys():
        return math.inf
    return max(abs(math.log(law[released] / other[released])) for released in law)
