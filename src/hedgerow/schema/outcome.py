"""The outcome of a regression: a number with a public range, read as an integer on a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hedgerow.errors import SchemaError
from hedgerow.schema.cells import Cells
from hedgerow.schema.features import Categorical, Feature, Numeric
from hedgerow.schema.types import Date, Integer

# Of a grid at most: a millionth of the range is below any noise, and sums of 2**31 residuals fit 64 bits.
STEPS = 1 << 20
NARROWEST, FARTHEST = 1e-30, 1e30  # between them fourth powers of steps and of ranges are finite and not zero


@dataclass(frozen=True)
class OutcomeGrid:
    """The public grid on which outcomes are integers.

    Parameters
    ----------
    low, high
        The range: the values of the codes 0 and ``steps``.
    steps
        How many steps of equal width the range has, at most 2**31 - 1.

    Examples
    --------
    >>> grid = OutcomeGrid(0, 10, 100)
    >>> grid.codes(np.array([-3, 0.12, 10, np.nan]))
    array([  0,   1, 100,  -1])
    >>> grid.values(np.array([0, 1, 100]))
    array([ 0. ,  0.1, 10. ])
    """

    low: float
    high: float
    steps: int

    @property
    def step(self) -> float:
        """The width of a step, in the outcome's unit."""
        return (self.high - self.low) / self.steps

    def codes(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the nearest point of each value, of the same shape. A value beyond the range gets an end, NaN gets -1."""
        found = np.asarray(values, dtype=np.float64)
        known = np.where(np.isnan(found), self.low, found).clip(self.low, self.high)
        codes = np.rint((known - self.low) / (self.high - self.low) * self.steps).astype(np.int64)
        return np.where(np.isnan(found), -1, codes)

    def values(self, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the values of codes, of the same shape. A code may be beyond the ends, or between two points."""
        share = np.asarray(codes, dtype=np.float64) / self.steps
        return np.asarray(self.low * (1 - share) + self.high * share)


@dataclass(frozen=True)
class OutcomeReader:
    """Read the cells of an outcome as codes of its grid; -1 if a cell holds no number. Each cell is read by itself."""

    outcome: Numeric
    missing: Sequence[str]

    def labels(self, cells: Cells) -> npt.NDArray[np.int32]:
        """Return the code of each cell of a 1-D array."""
        values = self.outcome.reader(self.missing)(cells)
        return grid_of(self.outcome).codes(values).astype(np.int32)


def grid_of(outcome: Numeric) -> OutcomeGrid:
    """Return the grid of an outcome. If it has at most ``STEPS`` whole numbers, each of them is a point of the grid."""
    steps = STEPS
    if isinstance(outcome, Integer):
        width = int(outcome.high - outcome.low)
        steps = width * max(1, STEPS // width) if width < STEPS else STEPS
    return OutcomeGrid(outcome.low, outcome.high, steps)


def check_outcome(outcome: Feature) -> Numeric:
    """Return an entry that can be an outcome, or raise SchemaError."""
    if isinstance(outcome, Categorical) or not isinstance(outcome, Numeric) or isinstance(outcome, Date):
        raise SchemaError(
            f"The outcome is {outcome!r}, but it is a number with a public range. Pass hr.Numeric(low, high), or hr.Integer(low, "
            "high) for counts; for labels pass classes instead."
        )
    if outcome.cuts is not None:
        raise SchemaError(
            "The outcome has cut points, but it is read as a number and never in bins. Pass its range alone, as in "
            f"hr.{type(outcome).__name__}({outcome.low:g}, {outcome.high:g})."
        )
    if max(-outcome.low, outcome.high) > FARTHEST or outcome.high - outcome.low < NARROWEST:
        raise SchemaError(
            f"The outcome's range is {outcome.in_words()}, but squares of errors must be numbers that a computer can hold, so it "
            f"is at least {NARROWEST:g} wide and within {-FARTHEST:g} and {FARTHEST:g}. Pass the outcome, and its range, in "
            "another unit."
        )
    return outcome


def as_outcome(released: Numeric) -> Numeric:
    """Return a released range as that of an outcome: what is too far or too narrow is moved, because the budget is spent."""
    low = min(max(released.low, -FARTHEST), FARTHEST / 2)
    high = max(min(released.high, FARTHEST), -FARTHEST / 2)
    if high - low < NARROWEST:
        low, high = low - NARROWEST, high + NARROWEST
    return replace(released, low=low, high=high)
