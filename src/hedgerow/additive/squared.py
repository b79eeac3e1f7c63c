"""The squared loss of regression: clipped residuals in units of the clip, and what is asked to set the clip.

Outcomes and margins are whole steps of one public grid, from 0 to ``STEPS`` at the ends of the outcome's range
(docs/proofs/regression.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hedgerow.margins import UNIT
from hedgerow.shapes import check_shape
from hedgerow.table.rules import Margins

__all__ = ["STEPS", "Distances", "Spread", "Squared"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.signedinteger]

STEPS = 1 << 20  # of the range of an outcome
LONGEST = 3.0  # step, in deviations of a residual
PARTS = 4  # bins of a histogram of distances to a factor of two
NARROWEST = 4  # the power of two of the first bin's end
CLEAR = 2.5  # deviations of its noise that a count stands out by
BELOW = 0.1  # of the records that stand out, as many as others may be


@dataclass(frozen=True)
class Squared:
    """The channels of a round of regression: a residual clipped at C, as a share of C, and a constant.

    A record adds trunc(clip(y - f, -C, C) UNIT / C) and c UNIT: whatever C is, its norms are the same, and so is what a round costs.

    Parameters
    ----------
    clip : int
        C, in steps of the outcome's grid, at least 1.
    spread : float
        The root mean square of clipped residuals, in steps of the grid: a released or public number.
    inside : float
        The share of residuals that the clip leaves as they are, above 0: likewise.
    thousandths : int
        c, in thousandths.
    """

    clip: int
    spread: float
    inside: float
    thousandths: int

    columns = 1
    scored = 1
    channels = 2
    scored_l1 = UNIT

    @property
    def constant(self) -> int:
        """What every record adds to the second channel."""
        return UNIT * self.thousandths // 1000

    @property
    def l1(self) -> int:
        """The largest L1 norm of what a record adds."""
        return UNIT + self.constant

    @property
    def l2_squared(self) -> int:
        """The largest squared L2 norm of what a record adds."""
        return UNIT**2 + self.constant**2

    @property
    def curvature(self) -> float:
        """The multiple of the number of records that is measured."""
        return self.constant / UNIT

    @property
    def deviation(self) -> float:
        """The root mean square of what a record adds to the first channel, in ``UNIT``."""
        return self.spread / self.clip

    @property
    def unit(self) -> float:
        """How many steps of the grid a step of 1 is: residuals that are cut off do not follow the margin."""
        return self.spread / self.inside

    def curvature_of(self, measured: Floats) -> Floats:
        """Return the number of records that released sums stand for."""
        return measured

    def votes(self, steps: Floats) -> Integers:
        """Return steps as whole steps of the grid, none too long."""
        return np.asarray(np.trunc(np.clip(steps, -LONGEST, LONGEST) * self.unit), dtype=np.int64)

    def __call__(self, margins: Margins, labels: Labels) -> Integers:
        """Return the channels of each record of ``margins`` (records, 1) and ``labels`` (records,; -1: nothing)."""
        check_shape(margins, (len(labels), 1), "margins (records, columns)")
        residual = np.clip(labels.astype(np.int64) - margins[:, 0], -self.clip, self.clip)
        share = np.sign(residual) * (np.abs(residual) * UNIT // self.clip)
        found = np.stack([share, np.full(len(labels), self.constant)], axis=1)
        return np.where(labels[:, None] >= 0, found, 0)


@dataclass(frozen=True)
class Distances:
    """Every record counts one, in a bin of how far its outcome is from its margin: bins are wider the farther they are.

    Parameters
    ----------
    signed : bool
        Whether outcomes below the margin have bins of their own.
    anchor : int
        What is added to the margin.
    """

    signed: bool = False
    anchor: int = 0

    columns = 1
    scored = 0
    scored_l1 = 0
    l1 = 1
    l2_squared = 1

    @property
    def edges(self) -> Integers:
        """The ends of the bins, (bins + 1,): bin b holds edges[b] to edges[b + 1] - 1, and the first and last what is beyond."""
        return edges_of(self.signed)

    @property
    def channels(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    def __call__(self, margins: Margins, labels: Labels) -> Integers:
        """Return the channels of each record, (records, bins)."""
        distance = labels.astype(np.int64) - margins[:, 0] - self.anchor
        place = np.searchsorted(self.edges, distance if self.signed else np.abs(distance), side="right") - 1
        hot = np.clip(place, 0, self.channels - 1)[:, None] == np.arange(self.channels)
        return np.asarray((hot & (labels[:, None] >= 0)).astype(np.int64))


@lru_cache(maxsize=2)
def edges_of(signed: bool) -> Integers:
    """Return the ends of bins of distances in steps of the grid, ascending."""
    above = np.ceil(2.0 ** (np.arange(PARTS * NARROWEST, PARTS * STEPS.bit_length() + 1) / PARTS)).astype(np.int64)
    return np.concatenate([-above[::-1], [0], above] if signed else [[0], above])


@dataclass(frozen=True, eq=False)
class Spread:
    """How distances spread, by a released histogram.

    Parameters
    ----------
    edges : ndarray of shape (bins + 1,)
        The ends of the bins, in steps of the grid.
    counts : ndarray of shape (bins,)
        What was released of each, at least 0: what is below the noise is none.
    """

    edges: Integers
    counts: Floats

    @classmethod
    def of(cls, rule: Distances, released: Integers, noise: float) -> Spread:
        """Return what released counts with noise of this deviation say: neighboring bins are merged until most records stand out."""
        edges, merge = rule.edges, 1
        while True:
            starts = np.arange(0, len(released), merge)
            counts = np.add.reduceat(released, starts).astype(np.float64)
            clear = counts > CLEAR * noise * math.sqrt(merge)
            kept, others = counts[clear].sum(), counts[~clear].sum()
            unsure = noise * math.sqrt(merge * np.count_nonzero(~clear))
            if (kept > 0 and others - unsure <= BELOW * kept) or 4 * merge >= len(released):
                break
            merge *= 2
        ends = np.append(edges[starts], edges[-1])
        if not clear.any():
            return cls(ends, np.maximum(counts, 0) + 1e-3)
        return cls(ends, np.where(clear, counts, 0))

    @property
    def records(self) -> float:
        """How many records there are."""
        return max(float(self.counts.sum()), 1.0)

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.counts @ (self.edges[:-1] + self.edges[1:])) / 2 / float(self.counts.sum())

    def around(self, center: float) -> Spread:
        """Return how absolute distances from a value spread, of signed ones."""
        ends = np.sort(np.abs(self.edges - center).astype(np.int64))
        ends = np.unique(np.append(0, ends))
        parts = np.linspace(0, 1, 17)
        places = np.abs(self.edges[:-1, None] + (np.diff(self.edges)[:, None] * (parts[:-1] + parts[1:]) / 2) - center)
        weights = np.repeat(self.counts[:, None] / 16, 16, axis=1)
        return Spread(ends, np.histogram(places, bins=ends, weights=weights)[0])

    def clipped(self, clip: float) -> tuple[float, float]:
        """Return the mean square of residuals clipped at a value, and the share of those below it."""
        middle = np.sqrt((self.edges[:-1] ** 2 + self.edges[:-1] * self.edges[1:] + self.edges[1:] ** 2) / 3)
        share = self.counts / self.counts.sum()
        inside = np.clip((clip - self.edges[:-1]) / np.diff(self.edges), 0, 1)
        return float(share @ np.minimum(middle, clip) ** 2), float(share @ inside)

    def wide_clip(self, noise: float) -> int:
        """Return the clip of a mean: its noise, of this deviation in units of the clip, and what it cuts off are least."""
        middle, share = (self.edges[:-1] + self.edges[1:]) / 2, self.counts / self.counts.sum()
        clips = self.edges[1:]
        cut_off = np.maximum(middle - clips[:, None], 0) @ share
        return int(clips[np.argmin((clips * noise / self.records) ** 2 + cut_off**2)])

    def loss(self, noise: float, cells: float, thousandths: int) -> Squared:
        """Return the loss of the clip that leaves the most information of a shift of the residuals in a cell.

        ``noise`` is the deviation of a sum's, in units of the clip; a cell holds one in ``cells`` records.
        """
        best, found = -1.0, (1, 1.0, 1.0)
        for clip in self.edges[1:]:
            square, inside = self.clipped(float(clip))
            information = inside**2 / (square + cells / self.records * (noise * clip) ** 2)
            if information > best:
                best, found = information, (int(clip), math.sqrt(square), inside)
        clip, spread, inside = found
        return Squared(max(clip, 1), max(spread, 1.0), max(inside, 0.05), thousandths)
