"""Sending records to the parts of a forest, each by its own coin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream

__all__ = ["PerRecordCoin", "PoissonCoin"]


@dataclass(frozen=True)
class PerRecordCoin:
    """Each record goes to one of ``parts`` parts by a coin that depends on its row alone.

    Costs nothing by itself: the parts are disjoint, and no record can move another one (docs/proofs/composition.md). The
    assignment is never released.
    """

    parts: int

    inclusion: ClassVar[Fraction | None] = None

    def sample(self, stream: Stream, records: int) -> npt.NDArray[np.int32]:
        """Return the part of each record."""
        part = np.empty(records, dtype=np.int32)
        kernels.assign(stream, 0, self.parts, part)
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

    def sample(self, stream: Stream, records: int) -> npt.NDArray[np.int32]:
        """Return 0 for each record that takes part and -1 for the others."""
        part = np.empty(records, dtype=np.int32)
        kernels.include(stream, 0, self.threshold, part)
        return part

    def law(self, records: int) -> npt.NDArray[np.float64]:
        """Return the probabilities that one record takes part and that it does not."""
        return np.array([float(self.inclusion), 1 - float(self.inclusion)])
