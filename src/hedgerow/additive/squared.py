"""The losses of regression: clipped residuals in units of the clip, and the histograms that set the clip.

Outcomes are whole steps of one public grid, from 0 at the low end of the outcome's range. A link maps margins to points of this
grid (docs/proofs/regression.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, Literal, cast

import numpy as np
from scipy.special import logsumexp, ndtr, softmax

from hedgerow.additive import kernels
from hedgerow.additive.estimate import Prior
from hedgerow.additive.losses import Labels, Loss
from hedgerow.arrays import Floats, Integers, check_shape, lazy
from hedgerow.errors import ConfigurationError
from hedgerow.export import OutcomeLog, OutcomeRange
from hedgerow.mechanisms import Geometric, Noise
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.schema.types import STEPS, OutcomeGrid
from hedgerow.table.table import ChannelRule, Channels, Margins

Scale = Literal["outcome", "log outcome"]

LOWEST = 14 * VOTE_STEPS  # the range of a log link's margins, in votes: down to a millionth of the range's high end
COARSEST = 0.1  # the largest step of the grid as a share of the range's low end, so that logs are accurate to a tenth


@dataclass(frozen=True)
class Link:
    """The identity link: a margin is a point of the outcome's grid. A residual is ``read(label) - expected(margin)``."""

    grid: OutcomeGrid

    vote_steps: float = field(init=False, repr=False, compare=False)  # votes per unit of ``scale``
    origin: float = field(init=False, repr=False, compare=False)  # the value on ``scale`` of a margin of zero
    # Maps margins (records, 1) to outcomes, here and in exports
    exported: OutcomeLog | OutcomeRange = field(init=False, repr=False, compare=False)

    scale: ClassVar[Scale] = "outcome"

    def __post_init__(self) -> None:
        low, high = float(self.grid.low), float(self.grid.high)
        exported = OutcomeRange(low, high, self.grid.steps)
        vars(self).update(vote_steps=1 / self.grid.step, origin=self.grid.low, exported=exported)

    def read(self, labels: Labels) -> Labels:
        """Return the outcomes from which margins are subtracted, (records,; -1: none), given codes of outcomes."""
        return labels

    def expected(self, margins: Labels) -> Integers:
        return margins.astype(np.int64)

    def margin(self, mean: float) -> int:
        return round(mean)

    def outcomes(self, margins: Labels) -> Floats:
        return self.exported(margins[:, None])


@dataclass(frozen=True)
class LogOutcome(Link):
    """A margin is a point of an even grid of the outcome's log, from the low end of the range to the high end.

    The mean of the logs is near the log of the median, so a model predicts about the median.
    """

    scale = "log outcome"

    def __post_init__(self) -> None:
        low, high, steps = float(self.grid.low), float(self.grid.high), self.grid.steps
        if not low > 0:
            raise ConfigurationError(
                f"outcome_transform='log' needs a range above 0, but it starts at {low:g}; pass one as in hr.Numeric(100, 9e5)."
            )
        if self.grid.step > COARSEST * low:
            raise ConfigurationError(
                f"outcome_transform='log' needs a high end of at most {COARSEST * steps:.0f} times the low end {low:g}, so that "
                "the grid tells small outcomes apart; pass a larger low end."
            )
        vote_steps = steps / math.log(self.grid.high / self.grid.low)
        exported = OutcomeLog(low, vote_steps, 0, steps, low, high)
        vars(self).update(vote_steps=vote_steps, origin=math.log(self.grid.low), exported=exported)

    @lazy
    def _logs(self) -> Integers:
        logs = np.log(self.grid.values(np.arange(self.grid.steps + 1)) / self.grid.low)
        codes = np.clip(np.rint(logs * self.vote_steps), 0, self.grid.steps).astype(np.int64)
        return np.append(codes, -1)

    def read(self, labels: Labels) -> Labels:
        return np.asarray(self._logs[labels])

    def outcomes(self, margins: Labels) -> Floats:
        within = np.clip(margins, 0, self.grid.steps)
        return np.clip(np.exp(self.origin + within / self.vote_steps), self.grid.low, self.grid.high)


