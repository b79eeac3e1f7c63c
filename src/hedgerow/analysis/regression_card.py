"""A regressor's report card: errors, calibration and interval widths from noisy counts of residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hedgerow.analysis import card as cards
from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.curator.released_warnings import outcome_warnings
from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator import Model
from hedgerow.schema import Numeric

PREDICTIONS = 6  # bins of a prediction: noise of figures grows with the root of their number
OLD_EQUAL = 10  # bins of equal width of a prediction, of the cards of version 0.3,
OLD_NEAR_ZERO = 10  # and cut points at halves, quarters and so on of the way to the end that is farthest from zero
OCTAVES = 12  # by how many factors of two the narrowest bin of residuals is nearer to zero than the widest one's end


@dataclass(frozen=True)
class ResidualGrid:
    """Public bins of a prediction and of a residual, which is the outcome less the prediction. A record is in one cell.

    Bins of residuals, an even number, grow by one factor away from zero on both sides; no residual is beyond the width of the
    range, since outcome and prediction are within it.
    """

    coordinates: ClassVar[str] = "prediction and residual"
    low: float  # of the range of outcomes
    high: float
    bins: int  # of a residual
    ends: tuple[
        float, ...
    ]  # of the bins of a prediction, ascending; no prediction is beyond the first and the last one
    centers: tuple[float, ...]  # about the mean of the predictions in each bin
    variances: tuple[float, ...]  # of the predictions in each bin

    @classmethod
    def of(cls, model: Model, low: float, high: float, bins: int) -> Self:
        """Return bins of predictions at quantiles of what the model predicts for made-up records."""
        slack = 1e-9 * (high - low)
        first, last = model.prediction_range()
        first, last = max(first - slack, low), min(last + slack, high)
        predictions = np.clip(cards.made_up_answers(model), first, last)
        ends = (first, *cards.cut_points(predictions, PREDICTIONS, first, last, even=0.0), last)
        place = np.searchsorted(ends[1:-1], predictions, side="right")
        parts = [predictions[place == row] for row in range(len(ends) - 1)]
        centers = [part.mean() if len(part) else np.mean(ends[row : row + 2]) for row, part in enumerate(parts)]
        variances = [part.var() if len(part) else 0.0 for part in parts]
        return cls(low, high, bins, ends, tuple(map(float, centers)), tuple(map(float, variances)))

    @classmethod
    def old(cls, low: float, high: float, bins: int) -> Self:
        equal = np.linspace(low, high, OLD_EQUAL + 1)
        near = (high if high > -low else low) * 2.0 ** -np.arange(1, OLD_NEAR_ZERO + 1)
        ends = np.unique([*equal, *near[(near > low) & (near < high)]])
        centers, variances = (ends[1:] + ends[:-1]) / 2, np.diff(ends) ** 2 / 12
        return cls(low, high, bins, tuple(ends.tolist()), tuple(centers.tolist()), tuple(variances.tolist()))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        (low, high), bins = map(float, values["outcome"]), int(values["bins"])
        if not -math.inf < low < high < math.inf or not 2 <= bins <= cards.MOST_BINS or bins % 2:
            raise ValueError("no bins of a report card")
        if "predictions" not in values:
            return cls.old(low, high, bins)
        ends, centers, variances = (tuple(map(float, values[name])) for name in ("predictions", "centers", "variances"))
        sound = (
            len(centers) == len(variances) == len(ends) - 1 > 0
            and low <= ends[0]
            and ends[-1] <= high
            and all(a < b and a <= c <= b for (a, b), c in zip(pairwise(ends), centers, strict=True))
            and all(0 <= variance <= (high - low) ** 2 for variance in variances)
        )
        if not sound:
            raise ValueError("no bins of a report card")
        return cls(low, high, bins, ends, centers, variances)

    def to_dict(self) -> dict[str, Any]:
        of_predictions = {"predictions": self.ends, "centers": self.centers, "variances": self.variances}
        return {"outcome": [self.low, self.high], "bins": self.bins, **{k: list(v) for k, v in of_predictions.items()}}

    @property
    def predictions(self) -> Floats:
        return np.array(self.ends)

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
        within = np.clip(predictions, self.low, self.high)
        residual = outcomes - within
        place, half = np.searchsorted(self.distances[:-1], np.abs(residual), side="left"), self.bins // 2
        signed = np.where(residual < 0, half - 1 - place, half + place)
        return np.asarray(self.prediction_bins(within) * self.bins + signed, dtype=np.int64)[:, None]


def error_of_sums(deviation: float, normal: bool, weights: Floats, draws: Floats, chance: float) -> float:
    """Return what a weighted sum of independent noise exceeds with at most this probability, which is at most 1/2.

    ``weights`` and ``draws`` (kinds,) are the weight of each kind of draw, and how many there are. Rounded normal noise is below
    a normal of variance sigma^2 + 1/4 in every exponential moment. Geometric noise has the rate sqrt(2) / ``deviation``.
    """
    weights, draws = weights[draws > 0], draws[draws > 0]
    if not np.any(weights):
        return 0.0
    if normal:
        spread = math.sqrt((deviation**2 + 0.25) * float((draws * weights**2).sum()))
        return spread * math.sqrt(-2 * math.log(chance))
    return float(cards.geometric_sum_bounds(math.sqrt(2) / deviation, weights, draws, chance))


RISK = 0.1  # the share of an interval's miss probability that is reserved for the noise of the counts
GROUPS = 10
SHOWN = 2.0  # deviations of its noise: the core reaches to the last bin from which on the sum of counts exceeds this
BODY = 0.7  # of the records of a side: a law of the tail is fitted from the bin on that this share of them reaches
SLOPES = np.linspace(-2, 4, 61)[:, None, None]  # of the log of a law of tails at its first bin, by octave, downward
BENDS = np.append(0.0, np.geomspace(0.02, 4, 24))[:, None]  # by how much it falls with the square of the octaves
MOST_RATIO = 1e9  # of R2 / (1 - R2)
HALVINGS = 60
ROUNDS = 4
TINY = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RegressionCard(cards.Card):
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

    Attributes
    ----------
    rmse : float
        The square root of the mean squared residual.
    mae : float
        The mean absolute residual.
    r2 : float
        1 minus the ratio of the sum of squared residuals to the sum of the outcomes' squared distances from their mean.
    bias : float
        The mean residual. It is positive if predictions are too low.

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
    rmse, mae, r2, bias = map(cards.figure_of, FIGURES)

    grid: ResidualGrid = field(kw_only=True)
    step: float = field(kw_only=True)
    normal: bool = field(kw_only=True)
    model_digest: str = field(kw_only=True)

    @property
    def records(self) -> float:
        return float(self._table.sum())

    @lazy
    def _core(self) -> Truth:
        """The core, (predictions, bins): on each side the cells up to the last residual from which on counts stand out."""
        possible = self.grid.possible
        core = np.zeros_like(possible)
        for side, table, cells in self._sides:
            beyond, cells = (np.cumsum(part.sum(axis=0)[::-1])[::-1] for part in (table, cells))
            places = np.flatnonzero(beyond > SHOWN * self.deviation * np.sqrt(cells))
            if len(places):
                core[:, side][:, : places[-1] + 1] = True
        return possible & core if core.any() else possible

    @property
    def _sides(self) -> list[tuple[slice, Floats, Truth]]:
        """The bins of residuals from zero outward, below and above zero, with their counts and which cells are possible."""
        half = self.grid.bins // 2
        both = slice(half - 1, None, -1), slice(half, None)
        return [(side, self._table[:, side], self.grid.possible[:, side]) for side in both]

    @lazy
    def _significant(self) -> Floats:
        """The counts that are expected by their noisy values and by a law of the tail (docs/proofs/report-card.md).

        Otherwise the noise of many empty cells far from zero would outweigh the records, whose squares are small.
        """
        table, variance = np.where(self._core, self._table, 0.0), self.deviation**2
        for side, noisy, possible in self._sides:
            pooled, noise = noisy.sum(axis=0), variance * possible.sum(axis=0)
            below = np.maximum.accumulate(np.cumsum(pooled))
            first = int(np.searchsorted(below, BODY * below[-1]))
            if not self._core[:, side].any() or not noise[first + 1 :].any():
                continue
            counts, cells, tail = noisy[:, first:], possible[:, first:], slice(first, None)
            expected = _tail_law(pooled[tail], noise[tail], OCTAVES / len(pooled))
            shares = np.maximum(counts.sum(axis=1), 0.0)[:, None] * cells
            law = expected * shares / np.maximum(shares.sum(axis=0), 1e-300)
            unlike = pooled[tail] - expected > cards.CLEAR * np.sqrt(expected + noise[tail])  # far more than the law
            table[:, side][:, tail] = np.where(unlike, counts, law + (counts - law) * law / (law + variance)) * cells
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

    def calibration(self, groups: int = GROUPS) -> cards.Calibration:
        """Return mean outcomes by groups of predictions, each with about the same number of records."""
        predicted, counts = self._by_prediction(groups)
        residual = (self.grid.residuals[1:] + self.grid.residuals[:-1]) / 2
        records = counts.sum(axis=1)
        observed = np.clip(predicted + counts @ residual / records, self.grid.low, self.grid.high)
        return cards.Calibration(predicted, observed, records)

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
        clear = records > cards.CLEAR * np.sqrt(cells) * self.deviation
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
        return {**self.grid.to_dict(), "step": self.step, "normal": self.normal, "model_digest": self.model_digest}

    def to_dict(self) -> dict[str, Any]:
        quantiles = {str(share): self.quantile(share) for share in (0.05, 0.25, 0.5, 0.75, 0.95)}
        return {**super().to_dict(), "quantiles": quantiles}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        grid, step, normal = ResidualGrid.from_dict(values), float(values["step"]), bool(values["normal"])
        if not 0 < step < math.inf or not float(values["deviation"]) > 0:
            raise ValueError("no counts of a report card")
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
        if self.records <= cards.CLEAR * noise:
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

    def digits(self, name: str) -> int:
        return 4 if name == "r2" else max(0, 4 - math.floor(math.log10(self.grid.high - self.grid.low)))

    def _bounds(self, name: str) -> tuple[float, float]:
        width = self.grid.high - self.grid.low
        bounds = {"rmse": (0.0, width), "mse": (0.0, width**2), "mae": (0.0, width), "bias": (-width, width)}
        return bounds.get(name, (-math.inf, 1.0))

    def _denominators(self, name: str) -> list[tuple[float, float]]:
        counts = self._table[self._core]
        parts = [(float(counts.sum()), self.deviation * math.sqrt(len(counts)))]
        if name == "r2":
            outcomes = np.array(self.grid.centers)[:, None] + (self.grid.residuals[1:] + self.grid.residuals[:-1]) / 2
            mean = float(counts @ outcomes[self._core]) / max(float(counts.sum()), 1.0)
            squares = (outcomes[self._core] - mean) ** 2  # distances of outcomes from their mean
            parts.append((float(counts @ squares), self.deviation * math.sqrt(float((squares**2).sum()))))
        return parts

    def _residual_parts(self, name: str) -> tuple[Floats, Floats, Floats]:
        """Return what a record of each bin of residuals adds to a mean: about, at least and at most; squares for the others."""
        upper = self.grid.distances
        lower = np.concatenate([[0.0], upper[:-1]])
        inner, outer = (np.concatenate([part[::-1], part]) for part in (lower, upper))
        ends = self.grid.residuals
        if name == "bias":
            return (ends[:-1] + ends[1:]) / 2, ends[:-1], ends[1:]
        if name == "mae":
            return (inner + outer) / 2, inner, outer
        return (inner**2 + inner * outer + outer**2) / 3, inner**2, outer**2  # residuals are uniform within a bin

    def _gain_parts(self, table: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what a record of each cell adds to the outcomes' squared distances from their mean beyond its squared residual.

        With u, the prediction less the mean, and r, the residual, this is u^2 + 2 u r: about, at least and at most. A heavy tail
        of residuals is not squared in it. The bound of the mean's own error is in the least.
        """
        total = max(float(table.sum()), 1.0)
        (first, last), (lower, upper) = ((ends[:-1], ends[1:]) for ends in (self.grid.predictions, self.grid.residuals))
        middle, residual = np.array(self.grid.centers), (lower + upper) / 2
        mean = float((table * (middle[:, None] + residual)).sum()) / total
        half = np.maximum(last - middle, middle - first)[:, None] + (upper - lower) / 2
        slack = (float((table * half).sum()) / total) ** 2
        u = (middle - mean)[:, None]
        about = u**2 + np.array(self.grid.variances)[:, None] + 2 * u * residual
        corners = np.stack(
            [v**2 + 2 * v * r for v in ((first - mean)[:, None], (last - mean)[:, None]) for r in (lower, upper)]
        )
        lowest = [np.clip(-r[None], (first - mean)[:, None], (last - mean)[:, None]) for r in (lower, upper)]
        least = np.minimum(*(v**2 + 2 * v * r for v, r in zip(lowest, (lower, upper), strict=True)))
        return about, least - slack, corners.max(axis=0)

    def _figure(self, name: str, counts: Floats) -> tuple[cards.Figure, Floats]:
        table = np.where(self.grid.possible, counts.reshape(self.grid.shape), 0.0)
        if table.sum() <= 0:
            return cards.Figure(0.0, *self._bounds(name)), np.zeros(len(counts))
        parts = self._residual_parts(name)
        figure, slopes = cards.mean_figure(table.ravel(), *(np.tile(part, len(table)) for part in parts))
        if name == "r2":
            gain, change = cards.mean_figure(table.ravel(), *(part.ravel() for part in self._gain_parts(table)))
            both = figure.value + gain.value
            if both <= 0:
                return cards.Figure(0.0, -math.inf, 1.0), np.zeros(len(counts))
            slopes = (change * figure.value - slopes * gain.value) / both**2
            figure = cards.Figure(gain.value / both, *_r2_between(figure, gain))
        return figure, np.where(self.grid.possible.ravel(), slopes, 0.0)

    def _bounded(self, name: str, level: float) -> tuple[cards.Figure, Floats]:
        """Return a figure of the cells that show records, with ends that also hold for what may be in the other cells.

        A sum over these cells is below its noisy value and ``level``'s deviations of its noise, and it is no sum of negative
        numbers of records.
        """
        if not self._stands_out(name):
            return cards.Figure(0.0, *self._bounds(name)), np.zeros(len(self.counts))
        table = np.where(self._core, self._table, 0.0)
        figure, slopes = self._figure(name, table.ravel())
        total, tail = float(table.sum()), self.grid.possible & ~self._core
        slopes = np.where(self._core.ravel(), slopes, 0.0)
        if not tail.any() or total <= 0:
            return figure, slopes

        def at_most(weights: Floats) -> float:
            """Return what records of the tail may add to a mean, each at most its weight, which is not negative."""
            each = np.broadcast_to(weights, tail.shape)[tail]
            noise = self.deviation * math.sqrt(float((each**2).sum()))
            return max(float(self._table[tail] @ each) + float(cards.quantile(level, 0.0)) * noise, 0.0) / total

        more = at_most(np.ones(1))
        _, least, most = self._residual_parts(name)
        if name != "r2":
            low, high = (
                end if sign * end > 0 else end / (1 + more) for end, sign in ((figure.low, -1), (figure.high, 1))
            )
            ends = low - at_most(np.maximum(-least, 0.0)), high + at_most(np.maximum(most, 0.0))
            return cards.Figure(figure.value, *ends), slopes
        square, _ = self._figure("mse", table.ravel())
        _, gains, most_gain = parts = self._gain_parts(table)
        gain, _ = cards.mean_figure(table.ravel(), *(part.ravel() for part in parts))

        # R2 is above q / (1 + q) where the sum of gain - q square is above 0, of the core and of the tail together.
        def above(q: float) -> bool:
            core, tail = (square.high, most) if q >= 0 else (square.low, least)
            return gain.low - q * core > at_most(np.maximum(q * tail - gains, 0.0))

        def below(q: float) -> bool:
            core, tail = (square.low, least) if q >= 0 else (square.high, most)
            return gain.high - q * core < -at_most(np.maximum(most_gain - q * tail, 0.0))

        low, high = _last(above), _last(lambda q: not below(q))
        ends = low / (1 + low) if low > -1 else -math.inf, high / (1 + high) if high > -1 else 1.0
        return cards.Figure(figure.value, *ends), slopes


