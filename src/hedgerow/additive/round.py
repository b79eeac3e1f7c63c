"""One round of the additive engine: cuts one after another, then one feature in every cell, measured there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hedgerow.additive.estimate import Estimate, Visits, estimated
from hedgerow.additive.losses import Loss
from hedgerow.additive.terms import Term
from hedgerow.curator import Candidate, Cut, Queryable, Round, Splits
from hedgerow.margins import UNIT
from hedgerow.mechanisms import Budget, Noise, PermuteAndFlip, Selection
from hedgerow.privacy.events import Event
from hedgerow.privacy.events import Sequence as InSequence
from hedgerow.schema import Encoder

__all__ = ["Fit", "OneRound"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

SELECTION = Fraction(1, 4)  # the share of a round's budget that its selections get
CHANCE = 0.5  # how much of what chance adds to a score by itself a candidate loses
MANY = 2.0  # what splits lose for being many: so many times the log of their number for each feature, over the rate
GROUPS = 8  # of a number that is cut on both sides of which all features are scored
MOST_VALUES = 14  # of a category that is cut
LARGEST_PENALTY = 2.0**61  # where noise is near the samplers' largest
MOST_SUMS = 1 << 22  # of a scan, more than which are not worked out


class Fit:
    """What a fit has released so far, as its rounds read it.

    Parameters
    ----------
    encoder : Encoder
        How records are read: with merged bins.
    curvature : ndarray of shape (scored channels,)
        The curvature of all records.
    """

    def __init__(self, encoder: Encoder, curvature: Floats) -> None:
        self.encoder, self.curvature = encoder, curvature
        self.terms: list[Term] = []
        self.visits = Visits()
        self._untold: Term | None = None
        self._curves: dict[int, Integers] = {}
        self.numeric = np.array(encoder.schema.is_numeric)
        self.offsets: Integers = np.concatenate([[0], np.cumsum(encoder.n_codes)]).astype(np.int64)

    def begin(self, margins: Integers) -> None:
        """Let every record start with these margins, (columns,)."""
        votes = np.tile(margins, (1, int(self.encoder.n_codes[0]), 1))
        self._untold = Term((), 0, votes)

    def add(self, term: Term) -> None:
        """Add a round's term."""
        self.terms.append(term)
        if not term.cuts:
            self._curves[term.feature] = self.curve(term.feature, term.columns) + term.votes[0]
        self._untold = term

    def take(self) -> Term | None:
        """Return what the records' margins do not hold yet; they do from now on."""
        untold, self._untold = self._untold, None
        return untold

    def curve(self, feature: int, columns: int) -> Integers:
        """Return the terms of one feature without cuts added up, (codes, columns)."""
        if feature not in self._curves:
            self._curves[feature] = np.zeros((int(self.encoder.n_codes[feature]), columns), dtype=np.int64)
        return self._curves[feature].copy()

    def largest(self, may: Truth, count: int) -> list[int]:
        """Return up to so many features that may be cut, those of the largest curves first."""
        columns = len(self.curvature)
        spread = [float(self.curve(j, columns).std(axis=0).sum()) if may[j] else 0.0 for j in range(len(may))]
        return [j for j in np.argsort(spread)[::-1][:count].tolist() if spread[j] > 0]


