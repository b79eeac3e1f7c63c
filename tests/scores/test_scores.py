"""Scores against exact fractions, and their ranges against all neighbors."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.scores import Gini, binary, multiway

GINI = Gini()
STEP = 1 << 10


def gini_of_branches(branches) -> int:
    """The score of one test whose branches have these class counts, by the shipped kernel."""
    histogram = np.array([branches], dtype=np.int64)
    codes = histogram.shape[1]
    out = np.empty((1, 1), dtype=np.int64)
    GINI.score(histogram, multiway([codes]), out)
    return int(out[0, 0])


def exact_gini(branches) -> int:
    total = 0
    for counts in branches:
        size = sum(counts)
        if size:
            total += math.floor(STEP * (Fraction(sum(c * c for c in counts), size) - size))
    return total


counts_of_branch = st.lists(st.integers(0, 2**29), min_size=3, max_size=3)


@given(st.lists(counts_of_branch, min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_gini_is_the_exact_fraction_rounded_down_branch_by_branch(branches):
    assert gini_of_branches(branches) == exact_gini(branches)


@given(st.lists(counts_of_branch, min_size=1, max_size=3), st.integers(0, 2), st.integers(0, 2))
@settings(max_examples=300, deadline=None)
def test_one_record_lowers_gini_by_at_most_its_range(branches, branch, label):
    more = [list(counts) for counts in branches]
    more[branch % len(branches)][label] += 1
    change = gini_of_branches(more) - gini_of_branches(branches)
    assert -GINI.range <= change <= 0


def test_gini_range_is_nearly_reached_and_never_passed_for_small_counts():
    worst = 0
    for counts in product(range(8), repeat=2):
        before = gini_of_branches([counts])
        worst = min(worst, gini_of_branches([(counts[0] + 1, counts[1])]) - before)
    assert -GINI.range <= worst < -GINI.range * 0.85


def test_gini_of_a_hand_made_node():
    # 4 and 2 records: 6 - 20/6 = 2 2/3 lost to impurity; a pure branch loses nothing
    assert gini_of_branches([(4, 2), (0, 3)]) == math.floor(-STEP * Fraction(8, 3))


def test_gini_reads_binary_tests_along_the_codes():
    histogram = np.array([[[1, 4], [2, 0], [3, 3], [0, 5], [6, 2]]], dtype=np.int64)
    candidates = binary([3, 2], [True, False])
    out = np.empty((1, 3), dtype=np.int64)
    GINI.score(histogram, candidates, out)
    assert out[0].tolist() == [
        exact_gini([(1, 4), (5, 3)]),
        exact_gini([(3, 4), (3, 3)]),
        exact_gini([(0, 5), (6, 2)]),
    ]