def _tail_law(counts: Floats, noise: Floats, octaves: float) -> Floats:
    """Return expected counts, (bins,), of bins of equal width in ``octaves``, given noisy ones and the variance of their noise.

    The log of a law is linear in the log of the distance, as of powers, or a parabola that opens downward, as of lognormal
    tails. At the last possible bin it falls faster than the squared distance grows. The counts expected are the geometric means
    over all laws of a grid, weighted by likelihood.
    """
    at, possible = np.arange(len(counts)) * octaves, noise > 0
    shapes = np.exp(-SLOPES * at - BENDS * at**2) * possible
    expected = np.broadcast_to(np.maximum(counts, 0.0) + 1, shapes.shape)
    for _ in range(ROUNDS):  # of weighted least squares for each law's height
        weights = possible / (expected + noise + TINY)
        height = (weights * shapes) @ counts / (weights * shapes**2).sum(axis=-1)
        expected = np.maximum(height, TINY)[..., None] * shapes
    variance = expected + noise + TINY
    off = np.minimum((counts - expected) ** 2 / variance, cards.CLEAR**2)  # of a hill far from a law
    score = -((off + np.log(variance)) * possible).sum(axis=-1) / 2
    score[(SLOPES + 2 * BENDS * at[possible][-1])[..., 0] < 2 * math.log(2)] = -math.inf
    shares = np.exp(score - score.max())
    mean = np.tensordot(shares / shares.sum(), np.log(expected + TINY), 2)
    return np.asarray(np.exp(mean) * possible)


def _last(holds: Callable[[float], bool]) -> float:
    """Return about the last number from -1 up for which something holds that does not hold beyond it; -1 if there is none."""
    first, last = -1.0, MOST_RATIO
    if not holds(first + 1e-9):
        return first
    for _ in range(HALVINGS):
        middle = (first + last) / 2 if first < 1 else math.sqrt(first * last)
        first, last = (middle, last) if holds(middle) else (first, middle)
    return first


def _r2_between(square: cards.Figure, gain: cards.Figure) -> tuple[float, float]:
    """Return between which values R2 = gain / (square + gain) lies, where both are between theirs."""

    def ratio(part: float, rest: float, otherwise: float) -> float:
        return part / (part + rest) if part + rest > 0 else otherwise

    low = ratio(gain.low, square.high if gain.low >= 0 else square.low, -math.inf)
    high = ratio(gain.high, square.low if gain.high >= 0 else square.high, 1.0)
    return low, min(high, 1.0)