@dataclass(frozen=True)
class LogLink(Link):
    """A margin is the log of an expected outcome over the range's high end, in 1 / ``VOTE_STEPS``: from -14 to 0."""

    above_zero: int = field(init=False, repr=False, compare=False)  # the range's low end, in steps of the grid

    scale = "log outcome"

    def __post_init__(self) -> None:
        low, high = float(self.grid.low), float(self.grid.high)
        if not self.fits(self.grid):
            raise ConfigurationError(
                f"loss='poisson' needs a range from 0 or above to twice its low end or above, not {low:g} to {high:g}. Pass such "
                "a range, as in hr.Integer(0, 80), or loss='squared'."
            )
        exported = OutcomeLog(high, VOTE_STEPS, -LOWEST, 0, low, high)
        vars(self).update(vote_steps=VOTE_STEPS, origin=math.log(self.grid.high), exported=exported)
        vars(self).update(above_zero=round(low / self.grid.step))

    @staticmethod
    def fits(grid: OutcomeGrid) -> bool:
        return 0 <= 2 * grid.low <= grid.high

    @property
    def _most(self) -> int:
        return self.grid.steps + self.above_zero

    @lazy
    def table(self) -> Integers:
        """The expected outcome at each margin from ``-LOWEST`` to 0, in steps above zero, at least 1."""
        outcomes = self._most * np.exp(np.arange(-LOWEST, 1) / VOTE_STEPS)
        return np.asarray(np.maximum(np.rint(outcomes), max(self.above_zero, 1)).astype(np.int64))

    def expected(self, margins: Labels) -> Integers:
        return np.asarray(self.table[np.clip(margins, -LOWEST, 0) + LOWEST] - self.above_zero)

    def margin(self, mean: float) -> int:
        outcome = min(max(mean + self.above_zero, 1.0), self._most)
        return round(VOTE_STEPS * math.log(outcome / self._most))


# In standard deviations of a residual. The longest step limits the error from noise in a cell of few records. The prior's spreads
# are small, since a term explains a few per cent of the variance.
LONGEST_STEP = 2.0
RESIDUALS = Prior((0.03, 0.06, 0.12, 0.25, 0.5, 1.0), 0.25)
LARGEST_VOTE = 1 << 20  # of a round, in steps of the grid: the sum over 1000 rounds fits 32 bits
LONGEST_LOG = VOTE_STEPS  # the longest step with a log link, in votes: a factor of e
REACH = 4  # the cap of an expected outcome in the curvature, over the mean; more would raise its noise
LEAST_INSIDE = 0.25  # the lower bound of the estimated share of residuals inside the clip; less is taken for noise
PER_OCTAVE = 2  # bins per factor of two in a histogram, so a clip is known to a factor of 1.4
EVEN_PARTS = 16  # points in each bin at which distances to a mean are computed
EVEN = 32  # bins of equal width over an outcome's range; narrower ones near zero are added
NARROWEST = 4  # the first bin of a histogram of residuals has 2**4 steps of the grid
CHANCE = 0.002  # the probability that noise alone makes any bin of a histogram significant
MIN_MERGED_BINS = 4  # merging stops at so many bins
BELOW = 0.1  # bins are merged while more records than this share of those in significant bins are in the others
LAW_DEVIATIONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # standard deviations of the normal laws of ``laws``, in bins
# The log likelihood, minus that of no records, from which records are significant; each significant bin subtracts as much
EVIDENCE = 2.0
# The smallest clip, over the root mean square: less gains little if the histogram is right, and ruins a fit if it is wrong
MIN_CLIP = 0.7
# Noise of the final mean, in standard deviations of a residual, that is negligible: it lowers R2 by .004
FREE_ERROR = 0.06


PLAIN = Link(OutcomeGrid(0.0, 1.0, STEPS))


