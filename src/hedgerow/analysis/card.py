"""A report card: figures of a model that follow from noisy counts, each with how far noise and chance may have moved it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from hedgerow.analysis.scores import ScoreGrid
from hedgerow.errors import ConfigurationError, shown
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.unit import Unit
from hedgerow.schema.features import Value

__all__ = ["MOST_BINS", "Calibration", "Curve", "Figure", "ReportCard"]

Floats = npt.NDArray[np.float64]

MOST_BINS = 1024  # of a probability
STEP = 0.5  # of a count, where a figure's change is measured
CLEAR = 4.0  # deviations of its noise by which a number of records must stand out


class Figure(NamedTuple):
    """A figure, and between which values it may lie by what bins leave open."""

    value: float
    low: float
    high: float


class Curve(NamedTuple):
    """Points of a curve, from the highest score to the lowest."""

    x: Floats
    y: Floats
    thresholds: Floats


class Calibration(NamedTuple):
    """By bin that stands out of its noise: the middle of the bin, the share of records with the label, and their noisy number."""

    predicted: Floats
    observed: Floats
    records: Floats


@dataclass(frozen=True, eq=False)
class ReportCard:
    """How good a model is on records that it was not fitted on, by one private question.

    Parameters
    ----------
    classes : sequence
        The labels, in the order of probabilities; of two, the second is the positive one.
    grid : ScoreGrid
        The public bins.
    counts : ndarray
        The noisy counts of all cells, all histograms in a row: everything that was released.
    deviation : float
        The standard deviation of each count's noise, nearly.
    certificate_ : Certificate
        What the evaluation cost.
    model_unit : Unit or None
        Whom the model's own guarantee is for; None where it is not known.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (4000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X[:3000], y[:3000])
    >>> card = hr.evaluate(model, X[3000:], y[3000:], epsilon=1.0)
    >>> low, high = card.interval("accuracy")
    >>> bool(low <= card.accuracy <= high), card.confusion_matrix.shape
    (True, (2, 2))
    """

    classes: Sequence[Value]
    grid: ScoreGrid
    counts: Floats = field(repr=False)
    deviation: float
    certificate_: Certificate = field(repr=False)
    model_unit: Unit | None = None

    @property
    def records(self) -> float:
        """The noisy number of labelled records."""
        return float(self.grid.confusion(self.counts).sum())

    @property
    def confusion_matrix(self) -> Floats:
        """The noisy counts by label (rows) and predicted class (columns), of shape (classes, classes); some may be negative."""
        return self.grid.confusion(self.counts).copy()

    @property
    def accuracy(self) -> float:
        """The share of records whose predicted class is their label."""
        return self.figure("accuracy").value

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve, ties counting half; of three classes or more, the mean of each against the rest."""
        return self.figure("roc_auc").value

    @property
    def brier_score(self) -> float:
        """The mean squared error of the probability of the second class; of three or more, the sum over all classes."""
        return self.figure("brier_score").value

    def figure(self, name: str) -> Figure:
        """Return a figure by its name, within 0 and 1 (a Brier score of more than two classes: 2)."""
        value, low, high = self._function(name)(self.counts)
        most = self._most(name)
        return Figure(_clipped(value, most), _clipped(low, most), _clipped(high, most))

    def interval(self, name: str, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return an interval that covers a figure with a probability of about ``level``, what bins leave open included.

        Parameters
        ----------
        name : {"accuracy", "roc_auc", "brier_score"}
            Which figure.
        level : float
            The probability.
        sampling : bool, default True
            Whether it covers the figure of the population that the records were drawn from; otherwise noise alone counts, and
            it covers the figure of these very records.

        Notes
        -----
        It follows from released counts and costs nothing. It is a normal approximation: the noise and the sampling of every
        cell, through the figure's rates of change (docs/proofs/report-card.md). Where some class's number does not stand out
        from its noise the interval says nothing: it is everything.
        """
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise ConfigurationError(f"level is {shown(level)}, but it is a probability; pass a number such as 0.95.")
        function, most = self._function(name), self._most(name)
        guard = self._guard(name)
        if guard is None:
            return 0.0, most
        _, low, high = function(self.counts)
        # Records of one person may be all alike: they vary as k times as many would that are drawn one by one, at most.
        drawn = self.certificate_.records_per_person * np.maximum(self.counts, 0.0)
        variance = self.deviation**2 + (drawn if sampling else 0.0)
        slopes = self._slopes(function) ** 2
        spread = float((variance * slopes).sum())
        if not spread:
            return _clipped(low, most), _clipped(high, most)
        # Cornish and Fisher's second term: a sum of few two-sided geometric draws, of kurtosis 6, has longer tails than a normal.
        kurtosis = 3 * float(((self.deviation**2 * slopes) ** 2).sum()) / spread**2
        z = -float(ndtri((1 - level) / 2))
        wide = (z + max(z**3 - 3 * z, 0.0) * kurtosis / 24) * guard * math.sqrt(spread)
        return _clipped(low - wide, most), _clipped(high + wide, most)

    def roc_curve(self, label: Value | None = None) -> Curve:
        """Return the true positive rate (y) by the false positive rate (x) of a class, the positive one unless named."""
        own, others = self._descending(label)
        return Curve(_shares(others), _shares(own), self._thresholds)

    def precision_recall_curve(self, label: Value | None = None) -> Curve:
        """Return the precision (y) by the recall (x) of a class, the positive one unless named."""
        own, others = (np.maximum(np.cumsum(part), 0.0) for part in self._descending(label))
        found = own + others
        precision = np.divide(own, found, out=np.ones_like(own), where=found > 0)
        recall = _shares(self._descending(label)[0])
        return Curve(recall, np.concatenate(([1.0], precision)), self._thresholds)

    def calibration(self, label: Value | None = None) -> Calibration:
        """Return how often a class, the positive one unless named, is the label, by bins of its probability."""
        own, others = self.grid.curve(self.counts, self._place(label))
        lower, upper = self.grid.ends
        records = own + others
        clear = records > CLEAR * math.sqrt(2) * self.deviation
        observed = np.clip(own[clear] / records[clear], 0.0, 1.0)
        return Calibration(((lower + upper) / 2)[clear], observed, records[clear])

    def to_dict(self) -> dict[str, Any]:
        """Return what was released, and the figures that follow from it, as plain values for JSON."""
        figures = {
            name: {
                "value": self.figure(name).value,
                "interval_of_noise": list(self.interval(name, sampling=False)),
                "interval_of_noise_and_sampling": list(self.interval(name)),
            }
            for name in FIGURES
        }
        return {
            "classes": list(self.classes),
            "bins": self.grid.bins,
            "counts": self.counts.tolist(),
            "deviation": self.deviation,
            "records": self.records,
            **({} if self.model_unit is None else {"model_unit": asdict(self.model_unit)}),
            "figures": figures,
            "confusion_matrix": self.confusion_matrix.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the report card that ``to_dict`` wrote, with its certificate under ``certificate``.

        Raises
        ------
        ValueError, TypeError, KeyError, FileFormatError
            If the values are no report card's.
        """
        classes, bins = tuple(values["classes"]), int(values["bins"])
        counts, deviation = np.array(values["counts"], dtype=np.float64), float(values["deviation"])
        grid = ScoreGrid(len(classes), bins)
        sound = len(classes) > 0 and 2 <= bins <= MOST_BINS and bins % 2 == 0 and deviation >= 0
        if not sound or counts.shape != (int(grid.n_codes.sum()),) or not np.isfinite([*counts, deviation]).all():
            raise ValueError("no counts of a report card")
        unit = Unit(**values["model_unit"]) if "model_unit" in values else None
        return cls(classes, grid, counts, deviation, Certificate.from_dict(values["certificate"]), unit)

    def __str__(self) -> str:
        about = f"about {self.records:.0f} records (noise: {self.deviation:.3g} a count)"
        units = f". It protects {self.certificate_.unit}; its model protects {self.model_unit}."
        rows = [
            f"Report card on {about}{'' if self.model_unit in (None, self.certificate_.unit) else units}",
            "",
            f"  {'':<12}{'':>8}  {'95 %, of these records':<24}{'95 %, of their population':<24}",
        ]
        for name in FIGURES:
            noise, both = (self.interval(name, sampling=sampling) for sampling in (False, True))
            rows.append(
                f"  {name:<12}{self.figure(name).value:>8.4f}  {_between(noise):<24}{_between(both):<24}".rstrip()
            )
        return "\n".join(rows)

    def _function(self, name: str) -> Callable[[Floats], Figure]:
        if name not in FIGURES:
            raise ConfigurationError(f"there is no figure {shown(name)}; ask for one of {', '.join(FIGURES)}.")
        return lambda counts: FIGURES[name](self.grid, counts)

    def _most(self, name: str) -> float:
        return 2.0 if name == "brier_score" and self.grid.n_classes > 2 else 1.0

    def _guard(self, name: str) -> float | None:
        """Return by how much an interval widens since the numbers it divides by are noisy, None where they may be nothing."""
        if name == "roc_auc":
            curves = [self.grid.curve(self.counts, k) for k in _curves(self.grid)]
            parts = [(float(part.sum()), len(part)) for curve in curves for part in curve]
        else:
            parts = [(self.records, int(self.grid.n_codes[0]))]
        off = [math.sqrt(cells) * self.deviation for _, cells in parts]
        if any(total <= CLEAR * deviation for (total, _), deviation in zip(parts, off, strict=True)):
            return None
        return 1 + max(deviation / total for (total, _), deviation in zip(parts, off, strict=True))

    def _slopes(self, function: Callable[[Floats], Figure]) -> Floats:
        """Return how fast a figure changes with each count."""
        slopes = np.empty(len(self.counts))
        for i in range(len(self.counts)):
            more, less = self.counts.copy(), self.counts.copy()
            more[i] += STEP
            less[i] -= STEP
            slopes[i] = (function(more).value - function(less).value) / (2 * STEP)
        return slopes

    def _place(self, label: Value | None) -> int:
        if label is None and self.grid.n_classes == 2:
            return 1
        if label is None or label not in self.classes:
            raise ConfigurationError(f"label is {shown(label)}; pass one of {list(self.classes)}.")
        return list(self.classes).index(label)

    def _descending(self, label: Value | None) -> tuple[Floats, Floats]:
        own, others = self.grid.curve(self.counts, self._place(label))
        return own[::-1], others[::-1]

    @property
    def _thresholds(self) -> Floats:
        return np.concatenate(([1.0], self.grid.ends[0][::-1]))


def _clipped(value: float, most: float) -> float:
    return min(max(value, 0.0), most)


def _between(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4f} to {interval[1]:.4f}"


def _shares(counts: Floats) -> Floats:
    """Return the running share of noisy counts, from 0 to 1, never falling."""
    total = counts.sum()
    sums = np.concatenate(([0.0], np.cumsum(counts)))
    shares = sums / total if total > 0 else np.linspace(0.0, 1.0, len(sums))
    return np.maximum.accumulate(np.clip(shares, 0.0, 1.0))


def _accuracy(grid: ScoreGrid, counts: Floats) -> Figure:
    table = grid.confusion(counts)
    total = float(table.sum())
    value = float(np.trace(table)) / total if total else 0.0
    return Figure(value, value, value)


def _roc_auc(grid: ScoreGrid, counts: Floats) -> Figure:
    """Records of one bin are tied: half of their pairs count, and it may be none or all."""
    figures = []
    for k in _curves(grid):
        own, others = grid.curve(counts, k)
        pairs = float(own.sum() * others.sum())
        below = np.concatenate(([0.0], np.cumsum(others)[:-1]))
        tied, may = float(own @ others), float(np.abs(own * others).sum())
        sure = float(own @ below)
        figures.append(((sure + tied / 2) / pairs, may / 2 / pairs) if pairs else (0.5, 0.5))
    value, open_ = np.mean(figures, axis=0).tolist()
    return Figure(value, value - open_, value + open_)


def _curves(grid: ScoreGrid) -> range:
    """Return the classes of which curves are drawn: of two, the second one's is all."""
    return range(1 if grid.n_classes == 2 else 0, grid.n_classes)


def _brier_score(grid: ScoreGrid, counts: Floats) -> Figure:
    lower, upper = grid.ends
    sums = np.zeros(3)
    for k in _curves(grid):
        own, others = grid.curve(counts, k)
        total = float(own.sum() + others.sum())
        middle = (lower + upper) / 2
        for i, (miss, alarm) in enumerate((((1 - middle), middle), ((1 - upper), lower), ((1 - lower), upper))):
            sums[i] += float(own @ miss**2 + others @ alarm**2) / total if total else 0.0
    value, low, high = sums.tolist()
    return Figure(value, min(low, value), max(high, value))


FIGURES: Mapping[str, Callable[[ScoreGrid, Floats], Figure]] = {
    "accuracy": _accuracy,
    "roc_auc": _roc_auc,
    "brier_score": _brier_score,
}
