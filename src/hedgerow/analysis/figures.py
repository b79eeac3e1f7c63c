"""Figures that follow from noisy counts, each with how far noise and chance may have moved it, whatever was counted."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError, shown
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.claim import Unit
from hedgerow.texts import html_table, short_repr

INTERVALS = ("95 %, of these records", "95 %, of their population")
STEP = 0.5  # of a count, where a figure's change is measured
CLEAR = 4.0  # deviations of its noise by which a number of records must stand out


def quantile(level: float, kurtosis: Any) -> Any:
    """Return how many deviations reach around noise of some excess kurtosis to cover it with a probability.

    Cornish and Fisher's second term: a sum of few two-sided geometric draws, of excess kurtosis 3 each, has longer tails than a
    normal.
    """
    z = -float(ndtri((1 - level) / 2))
    return z + max(z**3 - 3 * z, 0.0) * kurtosis / 24


class Figure(NamedTuple):
    """A figure, and between which values it may lie by what bins leave open."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Card:
    """What report cards share: noisy counts of all cells, and figures as functions of them.

    Parameters
    ----------
    counts : ndarray
        The noisy counts of all cells in a row: everything that was released.
    deviation : float
        The standard deviation of each count's noise, nearly.
    certificate_ : Certificate
        What the evaluation cost.
    model_unit : Unit or None
        Whom the model's own guarantee is for; None where it is not known.
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
    def _figure(self, name: str, counts: Floats) -> Figure:
        """Return a figure of these counts."""

    @abstractmethod
    def _bounds(self, name: str) -> tuple[float, float]:
        """Return between which values a figure lies whatever the records are."""

    @abstractmethod
    def _guard(self, name: str) -> float | None:
        """Return by how much an interval widens since the numbers it divides by are noisy, None where they may be nothing."""

    def figure(self, name: str) -> Figure:
        """Return a figure by its name, within what it can be."""
        low, high = self._bounds(name)
        return Figure(*(min(max(part, low), high) for part in self._function(name)(self.counts)))

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
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise ConfigurationError(f"level is {shown(level)}, but it is a probability; pass a number such as 0.95.")
        function, (least, most) = self._function(name), self._bounds(name)
        guard = self._guard(name)
        if guard is None:
            return least, most
        _, low, high = function(self.counts)
        # Records of one person may be all alike: they vary as k times as many would that are drawn one by one, at most.
        drawn = self.certificate_.records_per_person * np.maximum(self.counts, 0.0)
        variance = self.deviation**2 + (drawn if sampling else 0.0)
        slopes = self._slopes(function) ** 2
        spread = float((variance * slopes).sum())
        if not spread:
            return max(low, least), min(high, most)
        kurtosis = 3 * float(((self.deviation**2 * slopes) ** 2).sum()) / spread**2
        wide = float(quantile(level, kurtosis)) * guard * math.sqrt(spread)
        return max(low - wide, least), min(high + wide, most)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return what was released, and the figures that follow from it, as plain values for JSON."""

    def figures_to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON; null stands for an end that is infinite."""
        return {
            name: {
                "value": self.figure(name).value,
                "interval_of_noise": [_finite(end) for end in self.interval(name, sampling=False)],
                "interval_of_noise_and_sampling": [_finite(end) for end in self.interval(name)],
            }
            for name in self.FIGURES
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
        """Yield each figure as text: its name, its value, and the two intervals."""
        for name in self.FIGURES:
            digits = self._digits(name)
            intervals = (self.interval(name, sampling=sampling) for sampling in (False, True))
            noise, both = (f"{low:.{digits}f} to {high:.{digits}f}" for low, high in intervals)
            yield name, f"{self.figure(name).value:.{digits}f}", noise, both

    def _digits(self, name: str) -> int:
        """Return how many digits behind the point a figure is printed with."""
        return 4

    def _function(self, name: str) -> Callable[[Floats], Figure]:
        if name not in self.FIGURES:
            raise ConfigurationError(f"there is no figure {shown(name)}; ask for one of {', '.join(self.FIGURES)}.")
        return lambda counts: self._figure(name, counts)

    def _slopes(self, function: Callable[[Floats], Figure]) -> Floats:
        """Return how fast a figure changes with each count."""
        slopes = np.empty(len(self.counts))
        for i in range(len(self.counts)):
            more, less = self.counts.copy(), self.counts.copy()
            more[i] += STEP
            less[i] -= STEP
            slopes[i] = (function(more).value - function(less).value) / (2 * STEP)
        return slopes


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None
