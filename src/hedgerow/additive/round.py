"""One boosting round: select cuts, select a feature, and measure it in every cell of the cuts. The result is one term."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.estimate import Estimate, Measured, Visits, estimated
from hedgerow.additive.losses import Loss
from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.curator import Candidate, Cut, Queryable, Round, Splits, cells_of
from hedgerow.curator.released_warnings import column_warnings
from hedgerow.mechanisms import Basis, Budget, Noise, PermuteAndFlip, RoundedNormal, Selection, broad_basis
from hedgerow.mechanisms.noise import SCALE_BITS
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.privacy.accounting import LARGEST_JOINT_EPSILON, Event, SelectAndMeasure
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.schema import Encoder
from hedgerow.table import UNCUT, CellBins, Cells
from hedgerow.table.table import Margins
from hedgerow.texts import short_repr

Codes = npt.NDArray[np.unsignedinteger]

# In brackets: how much mean AUC is lost without the rule (docs/decisions/0012-hedgerow.md).
# The share of a score's expected sampling error that is subtracted from it (none: .001; on pairs .018)
SAMPLING_PENALTY = 0.5
# Every split's penalty is this times the log of the number of splits, over the selection's rate (none: .006).
CANDIDATE_PENALTY = 2.0
CUT_GROUPS = 8  # groups of a numeric feature's bins, between which the last cut may be; a scan's sums grow with them
MAX_CUT_VALUES = 14  # values of a categorical feature that the last cut may use; with missing and undeclared, 16 groups
# Keeps score minus penalty within int64; reached only near the samplers' largest noise
LARGEST_PENALTY = 2.0**61
MAX_SCAN_SUMS = 1 << 22  # sums of one scan, 32 MiB on each thread
ALONE = Candidate(0)  # the only candidate if one feature in each cell is already chosen


@dataclass(frozen=True, eq=False)
class Term:
    """A step function of one feature in each cell of K cuts.

    A cell's index has one binary digit for each cut, the side; the first cut has the highest. A numeric feature may be cut twice;
    then some cells cannot hold a record.
    """

    cuts: tuple[Cut, ...]
    feature: Integers  # (2**K,), the measured feature of each cell
    votes: Integers  # (2**K, codes, columns), added to a record's margins; 0 beyond the codes of the cell's feature
    # (2**K, codes, channels), released: gradients, then curvatures times c, in UNIT; None: not kept
    sums: Integers | None = None
    noise: int = 0  # the standard deviation of the noise of a sum, in UNIT, rounded; 0: not known
    unit: int = VOTE_STEPS * UNIT  # votes per unit step of the loss, times UNIT
    deviation: int = UNIT  # the gradient scale of the loss (``Loss.gradient_sd``), times UNIT
    n_codes: Integers | None = None  # (2**K,), codes of each cell's feature; None: all cells have one feature
    basis: Basis | None = None  # in which the sums were measured

    __repr__ = short_repr

    def __post_init__(self) -> None:
        cells = (len(self.votes),)
        object.__setattr__(self, "feature", np.array(np.broadcast_to(self.feature, cells), dtype=np.int64))

    @property
    def columns(self) -> int:
        return int(self.votes.shape[2])

    @property
    def features(self) -> tuple[int, ...]:
        """The features that it reads: those of its cuts, in order, then the measured ones, by index."""
        return (*(cut.by for cut in self.cuts), *np.unique(self.feature).tolist())

    @lazy
    def used(self) -> Truth:
        n_codes = np.full(len(self.votes), self.votes.shape[1]) if self.n_codes is None else self.n_codes
        return np.asarray(np.arange(self.votes.shape[1]) < n_codes[:, None])

    @lazy
    def cells(self) -> Cells:
        return cells_of(self.cuts)

    @lazy
    def key(self) -> tuple[Any, ...]:
        return (*((cut.by, cut.side.tobytes()) for cut in self.cuts), self.feature.tobytes())

    def __call__(self, codes: Codes, margins: Margins, part: npt.NDArray[np.uint32] | None = None) -> None:
        cells = self.cells if part is None else UNCUT
        part = np.zeros(len(codes), dtype=np.uint32) if part is None else part
        kernels.add_term(codes, cells.by, cells.side, self.feature, self.votes, part, margins)

    def measured(self, multiple: float) -> Measured | None:
        if self.sums is None:
            return None
        gradient, curvature = np.split(self.sums, 2, axis=2)
        noise = self.noise / self.deviation, self.noise / UNIT / multiple
        covariance = None if self.basis is None else self.basis.covariance
        return Measured(gradient / self.deviation, curvature / UNIT / multiple, *noise, covariance)

    @property
    def steps(self) -> Floats:
        return np.asarray(self.votes * UNIT / self.unit)

    @lazy
    def mass(self) -> Floats:
        """The weight of each cell and code in averages, (2**K, codes): released curvature, if positive; 1 if no sums are kept."""
        if self.sums is None:
            return self.used.astype(np.float64)
        curvature = self.sums[..., self.sums.shape[2] // 2 :].sum(axis=2, dtype=np.float64) / UNIT
        return np.asarray((np.maximum(curvature, 0) + 1e-9) * self.used)

    @property
    def gain(self) -> float:
        """The sum of its released curvatures times squared steps: proportional to its estimated reduction of the loss."""
        return float((self.mass[..., None] * self.steps**2).sum())

    def means(self, mass: Floats) -> list[Floats]:
        """Return the mean votes overall, on each side of the first cut, in each cell of the first two cuts, and so on."""
        # Entry l is of shape (2**l, columns); ``mass`` (2**K, codes) weighs cells and codes.
        total, held = (self.votes * mass[..., None]).sum(axis=1), mass.sum(axis=1)
        means = [total / held[:, None]]
        for _ in self.cuts:
            total, held = total.reshape(-1, 2, self.columns).sum(axis=1), held.reshape(-1, 2).sum(axis=1)
            means.append(total / held[:, None])
        return means[::-1]

    def spread(self) -> Floats:
        """Return the standard deviation of each feature's contributions, (features,), over VOTE_STEPS; cells weigh alike."""
        # A cut contributes the mean of a side minus that of both; the measured feature a code's votes minus its cell's mean.
        means = self.means(self.used.astype(np.float64))
        apart = [after - np.repeat(before, 2, axis=0) for before, after in pairwise(means)]
        for feature in np.unique(self.feature).tolist():
            own = self.feature == feature
            codes = (self.votes[own] - means[-1][own, None])[self.used[own]]
            apart.append(codes * math.sqrt(own.mean()))
        return np.array([np.sqrt((part**2).mean(axis=0)).sum() for part in apart]) / VOTE_STEPS