@dataclass(frozen=True, eq=False)
class OneRound:
    """Up to K cuts, one feature in every cell, and the sums of its cells: at most K selections, or one, and one measurement.

    The first cuts are selected one by one by what both their sides say; the last one together with the feature, or none. Every
    selection has the range of a single feature's (docs/proofs/hedgerow.md).

    Parameters
    ----------
    loss : Loss
        What a record adds.
    budget : Budget
        What the round may cost.
    cuts : int
        K.
    most_codes : int
        The most codes that a feature can have.
    """

    loss: Loss
    budget: Budget
    cuts: int
    most_codes: int

    @cached_property
    def selection(self) -> Selection:
        """Each of its selections."""
        return (self.budget * SELECTION / max(self.cuts, 1)).selection(PermuteAndFlip, 2 * self.loss.scored_l1)

    @cached_property
    def noise(self) -> Noise:
        """The noise of a sum."""
        return (self.budget * (1 - SELECTION)).noise_for(self.loss.l1, self.loss.l2_squared)

    @property
    def event(self) -> Event:
        """What it costs at most."""
        chosen = self.selection.event("cut, or candidate, of a round", "absolute gradients summed over its cells")
        draws = (1 << self.cuts) * self.most_codes * self.loss.channels
        measured = self.noise.event("gradients and curvatures of the candidate's cells", draws=draws)
        return InSequence((*((chosen,) * max(self.cuts, 1)), measured))

    def run(self, curator: Queryable, fit: Fit, by: Sequence[int]) -> tuple[Term, Estimate]:
        """Return the round's term, and what its sums say; ``by`` are the features that the last cut may cut."""
        cuts: list[Cut] = []
        last = fit.take()
        for _ in range(self.cuts - 1):
            asked = curator.open_round(self.loss, last, cuts)
            cuts.append(asked.select_cut(self.selection, fit.numeric.tolist(), cuts_offered(fit, cuts)))
            last = None
        free = [j for j in by if j not in {cut.by for cut in cuts}]
        splits = splits_of(fit, free) if self.cuts and free else None
        asked = curator.open_round(self.loss, last, cuts, splits)
        chosen = self._select(asked, fit, cuts, splits)
        sums = asked.sums(chosen, self.noise)
        if chosen.cut is not None:
            cuts.append(chosen.cut)
        return self._term(fit, tuple(cuts), chosen.feature, sums)

    def _select(self, asked: Round, fit: Fit, cuts: Sequence[Cut], splits: Splits | None) -> Candidate:
        """Return a candidate, by scores less what noise and part of what chance add to them."""
        features = len(fit.encoder.n_codes)
        rows = 1 if splits is None else 1 + len(splits)
        offered = np.ones((rows, features), dtype=np.bool_)
        offered[:, [cut.by for cut in cuts]] = False
        cells = np.sqrt(2 / np.pi * (1 << len(cuts)) * fit.encoder.n_codes)
        noise = self.noise.deviation * self.loss.scored
        chance = UNIT * self.loss.deviation * np.sqrt(np.maximum(fit.curvature, 0)).sum()
        lost = np.tile(cells * (noise + CHANCE * chance), (rows, 1))
        if splits is not None:
            many = MANY * np.log(max(len(splits), 1)) / float(self.selection.rate.fraction)
            lost[1:] = np.sqrt(2) * lost[1:] + many
        return asked.select(self.selection, np.minimum(np.rint(lost), LARGEST_PENALTY).astype(np.int64), offered)

    def _term(self, fit: Fit, cuts: tuple[Cut, ...], feature: int, sums: Integers) -> tuple[Term, Estimate]:
        """Return the term of released sums (cells, codes, channels), and keep what they say of all records."""
        scored, multiple = self.loss.scored, self.loss.curvature
        of_one = UNIT * self.loss.deviation
        gradient, curvature = sums[..., :scored] / of_one, sums[..., scored:] / (UNIT * multiple)
        fit.curvature = self.loss.curvature_of(curvature.sum(axis=(0, 1)))
        noise = self.noise.deviation
        deviations, numeric = (noise / of_one, noise / (UNIT * multiple)), bool(fit.numeric[feature])
        if cuts:
            found = estimated(gradient, curvature, *deviations, numeric=numeric)
            steps = found.steps
        else:
            said = fit.curve(feature, self.loss.columns) / self.loss.unit
            found, alone = fit.visits.steps(feature, (gradient[0], curvature[0]), deviations, said, numeric=numeric)
            steps = alone[None]
        unit, deviation = (max(1, round(UNIT * part)) for part in (self.loss.unit, self.loss.deviation))
        return Term(cuts, feature, self.loss.votes(steps), sums, round(noise), unit, deviation), found


def cuts_offered(fit: Fit, cuts: Sequence[Cut]) -> Truth:
    """Say at which codes of all features a round may cut: not at the last, and no feature twice."""
    offered = np.ones(int(fit.offsets[-1]), dtype=np.bool_)
    offered[fit.offsets[1:] - 1] = False
    for cut in cuts:
        offered[fit.offsets[cut.by] : fit.offsets[cut.by + 1]] = False
    return offered


def splits_of(fit: Fit, by: Sequence[int]) -> Splits:
    """Return the splits that cut these features: a number between groups of its bins, a category at each value."""
    groups = []
    for j in by:
        codes = int(fit.encoder.n_codes[j])
        bins = codes - 1
        few = min(GROUPS, bins)
        groups.append(np.append(np.arange(bins) * few // bins, few) if fit.numeric[j] else np.arange(codes))
    return Splits(by, groups, [bool(fit.numeric[j]) for j in by])