@dataclass(frozen=True)
class Squared(Loss):
    """The channels of a round of regression: a residual clipped at C, as a share of C, and a constant.

    A record adds trunc(clip(y - f, -C, C) UNIT / C) and c UNIT. Its norms, and so a round's cost, are the same for every C. Steps
    are in units of the root mean square of clipped residuals. Residuals beyond the clip do not change with the margin, so the
    mean clipped residual is too short a step; ``unit`` divides it by the share of residuals inside the clip.
    """

    clip: int  # C, in steps of the outcome's grid, at least 1
    spread: float  # the root mean square of clipped residuals, in steps of the grid: a released or public number
    inside: float  # the share of residuals inside the clip, above 0: also released or public
    count_weight: int  # c, in thousandths
    link: Link = PLAIN
    measures: bool = field(default=True, kw_only=True)  # whether the number of records is measured, too
    chosen: bool = field(default=False, kw_only=True)  # whether the released outcome chose the link

    constant: int = field(init=False, repr=False, compare=False)  # c UNIT
    longest: float = field(init=False, repr=False, compare=False)  # the longest step, in votes

    cap: ClassVar[int] = 0  # M of ``Poisson``; 0: none
    expected: ClassVar[Integers] = np.empty(0, dtype=np.int64)  # expected outcomes by margin; empty: the margins
    above_zero: ClassVar[int] = 0  # the range's low end in steps of the grid, with a log link

    columns = scored = 1
    scored_l1 = UNIT
    prior = RESIDUALS
    linear = True

    def __post_init__(self) -> None:
        constant, link, unit = UNIT * self.count_weight // 1000, self.link, self.spread / self.inside
        vars(self).update(channels=2 if self.measures else 1, l1=UNIT + constant, l2_squared=UNIT**2 + constant**2)
        vars(self).update(constant=constant, curvature=constant / UNIT, gradient_sd=self.spread / self.clip, unit=unit)
        vars(self).update(scale=link.scale, origin=link.origin, vote_steps=link.vote_steps, exported=link.exported)
        vars(self).update(longest=min(LONGEST_STEP * unit, LARGEST_VOTE))

    def answer(self, margins: Margins) -> Floats:
        return self.link.outcomes(margins[:, 0])

    def votes(self, steps: Floats) -> Integers:
        return np.asarray(np.trunc(np.clip(steps * self.unit, -self.longest, self.longest)), dtype=np.int64)

    def __call__(self, margins: Margins, labels: Labels) -> Channels:
        check_shape(margins, (len(labels), 1), "margins (records, columns)")
        out = np.empty((len(labels), self.channels), dtype=np.int32)
        known, c = self.link.read(labels), self.constant
        if self.above_zero:
            known = np.where(known < 0, known, known + self.above_zero)
        kernels.residual_channels(margins, known, self.expected, self.clip, self.cap, UNIT, c, out)
        return out

    def about(self, mean: float) -> Squared:
        return self

    def with_log_link(self) -> Poisson:
        given = self.clip, self.spread, self.inside, self.count_weight
        return Poisson(*given, LogLink(self.link.grid), measures=self.measures, chosen=self.chosen)

    def shift(self, total: float, mass: float) -> int:
        """Return the constant correction of all margins, in votes: here the mean clipped residual."""
        # ``total`` and ``mass`` are the sums of gradients (residuals over the clip) and curvatures of all records.
        return int(np.clip(total / mass, -1, 1) * self.clip)


@dataclass(frozen=True)
class Poisson(Squared):
    """The channels of a round with a log link: a residual clipped at C, as a share of C, and the expected outcome.

    With mu the exponential of the margin, from a table, and M four times the released mean of the outcome, a record adds
    trunc(clip(y - mu, -C, C) UNIT / C) and trunc(min(mu, M) c UNIT / M). Its norms are those of ``Squared`` for all C and M.
    Curvatures are expected outcomes over the released mean.
    """

    mean: float = 1.0  # the released mean of the outcome, in steps of the grid above zero

    linear = False

    def __post_init__(self) -> None:
        super().__post_init__()
        unit = VOTE_STEPS * self.spread / (self.mean * self.inside)
        vars(self).update(curvature=self.constant / UNIT / REACH, unit=unit, longest=LONGEST_LOG)
        link = cast(LogLink, self.link)
        vars(self).update(cap=max(round(REACH * self.mean), 1), expected=link.table, above_zero=link.above_zero)

    def about(self, mean: float) -> Poisson:
        return replace(self, mean=max(mean + self.above_zero, 1.0))

    def shift(self, total: float, mass: float) -> int:
        factor = max(1 + total * self.clip / (mass * self.mean), math.exp(-1))
        return round(min(VOTE_STEPS * math.log(factor), LONGEST_LOG))


@dataclass(frozen=True)
class Counts(ChannelRule):
    # Ascending: bin b holds edges[b] to edges[b + 1] - 1. The first and the last bin also hold all values beyond.
    edges: tuple[int, ...]
    residuals: bool  # whether residuals are counted, absolute unless ``signed``; else outcomes
    link: Link = PLAIN
    signed: bool = False
    channels: int = field(init=False, repr=False, compare=False)

    columns = 1
    scored = scored_l1 = 0
    l1 = l2_squared = 1

    def __post_init__(self) -> None:
        vars(self).update(channels=len(self.edges) - 1)

    def __call__(self, margins: Margins, labels: Labels) -> Channels:
        known = self.link.read(labels).astype(np.int64)
        values = known - self.link.expected(margins[:, 0]) if self.residuals else known
        values = np.abs(values) if self.residuals and not self.signed else values
        place = np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, self.channels - 1)
        out = np.zeros((len(labels), self.channels), dtype=np.int32)
        out[np.arange(len(labels)), place] = labels >= 0
        return out


