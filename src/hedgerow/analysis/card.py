"""The report card of a classifier: figures computed from noisy counts, with intervals for noise and for sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hedgerow.analysis.figures import CLEAR, Card, Figure, quantile
from hedgerow.arrays import Floats, Integers
from hedgerow.doubts import ClassEvidence, class_doubts
from hedgerow.errors import ConfigurationError, shown
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Unit
from hedgerow.schema.features import Value
from hedgerow.texts import short_repr

WIDEST = 7.0  # log-odds of the outermost bins' inner ends, nearly: a probability of .0009


@dataclass(frozen=True)
class ScoreGrid:
    """Public bins of a probability, of equal width in log-odds, an even number: one half of them on each side of 1/2.

    A record is in one cell of one histogram for two classes: its label, the bin of the second class's probability, and by the
    side of 1/2 the class that is predicted. For K classes it is in one cell of K + 1: its label and the predicted class; and for
    each class whether it is the label, and the bin of its probability.

    Parameters
    ----------
    n_classes : int
        K.
    bins : int
        How many bins a probability has, even.
    """

    n_classes: int
    bins: int

    @property
    def inner(self) -> Floats:
        """The inner ends of the bins, ascending; 1/2 is the middle one."""
        odds = WIDEST * (2 * np.arange(1, self.bins) / self.bins - 1)
        return np.asarray(1 / (1 + np.exp(-odds)))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The lower and the upper end of each bin."""
        inner = self.inner
        return np.concatenate(([0.0], inner)), np.concatenate((inner, [1.0]))

    @property
    def histograms(self) -> int:
        """How many cells a record is in."""
        return 1 if self.n_classes == 2 else self.n_classes + 1

    @property
    def n_codes(self) -> Integers:
        """How many cells each histogram has."""
        if self.n_classes == 2:
            return np.array([2 * self.bins])
        return np.array([self.n_classes**2, *[2 * self.bins] * self.n_classes])

    def codes(self, probabilities: Floats, labels: Integers) -> Integers:
        """Return the cells of each record, of shape (records, histograms); a record decides its own alone."""
        predicted = probabilities.argmax(axis=1)
        if self.n_classes == 2:
            place, half = self._bins_of(probabilities[:, 1]), self.bins // 2
            # Rounding may leave a probability on the other side of 1/2 than the prediction.
            place = np.where(predicted == 1, np.maximum(place, half), np.minimum(place, half - 1))
            return np.asarray(labels * self.bins + place)[:, None]
        own = [(labels == k) * self.bins + self._bins_of(probabilities[:, k]) for k in range(self.n_classes)]
        return np.column_stack([labels * self.n_classes + predicted, *own])

    def _bins_of(self, probability: Floats) -> Integers:
        return np.searchsorted(self.inner, probability, side="left").astype(np.int64)

    def confusion(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label and predicted class, (labels, predicted)."""
        if self.n_classes == 2:
            sides: Floats = counts.reshape(2, 2, self.bins // 2).sum(axis=2)
            return sides
        return counts[: self.n_classes**2].reshape(self.n_classes, self.n_classes)

    def by_label(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label, (labels, cells): each record is in one."""
        return counts[: int(self.n_codes[0])].reshape(self.n_classes, -1)

    def curve(self, counts: Floats, k: int) -> tuple[Floats, Floats]:
        """Return the counts by bin of class k's probability: of records with that label, and of all others."""
        if self.n_classes == 2:
            zero, one = counts.reshape(2, self.bins)
            return (one, zero) if k == 1 else (zero[::-1], one[::-1])
        start = self.n_classes**2 + 2 * self.bins * k
        others, own = counts[start : start + 2 * self.bins].reshape(2, self.bins)
        return own, others


MOST_BINS = 1024  # bins of a probability


class Curve(NamedTuple):
    """Points of a curve, from the highest score to the lowest."""

    x: Floats
    y: Floats
    thresholds: Floats

    def __repr__(self) -> str:
        return short_repr(self)


class Calibration(NamedTuple):
    """For each bin whose count exceeds its noise: its middle, the share of records with the label, their noisy number."""

    predicted: Floats
    observed: Floats
    records: Floats

    def __repr__(self) -> str:
        return short_repr(self)


class Band(NamedTuple):
    """The uncertainty of each point of a curve from the added noise, up or down, along either axis."""

    x: Floats
    y: Floats

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True, eq=False, repr=False)
class ReportCard(Card):
    """The figures of a classifier on records that were not used in its fit, from one private query.

    Parameters
    ----------
    classes : sequence
        The labels, sorted: the order of ``classes_`` and of probabilities. Of two, the second is the positive class.
    grid : ScoreGrid
        The public bins.
    counts, deviation, certificate_, model_unit
        As for ``Card``. All histograms are concatenated.

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

    FIGURES: ClassVar[tuple[str, ...]] = ("accuracy", "roc_auc", "brier_score")

    classes: Sequence[Value] = field(kw_only=True)
    grid: ScoreGrid = field(kw_only=True)

    @property
    def records(self) -> float:
        """The noisy number of labelled records."""
        return float(self.grid.confusion(self.counts).sum())

    @property
    def confusion_matrix(self) -> Floats:
        """The noisy counts by label (rows) and predicted class (columns), of shape (classes, classes). Some may be negative."""
        return self.grid.confusion(self.counts).copy()

    @property
    def accuracy(self) -> float:
        """The share of records whose predicted class is their label."""
        return self.figure("accuracy").value

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve; ties count half. With three classes or more, the mean of each class against the rest."""
        return self.figure("roc_auc").value

    @property
    def brier_score(self) -> float:
        """The mean squared error of the probability of the second class. With three classes or more, the sum over all classes."""
        return self.figure("brier_score").value

    def roc_curve(self, label: Value | None = None) -> Curve:
        """Return the true positive rate (y) by the false positive rate (x) of a class; by default the positive class."""
        own, others = self._descending(label)
        return Curve(_shares(others), _shares(own), self._thresholds)

    def roc_band(self, label: Value | None = None, level: float = 0.95) -> Band:
        """Return a band for each point of ``roc_curve``: the uncertainty from the added noise.

        Both rates of a threshold are within their bands with a probability of about ``level``. It is a normal approximation, as
        for ``interval``. The width of bins and the sampling variation of the records are not included.
        """
        own, others = self._descending(label)
        each = (1 + level) / 2  # for each rate, so that both hold with ``level``
        return Band(self._rate_band(others, each), self._rate_band(own, each))

    def precision_recall_band(self, label: Value | None = None, level: float = 0.95) -> Band:
        """Return a band for each point of ``precision_recall_curve``; see ``roc_band``."""
        own, others = self._descending(label)
        each, cells = (1 + level) / 2, np.arange(1.0, len(own) + 1)
        precision = self._ratio_band(np.cumsum(own), np.cumsum(others), cells, cells, each)
        return Band(self._rate_band(own, each), np.concatenate(([0.0], precision)))

    def calibration_band(self, label: Value | None = None, level: float = 0.95) -> Floats:
        """Return a band for each share of ``calibration``, which covers it with a probability of about ``level``."""
        own, others = self.grid.curve(self.counts, self._place(label))
        one = np.ones(len(own))
        half: Floats = self._ratio_band(own, others, one, one, level)[self._clear(own + others)]
        return half

    def _rate_band(self, counts: Floats, level: float) -> Floats:
        """Return the half-widths of bands of cumulative shares of the counts, from 0 to 1."""
        sums, cells = np.concatenate(([0.0], np.cumsum(counts))), np.arange(len(counts) + 1.0)
        return self._ratio_band(sums, sums[-1] - sums, cells, cells[-1] - cells, level)

    def _ratio_band(self, part: Floats, rest: Floats, cells: Floats, other_cells: Floats, level: float) -> Floats:
        """Return the half-widths of bands of part / (part + rest), sums of so many noisy counts; 1 if the sum may be zero."""
        total = part + rest
        share = np.clip(np.divide(part, total, out=np.zeros_like(total), where=total > 0), 0.0, 1.0)
        own, others = cells * (1 - share) ** 2, other_cells * share**2
        variance = own + others
        fourth = own * (1 - share) ** 2 + others * share**2
        kurtosis = 3 * np.divide(fourth, variance**2, out=np.zeros_like(total), where=variance > 0)
        off = self.deviation * np.sqrt(cells + other_cells)
        sure = total > CLEAR * off
        wide = quantile(level, kurtosis) * self.deviation * np.sqrt(variance)
        guarded = wide * (1 + np.divide(off, total, out=off * 0, where=sure))
        half: Floats = np.divide(guarded, total, out=np.ones_like(total), where=sure)
        return half

    def _clear(self, records: Floats) -> Any:
        """Return which bins stand out from the noise of two counts."""
        return records > CLEAR * math.sqrt(2) * self.deviation

    def precision_recall_curve(self, label: Value | None = None) -> Curve:
        """Return the precision (y) by the recall (x) of a class; by default the positive class."""
        own, others = (np.maximum(np.cumsum(part), 0.0) for part in self._descending(label))
        found = own + others
        precision = np.divide(own, found, out=np.ones_like(own), where=found > 0)
        recall = _shares(self._descending(label)[0])
        return Curve(recall, np.concatenate(([1.0], precision)), self._thresholds)

    def calibration(self, label: Value | None = None) -> Calibration:
        """Return how often a class is the label, by bins of its probability; by default the positive class."""
        own, others = self.grid.curve(self.counts, self._place(label))
        lower, upper = self.grid.ends
        records = own + others
        clear = self._clear(records)
        observed = np.clip(own[clear] / records[clear], 0.0, 1.0)
        return Calibration(((lower + upper) / 2)[clear], observed, records[clear])

    def to_dict(self) -> dict[str, Any]:
        """Return the released counts and the figures computed from them, as plain values for JSON."""
        return {
            "classes": list(self.classes),
            "bins": self.grid.bins,
            "counts": self.counts.tolist(),
            "deviation": self.deviation,
            "records": self.records,
            **({} if self.model_unit is None else {"model_unit": asdict(self.model_unit)}),
            "figures": self.figures_to_dict(),
            "confusion_matrix": self.confusion_matrix.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the report card that ``to_dict`` wrote, with its certificate under ``certificate``.

        Raises
        ------
        ValueError, TypeError, KeyError, FileFormatError
            If the values are not those of a report card.
        """
        classes, bins = tuple(values["classes"]), int(values["bins"])
        counts, deviation = np.array(values["counts"], dtype=np.float64), float(values["deviation"])
        grid = ScoreGrid(len(classes), bins)
        sound = len(classes) > 0 and 2 <= bins <= MOST_BINS and bins % 2 == 0 and deviation >= 0
        if not sound or counts.shape != (int(grid.n_codes.sum()),) or not np.isfinite([*counts, deviation]).all():
            raise ValueError("no counts of a report card")
        unit = Unit(**values["model_unit"]) if "model_unit" in values else None
        certificate = Certificate.from_dict(values["certificate"])
        return cls(counts, deviation, certificate, classes=classes, grid=grid, model_unit=unit)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning that names the classes of which no released count stands out from its noise, if there are any."""
        evidence = ClassEvidence(self.grid.n_classes)
        evidence.add(self.grid.by_label(self.counts).T, self.deviation)
        return class_doubts(self.classes, evidence)

    def _figure(self, name: str, counts: Floats) -> Figure:
        return FIGURES[name](self.grid, counts)

    def _bounds(self, name: str) -> tuple[float, float]:
        return 0.0, 2.0 if name == "brier_score" and self.grid.n_classes > 2 else 1.0

    def _guard(self, name: str) -> float | None:
        """Return the factor by which noise in the denominators widens an interval, or None if a denominator may be zero."""
        if name == "roc_auc":
            curves = [self.grid.curve(self.counts, k) for k in _curves(self.grid)]
            parts = [(float(part.sum()), len(part)) for curve in curves for part in curve]
        else:
            parts = [(self.records, int(self.grid.n_codes[0]))]
        off = [math.sqrt(cells) * self.deviation for _, cells in parts]
        if any(total <= CLEAR * deviation for (total, _), deviation in zip(parts, off, strict=True)):
            return None
        return 1 + max(deviation / total for (total, _), deviation in zip(parts, off, strict=True))

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


def _shares(counts: Floats) -> Floats:
    """Return the cumulative share of noisy counts, from 0 to 1, never decreasing."""
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
    """Records of one bin are tied. Half of their pairs are counted; the true share may be none or all."""
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
    """Return the classes that have a curve: of two classes, only the second."""
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
