"""Report cards: figures computed from noisy counts, with intervals for noise and for sampling."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from hedgerow.arrays import Floats, lazy
from hedgerow.errors import ConfigurationError, shown
from hedgerow.estimator import Model
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Unit
from hedgerow.texts import html_table, short_repr

INTERVALS = ("95 %, of these records", "95 %, of their population")
TILTS = np.linspace(0.02, 0.98, 97)  # of an exponential bound, as shares of the largest tilt
MOST_BINS = 1024  # of a probability or a residual
CLEAR = 4.0  # deviations of its noise by which a number of records must stand out
RECORDS = 8_192  # made up from what a model released, which costs nothing
SEED = 0  # the same model always has the same bins
EVEN = 0.2  # of the values that quantiles are taken of: evenly spaced, where made-up records may have none


def quantile(level: float, kurtosis: Any) -> Any:
    """Return how many deviations reach around noise of some excess kurtosis to cover it with a probability.

    Cornish and Fisher's second term: a sum of few two-sided geometric draws, of excess kurtosis 3 each, has longer tails than a
    normal.
    """
    z = -float(ndtri((1 - level) / 2))
    return z + max(z**3 - 3 * z, 0.0) * kurtosis / 24


def geometric_sum_bounds(rate: float, weights: Floats, draws: Any, chance: float) -> Any:
    """Return what weighted sums of independent two-sided geometric draws exceed with at most this probability.

    ``weights`` (kinds,) is the weight of each kind of draw, not all 0, and ``draws`` (..., kinds) their numbers. It is the
    exponential (Chernoff) bound: the chance that a sum S reaches s is at most ``E[exp(t S)] exp(-t s)`` for every t below the
    rate over the largest weight, of which the best of a list is taken.
    """
    tilt = TILTS * rate / np.abs(weights).max()
    of_kind = np.abs(weights) * tilt[:, None]
    log_moment = 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(of_kind - rate)) - np.log(-np.expm1(-of_kind - rate))
    return ((draws @ log_moment.T - math.log(chance)) / tilt).min(axis=-1)


def made_up_answers(model: Model) -> Floats:
    """Return the probabilities, (records, classes), or the outcomes, (records,), of a released model for made-up records.

    Features are drawn independently, each by the model's ``code_shares``.
    """
    shares = model.code_shares()
    draws = np.random.default_rng(SEED).random((len(shares), RECORDS))
    codes = [
        np.searchsorted(np.cumsum(share)[:-1], draw, side="right") for share, draw in zip(shares, draws, strict=True)
    ]
    return model.answers_of_codes(np.ascontiguousarray(np.column_stack(codes), dtype=model.encoder.dtype))


def cut_points(
    values: Floats, bins: int, low: float, high: float, among: Sequence[float] = (), even: float = EVEN
) -> tuple[float, ...]:
    """Return at most ``bins - 1`` ascending cut points between ``low`` and ``high``, nearly at quantiles of the values.

    A share of ``even`` of the values is evenly spaced ones that are added. A cut point is midway between neighboring values. The
    nearest one to each of ``among`` is replaced by it.
    """
    spaced = np.linspace(low, high, round(len(values) * even / (1 - even)))
    every = np.sort(np.concatenate([values, spaced]))
    below = every[len(every) * np.arange(1, bins) // bins - 1]
    above = every[np.minimum(np.searchsorted(every, below, side="right"), len(every) - 1)]
    cuts, kept = (below + above) / 2, above > below  # nothing is above the largest value
    for point in among:
        nearest = np.abs(cuts - point).argmin()
        cuts[nearest], kept[nearest] = point, True
    return tuple(np.unique(cuts[kept & (cuts > low) & (cuts < high)]).tolist())


class Figure(NamedTuple):
    """A figure of a report card, and between which values it lies, whatever the places of records in their bins.

    The noise is not in these ends; ``card.interval`` has it.

    Parameters
    ----------
    value : float
        The figure. NaN if the counts do not bound it.
    low, high : float
        The ends.
    """

    value: float
    low: float
    high: float


class Calibration(NamedTuple):
    """What is predicted and what is observed, for each bin, or group of predictions, that stands out from its noise.

    Parameters
    ----------
    predicted : ndarray
        The middles of the bins of probabilities, or mean predictions.
    observed : ndarray
        Shares of the records with the label, or mean outcomes.
    records : ndarray
        Noisy numbers of records.
    """

    predicted: Floats
    observed: Floats
    records: Floats

    def __repr__(self) -> str:
        return short_repr(self)


def mean_figure(counts: Floats, value: Floats, low: Floats, high: Floats) -> tuple[Figure, Floats]:
    """Return a mean over records, and how fast it changes with each count.

    ``value``, ``low`` and ``high`` are what a record of each cell adds: about, at least and at most.
    """
    total = float(counts.sum())
    if not total:
        return Figure(0.0, 0.0, 0.0), np.zeros(len(counts))
    mean, least, most = (float(counts @ part) / total for part in (value, low, high))
    return Figure(mean, min(least, mean), max(most, mean)), (value - mean) / total


def figure_of(name: str) -> property:
    """Return the property of a card that is the value of a figure."""
    return property(lambda card: card.figure(name).value, doc=f"The value of the figure {name}.")


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

    @property
    def too_few(self) -> bool:
        """Whether the number of records does not stand out from its noise, so that no figure is known."""
        return not self._stands_out(self.FIGURES[0])

    def figure(self, name: str) -> Figure:
        """Return a figure by its name, within its possible range.

        Where the counts do not bound it, its value is NaN: its interval is everything, or has no end on one side.
        """
        name, shape = self._known(name)
        low, high = self._bounds(name)
        figure, _ = self._figure(name, self._significant)
        value, *ends = (shape(min(max(part, low), high)) for part in figure)
        if not self._stands_out(name) or not all(map(math.isfinite, self._interval(name, 0.95, sampling=False))):
            value = math.nan
        return Figure(value, *ends)

    def _bounded(self, name: str, level: float) -> tuple[Figure, Floats]:
        """Return a figure whose ends hold for exact counts, and how fast it changes with each of the noisy ones.

        Ends that need noise to be bounded, too, use the ``level``.
        """
        return self._figure(name, self.counts)

    @lazy
    def _bounded_by_level(self) -> dict[tuple[str, float], tuple[Figure, Floats]]:
        return {}

    def _stands_out(self, name: str) -> bool:
        return all(total > CLEAR * noise for total, noise in self._denominators(name))

    def interval(self, name: str, level: float = 0.95, *, sampling: bool = True) -> tuple[float, float]:
        """Return an interval that covers a figure with a probability of about ``level``, with the uncertainty from bins.

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
        not stand out from its noise the interval says nothing: it is everything, or for one class of a mean over several,
        everything that this class may add.
        """
        name, shape = self._known(name)
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise ConfigurationError(f"level is {shown(level)}, but it is a probability; pass a number such as 0.95.")
        low, high = self._interval(name, level, sampling=sampling)
        return shape(low), shape(high)

    def _interval(self, name: str, level: float, *, sampling: bool) -> tuple[float, float]:
        least, most = self._bounds(name)
        parts = [noise / total for total, noise in self._denominators(name) if total > CLEAR * noise]
        if not parts:
            return least, most
        guard = 1 + max(parts)
        if (name, level) not in self._bounded_by_level:  # a table of figures needs it three times
            self._bounded_by_level[name, level] = self._bounded(name, level)
        (_, low, high), slopes = self._bounded_by_level[name, level]
        # Records of one person may be all alike: they vary as k times as many would that are drawn one by one, at most.
        drawn = self.certificate_.records_per_person * np.maximum(self.counts, 0.0)
        variance = self.deviation**2 + (drawn if sampling else 0.0)
        squares = slopes**2
        spread = float((variance * squares).sum())
        wide = 0.0
        if spread:
            kurtosis = 3 * float(((self.deviation**2 * squares) ** 2).sum()) / spread**2
            wide = float(quantile(level, kurtosis)) * guard * math.sqrt(spread)
        return min(max(low - wide, least), most), max(min(high + wide, most), least)

    def to_dict(self) -> dict[str, Any]:
        """Return what was released, and the figures computed from it, as plain values for JSON.

        null is an infinite end, or no value.
        """
        kinds = {"interval_of_noise": False, "interval_of_noise_and_sampling": True}
        figures = {}
        for name in self.FIGURES:
            intervals = {kind: self.interval(name, sampling=sampling) for kind, sampling in kinds.items()}
            ends = {kind: list(map(_finite, ends)) for kind, ends in intervals.items()}
            figures[name] = {"value": _finite(self.figure(name).value), **ends}
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
            digits = self.digits(name)
            intervals = (self.interval(name, sampling=sampling) for sampling in (False, True))
            noise, both = (f"{low:.{digits}f} to {high:.{digits}f}" for low, high in intervals)
            value = self.figure(name).value
            yield name, "-" if math.isnan(value) else f"{value:.{digits}f}", noise, both

    def digits(self, name: str) -> int:
        return 4

    @property
    def _significant(self) -> Floats:
        return self.counts

    def _known(self, name: str) -> tuple[str, Callable[[float], float]]:
        """Return what a figure is computed as, and the function that then gives it: a root has no slope at zero."""
        if name not in self.FIGURES:
            raise ConfigurationError(f"there is no figure {shown(name)}; ask for one of {', '.join(self.FIGURES)}.")
        return ("mse", math.sqrt) if name == "rmse" else (name, float)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
