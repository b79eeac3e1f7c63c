"""Cuts and splits: each puts a record into one cell, whatever the record is, and a round's answers are those of a plain loop."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from cut_records import (
    CUTS,
    N_CODES,
    NOISE,
    OFFSETS,
    ON_B,
    ON_C,
    ON_D,
    ORDERED,
    RULE,
    SELECTION,
    SPLITS,
    penalties,
    records,
)

from hedgerow.additive.losses import Logistic
from hedgerow.curator import Candidate, Cut, Queryable, Splits, cells_of
from hedgerow.curator.rounds import cut_scores
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Geometric, PermuteAndFlip, Randomness
from hedgerow.table import CellBins, MemoryTable, Pairs


class Unnoisy(Randomness):
    """Draws nothing: noise is zero, the best score wins, and scores and what is offered are kept."""

    def __init__(self):
        super().__init__(0)
        self.scores, self.offered = [], []

    def draw(self, mechanism, *statistics):
        if isinstance(mechanism, PermuteAndFlip):
            self.scores.append(statistics[0][0])
            self.offered.append(statistics[1][0])
            return np.argmax(np.where(statistics[1], statistics[0], -(2**62)), axis=1)
        return statistics[0]


def opened(codes, labels, cuts=(), splits=None, rule=RULE):
    table = MemoryTable(codes, labels, N_CODES, 2)
    return Queryable(table, Fraction(10**4), Unnoisy()).open_round(rule, None, cuts, splits)


def scores_of(asked, splits=None):
    """The scores of cuts by code, and those of candidates, (1 + cuts of the splits, features)."""
    asked.select_cut(SELECTION, ORDERED, np.ones(OFFSETS[-1], dtype=np.bool_))
    asked.select(SELECTION, penalties(splits))
    cut, candidates = asked._randomness.scores[-2:]
    return cut, candidates.reshape(-1, len(N_CODES))


def plain_sums(codes, channels, cuts, feature):
    """The sums by the cells of cuts and the codes of a feature, record by record."""
    sums = np.zeros((2 ** len(cuts), N_CODES[feature], channels.shape[1]), dtype=np.int64)
    for code, added in zip(codes, channels, strict=True):
        cell = 0
        for cut in cuts:
            cell = 2 * cell + cut.side[code[cut.by]]
        sums[cell, code[feature]] += added
    return sums


def absolute(sums):
    """The absolute gradients of sums of one gradient and one curvature."""
    return int(np.abs(sums[..., 0]).sum())


def cuts_of(splits):
    """Every cut by its definition: between groups of a feature with an order, of one group alone without."""
    for by, group, ordered in zip(splits.by, splits.group, splits.ordered, strict=True):
        for last in range(int(group.max())):
            yield Cut(by, np.where(group > last if ordered else group != last, 1, 0))


def test_a_cut_has_the_codes_up_to_one_or_that_one_alone_on_its_first_side():
    assert Cut.at(2, 1, 4, ordered=True).side.tolist() == [0, 0, 1, 1]
    assert Cut.at(2, 1, 4, ordered=False).side.tolist() == [1, 0, 1, 1]
    for ordered, code in product((True, False), range(4)):
        assert Cut.at(0, code, 4, ordered=ordered).code == code


def test_cells_double_with_each_cut_and_the_first_has_the_highest_digit():
    for cuts in CUTS:
        cells = cells_of(cuts)
        assert cells.n_cells == 2 ** len(cuts)
        assert cells.by.tolist() == [cut.by for cut in cuts]
        for row, cut in zip(cells.side, cuts, strict=True):
            assert np.array_equal(row[: len(cut.side)], cut.side)
        assert cells.by.dtype == cells.side.dtype == np.int64


def test_splits_are_the_cuts_between_groups_by_number():
    assert len(SPLITS) == 7 + 4
    assert SPLITS.groups.feature.tolist() == [0, 1]
    assert SPLITS.groups.group.max() + 1 == 8 + 5
    assert SPLITS.groups.group.dtype == SPLITS.groups.feature.dtype == np.int64
    expected = list(cuts_of(SPLITS))
    assert len(expected) == len(SPLITS)
    for number, cut in enumerate(expected):
        assert SPLITS.cut(number).by == cut.by
        assert SPLITS.cut(number).side.tolist() == cut.side.tolist()


@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize("splits", [None, SPLITS], ids=["single", "splits"])
def test_sums_and_scores_are_those_of_a_plain_loop(cuts, splits):
    codes, labels = records(300)
    asked = opened(codes, labels, cuts, splits)
    channels = RULE(np.zeros((300, 1), dtype=np.int32), labels)
    of_cuts, of_candidates = scores_of(asked, splits)
    for j in range(4):
        sums = plain_sums(codes, channels, cuts, j)
        assert np.array_equal(asked.sums(Candidate(j), NOISE), sums)
        assert of_candidates[0, j] == absolute(sums)
        for code in range(N_CODES[j]):
            cut = Cut.at(j, code, int(N_CODES[j]), ordered=ORDERED[j])
            sides = plain_sums(codes, channels, (*cuts, cut), 0).sum(axis=1)
            assert of_cuts[OFFSETS[j] + code] == absolute(sides)
    for number, cut in enumerate(() if splits is None else cuts_of(splits)):
        for j in range(4):
            sums = plain_sums(codes, channels, (*cuts, cut), j)
            assert np.array_equal(asked.sums(Candidate(j, number, cut), NOISE), sums)
            assert of_candidates[1 + number, j] == absolute(sums)
    assert asked.whole_sums(NOISE).tolist() == channels.sum(axis=0).tolist()
    assert of_cuts.dtype == of_candidates.dtype == np.int64


FIRST = np.concatenate([np.arange(n) // 3 for n in N_CODES])
SECOND = np.concatenate([np.arange(n) // 2 + 5 for n in N_CODES])


def opened_pairs(codes, labels, *pairs, **kind):
    curator = Queryable(MemoryTable(codes, labels, N_CODES, 2), Fraction(10**4), Unnoisy())
    return curator.open_round(RULE, pairs=Pairs(*pairs), **kind)


@pytest.mark.parametrize("by", [[0], [2, 0], [3, 1, 0], [1, 3, 2, 0]])
def test_pairs_are_scored_by_the_sums_over_pairs_of_groups_and_the_best_less_its_penalty_is_chosen(by):
    codes, labels = records(2500)  # more than are summed up at once
    asked = opened_pairs(codes, labels, by, FIRST, SECOND, OFFSETS)
    channels = RULE(np.zeros((2500, 1), dtype=np.int32), labels)[:, : RULE.scored]
    expected = np.zeros((len(by), 4), dtype=np.int64)
    for (p, first), j in product(enumerate(by), range(4)):
        sums = np.zeros((99, 99, RULE.scored), dtype=np.int64)
        groups = (group[OFFSETS[i] + codes[:, i].astype(int)] for group, i in ((FIRST, first), (SECOND, j)))
        np.add.at(sums, tuple(groups), channels)
        expected[p, j] = np.abs(sums).sum()
    penalty = np.arange(4 * len(by)).reshape(-1, 4) * 700
    may = np.array(by)[:, None] != np.arange(4)
    best = int(np.argmax(np.where(may, expected - penalty, -(2**62)))) // 4
    assert asked.select_pair(SELECTION, penalty) == best
    assert np.array_equal(asked._randomness.scores[-1].reshape(-1, 4)[may], (expected - penalty)[may])
    assert np.array_equal(asked._randomness.offered[-1].ravel(), may.ravel())


def test_a_round_of_pairs_selects_pairs_alone_and_others_select_none():
    codes, labels = records(30)
    asked = opened_pairs(codes, labels, [0], FIRST, SECOND, OFFSETS)
    with pytest.raises(ConfigurationError, match="only selects pairs"):
        asked.select(SELECTION, penalties(None))
    with pytest.raises(ConfigurationError, match="has no pairs"):
        opened(codes, labels).select_pair(SELECTION, np.zeros((1, 4), dtype=np.int64))
    for kind in ({"cuts": (ON_B,)}, {"splits": SPLITS}, {"whole": True}, {"before": asked}):
        with pytest.raises(ConfigurationError, match="a round of pairs takes no"):
            opened_pairs(codes, labels, [0], FIRST, SECOND, OFFSETS, **kind)


@pytest.mark.parametrize(
    "wrong",
    [
        ([], FIRST, SECOND, OFFSETS),
        ([0, 0], FIRST, SECOND, OFFSETS),
        ([4], FIRST, SECOND, OFFSETS),
        ([-1], FIRST, SECOND, OFFSETS),
        ([0], FIRST[1:], SECOND, OFFSETS),
        ([0], FIRST, SECOND[None], OFFSETS),
        ([0], FIRST, SECOND, OFFSETS[[0, 2, 3, 4]]),
    ],
)
def test_pairs_of_other_features_or_codes_are_refused(wrong):
    with pytest.raises(ConfigurationError, match="build them anew"):
        opened_pairs(*records(30), *wrong)


@pytest.mark.parametrize("channels", [1, 3])
def test_scores_of_cuts_are_those_of_a_plain_twin(channels):
    sums = np.random.default_rng(channels).integers(-9, 10, (2, OFFSETS[-1], channels))
    for j in range(1, 4):  # every feature's codes hold every record once
        last = OFFSETS[j + 1] - 1
        sums[:, last] += sums[:, : OFFSETS[1]].sum(axis=1) - sums[:, OFFSETS[j] : OFFSETS[j + 1]].sum(axis=1)
    expected = []
    for j in range(4):
        own = sums[:, OFFSETS[j] : OFFSETS[j + 1]]
        for code in range(N_CODES[j]):
            first = [c <= code if ORDERED[j] else c == code for c in range(N_CODES[j])]
            expected.append(sum(np.abs(own[:, np.equal(first, side)].sum(axis=1)).sum() for side in (True, False)))
    assert cut_scores(sums, OFFSETS, np.array(ORDERED)).tolist() == expected


def test_the_best_candidate_less_its_penalty_is_chosen_among_those_offered():
    asked = opened(*records(200), (ON_C,), SPLITS)
    scores = scores_of(asked, SPLITS)[1]
    penalty = np.arange(scores.size).reshape(scores.shape) * 1000
    possible = np.ones(scores.shape, dtype=np.bool_)
    for number in range(len(SPLITS)):
        possible[1 + number, SPLITS.cut(number).by] = False
    best = asked.select(SELECTION, penalty)
    row, feature = np.unravel_index(np.argmax(np.where(possible, scores - penalty, -(2**62))), scores.shape)
    assert (best.feature, best.number) == (feature, None if row == 0 else row - 1)
    assert np.array_equal(asked._randomness.offered[-1].reshape(scores.shape), possible)
    offered = np.zeros(scores.shape, dtype=np.bool_)
    offered[[0, 5], [2, 3]] = True
    offered[1, 0] = True  # a feature on both sides of a cut of its own is none that splits can be
    found = asked.select(SELECTION, penalty, offered)
    assert (found.feature, found.number) in {(2, None), (3, 4)}
    assert not asked._randomness.offered[-1].reshape(scores.shape)[1, 0]
    if found.cut is not None:
        assert np.array_equal(found.cut.side, SPLITS.cut(4).side)


@pytest.mark.parametrize("place", [0, 4, 9, 10, 13, 17, 30])
def test_a_cut_is_that_of_its_feature_at_the_code_that_was_chosen(place):
    asked = opened(*records(200))
    offered = np.zeros(OFFSETS[-1], dtype=np.bool_)
    offered[place] = True
    cut = asked.select_cut(SELECTION, ORDERED, offered)
    feature = int(np.searchsorted(OFFSETS, place, side="right")) - 1
    expected = Cut.at(feature, place - int(OFFSETS[feature]), int(N_CODES[feature]), ordered=ORDERED[feature])
    assert (cut.by, cut.side.tolist()) == (feature, expected.side.tolist())


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("cuts", CUTS[::3], ids=len)
def test_one_record_more_moves_each_score_and_sum_by_at_most_its_norms(seed, cuts):
    codes, labels = records(30, seed)
    fewer, more = (opened(codes[:n], labels[:n], cuts, SPLITS) for n in (29, 30))
    for before, after in zip(scores_of(fewer, SPLITS), scores_of(more, SPLITS), strict=True):
        assert np.abs(after - before).max() <= RULE.scored_l1
    for number, j in product((None, *range(len(SPLITS))), range(4)):
        candidate = Candidate(j) if number is None else Candidate(j, number, SPLITS.cut(number))
        assert np.abs(more.sums(candidate, NOISE) - fewer.sums(candidate, NOISE)).sum() <= RULE.l1


class Signed:
    """One gradient of 3, of a sign by class, and a curvature of 1: every norm is met by every record."""

    columns, scored, channels, scored_l1, l1, l2_squared = 0, 1, 2, 3, 4, 10

    def __call__(self, margins, labels):
        return np.stack([np.where(labels == 1, 3, -3), np.ones(len(labels), dtype=np.int64)], axis=1)


KINDS = tuple(product((0, 1), (0, 1, 2), (0, 1)))  # two features and a class


def small(data, cuts):
    table = np.array(data, dtype=np.int64).reshape(-1, 3)
    parts = table[:, :2].astype(np.uint8), table[:, 2].astype(np.int16), np.array([2, 3]), 2
    splits = Splits([0, 1], [np.arange(2), np.arange(3)], [False, True])
    randomness = Unnoisy()
    asked = Queryable(MemoryTable(*parts), Fraction(100), randomness).open_round(Signed(), None, cuts, splits)
    selection = PermuteAndFlip(Fraction(1), 6)
    asked.select_cut(selection, [False, True], np.ones(5, dtype=np.bool_))
    asked.select(selection, np.zeros((1 + len(splits), 2), dtype=np.int64))
    candidates = [Candidate(0), Candidate(1), *(Candidate(j, n, splits.cut(n)) for n in range(3) for j in range(2))]
    sums = [asked.sums(candidate, Geometric(Fraction(1), 4)) for candidate in candidates]
    return np.concatenate(randomness.scores), sums


TWO_CUTS = Cut(1, np.array([0, 1, 1])), Cut(0, np.array([1, 0]))


@pytest.mark.parametrize(
    "cuts", [(), *(pytest.param(cuts, marks=pytest.mark.full) for cuts in (TWO_CUTS[1:], TWO_CUTS))], ids=len
)
def test_norms_are_exact_on_all_small_data_sets_and_every_record_more(cuts):
    """No score and no sums move by more than their norms, and some by as much, in either direction."""
    moved = set()
    for data in (each for n in range(3) for each in combinations_with_replacement(KINDS, n)):
        scores, sums = small(data, cuts)
        for kind in KINDS:
            scores_after, sums_after = small((*data, kind), cuts)
            moved |= set((scores_after - scores).tolist())
            assert {np.abs(after - before).sum() for before, after in zip(sums, sums_after, strict=True)} == {4}
    assert moved == {-3, 3}


def test_a_round_with_cuts_and_splits_charges_what_one_without_charges():
    codes, labels = records(20)
    for cuts, splits in ((), None), ((), SPLITS), ((ON_C, ON_D), SPLITS):
        curator = Queryable(MemoryTable(codes, labels, N_CODES, 2), Fraction(10), Unnoisy())
        asked = curator.open_round(RULE, None, cuts, splits)
        chosen = asked.select(SELECTION, penalties(splits))
        asked.sums(chosen, Geometric(Fraction(2), RULE.l1))
        assert float(curator.spent) == pytest.approx(3)
        asked.select_cut(SELECTION, ORDERED, np.ones(OFFSETS[-1], dtype=np.bool_))
        assert float(curator.spent) == pytest.approx(4)


def test_a_selection_of_a_smaller_range_is_refused_and_charges_nothing():
    asked = opened(*records(20), (), SPLITS)
    less = PermuteAndFlip(Fraction(1), 2 * RULE.scored_l1 - 1)
    for ask in (
        lambda: asked.select(less, penalties(SPLITS)),
        lambda: asked.select_cut(less, ORDERED, np.ones(OFFSETS[-1], dtype=np.bool_)),
    ):
        with pytest.raises(ConfigurationError, match="absolute gradients"):
            ask()
    assert not asked._randomness.scores


def changed(**parts):
    return Splits(**{"by": SPLITS.by, "group": SPLITS.group, "ordered": SPLITS.ordered, **parts})


@pytest.mark.parametrize(
    ("cuts", "splits"),
    [
        ((), changed(by=[0, 4])),
        ((), changed(by=[0, -3])),
        ((), changed(by=[0])),
        ((), changed(by=[1, 0])),
        ((), changed(ordered=[True])),
        ((), changed(group=[SPLITS.group[0] - 1, SPLITS.group[1]])),
        ((), changed(group=[SPLITS.group[0] + 1, SPLITS.group[1]])),
        ((), changed(group=[2 * SPLITS.group[0], SPLITS.group[1]])),
        ((), changed(group=[SPLITS.group[0][1:], SPLITS.group[1]])),
        ((), Splits([], [], [])),
        ((), Splits([1, 1], [np.array([0, 0, 1, 1, 1]), np.arange(5)], [True, False])),
        ((Cut(4, ON_B.side),), None),
        ((Cut(-1, ON_B.side),), None),
        ((Cut(-1, ON_D.side),), None),
        ((Cut(0, ON_B.side),), None),
        ((Cut(1, ON_B.side[1:]),), None),
        ((Cut(1, 2 * ON_B.side),), None),
        ((Cut(1, -ON_B.side),), None),
        ((Cut(1, 0 * ON_B.side),), None),
        ((ON_C, Cut(1, ON_B.side + 1)), None),
        ((Cut(1, np.array([0, 1, 2, 1, 0])),), SPLITS),
    ],
)
def test_cuts_of_other_codes_or_that_put_a_record_in_two_cells_or_none_are_refused(cuts, splits):
    with pytest.raises(ConfigurationError, match="other features or codes"):
        opened(*records(20), cuts, splits)


def test_what_was_checked_is_what_a_round_answers_by():
    """Arrays that are written to afterwards are others."""
    group, side, by, ordered = [part.copy() for part in SPLITS.group], ON_C.side.copy(), [0, 1], [True, False]
    splits, cut = Splits(by, group, ordered), Cut(2, side)
    codes, labels = records(50)
    asked = opened(codes, labels, (cut,), splits)
    expected = scores_of(asked, splits)
    for array in (*group, side):
        array[:] = 0
    by[:], ordered[:] = [2, 0], [False, True]
    for after in (asked, opened(codes, labels, (cut,), splits), opened(codes, labels, (ON_C,), SPLITS)):
        for before, now in zip(expected, scores_of(after, splits), strict=True):
            assert np.array_equal(before, now)
    for array in (*splits.group, cut.side, Cut.at(0, 1, 3, ordered=True).side):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


# A round after the one before: one side of the last cut is added up, and the other is the rest.


@pytest.mark.parametrize("rule", [RULE, Logistic(3, normal=True)], ids=["two classes", "three"])
@pytest.mark.parametrize("halvings", [0, 1])
def test_a_round_by_the_one_before_answers_as_one_without_it(rule, halvings):
    codes, labels = records(500)
    curator = Queryable(MemoryTable(codes, labels, N_CODES, 2), Fraction(10**4), Unnoisy())
    curator.draw_sample(1)
    before = curator.open_round(rule, halvings=halvings)
    for cuts in (ON_C,), (ON_C, ON_D), (ON_C, ON_D, ON_B):
        before = curator.open_round(rule, None, cuts, halvings=halvings, before=before)
        alone = curator.open_round(rule, None, cuts, halvings=halvings)
        assert np.array_equal(before._sums, alone._sums)
        assert before._sums.any()


def add_one(codes, margins):
    margins += 1


add_one.columns = 1
STALE = {
    "margins": lambda c: c.update_margins(add_one),
    "votes in a scan": lambda c: c.open_round(RULE, add_one),
    "codes": lambda c: c.merge([np.arange(n) for n in N_CODES]),
    "a sample": lambda c: c.draw_sample(1),
}


@pytest.mark.parametrize("change", STALE)
def test_a_round_takes_no_answers_from_before_a_change(change):
    curator = Queryable(MemoryTable(*records(50), N_CODES, 2), Fraction(10**4), Unnoisy())
    before = curator.open_round(RULE, None, (ON_B,))
    curator.open_round(RULE, None, (ON_B, ON_C), before=before)
    STALE[change](curator)
    with pytest.raises(ConfigurationError, match="the round before"):
        curator.open_round(RULE, None, (ON_B, ON_C), before=before)
    assert curator.open_round(RULE, None, (ON_B, ON_C))._sums.any()


@pytest.mark.parametrize(
    "given",
    [
        {"cuts": ()},
        {"cuts": (ON_C, ON_D)},
        {"cuts": (ON_B, ON_C, ON_D)},
        {"rule": RULE.scores},
        {"halvings": 1},
        {"votes": add_one},
        {"splits": SPLITS},
        {"bins": CellBins(np.zeros(4, dtype=np.int64), np.zeros((4, N_CODES[0]), dtype=np.int64))},
    ],
    ids=["no cuts", "two other cuts", "three cuts", "another rule", "a sample", "votes", "splits", "one feature"],
)
def test_the_round_before_is_of_the_same_rule_records_and_cuts(given):
    curator = Queryable(MemoryTable(*records(50), N_CODES, 2), Fraction(10**4), Unnoisy())
    curator.draw_sample(1)
    before = curator.open_round(RULE, None, (ON_B,))
    with pytest.raises(ConfigurationError, match="the round before"):
        curator.open_round(**{"rule": RULE, "cuts": (ON_B, ON_C), "before": before, **given})
    halved = curator.open_round(RULE, None, (ON_B,), SPLITS)
    with pytest.raises(ConfigurationError, match="the round before"):
        curator.open_round(RULE, None, (ON_B, ON_C), before=halved)


@pytest.mark.parametrize(
    "other",
    [
        {"whole": True},
        {"bins": CellBins(np.array([0]), np.zeros((1, N_CODES[0]), dtype=np.int64))},
        {"bins": CellBins(np.array([0]), np.where(np.arange(N_CODES[0]) > 0, OFFSETS[-1] - 1, 0)[None])},
    ],
    ids=["whole", "one group", "as many groups as codes"],
)
def test_the_round_before_is_by_cell_and_code(other):
    """Otherwise a record would add to the difference in places where it has no code."""
    curator = Queryable(MemoryTable(*records(50), N_CODES, 2), Fraction(10**4), Unnoisy())
    before = curator.open_round(RULE, **other)
    with pytest.raises(ConfigurationError, match="the round before"):
        curator.open_round(RULE, None, (ON_B,), before=before)


def test_the_round_before_is_of_the_same_curator():
    """Sums of other records would enter the answer without being charged to these."""
    one, other = (Queryable(MemoryTable(*records(n), N_CODES, 2), Fraction(10**4), Unnoisy()) for n in (50, 51))
    before = other.open_round(RULE, None, (ON_B,))
    with pytest.raises(ConfigurationError, match="the round before"):
        one.open_round(RULE, None, (ON_B, ON_C), before=before)
