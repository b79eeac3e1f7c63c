"""Losses: what one record adds to gradient and curvature, within bounds that hold for every record, and what margins mean.

A new loss is a subclass of ``Loss`` (docs/proofs/hedgerow.md).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.estimate import LOG_ODDS, Prior
from hedgerow.arrays import Floats, Integers, check_shape, lazy
from hedgerow.curator.survey import CLEAR, Ones
from hedgerow.export import Link, Softmax
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.table import ChannelRule
from hedgerow.table.table import Margins

Labels = npt.NDArray[np.signedinteger]

# exp(-lead / VOTE_STEPS) in 2**-20: a share is exact to a millionth
EXPONENTIALS: Integers = np.rint(np.exp(-np.arange(14 * VOTE_STEPS + 1) / VOTE_STEPS) * (1 << 20)).astype(np.int64)
CALIBRATION_STEPS = 200  # fixed-point steps, each halfway, after which doubles no longer move
# Longest step of a class margin, in log-odds: beyond it the curvature at the old margin says little about the loss. The margin of
# two classes is a difference of two, so its limit is twice that.
LONGEST_STEP = 1.0
# c in 1/1000, by (two classes, normal noise): curvatures, which are smaller than gradients, are multiplied by c before both are
# measured together. A larger c means less noise in curvatures and more in gradients; L2 norms grow less with c than L1 norms.
MULTIPLES = {(True, True): 1500, (True, False): 1000, (False, True): 1500, (False, False): 500}


@dataclass(frozen=True, eq=False)
class Start:
    records: float  # at least 1
    spread: float  # the variance of the class, as a share of the largest that it could be: 1 where classes are even
    margins: Integers  # (columns,), before the first term
    curvature: Floats  # (scored channels,), of all records at these margins


class Loss(ChannelRule):
    """What one record adds, how steps become votes, and the meaning of margins: all that a round needs.

    A classification loss adds ``start``, ``initial_counts`` and ``weighted``. A regression loss, a subclass of
    ``Squared``, adds ``link``, ``about`` and ``shift``.
    """

    curvature: float  # the multiple of the curvature that is measured
    # The scale of gradients, in units of a record's: about the root mean square of those of records that add 1 to the curvature.
    # Sums are divided by it (and UNIT), so that the sampling variance of a scaled sum is about its curvature.
    gradient_sd: float = 1.0
    unit: float  # votes per step of 1
    prior: Prior  # how large steps are beforehand
    linear: bool = False  # whether gradients are linear in margins, so that they show errors of these in full
    scale: Literal["log-odds", "outcome", "log outcome"]  # the unit of margins,
    origin: float  # where it stands at a margin of zero,
    vote_steps: float  # and how many votes a unit of it is
    exported: Link  # what makes predictions of sums of votes, here and in other programs

    @lazy
    def scores(self) -> ChannelRule:
        rule: ChannelRule = replace(cast(Any, self), measures=False)
        return rule

    def in_cells(self) -> Loss:
        return self

    def curvature_of(self, measured: Floats) -> Floats:
        """Return the curvature of all records, (scored channels,), by the released sums of the curvature channels."""
        return measured

    @abstractmethod
    def answer(self, margins: Integers) -> Floats: ...

    @abstractmethod
    def votes(self, steps: Floats) -> Integers:
        """Return steps (..., columns), cut to a longest one, as whole votes."""


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss: gradients and curvatures of records weighted by a cap.

    Let p be the model's probabilities and t = 1 - p_y. A record weighs w = min(1, cap / t). For each class k (two classes need
    one) it adds w ([y = k] - p_k), and c w p_k (1 - p_k), or with ``by_share`` c w p_k.

    The weight bounds a gradient by the cap, so less noise is needed. The cap is 0.6 for two classes and 1 - 0.8 / K for
    K. At the start with even classes t = 1 - 1 / K is below it, so all weights are 1. With one class, p = 1 and all
    contributions are 0. ``Softmax`` undoes the bias from weighting.
    """

    n_classes: int  # of the schema
    normal: bool  # whether the noise will be normal
    tenths: int = 8  # cap = 1 - tenths / (10 K); files of version 0.2 may hold 5
    measures: bool = field(default=True, kw_only=True)  # curvatures as well as gradients
    halved: bool = field(default=False, kw_only=True)  # whether curvatures weigh half as much

    cap: int = field(init=False, repr=False, compare=False)  # the largest absolute gradient of a record, in units
    thousandths: int = field(init=False, repr=False, compare=False)  # c, in thousandths
    # Whether w p_k is measured instead of w p_k (1 - p_k): K > 2, pure. Gradients g sum to zero over classes, so
    # s = g / p solves (diag p - p p^T) s = g; steps do not overshoot.
    by_share: bool = field(init=False, repr=False, compare=False)
    initial_counts: ChannelRule = field(init=False, repr=False, compare=False)  # what the start is read from

    scale = "log-odds"
    origin = 0.0
    vote_steps = unit = float(VOTE_STEPS)
    prior = LOG_ODDS

    def __post_init__(self) -> None:
        two = self.n_classes == 2
        columns, multiple = 1 if two else self.n_classes, MULTIPLES[two, self.normal] // (1 + self.halved)
        cap = UNIT - -(-self.tenths * UNIT // (10 * self.n_classes))
        by_share = self.n_classes > 2 and not self.normal
        curvature, above = -(-multiple * cap * (UNIT - cap) // (1000 * UNIT)), cap + 1  # t unrounded is at most above
        if two:  # t + c t (1 - t), and t^2 (1 + c^2 (1 - t)^2), at the cap
            l1, l2_squared = cap + curvature, cap**2 + curvature**2
        elif by_share:  # a record's shares add up to its weight, and their squares to its square at most
            share = multiple * UNIT // 1000
            l1, l2_squared = 2 * cap + share, 2 * above**2 + share**2
        else:  # 2 t + c t (2 - t), and twice the squares of two classes
            l1 = 2 * cap + -(-multiple * above * (2 * UNIT - above) // (1000 * UNIT))
            l2_squared = 2 * (above**2 + curvature**2)
        norms = {"scored_l1": cap if two else 2 * cap, "l1": l1, "l2_squared": l2_squared}
        vars(self).update(norms, columns=columns, scored=columns, channels=2 * columns if self.measures else columns)
        vars(self).update(cap=cap, thousandths=multiple, curvature=multiple / 1000, by_share=by_share)
        vars(self).update(initial_counts=Ones(self.n_classes), exported=Softmax(VOTE_STEPS, cap / UNIT))

    def in_cells(self) -> Loss:
        return replace(self, halved=True)

    def start(self, released: Integers, deviation: float) -> Start:
        """Return the start by noisy numbers of records, (classes,), whose shares are smoothed towards uniform."""
        # The margins are halfway (in log) between uniform and those where the mean gradient is zero: at those, records of
        # rare classes would have small weights.
        counts = np.maximum(released, 0) + 1 + CLEAR * deviation
        records = max(float(np.sum(released)), 1.0)
        share = counts / counts.sum()
        p = uncalibrated(share, self.cap)
        p = np.sqrt(p) / np.sqrt(p).sum()
        weight = np.minimum(1, self.cap / UNIT / np.maximum(1 - p, 1e-9))
        curvature = records * float(share @ weight) * p * (1 - p)
        spread = float((share * (1 - share)).sum()) / max(1 - 1 / self.n_classes, 1e-9)
        return Start(records, spread, self._margins_of(p), curvature[: self.scored])

    def _margins_of(self, p: Floats) -> Integers:
        odds = np.log(p)
        margins = odds[1:] - odds[:1] if self.n_classes == 2 else odds - odds.mean()
        return np.asarray(np.rint(margins * VOTE_STEPS), dtype=np.int64)

    def weighted(self, weights: Floats) -> Integers:
        # The predicted class then maximizes weight times calibrated probability: of two classes up to the rounding to a
        # vote, of more where these products are nearly equal.
        even = 1 / weights
        return -self._margins_of(uncalibrated(even / even.sum(), self.cap))

    def votes(self, steps: Floats) -> Integers:
        if self.n_classes == 2:
            steps = np.clip(steps, -2 * LONGEST_STEP, 2 * LONGEST_STEP)
        else:
            steps = np.clip(steps, -LONGEST_STEP, LONGEST_STEP)
            steps = steps - steps.mean(axis=-1, keepdims=True)
        return np.asarray(np.trunc(steps * VOTE_STEPS), dtype=np.int64)

    def answer(self, margins: Integers) -> Floats:
        if self.n_classes == 2:  # the first has no votes
            margins = np.hstack([np.zeros_like(margins), margins])
        return self.exported(margins)

    def curvature_of(self, measured: Floats) -> Floats:
        if not self.by_share:
            return measured
        mass = np.maximum(measured, 0.0)
        return np.asarray(mass * (1 - mass / max(float(mass.sum()), 1e-9)))

    @lazy
    def _by_lead(self) -> npt.NDArray[np.int32]:
        """The channels of two classes by label and lead of the second, (2, leads, channels); the ends stand for all beyond."""
        most = len(EXPONENTIALS) - 1
        lead = np.arange(-most, most + 1)
        ahead, behind = EXPONENTIALS[0], EXPONENTIALS[np.abs(lead)]
        total = ahead + behind
        by_label = []
        for label, others in enumerate((np.where(lead > 0, ahead, behind), np.where(lead > 0, behind, ahead))):
            wrong = others * UNIT // total
            full = wrong <= self.cap
            of, to = np.where(full, UNIT, self.cap), np.where(full, total, others)  # of / to: weight / total, in units
            curvature = ahead * behind // total * of // to * self.thousandths // 1000
            wrong = np.minimum(wrong, self.cap)
            by_label.append(np.stack([wrong if label == 1 else -wrong, curvature], axis=1))
        return np.ascontiguousarray(np.stack(by_label)[..., : self.channels], dtype=np.int32)

    def __call__(self, margins: Margins, labels: Labels) -> Integers:
        check_shape(margins, (len(labels), self.columns), "margins (records, columns)")
        out = np.empty((len(labels), self.channels), dtype=np.int64)
        if self.n_classes == 2:
            kernels.look_up_channels(margins, labels, self._by_lead, out)
        else:
            c = self.thousandths
            kernels.logistic_channels(margins, labels, EXPONENTIALS, UNIT, self.cap, c, self.by_share, out)
        return out


def uncalibrated(shares: Floats, cap: int) -> Floats:
    """Return the probabilities of which ``Softmax`` with this cap, in units, makes these positive shares, (classes,)."""
    p = np.full(len(shares), 1 / len(shares))
    for _ in range(CALIBRATION_STEPS):
        odds = shares / np.maximum(1, (1 - p) * UNIT / cap)
        p = (p + odds / odds.sum()) / 2  # halfway, so that it cannot swing
    return np.asarray(p)
