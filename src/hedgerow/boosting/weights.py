"""How much a record counts in a round: a public function of what the released votes say of it.

A record's margin is its own class's vote less the largest vote of the others, in fixed point. Weights lie in [0, 1], are
never normalized, and come from a public table of integers, so what one record adds to any count is at most one unit,
whatever the others are (docs/proofs/boosting.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import check_shape
from hedgerow.boosting import kernels
from hedgerow.margins import UNIT, VOTE_STEPS

__all__ = ["Lookup", "MadaBoost", "SmoothBoost", "WeightFamily"]

DEEPEST = 12  # exp(-12) is below half a unit


@dataclass(frozen=True, eq=False)
class Lookup:
    """The weights of one round: ``table[margin - shift]`` in units of 1 / ``unit``, its ends beyond its ends.

    Parameters
    ----------
    table : ndarray of shape (places,), uint64
        The weights.
    shift : int
        The margin of the table's first place.
    unit : int
        The largest weight.
    """

    table: npt.NDArray[np.uint64]
    shift: int = 0
    unit: int = UNIT

    def __call__(
        self, margins: npt.NDArray[np.signedinteger], labels: npt.NDArray[np.signedinteger]
    ) -> npt.NDArray[np.uint64]:
        """Return the weight of each record of ``margins`` (records, classes) and ``labels`` (records,; -1: weighs nothing)."""
        check_shape(margins, (len(labels), margins.shape[-1]), "margins (records, classes)")
        out = np.empty(len(labels), dtype=np.uint64)
        kernels.look_up(margins, labels, self.shift, self.table, out)
        return out

    def within(self, unit: int) -> Lookup:
        """Return the same weights in other units, rounded down."""
        return Lookup(self.table * np.uint64(unit) // np.uint64(self.unit), self.shift, unit)


class WeightFamily(Protocol):
    """The weights of every round."""

    def lookup(self, rounds: int) -> Lookup:
        """Return the weights after so many rounds."""


@dataclass(frozen=True)
class MadaBoost:
    """min(1, exp(-margin / 2)): AdaBoost's weight, never above the one that a record starts with.

    Domingo and Watanabe, COLT 2000.
    """

    def lookup(self, rounds: int) -> Lookup:
        """Return the weights after so many rounds; they do not depend on how many."""
        return Lookup(_table(lambda margin: np.exp(-margin / 2), 2 * DEEPEST))


@dataclass(frozen=True)
class SmoothBoost:
    """1 while N <= 0, then (1 - gamma)**(N / 2); N is half the margin less theta = gamma / (2 + gamma) for each round.

    Servedio, JMLR 2003. Its votes in [-1, 1] are log-odds in [-2, 2].
    """

    gamma: float = 0.2

    def lookup(self, rounds: int) -> Lookup:
        """Return the weights after so many rounds."""
        theta = self.gamma / (2 + self.gamma)
        decay = -np.log1p(-self.gamma) / 4
        table = _table(lambda margin: np.exp(-decay * margin), DEEPEST / decay)
        return Lookup(table, round(2 * theta * rounds * VOTE_STEPS))


def _table(weight: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], end: float) -> npt.NDArray[np.uint64]:
    """Return the weights of margins from 0 to an end in units, rounded to the nearest; nothing is above 1."""
    margins = np.arange(round(end * VOTE_STEPS) + 1) / VOTE_STEPS
    return np.minimum(np.rint(weight(margins) * UNIT), UNIT).astype(np.uint64)
