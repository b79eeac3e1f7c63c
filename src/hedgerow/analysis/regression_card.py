"""A regressor's report card: errors, calibration and interval widths from noisy counts of residuals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from hedgerow.analysis.card import CLEAR, MOST_BINS, Card, Figure, geometric_sum_bounds, mean_figure
from hedgerow.arrays import Floats, Integers
from hedgerow.curator.released_warnings import outcome_warnings
from hedgerow.errors import ConfigurationError, shown
from hedgerow.schema import Numeric
from hedgerow.texts import short_repr

EQUAL = 10  # bins of a prediction of equal width
NEAR_ZERO = 10  # cut points at halves, quarters and so on of the way to the end that is farthest from zero
OCTAVES = 12  # by how many factors of two the narrowest bin of residuals is nearer to zero than the widest one's end


@dataclass(frozen=True)
class ResidualGrid:
    """Public bins of a prediction and of a residual, which is the outcome less the prediction. A record is in one cell.

    Bins of predictions have equal widths, and are narrower near zero. Bins of residuals, an even number, grow by one factor
    away from zero on both sides; no residual is beyond the width of the range, since outcome and prediction are within it.
    """

    coordinates: ClassVar[str] = "prediction and residual"
    low: float
    high: float
    bins: int

    @property
    def predictions(self) -> Floats:
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
        return len(self.predictions) - 1, self.bins

    @property
    def n_codes(self) -> Integers:
        return np.array([np.prod(self.shape)])

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Which cells a record can be in, (predictions, bins): its outcome is within the range too."""
        first, last = self.predictions[:-1, None], self.predictions[1:, None]
        lower, upper = self.residuals[:-1], self.residuals[1:]
        return np.asarray((first + lower < self.high) & (last + upper > self.low))

    def prediction_bins(self, predictions: Floats) -> Integers:
        return np.searchsorted(self.predictions[1:-1], predictions, side="right").astype(np.int64)

    def codes(self, predictions: Floats, outcomes: Floats) -> Integers:
        """Return the cell of each record, of shape (records, 1); a record decides its own alone."""
        within = np.clip(predictions, self.low, self.high)
        residual = outcomes - within
        place, half = np.searchsorted(self.distances[:-1], np.abs(residual), side="left"), self.bins // 2
        signed = np.where(residual < 0, half - 1 - place, half + place)
        return np.asarray(self.prediction_bins(within) * self.bins + signed, dtype=np.int64)[:, None]


def error_of_sums(deviation: float, normal: bool, weights: Floats, draws: Floats, chance: float) -> float:
    """Return what a weighted sum of independent noise passes with at most this chance, which is at most 1/2.

    ``weights`` and ``draws`` (kinds,) are the weight of each kind of draw, and how many there are. Rounded normal noise is below
    a normal of variance sigma^2 + 1/4 in every exponential moment. Geometric noise has the rate sqrt(2) / ``deviation``.
    """
    weights, draws = weights[draws > 0], draws[draws > 0]
    if not np.any(weights):
        return 0.0
    if normal:
        spread = math.sqrt((deviation**2 + 0.25) * float((draws * weights**2).sum()))
        return spread * math.sqrt(-2 * math.log(chance))
    return float(geometric_sum_bounds(math.sqrt(2) / deviation, weights, draws, chance))


RISK = 0.1  # the share of an interval's miss probability that is reserved for the noise of the counts
GROUPS = 10


