"""Losses: one record's gradient and curvature, with public bounds on both, and how margins become predictions.

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
from hedgerow.table.table import Channels, Margins

Labels = npt.NDArray[np.signedinteger]

# exp(-lead / VOTE_STEPS) in units of 2**-20, for leads (margin differences, in votes) up to a log-odds of 14
EXPONENTIALS: Integers = np.rint(np.exp(-np.arange(14 * VOTE_STEPS + 1) / VOTE_STEPS) * (1 << 20)).astype(np.int64)
CALIBRATION_STEPS = 200  # fixed-point iterations, each damped by half; after so many a double no longer changes
# Longest step of a class margin, in log-odds: beyond it the quadratic approximation at the old margin is poor. With two classes,
# the one margin is the difference of two class margins, so its limit is twice that.
LONGEST_STEP = 1.0
# c in 1/1000, by (two classes, normal noise). Curvatures are smaller than gradients, so they are multiplied by c before both are
# measured together. A larger c means less noise in curvatures and more in gradients; L2 norms grow less with c than L1 norms.
MULTIPLES = {(True, True): 1500, (True, False): 1000, (False, True): 1500, (False, False): 500}


@dataclass(frozen=True, eq=False)
class Start:
    records: float  # at least 1
    spread: float  # the Gini impurity of the class shares over its maximum: 1 if all classes are equally frequent
    margins: Integers  # (columns,), before the first term
    curvature: Floats  # (scored channels,), summed over all records at these margins


class Loss(ChannelRule):
    """What one record adds to the sums, how steps become votes, and what margins mean: all that a round needs.

    A classification loss also defines ``start``, ``initial_counts`` and ``weighted``. A regression loss is a subclass of
    ``Squared``, which also defines ``link``, ``about`` and ``shift``.
    """

    curvature: float  # the factor c by which curvatures are multiplied before they are measured
    # Root mean square of the gradient channel, over UNIT, for records of curvature 1. Gradient sums are divided by it and UNIT,
    # so that the sampling variance of a scaled sum is about its curvature.
    gradient_sd: float = 1.0
    unit: float  # votes per unit step
    prior: Prior  # the prior of steps
    linear: bool = False  # whether gradients are linear in margins, so that an error of a margin shows in them in full
    scale: Literal["log-odds", "outcome", "log outcome"]  # the scale that margins are on
    origin: float  # the value on that scale of a margin of zero
    vote_steps: float  # votes per unit of that scale
    exported: Link  # maps sums of votes to predictions, here and in exports

    @lazy
    def scores(self) -> ChannelRule:
        rule: ChannelRule = replace(cast(Any, self), measures=False)
        return rule

    def in_cells(self) -> Loss:
        return self

    def curvature_of(self, measured: Floats) -> Floats:
        """Return the curvature of all records, (scored channels,), from the released sums of the curvature channels."""
        return measured

    @abstractmethod
    def answer(self, margins: Integers) -> Floats: ...

    @abstractmethod
    def votes(self, steps: Floats) -> Integers:
        """Return steps (..., columns), clipped to the longest step, as whole votes."""


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss, with records weighted so that no gradient exceeds a cap.

    Let p be the model's probabilities and t = 1 - p_y. A record's weight is w = min(1, cap / t). For each class k (of two, only
    the second) it adds w ([y = k] - p_k), and c w p_k (1 - p_k), or with ``by_share`` c w p_k.

    The cap lowers the sensitivity, so less noise is needed. It is 0.6 for two classes and 1 - 0.8 / K for K. With equally
    frequent classes, t = 1 - 1 / K at the start is below the cap, so all weights are 1. With one class, p = 1 and all
    contributions are 0. ``Softmax`` corrects the bias from weighting.
    """

    n_classes: int  # of the schema
    normal: bool  # whether the noise is normal (with a delta) or geometric (pure)
    tenths: int = 8  # cap = 1 - tenths / (10 K); 5 in some files of version 0.2
    measures: bool = field(default=True, kw_only=True)  # whether curvatures are measured, too
    halved: bool = field(default=False, kw_only=True)  # whether c is half as large: in rounds by cell

    cap: int = field(init=False, repr=False, compare=False)  # the largest absolute gradient of a record, in units
    thousandths: int = field(init=False, repr=False, compare=False)  # c, in thousandths
    # Whether w p_k is measured, not w p_k (1 - p_k): for K > 2 without a delta. Gradients g sum to zero over classes,
    # so s = g / p solves the full Newton system (diag p - p p^T) s = g and does not overshoot.
    by_share: bool = field(init=False, repr=False, compare=False)
    initial_counts: ChannelRule = field(init=False, repr=False, compare=False)  # the query that ``start`` reads

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
        """Return the start from noisy numbers of records, (classes,); their shares are smoothed towards uniform."""
        # The margins are halfway between zero and those where the mean gradient is zero: at the latter, records of rare classes
        # would have small weights.
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
        # After this shift of margins, the predicted class maximizes weight times calibrated probability: for two classes up to
        # rounding to a vote, for more classes where these products are nearly equal.
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
        if self.n_classes == 2:  # the first class has no votes
            margins = np.hstack([np.zeros_like(margins), margins])
        return self.exported(margins)

    def curvature_of(self, measured: Floats) -> Floats:
        if not self.by_share:
            return measured
        mass = np.maximum(measured, 0.0)
        return np.asarray(mass * (1 - mass / max(float(mass.sum()), 1e-9)))

    @lazy
    def _by_lead(self) -> npt.NDArray[np.int32]:
        """The channels of two classes by label and margin, (2, margins, channels); margins beyond the ends count as the ends."""
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

    def __call__(self, margins: Margins, labels: Labels) -> Channels:
        check_shape(margins, (len(labels), self.columns), "margins (records, columns)")
        out = np.empty((len(labels), self.channels), dtype=np.int32)
        if self.n_classes == 2:
            kernels.look_up_channels(margins, labels, self._by_lead, out)
        else:
            c = self.thousandths
            kernels.logistic_channels(margins, labels, EXPONENTIALS, UNIT, self.cap, c, self.by_share, out)
        return out


def uncalibrated(shares: Floats, cap: int) -> Floats:
    """Return the probabilities that ``Softmax`` with this cap, in units, calibrates to these positive shares, (classes,)."""
    p = np.full(len(shares), 1 / len(shares))
    for _ in range(CALIBRATION_STEPS):
        odds = shares / np.maximum(1, (1 - p) * UNIT / cap)
        p = (p + odds / odds.sum()) / 2  # damped, so that it cannot oscillate
    return np.asarray(p)
