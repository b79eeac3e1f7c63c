"""One round of the additive engine: cuts one after another, then one feature in every cell, measured there: a term."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.estimate import Estimate, Visits, estimated
from hedgerow.additive.losses import Loss
from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.curator import Candidate, Cut, Queryable, Round, Splits, cells_of
from hedgerow.curator.released_warnings import column_warnings
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.privacy.accounting import Event
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.schema import Encoder
from hedgerow.table import Cells
from hedgerow.texts import short_repr

Codes = npt.NDArray[np.unsignedinteger]

# Losses of mean AUC without a rule, in brackets, are those of docs/decisions/0012-hedgerow.md.
SELECTION_SHARE = Fraction(1, 4)  # of a round's budget, for its selections (half: .004)
# The part of what sampling alone adds to a score that its penalty takes back (none: .001; on pairs .018)
SAMPLING_PENALTY = 0.5
# A split's penalty for being one of many is this times the log of their number, over the selection's rate (none: .006).
CANDIDATE_PENALTY = 2.0
CUT_GROUPS = 8  # groups of a number's bins, between which the last cut may be: sums of a scan grow with them
MAX_CUT_VALUES = 14  # values of a category that the last cut may cut; with missing and undeclared ones 16 groups
# Keeps score minus penalty within int64; reached only near the samplers' largest noise
LARGEST_PENALTY = 2.0**61
MAX_SCAN_SUMS = 1 << 22  # sums of one scan, 32 MiB on each thread


@dataclass(frozen=True, eq=False)
class Measured:
    """Released sums of a term, (cells, codes, columns), and the standard deviations of their noise, in units of one record.

    Gradients are divided by ``Term.deviation``, curvatures by UNIT and the multiple of the loss (``Loss.curvature``).
    """

    gradient: Floats
    curvature: Floats
    noise: float
    curvature_noise: float


@dataclass(frozen=True, eq=False)
class Term:
    """A step function of one feature in each cell of K cuts.

    Cells are numbered by the sides of the cuts, the first cut's being the highest binary digit.
    """

    cuts: tuple[Cut, ...]  # of other features
    feature: int  # the feature in bins
    votes: Integers  # (2**K, codes, columns), what a record of each cell and code gets
    # (2**K, codes, channels), as released: gradients, then curvatures, in UNIT; None: not kept
    sums: Integers | None = None
    noise: int = 0  # the standard deviation of the noise of a sum, in UNIT, rounded; 0: not known
    unit: int = VOTE_STEPS * UNIT  # votes per unit step of the loss, times UNIT
    deviation: int = UNIT  # gradient scale of the loss, ``gradient_sd``, times UNIT

    __repr__ = short_repr

    @property
    def columns(self) -> int:
        return int(self.votes.shape[2])

    @property
    def features(self) -> tuple[int, ...]:
        return (*(cut.by for cut in self.cuts), self.feature)

    @lazy
    def cells(self) -> Cells:
        return cells_of(self.cuts)

    @lazy
    def key(self) -> tuple[Any, ...]:
        return (*((cut.by, cut.side.tobytes()) for cut in self.cuts), self.feature)

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
        kernels.add_term(codes, self.cells.by, self.cells.side, self.feature, self.votes, margins)

    def measured(self, multiple: float) -> Measured | None:
        """Return what was released of its cells; ``multiple`` is the loss's ``curvature``."""
        if self.sums is None:
            return None
        gradient, curvature = np.split(self.sums, 2, axis=2)
        noise = self.noise / self.deviation, self.noise / UNIT / multiple
        return Measured(gradient / self.deviation, curvature / UNIT / multiple, *noise)

    @property
    def steps(self) -> Floats:
        """Its values in steps of its loss, (2**K, codes, columns)."""
        return np.asarray(self.votes * UNIT / self.unit)

    @lazy
    def mass(self) -> Floats:
        """The weight of each cell and code in averages, (2**K, codes): its released curvature, above zero; 1 if not kept."""
        if self.sums is None:
            return np.ones(self.votes.shape[:2])
        curvature = self.sums[..., self.sums.shape[2] // 2 :].sum(axis=2, dtype=np.float64) / UNIT
        return np.asarray(np.maximum(curvature, 0) + 1e-9)

    def means(self, mass: Floats) -> list[Floats]:
        """Return the mean votes over everything, over each side of the first cut, over each cell of the first two, and so on."""
        # Entry l is of shape (2**l, columns); ``mass`` (2**K, codes) weighs cells and codes.
        total, held = (self.votes * mass[..., None]).sum(axis=1), mass.sum(axis=1)
        means = [total / held[:, None]]
        for _ in self.cuts:
            total, held = total.reshape(-1, 2, self.columns).sum(axis=1), held.reshape(-1, 2).sum(axis=1)
            means.append(total / held[:, None])
        return means[::-1]

    def spread(self) -> Floats:
        """Return the standard deviation, in log-odds, of what each of ``features`` adds, (cuts + 1,); cells have equal weight."""
        # A cut adds the mean of a side less that of both sides; the feature adds the votes of a code less the mean of its cell.
        means = self.means(np.ones(self.votes.shape[:2]))
        apart = [after - np.repeat(before, 2, axis=0) for before, after in pairwise(means)]
        apart.append((self.votes - means[-1][:, None]).reshape(-1, self.columns))
        return np.array([np.sqrt((part**2).mean(axis=0)).sum() for part in apart]) / VOTE_STEPS


@dataclass(frozen=True, eq=False)
class Terms:
    """At least one term, whose votes are added one after another."""

    terms: tuple[Term, ...]

    __repr__ = short_repr

    @property
    def columns(self) -> int:
        return self.terms[0].columns

    def __call__(self, codes: Codes, margins: npt.NDArray[np.signedinteger]) -> None:
        for term in self.terms:
            term(codes, margins)


class Fit:
    """What a fit has released so far, for its next rounds.

    ``encoder`` has merged bins; ``curvature`` (scored channels,) is that of all records, which start with ``margins`` (columns,).
    Selections read each record with probability 2**-n (n = 0: all). n is ``curve_halvings`` in rounds of at most one cut,
    ``cut_halvings`` in rounds of several.
    """

    def __init__(
        self, encoder: Encoder, curvature: Floats, margins: Integers, curve_halvings: int = 0, cut_halvings: int = 0
    ) -> None:
        self.encoder, self.curvature, self.halvings = encoder, curvature, (curve_halvings, cut_halvings)
        self.terms: list[Term] = []
        self.visits = Visits()
        # Terms not yet added to the margins of all records (key 0) or of the sample with this exponent.
        start = Term((), 0, np.tile(margins, (1, int(encoder.n_codes[0]), 1)))
        self._pending: dict[int, list[Term]] = {n: [start] for n in (0, *self.halvings)}
        # The terms of each feature without cuts added up, (codes, columns)
        self.curves = [np.zeros((codes, len(margins)), dtype=np.int64) for codes in encoder.n_codes.tolist()]
        self.numeric = np.array(encoder.schema.is_numeric)
        self.offsets: Integers = np.concatenate([[0], np.cumsum(encoder.n_codes)]).astype(np.int64)

    def add(self, term: Term) -> None:
        self.terms.append(term)
        if not term.cuts:
            self.curves[term.feature] = self.curves[term.feature] + term.votes[0]
        for pending in self._pending.values():
            pending.append(term)

    def pending_terms(self, halvings: int = 0) -> Terms | None:
        """Return the terms not yet added to the margins of all records, or of a sample; the caller adds them now."""
        pending, self._pending[halvings] = self._pending[halvings], []
        return Terms(tuple(pending)) if pending else None


@dataclass(frozen=True, eq=False)
class OneRound:
    """Up to K cuts, then one feature in every cell of them: at most max(K, 1) selections, and one measurement.

    The first K - 1 cuts are selected one by one. The last selection compares "a feature in the current cells" with "one
    more cut and a feature", so a round may end with K - 1 cuts. K = 0: one selection. The scores of all have the same range
    (docs/proofs/hedgerow.md).
    """

    loss: Loss
    budget: Budget
    cuts: int  # K
    most_codes: int  # of any feature

    @lazy
    def selection(self) -> Selection:
        # Permute-and-flip if pure; a rho budget uses the exponential mechanism
        return (self.budget * SELECTION_SHARE / max(self.cuts, 1)).selection(PermuteAndFlip, 2 * self.loss.scored_l1)

    @lazy
    def noise(self) -> Noise:
        return (self.budget * (1 - SELECTION_SHARE)).noise_for(self.loss.l1, self.loss.l2_squared)

    @property
    def event(self) -> Event:
        selected = self.selection.event("cut, or candidate, of a round", "absolute gradients summed over its cells")
        draws = (1 << self.cuts) * self.most_codes * self.loss.channels
        measured = self.noise.event("gradients and curvatures of the candidate's cells", draws=draws)
        return InSequence((*((selected,) * max(self.cuts, 1)), measured))

    def run(self, curator: Queryable, fit: Fit, by: Sequence[int]) -> tuple[Term, Estimate]:
        """Return the round's term and the estimate behind it; ``by`` are the features that the last cut may cut."""
        cuts: list[Cut] = []
        halvings = fit.halvings[self.cuts > 1]
        # Measure in a second scan, except where it would repeat the first: no sample, no cuts, one gradient channel.
        # Then one scan sums both channels at no extra time.
        separate_scan = halvings > 0 or self.cuts > 0 or self.loss.scored > 1
        rule, answers = self.loss.scores if separate_scan else self.loss, None
        for _ in range(self.cuts - 1):
            answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, halvings=halvings, before=answers)
            cuts.append(answers.select_cut(self.selection, fit.numeric.tolist(), cuts_offered(fit, cuts)))
        taken = [cut.by for cut in cuts]
        uncut = [j for j in by if j not in taken]
        splits = splits_of(fit, uncut) if self.cuts and uncut else None
        answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, splits, halvings=halvings)
        selected = self._select(answers, fit, taken, splits)
        feature = selected.feature
        if selected.cut is not None:
            cuts.append(selected.cut)
        if separate_scan:
            measured = curator.open_round(self.loss, fit.pending_terms(), cuts, feature=feature)
            # This round holds the selected feature alone, so its index here is 0.
            sums = measured.sums(Candidate(0), self.noise)
        else:
            sums = answers.sums(selected, self.noise)
        # A category whose first measurement shows that almost no records had a declared value is warned of. Numeric features
        # are checked on the survey histograms.
        if not fit.numeric[feature] and not any(term.feature == feature for term in fit.terms):
            by_code = sums[..., self.loss.scored :].sum(axis=(0, 2))
            deviation = self.noise.deviation * math.sqrt(sums.shape[0] * (sums.shape[2] - self.loss.scored))
            curator.warnings += column_warnings(fit.encoder, {feature: by_code}, deviation, what="sums")
        return self._term(fit, tuple(cuts), feature, sums)

    def _select(self, answers: Round, fit: Fit, taken: list[int], splits: Splits | None) -> Candidate:
        """Select by score minus a penalty, which follows from public and released numbers alone."""
        # The penalty is half the expected absolute sampling error of the score, plus a term for measurement noise; both
        # grow with the square root of the number of bins (docs/decisions/0012-hedgerow.md). Splits also pay for how many
        # there are.
        rows = 1 if splits is None else 1 + len(splits)
        offered = np.ones((rows, len(fit.numeric)), dtype=np.bool_)
        offered[:, taken] = False
        root_bins = np.sqrt(2 / np.pi * (1 << len(taken)) * fit.encoder.n_codes)
        noise = self.noise.deviation * self.loss.scored
        scored = np.maximum(fit.curvature, 0) / 2 ** fit.halvings[self.cuts > 1]
        sampling = UNIT * self.loss.gradient_sd * np.sqrt(scored).sum()
        penalty = np.tile(root_bins * (noise + SAMPLING_PENALTY * sampling), (rows, 1))
        if splits is not None:
            multiplicity = CANDIDATE_PENALTY * np.log(max(len(splits), 1)) / float(self.selection.rate.fraction)
            penalty[1:] = np.sqrt(2) * penalty[1:] + multiplicity
        penalty = np.minimum(np.rint(penalty), LARGEST_PENALTY)
        return answers.select(self.selection, penalty.astype(np.int64), offered)

    def _term(self, fit: Fit, cuts: tuple[Cut, ...], feature: int, sums: Integers) -> tuple[Term, Estimate]:
        """Return the term of released sums (cells, codes, channels) and its estimate; update the curvature of all records."""
        scored, multiple = self.loss.scored, self.loss.curvature
        of_one = UNIT * self.loss.gradient_sd
        gradient, curvature = sums[..., :scored] / of_one, sums[..., scored:] / (UNIT * multiple)
        fit.curvature = self.loss.curvature_of(curvature.sum(axis=(0, 1)))
        noise, numeric, prior = self.noise.deviation, bool(fit.numeric[feature]), self.loss.prior
        deviations = noise / of_one, noise / (UNIT * multiple)
        if cuts:
            estimate = estimated(gradient, curvature, *deviations, numeric=numeric, prior=prior)
            steps = estimate.steps
        else:
            sums_of_codes, before = (gradient[0], curvature[0]), fit.curves[feature] / self.loss.unit
            estimate, of_visits = fit.visits.steps(
                feature, sums_of_codes, deviations, before, numeric=numeric, prior=prior
            )
            steps = of_visits[None]
        unit, deviation = max(1, round(UNIT * self.loss.unit)), max(1, round(UNIT * self.loss.gradient_sd))
        return Term(cuts, feature, self.loss.votes(steps), sums, round(noise), unit, deviation), estimate


def cuts_offered(fit: Fit, cuts: Sequence[Cut]) -> Truth:
    """Return at which codes of all features a round may cut: not at a feature's last code, and no feature twice."""
    offered = np.ones(int(fit.offsets[-1]), dtype=np.bool_)
    offered[fit.offsets[1:] - 1] = False
    for cut in cuts:
        offered[fit.offsets[cut.by] : fit.offsets[cut.by + 1]] = False
    return offered


def splits_of(fit: Fit, by: Sequence[int]) -> Splits:
    """Return the splits that cut the features ``by``: a number between groups of its bins, a category at each value."""
    groups = []
    for j in by:
        bins = int(fit.encoder.n_codes[j]) - 1
        count = min(CUT_GROUPS, bins) if fit.numeric[j] else bins
        groups.append(np.append(np.arange(bins) * count // bins, count))
    return Splits(by, groups, [bool(fit.numeric[j]) for j in by])
