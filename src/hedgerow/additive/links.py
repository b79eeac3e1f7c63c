"""From margins to outcomes: on the outcome's grid, on a grid of its log, or by the exponential of a margin.

A link is public: its tables follow from the outcome's range alone (docs/proofs/regression.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.errors import ConfigurationError
from hedgerow.export import OutcomeLog, OutcomeRange
from hedgerow.lazy_values import lazy
from hedgerow.margins import VOTE_STEPS
from hedgerow.schema.outcome import OutcomeGrid

__all__ = ["Link", "LogLink", "LogOutcome", "Scale"]

Signed = npt.NDArray[np.signedinteger]
Scale = Literal["outcome", "log outcome"]

LOWEST = 14 * VOTE_STEPS  # below the log of the range's high end, the least margin that is told apart
COARSEST = 0.1  # of a value, the widest step of the grid of which a log is taken


@dataclass(frozen=True)
class Link:
    """A margin is a point of the outcome's grid; other links override this.

    Residuals are codes of ``read`` less those of ``expected``.
    """

    grid: OutcomeGrid

    scale: ClassVar[Scale] = "outcome"

    @property
    def vote_steps(self) -> float:
        """The number of votes in a unit of ``scale``."""
        return 1 / self.grid.step

    @property
    def origin(self) -> float:
        """Where ``scale`` stands at a margin of zero."""
        return self.grid.low

    def read(self, labels: Signed) -> Signed:
        """Return what residuals are taken of, (records,; -1: none), of the codes of outcomes."""
        return labels

    def expected(self, margins: Signed) -> Integers:
        """Return the predicted codes of margins (records,)."""
        return margins.astype(np.int64)

    def margin(self, mean: float) -> int:
        """Return the margin that predicts a mean of codes."""
        return round(mean)

    def outcomes(self, margins: Signed) -> Floats:
        """Return the predicted outcomes of margins (records,), in the outcome's unit and within its range."""
        return self.grid.values(np.clip(margins, 0, self.grid.steps))

    def exported(self) -> OutcomeLog | OutcomeRange:
        """Return ``outcomes`` for programs that do not know this library."""
        return OutcomeRange(float(self.grid.low), float(self.grid.high), self.grid.steps)


@dataclass(frozen=True)
class LogOutcome(Link):
    """A margin is a point of a grid of the outcome's log, from that of the range's low end to that of the high one.

    A mean of logs is near the log of the median, so that is what a model predicts.
    """

    scale = "log outcome"

    def __post_init__(self) -> None:
        if not self.grid.low > 0:
            raise ConfigurationError(
                f"outcome_transform='log' takes the log of the outcome, but its range starts at {self.grid.low:g}. Pass a range "
                "above 0, as in hr.Numeric(100, 500_000): smaller outcomes count as its low end."
            )
        if self.grid.step > COARSEST * self.grid.low:
            raise ConfigurationError(
                "outcome_transform='log' needs a range whose high end is at most "
                f"{COARSEST * self.grid.steps:.0f} times its low end, so that the grid tells small outcomes apart. Pass a low "
                f"end above {self.grid.low:g}."
            )

    @property
    def vote_steps(self) -> float:
        """The number of votes in a log of 1."""
        return self.grid.steps / math.log(self.grid.high / self.grid.low)

    @property
    def origin(self) -> float:
        """The log of the range's low end."""
        return math.log(self.grid.low)

    @lazy
    def _logs(self) -> Integers:
        """The code of the log of each code, and at the end -1, for that of no outcome."""
        logs = np.log(self.grid.values(np.arange(self.grid.steps + 1)) / self.grid.low)
        codes = np.clip(np.rint(logs * self.vote_steps), 0, self.grid.steps).astype(np.int64)
        return np.append(codes, -1)

    def read(self, labels: Signed) -> Signed:
        """Return the codes of the outcomes' logs."""
        return np.asarray(self._logs[labels])

    def outcomes(self, margins: Signed) -> Floats:
        """Return the exponentials of what margins say."""
        within = np.clip(margins, 0, self.grid.steps)
        return np.clip(np.exp(self.origin + within / self.vote_steps), self.grid.low, self.grid.high)

    def exported(self) -> OutcomeLog:
        """Return ``outcomes`` for programs that do not know this library."""
        low, high = float(self.grid.low), float(self.grid.high)
        return OutcomeLog(low, self.vote_steps, 0, self.grid.steps, low, high)


@dataclass(frozen=True)
class LogLink(Link):
    """A margin is the log of an expected count over the range's high end, in 1 / ``VOTE_STEPS``: from -14 to 0."""

    scale = "log outcome"

    def __post_init__(self) -> None:
        if self.grid.low != 0:
            raise ConfigurationError(
                f"loss='poisson' is for counts, which start at 0, but the outcome's range starts at {self.grid.low:g}. Pass a "
                "range from 0, as in hr.Integer(0, 80), or loss='squared'."
            )

    @property
    def vote_steps(self) -> float:
        """The number of votes in a log of 1."""
        return VOTE_STEPS

    @property
    def origin(self) -> float:
        """The log of the range's high end."""
        return math.log(self.grid.high)

    @lazy
    def table(self) -> Integers:
        """The code that each margin from ``-LOWEST`` to 0 says, at least 1."""
        said = self.grid.steps * np.exp(np.arange(-LOWEST, 1) / VOTE_STEPS)
        codes: Integers = np.maximum(np.rint(said), 1).astype(np.int64)
        return codes

    def expected(self, margins: Signed) -> Integers:
        """Return the codes of expected counts, from the table; its ends stand for all beyond."""
        return np.asarray(self.table[np.clip(margins, -LOWEST, 0) + LOWEST])

    def margin(self, mean: float) -> int:
        """Return the margin of a mean, at least that of one step of the grid."""
        return round(VOTE_STEPS * math.log(min(max(mean, 1.0), self.grid.steps) / self.grid.steps))

    def outcomes(self, margins: Signed) -> Floats:
        """Return expected counts, above 0."""
        return np.asarray(self.grid.high * np.exp(np.clip(margins, -LOWEST, 0) / VOTE_STEPS))

    def exported(self) -> OutcomeLog:
        """Return ``outcomes`` for programs that do not know this library."""
        high = float(self.grid.high)
        return OutcomeLog(high, VOTE_STEPS, -LOWEST, 0, 0.0, high)
