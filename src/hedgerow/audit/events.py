"""What an attacker looks at in an answer, and the event that best distinguishes two data sets.

Views of an answer are each array as a whole, its numbers, and the digits of floats. The event is found on runs that are not used
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.audit.findings import epsilon_bound

Columns = dict[str, npt.NDArray[Any]]  # one array of shape (runs,) per view: floats, or texts
Sides = tuple[Columns, Columns]  # what was seen on the first data set, and on the second

ELEMENTS = 12  # of an array that are looked at one by one
TEXT = 60  # characters of an array that are shown as they are
ABSENT = "absent"
THRESHOLDS = 40  # of one statistic that are tried
FEW_VALUES = 60  # up to this many different numbers are also treated as outcomes without an order
SHOWN = 3  # outcomes that are listed by name
SPREADS = 6.0  # standard deviations to which larger ones are clipped
RIDGE = 1e-2


def look(answers: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the views of some answers: texts where only equality counts, floats where the order counts too.

    An answer is everything that a model released, by name: arrays, numbers, texts, or what has a telling ``repr``.
    """
    seen: Columns = {}
    for name in sorted({name for answer in answers for name in answer}):
        arrays = [np.asarray(answer[name]) if name in answer else None for answer in answers]
        seen[name] = np.array([ABSENT if array is None else _text(array) for array in arrays])
        if all(array is None or array.dtype.kind in "biuf" for array in arrays):
            digits = any(array is not None and array.dtype.kind == "f" for array in arrays)
            seen |= _numbers(name, _table(arrays), digits)
    together = zip(*(column for column in seen.values() if column.dtype.kind == "U"), strict=True)
    return {"everything": np.array([_short(";".join(row)) for row in together]), **seen}


def _text(array: npt.NDArray[Any]) -> str:
    shown = str(array.tolist())
    return shown if len(shown) <= TEXT else f"#{_short(shown)}"


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _table(arrays: Sequence[npt.NDArray[Any] | None]) -> npt.NDArray[np.float64]:
    rows = [np.empty(0) if array is None else array.reshape(-1) for array in arrays]
    table = np.full((len(rows), max(1, *(len(row) for row in rows))), np.nan)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _numbers(name: str, table: npt.NDArray[np.float64], digits: bool) -> Columns:
    present, ordered = ~np.isnan(table), np.sort(table, axis=1)
    size = present.sum(axis=1)
    seen = {
        f"the size of {name}": size,
        f"the sum of {name}": np.where(present, table, 0.0).sum(axis=1),
        f"the least of {name}": ordered[:, 0],
        f"the largest of {name}": ordered[np.arange(len(table)), np.maximum(size - 1, 0)],
        f"the different values in {name}": (np.diff(ordered, axis=1) > 0).sum(axis=1) + (size > 0),
    }
    few = table[:, :ELEMENTS]
    seen |= {f"{name}[{i}]": few[:, i] for i in range(few.shape[1])}
    if digits:
        last = _last_digits(few)
        seen |= {f"the last binary digit of {name}[{i}]": last[:, i] for i in range(few.shape[1])}
    return {view: column.astype(np.float64) for view, column in seen.items()}


