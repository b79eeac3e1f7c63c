"""What one record is to a regressor's report card: a cell by what a model predicts and by how far the outcome is from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers

__all__ = ["ResidualGrid", "error_of_sums"]


EQUAL = 10  # bins of a prediction of equal width
NEAR_ZERO = 10  # cut points at halves, quarters and so on of the way to the end that is farthest from zero
OCTAVES = 12  # by how many factors of two the narrowest bin of residuals is nearer to zero than the widest one's end
TILTS = np.linspace(0.02, 0.98, 97)  # of the exponential bound, as shares of the rate


@dataclass(frozen=True)
class ResidualGrid:
    """Public bins of a prediction and of a residual, which is the outcome less the prediction. A record is in one cell.

    Bins of predictions have equal widths, and are narrower near zero. Bins of residuals grow by one factor away from zero, alike
    on both sides; no residual is beyond the width of the range, since outcome and prediction are within it.

    Parameters
    ----------
    low, high : float
        The outcome's range.
    bins : int
        How many bins residuals have, even.
    """

    low: float
    high: float
    bins: int

    @property
    def predictions(self) -> Floats:
        """The ends of the bins of predictions, ascending."""
        equal = np.linspace(self.low, self.high, EQUAL + 1)
        far = self.high if self.high > -self.low else self.low
        near = far * 2.0 ** -np.arange(1, NEAR_ZERO + 1)
        return np.unique(np.concatenate([equal, near[(near > self.low) & (near < self.high)]]))

    @property
    def distances(self) -> Floats:
        """The upper ends of the bins of absolute residuals, ascending; each bin holds its upper end."""
        half = self.bins // 2
        return (self.high - self.low) * 2.0 ** (-OCTAVES * np.arange(half - 1, -1, -1) / half)

    @property
    def residuals(self) -> Floats:
        """The ends of the bins of residuals, ascending, of shape (bins + 1,)."""
        return np.concatenate([-self.distances[::-1], [0.0], self.distances])

    @property
    def shape(self) -> tuple[int, int]:
        """How many bins predictions and residuals have."""
        return len(self.predictions) - 1, self.bins

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape))

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Which cells a record can be in, (predictions, bins): its outcome is within the range too."""
        first, last = self.predictions[:-1, None], self.predictions[1:, None]
        lower, upper = self.residuals[:-1], self.residuals[1:]
        return np.asarray((first + lower < self.high) & (last + upper > self.low))

    def prediction_bins(self, predictions: Floats) -> Integers:
        """Return the bin of each prediction."""
        return np.searchsorted(self.predictions[1:-1], predictions, side="right").astype(np.int64)

    def codes(self, predictions: Floats, outcomes: Floats) -> Integers:
        """Return the cell of each record, of shape (records, 1); a record decides its own alone."""
        within = np.clip(predictions, self.low, self.high)
        residual = outcomes - within
        place, half = np.searchsorted(self.distances[:-1], np.abs(residual), side="left"), self.bins // 2
        signed = np.where(residual < 0, half - 1 - place, half + place)
        return np.asarray(self.prediction_bins(within) * self.bins + signed, dtype=np.int64)[:, None]


def error_of_sums(deviation: float, normal: bool, weights: Floats, draws: Floats, chance: float) -> float:
    """Return what a weighted sum of independent noise passes with at most this chance.

    Parameters
    ----------
    deviation : float
        Of each draw: sigma of the rounded normal, or sqrt(2) / rate of the two-sided geometric.
    normal : bool
        Which of them it is.
    weights, draws : ndarray of shape (kinds,)
        The weight of each kind of draw in the sum, and how many there are of it.
    chance : float
        At most 1/2.

    Notes
    -----
    Rounded normal noise is below a normal of variance sigma^2 + 1/4 in every exponential moment. Of geometric noise it is the
    exponential bound: the chance that the sum S reaches s is at most ``E[exp(t S)] exp(-t s)`` for every t.
    """
    weights, draws = weights[draws > 0], draws[draws > 0]
    largest = float(np.max(np.abs(weights), initial=0.0))
    if largest == 0:
        return 0.0
    if normal:
        spread = math.sqrt((deviation**2 + 0.25) * float((draws * weights**2).sum()))
        return spread * math.sqrt(-2 * math.log(chance))
    rate = math.sqrt(2) / deviation
    tilt = TILTS * rate / largest
    of_kind = np.abs(weights) * tilt[:, None]
    log_moment = 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(of_kind - rate)) - np.log(-np.expm1(-of_kind - rate))
    return float((((draws * log_moment).sum(axis=1) - math.log(chance)) / tilt).min())
