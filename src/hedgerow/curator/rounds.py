"""One round of queries about sums over all records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers, Truth, frozen_copy, lazy
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Basis, DiscreteGaussian, Noise, Randomness, Selection
from hedgerow.privacy.accounting import Event
from hedgerow.table import CellBins, Cells, ChannelRule, CodeGroups, Layout, Pairs, Sums, kernels


def check_cuts(
    cuts: Sequence[Cut], splits: Splits | None, offsets: Integers, bins: CellBins | None, pairs: Pairs | None
) -> None:
    codes = np.diff(offsets).tolist()
    sound = bins is None or (
        bins.feature.shape == (1 << len(cuts),)
        and bool(np.all((bins.feature >= 0) & (bins.feature < len(codes))))
        and bins.group.shape == (1 << len(cuts), int(np.diff(offsets)[bins.feature].max()))
        and int(bins.group.min()) >= 0
    )
    for cut in cuts:
        sound = sound and 0 <= cut.by < len(codes) and len(cut.side) == codes[cut.by]
        sound = sound and set(cut.side.tolist()) == {0, 1}
    if splits is not None:
        sound = sound and len(set(splits.by)) == len(splits.by) == len(splits.group) == len(splits.ordered) > 0
        for by, group in zip(splits.by, splits.group, strict=False):
            sound = sound and 0 <= by < len(codes) and len(group) == codes[by]
            sound = sound and set(group.tolist()) == set(range(int(group.max()) + 1))
    if pairs is not None:
        sound = sound and np.array_equal(pairs.offsets, offsets) and len(codes) > 1
        sound = sound and pairs.first.shape == pairs.second.shape == (sum(codes),)
        sound = sound and len(set(pairs.by)) == len(pairs.by) > 0 and set(pairs.by) <= set(range(len(codes)))
    if not sound:
        raise ConfigurationError("cuts or bins read other features or codes, or have one side; build them anew.")


@dataclass(frozen=True, eq=False)
class Cut:
    """The two sides of one feature: ``side`` (codes,) is the side of each of its codes, 0 or 1."""

    by: int
    side: Integers

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", frozen_copy(self.side, np.int64))

    @classmethod
    def at(cls, feature: int, code: int, n_codes: int, *, ordered: bool) -> Cut:
        """Return the cut whose first side has the codes up to ``code``, or without an order that code alone."""
        codes = np.arange(n_codes)
        return cls(feature, (codes > code if ordered else codes != code).astype(np.int64))

    @property
    def code(self) -> int:
        return int(np.flatnonzero(self.side == 0)[-1])

    def is_at_one_code(self, ordered: bool) -> bool:
        return bool(np.array_equal(self.side, Cut.at(self.by, self.code, len(self.side), ordered=ordered).side))

    @property
    def smaller_side(self) -> int:
        """The side with fewer codes."""
        return int(2 * self.side.sum() <= len(self.side))


def cells_of(cuts: Sequence[Cut]) -> Cells:
    by = np.zeros(len(cuts), dtype=np.int64)
    side = np.zeros((len(cuts), max((len(cut.side) for cut in cuts), default=0)), dtype=np.int64)
    for row, cut in enumerate(cuts):
        by[row] = cut.by
        side[row, : len(cut.side)] = cut.side
    return Cells(by, side)


def cut_scores(sums: Integers, offsets: Integers, ordered: Truth) -> Integers:
    """Return the score of the cut at each code, (codes,), by ``add_cut_scores``, from sums (cells, codes, channels)."""
    scores = np.zeros(sums.shape[1], dtype=np.int64)
    kernels.add_cut_scores(np.ascontiguousarray(sums), offsets, ordered, scores)
    return scores


@dataclass(frozen=True, eq=False)
class Splits:
    """Every cut of some features with every other feature in bins on both sides, in every cell of the cuts before."""

    by: Sequence[int]  # the features that are cut
    # for each, the group of each code (codes,), from 0 on: cuts are between groups
    group: Sequence[Integers]
    ordered: Sequence[bool]  # for each, whether a cut has all groups up to one on its first side, or that group alone

    def __post_init__(self) -> None:
        # Read-only copies: a round answers by what was checked when it began.
        object.__setattr__(self, "by", tuple(self.by))
        object.__setattr__(self, "group", tuple(map(frozen_copy, self.group, repeat(np.int64))))
        object.__setattr__(self, "ordered", tuple(self.ordered))

    @lazy
    def starts(self) -> Integers:
        return np.cumsum([0, *map(np.max, self.group)]) + np.arange(len(self.group) + 1)

    @lazy
    def groups(self) -> CodeGroups:
        together = np.zeros((len(self.by), max(map(len, self.group))), dtype=np.int64)
        for row, group, start in zip(together, self.group, self.starts[:-1].tolist(), strict=True):
            row[: len(group)] = group + start
        return CodeGroups(np.array(self.by, dtype=np.int64), together)

    def __len__(self) -> int:
        return int(self.starts[-1]) - len(self.by)

    def cut(self, number: int) -> Cut:
        place = number + np.arange(len(self.by))  # each feature has one cut fewer than groups
        p = int(np.flatnonzero(place < self.starts[1:] - 1)[0])
        group = self.group[p]
        last = number + p - int(self.starts[p])
        return Cut(self.by[p], (group > last if self.ordered[p] else group != last).astype(np.int64))

    def whole(self, sums: Integers) -> Integers:
        return np.asarray(sums[:, : self.starts[1]].sum(axis=1))

    def scores(self, sums: Integers, offsets: Integers) -> Integers:
        whole, by_feature = self.whole(sums)[:, None], []
        for p in range(len(self.by)):
            own = sums[:, self.starts[p] : self.starts[p + 1]]
            first = np.cumsum(own, axis=1)[:, :-1] if self.ordered[p] else own[:, :-1]  # (cells, cuts, codes, channels)
            sides = (np.abs(first) + np.abs(whole - first)).sum(axis=(0, 3))
            by_feature.append(np.add.reduceat(sides, offsets[:-1], axis=1))
        return np.concatenate(by_feature)

    def sums(self, sums: Integers, number: int) -> Integers:
        whole, first_side = self.whole(sums), self.cut(number).side == 0
        p = list(self.by).index(self.cut(number).by)
        groups = np.unique(self.group[p][first_side]) + self.starts[p]
        first = sums[:, groups].sum(axis=1)
        return np.asarray(np.stack([first, whole - first], axis=1).reshape(-1, *whole.shape[1:]))


@dataclass(frozen=True, eq=False)
class Candidate:
    """The result of a selection: the bins of a feature in each cell, or on both sides of split ``number`` in each cell."""

    feature: int
    number: int | None = None
    cut: Cut | None = None


@dataclass(frozen=True, eq=False)
class Round:
    """Answers about the sums of a rule's channels over all records, as they were when a curator opened the round.

    Every query reads all records and is charged before its answer is drawn. Under every candidate a record is in one cell, so
    one record moves each score by at most ``scored_l1`` in either direction, and the range is twice that.
    """

    _rule: ChannelRule = field(repr=False)
    _sums: Integers = field(repr=False)  # (cells, groups, codes, channels)
    _offsets: Integers = field(repr=False)  # the first code of each feature
    _splits: Splits | None = field(repr=False)
    _charge: Callable[[Event], object] = field(repr=False)
    _randomness: Randomness = field(repr=False)
    _of: tuple[object, ...] = field(default=(), repr=False)  # the origin of the sums, beside the cuts
    _cuts: tuple[Cut, ...] = field(default=(), repr=False)
    _pairs: Pairs | None = field(default=None, repr=False)

    @property
    def _by_code(self) -> Integers:
        if self._pairs is not None:
            raise ConfigurationError("a round of pairs only selects pairs; open another one.")
        return np.asarray(self._sums[:, 0]) if self._splits is None else self._splits.whole(self._sums)

    def select_cut(
        self, mechanism: Selection, ordered: Sequence[bool], offered: Truth, penalty: Integers | int = 0
    ) -> Cut:
        """Return one cut for all cells, chosen by the absolute scored sums of both its sides in every cell.

        ``ordered`` (features,) marks features with ordered codes, ``offered`` (codes of all features,) the permitted cuts, and
        ``penalty`` is public, of that shape.
        """
        self._check(mechanism)
        scores = cut_scores(self._by_code[..., : self._rule.scored], self._offsets, np.array(ordered))
        chosen = int(self._randomness.draw(mechanism, (scores - penalty)[None], offered[None])[0])
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
        by_code = np.abs(self._by_code[..., : self._rule.scored]).sum(axis=(0, 2))
        scores = [np.add.reduceat(by_code, self._offsets[:-1])[None]]  # over the cells and codes of each feature
        possible = [np.ones((1, features), dtype=np.bool_)]
        if self._splits is not None:
            scores.append(self._splits.scores(self._sums[..., : self._rule.scored], self._offsets))
            cut_by = np.repeat(self._splits.by, np.diff(self._splits.starts) - 1)  # the feature of each cut
            possible.append(cut_by[:, None] != np.arange(features))  # with all features but that
        may = np.concatenate(possible) if offered is None else np.concatenate(possible) & offered
        drawn = self._randomness.draw(mechanism, (np.concatenate(scores) - penalty).reshape(1, -1), may.reshape(1, -1))
        row, feature = divmod(int(drawn[0]), features)
        if row == 0 or self._splits is None:
            return Candidate(feature)
        return Candidate(feature, row - 1, self._splits.cut(row - 1))

    def select_by_cell(
        self, mechanism: Selection, group: npt.NDArray[np.signedinteger], penalty: Integers, offered: Truth
    ) -> tuple[Integers, Integers]:
        """Return a way to group codes and a feature for each cell, (cells,) both, by absolute scored sums there less a penalty.

        ``group`` (ways, cells, codes of all features) is the group of each code of a feature, by which its records are summed;
        ``penalty`` and ``offered`` are public, of shape (ways, cells, features), and every cell is offered something. A record
        moves the scores of one cell only, so the selections of all cells together cost what one costs. Every cell selects, also
        one without records.
        """
        by_code, group = self._by_code[..., : self._rule.scored], frozen_copy(group, group.dtype)
        cells, features = len(by_code), len(self._offsets) - 1
        of_groups = group.shape[1:] == by_code.shape[:2] and group.min() >= 0
        if not of_groups or not penalty.shape == offered.shape == (len(group), cells, features):
            raise ConfigurationError("each code of each feature needs a group in each cell, from 0 on; build them so.")
        self._check(mechanism)
        scores = np.negative(penalty, dtype=np.int64)
        kernels.add_group_scores(by_code, group, self._offsets, int(group.max()) + 1, scores)
        by_cell = (np.ascontiguousarray(np.moveaxis(each, 0, 1)).reshape(cells, -1) for each in (scores, offered))
        chosen: Integers = self._randomness.draw(mechanism, *by_cell)
        return chosen // features, chosen % features

    def select_pair(self, mechanism: Selection, penalty: Integers) -> int:
        """Select a pair of features, and return the place of its first one in ``Pairs.by``.

        Two groups of codes, one of each feature, make a cell. The score of a pair is the sum over its cells of the absolute
        scored sums, less ``penalty`` (first features, features), which is public.
        """
        pairs, features = self._pairs, len(self._offsets) - 1
        if pairs is None:
            raise ConfigurationError("this round has no pairs; open a round with pairs.")
        self._check(mechanism)
        scores = pairs.scores(self._sums[0, ..., : self._rule.scored])
        may = np.array(pairs.by)[:, None] != np.arange(features)
        drawn = self._randomness.draw(mechanism, (scores - penalty).reshape(1, -1), may.reshape(1, -1))
        return int(drawn[0]) // features

    def _check(self, mechanism: Selection) -> None:
        if not self._rule.scored:
            raise ConfigurationError("this round's rule ranks no features; open a round with a rule that scores them.")
        mechanism.check_range("absolute gradients", 2 * self._rule.scored_l1)
        self._charge(mechanism.event("a candidate", "absolute gradients"))

    def sums(self, candidate: Candidate, noise: Noise, basis: Basis | None = None) -> Integers:
        """Return the sums of the channels by the cells and codes of a candidate, (cells, codes, channels), with noise.

        With a ``basis`` the noise is added to the sums in that basis, and they are estimated by least squares.
        """
        sums = self._by_code
        if candidate.number is not None and self._splits is not None:
            sums = self._splits.sums(self._sums, candidate.number)
        first, last = self._offsets[candidate.feature : candidate.feature + 2]
        sums = sums[:, first:last]
        if basis is None:
            return self._noisy(sums, noise)
        return basis.sums(self._noisy(basis.applied(sums), noise, basis.l1, basis.l2_squared))

    def whole_sums(self, noise: Noise) -> Integers:
        return self._noisy(self._by_code[:, : self._offsets[1]].sum(axis=(0, 1)), noise)

    def _noisy(self, sums: Integers, noise: Noise, l1: int = 1, l2_squared: int = 1) -> Integers:
        # A record adds its channels times a column of such norms
        check_sums(self._rule, noise, l1, l2_squared)
        self._charge(noise.event("sums", draws=sums.size))
        return np.asarray(self._randomness.draw(noise, np.ascontiguousarray(sums)))


@dataclass(frozen=True, eq=False)
class OwnersRound(Round):
    """A round in which owners add the noise: nobody has the sums without it, so nothing is selected and no basis is used."""

    _layout: Layout = field(default=Layout(), repr=False)
    # Returns the sums of a query with noise in shares
    _ask: Callable[[Sums, DiscreteGaussian], Integers] = field(kw_only=True, repr=False)

    def _check(self, mechanism: Selection) -> None:
        raise ConfigurationError("owners who add the noise answer no selections.")

    def sums(self, candidate: Candidate, noise: Noise, basis: Basis | None = None) -> Integers:
        first, last = self._offsets[candidate.feature : candidate.feature + 2].tolist()
        cells, layout = self._layout.cells.n_cells, self._layout
        if layout.bins is None:
            codes = np.tile(np.arange(last - first), (cells, 1))
            layout = Layout(layout.cells, bins=CellBins(np.full(cells, candidate.feature), codes))
        return self._asked(layout, noise)

    def whole_sums(self, noise: Noise) -> Integers:
        return np.asarray(self._asked(Layout(whole=True), noise)[0, 0])

    def _asked(self, layout: Layout, noise: Noise) -> Integers:
        if not isinstance(noise, DiscreteGaussian):
            raise ConfigurationError("owners add noise in shares; pass noise_shares, and a delta, to the estimator.")
        check_sums(self._rule, noise)
        query = Sums(self._rule, None, layout)
        self._charge(noise.event("sums"))
        return self._ask(query, noise)


def check_sums(rule: ChannelRule, noise: Noise, l1: int = 1, l2_squared: int = 1) -> None:
    if not noise.covers(l1 * rule.l1, l2_squared * rule.l2_squared):
        raise ConfigurationError("the noise covers less than one record adds to the sums; build it for that.")
