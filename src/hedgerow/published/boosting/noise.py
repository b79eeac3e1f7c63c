"""The noise of the public code of CART-DPsAdaBoost, in floating point and outside every guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.mechanisms.kernels import Stream
from hedgerow.published.noise import float_generator

__all__ = ["MeanLaplace"]


@dataclass(frozen=True)
class MeanLaplace:
    """Counts with the mean of ``draws`` draws of Laplace noise, each of scale 1 / epsilon.

    A sum of n such draws is the difference of two gamma variables of shape n.
    """

    epsilon: float
    draws: int = 100

    def sample(self, stream: Stream, counts: npt.NDArray[Any]) -> Floats:
        """Return the counts, of any shape, with independent noise."""
        return self.added(counts, float_generator(stream))

    def added(self, counts: npt.NDArray[Any], generator: np.random.Generator) -> Floats:
        """Return the counts with noise from a generator."""
        up, down = generator.standard_gamma(self.draws, size=(2, *counts.shape))
        return np.asarray(counts + (up - down) / (self.draws * self.epsilon))

    def law(self, count: float, threshold: float) -> Floats:
        """Return the probabilities that a noisy count is at most, or above, a threshold.

        The difference of the gammas, waiting times for n events each, is above x > 0 if fewer than n events of one kind come
        until x and n of the other kind after that: a Poisson number and a negative binomial one, together.
        """
        n, x = self.draws, abs(threshold - count) * self.draws * self.epsilon
        soon = [math.exp(k * math.log(x) - x - math.lgamma(k + 1)) if x > 0 else float(k == 0) for k in range(n)]
        race = np.cumsum([math.comb(n + k - 1, k) / 2 ** (n + k) for k in range(n)])
        tail = math.fsum(soon[k] * race[n - 1 - k] for k in range(n))
        return np.array([1 - tail, tail] if threshold >= count else [tail, 1 - tail])
