"""The noisy sums behind the steps of an additive model, as they were released: what its curves' noise is worked out from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.boosting.gradients import Gradients
from hedgerow.boosting.steps import Step
from hedgerow.boosting.weights import UNIT
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Noise

__all__ = ["Measured"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_SUMS = 1 << 20  # of a model that keeps them: 8 MB; a larger one has curves without bands
DAMAGED = "the file's released sums are damaged; fit the model again."


@dataclass(frozen=True, eq=False)
class Measured:
    """What the rounds of an additive model released of gradients and curvatures.

    Parameters
    ----------
    sums : ndarray of shape (cells, 2 scored classes), int64
        The noisy sums of each cell of each round, gradients first, in units; curvatures are a multiple of themselves.
    cell : ndarray of shape (nodes,), int32
        The cell of each leaf of the model's trees, -1 for other nodes. Leaves may share one.
    noise : ndarray of shape (2,), int64
        The standard deviation of the noise of a sum, in units, rounded; and the multiple, in thousandths.
    """

    sums: Integers
    cell: npt.NDArray[np.int32]
    noise: Integers

    @classmethod
    def of(cls, steps: Sequence[Step], noise: Noise, gradients: Gradients) -> Self | None:
        """Return what the steps were made of; None where that is more than a model should hold, or hardly noisy, as
        the plan says.
        """
        sums = [step.sums for step in steps if step.sums is not None]
        if len(sums) < len(steps) or sum(part.size for part in sums) > MOST_SUMS:
            return None
        cell, first = [], 0
        for step, part in zip(steps, sums, strict=True):
            sides = len(step.votes)
            inner = np.full(2 * sides - 1, -1)
            cell += [inner, *(first + side * (len(part) // sides) + step.into for side in range(sides))]
            first += len(part)
        about = np.array([round(noise.deviation), round(1000 * gradients.curvature)], dtype=np.int64)
        if about[0] < 1:  # of so large a budget that there is no noise to speak of
            return None
        return cls(np.concatenate(sums), np.concatenate(cell).astype(np.int32), about)

    @property
    def deviations(self) -> tuple[float, float]:
        """The standard deviations of the noise of a gradient and of a curvature."""
        gradient = float(self.noise[0]) / UNIT
        return gradient, gradient * 1000 / float(self.noise[1])

    def of_cells(self, cells: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
        """Return the noisy gradients and curvatures of some cells, each (cells, scored classes)."""
        gradient, curvature = np.split(self.sums[cells] / UNIT, 2, axis=1)
        return gradient, curvature * 1000 / float(self.noise[1])

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the sums as named arrays."""
        return {"sums": self.sums, "cell": self.cell, "noise": self.noise}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], leaves: Sequence[Sequence[slice]], channels: int
    ) -> Self | None:
        """Return what ``to_arrays`` wrote of a model with these leaves by round and side; None where the arrays are not there.

        Raises
        ------
        FileFormatError
            If they are damaged.
        """
        given = [arrays[name] for name in ("sums", "cell", "noise") if name in arrays]
        if not given:
            return None
        if len(given) < 3:
            raise FileFormatError(DAMAGED)
        sums, cell, noise = given
        if (
            sums.dtype != np.int64
            or cell.dtype != np.int32
            or noise.dtype != np.int64
            or sums.ndim != 2
            or sums.shape[1] != channels
            or sums.size > MOST_SUMS
            or noise.shape != (2,)
            or np.any(noise <= 0)
            or not _in_order(cell, leaves, len(sums))
        ):
            raise FileFormatError(DAMAGED)
        return cls(sums, cell, noise)


def _in_order(cell: npt.NDArray[np.int32], leaves: Sequence[Sequence[slice]], cells: int) -> bool:
    """Say whether the cells of all rounds stand one behind the other, and all sides of a round have alike ones.

    On one side each leaf has a cell of its own.
    """
    if cell.ndim != 1:
        return False
    first, used = 0, np.zeros(len(cell), dtype=np.bool_)
    for sides in leaves:
        own = cell[sides[0]]
        distinct = np.unique(own)
        if len(sides) == 1 and len(distinct) < len(own):
            return False
        if not np.array_equal(distinct, np.arange(first, first + len(distinct))):
            return False
        for side, places in enumerate(sides):
            if not np.array_equal(cell[places], own + side * len(distinct)):
                return False
            used[places] = True
        first += len(distinct) * len(sides)
    return first == cells and bool(np.all(cell[~used] == -1))
