"""Adding noise to integers: the two-sided geometric and the rounded normal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from hedgerow.arrays import Integers
from hedgerow.errors import ConfigurationError
from hedgerow.lazy_values import lazy
from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream
from hedgerow.privacy.events import Gaussian, Pure, Thresholded
from hedgerow.privacy.exact import Dyadic, check_positive, dyadic_below

RATE_BITS = 52  # keeps the geometric sampler's intermediate products in an int64
THRESHOLD_GUARD = 2**-40  # relative; logarithms are accurate to the 50th bit
SIGMA_DIGITS = 30
MOST_DRAWS = 1 << 22  # of one batch, where its size is not known beforehand


@dataclass(frozen=True)
class Geometric:
    """Two-sided geometric noise: integer k with probability proportional to exp(-rate * abs(k)).

    Parameters
    ----------
    epsilon : Fraction
        The budget, an upper bound on the cost under add/remove adjacency.
    sensitivity : int, default 1
        The largest L1 change of the batch's values when one record is added.

    Notes
    -----
    Costs ``epsilon``, pure; one record replaced costs twice as much. The rate is epsilon / sensitivity rounded down to a
    dyadic number. Ghosh, Roughgarden and Sundararajan 2009; docs/proofs/geometric.md.
    """

    epsilon: Fraction
    sensitivity: int = 1

    name = "two-sided geometric noise"

    def __post_init__(self) -> None:
        check_positive(self.name, self.epsilon, self.sensitivity)

    @lazy
    def rate(self) -> Dyadic:
        return dyadic_below(self.epsilon / self.sensitivity, digits=kernels.FACTOR_BITS, bits=RATE_BITS)

    def covers(self, l1: int, l2_squared: int) -> bool:
        return self.sensitivity >= l1

    @property
    def deviation(self) -> float:
        return math.sqrt(2) / float(self.rate.fraction)

    def event(self, purpose: str, level: int = 0, draws: int = 0) -> Pure:
        """Return what one batch costs; its draws are exact, however many they are."""
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
        rate = self.noise.rate
        below = np.empty(len(values), dtype=np.bool_)
        kernels.at_most(stream, rate.numerator, rate.bits, values, self.threshold, below)
        return below

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

    Parameters
    ----------
    noise : Geometric
        Of the counts.
    delta : Fraction
        The probability.
    records : int, default 1
        k, the most records of one person.
    """

    noise: Geometric
    delta: Fraction
    records: int = 1

    def __post_init__(self) -> None:
        check_positive("a threshold", self.delta, self.records)

    @lazy
    def threshold(self) -> int:
        """The least T above k with ``max(k g(1), g(k)) <= delta``, ``g(j) = exp(-rate (T - j)) / (1 + exp(-rate))``."""
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
        return ~self._below.sample(stream, counts)

    def law(self, count: int) -> npt.NDArray[np.float64]:
        return self._below.law(count)[::-1]

    @property
    def _below(self) -> AtMost:
        return AtMost(self.noise, self.threshold - 1)


@dataclass(frozen=True)
class RoundedNormal:
    """Normal noise rounded to integers: exactly Gaussian-DP when it is added to integers.

    Parameters
    ----------
    mu_squared : Fraction
        The budget: the squared mu of Gaussian differential privacy under add/remove adjacency.
    squared_sensitivity : Fraction
        The largest squared L2 change of the batch's values when one record is added.

    Notes
    -----
    The standard deviation is sensitivity / mu, rounded up to a dyadic number. round(x + N) = x + round(N) for an integer
    x, so this is post-processing of the continuous Gaussian mechanism. The sampler's law is within a total variation of
    2**-62 per draw; the event counts the draws, and accounting adds them to delta. docs/proofs/gaussian.md.
    """

    mu_squared: Fraction
    squared_sensitivity: Fraction = Fraction(1)

    name = "rounded normal noise"

    def __post_init__(self) -> None:
        check_positive(self.name, self.mu_squared, self.squared_sensitivity)

    @lazy
    def sigma(self) -> Dyadic:
        variance = self.squared_sensitivity / self.mu_squared
        bits = max(1, min(SIGMA_DIGITS, SIGMA_DIGITS - 1 - math.ceil(math.log2(variance) / 2)))
        numerator = math.isqrt(int(variance * 4**bits)) + 1
        if numerator >= 2 ** (SIGMA_DIGITS + 1):
            raise ConfigurationError(
                f"a budget is so small that its noise would have a standard deviation of about {math.sqrt(variance):.3g}, "
                "more than the sampler draws; pass a larger epsilon or delta, or fewer rounds."
            )
        return Dyadic(numerator, bits)

    def covers(self, l1: int, l2_squared: int) -> bool:
        """Say whether the noise is enough for sums to which a record adds at most so much in L1 and in squared L2 norm."""
        return self.squared_sensitivity >= l2_squared

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
        """Return the least positive integer that the noise alone reaches with at most this probability."""
        return max(1, math.ceil(0.5 - float(self.sigma.fraction) * float(ndtri(chance))))
