"""What an attacker looks at in an answer, and the event that best distinguishes two data sets."""

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
        texts = [ABSENT if array is None else str(array.tolist()) for array in arrays]
        seen[name] = np.array([text if len(text) <= TEXT else f"#{_short(text)}" for text in texts])
        if all(array is None or array.dtype.kind in "biuf" for array in arrays):
            seen |= _numbers(name, arrays)
    together = zip(*(column for column in seen.values() if column.dtype.kind == "U"), strict=True)
    return {"everything": np.array([_short(";".join(row)) for row in together]), **seen}


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _numbers(name: str, arrays: Sequence[npt.NDArray[Any] | None]) -> Columns:
    rows = [np.empty(0) if array is None else array.reshape(-1) for array in arrays]
    table = np.full((len(rows), max(1, *(len(row) for row in rows))), np.nan)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
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
    if any(array is not None and array.dtype.kind == "f" for array in arrays):
        # The exponent of the last binary digit of each float: noise on a count of 0 has finer ones than on 1.
        mantissa, exponent = np.frexp(np.where(np.isfinite(few), few, 0.0))
        whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
        last = np.where(whole == 0, np.nan, exponent - 53 + np.log2(np.maximum(whole & -whole, 1)))
        seen |= {f"the last binary digit of {name}[{i}]": last[:, i] for i in range(few.shape[1])}
    return {view: column.astype(np.float64) for view, column in seen.items()}


def join_columns(parts: Iterable[Columns]) -> Columns:
    """Return the views of all runs by name; a view that a run lacks is NaN, or the text ``"absent"``."""
    parts = list(parts)
    joined = {}
    for name in sorted({name for part in parts for name in part}):
        is_text = any(name in part and part[name].dtype.kind == "U" for part in parts)
        filler: Any = ABSENT if is_text else np.nan
        joined[name] = np.concatenate([part.get(name, np.full(_runs(part), filler)) for part in parts])
    return joined


@dataclass(frozen=True, eq=False)
class View:
    """A number of every run as it was released, NaN where there is none; or, with ``ratio``, how likely an outcome is where.

    The ratio is the log of an outcome's frequencies on the second and the first data set, 0 if it was never seen.
    """

    view: str
    ratio: Mapping[Any, float] | None = None

    @property
    def rank(self) -> int:
        """Of equal statistics the one of the lowest rank wins: what a person can check comes first."""
        obscure = self.view == "everything" or self.view.startswith("the last binary digit")
        return 2 * obscure + (self.ratio is None)

    def values(self, seen: Columns) -> Floats:
        column = seen.get(self.view)
        if self.ratio is None:
            return np.full(_runs(seen), np.nan) if column is None or column.dtype.kind == "U" else column
        return np.zeros(_runs(seen)) if column is None else np.array([self.ratio.get(o, 0.0) for o in column.tolist()])

    def words(self, threshold: float, above: bool) -> str:
        if self.ratio is None:
            return f"{self.view} is {'at least' if above else 'at most'} {threshold:.6g}"
        ratios = self.ratio
        inside = [o for o, ratio in ratios.items() if (ratio >= threshold if above else ratio <= threshold)]
        inside.sort(key=lambda outcome: ratios[outcome], reverse=above)
        shown = [outcome if isinstance(outcome, str) else f"{outcome:g}" for outcome in inside[:SHOWN]]
        more = f" or one of {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        return f"{self.view} is {' or '.join(shown)}{more}"


@dataclass(frozen=True, eq=False)
class Discriminant:
    views: Sequence[View]
    center: Floats
    spread: Floats
    weight: Floats = field(repr=False)
    rank = 4

    @classmethod
    def fitted(cls, views: Sequence[View], learn: Sides) -> Discriminant:
        first, second = (np.stack([view.values(seen) for view in views], axis=1) for seen in learn)
        table = np.concatenate([first, second])
        center = np.nanmean(np.where(np.isfinite(table).any(axis=0), table, 0.0), axis=0)
        spread = np.sqrt(np.nanmean((np.where(np.isfinite(table), table, center) - center) ** 2, axis=0))
        spread[spread == 0] = np.inf
        scaled = _scaled(table, center, spread)
        target = np.repeat([-1.0, 1.0], [len(first), len(second)])
        square = scaled.T @ scaled + RIDGE * len(table) * np.eye(len(center))
        return cls(views, center, spread, np.linalg.solve(square, scaled.T @ target))

    def values(self, seen: Columns) -> Floats:
        table = np.stack([view.values(seen) for view in self.views], axis=1)
        return np.asarray(_scaled(table, self.center, self.spread) @ self.weight)

    def words(self, threshold: float, above: bool) -> str:
        return f"a weighted sum of everything is {'at least' if above else 'at most'} {threshold:.6g}"


def _scaled(table: Floats, center: Floats, spread: Floats) -> Floats:
    centered = np.where(np.isfinite(table), table, center) - center
    return np.asarray(np.clip(centered / spread, -SPREADS, SPREADS))


@dataclass(frozen=True, eq=False)
class ThresholdEvent:
    """A statistic on one side of a threshold; ``toward`` is 0 or 1, the data set on which it was seen more often."""

    statistic: View | Discriminant
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


def _statistics(learn: Sides) -> Iterator[View | Discriminant]:
    """Yield what is compared: nothing that is the same in all runs."""
    varying: list[View] = []
    for view in sorted({*learn[0], *learn[1]}):
        columns = [side.get(view, np.full(_runs(side), np.nan)) for side in learn]
        is_text = any(column.dtype.kind == "U" for column in columns)
        values, place = np.unique(np.concatenate(columns), return_inverse=True)
        if len(values) < 2:
            continue
        if is_text or len(values) <= FEW_VALUES:
            side = np.repeat([0, 1], [len(column) for column in columns])
            counts = np.bincount(place.reshape(-1) * 2 + side, minlength=2 * len(values)).reshape(-1, 2)
            share = (counts + 0.5) / (counts.sum(axis=0) + 0.5)
            ratio = np.log(share[:, 1] / share[:, 0])
            varying.append(View(view, dict(zip(values.tolist(), ratio.tolist(), strict=True))))
        if not is_text:
            varying.append(View(view))
    yield from varying
    yield Discriminant.fitted(varying, learn) if varying else View("everything is the same")


def _tried(statistic: View | Discriminant, select: Sides) -> Floats:
    first, second = (np.sort(values[~np.isnan(values)]) for values in map(statistic.values, select))
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


def _runs(seen: Columns) -> int:
    return len(next(iter(seen.values())))
