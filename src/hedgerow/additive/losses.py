"""Losses: what one record adds to gradient and curvature, bounded whatever the record is, and how margins are read.

A loss is all that the engine knows of a task: its channels and their norms, where it starts, and its link
(docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.margins import UNIT, VOTE_STEPS, probabilities
from hedgerow.shapes import check_shape
from hedgerow.survey import CLEAR, OnesByClass
from hedgerow.table import ChannelRule

__all__ = ["Logistic", "Loss", "calibrated", "uncalibrated"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EXPONENTIALS = 1 << 20  # of exp(0)
STEPS_BACK = 200
LONGEST = 1.0  # step of a class: far from the best margin the curvature says too little of the way there
# The multiple of the curvature that is measured, in thousandths, by (two classes, normal).
MULTIPLES = {(True, True): 1500, (True, False): 1000, (False, True): 1500, (False, False): 500}


@dataclass(frozen=True, eq=False)
class Start:
    """What a released opening says.

    Parameters
    ----------
    records : float
        The number of records, at least 1.
    spread : float
        The variance of what one record adds, as a share of the largest that it could be: 1 where classes are even.
    margins : ndarray of shape (columns,), int64
        What the model says before its first term.
    curvature : ndarray of shape (scored channels,)
        The curvature of all records there.
    """

    records: float
    spread: float
    margins: Integers
    curvature: Floats


class Loss(ChannelRule, Protocol):
    """What the engine knows of a task: what one record adds, where a model starts, and how steps become votes."""

    @property
    def curvature(self) -> float:
        """The multiple of the curvature that is measured."""

    @property
    def deviation(self) -> float:
        """About the root of what a record adds to the variance of a gradient, where it adds 1 to the curvature."""

    @property
    def unit(self) -> float:
        """How many votes a step of 1 is."""

    @property
    def linear(self) -> bool:
        """Whether gradients are linear in margins, so that they show errors of these in full."""

    def curvature_of(self, measured: Floats) -> Floats:
        """Return the curvature that the released sums of the curvature channels, (scored channels,), stand for."""

    def votes(self, steps: Floats) -> Integers:
        """Return steps (..., columns) as whole votes, none too long."""


@dataclass(frozen=True)
class Logistic:
    """The channels of a round of additive boosting: gradient and curvature of the logistic loss of weighted records.

    With t the probability of the classes that a record is not of, it weighs min(1, cap / t). It adds its weight times
    [y = k] - p_k, and a multiple of its weight times p_k (1 - p_k), or where ``by_share`` times p_k; two classes need one of
    each. Records that the model is surely wrong about thus count less, and all noise shrinks; ``calibrated`` undoes what that
    does to probabilities. The cap is 0.6 for two classes and 1 - 0.8 / K for K, above the 1 - 1 / K that every record starts
    with where classes are even. A single class is the case K = 1: its p is 1, so a record adds nothing, within any bound.

    Parameters
    ----------
    n_classes : int
        How many classes the schema has.
    normal : bool
        Whether the noise will be normal.
    tenths : int
        By how many tenths of 1 / n_classes the cap is below 1; some files of version 0.2 hold 5.
    """

    n_classes: int
    normal: bool
    tenths: int = 8

    deviation: ClassVar[float] = 1.0
    unit: ClassVar[float] = VOTE_STEPS
    linear: ClassVar[bool] = False

    @property
    def columns(self) -> int:
        """How many margins a record has: the second class's lead of two classes, or one for each."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def scored(self) -> int:
        """How many channels are gradients."""
        return self.columns

    @property
    def channels(self) -> int:
        """How many channels there are: curvatures follow as many gradients."""
        return 2 * self.scored

    @property
    def cap(self) -> int:
        """The largest absolute residual of a record, in units."""
        return UNIT - -(-self.tenths * UNIT // (10 * self.n_classes))

    @property
    def scored_l1(self) -> int:
        """The largest L1 norm of a record's gradients, in units."""
        return self.cap if self.n_classes == 2 else 2 * self.cap

    @property
    def l1(self) -> int:
        """A bound on the L1 norm of all that a record adds: two classes t + c t (1 - t), more 2 t + c t (2 - t), at the cap."""
        unit, multiple, cap = UNIT, self._thousandths, self.cap
        if self.n_classes == 2:
            return cap + -(-multiple * cap * (unit - cap) // (1000 * unit))
        if self.by_share:  # shares of a record add up to its weight, and floors to no more
            return 2 * cap + multiple * unit // 1000
        most = cap + 1  # t before it was rounded down
        return 2 * cap + -(-multiple * most * (2 * unit - most) // (1000 * unit))

    @property
    def l2_squared(self) -> int:
        """A bound on the squared L2 norm of all that a record adds: t^2 (1 + c^2 (1 - t)^2) at the cap, twice that for K.

        Of shares it is 2 t^2 + c^2: squares of what adds up to c are c^2 at most together.
        """
        cap = self.cap
        if self.by_share:
            return 2 * (cap + 1) ** 2 + (self._thousandths * UNIT // 1000) ** 2
        curvature = -(-self._thousandths * cap * (UNIT - cap) // (1000 * UNIT))
        return cap**2 + curvature**2 if self.n_classes == 2 else 2 * ((cap + 1) ** 2 + curvature**2)

    @property
    def by_share(self) -> bool:
        """Whether p_k stands in the place of p_k (1 - p_k): the steps of classes that share the mass then do not overshoot.

        Residuals add up to zero over the classes, so that (diag p - p p^T) s = g has the solution s = g / p.
        """
        return self.n_classes > 2 and not self.normal

    @property
    def curvature(self) -> float:
        """The multiple of the curvature that is measured."""
        return self._thousandths / 1000

    @property
    def opening(self) -> ChannelRule:
        """The number of records of each class."""
        return OnesByClass(self.n_classes)

    def start(self, released: Integers, deviation: float) -> Start:
        """Return what noisy numbers of records by class, (classes,), say.

        The margins are halfway to those at which gradients cancel where classes have these shares, drawn towards even ones by
        the noise: there the cap would leave little of the rare classes' records.
        """
        counts = np.maximum(released, 0) + 1 + CLEAR * deviation
        records = max(float(np.sum(released)), 1.0)
        share = counts / counts.sum()
        said = uncalibrated(share, self.cap)
        said = np.sqrt(said) / np.sqrt(said).sum()
        weight = np.minimum(1, self.cap / UNIT / np.maximum(1 - said, 1e-9))
        curvature = records * float(share @ weight) * said * (1 - said)
        spread = float((share * (1 - share)).sum()) / max(1 - 1 / self.n_classes, 1e-9)
        return Start(records, spread, self.margins_of(said), curvature[: self.scored])

    def margins_of(self, said: Floats) -> Integers:
        """Return the margins (columns,) of a model of which the softmax says these probabilities, (classes,)."""
        odds = np.log(said)
        margins = odds[1:] - odds[:1] if self.n_classes == 2 else odds - odds.mean()
        return np.asarray(np.rint(margins * VOTE_STEPS), dtype=np.int64)

    def weighted(self, weights: Floats) -> Integers:
        """Return what margins (columns,) move by where classes have these positive weights, (classes,).

        With them margins are even where ``calibrated`` says shares that the weights make even: of two classes every label is
        that of the larger calibrated share times its weight, but for the rounding to a vote.
        """
        even = 1 / weights
        return -self.margins_of(uncalibrated(even / even.sum(), self.cap))

    def votes(self, steps: Floats) -> Integers:
        """Return steps (..., columns) as whole votes: none above 1 for a class, those of all classes centred."""
        if self.n_classes == 2:
            steps = np.clip(steps, -2 * LONGEST, 2 * LONGEST)
        else:
            steps = np.clip(steps, -LONGEST, LONGEST)
            steps = steps - steps.mean(axis=-1, keepdims=True)
        return np.asarray(np.trunc(steps * VOTE_STEPS), dtype=np.int64)

    def probabilities(self, margins: Floats) -> Floats:
        """Return the probabilities of the classes, (records, classes), that margins (records, columns) in log-odds stand for."""
        if self.n_classes == 2:
            margins = np.hstack([np.zeros_like(margins), margins])
        return calibrated(probabilities(margins), self.cap)

    def curvature_of(self, measured: Floats) -> Floats:
        """Return the curvature that the released sums of the curvature channels, (scored channels,), stand for."""
        if not self.by_share:
            return measured
        mass = np.maximum(measured, 0.0)
        return np.asarray(mass * (1 - mass / max(float(mass.sum()), 1e-9)))

    @property
    def _thousandths(self) -> int:
        return MULTIPLES[self.n_classes == 2, self.normal]

    @cached_property
    def _exponentials(self) -> Integers:
        places = np.arange(14 * VOTE_STEPS + 1)
        table: Integers = np.rint(np.exp(-places / VOTE_STEPS) * EXPONENTIALS).astype(np.int64)
        return table

    @cached_property
    def _by_lead(self) -> Integers:
        """The channels of two classes by label and the second class's lead, (2, leads, 2); the ends stand for all beyond."""
        most = len(self._exponentials) - 1
        lead = np.arange(-most, most + 1)
        ahead, behind = self._exponentials[0], self._exponentials[np.abs(lead)]
        total = ahead + behind
        by_label = []
        for label, others in enumerate((np.where(lead > 0, ahead, behind), np.where(lead > 0, behind, ahead))):
            wrong = others * UNIT // total
            full = wrong <= self.cap
            of, to = np.where(full, UNIT, self.cap), np.where(full, total, others)  # of / to: weight / total, in units
            curvature = ahead * behind // total * of // to * self._thousandths // 1000
            wrong = np.minimum(wrong, self.cap)
            by_label.append(np.stack([wrong if label == 1 else -wrong, curvature], axis=1))
        return np.stack(by_label)

    def __call__(self, margins: npt.NDArray[np.signedinteger], labels: npt.NDArray[np.signedinteger]) -> Integers:
        """Return the channels of each record of ``margins`` (records, columns) and ``labels`` (records,; -1: nothing).

        The answer is of shape (records, channels) in units rounded towards zero.
        """
        check_shape(margins, (len(labels), self.columns), "margins (records, columns)")
        out = np.empty((len(labels), self.channels), dtype=np.int64)
        if self.n_classes == 2:
            kernels.look_up_channels(margins, labels, self._by_lead, out)
        else:
            multiple = self._thousandths
            kernels.logistic_channels(margins, labels, self._exponentials, UNIT, self.cap, multiple, self.by_share, out)
        return out


def calibrated(probabilities: Floats, cap: int) -> Floats:
    """Return the class shares at which gradients of records weighted by a cap, in units, add up to zero where the model says
    ``probabilities``.

    Of shares q and model p the mean gradient is sum_k q_k w_k ([k] - p) with w_k = min(1, cap / (1 - p_k)), which is zero
    where q_k w_k is proportional to p_k. The order of the classes stays as it is.
    """
    odds = probabilities * np.maximum(1, (1 - probabilities) * UNIT / cap)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def uncalibrated(shares: Floats, cap: int) -> Floats:
    """Return the probabilities of a model of which ``calibrated`` makes these positive shares, (classes,)."""
    found = np.full(len(shares), 1 / len(shares))
    for _ in range(STEPS_BACK):
        odds = shares / np.maximum(1, (1 - found) * UNIT / cap)
        found = (found + odds / odds.sum()) / 2  # halfway, so that it cannot swing
    return np.asarray(found)