@dataclass(frozen=True, eq=False)
class Terms:
    terms: tuple[Term, ...]

    __repr__ = short_repr

    @property
    def columns(self) -> int:
        return int(self.terms[0].votes.shape[2])

    @property
    def cells(self) -> Cells | None:
        return self.terms[0].cells if len(self.terms) == 1 else None

    def __call__(self, codes: Codes, margins: Margins, part: npt.NDArray[np.uint32] | None = None) -> None:
        for term in self.terms:
            term(codes, margins, part)


class Fit:
    """The released state of a fit, which its next rounds use.

    ``encoder`` has merged bins. ``mass`` (codes of all features,) is the released number of records of each code, 0 if not
    significant, 1 for categorical features. ``curvature`` (scored channels,) is that of all records, which start with
    ``margins`` (columns,). Selections read each record with probability 2**-n (n = 0: all); n is ``curve_halvings`` in rounds
    of at most one cut, else ``cut_halvings``.
    """

    def __init__(
        self,
        encoder: Encoder,
        mass: Floats,
        curvature: Floats,
        margins: Integers,
        curve_halvings: int = 0,
        cut_halvings: int = 0,
    ) -> None:
        self.encoder, self.mass, self.curvature = encoder, mass, curvature
        self.halvings = curve_halvings, cut_halvings
        self.terms: list[Term] = []
        self.visits = Visits()
        # Terms not yet added to the margins of all records (key 0), or of the sample with exponent n (key n)
        start = Term((), np.array(0), np.tile(margins, (1, int(encoder.n_codes[0]), 1)))
        self._pending: dict[int, tuple[Term, ...]] = dict.fromkeys((0, *self.halvings), (start,))
        # Each feature's squared ``Term.spread``, summed over all terms, (features,)
        self.effects = np.zeros(len(encoder.n_codes))
        # For each feature the sum of its terms without cuts, (codes, columns)
        self.offsets: Integers = np.concatenate([[0], np.cumsum(encoder.n_codes)]).astype(np.int64)
        self.curves = np.split(np.zeros((int(self.offsets[-1]), len(margins)), dtype=np.int64), self.offsets[1:-1])
        self.numeric = np.array(encoder.schema.is_numeric)

    def add(self, term: Term) -> None:
        self.terms.append(term)
        np.add.at(self.effects, list(term.features), term.spread() ** 2)
        if not term.cuts:
            feature = int(term.feature[0])
            self.curves[feature] = self.curves[feature] + term.votes[0]
        for halvings in self._pending:
            self._pending[halvings] += (term,)

    def pending_terms(self, halvings: int = 0) -> Terms | None:
        """Return the terms not yet added to the margins of all records, or of a sample, and forget them: the caller adds them."""
        pending, self._pending[halvings] = self._pending[halvings], ()
        return Terms(pending) if pending else None


