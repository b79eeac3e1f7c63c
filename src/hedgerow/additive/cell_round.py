"""Rounds by cell: each cell of a round's cuts selects a feature of its own, and how many groups its codes form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hedgerow.additive import kernels
from hedgerow.additive.estimate import TINY, Estimate, steps_by_cell
from hedgerow.additive.round import ALONE, MAX_SCAN_SUMS, SAMPLING_PENALTY, Fit, OneRound, Term, cuts_offered, whole
from hedgerow.arrays import Floats, Integers, Truth, lazy
from hedgerow.curator import Cut, Queryable
from hedgerow.mechanisms import Selection
from hedgerow.privacy.accounting import Event
from hedgerow.table import CellBins, Pairs

GROUP_SIZES = (2, 4, 8, 16, 32)  # how many groups a numeric feature's codes may form in a cell of a ``CellRound``
GROUP_PENALTY = 0.7  # penalty for measurement noise, as a share of the sum of its absolute values over groups
PAIR_DIGITS = 4  # a pair's first feature has up to 2**4 groups; each binary digit of a group's index is a cut
NO_EFFECT = 0.05  # added to each feature's share of the largest effect, so that the prior of no feature is 0
LEAST_MASS = 1e-3  # lower bound of a code's mass when groups are formed, as a share of its feature's mean


@dataclass(frozen=True, eq=False)
class CellRound(OneRound):
    """A round by cell: K cuts of all cells, then each cell selects its own feature. K + 1 selections, and one measurement.

    Cells are disjoint, so the selections of all cells cost what one costs, and so do their measurements
    (docs/proofs/hedgerow.md). A numeric feature may be cut twice, a categorical one only once. A cell also selects into how many
    groups its feature's codes are put, and the groups are measured.
    """

    selection_share = Fraction(1, 2)  # (a quarter: .002 at epsilon 1 on large sets)
    ratio = 1

    @lazy
    def selection(self) -> Selection:
        """The selection of one cut. All cuts together have as much budget as ``choice``, the selections in cells."""
        return self.selecting(self.selection_share / 2 / max(self.cut_selections, 1))

    @lazy
    def choice(self) -> Selection:
        return self.selecting(self.selection_share / 2)

    @lazy
    def event(self) -> Event:
        gradients = "absolute gradients summed over its cells"
        cut = self.selection.event("cut of a round", gradients)
        choice = self.choice.event("feature and groups of each cell", "absolute gradients summed over its groups")
        measured = self.noise.event("gradients and curvatures of the groups of each cell", draws=self.draws)
        return self.together(*((cut,) * self.cut_selections), choice, measured)

    @property
    def cut_selections(self) -> int:
        return self.cuts

    def first_cuts(self, curator: Queryable, fit: Fit) -> list[Cut]:
        return []

    def run(self, curator: Queryable, fit: Fit, by: Sequence[int] = ()) -> tuple[Term, Estimate | None]:
        if self.budget.concentrated:
            curator.reserve(self.event)
        cuts, answers = self.first_cuts(curator, fit), None
        halvings, rule = fit.halvings[self.cuts > 1], self.loss.scores
        remaining = self.cut_selections - bool(cuts)
        of_cut = -log_prior(fit) / float(self.selection.rate.fraction)
        of_codes = whole(np.repeat(of_cut, fit.encoder.n_codes))
        while True:
            answers = curator.open_round(rule, fit.pending_terms(halvings), cuts, halvings=halvings, before=answers)
            offered = cuts_offered(fit, cuts, again=fit.numeric)
            if remaining == 0 or len(cuts) == self.cuts or not offered.any():
                break
            cuts.append(answers.select_cut(self.selection, fit.numeric.tolist(), offered, of_codes))
            remaining -= 1
        group, n_groups, possible = groupings(fit, cuts)
        of_noise = GROUP_PENALTY * self.noise.deviation * self.loss.scored * n_groups
        of_sampling = SAMPLING_PENALTY * self.sampling_error(fit) * np.sqrt(n_groups / group.shape[1])
        of_feature = -log_prior(fit) / float(self.choice.rate.fraction)
        penalty = whole(np.sqrt(2 / np.pi) * (of_noise + of_sampling) + of_feature)
        may: Truth = np.greater(n_groups, 0)
        may = may | ~np.any(may, axis=(0, 2), keepdims=True)  # a cell that no record can be in selects, too
        size, feature = answers.select_by_cell(self.choice, group, penalty, may)
        n_codes, cells = fit.encoder.n_codes[feature], np.arange(len(feature))
        used = np.arange(n_codes.max()) < n_codes[:, None]
        # For each cell the groups of its feature's codes, and which codes its records can have, (cells, codes)
        at = np.minimum(fit.offsets[feature][:, None] + np.arange(n_codes.max()), len(fit.mass) - 1)
        own, held = np.where(used, group[size[:, None], cells[:, None], at], 0), used & possible[cells[:, None], at]
        last = curator.open_round(self.loss, fit.pending_terms(), cuts, bins=CellBins(feature, own))
        sums = last.sums(ALONE, self.noise)
        known = np.arange(sums.shape[1]) < n_groups[size, cells, feature][:, None]
        sums = sums * known[..., None]
        steps = steps_by_cell(self.measured(fit, sums), known, self.loss.prior)
        # Each code gets its group's step. The group's sums are divided evenly among the codes that the cell's records can have.
        members = np.zeros(sums.shape[:2], dtype=np.int64)
        np.add.at(members, (np.broadcast_to(cells[:, None], own.shape), own), held)
        sums = (sums // np.maximum(members, 1)[..., None])[cells[:, None], own] * held[..., None]
        return self.term(cuts, feature, sums, steps[cells[:, None], own] * used[..., None], n_codes=n_codes), None


@dataclass(frozen=True, eq=False)
class PairRound(CellRound):
    """A round by cell that begins with a pair: its first cells are groups of one feature's codes, up to 2**PAIR_DIGITS of them.

    One selection scores pairs of features by the sums over each pair of their groups. The groups of the first become the cells.
    So a round finds features that matter only together, such as month and day, where no single cut has an effect.
    """

    @property
    def cut_selections(self) -> int:
        return max(self.cuts - PAIR_DIGITS + 1, min(self.cuts, 1))

    def first_cuts(self, curator: Queryable, fit: Fit) -> list[Cut]:
        digits, halvings = min(PAIR_DIGITS, self.cuts), fit.halvings[0]
        if not digits or len(fit.numeric) < 2:
            return []
        sizes = groupings(fit, [])[0][:, 0].astype(np.int64)
        n_codes, first, rows = fit.encoder.n_codes, fit.offsets[:-1], (digits - 1, PAIR_DIGITS - 1)
        places, of_number = np.arange(fit.offsets[-1]) - np.repeat(first, n_codes), np.repeat(fit.numeric, n_codes)
        of_first, of_second = (np.where(of_number, sizes[row], places) for row in rows)
        count, of_other = (np.maximum.reduceat(group, first) + 1 for group in (of_first, of_second))
        by = np.flatnonzero((count > 1) & (count <= 2 << digits))
        of_first, count = np.minimum(of_first, (1 << digits) - 1), np.minimum(count, 1 << digits)
        # Only the features with the largest effects: as many as keep a scan within MAX_SCAN_SUMS
        by = by[np.argsort(-fit.effects[by], kind="stable")][: MAX_SCAN_SUMS // int(fit.offsets[-1] << digits)]
        if not len(by):
            return []
        pairs = Pairs(tuple(by.tolist()), of_first, of_second, fit.offsets)
        answers = curator.open_round(self.loss.scores, fit.pending_terms(halvings), pairs=pairs, halvings=halvings)
        error = SAMPLING_PENALTY * self.sampling_error(fit, halvings)
        penalty = error * np.sqrt(2 / np.pi * count[by, None] * of_other)
        chosen = int(by[answers.select_pair(self.selection, whole(penalty))])
        group = of_first[fit.offsets[chosen] : fit.offsets[chosen + 1]]
        return [Cut(chosen, group >> digit & 1) for digit in reversed(range(int(group.max()).bit_length()))]


def log_prior(fit: Fit) -> Floats:
    """Return each feature's log prior weight in the selections of rounds by cell, from the effects of earlier terms, (features,).

    It is 0 for the feature with the largest effect, and about log ``NO_EFFECT`` for one without an effect.
    """
    share = fit.effects / max(float(fit.effects.max()), TINY)
    return np.asarray(np.log((share + NO_EFFECT) / (1 + NO_EFFECT)))


def groupings(fit: Fit, cuts: Sequence[Cut]) -> tuple[npt.NDArray[np.signedinteger], Integers, Truth]:
    """Return each code's group, the number of groups of each feature, and the possible codes of each cell.

    Shapes: (sizes, cells, codes), (sizes, cells, features), (cells, codes). Sizes are ``GROUP_SIZES``. A number of groups is 0 if
    the size before gives the same groups. A code that the cell's cuts exclude is in the group of the code before it. The codes of
    a numeric feature form at most so many groups as the size, of about equal mass, and one more for missing values if their mass
    is significant. Each value of a categorical feature is a group.
    """
    cells = np.arange(1 << len(cuts))
    possible = np.ones((len(cells), len(fit.mass)), dtype=np.bool_)
    for level, cut in enumerate(reversed(cuts)):
        possible[:, fit.offsets[cut.by] : fit.offsets[cut.by + 1]] &= cut.side == (cells >> level & 1)[:, None]
    groups = np.zeros((len(GROUP_SIZES), *possible.shape), dtype=np.int16 if len(fit.mass) < 1 << 15 else np.int32)
    n_groups = np.zeros((len(GROUP_SIZES), len(cells), len(fit.numeric)), dtype=np.int64)
    least = np.array([LEAST_MASS * fit.mass[first:end].mean() for first, end in pairwise(fit.offsets.tolist())])
    sizes = np.array(GROUP_SIZES)
    kernels.group_codes(possible, fit.mass, least, fit.offsets, fit.numeric, sizes, groups, n_groups)
    n_groups[1:] *= n_groups[1:] > n_groups[:-1]  # the same number of groups: the same groups
    return groups, n_groups, possible