def _last_digits(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the exponent of the last binary digit of each float: noise on a count of 0 has finer ones than on 1."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1))
    return np.where(whole == 0, np.nan, exponent - 53 + lowest)


def join_columns(parts: Iterable[Mapping[str, npt.NDArray[Any]]]) -> Columns:
    """Return the views of all runs by name; a view that a run lacks is NaN, or the text ``"absent"``."""
    parts = list(parts)
    names = sorted({name for part in parts for name in part})
    return {name: _joined([(part.get(name), len(next(iter(part.values())))) for part in parts]) for name in names}


def _joined(parts: Sequence[tuple[npt.NDArray[Any] | None, int]]) -> npt.NDArray[Any]:
    is_text = any(part is not None and part.dtype.kind == "U" for part, _ in parts)
    filler: Any = ABSENT if is_text else np.nan
    return np.concatenate([np.full(runs, filler) if part is None else part for part, runs in parts])


@dataclass(frozen=True)
class Number:
    """A number of every run as it was released; NaN where there is none."""

    view: str

    @property
    def rank(self) -> int:
        """Of equal statistics the one of the lowest rank wins: what a person can check comes first."""
        return 1 + 2 * _is_obscure(self.view)

    def values(self, seen: Columns) -> Floats:
        column = seen.get(self.view)
        return np.full(_runs(seen), np.nan) if column is None or column.dtype.kind == "U" else column

    def words(self, threshold: float, above: bool) -> str:
        return f"{self.view} is {'at least' if above else 'at most'} {threshold:.6g}"


@dataclass(frozen=True, eq=False)
class LikelihoodRatio:
    """The log ratio of an outcome's frequencies on the second and the first data set; 0 if it was never seen."""

    view: str
    ratio: Mapping[Any, float]

    @property
    def rank(self) -> int:
        return 2 * _is_obscure(self.view)

    def values(self, seen: Columns) -> Floats:
        outcomes = seen.get(self.view)
        if outcomes is None:
            return np.zeros(_runs(seen))
        return np.array([self.ratio.get(outcome, 0.0) for outcome in outcomes.tolist()])

    def words(self, threshold: float, above: bool) -> str:
        inside = [o for o, ratio in self.ratio.items() if (ratio >= threshold if above else ratio <= threshold)]
        inside.sort(key=lambda outcome: self.ratio[outcome], reverse=above)
        shown = [outcome if isinstance(outcome, str) else f"{outcome:g}" for outcome in inside[:SHOWN]]
        more = f" or one of {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        return f"{self.view} is {' or '.join(shown)}{more}"


@dataclass(frozen=True, eq=False)
class Discriminant:
    """The weighted sum of all numbers that best distinguishes the data sets by least squares."""

    statistics: Sequence[Number | LikelihoodRatio]
    center: Floats
    spread: Floats
    weight: Floats = field(repr=False)
    rank = 4

    @classmethod
    def fitted(cls, statistics: Sequence[Number | LikelihoodRatio], learn: Sides) -> Discriminant:
        first, second = (_table_of(statistics, seen) for seen in learn)
        table = np.concatenate([first, second])
        center = np.nanmean(np.where(np.isfinite(table).any(axis=0), table, 0.0), axis=0)
        spread = np.sqrt(np.nanmean((np.where(np.isfinite(table), table, center) - center) ** 2, axis=0))
        spread[spread == 0] = np.inf
        scaled = _scaled(table, center, spread)
        target = np.repeat([-1.0, 1.0], [len(first), len(second)])
        square = scaled.T @ scaled + RIDGE * len(table) * np.eye(len(center))
        return cls(statistics, center, spread, np.linalg.solve(square, scaled.T @ target))

    def values(self, seen: Columns) -> Floats:
        return np.asarray(_scaled(_table_of(self.statistics, seen), self.center, self.spread) @ self.weight)

    def words(self, threshold: float, above: bool) -> str:
        return f"a weighted sum of everything is {'at least' if above else 'at most'} {threshold:.6g}"


Statistic = Number | LikelihoodRatio | Discriminant


def _table_of(statistics: Sequence[Number | LikelihoodRatio], seen: Columns) -> Floats:
    return np.stack([statistic.values(seen) for statistic in statistics], axis=1)


def _scaled(table: Floats, center: Floats, spread: Floats) -> Floats:
    centered = np.where(np.isfinite(table), table, center) - center
    return np.asarray(np.clip(centered / spread, -SPREADS, SPREADS))


@dataclass(frozen=True, eq=False)
class ThresholdEvent:
    """A statistic on one side of a threshold; ``toward`` is 0 or 1, the data set on which it was seen more often."""

    statistic: Statistic
    threshold: float
    above: bool
    toward: int

    def count(self, seen: Columns) -> int:
        values = self.statistic.values(seen)
        return int(np.count_nonzero(values >= self.threshold if self.above else values <= self.threshold))

    def __str__(self) -> str:
        return self.statistic.words(self.threshold, self.above)


def best_events(learn: Sides, select: Sides, delta: float, risk: float) -> list[ThresholdEvent]:
    """Return, for each of the two data sets, the event that best shows a larger probability there.

    Outcomes are ordered and numbers are weighed on the runs ``learn``; on the runs ``select`` the events compete by the bound
    that they would give.
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
    varying: list[Number | LikelihoodRatio] = []
    for view in sorted({*learn[0], *learn[1]}):
        columns = [side.get(view, np.full(_runs(side), np.nan)) for side in learn]
        is_text = any(column.dtype.kind == "U" for column in columns)
        values, place = np.unique(np.concatenate(columns), return_inverse=True)
        if len(values) < 2:
            continue
        if is_text or len(values) <= FEW_VALUES:
            side = np.repeat([0, 1], [len(column) for column in columns])
            counts = np.bincount(place.reshape(-1) * 2 + side, minlength=2 * len(values)).reshape(-1, 2)
            varying.append(_likelihood_ratio(view, values, counts))
        if not is_text:
            varying.append(Number(view))
    yield from varying
    yield Discriminant.fitted(varying, learn) if varying else Number("everything is the same")


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


def _runs(seen: Columns) -> int:
    return len(next(iter(seen.values())))
