"""Finding the event that distinguishes two data sets, on runs that are not used again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.audit.bounds import epsilon_bound
from hedgerow.audit.views import Columns

__all__ = ["Sides", "ThresholdEvent", "best_events"]

Sides = tuple[Columns, Columns]  # what was seen on the first data set, and on the second

THRESHOLDS = 40  # of one statistic that are tried
FEW_VALUES = 60  # up to this many different numbers are also treated as outcomes without an order
SHOWN = 3  # outcomes that are listed by name
SPREADS = 6.0  # standard deviations to which larger ones are clipped
RIDGE = 1e-2


class Statistic(Protocol):
    """A number of every run; NaN if there is none."""

    @property
    def rank(self) -> int:
        """Among equals the smallest wins, which has the plainest description."""

    def values(self, seen: Columns) -> Floats:
        """Return the number of each run."""

    def words(self, threshold: float, above: bool) -> str:
        """Say in words that the number is at least, or at most, a threshold."""


@dataclass(frozen=True)
class Number:
    """A number as it was released."""

    view: str

    @property
    def rank(self) -> int:
        """What a person can check comes first."""
        return 1 + 2 * _is_obscure(self.view)

    def values(self, seen: Columns) -> Floats:
        """Return the number of each run."""
        return _floats(seen, self.view)

    def words(self, threshold: float, above: bool) -> str:
        """Say in words that the number is at least, or at most, a threshold."""
        return f"{self.view} is {'at least' if above else 'at most'} {threshold:.6g}"


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """The log ratio of an outcome's frequencies on the second and the first data set; 0 if it was never seen."""

    view: str
    ratio: Mapping[Any, float]

    @property
    def rank(self) -> int:
        """What a person can check comes first."""
        return 2 * _is_obscure(self.view)

    def values(self, seen: Columns) -> Floats:
        """Return the number of each run."""
        outcomes = seen.get(self.view)
        if outcomes is None:
            return np.zeros(_runs(seen))
        return np.array([self.ratio.get(outcome, 0.0) for outcome in outcomes.tolist()])

    def words(self, threshold: float, above: bool) -> str:
        """Say in words that the number is at least, or at most, a threshold."""
        inside = [o for o, ratio in self.ratio.items() if (ratio >= threshold if above else ratio <= threshold)]
        inside.sort(key=lambda outcome: self.ratio[outcome], reverse=above)
        shown = [outcome if isinstance(outcome, str) else f"{outcome:g}" for outcome in inside[:SHOWN]]
        more = f" or one of {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        return f"{self.view} is {' or '.join(shown)}{more}"


@dataclass(frozen=True, eq=False)
class Discriminant:
    """The weighted sum of all numbers that best distinguishes the data sets by least squares."""

    statistics: tuple[Statistic, ...]
    center: Floats
    spread: Floats
    weight: Floats = field(repr=False)

    @property
    def rank(self) -> int:
        """What a person can check comes first."""
        return 4

    @classmethod
    def fitted(cls, statistics: list[Statistic], learn: Sides) -> Discriminant:
        """Return the sum that was best on some runs."""
        first, second = (cls._table(statistics, seen) for seen in learn)
        table = np.concatenate([first, second])
        center = np.nanmean(np.where(np.isfinite(table).any(axis=0), table, 0.0), axis=0)
        spread = np.sqrt(np.nanmean((np.where(np.isfinite(table), table, center) - center) ** 2, axis=0))
        spread[spread == 0] = np.inf
        made = cls(tuple(statistics), center, spread, np.zeros(len(center)))
        scaled = made._scaled(table)
        target = np.repeat([-1.0, 1.0], [len(first), len(second)])
        square = scaled.T @ scaled + RIDGE * len(table) * np.eye(len(center))
        return cls(made.statistics, center, spread, np.linalg.solve(square, scaled.T @ target))

    @staticmethod
    def _table(statistics: list[Statistic] | tuple[Statistic, ...], seen: Columns) -> Floats:
        return np.stack([statistic.values(seen) for statistic in statistics], axis=1)

    def _scaled(self, table: Floats) -> Floats:
        centered = np.where(np.isfinite(table), table, self.center) - self.center
        return np.asarray(np.clip(centered / self.spread, -SPREADS, SPREADS))

    def values(self, seen: Columns) -> Floats:
        """Return the number of each run."""
        return np.asarray(self._scaled(self._table(self.statistics, seen)) @ self.weight)

    def words(self, threshold: float, above: bool) -> str:
        """Say in words that the number is at least, or at most, a threshold."""
        return f"a weighted sum of everything is {'at least' if above else 'at most'} {threshold:.6g}"