class OutcomeCalibration(NamedTuple):
    """For each group of predictions that stands out from its noise: mean prediction, mean outcome, noisy number of records."""

    predicted: Floats
    observed: Floats
    records: Floats

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True, eq=False, repr=False)
class RegressionCard(Card):
    """The errors of a model's predictions on records that were not used in its fit, from one private query.

    A residual is the outcome minus the prediction, in the outcome's unit.

    Parameters
    ----------
    grid : ResidualGrid
        The public bins.
    step : float
        The step of the grid on which outcomes were read.
    normal : bool
        Whether the noise is the rounded normal; otherwise it is the two-sided geometric.
    model_digest : str
        The digest of the model that was evaluated.
    counts, deviation, certificate_, model_unit
        As for ``Card``. Cells are ordered by bin of predictions.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (8000, 2))
    >>> y = 8 * X[:, 0]
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 10))
    >>> model = hr.HedgerowRegressor(epsilon=1.0, schema=schema).fit(X[:4000], y[:4000])
    >>> card = hr.evaluate(model, X[4000:], y[4000:], epsilon=1.0)
    >>> low, high = card.interval("mae")
    >>> bool(low <= card.mae <= high)
    True
    """

    FIGURES: ClassVar[tuple[str, ...]] = ("rmse", "mae", "r2", "bias")

    grid: ResidualGrid = field(kw_only=True)
    step: float = field(kw_only=True)
    normal: bool = field(kw_only=True)
    model_digest: str = field(kw_only=True)

    @property
    def records(self) -> float:
        return float(self._table.sum())

    @property
    def rmse(self) -> float:
        """The square root of the mean squared residual."""
        return self.figure("rmse").value

    @property
    def mae(self) -> float:
        """The mean absolute residual."""
        return self.figure("mae").value

    @property
    def r2(self) -> float:
        """1 minus the ratio of the sum of squared residuals to the sum of the outcomes' squared distances from their mean."""
        return self.figure("r2").value

    @property
    def bias(self) -> float:
        """The mean residual. It is positive if predictions are too low."""
        return self.figure("bias").value

    @property
    def _significant(self) -> Floats:
        """The counts, set to zero in bins of predictions, and beyond residuals, that do not stand out from the noise.

        Otherwise the noise of many empty cells far from zero would outweigh the records, whose squares are small.
        """
        table, possible, half = self._table, self.grid.possible, self.grid.bins // 2
        rows = table.sum(axis=1) > CLEAR * self.deviation * np.sqrt(possible.sum(axis=1))
        table, possible = table * rows[:, None], possible & rows[:, None]
        both = (part.sum(axis=0) for part in (table, possible))
        beyond, cells = (np.cumsum((part[half:] + part[:half][::-1])[::-1])[::-1] for part in both)
        places = np.flatnonzero(beyond > CLEAR * self.deviation * np.sqrt(cells))
        if not len(places):
            return self.counts
        reach = places[-1] + 1
        table[:, : half - reach] = table[:, half + reach :] = 0.0
        return np.asarray(table.ravel())

    def quantile(self, share: float) -> float:
        """Return a quantile of the residuals: about this share, from 0 to 1, is not above it. It is the upper end of a bin."""
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ConfigurationError(
                f"share is {shown(share)}, but it is a share of the records; pass a number from 0 to 1."
            )
        return float(self._residuals_below(self._table.sum(axis=0), [share])[0])

    def _residuals_below(self, counts: Floats, shares: Sequence[float]) -> Floats:
        below = np.maximum.accumulate(np.cumsum(counts))
        places = np.searchsorted(below, np.array(shares) * below[-1])
        return np.asarray(self.grid.residuals[1:][np.minimum(places, self.grid.bins - 1)])

    @property
    def residual_shares(self) -> Floats:
        """The share of the records in each bin of residuals, by noisy counts, (bins,)."""
        counts = self._table.sum(axis=0)
        return np.asarray(counts / max(float(counts.sum()), 1.0))

    def outcomes_by_prediction(self, shares: Sequence[float], groups: int = GROUPS) -> tuple[Floats, Floats]:
        """Return the mean predictions of the groups of ``calibration``, and the quantiles of their outcomes at these shares.

        The second is of shape (groups, shares): the prediction plus the upper end of a bin of residuals.
        """
        predicted, table = self._by_prediction(groups)
        below = [at + self._residuals_below(counts, shares) for at, counts in zip(predicted, table, strict=True)]
        return predicted, np.clip(np.array(below).reshape(-1, len(shares)), self.grid.low, self.grid.high)

    def calibration(self, groups: int = GROUPS) -> OutcomeCalibration:
        """Return mean outcomes by groups of predictions, each with about the same number of records."""
        predicted, counts = self._by_prediction(groups)
        residual = (self.grid.residuals[1:] + self.grid.residuals[:-1]) / 2
        records = counts.sum(axis=1)
        observed = np.clip(predicted + counts @ residual / records, self.grid.low, self.grid.high)
        return OutcomeCalibration(predicted, observed, records)

    def _by_prediction(self, groups: int) -> tuple[Floats, Floats]:
        """Return groups of bins of predictions that stand out from their noise.

        They are their mean predictions, (groups,), and noisy counts by bin of residuals, (groups, bins).
        """
        ends = self.grid.predictions
        middle = (ends[1:] + ends[:-1]) / 2
        of_bin, cells = self._table.sum(axis=1), self.grid.possible.sum(axis=1).astype(np.float64)
        share = np.cumsum(np.maximum(of_bin, 0.0))
        group = np.minimum((share - np.maximum(of_bin, 0.0) / 2) * groups / max(float(share[-1]), 1.0), groups - 1)
        _, place = np.unique(group.astype(np.int64), return_inverse=True)
        records, predicted, cells = (
            np.bincount(place, part).astype(np.float64) for part in (of_bin, of_bin * middle, cells)
        )
        clear = records > CLEAR * np.sqrt(cells) * self.deviation
        counts = np.zeros((len(records), self.grid.bins))
        np.add.at(counts, place, self._table)
        return predicted[clear] / records[clear], counts[clear]

    def reach(self, predictions: Floats, level: float, *, by_prediction: bool = False) -> Floats:
        """Return the half-width of an interval around each prediction that has at least this probability for a new outcome.

        It is infinite if the counts guarantee nothing. See ``PrivateRegressor.predict_interval``.
        """
        if self.certificate_.records_per_person > 1:
            raise ConfigurationError(
                "the card counts several records of one person, which are no independent draws, so it promises nothing of new "
                "ones. Evaluate with records_per_person=1, on the command line --records-per-person 1. On the same records the "
                "new card's epsilon adds to the old one's."
            )
        risk = RISK * (1 - level)
        miss = 1 - level / (1 - risk)
        if not by_prediction:
            whole = self._reach(self._table.sum(axis=0), self.grid.possible.sum(axis=0), miss, risk)
            return np.full(len(predictions), whole)
        rows = zip(self._table, self.grid.possible.astype(np.int64), strict=True)
        by_bin = np.array([self._reach(row, cells, miss, risk) for row, cells in rows])
        return by_bin[self.grid.prediction_bins(predictions)]

    def _reach(self, counts: Floats, cells: Integers, miss: float, risk: float) -> float:
        """Return the end of the lowest bin of absolute residuals from which on noisy counts (bins,) of so many cells pass."""
        half = self.grid.bins // 2
        within, drawn = (np.cumsum(part[half:] + part[:half][::-1]) for part in (counts, cells))
        reach = math.inf
        for place in reversed(range(half)):
            draws = np.array([drawn[place], drawn[-1] - drawn[place]], dtype=np.float64)
            error = error_of_sums(self.deviation, self.normal, np.array([miss, miss - 1]), draws, risk)
            if miss * within[place] - (1 - miss) * (within[-1] - within[place] + 1) < error:
                break
            reach = float(self.grid.distances[place]) + self.step / 2
        return reach

    def _released(self) -> dict[str, Any]:
        grid = {"outcome": [self.grid.low, self.grid.high], "step": self.step, "bins": self.grid.bins}
        return {**grid, "normal": self.normal, "model_digest": self.model_digest}

    def to_dict(self) -> dict[str, Any]:
        quantiles = {str(share): self.quantile(share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)}
        return {**super().to_dict(), "quantiles": quantiles}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        (low, high), bins, step = map(float, values["outcome"]), int(values["bins"]), float(values["step"])
        ends = math.isfinite(low) and low < high < math.inf and 0 < step < math.inf
        if not ends or not 2 <= bins <= MOST_BINS or bins % 2 or not float(values["deviation"]) > 0:
            raise ValueError("no counts of a report card")
        grid, normal = ResidualGrid(low, high, bins), bool(values["normal"])
        card = cls._counts_in(values, int(grid.n_codes[0]))
        return cls(grid=grid, step=step, normal=normal, model_digest=str(values["model_digest"]), **card)

    @property
    def _table(self) -> Floats:
        return np.where(self.grid.possible, self.counts.reshape(self.grid.shape), 0.0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the counts show no record, or nearly all outcomes at an end of their range or in one cell of it."""
        possible = self.grid.possible.ravel()
        noise = self.deviation * math.sqrt(possible.sum())
        if self.records <= CLEAR * noise:
            return (
                f"the noisy number of records whose outcome can be read is {self.records:.0f}, with noise of standard deviation "
                f"{noise:.3g}: there may be none. See by schema.check(X, y), or hedgerow schema check, which are for the "
                "records' owner, whether outcomes are written as the schema declares them; if they are, pass more records, fewer "
                "bins or a larger epsilon.",
            )
        predicted, residual = ((ends[:-1], ends[1:]) for ends in (self.grid.predictions, self.grid.residuals))
        low, high = (  # the outcomes between which each cell lies
            np.clip((at[:, None] + off).ravel()[possible], self.grid.low, self.grid.high)
            for at, off in zip(predicted, residual, strict=True)
        )
        outcome = Numeric(self.grid.low, self.grid.high)
        return outcome_warnings(outcome, (low, high), self.counts[possible], self.deviation)

    def _digits(self, name: str) -> int:
        return 4 if name == "r2" else max(0, 4 - math.floor(math.log10(self.grid.high - self.grid.low)))

    def _bounds(self, name: str) -> tuple[float, float]:
        width = self.grid.high - self.grid.low
        bounds = {"rmse": (0.0, width), "mse": (0.0, width**2), "mae": (0.0, width), "bias": (-width, width)}
        return bounds.get(name, (-math.inf, 1.0))

    def _denominators(self, name: str) -> list[tuple[float, float]]:
        counts, possible = self._table.ravel(), self.grid.possible.ravel()
        parts = [(self.records, self.deviation * math.sqrt(possible.sum()))]
        if name == "r2":
            off = self._distances_from_mean(counts)
            parts.append((float(counts @ off**2), self.deviation * math.sqrt(float((off[possible] ** 4).sum()))))
        return parts

    def _figure(self, name: str, counts: Floats) -> tuple[Figure, Floats]:
        table = np.where(self.grid.possible, counts.reshape(self.grid.shape), 0.0)
        total, by_residual = float(table.sum()), table.sum(axis=0)
        if total <= 0:
            return Figure(0.0, *self._bounds(name)), np.zeros(len(counts))
        upper = self.grid.distances
        lower = np.concatenate([[0.0], upper[:-1]])
        inner, outer = (np.concatenate([part[::-1], part]) for part in (lower, upper))
        if name == "bias":
            ends = self.grid.residuals
            figure, slopes = mean_figure(by_residual, (ends[:-1] + ends[1:]) / 2, ends[:-1], ends[1:])
        elif name == "mae":
            figure, slopes = mean_figure(by_residual, (inner + outer) / 2, inner, outer)
        else:  # residuals are taken to be uniform within a bin
            figure, slopes = mean_figure(by_residual, (inner**2 + inner * outer + outer**2) / 3, inner**2, outer**2)
        every = np.where(self.grid.possible, slopes, 0.0).ravel()
        if name == "r2":
            return self._r2(table.ravel(), figure, every)
        return figure, every

    def _r2(self, counts: Floats, mse: Figure, slopes: Floats) -> tuple[Figure, Floats]:
        """Return R2 by the mean squared residual and its rates of change.

        The root of the outcomes' squared distances is off by at most that of the squared half widths of cells.
        """
        total = float(counts.sum())
        widths = np.diff(self.grid.predictions)[:, None], np.diff(self.grid.residuals)
        half, variance = ((widths[0] + widths[1]).ravel() / 2) ** 2, ((widths[0] ** 2 + widths[1] ** 2) / 12).ravel()
        each = self._distances_from_mean(counts) ** 2 + variance  # outcomes are taken to be uniform within a cell
        spread, slack = float(counts @ each) / total, max(float(counts @ half) / total, 0.0)
        if spread <= 0:
            return Figure(0.0, -math.inf, 1.0), np.zeros(len(counts))
        least, most = (max(math.sqrt(spread) + sign * math.sqrt(slack), 0.0) ** 2 for sign in (-1, 1))
        value = 1 - mse.value / spread
        low, high = (1 - mse.high / least, 1 - mse.low / most) if least > 0 else (-math.inf, 1.0)
        change = (each - spread) / total  # the mean's own change cancels out
        change = np.where(self.grid.possible.ravel(), change, 0.0)
        return Figure(value, low, high), (mse.value / spread * change - slopes) / spread

    def _distances_from_mean(self, counts: Floats) -> Floats:
        predicted, residual = ((ends[1:] + ends[:-1]) / 2 for ends in (self.grid.predictions, self.grid.residuals))
        outcomes = np.clip(predicted[:, None] + residual, self.grid.low, self.grid.high).ravel()
        return np.asarray(outcomes - float(counts @ outcomes) / max(float(counts.sum()), 1.0))
