"""Report cards: figures computed from noisy counts, with intervals for noise and for sampling; and that of a classifier."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from hedgerow.arrays import Floats, Integers
from hedgerow.curator.released_warnings import ClassEvidence, class_warnings
from hedgerow.errors import ConfigurationError, shown
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Unit
from hedgerow.schema.features import Value
from hedgerow.texts import html_table, short_repr

INTERVALS = ("95 %, of these records", "95 %, of their population")
TILTS = np.linspace(0.02, 0.98, 97)  # of an exponential bound, as shares of the largest tilt
CLEAR = 4.0  # deviations of its noise by which a number of records must stand out


def quantile(level: float, kurtosis: Any) -> Any:
    """Return how many deviations reach around noise of some excess kurtosis to cover it with a probability.

    Cornish and Fisher's second term: a sum of few two-sided geometric draws, of excess kurtosis 3 each, has longer tails than a
    normal.
    """
    z = -float(ndtri((1 - level) / 2))
    return z + max(z**3 - 3 * z, 0.0) * kurtosis / 24


def geometric_sum_bounds(rate: float, weights: Floats, draws: Any, chance: float) -> Any:
    """Return what weighted sums of independent two-sided geometric draws pass with at most this chance.

    ``weights`` (kinds,) is the weight of each kind of draw, not all 0, and ``draws`` (..., kinds) their numbers. It is the
    exponential (Chernoff) bound: the chance that a sum S reaches s is at most ``E[exp(t S)] exp(-t s)`` for every t below the
    rate over the largest weight, of which the best of a list is taken.
    """
    tilt = TILTS * rate / np.abs(weights).max()
    of_kind = np.abs(weights) * tilt[:, None]
    log_moment = 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(of_kind - rate)) - np.log(-np.expm1(-of_kind - rate))
    return ((draws @ log_moment.T - math.log(chance)) / tilt).min(axis=-1)


class Figure(NamedTuple):
    """A figure, and between which values it may lie by what bins leave open."""

    value: float
    low: float
    high: float


def mean_figure(counts: Floats, value: Floats, low: Floats, high: Floats) -> tuple[Figure, Floats]:
    """Return a mean over records, and how fast it changes with each count.

    ``value``, ``low`` and ``high`` are what a record of each cell adds: about, at least and at most.
    """
    total = float(counts.sum())
    if not total:
        return Figure(0.0, 0.0, 0.0), np.zeros(len(counts))
    mean, least, most = (float(counts @ part) / total for part in (value, low, high))
    return Figure(mean, min(least, mean), max(most, mean)), (value - mean) / total


@dataclass(frozen=True, eq=False, repr=False)
class Card:
    """What report cards share: noisy counts of all cells, and figures as functions of them.

    ``counts`` are everything that was released, ``deviation`` is (nearly) the standard deviation of each count's noise, and
    ``model_unit`` is whom the model's own guarantee protects, None if it is not known.
    """

    FIGURES: ClassVar[tuple[str, ...]]

    counts: Floats = field(repr=False)
    deviation: float
    certificate_: Certificate = field(repr=False)
    model_unit: Unit | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def records(self) -> float:
        """The noisy number of labelled records."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """What the released counts say against the labels (docs/proofs/report-card.md). It costs nothing."""

    @abstractmethod
    def _released(self) -> dict[str, Any]:
        """Return what ``from_dict`` needs besides the counts, as plain values."""

    @abstractmethod
    def _figure(self, name: str, counts: Floats) -> tuple[Figure, Floats]:
        """Return a figure of noisy counts, and how fast it changes with each of them."""

    @abstractmethod
    def _bounds(self, name: str) -> tuple[float, float]:
        """Return between which values a figure lies whatever the records are."""

    @abstractmethod
    def _denominators(self, name: str) -> list[tuple[float, float]]:
        """Return the noisy numbers that a figure divides by, each with the standard deviation of its noise."""

    def figure(self, name: str) -> Figure:
        """Return a figure by its name, within its possible range."""
        name, shape = self._known(name)
        low, high = self._bounds(name)
        figure, _ = self._figure(name, self._significant)
        return Figure(*(shape(min(max(part, low), high)) for part in figure))

    def interval(self, name: str, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return an interval that covers a figure with a probability of about ``level``, what bins leave open included.

        Parameters
        ----------
        name : str
            Which figure.
        level : float
            The probability.
        sampling : bool, default True
            Whether it covers the figure of the population that the records were drawn from; otherwise noise alone counts, and
            it covers the figure of these very records.

        Notes
        -----
        It follows from released counts and costs nothing. It is a normal approximation: the noise and the sampling of every
        cell, through the figure's rates of change (docs/proofs/report-card.md). Where a number that a figure divides by does
        not stand out from its noise the interval says nothing: it is everything.
        """
        name, shape = self._known(name)
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise ConfigurationError(f"level is {shown(level)}, but it is a probability; pass a number such as 0.95.")
        least, most = self._bounds(name)
        parts = self._denominators(name)
        if any(total <= CLEAR * noise for total, noise in parts):
            return shape(least), shape(most)
        guard = 1 + max(noise / total for total, noise in parts)
        (_, low, high), slopes = self._figure(name, self.counts)
        # Records of one person may be all alike: they vary as k times as many would that are drawn one by one, at most.
        drawn = self.certificate_.records_per_person * np.maximum(self.counts, 0.0)
        variance = self.deviation**2 + (drawn if sampling else 0.0)
        squares = slopes**2
        spread = float((variance * squares).sum())
        if not spread:
            return shape(max(low, least)), shape(min(high, most))
        kurtosis = 3 * float(((self.deviation**2 * squares) ** 2).sum()) / spread**2
        wide = float(quantile(level, kurtosis)) * guard * math.sqrt(spread)
        return shape(max(low - wide, least)), shape(min(high + wide, most))

    def to_dict(self) -> dict[str, Any]:
        """Return what was released, and the figures computed from it, as plain values for JSON; null is an infinite end."""
        kinds = {"interval_of_noise": False, "interval_of_noise_and_sampling": True}
        figures = {}
        for name in self.FIGURES:
            intervals = {kind: self.interval(name, sampling=sampling) for kind, sampling in kinds.items()}
            finite = {kind: [end if math.isfinite(end) else None for end in ends] for kind, ends in intervals.items()}
            figures[name] = {"value": self.figure(name).value, **finite}
        return {
            **self._released(),
            "counts": self.counts.tolist(),
            "deviation": self.deviation,
            "records": self.records,
            **({} if self.model_unit is None else {"model_unit": asdict(self.model_unit)}),
            "figures": figures,
        }

    @classmethod
    @abstractmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the report card that ``to_dict`` wrote, with its certificate under ``certificate``.

        Raises
        ------
        ValueError, TypeError, KeyError, FileFormatError
            If the values are not those of a report card.
        """

    @staticmethod
    def _counts_in(values: Mapping[str, Any], cells: int) -> dict[str, Any]:
        """Return what ``to_dict`` wrote of so many counts, and the certificate beside it, as arguments of a card."""
        counts, deviation = np.array(values["counts"], dtype=np.float64), float(values["deviation"])
        if counts.shape != (cells,) or not np.isfinite([*counts, deviation]).all() or deviation < 0:
            raise ValueError("no counts of a report card")
        return {
            "counts": counts,
            "deviation": deviation,
            "certificate_": Certificate.from_dict(values["certificate"]),
            "model_unit": Unit(**values["model_unit"]) if "model_unit" in values else None,
        }

    __repr__ = short_repr

    def __str__(self) -> str:
        rows = [self._title(), "", f"  {'':<12}{'':>8}  {INTERVALS[0]:<24}{INTERVALS[1]:<24}"]
        for name, value, noise, both in self._rows():
            rows.append(f"  {name:<12}{value:>8}  {noise:<24}{both:<24}".rstrip())
        return "\n".join([*rows, *(f"\nWarning: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        note = " ".join(f"Warning: {text}" for text in self.warnings)
        return html_table(self._title(), self._rows(), ("figure", "value", *INTERVALS), note=note)

    def _title(self) -> str:
        about = f"Report card on about {self.records:.0f} records (noise: {self.deviation:.3g} a count)"
        if self.model_unit in (None, self.certificate_.unit):
            return about
        return f"{about}. It protects {self.certificate_.unit}; its model protects {self.model_unit}."

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        for name in self.FIGURES:
            digits = self._digits(name)
            intervals = (self.interval(name, sampling=sampling) for sampling in (False, True))
            noise, both = (f"{low:.{digits}f} to {high:.{digits}f}" for low, high in intervals)
            yield name, f"{self.figure(name).value:.{digits}f}", noise, both

    def _digits(self, name: str) -> int:
        return 4

    @property
    def _significant(self) -> Floats:
        """The counts that figures are computed from."""
        return self.counts

    def _known(self, name: str) -> tuple[str, Callable[[float], float]]:
        """Return what a figure is computed as, and the function that then gives it: a root has no slope at zero."""
        if name not in self.FIGURES:
            raise ConfigurationError(f"there is no figure {shown(name)}; ask for one of {', '.join(self.FIGURES)}.")
        return ("mse", math.sqrt) if name == "rmse" else (name, float)


MOST_BINS = 1024  # of a probability or a residual
WIDEST = 7.0  # log-odds of the outermost bins' inner ends, nearly: a probability of .0009


@dataclass(frozen=True)
class ScoreGrid:
    """Public bins of a probability, an even number of equal width in log-odds: one half of them on each side of 1/2.

    A record is in one cell of one histogram for two classes: its label, the bin of the second class's probability, and by the
    side of 1/2 the class that is predicted. For K classes it is in one cell of K + 1: its label and the predicted class; and for
    each class whether it is the label, and the bin of its probability.
    """

    coordinates: ClassVar[str] = "label and score"
    n_classes: int
    bins: int

    @property
    def inner(self) -> Floats:
        odds = WIDEST * (2 * np.arange(1, self.bins) / self.bins - 1)
        return np.asarray(1 / (1 + np.exp(-odds)))

    @property
    def ends(self) -> tuple[Floats, Floats]:
        inner = self.inner
        return np.concatenate(([0.0], inner)), np.concatenate((inner, [1.0]))

    @property
    def n_codes(self) -> Integers:
        if self.n_classes == 2:
            return np.array([2 * self.bins])
        return np.array([self.n_classes**2, *[2 * self.bins] * self.n_classes])

    def codes(self, probabilities: Floats, labels: Integers) -> Integers:
        """Return the cells of each record, of shape (records, histograms); a record decides its own alone."""
        predicted = probabilities.argmax(axis=1)
        scores = probabilities[:, 1:] if self.n_classes == 2 else probabilities
        places = np.searchsorted(self.inner, scores, side="left")
        if self.n_classes == 2:
            half = self.bins // 2
            # Rounding may leave a probability on the other side of 1/2 than the prediction.
            sided = np.where(predicted == 1, np.maximum(places[:, 0], half), np.minimum(places[:, 0], half - 1))
            return np.asarray(labels * self.bins + sided)[:, None]
        own = (labels[:, None] == np.arange(self.n_classes)) * self.bins + places
        return np.column_stack([labels * self.n_classes + predicted, own])

    def cells_of(self, k: int) -> slice:
        """Return where the counts by bin of class k's probability are: those of other labels, then those with the label."""
        start = 0 if self.n_classes == 2 else self.n_classes**2 + 2 * self.bins * k
        return slice(start, start + 2 * self.bins)

    def confusion(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label and predicted class, (labels, predicted)."""
        confusion: Floats = self.by_label(counts).reshape(self.n_classes, self.n_classes, -1).sum(axis=2)
        return confusion

    def by_label(self, counts: Floats) -> Floats:
        """Return the counts of all histograms in a row as those of each label, (labels, cells): each record is in one."""
        return counts[: int(self.n_codes[0])].reshape(self.n_classes, -1)

    def curve(self, counts: Floats, k: int) -> tuple[Floats, Floats]:
        """Return the counts by bin of class k's probability: of records with that label, and of all others."""
        others, own = counts[self.cells_of(k)].reshape(2, self.bins)
        if self.n_classes == 2 and k == 0:
            return others[::-1], own[::-1]
        return own, others


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
        return records > CLEAR * math.sqrt(2) * self.deviation

    def precision_recall_curve(self, label: Value | None = None) -> Curve:
        """Return the precision (y) by the recall (x) of a class; by default the positive class."""
        own, others = (np.maximum(np.cumsum(part), 0.0) for part in self._descending(label))
        predicted = own + others
        precision = np.divide(own, predicted, out=np.ones_like(own), where=predicted > 0)
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

    def _released(self) -> dict[str, Any]:
        return {"classes": list(self.classes), "bins": self.grid.bins}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "confusion_matrix": self.confusion_matrix.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        classes, bins = tuple(values["classes"]), int(values["bins"])
        if not classes or not 2 <= bins <= MOST_BINS or bins % 2:
            raise ValueError("no counts of a report card")
        grid = ScoreGrid(len(classes), bins)
        return cls(classes=classes, grid=grid, **cls._counts_in(values, int(grid.n_codes.sum())))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning that names the classes of which no released count stands out from its noise, if there are any."""
        evidence = ClassEvidence(self.grid.n_classes)
        evidence.add(self.grid.by_label(self.counts).T, self.deviation)
        return class_warnings(self.classes, evidence)

    def _bounds(self, name: str) -> tuple[float, float]:
        return 0.0, 2.0 if name == "brier_score" and self.grid.n_classes > 2 else 1.0

    def _denominators(self, name: str) -> list[tuple[float, float]]:
        parts = [(self.records, int(self.grid.n_codes[0]))]
        if name == "roc_auc":
            curves = [self.counts[self.grid.cells_of(k)].reshape(2, -1) for k in self._curves]
            parts = [(float(part.sum()), len(part)) for curve in curves for part in curve]
        return [(total, math.sqrt(cells) * self.deviation) for total, cells in parts]

    def _figure(self, name: str, counts: Floats) -> tuple[Figure, Floats]:
        classes, slopes, figures = self.grid.n_classes, np.zeros(len(counts)), []
        if name == "accuracy":
            cells = int(self.grid.n_codes[0])
            right = np.repeat(np.eye(classes).ravel(), cells // classes**2)
            figure, slopes[:cells] = mean_figure(counts[:cells], right, right, right)
            return figure, slopes
        lower, upper = self.grid.ends
        middle = (lower + upper) / 2
        parts = (middle, 1 - middle), (lower, 1 - upper), (upper, 1 - lower)  # errors of other labels, and of the label
        errors = [np.concatenate(part) ** 2 for part in parts]
        for place in map(self.grid.cells_of, self._curves):
            figure, slopes[place] = (
                _roc_auc(counts[place]) if name == "roc_auc" else mean_figure(counts[place], *errors)
            )
            figures.append(figure)
        number = len(figures) if name == "roc_auc" else 1  # it is a mean over classes, and the Brier score a sum
        return Figure(*(np.sum(figures, axis=0) / number).tolist()), slopes / number

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

    @property
    def _thresholds(self) -> Floats:
        return np.concatenate(([1.0], self.grid.ends[0][::-1]))


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
    """Return the cumulative share of noisy counts, from 0 to 1, never decreasing."""
    total = counts.sum()
    sums = np.concatenate(([0.0], np.cumsum(counts)))
    shares = sums / total if total > 0 else np.linspace(0.0, 1.0, len(sums))
    return np.maximum.accumulate(np.clip(shares, 0.0, 1.0))