@dataclass(frozen=True, eq=False)
class ThresholdEvent:
    """A statistic on one side of a threshold; ``toward`` is 0 or 1, the data set on which it was seen more often."""

    statistic: Statistic
    threshold: float
    above: bool
    toward: int

    def count(self, seen: Columns) -> int:
        """Return the number of runs in which it happened."""
        values = self.statistic.values(seen)
        return int(np.count_nonzero(values >= self.threshold if self.above else values <= self.threshold))

    def __str__(self) -> str:
        return self.statistic.words(self.threshold, self.above)


def best_events(learn: Sides, select: Sides, delta: float, risk: float) -> list[ThresholdEvent]:
    """Return, for each of the two data sets, the event that best shows a larger probability there.

    Parameters
    ----------
    learn : (Columns, Columns)
        Runs on both data sets from which outcomes are ordered and numbers are weighed.
    select : (Columns, Columns)
        Other runs, on which the events compete by the bound that they would give.
    delta, risk : float
        As for ``epsilon_bound``.
    """
    statistics = list(_statistics(learn))
    tried = [_tried(statistic, select) for statistic in statistics]
    index = np.repeat(np.arange(len(tried)), [len(table) for table in tried])
    table = np.concatenate(tried)  # (events, [threshold, above, hits on the first, hits on the second])
    runs = (_runs(select[0]), _runs(select[1]))
    rank = np.array([statistic.rank for statistic in statistics])[index]
    events = []
    for toward in (0, 1):
        more, fewer = table[:, 2 + toward], table[:, 3 - toward]
        bound = epsilon_bound(more, fewer, (runs[toward], runs[1 - toward]), delta, risk)
        apart = more / runs[toward] - fewer / runs[1 - toward]
        # Where all bounds are 0, the one whose frequencies lie furthest apart.
        best = np.lexsort((apart.round(2), -rank, apart.round(2) * (bound == 0), bound.round(1)))[-1]
        events.append(ThresholdEvent(statistics[index[best]], float(table[best, 0]), bool(table[best, 1]), toward))
    return events


def _statistics(learn: Sides) -> Iterator[Statistic]:
    """Yield what is compared: nothing that is the same in all runs."""
    found: list[Statistic] = []
    for view in sorted({*learn[0], *learn[1]}):
        columns = [side.get(view, np.full(_runs(side), np.nan)) for side in learn]
        is_text = any(column.dtype.kind == "U" for column in columns)
        values, counts = _outcomes(columns)
        if len(values) < 2:
            continue
        if is_text or len(values) <= FEW_VALUES:
            found.append(_likelihood_ratio(view, values, counts))
        if not is_text:
            found.append(Number(view))
    yield from found
    if found:
        yield Discriminant.fitted(found, learn)
    else:
        yield Number("everything is the same")


def _outcomes(columns: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the different outcomes, and how often each was seen on each side, of shape (outcomes, 2)."""
    values, place = np.unique(np.concatenate(columns), return_inverse=True)
    side = np.repeat([0, 1], [len(column) for column in columns])
    return values, np.bincount(place.reshape(-1) * 2 + side, minlength=2 * len(values)).reshape(-1, 2)


def _likelihood_ratio(view: str, values: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> LikelihoodRatio:
    share = (counts + 0.5) / (counts.sum(axis=0) + 0.5)
    return LikelihoodRatio(view, dict(zip(values.tolist(), np.log(share[:, 1] / share[:, 0]).tolist(), strict=True)))


def _tried(statistic: Statistic, select: Sides) -> Floats:
    """Return the thresholds of a statistic on both sides, and how often each event happened."""
    first, second = (values[~np.isnan(values)] for values in (statistic.values(seen) for seen in select))
    first.sort()
    second.sort()
    values = np.unique(np.concatenate([first, second]))
    if len(values) > THRESHOLDS:
        tails = np.concatenate([np.arange(8), -1 - np.arange(8)])  # rare events may distinguish best
        inner = np.linspace(0, len(values) - 1, THRESHOLDS - len(tails)).astype(int)
        values = values[np.unique(np.concatenate([tails % len(values), inner]))]
    if len(values) == 0:
        values = np.zeros(1)
    above = [len(side) - np.searchsorted(side, values, side="left") for side in (first, second)]
    below = [np.searchsorted(side, values, side="right") for side in (first, second)]
    rows = [np.stack([values, np.full(len(values), up), *hits], axis=1) for up, hits in ((1.0, above), (0.0, below))]
    return np.concatenate(rows)


def _is_obscure(view: str) -> bool:
    return view == "everything" or view.startswith("the last binary digit")


def _floats(seen: Columns, view: str) -> Floats:
    column = seen.get(view)
    return np.full(_runs(seen), np.nan) if column is None or column.dtype.kind == "U" else column


def _runs(seen: Columns) -> int:
    return len(next(iter(seen.values())))