def counts_of_residuals(steps: int, link: Link = PLAIN, *, signed: bool = False) -> Counts:
    """Return the histogram of absolute residuals on a grid of so many steps, in bins whose ends grow geometrically."""
    # If ``signed``, there are such bins on both sides of zero.
    powers = np.arange(PER_OCTAVE * NARROWEST, PER_OCTAVE * steps.bit_length() + 1) / PER_OCTAVE
    above = np.ceil(2.0**powers).astype(np.int64).tolist()
    below = [-edge for edge in reversed(above)] if signed else [0]
    return Counts((*below, *above), True, link, signed)


def counts_of_outcomes(steps: int, zero: int, link: Link = PLAIN) -> Counts:
    """Return the histogram of outcomes on a grid of so many steps, in bins of equal width, with narrower ones near ``zero``."""
    width = steps // EVEN
    powers = np.arange(1, PER_OCTAVE * (width.bit_length() - NARROWEST)) / PER_OCTAVE
    narrow = np.ceil(width / 2.0**powers).astype(np.int64)
    edges = np.concatenate([np.arange(EVEN) * width, zero - narrow, [zero], zero + narrow])
    inner = np.unique(edges[(edges > 0) & (edges < steps)])
    return Counts((0, *map(int, inner), steps + 1), False, link)


@lru_cache(maxsize=16)
def laws(bins: int) -> Floats:
    # Normal laws over the indices of bins, (laws, bins). Bins are narrower near zero, so there outcomes have long tails.
    edges, centers = np.arange(bins + 1), np.arange(2 * bins + 1) / 2
    below = ndtr((edges - centers[:, None, None]) / np.array(LAW_DEVIATIONS)[:, None]).reshape(-1, bins + 1)
    shares = np.diff(below, axis=1)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def log_likelihood(expected: Floats, released: Integers, noise: Noise) -> Floats:
    """Return the log likelihood of expected counts, (..., bins), minus that of no records."""
    misfit = released - expected
    if isinstance(noise, Geometric):
        return np.asarray((np.abs(released).sum() - np.abs(misfit).sum(axis=-1)) * float(noise.rate.fraction))
    return np.asarray(((released.astype(float) ** 2).sum() - (misfit**2).sum(axis=-1)) / (2 * noise.deviation**2))


def expected_by_laws(released: Integers, noise: Noise) -> tuple[Floats, float]:
    """Return the posterior mean of counts under equally likely laws, and the log likelihood of these minus that of no records."""
    shares = laws(len(released))
    records = np.maximum(shares @ released / (shares**2).sum(axis=1), 1.0)
    likely = log_likelihood(records[:, None] * shares, released, noise)
    return (softmax(likely) * records) @ shares, float(logsumexp(likely)) - math.log(len(likely))


