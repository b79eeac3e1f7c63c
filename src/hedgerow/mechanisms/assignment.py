"""Sending records to the parts of a forest, each by its own coin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.mechanisms import kernels
from hedgerow.mechanisms.kernels import Stream

__all__ = ["PerRecordCoin"]


@dataclass(frozen=True)
class PerRecordCoin:
    """Each record goes to one of ``parts`` parts by a coin that depends on its row alone.

    Costs nothing by itself: the parts are disjoint, and no record can move another one (SYSTEMS.md lemma 4). The
    assignment is never released.
    """

    parts: int

    def sample(self, stream: Stream, records: int) -> npt.NDArray[np.int32]:
        """Return the part of each record."""
        part = np.empty(records, dtype=np.int32)
        kernels.assign(stream, 0, self.parts, part)
        return part

    def law(self, records: int) -> npt.NDArray[np.float64]:
        """Return the probability of each part for one record, up to the 2**-32 by which they differ."""
        return np.full(self.parts, 1 / self.parts)
