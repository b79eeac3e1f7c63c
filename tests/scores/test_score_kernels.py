"""The kernels of scores and tests, called directly: every sequence of tests, every set of codes, counts at their limits."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.scores import kernels, multiway
from hedgerow.scores.kernels import CUT, EACH, GAIN, GINI, MAJORITY, VALUE

TESTS = [
    *((feature, kind, at) for feature in (0, 1) for kind in (CUT, VALUE) for at in range(3)),
    *((feature, EACH, 0) for feature in (0, 1)),
]
SEQUENCE = [test for three in product(range(len(TESTS)), repeat=3) for test in three]  # each test after any two others
ALIVE = np.array(list(product([False, True], repeat=6)))


def in_sequence():
    """Return the candidates of a sequence in which every three tests follow each other."""
    feature, kind, at = (np.array(column)[SEQUENCE] for column in zip(*TESTS, strict=True))
    tests = multiway([3, 3])
    return replace(tests, feature=feature, kind=kind, at=at, weight=np.ones(len(SEQUENCE), dtype=np.int64))


def branch(test, code):
    """Return the branch that a code of the test's feature goes to."""
    _, kind, at = test
    return {EACH: code, VALUE: int(code != at), CUT: int(code > at)}[kind]


def branches(test):
    return range(3 if test[1] == EACH else 2)


def test_whether_a_test_is_decided_hangs_neither_on_the_tests_before_it_nor_on_other_features():
    tests = in_sequence()
    found = tests.undecided(ALIVE, np.full(len(ALIVE), 3))
    expected = [
        [len({branch(test, code) for code in range(3) if alive[3 * test[0] + code]}) > 1 for test in TESTS]
        for alive in ALIVE.tolist()
    ]
    assert np.array_equal(found, np.array(expected)[:, SEQUENCE])
    for widest, kinds in ((2, (CUT, VALUE)), (1, ())):
        of_few = np.isin(tests.kind, kinds)
        assert np.array_equal(tests.undecided(ALIVE, np.full(len(ALIVE), widest)), found & of_few)


def test_a_score_hangs_neither_on_the_tests_before_it_nor_on_other_features():
    generator = np.random.default_rng(0)
    histogram = np.zeros((5, 6, 2), dtype=np.int64)
    for node in range(5):
        for codes in generator.integers(0, 3, (40, 2)):
            histogram[node, [codes[0], 3 + codes[1]], generator.integers(0, 2)] += 1
    found = np.empty((5, len(SEQUENCE)), dtype=np.int64)
    kernels.scores(histogram, *in_sequence().arrays, MAJORITY, 0, np.zeros(2, dtype=np.int64), found)
    expected = [
        [
            sum(
                counts[[3 * test[0] + code for code in range(3) if branch(test, code) == side]].sum(axis=0).max()
                for side in branches(test)
            )
            for test in TESTS
        ]
        for counts in histogram
    ]
    assert np.array_equal(found, np.array(expected)[:, SEQUENCE])


def test_children_of_many_nodes_stand_side_by_side_with_the_codes_that_lead_to_them():
    tests = in_sequence()
    chosen = np.arange(0, len(SEQUENCE), 7)
    alive = ALIVE[np.arange(len(chosen)) % len(ALIVE)]
    expected = [
        [
            bool(codes[3 * f + code]) and (f != test[0] or branch(test, code) == child)
            for f in (0, 1)
            for code in range(3)
        ]
        for codes, test in zip(alive, (TESTS[SEQUENCE[place]] for place in chosen), strict=True)
        for child in branches(test)
    ]
    assert tests.narrowed(alive, chosen).tolist() == expected


# Branches.

NO_TABLE = np.zeros(2, dtype=np.int64)
SMALL = list(product(range(5), repeat=3))
LARGEST = 2**31 - 1  # records of a branch
LARGE = [
    *((size - part, part) for size in (LARGEST, LARGEST - 1, 2**30) for part in (0, 1, 2, size // 3, size // 2, size)),
    *((LARGEST - 2 * part, part, part) for part in (1, LARGEST // 3, 3**18)),
]


def of_branch(counts, measure, bits=0, table=NO_TABLE):
    return int(kernels._branch_score(np.array(counts, dtype=np.int64), measure, bits, table))


@pytest.mark.parametrize("bits", [0, 1, 10, 28])
def test_the_gini_score_is_its_fraction_rounded_down_up_to_the_largest_branch(bits):
    for counts in [*SMALL, *LARGE]:
        n = sum(counts)
        exact = math.floor(2**bits * (Fraction(sum(count * count for count in counts), n) - n)) if n else 0
        assert of_branch(counts, GINI, bits) == exact


def test_the_information_gain_reads_its_table_and_continues_it_by_its_last_step():
    table = np.array([0, 5, 11, 40], dtype=np.int64)

    def term(n):
        return [0, 5, 11, 40][n] if n < 4 else 40 + 29 * (n - 3)

    for counts in [*SMALL, *LARGE]:
        assert of_branch(counts, GAIN, table=table) == sum(map(term, counts)) - term(sum(counts))
    for counts in SMALL:
        assert of_branch(counts, GAIN, table=table[:2]) == 0  # one step all along


def test_the_majority_is_the_largest_count():
    for counts in [*SMALL, *LARGE]:
        assert of_branch(counts, MAJORITY) == max(counts)
    assert of_branch((3, 9), MAJORITY, 5) == 9
