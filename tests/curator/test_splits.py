"""Split candidates: each puts a record into one cell, whatever the record is, and a round's answers are those of a plain loop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.boosting.gradients import Gradients
from hedgerow.boosting.steps import can_be_cut, condition, of_split, splits_of, widest_side
from hedgerow.curator import Cut, Queryable, Splits
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Geometric, PermuteAndFlip, Randomness
from hedgerow.schema import Encoder
from hedgerow.table import MemoryTable

SCHEMA = hr.Schema(
    {
        "a": hr.Numeric(0, 1),
        "b": hr.Categorical(["x", "y", "z"]),
        "c": hr.Numeric(0, 1),
        "d": hr.Categorical(list(range(40))),
    },
    classes=["no", "yes"],
)
ENCODER = Encoder(SCHEMA, 9)
N_CODES = ENCODER.n_codes
SPLITS = splits_of(ENCODER, [0, 1])
ON_B = Cut(1, np.array([1, 0, 1, 1, 0]))
# Feature 0 by itself, then on both sides of a cut of 1; 1 on both sides of one of 3, and 2 of one of its own.
ON_C = Cut(2, (np.arange(N_CODES[2]) > 4).astype(int))
ON_D = Cut(3, np.arange(N_CODES[3]) % 2)
DEEP = splits_of(ENCODER, [0, 0, 1, 2], [None, ON_B, ON_D, ON_C])
RULE = Gradients(2, normal=False)


@pytest.fixture(params=[SPLITS, DEEP], ids=["one cut", "two cuts"])
def splits(request):
    return replace(request.param)  # with nothing worked out before


class Unnoisy(Randomness):
    """Draws nothing: noise is zero, and the best score wins."""

    def draw(self, mechanism, *statistics):
        if isinstance(mechanism, PermuteAndFlip):
            return np.argmax(np.where(statistics[1], statistics[0], -(2**62)), axis=1)
        return statistics[0]


def records(count, seed=0):
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(0, n, count) for n in N_CODES], axis=1).astype(np.uint8)
    return codes, generator.integers(0, 2, count).astype(np.int16)


def opened(codes, labels, epsilon=100, splits=SPLITS):
    table = MemoryTable(codes, labels, N_CODES, 2)
    return Queryable(table, Fraction(epsilon), Unnoisy()).open_round(RULE, None, replace(splits))


def cell_of(split, code):
    """The cell of a record of these codes: the cells of the first side come first."""
    side = 0
    for cut in split.cuts:
        side = 2 * side + cut.side[code[cut.by]]
    return split.into[code[split.feature]] + side * (int(split.into[-1]) + 1)


def test_what_may_be_cut_and_into_what():
    assert can_be_cut(ENCODER).tolist() == [True, True, True, False]
    assert widest_side(N_CODES, np.array(SCHEMA.is_numeric)) == N_CODES[3]
    # Eight cuts of nine bins, the last of them for missing cells, and each declared value and missing: with three features each.
    splits = replace(SPLITS)
    assert len(splits) == 3 * 8 + 3 * 4
    cuts = [splits[number].cuts[0] for number in range(len(splits))]
    assert {(cut.by, splits[number].feature) for number, cut in enumerate(cuts)} == {
        *((0, k) for k in (1, 2, 3)),
        *((1, k) for k in (0, 2, 3)),
    }
    assert splits.groups.group.dtype == splits.groups.feature.dtype == np.int64
    sides = {tuple(cut.side.tolist()) for cut in cuts if cut.by == 0}
    assert all(side[0] == 0 and side[-1] == 1 for side in sides)
    assert len(sides) == 8


def test_what_is_cut_on_both_sides_of_a_cut():
    """Neither feature that is cut is the one whose cells are asked; each side of the first cut has two of its own."""
    deep = replace(DEEP)
    assert len(deep) == 3 * 8 + 2 * 8 + 2 * 4 + 3 * 8
    found = [deep[number] for number in range(len(deep))]
    assert [tuple(cut.by for cut in split.cuts) for split in found] == 24 * [(0,)] + 16 * [(1, 0)] + 8 * [
        (3, 1)
    ] + 24 * [(2, 2)]
    assert {split.feature for split in found[24:40]} == {2, 3}
    assert {split.feature for split in found[40:48]} == {0, 2}
    assert {split.feature for split in found[48:]} == {0, 1, 3}
    assert deep.n_sides.tolist() == [split.n_sides for split in found] == 24 * [2] + 48 * [4]
    assert deep.n_cells.tolist() == [split.n_sides * (int(split.into[-1]) + 1) for split in found]
    assert all(split.cuts[0] is ON_B for split in found[24:40])
    assert deep.n_first == 9
    assert deep.groups.n_groups == 9 + 2 * 9 + 2 * 5 + 2 * 9


def test_a_candidate_is_found_by_its_key_among_its_own_and_no_others(splits):
    keys = [splits[number].key for number in range(len(splits))]
    assert len(set(keys)) == len(keys)
    assert [splits.number(key) for key in keys] == list(range(len(keys)))
    for other in (splits_of(ENCODER, [1]), splits_of(ENCODER, [1], [ON_D]), splits_of(ENCODER, [0], [ON_C])):
        found = [other.number(key) for key in keys]
        assert [number for number in found if number is not None] == [
            number for number in range(len(other)) if other[number].key in keys
        ]
        assert [None if number is None else other[number].key for number in found] == [
            key if number is not None else None for key, number in zip(keys, found, strict=True)
        ]


def test_a_condition_is_said_in_the_units_of_the_schema():
    assert condition(ENCODER, 0, 2) == "a < 0.333333"
    assert condition(ENCODER, 0, 8) == "a is not missing"
    assert condition(ENCODER, 1, 1) == "b = y"


def test_sums_and_scores_are_those_of_a_plain_loop(splits):
    codes, labels = records(300)
    asked = opened(codes, labels, splits=splits)
    channels = RULE(np.zeros((300, 2), dtype=np.int32), labels)
    noise = Geometric(Fraction(1), RULE.l1)
    expected = []
    for number in range(len(splits)):
        split = splits[number]
        sums = np.zeros((splits.n_cells[number], 2), dtype=np.int64)
        np.add.at(sums, [cell_of(split, code) for code in codes], channels)
        assert np.array_equal(asked.sums(4 + number, noise), sums)
        expected.append(np.abs(sums[:, 0]).sum())
    singles = [np.abs(np.bincount(codes[:, j], channels[:, 0], n)).sum() for j, n in enumerate(N_CODES)]
    assert np.array_equal(asked._scores(), singles + expected)
    assert asked._scores().dtype == np.int64
    assert np.array_equal(asked.scores(Geometric(Fraction(1), 4 * RULE.scored_l1)), singles)
    for j, n in enumerate(N_CODES):
        plain = np.stack([np.bincount(codes[:, j], channel, n) for channel in channels.T], axis=1)
        assert np.array_equal(asked.sums(j, noise), plain)


def test_the_best_candidate_less_its_penalty_is_chosen_among_those_offered():
    codes, labels = records(200)
    asked = opened(codes, labels)
    scores, mechanism = asked._scores(), PermuteAndFlip(Fraction(1), 2 * RULE.scored_l1)
    penalty = np.arange(len(scores)) * 1000
    assert asked.select(mechanism, penalty) == np.argmax(scores - penalty)
    offered = np.zeros(len(scores), dtype=np.bool_)
    offered[[2, 7]] = True
    assert asked.select(mechanism, penalty, offered) in (2, 7)


@pytest.mark.parametrize("seed", range(20))
def test_one_record_more_moves_each_score_and_sum_by_at_most_its_norms(seed, splits):
    codes, labels = records(30, seed)
    fewer, more = opened(codes[:-1], labels[:-1], splits=splits), opened(codes, labels, splits=splits)
    assert np.abs(more._scores() - fewer._scores()).max() <= RULE.scored_l1
    noise = Geometric(Fraction(1), RULE.l1)
    for candidate in range(4 + len(splits)):
        assert np.abs(more.sums(candidate, noise) - fewer.sums(candidate, noise)).sum() <= RULE.l1


def test_a_round_with_splits_charges_what_one_without_charges():
    codes, labels = records(20)
    for splits in (None, SPLITS, DEEP):
        curator = Queryable(MemoryTable(codes, labels, N_CODES, 2), Fraction(10), Unnoisy())
        asked = curator.open_round(RULE, None, splits)
        chosen = asked.select(
            PermuteAndFlip(Fraction(1), 2 * RULE.scored_l1), np.zeros(4 + len(splits or ()), dtype=np.int64)
        )
        asked.sums(chosen, Geometric(Fraction(2), RULE.l1))
        assert float(curator.spent) == pytest.approx(3)


def test_noise_for_fewer_features_than_there_are_is_refused():
    asked = opened(*records(20))
    with pytest.raises(ConfigurationError, match="calibrated for less"):
        asked.scores(Geometric(Fraction(1), 3 * RULE.scored_l1))
    with pytest.raises(ConfigurationError, match="absolute gradients"):
        asked.select(PermuteAndFlip(Fraction(1), 2 * RULE.scored_l1 - 1), np.zeros(4 + len(SPLITS), dtype=np.int64))


def changed(**parts):
    names = ("by", "group", "cuts", "into")
    return Splits(**{**{name: list(getattr(SPLITS, name)) for name in names}, **parts})


@pytest.mark.parametrize(
    "splits",
    [
        splits_of(Encoder(SCHEMA, 8), [0, 1]),
        changed(by=[0, 4]),
        changed(by=[0]),
        changed(group=[SPLITS.group[0] - 1, SPLITS.group[1]]),
        changed(group=[SPLITS.group[0] + 1, SPLITS.group[1]]),
        changed(group=[SPLITS.group[0][1:], SPLITS.group[1]]),
        changed(into=[into + 1 for into in SPLITS.into]),
        changed(into=[into[::-1] for into in SPLITS.into]),
        changed(into=[2 * into for into in SPLITS.into]),
        changed(into=SPLITS.into[1:]),
        changed(by=[], group=[], cuts=[]),
        changed(earlier=[None]),
        changed(earlier=[None, None, None]),
        changed(earlier=[None, Cut(4, ON_B.side)]),
        changed(earlier=[None, Cut(-1, ON_B.side)]),
        changed(earlier=[None, Cut(-1, ON_D.side)]),
        changed(earlier=[None, Cut(0, ON_B.side)]),
        changed(earlier=[None, Cut(1, ON_B.side[1:])]),
        changed(earlier=[None, Cut(1, 2 * ON_B.side)]),
        changed(earlier=[None, Cut(1, -ON_B.side)]),
        changed(earlier=[None, Cut(1, 0 * ON_B.side)]),
    ],
)
def test_splits_of_other_codes_are_refused(splits):
    with pytest.raises(ConfigurationError, match="these splits read other features or codes"):
        opened(*records(20), splits=splits)


def test_what_was_checked_is_what_a_round_answers_by():
    """Arrays that are written to afterwards are others, and cuts that are numbers are read as truth."""
    cuts = [own.astype(np.int64) * 7 for own in SPLITS.cuts]
    group, into = ([array.copy() for array in part] for part in (SPLITS.group, SPLITS.into))
    by, earlier = [0, 1], [None, Cut(0, np.arange(10) % 2)]
    splits = Splits(by, group, cuts, into, earlier)
    codes, labels = records(50)
    asked = opened(codes, labels, splits=splits)
    expected = asked._scores()
    for array in (*group, *cuts, *into):
        array[:] = 0
    by[:], earlier[:] = [2, 0], [None, None]
    assert np.array_equal(opened(codes, labels, splits=splits)._scores(), expected)
    assert np.array_equal(expected[: 4 + 24], opened(codes, labels)._scores()[: 4 + 24])
    for array in (*splits.group, *splits.cuts, *splits.into, ON_B.side):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_a_step_adds_to_each_record_the_votes_of_its_cell(splits):
    codes, _ = records(100)
    for number in (0, 5, 9, 30, len(splits) - 1):
        split = splits[number]
        votes = np.random.default_rng(number).integers(-500, 500, (splits.n_cells[number], 2))
        margins = np.ones((100, 2), dtype=np.int32)
        of_split(split, votes)(codes, margins)
        assert np.array_equal(margins, 1 + votes[[cell_of(split, code) for code in codes]])
