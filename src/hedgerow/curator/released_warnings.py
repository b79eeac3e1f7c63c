"""What released counts say against a schema: labels, outcomes or columns that were hardly read, or lie at an end of a range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.schema import Encoder, Integer, Numeric
from hedgerow.schema.features import Value
from hedgerow.texts import listed, shortened

SURE = 5  # deviations of its noise that a statistic must be above its threshold; one count's noise is so once in 2500 times
READ = 0.5  # of the records: where fewer could be read, it is worth a warning
CROWDED = 0.8  # of the cells that were read: where clearly more lie in one end bin, it is worth a warning
NARROW = 0.05  # of a range: a wider end bin may well hold all
LONGEST_NAME = 80
CHANCE = 0.01  # that noise alone makes a class or a category stand out, of which there is no record
UNDECLARED = 0.05  # of the cells: where clearly more are undeclared, values that show nothing may be spelled otherwise
ELSEWHERE = 0.05  # of the outcomes: where fewer lie outside one cell of the range, it is worth a warning
ENDS = 0.1  # likewise outside an end of the range
FREQUENT = 0.02  # likewise where the end may be a frequent value: zero, or one of few whole numbers
MARGIN = 1.5  # deviations of its noise that the number of the others must be below that small share
MOSTLY_ZERO = 0.2  # of the outcomes: where fewer are not zero, the others say nothing about the range
CELLS = 32  # of a range
FEWEST_VALUES = 3  # whole numbers in a cell
OWNER = "The owner of the records can compare them with the schema: schema.check(X, y), or hedgerow schema check."
CHECK = f"{OWNER} If they agree, pass more records or a larger epsilon."


class ClassEvidence:
    def __init__(self, n_classes: int) -> None:
        self.sums = np.zeros(n_classes)
        self._weighed, self._largest = np.zeros(n_classes), np.full(n_classes, -math.inf)
        self.variance = self._precision = 0.0
        self._cells = 0

    def add(self, counts: npt.NDArray[Any], deviation: float) -> None:
        cells = counts.reshape(-1, len(self.sums)).astype(np.float64)
        if not len(cells):
            return
        total = cells.sum(axis=0)
        self.sums += total
        self._weighed += total / deviation**2
        self._largest = np.maximum(self._largest, cells.max(axis=0) / deviation)
        self.variance += len(cells) * deviation**2
        self._precision += len(cells) / deviation**2
        self._cells += len(cells)

    @property
    def hidden(self) -> Truth:
        if not self._cells:
            return np.zeros(len(self.sums), dtype=np.bool_)
        both = 1 if self._cells == 1 else 2
        added_up = self._weighed / math.sqrt(self._precision) >= _clear(both)
        return np.asarray(~(added_up | (self._largest >= _clear(both * self._cells))))


def _clear(counts: int) -> float:
    """Return the deviations of its noise that a count must reach, which noise alone does in any of so many with ``CHANCE``.

    It is the tail of two-sided geometric noise. Sums of it, and normal noise, have lighter ones.
    """
    return math.log(counts / (2 * CHANCE)) / math.sqrt(2)


def class_warnings(classes: Sequence[Value], evidence: ClassEvidence) -> tuple[str, ...]:
    places = np.flatnonzero(evidence.hidden).tolist()
    if not places:
        return ()
    sums = ", ".join(f"{evidence.sums[k]:.0f}" for k in places[:10])
    return (
        f"no released count of {'classes' if len(places) > 1 else 'class'} {_names([classes[k] for k in places])} stands out "
        f"from its noise: the counts add up to {sums}, with noise of standard deviation {math.sqrt(evidence.variance):.3g}. Few "
        "records, or none, have such a label as the schema spells it, or the noise hides them. A model may never predict it, and "
        f"the figures of a report card may leave it out. {CHECK}",
    )


def _names(values: Sequence[object]) -> str:
    return listed([shortened(value, LONGEST_NAME) if isinstance(value, str) else value for value in values])


def column_warnings(
    encoder: Encoder,
    histograms: Mapping[int, Integers],
    deviation: float,
    total: tuple[float, float] | None = None,
    *,
    what: str = "counts",
) -> tuple[str, ...]:
    """Return a warning for each feature that was hardly read, or whose numbers are nearly all in an end bin.

    ``histograms`` are noisy counts by the places of features, whose noise has this standard deviation; ``total`` is the noisy
    number of records and the deviation of its noise, where it was released as well. ``what`` was released: counts, or sums that
    grow with each record.
    """
    if not histograms:
        return ()
    # The number of records by all that was released, each weighed by its noise, and the deviation of its noise.
    records, weight = (0.0, 0.0) if total is None else (total[0] / total[1] ** 2, 1 / total[1] ** 2)
    for counts in histograms.values():
        own = 1 / (deviation**2 * len(counts))
        records, weight = records + float(counts.sum()) * own, weight + own
    records, spread = records / weight, 1 / math.sqrt(weight)
    warnings: list[str] = []
    for place, counts in histograms.items():
        name = encoder.schema.names[place]
        kind, shown = encoder.schema.features[name], repr(name[:LONGEST_NAME])
        missing = float(counts[-1] if isinstance(kind, Numeric) else counts[-2])
        # ``records`` holds these counts too, which makes the differences steadier than these bounds have it.
        if missing - (1 - READ) * records > SURE * math.hypot(deviation, (1 - READ) * spread):
            warnings.append(
                f"less than half of the cells of {shown} could be read, by its released {what}; the others count as missing. The "
                f"schema may name another column, or a format that is not the column's. {OWNER}"
            )
            continue
        if not isinstance(kind, Numeric):
            warnings += _category_warnings(kind, shown, counts, (records, spread), deviation, what)
            continue
        edges = encoder.edges[place]
        if not len(edges):
            continue
        noise = math.hypot(deviation, CROWDED * deviation, CROWDED * spread)
        ends = (("lowest", kind.low, edges[0], counts[0]), ("highest", edges[-1], kind.end, counts[-2]))
        for side, low, high, count in ends:
            # Not of a bin that holds zero, which many values often are.
            narrow = high / 2 - low / 2 <= NARROW * (kind.high / 2 - kind.low / 2) and not low <= 0 <= high
            if narrow and float(count) - CROWDED * (records - missing) > SURE * noise:
                warnings.append(
                    f"almost all numbers of {shown} are in the {side} of its {len(counts) - 1} bins, by its released {what}. "
                    f"They may be in another unit than the declared range, or may have been scaled before. {OWNER}"
                )
    return tuple(warnings)


def _category_warnings(
    kind: Any, shown: str, counts: Integers, total: tuple[float, float], deviation: float, what: str
) -> Iterator[str]:
    (records, spread), undeclared = total, float(counts[-1])
    clear = _clear(len(counts)) * deviation
    hidden = np.flatnonzero(counts[:-2] < clear)

    def above(share: float) -> bool:
        return undeclared - share * records > SURE * math.hypot(deviation, share * spread)

    if above(READ):
        yield (
            f"more than half of the cells of {shown} hold none of its declared values, by its released {what}. They may be "
            f"spelled otherwise, such as in other capitals, or the schema names another column. {OWNER}"
        )
    elif len(hidden) and above(UNDECLARED) and records > 2 * clear * len(kind.values):
        yield (
            f"no released {what[:-1]} of {_names([kind.values[k] for k in hidden.tolist()])} in {shown} stands out from its "
            f"noise, while some cells hold none of the declared values. They may be spelled otherwise. {OWNER}"
        )
    elif (counts < clear).all():
        yield (
            f"no released {what[:-1]} of the values of {shown} stands out from its noise, whose standard deviation is "
            f"{deviation:.3g}: what the model says of this column may be noise. {CHECK}"
        )


def outcome_warnings(
    outcome: Numeric, ends: tuple[Floats, Floats], counts: Floats | Integers, deviation: float
) -> tuple[str, ...]:
    """Return a warning if nearly all outcomes lie at the ends of their range, or in one cell of it, by released counts.

    An outcome beyond the range counts at its end. ``ends`` are between which outcomes each noisy count lies, in the outcome's
    unit, both included; the noise of each count has this standard deviation.
    """
    (first, last), low, high = ends, outcome.low, outcome.high
    cell = high / CELLS - low / CELLS
    few_values = isinstance(outcome, Integer) and cell < FEWEST_VALUES
    what = ""
    for side, end, here, holds_zero in (
        ("low", low, first <= low, low <= 0 <= low + cell),
        ("high", high, last >= high, high - cell <= 0 <= high),
    ):
        share, margin = (FREQUENT, MARGIN) if holds_zero or few_values else (ENDS, 0.0)
        if _crowded(here, counts, deviation, share, margin):
            what = f"lie at the {side} end ({end:g}) of their declared range, or beyond it"
    if not what and not few_values:
        lows = np.linspace(low, high, CELLS + 1).tolist()
        half = cell * (1 - 1e-9)
        of_zero = (first <= 0) & (last >= 0)
        for start, end in [*pairwise(lows), *([(-half, half)] if low < 0 < high else [])]:
            inside = (first >= start - half * 1e-6) & (last <= end + half * 1e-6)
            if _crowded(inside, counts, deviation, ELSEWHERE) and not (  # nearly all may just be zero
                _crowded(inside & of_zero, counts, deviation, MOSTLY_ZERO)
            ):
                what = f"lie between {start:g} and {end:g}, a small part of their declared range ({low:g} to {high:g})"
                break
    if not what:
        return ()
    return (
        f"nearly all outcomes {what}, by released counts, and those beyond a range are read as its end. They may be in another "
        f"unit than the range (cents under a range in euros), or were scaled before. {OWNER} If they agree, a narrower range "
        "is more accurate.",
    )


def _crowded(inside: Truth, counts: Floats | Integers, deviation: float, elsewhere: float, margin: float = 0.0) -> bool:
    held, others = float(counts[inside].sum()), float(counts[~inside].sum())
    of_others = deviation * math.sqrt(np.count_nonzero(~inside))
    clear = held > SURE * deviation * math.sqrt(np.count_nonzero(inside))
    return clear and others + margin * of_others < elsewhere * held