@dataclass(frozen=True, eq=False)
class OneRound:
    """Up to K cuts, then one feature that is measured in all their cells: max(K, 1) selections at most, and one measurement.

    The first K - 1 cuts are selected one by one. The last selection compares "a feature in the current cells" with "one
    more cut and a feature", so a round may end with K - 1 cuts. K = 0: one selection. All scores have the same sensitivity
    (docs/proofs/hedgerow.md).
    """

    loss: Loss
    budget: Budget
    cuts: int  # K
    most_codes: int  # of any feature

    selection_share: ClassVar[Fraction] = Fraction(1, 4)  # of a round's budget, for its selections (half: .004)
    ratio: ClassVar[int] = 3  # the measurement's share of the budget over the selections', for ``SelectAndMeasure``

    @lazy
    def selection(self) -> Selection:
        # Permute-and-flip if the budget is pure, else the exponential mechanism
        return self.selecting(self.selection_share / max(self.cuts, 1))

    def selecting(self, share: Fraction) -> Selection:
        budget = self.budget * share
        if budget.concentrated:  # the joint account is proved up to this epsilon, and more hardly improves a selection
            budget = replace(budget, amount=min(budget.amount, Fraction(LARGEST_JOINT_EPSILON**2, 8)))
        return budget.selection(PermuteAndFlip, 2 * self.loss.scored_l1)

    @lazy
    def noise(self) -> Noise:
        noise = (self.budget * (1 - self.selection_share)).noise_for(self.loss.l1, self.loss.l2_squared)
        if isinstance(noise, RoundedNormal):
            _ = noise.doubled(SCALE_BITS).sigma  # raises here, when a fit is planned, if the budget is too small
        return noise

    @property
    def draws(self) -> int:
        return (1 << self.cuts) * self.most_codes * self.loss.channels

    @lazy
    def event(self) -> Event:
        selected = self.selection.event("cut, or candidate, of a round", "absolute gradients summed over its cells")
        measured = self.noise.event("gradients and curvatures of the candidate's cells", draws=self.draws)
        return self.together(*((selected,) * max(self.cuts, 1)), measured)

    def together(self, *steps: Event) -> Event:
        return SelectAndMeasure(steps, self.ratio) if self.budget.concentrated else InSequence(steps)

    def run(self, curator: Queryable, fit: Fit, by: Sequence[int] = ()) -> tuple[Term, Estimate | None]:
        """Return the round's term and its estimate; ``by`` are the features that the last cut may use."""
        if self.budget.concentrated:  # one joint charge is less than the sum of separate ones
            curator.reserve(self.event)
        cuts, taken = list[Cut](), list[int]()
        halvings = fit.halvings[self.cuts > 1]
        # The measurement needs its own scan, unless it would repeat the selection's: no sample, no cuts, one gradient channel.
        # Then one scan sums both channels at no extra time.
        separate_scan = halvings > 0 or self.cuts > 0 or self.loss.scored > 1
        rule, answers = self.loss.scores if separate_scan else self.loss, None
        for _ in range(self.cuts - 1):
            answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, halvings=halvings, before=answers)
            cuts.append(answers.select_cut(self.selection, fit.numeric.tolist(), cuts_offered(fit, cuts)))
            taken.append(cuts[-1].by)
        uncut = np.array(by, dtype=np.int64)[~np.isin(by, taken)].tolist()
        splits = splits_of(fit, uncut) if self.cuts and uncut else None
        answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, splits, halvings=halvings)
        selected = self._select(answers, fit, taken, splits)
        feature = selected.feature
        if selected.cut is not None:
            cuts.append(selected.cut)
        if separate_scan:
            codes = np.arange(fit.encoder.n_codes[feature])
            bins = CellBins(np.full(1 << len(cuts), feature), np.tile(codes, (1 << len(cuts), 1)))
            selected, answers = ALONE, curator.open_round(self.loss, fit.pending_terms(), cuts, bins=bins)
        return self.measure(curator, fit, selected, answers, feature, cuts)

    def measure(
        self, curator: Queryable, fit: Fit, selected: Candidate, answers: Round, feature: int, cuts: Sequence[Cut]
    ) -> tuple[Term, Estimate | None]:
        noise, basis = self.measurement(fit, feature)
        sums = answers.sums(selected, noise, basis)
        measured, numeric = self.measured(fit, sums, basis), bool(fit.numeric[feature])
        # Warn of a categorical feature if its first sums show that almost no record had a declared value. Numeric features are
        # checked by the survey's histograms.
        if not numeric and all((term.feature != feature).any() for term in fit.terms):
            own = sums[..., self.loss.scored :]
            deviation = self.noise.deviation * math.sqrt(own.shape[0] * own.shape[2])
            curator.warnings += column_warnings(fit.encoder, {feature: own.sum(axis=(0, 2))}, deviation, what="sums")
        if cuts:
            estimate = estimated(measured, numeric=numeric, prior=self.loss.prior)
            return self.term(cuts, np.array(feature), sums, estimate.steps, basis=basis), estimate
        before = fit.curves[feature] / self.loss.unit
        estimate, steps = fit.visits.steps(feature, measured, before, numeric=numeric, prior=self.loss.prior)
        return self.term(cuts, np.array(feature), sums, steps[None], basis=basis), estimate

    def measurement(self, fit: Fit, feature: int) -> tuple[Noise, Basis | None]:
        # With geometric noise, which is calibrated to L1 norms, no basis that was tried was better.
        if fit.numeric[feature] and isinstance(self.noise, RoundedNormal):
            basis = broad_basis(int(fit.encoder.n_codes[feature]))
            if basis is not None:
                return self.noise.doubled(SCALE_BITS), basis
        return self.noise, None

    def _select(self, answers: Round, fit: Fit, taken: list[int], splits: Splits | None) -> Candidate:
        """Select by score minus a penalty that depends only on public and released numbers."""
        # The penalty is half the expected absolute sampling error of the score, plus a term for the noise of the measurement to
        # come; both grow with the square root of the number of bins (docs/decisions/0012-hedgerow.md). A split's penalty also
        # grows with the log of the number of splits.
        rows = 1 if splits is None else 1 + len(splits)
        offered = np.ones((rows, len(fit.numeric)), dtype=np.bool_)
        offered[:, taken] = False
        root_bins = np.sqrt(2 / np.pi * (1 << len(taken)) * fit.encoder.n_codes)
        noise = self.noise.deviation * self.loss.scored
        penalty = np.tile(root_bins * (noise + SAMPLING_PENALTY * self.sampling_error(fit)), (rows, 1))
        if splits is not None:
            multiplicity = CANDIDATE_PENALTY * np.log(max(len(splits), 1)) / float(self.selection.rate.fraction)
            penalty[1:] = np.sqrt(2) * penalty[1:] + multiplicity
        return answers.select(self.selection, whole(penalty), offered)

    def sampling_error(self, fit: Fit, halvings: int | None = None) -> float:
        """Return about the standard deviation of the gradient sum over all records that selections read, in UNIT."""
        halvings = fit.halvings[self.cuts > 1] if halvings is None else halvings
        scored = np.maximum(fit.curvature, 0) / 2**halvings
        return float(UNIT * self.loss.gradient_sd * np.sqrt(scored).sum())

    def measured(self, fit: Fit, sums: Integers, basis: Basis | None = None) -> Measured:
        scored, units = self.loss.scored, (UNIT * self.loss.gradient_sd, UNIT * self.loss.curvature)
        gradient, curvature = sums[..., :scored] / units[0], sums[..., scored:] / units[1]
        fit.curvature = self.loss.curvature_of(curvature.sum(axis=(0, 1)))
        covariance, noise = None if basis is None else basis.covariance, self.noise.deviation
        return Measured(gradient, curvature, noise / units[0], noise / units[1], covariance)

    def term(
        self,
        cuts: Sequence[Cut],
        feature: Integers,
        sums: Integers,
        steps: Floats,
        *,
        n_codes: Integers | None = None,
        basis: Basis | None = None,
    ) -> Term:
        unit, deviation = max(1, round(UNIT * self.loss.unit)), max(1, round(UNIT * self.loss.gradient_sd))
        votes, noise = self.loss.votes(steps), round(self.noise.deviation)
        return Term(tuple(cuts), feature, votes, sums, noise, unit, deviation, n_codes, basis)


