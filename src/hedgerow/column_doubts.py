"""What released histograms say against a schema: columns that were hardly read, and values that crowd an end of their range.

It is post-processing: everything here was released anyway, and the deviation of the noise is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.schema import Encoder, Numeric
from hedgerow.schema.features import Feature

__all__ = ["column_doubts"]


SURE = 5  # deviations of its noise that a statistic must be above its threshold; one count's noise is so once in 2500 times
READ = 0.5  # of the records: where fewer could be read, it is worth a warning
CROWDED = 0.8  # of the cells that were read: where clearly more lie in one end bin, it is worth a warning
NARROW = 0.05  # of a range: a wider end bin may well hold all
LONGEST_NAME = 80


def column_doubts(
    encoder: Encoder, histograms: Mapping[int, Integers], deviation: float, total: tuple[float, float] | None = None
) -> tuple[str, ...]:
    """Return a warning for each numeric feature that was hardly read, or lies in an end bin nearly always, by released counts.

    Parameters
    ----------
    encoder : Encoder
        Whose bins were counted.
    histograms : mapping of int to ndarray of shape (codes,)
        The noisy counts by the places of the features, those of missing cells last.
    deviation : float
        The standard deviation of the noise of each count.
    total : (float, float), optional
        The noisy number of records and the standard deviation of its noise, where it was released as well.
    """
    if not histograms:
        return ()
    records, spread = _records(histograms, deviation, total)
    found: list[str] = []
    for place, counts in histograms.items():
        name = encoder.schema.names[place]
        kind, shown = encoder.schema.features[name], repr(name[:LONGEST_NAME])
        missing = float(counts[-1])
        # ``records`` holds these counts too, which makes the differences steadier than these bounds have it.
        if missing - (1 - READ) * records > SURE * math.hypot(deviation, (1 - READ) * spread):
            found.append(
                f"clearly less than half of the cells of {shown} could be read, by its released counts; the model takes the "
                "others as missing. If they are not, the schema may not say how they are written, or name another column."
            )
            continue
        noise = math.hypot(deviation, CROWDED * deviation, CROWDED * spread)
        for side, count in _narrow_ends(kind, encoder.edges[place], counts):
            if count - CROWDED * (records - missing) > SURE * noise:
                found.append(
                    f"clearly nearly all numbers of {shown} lie in the {side} of {len(counts) - 1} bins of its declared range, "
                    "by its released counts, so the model hardly tells them apart. They may be in another unit, or scaled before."
                )
    return tuple(found)


def _records(
    histograms: Mapping[int, Integers], deviation: float, total: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the number of records by all that was released, each weighed by its noise, and the deviation of its noise."""
    values = [(float(counts.sum()), deviation * math.sqrt(len(counts))) for counts in histograms.values()]
    values += [] if total is None else [total]
    weights = [1 / spread**2 for _, spread in values]
    mean = sum(value * weight for (value, _), weight in zip(values, weights, strict=True)) / sum(weights)
    return mean, 1 / math.sqrt(sum(weights))


def _narrow_ends(kind: Feature, edges: npt.NDArray[np.float64], counts: Integers) -> Iterator[tuple[str, float]]:
    """Yield the counts of the end bins that are a small part of the range and do not hold zero: many values are often that."""
    if not isinstance(kind, Numeric) or not len(edges):
        return
    ends = (("lowest", kind.low, edges[0], counts[0]), ("highest", edges[-1], kind.end, counts[-2]))
    for side, low, high, count in ends:
        if high / 2 - low / 2 <= NARROW * (kind.high / 2 - kind.low / 2) and not low <= 0 <= high:
            yield side, float(count)
