"""How often something random is repeated before the best is shown: a random number that nobody learns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms.kernels import Stream, uniform_below

__all__ = ["RandomStopping"]

MOST_BITS = 30


@dataclass(frozen=True)
class RandomStopping:
    """Draws the number K of repetitions, from 1 on and without a limit, gamma = 2**-bits.

    The best of K runs, each of which is epsilon-DP with its score, is 2 epsilon-DP where K is logarithmic,
    ``P(k) ~ (1 - gamma)**k / k``, and 3 epsilon-DP where it is geometric, ``P(k) = gamma (1 - gamma)**(k - 1)``, for any gamma
    (Liu and Talwar 2019; Papernot and Steinke 2022; docs/proofs/private-search.md). K itself is never shown.

    Parameters
    ----------
    bits : int
        Of gamma.
    logarithmic : bool, default True
        Which of the two laws.
    """

    bits: int
    logarithmic: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ConfigurationError(f"gamma is 2**-{self.bits}, and must be from 2**-{MOST_BITS} to a half.")

    @property
    def factor(self) -> int:
        """How many times the epsilon of one run all of them cost together."""
        return 2 if self.logarithmic else 3

    def sample(self, stream: Stream) -> int:
        """Return the number of runs: a geometric one, for the logarithmic law accepted with probability 1 / k."""
        while True:
            runs = 1
            while uniform_below(stream, 1 << self.bits):
                runs += 1
            if not self.logarithmic or uniform_below(stream, runs) == 0:
                return runs

    def law(self, most: int) -> npt.NDArray[np.float64]:
        """Return the probabilities of 1 to ``most`` runs."""
        gamma, runs = 2.0**-self.bits, np.arange(1, most + 1)
        if not self.logarithmic:
            return np.asarray(gamma * (1 - gamma) ** (runs - 1.0))
        return np.asarray((1 - gamma) ** runs / runs / -np.log(gamma))
