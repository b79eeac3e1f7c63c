"""Which rounds of a boosted ensemble are marked, by public rules and public coins that read no record.

In the published form noise follows a marked round. In the private form a marked round spends budget, and so does the first.

The four schedules of Zhang, Dong, Xu and Wang, "AdaBoost algorithm based on target perturbation", Journal on
Communications, 2023: equations 18 to 24 and definition 7. Rounds are counted from 1, and round k stands at k - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.arrays import Truth
from hedgerow.mechanisms import Draw, PublicChoice


class RoundSchedule:
    """A rule that marks rounds; the first one is never among them."""

    def marked(self, rounds: int, draw: Draw) -> Truth:
        """Return which rounds are marked, of shape (rounds,)."""
        raise NotImplementedError

    def most(self, rounds: int) -> int:
        """Return the largest possible number of marked rounds."""
        return rounds - 1

    def expected(self, rounds: int) -> Fraction:
        """Return the mean of that number over the coins."""
        return Fraction(self.most(rounds))


@dataclass(frozen=True)
class AfterFirst(RoundSchedule):
    """Every round from the second on: DPAda, equation 21."""

    def marked(self, rounds: int, draw: Draw) -> Truth:
        return np.asarray(np.arange(1, rounds + 1) > 1)


@dataclass(frozen=True)
class EvenRounds(RoundSchedule):
    """Every second round, from the second on: DPAda_Swing, equation 18."""

    def marked(self, rounds: int, draw: Draw) -> Truth:
        return np.asarray(np.arange(1, rounds + 1) % 2 == 0)

    def most(self, rounds: int) -> int:
        return rounds // 2


@dataclass(frozen=True)
class RandomRounds(RoundSchedule):
    """Every round from the second on whose fair coin shows a one: DPAda_Random, equation 20."""

    def marked(self, rounds: int, draw: Draw) -> Truth:
        return np.asarray(_coins(rounds, draw) & (np.arange(rounds) > 0))

    def expected(self, rounds: int) -> Fraction:
        return Fraction(rounds - 1, 2)


@dataclass(frozen=True)
class ThinnedRounds(RoundSchedule):
    """Every round whose fair coin shows a one after the round before showed a zero: DPAda_Improved, definition 7.

    Of each run of ones only the first stays. The paper states this for runs that follow a zero. A run that begins in the first
    round leaves nothing, since only then its theorem 1 is true [inferred].
    """

    def marked(self, rounds: int, draw: Draw) -> Truth:
        coin = _coins(rounds, draw)
        return np.asarray(coin & ~np.append(True, coin[:-1]))

    def most(self, rounds: int) -> int:
        return rounds // 2

    def expected(self, rounds: int) -> Fraction:
        return Fraction(rounds - 1, 4)


def _coins(rounds: int, draw: Draw) -> Truth:
    return np.asarray(draw(PublicChoice(), np.ones((rounds, 2), dtype=np.int64)) == 1)
