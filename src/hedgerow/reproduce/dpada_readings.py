"""A second reading of DPAda: algorithm 3 as it is printed, which perturbs the weights after the first round too."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
import numpy.typing as npt

from hedgerow.estimator import Draw, PublicCoins
from hedgerow.papers.boosting import PrintedBoosting
from hedgerow.papers.dpada import DPAdaClassifier, ExactStump, PerturbExtremes, Ties
from hedgerow.privacy.claim import Claim
from hedgerow.trees.schedules import RoundSchedule

__all__ = ["FromRoundOne"]


@dataclass(frozen=True)
class EveryRound(RoundSchedule):
    """Every round, the first one too."""

    def marked(self, rounds: int, draw: Draw) -> npt.NDArray[np.bool_]:
        """Return which rounds are marked, of shape (rounds,)."""
        return np.ones(rounds, dtype=np.bool_)

    def most(self, rounds: int) -> int:
        """Return the largest number of marked rounds."""
        return rounds

    def expected(self, rounds: int) -> Fraction:
        """Return the mean number of marked rounds."""
        return Fraction(rounds)


class FromRoundOne(DPAdaClassifier):
    """DPAda with noise after every round, published form only: algorithm 3 instead of equation 21."""

    def _draw_coins(self, claim: Claim, draw: Draw) -> PublicCoins:
        return tuple(range(1, self._rounds(claim) + 1))

    def _published(self) -> PrintedBoosting:
        return PrintedBoosting(ExactStump(), perturbation=PerturbExtremes(EveryRound(), cast(Ties, self.ties)))
