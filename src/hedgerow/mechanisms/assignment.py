"""Sending records to the parts of a forest, each by its own coin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream

__all__ = ["Coin", "PerRecordCoin", "PoissonCoin", "WeightedCoin"]


@dataclass(frozen=True)
class PerRecordCoin:
    """Each record goes to one of ``parts`` parts by a coin that depends on its row alone.

    Costs nothing by itself: the parts are disjoint, and no record can move another one (docs/proofs/composition.md). The
    assignment is never released.
    """

    parts: int

    inclusion: ClassVar[Fraction | None] = None

    def sample(self, stream: Stream, records: int, first_row: int = 0) -> npt.NDArray[np.int32]:
        """Return the part of each record, of which the first has this row number."""
        part = np.empty(records, dtype=np.int32)
        kernels.assign(stream, first_row, self.parts, part)
        return part

    def law(self, records: int) -> npt.NDArray[np.float64]:
        """Return the probability of each part for one record, up to the 2**-32 by which they differ."""
        return np.full(self.parts, 1 / self.parts)


@dataclass(frozen=True)
class PoissonCoin:
    """Each record takes part with a public probability, by a coin that depends on its row alone.

    What is asked of those that do costs less of each record: epsilon becomes ln(1 + q (e^epsilon - 1)) under add/remove
    (docs/proofs/composition.md). The sample is never released.

    Parameters
    ----------
    probability : Fraction
        q, above 0 and at most 1; it is rounded down to a multiple of 2**-32.
    """

    probability: Fraction

    parts: ClassVar[int] = 1

    @property
    def threshold(self) -> int:
        """How many of 2**32 equally probable words let a record in."""
        return int(self.probability * 2**32)

    @property
    def inclusion(self) -> Fraction:
        """The probability with which a record takes part, exact."""
        return Fraction(self.threshold, 2**32)

    def sample(self, stream: Stream, records: int, first_row: int = 0) -> npt.NDArray[np.int32]:
        """Return 0 for each record that takes part and -1 for the others; the first has this row number."""
        part = np.empty(records, dtype=np.int32)
        kernels.include(stream, first_row, self.threshold, part)
        return part

    def law(self, records: int) -> npt.NDArray[np.float64]:
        """Return the probabilities that one record takes part and that it does not."""
        return np.array([float(self.inclusion), 1 - float(self.inclusion)])


@dataclass(frozen=True)
class WeightedCoin:
    """Each record takes part with a probability of its own, by a coin that depends on its row alone.

    The probability must follow from the record and from released values, and be at most ``inclusion``: what is asked of
    those that take part then costs what it costs of a Poisson sample with that probability (docs/proofs/composition.md).

    Parameters
    ----------
    inclusion : Fraction, default 1
        The largest probability.
    """

    inclusion: Fraction = Fraction(1)

    parts: ClassVar[int] = 1

    def sample(self, stream: Stream, thresholds: npt.NDArray[np.uint64], first_row: int = 0) -> npt.NDArray[np.int32]:
        """Return 0 for each record that takes part and -1 for the others.

        ``thresholds`` (records,) says how many of 2**32 equally probable words let a record in; more than ``inclusion``
        allows are cut down to that.
        """
        part = np.empty(len(thresholds), dtype=np.int32)
        kernels.include_each(stream, first_row, self._allowed(thresholds), part)
        return part

    def law(self, threshold: np.uint64) -> npt.NDArray[np.float64]:
        """Return the probabilities that one record takes part and that it does not."""
        probability = float(self._allowed(np.array([threshold], dtype=np.uint64))[0]) / 2**32
        return np.array([probability, 1 - probability])

    def _allowed(self, thresholds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return np.minimum(thresholds, np.uint64(int(self.inclusion * 2**32)))


Coin = PerRecordCoin | PoissonCoin | WeightedCoin
