"""Noise of the published algorithms: real numbers in floating point, outside every guarantee.

Nothing else in the library draws floating-point noise. A numpy generator is seeded from the fit's own stream, so a fit
with the same ``random_state`` and the same numpy gives the same model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import PermuteAndFlip
from hedgerow.mechanisms.kernels import Stream, next_word

__all__ = ["Permutation", "RealPermuteAndFlip"]

SEED_WORDS = 4  # 256 bits


@dataclass(frozen=True)
class RealPermuteAndFlip(PermuteAndFlip):
    """Permute-and-flip as the largest score plus exponential noise: the same law, were floats real numbers.

    The paper's factor 1 / (2 Delta) is a ``score_range`` of 2 Delta, whatever the range of the score really is.

    Source    docs/proofs/selection.md; Ding, Kifer, Steinke, Zhang and Zhang, "The permute-and-flip mechanism is identical to
              report-noisy-max with exponential noise", 2021.
    """

    name = "permute-and-flip in floating point"

    @property
    def cost(self) -> Fraction:
        """The budget that the paper states for one selection; nothing proves it for floats."""
        return self.epsilon

    def sample(self, stream: Stream, scores: npt.NDArray[Any], offered: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Choose one offered candidate in each row of ``scores`` (rows, candidates)."""
        factor = float(self.epsilon / self.score_range)
        noisy = factor * scores + _generator(stream).standard_exponential(scores.shape)
        chosen: npt.NDArray[np.int64] = np.where(offered, noisy, -np.inf).argmax(axis=1)
        return chosen


@dataclass(frozen=True)
class Permutation:
    """The records in random order."""

    def sample(self, stream: Stream, records: int) -> npt.NDArray[np.int64]:
        """Return the rows 0 to records - 1 in random order."""
        return _generator(stream).permutation(records)

    def law(self, records: int) -> npt.NDArray[np.float64]:
        """Return the probability of each order, the orders sorted as ``itertools.permutations`` gives them."""
        orders = math.factorial(records)
        return np.full(orders, 1 / orders)


def _generator(stream: Stream) -> np.random.Generator:
    return np.random.default_rng([int(next_word(stream)) for _ in range(SEED_WORDS)])