@dataclass(frozen=True, eq=False)
class TurnRound(OneRound):
    """One feature after another, in the order of the schema: no selection, and one measurement of the whole budget.

    For federated owners who add the noise themselves: they can add noise to sums, but cannot make a selection.
    """

    @lazy
    def noise(self) -> Noise:
        return self.budget.noise_for(self.loss.l1, self.loss.l2_squared)

    @lazy
    def event(self) -> Event:
        return self.noise.event("gradients and curvatures of a feature whose turn it is", draws=self.draws)

    def run(self, curator: Queryable, fit: Fit, by: Sequence[int] = ()) -> tuple[Term, Estimate | None]:
        feature = len(fit.terms) % len(fit.numeric)
        bins = CellBins(np.array([feature]), np.arange(fit.encoder.n_codes[feature])[None])
        answers = curator.open_round(self.loss, fit.pending_terms(), bins=bins)
        return self.measure(curator, fit, ALONE, answers, feature, [])


def whole(penalty: Floats) -> Integers:
    return np.asarray(np.minimum(np.rint(penalty), LARGEST_PENALTY), dtype=np.int64)


def cuts_offered(fit: Fit, cuts: Sequence[Cut], again: Truth | None = None) -> Truth:
    """Return the codes, (codes of all features,), at which a round may cut; only features in ``again`` may be cut twice."""
    offered = np.ones(int(fit.offsets[-1]), dtype=np.bool_)
    offered[fit.offsets[1:] - 1] = False
    for cut in cuts:
        if again is None or not again[cut.by]:
            offered[fit.offsets[cut.by] : fit.offsets[cut.by + 1]] = False
    return offered


def splits_of(fit: Fit, by: Sequence[int]) -> Splits:
    """Return the splits by features ``by``: between groups of a numeric feature's bins, or one category against the rest."""
    groups = []
    for j in by:
        bins = int(fit.encoder.n_codes[j]) - 1
        count = min(CUT_GROUPS, bins) if fit.numeric[j] else bins
        groups.append(np.append(np.arange(bins) * count // bins, count))
    return Splits(by, groups, fit.numeric[list(by)].tolist())