@dataclass(frozen=True, eq=False)
class Spread:
    edges: Integers  # (bins + 1,): the ends of the bins, in steps of the grid
    # (bins,): records of each bin, 0 if not significant. If no bin is, the released number of records, or at least its noise, is
    # spread evenly over the range
    counts: Floats
    clear: float  # how many records are in significant bins, or fitted by laws that are significant

    @classmethod
    def of(cls, rule: Counts, released: Integers, noise: Noise) -> Spread:
        """Return the estimate from released counts with this noise."""
        # Outcomes are estimated by ``laws``, unless significant bins hold most records and have a higher likelihood. In other
        # histograms neighboring bins are merged until most records are in significant bins.
        merge, edges = 1, np.array(rule.edges)
        if not rule.residuals:
            by_laws, evidence = expected_by_laws(released, noise)
            significant = np.where(released > noise.quantile(CHANCE / len(released)), released, 0)
            of_bins = 0.0
            if 2 * significant.sum() > released.sum():
                of_bins = float(log_likelihood(significant, released, noise)) - EVIDENCE * np.count_nonzero(significant)
            if evidence > max(of_bins, EVIDENCE):
                return cls(edges, by_laws, float(by_laws.sum()))
        while True:
            starts = np.arange(0, len(released), merge)
            counts = np.add.reduceat(released, starts).astype(np.float64)
            least = noise.quantile(CHANCE / len(starts)) * math.sqrt(merge)
            clear = counts > least
            kept, others = counts[clear].sum(), counts[~clear].sum()
            unsure = noise.deviation * math.sqrt(merge * np.count_nonzero(~clear))
            if (kept > 0 and others - unsure <= BELOW * kept) or len(starts) <= MIN_MERGED_BINS:
                break
            merge *= 2
        if not rule.residuals and len(starts) <= MIN_MERGED_BINS:
            return cls(edges, significant, float(significant.sum())) if of_bins > EVIDENCE else cls(edges, by_laws, 0.0)
        ends, total = np.append(edges[starts], edges[-1]), noise.deviation * math.sqrt(len(released))
        held = np.where(clear, counts, 0)
        if kept <= 0:
            held = max(float(released.sum()), total) * np.diff(ends) / (ends[-1] - ends[0])
        return cls(ends, held, max(float(kept), 0.0))

    @property
    def records(self) -> float:
        return max(float(self.counts.sum()), 1.0)

    @property
    def share(self) -> Floats:
        return np.asarray(self.counts / self.counts.sum())

    @property
    def mean(self) -> float:
        return float(self.share @ (self.edges[:-1] + self.edges[1:])) / 2

    def variation(self, zero: float) -> float:
        """Return the coefficient of variation, with the mean measured from ``zero``, which is below it."""
        return self.around(self.mean).root_mean_square / (self.mean - zero)

    @property
    def root_mean_square(self) -> float:
        return math.sqrt(self.clipped(math.inf)[0])

    def around(self, center: float) -> Spread:
        ends = np.unique(np.append(0, np.abs(self.edges - round(center))))
        parts = (np.arange(EVEN_PARTS) + 0.5) / EVEN_PARTS
        places = np.abs(self.edges[:-1, None] + np.diff(self.edges)[:, None] * parts - center)
        weights = np.repeat(self.counts[:, None] / EVEN_PARTS, EVEN_PARTS, axis=1)
        return Spread(ends, np.histogram(places, bins=ends, weights=weights)[0], self.clear)

    def clipped(self, clip: float) -> tuple[float, float]:
        """Return the mean square of residuals clipped at a value, and the share of residuals below it."""
        middle = np.sqrt((self.edges[:-1] ** 2 + self.edges[:-1] * self.edges[1:] + self.edges[1:] ** 2) / 3)
        inside = np.clip((clip - self.edges[:-1]) / np.diff(self.edges), 0, 1)
        return float(self.share @ np.minimum(middle, clip) ** 2), float(self.share @ inside)

    def cut_off(self, clip: float) -> float:
        """Return the mean amount by which residuals exceed a clip."""
        middle = (self.edges[:-1] + self.edges[1:]) / 2
        return float(np.maximum(middle - clip, 0) @ self.share)

    def wide_clip(self, noise: float) -> int:
        """Return the clip with the least squared error of an overall mean (noise plus bias)."""
        # ``noise`` is the standard deviation of a sum, in units of the clip. A wider clip is taken while its noise is negligible,
        # since the histogram may not show the tail.
        error = [(clip * noise / self.records) ** 2 + self.cut_off(clip) ** 2 for clip in self.edges[1:]]
        free = FREE_ERROR * self.root_mean_square * self.records / noise
        return max(int(self.edges[1 + int(np.argmin(error))]), int(min(free, self.edges[-1])))

    def with_best_clip(self, noise: float, cells: float, skew: float, loss: Squared) -> Squared:
        """Return a loss with the clip, of at least MIN_CLIP, that minimizes the squared error of a step in a cell."""
        # The cell holds 1 / ``cells`` of the records. A share ``skew`` of the mean excess over the clip counts as bias. ``noise``
        # is the standard deviation of a sum, in units of the clip.
        records, least, best = self.records / cells, math.inf, (1, 1.0, 1.0)
        floor = min(MIN_CLIP * self.root_mean_square, float(self.edges[-1]))
        for clip in self.edges[1:][self.edges[1:] >= floor].tolist():
            square, inside = self.clipped(clip)
            bias = skew * self.cut_off(clip)
            error = (square + (noise * clip) ** 2 / records) / records / max(inside, 1e-9) ** 2 + bias**2
            if error < least:
                least, best = error, (clip, math.sqrt(square), inside)
        clip, spread, inside = best
        return replace(loss, clip=max(clip, 1), spread=max(spread, 1.0), inside=max(inside, LEAST_INSIDE))
