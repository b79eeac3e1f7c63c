"""Choosing one candidate by its score: permute-and-flip and the exponential mechanism."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import check_shape
from hedgerow.lazy_values import lazy
from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream
from hedgerow.privacy.events import BoundedRange, Pure
from hedgerow.privacy.exact import Dyadic, check_positive, dyadic_below

Scores = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]

RATE_BITS = 120


@dataclass(frozen=True)
class Selection(ABC):
    """A mechanism that chooses by integer scores.

    Parameters
    ----------
    epsilon : Fraction
        The budget, an upper bound on the cost under add/remove adjacency.
    score_range : int
        R, the largest spread of the scores' changes when one record is added: for one-sided scores the largest change,
        not twice that (docs/proofs/selection.md).

    Notes
    -----
    The rate is epsilon / R rounded down to a dyadic number, so that its coins are exact; ``event`` states what the rounded
    rate costs. One record replaced costs twice as much.
    """

    epsilon: Fraction
    score_range: int

    name = "selection"
    ranged: ClassVar[bool] = False  # whether the loss stays within an interval of length epsilon

    def __post_init__(self) -> None:
        check_positive("a selection", self.epsilon, self.score_range)

    @lazy
    def rate(self) -> Dyadic:
        return dyadic_below(self.epsilon / self.score_range, digits=kernels.FACTOR_BITS, bits=RATE_BITS)

    @abstractmethod
    def sample(self, stream: Stream, scores: Scores, offered: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Choose one offered candidate in each row of ``scores`` (rows, candidates)."""

    @abstractmethod
    def law(self, scores: Scores, offered: npt.NDArray[Any]) -> Probabilities:
        """Return the probability of each candidate of one row."""

    def mass(self, offered: npt.NDArray[np.bool_], weight: Scores) -> npt.NDArray[Any]:
        """Return what ``sample`` takes for tests that are ``offered`` (rows, candidates) and have public base weights."""
        return offered

    def event(self, purpose: str, detail: str, level: int = 0) -> Pure:
        """Return what one selection costs; ``detail`` names the score."""
        kind = BoundedRange if self.ranged else Pure
        epsilon = self.rate.fraction * self.score_range
        return kind(epsilon, f"{self.name}, {detail}, range {self.score_range}", purpose, level)


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """Permute-and-flip: candidates in random order, the first to win a coin exp(-rate * (best - score)) is chosen.

    Costs     ``epsilon``, pure. Never worse than the exponential mechanism at the same cost.
    Source    McKenna and Sheldon 2020; docs/proofs/selection.md.
    """

    name = "permute-and-flip"

    def sample(self, stream: Stream, scores: Scores, offered: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        rate = self.rate
        check_shape(offered, scores.shape, "offered (rows, candidates)")
        left, chosen = _room(scores)
        kernels.permute_and_flip(stream, rate.numerator, rate.bits, scores, offered, left, chosen)
        return chosen

    def law(self, scores: Scores, offered: npt.NDArray[Any]) -> Probabilities:
        """Return the probability of each candidate of one row.

        With arrival times uniform in [0, 1], candidate r is chosen with probability a_r times the integral of the product
        over s != r of (1 - a_s t), a = exp(-rate * (best - score)): a polynomial, which Gauss-Legendre integrates exactly.
        """
        accept = _acceptance(self.rate, scores, offered)
        times, weights = _quadrature(len(scores))
        stay = 1 - np.outer(accept, times)
        others = np.array([np.prod(np.delete(stay, r, axis=0), axis=0) for r in range(len(scores))])
        return np.asarray(accept * (others @ weights))


@dataclass(frozen=True)
class Exponential(Selection):
    """The exponential mechanism: probability proportional to weight * exp(rate * score), weights public integers.

    Costs     ``epsilon``, pure (and of bounded range, so epsilon**2 / 8 in zero-concentrated DP).
    Source    McSherry and Talwar 2007; docs/proofs/selection.md.
    """

    name = "exponential mechanism"
    ranged = True

    def mass(self, offered: npt.NDArray[np.bool_], weight: Scores) -> npt.NDArray[Any]:
        return np.where(offered, weight, 0)

    def sample(self, stream: Stream, scores: Scores, offered: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Choose one candidate in each row; ``offered`` (rows, candidates) holds weights, or truth values."""
        rate = self.rate
        check_shape(offered, scores.shape, "offered (rows, candidates)")
        total, chosen = _room(scores)
        kernels.exponential(stream, rate.numerator, rate.bits, scores, offered.astype(np.int64), total, chosen)
        return chosen

    def law(self, scores: Scores, offered: npt.NDArray[Any]) -> Probabilities:
        mass = _acceptance(self.rate, scores, offered > 0) * offered
        return np.asarray(mass / math.fsum(mass))


SELECTIONS: Mapping[str, type[Selection]] = {"permute-and-flip": PermuteAndFlip, "exponential": Exponential}


@dataclass(frozen=True)
class PublicChoice:
    """Choose by public weights, whatever the records are: it costs nothing."""

    def sample(self, stream: Stream, weights: Scores) -> npt.NDArray[np.int64]:
        total, chosen = _room(weights)
        kernels.exponential(stream, 1, 1, np.zeros_like(weights), weights, total, chosen)
        return chosen

    def law(self, weights: Scores) -> Probabilities:
        return np.asarray(weights / weights.sum())


def _room(scores: Scores) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return what a kernel writes to: one integer for each candidate, for its own use, and one for each row, the choice."""
    rows, candidates = scores.shape
    return np.empty(candidates, dtype=np.int64), np.empty(rows, dtype=np.int64)


def _acceptance(rate: Dyadic, scores: Scores, offered: npt.NDArray[Any]) -> Probabilities:
    gaps = (scores[offered].max() - scores).astype(np.float64)
    return np.where(offered, np.exp(-float(rate.fraction) * np.where(offered, gaps, 0.0)), 0.0)


@lru_cache(maxsize=64)
def _quadrature(factors: int) -> tuple[Probabilities, Probabilities]:
    """Return places and weights in [0, 1] that integrate products of so many linear factors exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(factors // 2 + 1)
    return (nodes + 1) / 2, weights / 2
