"""Noise on integers, choices by scores, and the budgets that buy them: pure epsilon, or rho of zero-concentrated DP."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from hedgerow.arrays import Floats, Integers, check_shape, frozen_copy, lazy
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream
from hedgerow.privacy.accounting import BoundedRange, Concentrated, Event, Gaussian, Pure, Thresholded
from hedgerow.privacy.claim import Claim, NoAmountError
from hedgerow.privacy.exact import Dyadic, check_positive, dyadic_below

RATE_BITS = 52  # keeps the geometric sampler's intermediate products in an int64
THRESHOLD_GUARD = 2**-40  # relative; logarithms are accurate to the 50th bit
SIGMA_DIGITS = 30
LEAST_SIGMA_BITS = -16  # noise is then below 2**53
MOST_DRAWS = 1 << 22  # of one batch, where its size is not known beforehand


@dataclass(frozen=True)
class Geometric:  # eDPRF: equation 4
    """Two-sided geometric noise: integer k with probability proportional to exp(-rate * abs(k)).

    Costs ``epsilon``, pure; one record replaced costs twice as much. The rate is epsilon / sensitivity rounded down to a
    dyadic number. Ghosh, Roughgarden and Sundararajan 2009; docs/proofs/geometric.md.
    """

    epsilon: Fraction  # the budget, an upper bound on the cost under add/remove adjacency
    sensitivity: int = 1  # the largest L1 change of the batch's values when one record is added

    name = "two-sided geometric noise"

    @lazy
    def rate(self) -> Dyadic:
        check_positive(self.name, self.epsilon, self.sensitivity)
        return dyadic_below(self.epsilon / self.sensitivity, digits=kernels.FACTOR_BITS, bits=RATE_BITS)

    def covers(self, l1: int, l2_squared: int) -> bool:
        return self.sensitivity >= l1

    @property
    def deviation(self) -> float:
        return math.sqrt(2) / float(self.rate.fraction)

    def event(self, purpose: str, level: int = 0, draws: int = 0) -> Pure:
        epsilon = self.rate.fraction * self.sensitivity
        return Pure(epsilon, f"{self.name}, sensitivity {self.sensitivity}", purpose, level)

    def sample(self, stream: Stream, values: Integers) -> Integers:
        rate = self.rate
        noisy = np.array(values, dtype=np.int64, order="C").ravel()  # 64 bits: sums with noise do not wrap
        kernels.add_geometric(stream, rate.numerator, rate.bits, noisy)
        return noisy.reshape(values.shape)

    def law(self, value: int, outcomes: Integers) -> npt.NDArray[np.float64]:
        rate = float(self.rate.fraction)
        return np.asarray(np.exp(-rate * np.abs(outcomes - value)) * math.tanh(rate / 2))

    def quantile(self, chance: float) -> int:
        rate = float(self.rate.fraction)  # noise of k or more has probability exp(-rate k) / (1 + exp(-rate))
        return max(1, math.ceil(-(math.log(chance) + math.log1p(math.exp(-rate))) / rate))


@dataclass(frozen=True)
class AtMost:
    """Says whether a count plus two-sided geometric noise is at most a public threshold; the noisy count stays hidden.

    Costs what the noise costs: comparing is post-processing.
    """

    noise: Geometric
    threshold: int

    def sample(self, stream: Stream, values: Integers) -> npt.NDArray[np.bool_]:
        return self.noise.sample(stream, values) <= self.threshold

    def law(self, value: int) -> npt.NDArray[np.float64]:
        rate = float(self.noise.rate.fraction)
        room = self.threshold - int(value)  # the noise must be at most this
        if room >= 0:
            no = math.exp(-rate * (room + 1)) / (1 + math.exp(-rate))
            return np.array([no, 1 - no])
        yes = math.exp(rate * room) / (1 + math.exp(-rate))
        return np.array([1 - yes, yes])


@dataclass(frozen=True)
class PassesThreshold:
    """Says whether a count plus two-sided geometric noise reaches a threshold that one person alone hardly reaches.

    It is asked about values that occur, and about no others: what one person alone holds is shown with at most the
    probability ``delta`` (docs/proofs/released-schemas.md).
    """

    noise: Geometric  # of the counts
    delta: Fraction  # the probability
    records: int = 1  # k, the most records of one person

    @lazy
    def threshold(self) -> int:
        """The least T above k with ``max(k g(1), g(k)) <= delta``, ``g(j) = exp(-rate (T - j)) / (1 + exp(-rate))``."""
        check_positive("a threshold", self.delta, self.records)
        rate, k = float(self.noise.rate.fraction), self.records
        odds = -math.log(float(self.delta)) - math.log1p(math.exp(-rate))
        least = max(1 + (odds + math.log(k)) / rate, k + odds / rate)
        return max(k + 1, math.ceil(least * (1 + THRESHOLD_GUARD)))

    def event(self, purpose: str) -> Thresholded:
        """Return what asking about all values of one column costs: epsilon for one record, delta for all of one person."""
        epsilon = self.noise.rate.fraction
        name = f"{self.noise.name}, sensitivity {self.noise.sensitivity}, threshold {self.threshold}"
        return Thresholded(epsilon, name, purpose, delta=self.delta, records=self.records)

    def sample(self, stream: Stream, counts: Integers) -> npt.NDArray[np.bool_]:
        return ~AtMost(self.noise, self.threshold - 1).sample(stream, counts)

    def law(self, count: int) -> npt.NDArray[np.float64]:
        return AtMost(self.noise, self.threshold - 1).law(count)[::-1]


@dataclass(frozen=True)
class RoundedNormal:
    """Normal noise rounded to integers: exactly Gaussian-DP when it is added to integers.

    The standard deviation is sensitivity / mu, rounded up to a dyadic number. round(x + N) = x + round(N) for an integer
    x, so this is post-processing of the continuous Gaussian mechanism. The sampler's law is within a total variation of
    2**-62 per draw; the event counts the draws, and accounting adds them to delta. docs/proofs/gaussian.md.
    """

    mu_squared: Fraction  # the budget: the squared mu of Gaussian differential privacy under add/remove adjacency
    # The largest squared L2 change of the batch's values when one record is added
    squared_sensitivity: Fraction = Fraction(1)

    name = "rounded normal noise"

    @lazy
    def sigma(self) -> Dyadic:
        check_positive(self.name, self.mu_squared, self.squared_sensitivity)
        variance = self.squared_sensitivity / self.mu_squared
        bits = max(LEAST_SIGMA_BITS, min(SIGMA_DIGITS, SIGMA_DIGITS - 1 - math.ceil(math.log2(variance) / 2)))
        numerator = math.isqrt(int(variance * Fraction(4) ** bits)) + 1
        if numerator >= 2 ** (SIGMA_DIGITS + 1):
            raise ConfigurationError(
                f"the budget is too small: noise of deviation {math.sqrt(variance):.3g} is more than is drawn; pass a larger one."
            )
        return Dyadic(numerator, bits)

    def covers(self, l1: int, l2_squared: int) -> bool:
        return self.squared_sensitivity >= l2_squared

    def doubled(self, times: int) -> RoundedNormal:
        return replace(self, squared_sensitivity=self.squared_sensitivity * 4**times)

    @property
    def deviation(self) -> float:
        return float(self.sigma.fraction)

    def event(self, purpose: str, level: int = 0, draws: int = MOST_DRAWS) -> Gaussian:
        """Return what one batch of at most so many draws costs; each is exact only within 2**-62."""
        return Gaussian(self.squared_sensitivity / self.sigma.fraction**2, draws, purpose, level)

    def sample(self, stream: Stream, values: Integers) -> Integers:
        sigma = self.sigma
        noisy = np.array(values, dtype=np.int64, order="C").ravel()  # 64 bits: sums with noise do not wrap
        kernels.add_normal(stream, sigma.numerator, sigma.bits, noisy)
        return noisy.reshape(values.shape)

    def law(self, value: int, outcomes: Integers) -> npt.NDArray[np.float64]:
        sigma = float(self.sigma.fraction)
        distance = np.abs(outcomes - value)
        # Both ends in the lower tail, where the normal distribution function keeps its relative accuracy.
        return np.asarray(ndtr((0.5 - distance) / sigma) - ndtr((-0.5 - distance) / sigma))

    def quantile(self, chance: float) -> int:
        return max(1, math.ceil(0.5 - float(self.sigma.fraction) * float(ndtri(chance))))


LEAST_SHARE = 10  # least standard deviation of a share; a sum of such shares is nearly a discrete Gaussian
SHARES_GUARD = Fraction(1, 2**60)  # relative; a sum of shares costs less than 1e-400 more (docs/proofs/federated.md)


@dataclass(frozen=True)
class DiscreteGaussian:
    """Discrete Gaussian noise that several owners add together, each a share: integer k with odds exp(-k**2 / (2 sigma**2)).

    ``shares`` is the least number of owners who do not collude: only their shares count. More owners add more noise. One
    share's ``sigma`` is a whole number, rounded up. The cost is one of zero-concentrated DP and of no other accountant: Kairouz,
    Liu and Steinke 2021, theorem 1; docs/proofs/federated.md.
    """

    rho: Fraction  # the budget under add/remove adjacency
    squared_sensitivity: Fraction  # as of ``RoundedNormal``
    shares: int

    name = "discrete Gaussian noise in shares"

    @lazy
    def sigma(self) -> int:
        check_positive(self.name, self.rho, self.squared_sensitivity)
        sigma = max(LEAST_SHARE, math.isqrt(math.ceil(self.squared_sensitivity / (2 * self.rho * self.shares)) - 1) + 1)
        if sigma >= 1 << 30:
            raise ConfigurationError("a budget is too small for the sampler's noise; pass a larger one.")
        return sigma

    def covers(self, l1: int, l2_squared: int) -> bool:
        return self.squared_sensitivity >= l2_squared

    @property
    def deviation(self) -> float:
        return self.sigma * math.sqrt(self.shares)

    def event(self, purpose: str, level: int = 0, draws: int = 0) -> Concentrated:
        rho = self.squared_sensitivity / (2 * self.shares * self.sigma**2) * (1 + SHARES_GUARD)
        return Concentrated(rho, f"{self.name}, {self.shares} of deviation {self.sigma}", purpose, level, self.shares)

    def sample(self, stream: Stream, values: Integers) -> Integers:
        return self.share(stream, values, self.shares)

    def share(self, stream: Stream, values: Integers, shares: int = 1) -> Integers:
        noisy = np.array(values, dtype=np.int64, order="C").ravel()
        for _ in range(shares):
            kernels.add_discrete_gaussian(stream, np.int64(self.sigma), noisy)
        return noisy.reshape(values.shape)

    def law(self, value: int, outcomes: Integers) -> npt.NDArray[np.float64]:
        """Return the law of a value with all shares of the noise: that of one share, convolved with itself."""
        reach = 9 * math.ceil(self.deviation)
        places = np.arange(-reach, reach + 1)
        one = np.exp(-((places / self.sigma) ** 2) / 2)
        one, law = one / math.fsum(one), np.ones(1)
        for _ in range(self.shares):
            law = np.convolve(law, one)
        middle, at = len(law) // 2, np.asarray(outcomes) - value
        return np.where(np.abs(at) <= middle, law[np.clip(at + middle, 0, 2 * middle)], 0.0)

    def quantile(self, chance: float) -> int:
        return max(1, math.ceil(0.5 - self.deviation * float(ndtri(chance))))


Scores = npt.NDArray[np.int64]
Probabilities = npt.NDArray[np.float64]

SELECTION_RATE_BITS = 120


@dataclass(frozen=True)
class Selection(ABC):
    """A mechanism that chooses by integer scores.

    The rate is epsilon / R rounded down to a dyadic number, so that its coins are exact; ``event`` states what the rounded
    rate costs. One record replaced costs twice as much.
    """

    epsilon: Fraction  # the budget, an upper bound on the cost under add/remove adjacency
    # R, the largest spread of the scores' changes when one record is added: for one-sided scores the largest change,
    # not twice that (docs/proofs/selection.md)
    score_range: int

    name = "selection"
    ranged: ClassVar[bool] = False  # whether the loss stays within an interval of length epsilon
    kernel: ClassVar[Callable[..., None]]

    def check_range(self, name: str, score_range: int) -> None:
        if self.score_range < score_range:
            raise ConfigurationError(f"the range is {self.score_range}, but the {name} moves by up to {score_range}.")

    @lazy
    def rate(self) -> Dyadic:
        check_positive("a selection", self.epsilon, self.score_range)
        return dyadic_below(self.epsilon / self.score_range, digits=kernels.FACTOR_BITS, bits=SELECTION_RATE_BITS)

    def sample(self, stream: Stream, scores: Scores, weights: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        # ``weights`` are public, or truth values: what has none is not offered. Permute-and-flip offers all others alike.
        rate = self.rate
        check_shape(weights, scores.shape, "weights (rows, candidates)")
        scratch, chosen = np.empty(scores.shape[1], dtype=np.int64), np.empty(len(scores), dtype=np.int64)
        self.kernel(stream, rate.numerator, rate.bits, scores, weights.astype(np.int64), scratch, chosen)
        return chosen

    @abstractmethod
    def law(self, scores: Scores, weights: npt.NDArray[Any]) -> Probabilities:
        """Return the probability of each candidate of one row."""

    def event(self, purpose: str, detail: str, level: int = 0) -> Pure:
        kind = BoundedRange if self.ranged else Pure
        epsilon = self.rate.fraction * self.score_range
        return kind(epsilon, f"{self.name}, {detail}, range {self.score_range}", purpose, level)


@dataclass(frozen=True)
class PermuteAndFlip(Selection):  # eDPRF: algorithm 1
    """Permute-and-flip: candidates in random order, the first to win a coin exp(-rate * (best - score)) is chosen.

    Costs     ``epsilon``, pure. Never worse than the exponential mechanism at the same cost.
    Source    McKenna and Sheldon 2020; docs/proofs/selection.md.
    """

    name = "permute-and-flip"
    kernel = staticmethod(kernels.permute_and_flip)

    def law(self, scores: Scores, weights: npt.NDArray[Any]) -> Probabilities:
        # With arrival times uniform in [0, 1], candidate r is chosen with probability a_r times the integral of the product
        # over s != r of (1 - a_s t), a = exp(-rate * (best - score)): a polynomial, which Gauss-Legendre integrates exactly.
        accept = _acceptance(self.rate, scores, weights > 0)
        times, weights = _quadrature(len(scores))
        stay = 1 - np.outer(accept, times)
        others = np.array([np.prod(np.delete(stay, r, axis=0), axis=0) for r in range(len(scores))])
        return np.asarray(accept * (others @ weights))


# CART-DPsAdaBoost: equation 4; definition 4
@dataclass(frozen=True)
class Exponential(Selection):  # eDPRF: equation 6
    """The exponential mechanism: probability proportional to weight * exp(rate * score), weights public integers.

    Costs     ``epsilon``, pure (and of bounded range, so epsilon**2 / 8 in zero-concentrated DP).
    Source    McSherry and Talwar 2007; docs/proofs/selection.md.
    """

    name = "exponential mechanism"
    ranged = True
    kernel = staticmethod(kernels.exponential)

    def law(self, scores: Scores, weights: npt.NDArray[Any]) -> Probabilities:
        mass = _acceptance(self.rate, scores, weights > 0) * weights
        return np.asarray(mass / math.fsum(mass))


SELECTIONS: Mapping[str, type[Selection]] = {"permute-and-flip": PermuteAndFlip, "exponential": Exponential}


@dataclass(frozen=True)
class PublicChoice:
    """Choose by public weights, whatever the records are: it costs nothing."""

    def sample(self, stream: Stream, weights: Scores) -> npt.NDArray[np.int64]:
        return Exponential(Fraction(1), 1).sample(stream, np.zeros_like(weights), weights)

    def law(self, weights: Scores) -> Probabilities:
        return np.asarray(weights / weights.sum())


def _acceptance(rate: Dyadic, scores: Scores, offered: npt.NDArray[Any]) -> Probabilities:
    gaps = (scores[offered].max() - scores).astype(np.float64)
    return np.where(offered, np.exp(-float(rate.fraction) * np.where(offered, gaps, 0.0)), 0.0)


@lru_cache(maxsize=64)
def _quadrature(factors: int) -> tuple[Probabilities, Probabilities]:
    """Return places and weights in [0, 1] that integrate products of so many linear factors exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(factors // 2 + 1)
    return (nodes + 1) / 2, weights / 2


ROOT_GUARD = Fraction(1, 2**40)  # relative; a float's root is accurate to the 53rd bit

Noise = Geometric | RoundedNormal | DiscreteGaussian


@dataclass(frozen=True)
class Budget:
    """What a step may cost under add/remove adjacency.

    Pure budgets buy geometric noise and any selection. Concentrated ones buy normal noise, and the exponential mechanism at
    epsilon**2 / 8 = rho, which it never exceeds; permute-and-flip has no place there (docs/proofs/concentrated.md).
    """

    amount: Fraction  # epsilon, or rho
    concentrated: bool = False  # whether the amount is a rho
    unit: int = 1  # the largest weight of a record in the counts that are asked for
    shares: int = 0  # of owners who draw the noise together; 0: whoever asks draws it

    @classmethod
    def of(
        cls,
        claim: Claim,
        event: Callable[[Budget], Event],
        parts: int = 1,
        largest: Callable[[Claim, Callable[[Fraction], Event]], Fraction] = Claim.largest,
    ) -> Budget:
        """Return the budget of each of the equal parts of a plan that keeps to a claim."""
        # Pure where the claim has no delta; otherwise nearly the largest rho for which the claim covers the ``event`` that the
        # whole plan makes of it. Where epsilon is so large that no rho does, since the samplers' own error times e^epsilon is
        # above delta, the pure budget, which keeps to the claim too.
        pure = cls(claim.pure / parts)
        if claim.delta == 0:
            return pure
        try:
            return cls(largest(claim, lambda amount: event(cls(amount, concentrated=True))), concentrated=True)
        except NoAmountError:
            with suppress(ConfigurationError):  # what is said of the claim itself tells more
                if claim.covers(event(pure)):
                    return pure
            raise

    def __mul__(self, share: Fraction | int) -> Budget:
        return replace(self, amount=self.amount * share)

    def __truediv__(self, parts: Fraction | int) -> Budget:
        return replace(self, amount=self.amount / parts)

    def __sub__(self, other: Budget) -> Budget:
        return replace(self, amount=self.amount - other.amount)

    def noise(self, cells: int = 1) -> Noise:
        return self.noise_for(cells * self.unit, cells * self.unit**2)

    def noise_for(self, l1: int, l2_squared: int) -> Noise:
        if self.shares:
            return DiscreteGaussian(self.amount, Fraction(l2_squared), self.shares)
        if self.concentrated:
            return RoundedNormal(2 * self.amount, Fraction(l2_squared))
        return Geometric(self.amount, l1)

    def selection(self, kind: type[Selection], score_range: int) -> Selection:
        # A concentrated budget buys the exponential mechanism, also where another ``kind`` is asked for: permute-and-flip has
        # no bounded range, on which that cost rests.
        if not self.concentrated:
            return kind(self.amount, score_range * self.unit)
        epsilon = Fraction(math.sqrt(8 * self.amount)) * (1 - ROOT_GUARD)
        return Exponential(epsilon, score_range * self.unit)


SCALE_BITS = 12  # the columns of a matrix have norms of at most 2**SCALE_BITS, in which a rounding costs little
BROAD_SHARE = 0.5  # of a column's squared norm, for cosines and sines; the rest is for the code alone
HALF_PERIODS = 4  # over all bins, of the shortest cosine; that of k half periods weighs 1 / k
MIN_CODES = 5  # of a feature, below which its codes are measured as they are


@dataclass(frozen=True, eq=False)
class Basis:
    """A public invertible integer matrix A, (codes, codes), by which sums of codes are multiplied before noise is added.

    A record adds a column of A times its channels, so its norms grow by those of a column (docs/proofs/hedgerow.md).
    """

    matrix: Integers

    def __post_init__(self) -> None:
        # A read-only copy: its norms are those of what is applied.
        object.__setattr__(self, "matrix", frozen_copy(self.matrix, np.int64))

    @lazy
    def l1(self) -> int:
        return int(np.abs(self.matrix).sum(axis=0).max())

    @lazy
    def l2_squared(self) -> int:
        return int((self.matrix**2).sum(axis=0).max())

    def applied(self, sums: Integers) -> Integers:
        return np.asarray(np.matmul(self.matrix, sums))

    def sums(self, answer: Integers) -> Integers:
        return np.asarray(np.rint(np.linalg.solve(self.matrix.astype(np.float64), answer)), dtype=np.int64)

    @lazy
    def covariance(self) -> Floats:
        """The covariance of the noise of ``sums``, (codes, codes), in units of the variance that it has without a basis."""
        inverse = np.linalg.inv(self.matrix / 2.0**SCALE_BITS)
        covariance = inverse @ inverse.T
        covariance.setflags(write=False)
        return covariance


@lru_cache(maxsize=64)
def broad_basis(codes: int) -> Basis | None:
    """Return the basis of a number with so many codes, of which the last is of missing cells; None if they are few."""
    # A is the root of the correlations of cosines and sines of bins, plus a diagonal, rounded towards zero: no norm grows.
    if codes < MIN_CODES:
        return None
    place = np.arange(codes - 1) / (codes - 1)
    waves = np.arange(1, HALF_PERIODS + 1)
    weights = 1 / waves / (1 / waves).sum()
    apart = np.pi * (place[:, None] - place)
    correlation = np.eye(codes)
    correlation[:-1, :-1] *= 1 - BROAD_SHARE
    for wave, weight in zip(waves.tolist(), weights.tolist(), strict=True):
        correlation[:-1, :-1] += BROAD_SHARE * weight * np.cos(wave * apart)
    root = np.linalg.cholesky(correlation).T
    return Basis(np.trunc(root * 2**SCALE_BITS))
