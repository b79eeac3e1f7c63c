"""One round of queries about sums over all records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hedgerow.arrays import Integers, Truth
from hedgerow.curator.checks import check_range, check_scores, check_sums
from hedgerow.curator.splits import Cut, Splits, cut_scores, feature_scores
from hedgerow.mechanisms import Noise, Randomness, Selection
from hedgerow.privacy.events import Event
from hedgerow.table import ChannelRule

__all__ = ["Candidate", "Round"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The result of a selection: the bins of a feature in each cell, or on both sides of split ``number`` in each cell."""

    feature: int
    number: int | None = None
    cut: Cut | None = None


@dataclass(frozen=True, eq=False)
class Round:
    """Answers about the sums of a rule's channels over all records, as they were when a curator opened the round.

    Every query reads all records and is charged to the curator before its answer is drawn. Under every candidate a record is in
    one cell, so one record moves each score by at most ``scored_l1`` in either direction, and the range is twice that.
    """

    _rule: ChannelRule = field(repr=False)
    _sums: Integers = field(repr=False)  # (cells, groups, codes, channels)
    _offsets: Integers = field(repr=False)  # the first code of each feature
    _splits: Splits | None = field(repr=False)
    _charge: Callable[[Event], None] = field(repr=False)
    _randomness: Randomness = field(repr=False)
    _of: tuple[object, ...] = field(default=(), repr=False)  # the origin of the sums, beside the cuts
    _cuts: tuple[Cut, ...] = field(default=(), repr=False)

    @property
    def _scored(self) -> Integers:
        return np.asarray(self._sums[..., : self._rule.scored])

    @property
    def _by_code(self) -> Integers:
        """The sums by cell and code, (cells, codes, channels)."""
        return np.asarray(self._sums[:, 0]) if self._splits is None else self._splits.whole(self._sums)

    def select_cut(self, mechanism: Selection, ordered: Sequence[bool], offered: Truth) -> Cut:
        """Return one cut for all cells, chosen by the absolute scored sums of both its sides in every cell.

        ``ordered`` (features,) marks features with ordered codes, ``offered`` (codes of all features,) the permitted cuts.
        """
        self._check(mechanism)
        scores = cut_scores(self._by_code[..., : self._rule.scored], self._offsets, np.array(ordered))
        chosen = int(self._randomness.draw(mechanism, scores[None], offered[None])[0])
        feature = int(np.searchsorted(self._offsets, chosen, side="right")) - 1
        n_codes = int(np.diff(self._offsets)[feature])
        return Cut.at(feature, chosen - int(self._offsets[feature]), n_codes, ordered=bool(ordered[feature]))

    def select(self, mechanism: Selection, penalty: Integers, offered: Truth | None = None) -> Candidate:
        """Return a candidate, chosen by its absolute scored sums minus a public penalty.

        Row 0 of ``penalty`` and ``offered`` (1 + splits, features) is for features in the cells as they are, each further row for
        features on both sides of one split. None offers everything.
        """
        self._check(mechanism)
        features = len(self._offsets) - 1
        scores = [feature_scores(self._by_code[..., : self._rule.scored], self._offsets)[None]]
        possible = [np.ones((1, features), dtype=np.bool_)]
        if self._splits is not None:
            scores.append(self._splits.scores(self._scored, self._offsets))
            possible.append(self._splits.offered(features))
        may = np.concatenate(possible) if offered is None else np.concatenate(possible) & offered
        drawn = self._randomness.draw(mechanism, (np.concatenate(scores) - penalty).reshape(1, -1), may.reshape(1, -1))
        row, feature = divmod(int(drawn[0]), features)
        if row == 0 or self._splits is None:
            return Candidate(feature)
        return Candidate(feature, row - 1, self._splits.cut(row - 1))

    def _precedes(self, of: tuple[object, ...], cuts: Sequence[Cut]) -> bool:
        """Return whether its sums have the same origin, without groups, in the cells of all cuts but the last."""
        return self._splits is None and len(cuts) > 0 and self._of == of and self._cuts == tuple(cuts[:-1])

    def _completed(self, sums: Integers, skipped: Truth) -> Integers:
        """Return the sums (cells, groups, codes, channels), if those of ``skipped`` cells were not added up.

        Each of these is one half of a cell of this round, whose other half is known.
        """
        sums[skipped] = self._sums - sums[~skipped]
        return sums

    def _check(self, mechanism: Selection) -> None:
        check_scores(self._rule)
        check_range(mechanism, "absolute gradients", 2 * self._rule.scored_l1)
        self._charge(mechanism.event("a candidate", "absolute gradients"))

    def sums(self, candidate: Candidate, noise: Noise) -> Integers:
        """Return the sums of the channels by the cells and codes of a candidate, (cells, codes, channels), with noise."""
        sums = self._by_code
        if candidate.number is not None and self._splits is not None:
            sums = self._splits.sums(self._sums, candidate.number)
        first, last = self._offsets[candidate.feature : candidate.feature + 2]
        return self._noisy(sums[:, first:last], noise)

    def whole_sums(self, noise: Noise) -> Integers:
        """Return the sums of the channels over all records, (channels,), with noise."""
        return self._noisy(self._by_code[:, : self._offsets[1]].sum(axis=(0, 1)), noise)

    def _noisy(self, sums: Integers, noise: Noise) -> Integers:
        check_sums(noise, self._rule)
        self._charge(noise.event("sums", draws=sums.size))
        noisy: Integers = self._randomness.draw(noise, np.ascontiguousarray(sums))
        return noisy
