"""Weights of records: what the papers say, in integers, of one record at a time, and never above the unit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import Told, make_table
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hedgerow.curator import Queryable
from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import (
    Geometric,
    PerRecordCoin,
    Randomness,
    WeightedCoin,
)
from hedgerow.scores import Error, Gini, Max, multiway
from hedgerow.table import ClassCounts, Histogram
from hedgerow.trees.boosting import UNIT, VOTE_STEPS, Lookup, MadaBoost, SmoothBoost

FAMILIES = [MadaBoost(), SmoothBoost(), SmoothBoost(0.5), SmoothBoost(0.01)]
ROUNDS = [0, 1, 7, 100]
BOTH = np.array([[True, True]])


def of_margin(lookup, margin):
    """Return the weight of a record of two classes whose class leads by so many steps."""
    return int(lookup(np.array([[margin, 0]], dtype=np.int64), np.array([0], dtype=np.int16))[0])


def plain(lookup, margins, label):
    """Return the weight of one record, by the words of the module."""
    if label < 0:
        return 0
    lead = margins[label] - max(m for k, m in enumerate(margins) if k != label)
    place = min(max(lead - lookup.shift, 0), len(lookup.table) - 1)
    return int(lookup.table[place])


@pytest.mark.parametrize("margin", [-5000, -1, 0, 1, 511, 512, 1024, 2000, 4096, 10_000, 12_287, 12_288, 50_000])
def test_madaboosts_weight_is_the_exponential_of_minus_the_margin_and_at_most_one(margin):
    expected = min(1.0, math.exp(-margin / 1024))
    assert of_margin(MadaBoost().lookup(3), margin) == round(65536 * expected)


@pytest.mark.parametrize("gamma", [0.01, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_smoothboosts_weight_is_servedios(gamma, rounds):
    lookup = SmoothBoost(gamma).lookup(rounds)
    theta = gamma / (2 + gamma)
    for margin in (-9000, 0, 100, 1024, 3000, 9999, 30_000):
        steps = margin - round(theta * rounds * 1024)  # N, its threshold in whole steps
        expected = 1.0 if steps <= 0 else (1 - gamma) ** (steps / 1024 / 2)
        assert of_margin(lookup, margin) == pytest.approx(65536 * expected, abs=0.5001)


def test_smoothboost_forgives_more_as_rounds_go_by():
    weights = [of_margin(SmoothBoost().lookup(rounds), 1024) for rounds in ROUNDS]
    assert weights == sorted(weights)
    assert weights[0] < weights[-1] == UNIT


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("rounds", ROUNDS)
def test_weights_fall_from_the_unit_and_are_never_above_it(family, rounds):
    lookup = family.lookup(rounds)
    table = lookup.table.astype(np.int64)
    assert lookup.unit == UNIT == table[0]
    assert table.dtype == np.int64
    assert lookup.table.dtype == np.uint64
    assert np.all(np.diff(table) <= 0)
    assert table[-1] in (0, 1)  # what is beyond the table's end weighs next to nothing


RECORDS = st.integers(2, 4).flatmap(
    lambda classes: st.lists(
        st.tuples(st.lists(st.integers(-(2**45), 2**45) | st.integers(-20_000, 20_000), min_size=classes, max_size=classes),
                  st.integers(-1, classes - 1)),
        min_size=1,
        max_size=12,
    )
)  # fmt: skip


@given(RECORDS, st.sampled_from(FAMILIES), st.sampled_from(ROUNDS))
@settings(deadline=None)
def test_a_margin_is_the_lead_over_the_best_other_class(records, family, rounds):
    lookup = family.lookup(rounds)
    margins = np.array([m for m, _ in records], dtype=np.int64)
    labels = np.array([label for _, label in records], dtype=np.int16)
    found = lookup(margins, labels)
    assert found.dtype == np.uint64
    assert found.tolist() == [plain(lookup, m, label) for m, label in records]
    assert found.max() <= lookup.unit
    assert np.all(found[labels < 0] == 0)


@given(RECORDS, st.sampled_from(FAMILIES), st.data())
@settings(deadline=None)
def test_no_record_moves_the_weight_of_another(records, family, data):
    lookup = family.lookup(5)

    def weights(some):
        return lookup(
            np.array([m for m, _ in some], dtype=np.int64).reshape(len(some), len(records[0][0])),
            np.array([label for _, label in some], dtype=np.int16),
        ).tolist()

    whole = weights(records)
    place = data.draw(st.integers(0, len(records) - 1))
    assert weights(records[:place] + records[place + 1 :]) == whole[:place] + whole[place + 1 :]
    assert weights(records + [records[place]] * 3) == whole + [whole[place]] * 3
    order = data.draw(st.permutations(range(len(records))))
    assert weights([records[i] for i in order]) == [whole[i] for i in order]


@given(arrays(np.int64, (5, 3), elements=st.integers(-30_000, 30_000)), st.sampled_from([1, 7, 2**16, 2**31, 2**32]))
@settings(deadline=None)
def test_other_units_are_rounded_down(margins, unit):
    for lookup in (MadaBoost().lookup(0), SmoothBoost().lookup(9)):
        inside = lookup.within(unit)
        labels = np.array([0, 1, 2, 0, 1], dtype=np.int16)
        before, after = lookup(margins, labels), inside(margins, labels)
        assert inside.unit == unit
        assert [int(w) for w in after] == [int(w) * unit // UNIT for w in before]
        assert after.max() <= unit


@pytest.mark.parametrize("shape", [(3, 2), (5, 2), (4,)])
def test_margins_of_other_records_are_refused(shape):
    """A kernel reads as many rows as there are labels."""
    with pytest.raises(ValueError, match="margins"):
        MadaBoost().lookup(0)(np.zeros(shape, dtype=np.int64), np.zeros(4, dtype=np.int16))


def test_one_record_in_two_halves_its_chances_at_most():
    """Half its weight in 32-bit words: what the sampled form takes for the thresholds of its coins."""
    half = MadaBoost().lookup(0).within(2**31)
    assert of_margin(half, -1) == 2**31
    coin = WeightedCoin(Fraction(1, 2))
    assert coin.law(np.uint64(of_margin(half, -1)))[0] == 0.5
    assert coin.law(np.uint64(of_margin(half, 1024)))[0] == pytest.approx(math.exp(-1) / 2, abs=1e-5)


# Weighted counts.

TESTS = multiway((2, 3))
CELLS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(-1, 2)), max_size=8)
VOTES = arrays(np.int64, (5, 3), elements=st.integers(-4000, 4000))  # of each code for each class


def weighted(records, votes, lookup):
    """Return a table that has learned some votes, and the root of its weighted records."""
    table = make_table(records, (2, 3), 3)

    def learn(codes, margins):
        margins += votes[codes[:, 0]] + votes[2 + codes[:, 1]]

    learn.columns = 3
    table.update_margins(learn)
    return table, table.assign(Told.to(np.zeros(len(table)), 1), weights=lookup)


@given(CELLS, st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(-1, 2)), VOTES, st.sampled_from(FAMILIES))
@settings(deadline=None, max_examples=150)
def test_for_a_fixed_transcript_one_record_moves_one_cell_of_each_feature_by_its_weight(records, added, votes, family):
    lookup = family.lookup(2)
    table, roots = weighted(records, votes, lookup)
    more, other = weighted([*records, added], votes, lookup)
    expected = plain(lookup, (votes[added[0]] + votes[2 + added[1]]).tolist(), added[2])
    change = (more.answer(Histogram(other)) - table.answer(Histogram(roots)))[0]
    for first, last in ((0, 2), (2, 5)):
        moved = change[first:last]
        assert moved.sum() == expected <= UNIT
        assert np.count_nonzero(moved) == (expected > 0)
    if expected:
        assert change[added[0], added[2]] == change[2 + added[1], added[2]] == expected
    classes = (more.answer(ClassCounts(other)) - table.answer(ClassCounts(roots)))[0]
    assert np.count_nonzero(classes) == (expected > 0)
    assert classes.sum() == expected
    chosen = np.array([1])
    below = more.answer(ClassCounts(more.partition(other, TESTS, chosen))) - table.answer(
        ClassCounts(table.partition(roots, TESTS, chosen))
    )
    assert below.sum() == expected
    assert np.count_nonzero(below) == (expected > 0)


@pytest.mark.parametrize("score", [Max(), Error(), Gini()], ids=lambda score: type(score).__name__)
def test_scores_of_weighted_counts_move_within_the_range_times_the_unit(score):
    generator = np.random.default_rng(0)
    spreads = []
    for _ in range(300):
        counts = np.zeros((1, 4, 2), dtype=np.int64)
        joint = generator.integers(0, 3, size=(2, 2, 2)) * generator.integers(0, UNIT + 1, size=(2, 2, 2))
        counts[0, :2], counts[0, 2:] = joint.sum(axis=1), joint.sum(axis=0)
        after = counts.copy()
        a, b, label = generator.integers(0, 2, 3)
        weight = int(generator.choice([UNIT, generator.integers(1, UNIT + 1)]))
        after[0, a, label] += weight
        after[0, 2 + b, label] += weight
        scores = np.empty((2, 1, 2), dtype=np.int64)
        tests = multiway((2, 2))
        score.score(counts, tests, scores[0])
        score.score(after, tests, scores[1])
        moved = (scores[1] - scores[0])[0].tolist()
        spreads.append(max(*moved, 0) - min(*moved, 0))
    assert 0.7 * UNIT * score.range < max(spreads) <= UNIT * score.range


def open_curator(weights, ceiling=Fraction(1)):
    records = [(a, b, (a + b) % 2) for a in (0, 1) for b in (0, 1) for _ in range(5)]
    curator = Queryable(make_table(records), ceiling, Randomness(0))
    return curator, curator.assign(PerRecordCoin(1), weights=weights)


def test_children_of_weighted_nodes_are_weighted():
    curator, root = open_curator(MadaBoost().lookup(0))
    children = curator.partition(root, multiway((2, 2)), np.array([0]))
    for nodes in (children, children[np.array([False, True])]):
        with pytest.raises(ConfigurationError, match="build the noise for that"):
            curator.answer(ClassCounts(nodes), Geometric(Fraction(1)))


def test_other_assignments_do_not_borrow_the_unit():
    curator, root = open_curator(MadaBoost().lookup(0))
    plain_root = curator.assign(PerRecordCoin(1))
    curator.answer(ClassCounts(plain_root), Geometric(Fraction(1, 2)))
    with pytest.raises(ConfigurationError, match="build the noise for that"):
        curator.answer(ClassCounts(root), Geometric(Fraction(1, 2)))


def test_a_rule_that_says_more_than_its_unit_is_cut_down_to_it():
    loud = Lookup(np.array([10**9], dtype=np.uint64), unit=UNIT)
    curator, root = open_curator(loud, Fraction(10**9))
    counts = curator.answer(ClassCounts(root), Geometric(Fraction(10**9), UNIT))
    assert counts.tolist() == [[10 * UNIT, 10 * UNIT]]


def test_what_a_record_weighs_is_what_was_learned_of_it():
    curator, _ = open_curator(None, Fraction(10**9))

    def learn(codes, margins):
        margins[:, 0] += np.where(codes[:, 0] == 0, 2 * VOTE_STEPS, -2 * VOTE_STEPS)

    learn.columns = 2
    curator.update_margins(learn)
    root = curator.assign(PerRecordCoin(1), weights=MadaBoost().lookup(1))
    counts = curator.answer(ClassCounts(root), Geometric(Fraction(10**8), UNIT))
    light = round(UNIT * math.exp(-1))
    assert counts.tolist() == [[5 * light + 5 * UNIT, 5 * light + 5 * UNIT]]
