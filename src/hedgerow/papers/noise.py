"""Noise of the printed algorithms: real numbers in floating point, outside every guarantee.

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

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Exponential, PermuteAndFlip, Selection
from hedgerow.mechanisms.kernels import Stream, next_word

SEED_WORDS = 4  # 256 bits


@dataclass(frozen=True)
class RealPermuteAndFlip(PermuteAndFlip):  # eDPRF: algorithm 1
    """Permute-and-flip as the largest score plus exponential noise: the same law, were floats real numbers.

    The papers' factor 1 / (2 Delta) is a ``score_range`` of 2 Delta.

    Source    docs/proofs/selection.md; Ding, Kifer, Steinke, Zhang and Zhang, "The permute-and-flip mechanism is identical to
              report-noisy-max with exponential noise", 2021.
    """

    name = "permute-and-flip in floating point"

    def sample(self, stream: Stream, scores: npt.NDArray[Any], offered: npt.NDArray[Any]) -> Integers:
        return _largest(self, scores, offered, float_generator(stream).standard_exponential(scores.shape))


@dataclass(frozen=True)
class RealExponential(Exponential):  # eDPRF: equation 6; definition 4
    """The exponential mechanism as the largest score plus Gumbel noise: the same law, were floats real numbers."""

    name = "exponential mechanism in floating point"

    def sample(self, stream: Stream, scores: npt.NDArray[Any], offered: npt.NDArray[Any]) -> Integers:
        return _largest(self, scores, offered, float_generator(stream).gumbel(size=scores.shape))


RealSelection = type[RealPermuteAndFlip] | type[RealExponential]


def _largest(law: Selection, scores: npt.NDArray[Any], offered: npt.NDArray[Any], noise: Floats) -> Integers:
    keys = float(law.epsilon / law.score_range) * scores + noise
    return np.asarray(np.where(offered, keys, -np.inf).argmax(axis=1))


@dataclass(frozen=True)
class IntervalChoice:
    """A cut point by the exponential mechanism with the length as base measure: an interval, then a point in it.

    Interval i has the probability proportional to its length times exp(epsilon score_i / score_range), as in Friedman and
    Schuster, KDD 2010.
    """

    epsilon: Fraction
    score_range: int

    def sample(
        self, stream: Stream, score: Floats, left: Floats, right: Floats, start: Integers
    ) -> tuple[Floats, Floats]:
        """Choose in each run of intervals, run i from ``start[i]`` to ``start[i + 1]``; return scores and cut points.

        ``score``, ``left`` and ``right`` have the shape (intervals,); a run has at least one interval with a length.
        """
        generator = float_generator(stream)
        with np.errstate(divide="ignore"):
            keys = float(self.epsilon / self.score_range) * score + np.log(right - left)
        keys += generator.gumbel(size=len(score))
        largest = np.repeat(np.maximum.reduceat(keys, start[:-1]), np.diff(start))
        places = np.flatnonzero(keys == largest)
        chosen = places[np.searchsorted(places, start[:-1])]  # the first of equals
        low, high = left[chosen], right[chosen]
        return score[chosen], low + generator.random(len(chosen)) * (high - low)


# DPAda: equation 3; definition 4
# CART-DPsAdaBoost: equation 3; definition 3
@dataclass(frozen=True)
class Laplace:  # eDPRF: equations 4 and 5; definition 4
    """Counts with Laplace noise of scale 1 / epsilon."""

    epsilon: Fraction

    def sample(self, stream: Stream, counts: npt.NDArray[Any]) -> Floats:
        return np.asarray(counts + float_generator(stream).laplace(scale=float(1 / self.epsilon), size=counts.shape))


@dataclass(frozen=True)
class Permutation:
    def sample(self, stream: Stream, records: int) -> Integers:
        return float_generator(stream).permutation(records)

    def law(self, records: int) -> Floats:
        """Return the probability of each order, the orders sorted as ``itertools.permutations`` gives them."""
        orders = math.factorial(records)
        return np.full(orders, 1 / orders)


@dataclass(frozen=True)
class Resample:
    def sample(self, stream: Stream, weights: Floats, samples: int) -> Integers:
        """Return the rows of each sample, ascending, of shape (samples, records); ``weights`` (records,) sum to 1."""
        rows = np.arange(len(weights))
        times = float_generator(stream).multinomial(len(weights), weights, size=samples)
        return np.repeat(np.tile(rows, samples), times.reshape(-1)).reshape(samples, len(weights))


@dataclass(frozen=True)
class SomeFeatures:
    """A random subset of so many features; all of them where there are fewer."""

    size: int

    def sample(self, stream: Stream, offered: Truth) -> Truth:
        keys = np.where(offered, float_generator(stream).random(offered.shape), -1.0)
        least = -np.sort(-keys, axis=1)[:, min(self.size, offered.shape[1]) - 1]
        return np.asarray(offered & (keys >= least[:, None]))


def float_generator(stream: Stream) -> np.random.Generator:
    """Return a numpy generator that is seeded from the fit's own stream, for real-valued noise that no guarantee covers."""
    return np.random.default_rng([int(next_word(stream)) for _ in range(SEED_WORDS)])
