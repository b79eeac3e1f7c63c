"""One round of the additive engine: cuts one after another, then one feature in every cell, measured there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from sklearn.isotonic import isotonic_regression

from hedgerow.additive.estimate import Estimate, Visits, estimated
from hedgerow.additive.losses import Loss
from hedgerow.additive.terms import Term, Terms
from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.curator import Candidate, Cut, Queryable, Round, Splits
from hedgerow.errors import ConfigurationError, shown
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.parameters import UNIT
from hedgerow.privacy.accounting import Event
from hedgerow.privacy.accounting import Sequence as InSequence
from hedgerow.released_warnings import column_warnings
from hedgerow.schema import Encoder, Numeric, Schema

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


class Fit:
    """What a fit has released so far, for its next rounds.

    ``encoder`` has merged bins; ``curvature`` (scored channels,) is that of all records. Selections read each record
    with probability 2**-n (n = 0: all). n is ``curve_halvings`` in rounds of at most one cut, ``cut_halvings`` in
    rounds of several.
    """

    def __init__(self, encoder: Encoder, curvature: Floats, curve_halvings: int = 0, cut_halvings: int = 0) -> None:
        self.encoder, self.curvature = encoder, curvature
        self.curve_halvings, self.cut_halvings = curve_halvings, cut_halvings
        self.terms: list[Term] = []
        self.visits = Visits()
        # Terms not yet added to the margins of all records (key 0) or of the sample with this exponent.
        self._pending: dict[int, list[Term]] = {0: [], curve_halvings: [], cut_halvings: []}
        self._curves: dict[int, Integers] = {}
        self.numeric = np.array(encoder.schema.is_numeric)
        self.offsets: Integers = np.concatenate([[0], np.cumsum(encoder.n_codes)]).astype(np.int64)

    def begin(self, margins: Integers) -> None:
        """Let every record start with these margins, (columns,)."""
        start = Term((), 0, np.tile(margins, (1, int(self.encoder.n_codes[0]), 1)))
        for pending in self._pending.values():
            pending[:] = [start]

    def add(self, term: Term) -> None:
        self.terms.append(term)
        if not term.cuts:
            self._curves[term.feature] = self.curve(term.feature, term.columns) + term.votes[0]
        for pending in self._pending.values():
            pending.append(term)

    def halvings(self, cuts: int) -> int:
        """Return n of the sample that the selections of a round of up to so many cuts read."""
        return self.cut_halvings if cuts > 1 else self.curve_halvings

    def pending_terms(self, halvings: int = 0) -> Terms | None:
        """Return the terms not yet added to the margins of all records, or of a sample; the caller adds them now."""
        pending, self._pending[halvings] = self._pending[halvings], []
        return Terms(tuple(pending)) if pending else None

    def curve(self, feature: int, columns: int) -> Integers:
        """Return the terms of one feature without cuts added up, (codes, columns)."""
        if feature not in self._curves:
            self._curves[feature] = np.zeros((int(self.encoder.n_codes[feature]), columns), dtype=np.int64)
        return self._curves[feature].copy()

    def largest(self, may: Truth, count: int) -> list[int]:
        """Return up to ``count`` of the features that ``may`` be cut, those of the largest curves first."""
        columns = len(self.curvature)
        spread = [float(self.curve(j, columns).std(axis=0).sum()) if may[j] else 0.0 for j in range(len(may))]
        return [j for j in np.argsort(spread)[::-1][:count].tolist() if spread[j] > 0]


@dataclass(frozen=True, eq=False)
class OneRound:
    """Up to K cuts, then one feature in every cell of them: at most max(K, 1) selections, and one measurement.

    The first K - 1 cuts are selected one by one. The last selection compares "a feature in the current cells" with "one
    more cut and a feature", so a round may end with K - 1 cuts. K = 0: one selection. All have the same range
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
        halvings = fit.halvings(self.cuts)
        # Measure in a second scan, except where it would repeat the first: no sample, no cuts, one gradient channel.
        # Then one scan sums both channels at no extra time.
        separate_scan = halvings > 0 or self.cuts > 0 or self.loss.scored > 1
        rule, answers = self.loss.scores if separate_scan else self.loss, None
        for _ in range(self.cuts - 1):
            answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, halvings=halvings, before=answers)
            cuts.append(answers.select_cut(self.selection, fit.numeric.tolist(), cuts_offered(fit, cuts)))
        uncut = [j for j in by if j not in {cut.by for cut in cuts}]
        splits = splits_of(fit, uncut) if self.cuts and uncut else None
        answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, splits, halvings=halvings)
        selected = self._select(answers, fit, cuts, splits)
        if selected.cut is not None:
            cuts.append(selected.cut)
        if separate_scan:
            measured = curator.open_round(self.loss, fit.pending_terms(), cuts, feature=selected.feature)
            # This round holds the selected feature alone, so its index here is 0.
            sums = measured.sums(Candidate(0), self.noise)
        else:
            sums = answers.sums(selected, self.noise)
        curator.warnings += self._warnings(fit, selected.feature, sums)
        return self._term(fit, tuple(cuts), selected.feature, sums)

    def _select(self, answers: Round, fit: Fit, cuts: Sequence[Cut], splits: Splits | None) -> Candidate:
        """Select by score minus a penalty, which follows from public and released numbers alone.

        The penalty is half the expected absolute sampling error of the score, plus a term for measurement noise; both
        grow with the square root of the number of bins (docs/decisions/0012-hedgerow.md). Splits also pay for how many
        there are.
        """
        rows = 1 if splits is None else 1 + len(splits)
        offered = np.ones((rows, len(fit.numeric)), dtype=np.bool_)
        offered[:, [cut.by for cut in cuts]] = False
        root_bins = np.sqrt(2 / np.pi * (1 << len(cuts)) * fit.encoder.n_codes)
        noise = self.noise.deviation * self.loss.scored
        scored = np.maximum(fit.curvature, 0) / 2 ** fit.halvings(self.cuts)
        sampling = UNIT * self.loss.gradient_sd * np.sqrt(scored).sum()
        penalty = np.tile(root_bins * (noise + SAMPLING_PENALTY * sampling), (rows, 1))
        if splits is not None:
            multiplicity = CANDIDATE_PENALTY * np.log(max(len(splits), 1)) / float(self.selection.rate.fraction)
            penalty[1:] = np.sqrt(2) * penalty[1:] + multiplicity
        penalty = np.minimum(np.rint(penalty), LARGEST_PENALTY)
        return answers.select(self.selection, penalty.astype(np.int64), offered)

    def _warnings(self, fit: Fit, feature: int, sums: Integers) -> tuple[str, ...]:
        """Warn if the first measurement of a categorical feature shows that almost no records had a declared value.

        ``sums`` are (cells, codes, channels). Numeric features are checked on the survey histograms.
        """
        if fit.numeric[feature] or any(term.feature == feature for term in fit.terms):
            return ()
        by_code = sums[..., self.loss.scored :].sum(axis=(0, 2))
        deviation = self.noise.deviation * math.sqrt(sums.shape[0] * (sums.shape[2] - self.loss.scored))
        return column_warnings(fit.encoder, {feature: by_code}, deviation, what="sums")

    def _term(self, fit: Fit, cuts: tuple[Cut, ...], feature: int, sums: Integers) -> tuple[Term, Estimate]:
        """Return the term of released sums (cells, codes, channels) and its estimate; update the curvature of all records."""
        scored, multiple = self.loss.scored, self.loss.curvature
        of_one = UNIT * self.loss.gradient_sd
        gradient, curvature = sums[..., :scored] / of_one, sums[..., scored:] / (UNIT * multiple)
        fit.curvature = self.loss.curvature_of(curvature.sum(axis=(0, 1)))
        noise = self.noise.deviation
        deviations, numeric = (noise / of_one, noise / (UNIT * multiple)), bool(fit.numeric[feature])
        if cuts:
            estimate = estimated(gradient, curvature, *deviations, numeric=numeric, prior=self.loss.prior)
            steps = estimate.steps
        else:
            before, prior = fit.curve(feature, self.loss.columns) / self.loss.unit, self.loss.prior
            estimate, of_visits = fit.visits.steps(
                feature, (gradient[0], curvature[0]), deviations, before, numeric=numeric, prior=prior
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


LEAST_WEIGHT = 1e-6  # of a cell whose released curvature is not above zero, as a share of the mean weight


def signs_of(given: Mapping[str, int] | Sequence[int] | None, schema: Schema) -> tuple[int, ...]:
    """Return how the second class's log-odds may go with each feature: 1 rising, -1 falling, 0 either; empty for no constraint.

    ConfigurationError if ``given`` does not fit the features, names one without an order, or if there are not two classes.
    """
    names = list(schema.names)
    if given is None:
        return ()
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ConfigurationError(
                f"monotonic_cst names {shown(unknown[0])}, which is no feature; name some of {', '.join(names)}."
            )
        given = [given.get(name, 0) for name in names]
    signs = tuple(map(int, given))
    if len(signs) != len(names):
        raise ConfigurationError(
            f"monotonic_cst has {len(signs)} entries for {len(names)} features; pass one for each, or a dict by name."
        )
    for name, sign in zip(names, signs, strict=True):
        if sign and not isinstance(schema.features[name], Numeric):
            raise ConfigurationError(
                f"monotonic_cst names {name!r}, whose values have no order; declare it as hr.Numeric, hr.Integer or hr.Date, "
                "or leave it out."
            )
    if any(signs) and len(schema.classes) not in (0, 2):
        raise ConfigurationError(
            f"monotonic_cst says how the odds of the second of two classes go, but there are {len(schema.classes)}; leave "
            "it out, or declare two classes."
        )
    return signs if any(signs) else ()


def projected(term: Term, signs: Sequence[int], before: Integers) -> Term:
    """Return a term of at most one cut, made to keep the monotonicity constraints ``signs``.

    No cuts: isotonic regression of the curve after the step, weighted by released curvatures; ``before`` (codes,) is
    the curve before it. One cut: isotonic in each cell. If the cut feature is constrained, bins where the two cells
    violate the order are set to the pooled mean of the two cells, which uses one weight for all bins, so cells stay
    monotone. Missing values of a constrained feature are exempt.
    """
    if not signs or term.sums is None:
        return term
    sign, across = signs[term.feature], across_of(term, signs)
    if not (sign or across):
        return term
    weights, votes = cell_weights(term.sums), term.votes[..., 0].astype(np.float64)
    if not term.cuts:
        after = np.rint(isotonic(votes[0] + before, weights[0], sign)).astype(np.int64) - before
        return replace(term, votes=after[None, :, None])
    if sign:
        votes = np.stack([isotonic(own, weight, sign) for own, weight in zip(votes, weights, strict=True)])
    if across:
        share = float(weights[0].sum() / weights.sum())
        low, high = votes[::across]
        middle = share * votes[0] + (1 - share) * votes[1]
        votes = np.stack([np.minimum(low, middle), np.maximum(high, middle)])[::across]
    return replace(term, votes=np.rint(votes).astype(np.int64)[..., None])  # rounding keeps the order


def across_of(term: Term, signs: Sequence[int]) -> int:
    """Return the sign of the cut feature of a one-cut term, or 0: no cut, or only missing values on the second side."""
    return signs[term.cuts[0].by] if term.cuts and term.cuts[0].side[:-1].any() else 0


def cell_weights(sums: Integers) -> Floats:
    """Return a weight above zero for each cell and code, from released gradients and curvatures (cells, codes, 2)."""
    curvature = np.maximum(sums[..., 1].astype(np.float64), 0)
    return np.asarray(curvature + LEAST_WEIGHT * max(float(curvature.mean()), 1.0))


def isotonic(values: Floats, weights: Floats, sign: int) -> Floats:
    """Return the isotonic regression of ``values`` (codes,) but for the last, which is of missing values."""
    if len(values) < 3:
        return values
    fitted = isotonic_regression(values[:-1], sample_weight=weights[:-1], increasing=sign > 0)
    return np.append(fitted, values[-1])
