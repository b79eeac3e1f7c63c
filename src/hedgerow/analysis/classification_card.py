"""A classifier's report card: the public bins of its probabilities, and figures from noisy counts by bin and label."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hedgerow.analysis.card import (
    CLEAR,
    MOST_BINS,
    Calibration,
    Card,
    Figure,
    cut_points,
    figure_of,
    made_up_answers,
    mean_figure,
    quantile,
)
from hedgerow.arrays import Floats, Integers
from hedgerow.curator.released_warnings import ClassEvidence, class_warnings
from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator import ClassOrder, Model
from hedgerow.schema.features import Value
from hedgerow.texts import short_repr

FEWEST, MOST = 8, 64  # bins of a probability, if no parameter gives their number
OLD_WIDEST = 7.0  # log-odds of the outermost bins' inner ends, nearly, of the cards of version 0.3


def usual_bins(deviation: float) -> int:
    """Return how many bins of a probability suit counts with noise of this standard deviation.

    The noise of a ROC AUC grows with the root of their number, and the share of pairs within a bin falls with it, so the best
    number grows as the 2/3 power of a count's precision. 24 at epsilon 1 suits some thousands of records.
    """
    half = 12 * float((math.sqrt(2) / deviation) ** (2 / 3))
    return 2 * round(min(max(half, FEWEST / 2), MOST / 2))


@dataclass(frozen=True)
class ScoreGrid:
    """Public bins of probabilities.

    A record is in one cell of one histogram for two classes: its label, the bin of the second class's probability, and by the
    side of 1/2, which is a cut point, the class that is predicted. For K classes it is in one cell of K + 1: its label and the
    predicted class; and for each class whether it is the label, and the bin of its probability. A bin holds its upper end.
    """

    coordinates: ClassVar[str] = "label and score"
    n_classes: int
    cuts: tuple[tuple[float, ...], ...]  # inner, of the second class's probability, or of each class's, ascending

    @classmethod
    def of(cls, model: Model, order: ClassOrder, bins: int) -> Self:
        """Return at most so many bins of each probability, at quantiles of the model's probabilities of made-up records."""
        probabilities = order.columns(made_up_answers(model))
        if probabilities.shape[1] == 2:
            return cls(2, (cut_points(probabilities[:, 1], bins, 0.0, 1.0, [0.5]),))
        return cls(probabilities.shape[1], tuple(cut_points(scores, bins, 0.0, 1.0) for scores in probabilities.T))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the bins that ``to_dict`` wrote, or the number of bins of equal width in log-odds that version 0.3 wrote."""
        classes = len(values["classes"])
        curves = 1 if classes == 2 else classes
        if "bins" in values:
            bins = int(values["bins"])
            if not 2 <= bins <= MOST_BINS or bins % 2:
                raise ValueError("no bins of a report card")
            odds = OLD_WIDEST * (2 * np.arange(1, bins) / bins - 1)
            return cls(classes, (tuple((1 / (1 + np.exp(-odds))).tolist()),) * curves)
        cuts = tuple(tuple(map(float, each)) for each in values["cuts"])
        sound = all(len(each) < MOST_BINS and all(a < b for a, b in pairwise((0.0, *each, 1.0))) for each in cuts)
        if not classes or len(cuts) != curves or not sound or (classes == 2 and 0.5 not in cuts[0]):
            raise ValueError("no bins of a report card")
        return cls(classes, cuts)

    def to_dict(self) -> dict[str, Any]:
        return {"cuts": [list(each) for each in self.cuts]}

    def ends(self, k: int) -> tuple[Floats, Floats]:
        cuts = self.cuts[0 if self.n_classes == 2 else k]
        lower, upper = np.array([0.0, *cuts]), np.array([*cuts, 1.0])
        return (1 - upper[::-1], 1 - lower[::-1]) if self.n_classes == 2 and k == 0 else (lower, upper)

    @property
    def n_codes(self) -> Integers:
        scores = [2 * (len(each) + 1) for each in self.cuts]
        return np.array(scores if self.n_classes == 2 else [self.n_classes**2, *scores])

    @property
    def predicted(self) -> Integers:
        if self.n_classes != 2:
            return np.arange(self.n_classes)
        return (np.arange(len(self.cuts[0]) + 1) > self.cuts[0].index(0.5)).astype(np.int64)

    def codes(self, probabilities: Floats, labels: Integers) -> Integers:
        """Return the cells of each record, of shape (records, histograms); a record decides its own alone."""
        predicted = probabilities.argmax(axis=1)
        scores = probabilities[:, 1:] if self.n_classes == 2 else probabilities
        each = zip(self.cuts, scores.T, strict=True)
        places = np.stack([np.searchsorted(cuts, score, side="left") for cuts, score in each], axis=1)
        bins = np.array([len(cuts) + 1 for cuts in self.cuts])
        if self.n_classes == 2:
            half = self.cuts[0].index(0.5) + 1
            # Rounding may leave a probability on the other side of 1/2 than the prediction.
            sided = np.where(predicted == 1, np.maximum(places[:, 0], half), np.minimum(places[:, 0], half - 1))
            return np.asarray(labels * bins[0] + sided)[:, None]
        own = (labels[:, None] == np.arange(self.n_classes)) * bins + places
        return np.column_stack([labels * self.n_classes + predicted, own])

    def cells_of(self, k: int) -> slice:
        """Return where the counts by bin of class k's probability are: those of other labels, then those with the label."""
        place = 0 if self.n_classes == 2 else k + 1
        stop = np.cumsum(self.n_codes)[place]
        return slice(int(stop - self.n_codes[place]), int(stop))

    def confusion(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label and predicted class, (labels, predicted)."""
        return np.asarray(self.by_label(counts) @ (self.predicted[:, None] == np.arange(self.n_classes)))

    def by_label(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label, (labels, cells): each record is in one."""
        return counts[: int(self.n_codes[0])].reshape(self.n_classes, -1)

    def curve(self, counts: Floats, k: int) -> tuple[Floats, Floats]:
        """Return the counts by bin of class k's probability: of records with that label, and of all others."""
        others, own = counts[self.cells_of(k)].reshape(2, -1)
        if self.n_classes == 2 and k == 0:
            return others[::-1], own[::-1]
        return own, others


UNKNOWN = Figure(0.5, 0.0, 1.0)  # a share of no known number of records


class Curve(NamedTuple):
    """Points of a curve, from the highest score to the lowest.

    Parameters
    ----------
    x, y : ndarray
        The two rates at each point: false and true positives, or recall and precision.
    thresholds : ndarray
        The scores from which on a record counts as positive.
    """

    x: Floats
    y: Floats
    thresholds: Floats

    def __repr__(self) -> str:
        return short_repr(self)


class Band(NamedTuple):
    """The uncertainty of each point of a curve from the added noise.

    Parameters
    ----------
    x, y : ndarray
        How far noise may have moved the point along each axis, in either direction.
    """

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

    Attributes
    ----------
    accuracy : float
        The share of records whose predicted class is their label.
    recall : float
        The share of the positive class's records that are predicted. With three classes or more, the mean over classes.
    precision : float
        The share of the records predicted as the positive class that have it. With three classes or more, the mean.
    roc_auc : float
        The area under the ROC curve; ties count half. With three classes or more, the mean of each class against the rest.
    brier_score : float
        The mean squared error of the probability of the second class. With three classes or more, the sum over all classes.

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

    FIGURES: ClassVar[tuple[str, ...]] = ("accuracy", "recall", "precision", "roc_auc", "brier_score")
    accuracy, recall, precision, roc_auc, brier_score = map(figure_of, FIGURES)

    classes: Sequence[Value] = field(kw_only=True)
    grid: ScoreGrid = field(kw_only=True)

    @property
    def records(self) -> float:
        return float(self.grid.confusion(self.counts).sum())

    @property
    def confusion_matrix(self) -> Floats:
        """The noisy counts by label (rows) and predicted class (columns), of shape (classes, classes). Some may be negative."""
        return self.grid.confusion(self.counts).copy()

    def roc_curve(self, label: Value | None = None) -> Curve:
        """Return the true positive rate (y) by the false positive rate (x) of a class; by default the positive class."""
        own, others = self._descending(label)
        thresholds = np.concatenate(([1.0], self.grid.ends(self._place(label))[0][::-1]))
        return Curve(_shares(others), _shares(own), thresholds)

    def roc_band(self, label: Value | None = None, level: float = 0.95) -> Band:
        """Return a band for each point of ``roc_curve``: the uncertainty from the added noise.

        Both rates of a threshold are within their bands with a probability of about ``level``. It is a normal approximation, as
        for ``interval``. The width of bins and the sampling variation of the records are not included.
        """
        own, others = self._descending(label)
        each = (1 + level) / 2  # for each rate, so that both hold with ``level``
        return Band(self._rate_band(others, each), self._rate_band(own, each))

    def calibration_band(self, label: Value | None = None, level: float = 0.95) -> Floats:
        """Return a band for each share of ``calibration``, which covers it with a probability of about ``level``."""
        own, others = self.grid.curve(self.counts, self._place(label))
        one = np.ones(len(own))
        return np.asarray(self._ratio_band(own, others, one, one, level)[self._clear(own + others)])

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
        return np.asarray(np.divide(guarded, total, out=np.ones_like(total), where=sure))

    def _clear(self, records: Floats) -> Any:
        return records > CLEAR * math.sqrt(2) * self.deviation

    def calibration(self, label: Value | None = None) -> Calibration:
        """Return how often a class is the label, by bins of its probability; by default the positive class."""
        place = self._place(label)
        own, others = self.grid.curve(self.counts, place)
        lower, upper = self.grid.ends(place)
        records = own + others
        clear = self._clear(records)
        observed = np.clip(own[clear] / records[clear], 0.0, 1.0)
        return Calibration(((lower + upper) / 2)[clear], observed, records[clear])

    def _released(self) -> dict[str, Any]:
        return {"classes": list(self.classes), **self.grid.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "confusion_matrix": self.confusion_matrix.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        grid = ScoreGrid.from_dict(values)
        return cls(classes=tuple(values["classes"]), grid=grid, **cls._counts_in(values, int(grid.n_codes.sum())))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning that names the classes of which no released count stands out from its noise, if there are any."""
        evidence = ClassEvidence(self.grid.n_classes)
        evidence.add(self.grid.by_label(self.counts).T, self.deviation)
        return class_warnings(self.classes, evidence)

    def _bounds(self, name: str) -> tuple[float, float]:
        return 0.0, 2.0 if name == "brier_score" and self.grid.n_classes > 2 else 1.0

    def _parts(self, name: str) -> list[tuple[Any, Any]]:
        """Return which cells of the first histogram a share is taken of, and which of these it counts, for each class."""
        n_classes = self.grid.n_classes
        label, predicted = (
            part.ravel() for part in np.broadcast_arrays(np.arange(n_classes)[:, None], self.grid.predicted)
        )
        if name == "accuracy":
            return [(np.ones(len(label), dtype=np.bool_), label == predicted)]
        of = label if name == "recall" else predicted
        return [(of == k, label == predicted) for k in self._curves]

    def _denominators(self, name: str) -> list[tuple[float, float]]:
        first = self.counts[: int(self.grid.n_codes[0])]
        parts = [first]
        if name == "roc_auc":
            curves = [self.counts[self.grid.cells_of(k)].reshape(2, -1) for k in self._curves]
            parts += [part for curve in curves for part in curve]
        elif name != "brier_score":
            parts += [first[of] for of, _ in self._parts(name)]
        return [(float(part.sum()), math.sqrt(len(part)) * self.deviation) for part in parts]

    def _is_clear(self, counts: Floats) -> bool:
        return bool(counts.sum() > CLEAR * math.sqrt(len(counts)) * self.deviation)

    def _figure(self, name: str, counts: Floats) -> tuple[Figure, Floats]:
        slopes, figures = np.zeros(len(counts)), []
        if name in ("roc_auc", "brier_score"):
            for k in self._curves:
                place = self.grid.cells_of(k)
                if name == "roc_auc":
                    if all(map(self._is_clear, counts[place].reshape(2, -1))):
                        figure, slopes[place] = _roc_auc(counts[place])
                    else:
                        figure = UNKNOWN
                else:
                    lower, upper = self.grid.ends(k)
                    middle = (lower + upper) / 2
                    # Errors of other labels, and of the label
                    parts = (middle, 1 - middle), (lower, 1 - upper), (upper, 1 - lower)
                    figure, slopes[place] = mean_figure(counts[place], *(np.concatenate(part) ** 2 for part in parts))
                figures.append(figure)
        else:
            for of, right in self._parts(name):
                cells, counted = np.flatnonzero(of), right[of].astype(np.float64)
                figure, change = mean_figure(counts[cells], counted, counted, counted)
                clear = self._is_clear(counts[cells])
                slopes[cells] += change * clear
                figures.append(figure if clear else UNKNOWN)
        number = 1 if name == "brier_score" else len(figures)  # it is a sum over classes, and others a mean
        return Figure(*(np.sum(figures, axis=0) / number).tolist()), slopes / number

    def _title(self) -> str:
        about = f"; recall and precision are of {self.classes[-1]!r}" * (self.grid.n_classes == 2)
        return super()._title().removesuffix(".") + about

    @property
    def _curves(self) -> range:
        return range(1 if self.grid.n_classes == 2 else 0, self.grid.n_classes)

    def _place(self, label: Value | None) -> int:
        if label is None and self.grid.n_classes == 2:
            return 1
        if label is None or label not in self.classes:
            raise ConfigurationError(f"label is {shown(label)}; pass one of {list(self.classes)}.")
        return list(self.classes).index(label)

    def _descending(self, label: Value | None) -> tuple[Floats, Floats]:
        own, others = self.grid.curve(self.counts, self._place(label))
        return own[::-1], others[::-1]


def _roc_auc(counts: Floats) -> tuple[Figure, Floats]:
    """Records of one bin are tied. Half of their pairs are counted; the true share may be none or all."""
    others, own = counts.reshape(2, -1)
    positive, negative = float(own.sum()), float(others.sum())
    pairs = positive * negative
    if not pairs:
        return Figure(0.5, 0.5, 0.5), np.zeros(len(counts))
    below, above = np.cumsum(others) - others / 2, positive - np.cumsum(own) + own / 2
    value, half = float(own @ below) / pairs, float(np.abs(own * others).sum()) / 2 / pairs
    slopes = np.concatenate([above / pairs - value / negative, below / pairs - value / positive])
    return Figure(value, value - half, value + half), slopes


def _shares(counts: Floats) -> Floats:
    total = counts.sum()
    sums = np.concatenate(([0.0], np.cumsum(counts)))
    shares = sums / total if total > 0 else np.linspace(0.0, 1.0, len(sums))
    return np.maximum.accumulate(np.clip(shares, 0.0, 1.0))
