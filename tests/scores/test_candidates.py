"""Candidate tests and the scores' kernel against plain twins, and the integer information gain against its claims."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.scores import Candidates, Error, Gini, InformationGain, Max, binary, mixed, multiway
from hedgerow.scores.kernels import CUT, EACH, VALUE

SMALL_CAPS = (2, 3, 5, 16)
STEP = 1 << 10

# Plain twins: one test, one code, one branch at a time.


def branch_of(tests: Candidates, test: int, code: int) -> int:
    kind, at = tests.kind[test], int(tests.at[test])
    if kind == EACH:
        return code
    if kind == VALUE:
        return 0 if code == at else 1
    return 0 if code <= at else 1


def plain_arity(tests: Candidates, test: int) -> int:
    return int(tests.n_codes[tests.feature[test]]) if tests.kind[test] == EACH else 2


def codes_left(tests: Candidates, path) -> list[set[int]]:
    """Return the codes of each feature that every test of a path, (test, branch) pairs, lets through."""
    return [
        {
            code
            for code in range(count)
            if all(tests.feature[test] != feature or branch_of(tests, test, code) == branch for test, branch in path)
        }
        for feature, count in enumerate(tests.n_codes)
    ]


def plain_undecided(tests: Candidates, path, widest: int) -> list[bool]:
    left = codes_left(tests, path)
    return [
        plain_arity(tests, test) <= widest
        and len({branch_of(tests, test, code) for code in left[tests.feature[test]]}) > 1
        for test in range(len(tests))
    ]


def as_alive(tests: Candidates, left) -> list[bool]:
    return [code in left[feature] for feature, count in enumerate(tests.n_codes) for code in range(count)]


def branch_counts(tests: Candidates, test: int, histogram) -> list[list[int]]:
    """Return the class counts of each branch of a test in one node, ``histogram`` (codes of all features, classes)."""
    start = int(tests.offsets[tests.feature[test]])
    counts = [[0] * histogram.shape[1] for _ in range(plain_arity(tests, test))]
    for code in range(int(tests.n_codes[tests.feature[test]])):
        branch = counts[branch_of(tests, test, code)]
        for label, count in enumerate(histogram[start + code].tolist()):
            branch[label] += count
    return counts


def plain_gini(counts, bits: int) -> int:
    n = sum(counts)
    return math.floor((1 << bits) * (Fraction(sum(c * c for c in counts), n) - n)) if n else 0


def plain_term(n: int, cap: int, bits: int) -> int:
    """Return t(n): each increment of n log2 n rounded down in steps, never below the one before, level beyond the cap."""
    total = last = 0
    for m in range(1, min(n, cap)):
        last = max(last, math.floor(((m + 1) * math.log2(m + 1) - m * math.log2(m)) * (1 << bits)))
        total += last
    for m in range(1, cap) if n > cap else ():
        last = max(last, math.floor(((m + 1) * math.log2(m + 1) - m * math.log2(m)) * (1 << bits)))
    return total + max(n - cap, 0) * last


def plain_gain(counts, cap: int, bits: int) -> int:
    return sum(plain_term(c, cap, bits) for c in counts) - plain_term(sum(counts), cap, bits)


def plain_score(score, tests: Candidates, test: int, histogram) -> int:
    branches = branch_counts(tests, test, histogram)
    match score:
        case Gini():
            return sum(plain_gini(counts, 10) for counts in branches)
        case InformationGain():
            return sum(plain_gain(counts, score.cap, 10) for counts in branches)
        case _:
            return sum(max(counts) for counts in branches)


def scores_of(score, tests: Candidates, histogram) -> np.ndarray:
    out = np.empty((len(histogram), len(tests)), dtype=np.int64)
    score.score(histogram, tests, out)
    return out


# Random candidates: what the rules list, and any mixture of kinds in any sequence.


@st.composite
def any_tests(draw) -> Candidates:
    n_codes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=4))
    is_cut = [draw(st.booleans()) for _ in n_codes]
    rule = draw(st.sampled_from(["multiway", "binary", "mixed", "scrambled"]))
    if rule == "multiway":
        tests = multiway(n_codes)
    elif rule == "scrambled":
        count = draw(st.integers(1, 12))
        feature = np.array([draw(st.integers(0, len(n_codes) - 1)) for _ in range(count)], np.int32)
        kind = np.array([draw(st.sampled_from([EACH, CUT, CUT, VALUE])) for _ in range(count)], np.int8)
        at = np.array([draw(st.integers(0, n_codes[f] - 1)) for f in feature], np.int32)
        shape = multiway(n_codes)
        tests = replace(shape, feature=feature, kind=kind, at=at, weight=np.ones(count, np.int64))
    else:
        tests = (binary if rule == "binary" else mixed)(n_codes, is_cut)
    return tests


@st.composite
def paths_of_tests(draw):
    """Return candidates, and for a few nodes the (test, branch) pairs above them."""
    tests = draw(any_tests())
    paths = []
    for _ in range(draw(st.integers(1, 4))):
        path = []
        for _ in range(draw(st.integers(0, 4))):
            test = draw(st.integers(0, len(tests) - 1))
            path.append((test, draw(st.integers(0, plain_arity(tests, test) - 1))))
        paths.append(path)
    return tests, paths


@given(any_tests())
@settings(max_examples=150, deadline=None)
def test_branches_and_arity_are_those_of_the_plain_twin(tests):
    assert tests.arity.tolist() == [plain_arity(tests, test) for test in range(len(tests))]
    branches = tests.branches(np.arange(len(tests)))
    for test, feature in enumerate(tests.feature):
        codes = range(int(tests.n_codes[feature]))
        assert branches[test, : len(codes)].tolist() == [branch_of(tests, test, code) for code in codes]


@given(paths_of_tests(), st.data())
@settings(max_examples=200, deadline=None)
def test_undecided_are_the_tests_that_could_still_tell_two_codes_apart(drawn, data):
    tests, paths = drawn
    alive = np.array([as_alive(tests, codes_left(tests, path)) for path in paths])
    widest = np.array([data.draw(st.integers(0, 7)) for _ in paths])
    offered = tests.undecided(alive, widest)
    assert offered.tolist() == [plain_undecided(tests, path, most) for path, most in zip(paths, widest, strict=True)]


@given(paths_of_tests())
@settings(max_examples=150, deadline=None)
def test_a_test_above_a_node_is_never_undecided_in_it(drawn):
    tests, paths = drawn
    alive = np.array([as_alive(tests, codes_left(tests, path)) for path in paths])
    offered = tests.undecided(alive, np.full(len(paths), 100))
    for row, path in zip(offered, paths, strict=True):
        assert not any(row[test] for test, _ in path)


@given(paths_of_tests(), st.data())
@settings(max_examples=200, deadline=None)
def test_narrowed_leaves_each_child_the_codes_that_lead_to_it(drawn, data):
    tests, paths = drawn
    alive = np.array([as_alive(tests, codes_left(tests, path)) for path in paths])
    chosen = np.array([data.draw(st.integers(0, len(tests) - 1)) for _ in paths])
    expected = [
        as_alive(tests, codes_left(tests, [*path, (int(test), branch)]))
        for path, test in zip(paths, chosen, strict=True)
        for branch in range(plain_arity(tests, test))
    ]
    before = alive.copy()
    assert tests.narrowed(alive, chosen).tolist() == expected
    assert np.array_equal(alive, before)


def test_mixed_weighs_a_test_with_many_branches_as_all_cuts_of_the_finest_feature():
    tests = mixed([4, 3, 6], [True, False, True])
    assert tests.kind.tolist() == [CUT] * 3 + [EACH] + [CUT] * 5
    assert tests.weight.tolist() == [1] * 3 + [5] + [1] * 5
    assert mixed([3, 4], [False, False]).weight.tolist() == [1, 1]


# Scores of whole histograms.

SCORES = [Gini(), Max(), Error(), *(InformationGain(cap) for cap in SMALL_CAPS), InformationGain()]


@st.composite
def histograms(draw, tests: Candidates, nodes: int, n_classes: int):
    """Return class counts by code: each record has one code of every feature, so all features have the same totals."""
    cells = [draw(st.lists(st.integers(0, 12), min_size=n_classes, max_size=n_classes)) for _ in range(nodes)]
    out = np.zeros((nodes, int(tests.offsets[-1]), n_classes), dtype=np.int64)
    for node, label in product(range(nodes), range(n_classes)):
        for feature, count in enumerate(tests.n_codes.tolist()):
            codes = draw(st.lists(st.integers(0, count - 1), min_size=cells[node][label], max_size=cells[node][label]))
            for code in codes:
                out[node, tests.offsets[feature] + code, label] += 1
    return out


@given(any_tests(), st.integers(1, 3), st.integers(1, 3), st.sampled_from(SCORES), st.data())
@settings(max_examples=150, deadline=None)
def test_scores_are_those_of_the_plain_twin(tests, nodes, n_classes, score, data):
    histogram = data.draw(histograms(tests, nodes, n_classes))
    expected = [[plain_score(score, tests, test, node) for test in range(len(tests))] for node in histogram]
    assert scores_of(score, tests, histogram).tolist() == expected


@pytest.mark.parametrize("kinds", list(product([EACH, CUT, VALUE], repeat=3)))
def test_tests_of_one_feature_in_any_sequence_do_not_disturb_each_other(kinds):
    shape = multiway([5])
    tests = replace(
        shape,
        feature=np.zeros(4, np.int32),
        kind=np.array([CUT, *kinds], np.int8),
        at=np.array([1, 3, 2, 3], np.int32),
        weight=np.ones(4, np.int64),
    )
    histogram = np.random.default_rng(0).integers(0, 30, (2, 5, 2))
    expected = [[plain_score(Gini(), tests, test, node) for test in range(4)] for node in histogram]
    assert scores_of(Gini(), tests, histogram).tolist() == expected
    alive = np.array([[True, True, False, False, True], [False, False, True, True, False]])
    left = [[{code for code in range(5) if row[code]}] for row in alive]
    undecided = [[len({branch_of(tests, t, c) for c in codes[0]}) > 1 for t in range(4)] for codes in left]
    assert tests.undecided(alive, np.full(2, 9)).tolist() == undecided


@given(any_tests(), st.sampled_from(SCORES), st.data())
@settings(max_examples=200, deadline=None)
def test_one_record_lowers_or_raises_every_score_by_at_most_the_range(tests, score, data):
    histogram = data.draw(histograms(tests, 1, 2))
    more = histogram.copy()
    label = data.draw(st.integers(0, 1))
    for feature, count in enumerate(tests.n_codes.tolist()):
        more[0, tests.offsets[feature] + data.draw(st.integers(0, count - 1)), label] += 1
    change = scores_of(score, tests, more) - scores_of(score, tests, histogram)
    one_sided = (0, score.range) if isinstance(score, Max) else (-score.range, 0)
    assert one_sided[0] <= change.min() <= change.max() <= one_sided[1]


# Information gain.

CAPS = (2, 3, 7, 100, 1 << 16)


@pytest.mark.parametrize("cap", CAPS)
def test_the_gains_table_is_convex_and_close_to_n_log_n(cap):
    table = InformationGain(cap).table
    assert len(table) == cap + 1
    assert table[0] == table[1] == 0
    steps = np.diff(table)
    assert np.all(np.diff(steps) >= 0)
    assert steps[-1] == InformationGain(cap).range
    n = np.arange(2, cap + 1)
    exact = n * np.log2(n) * STEP
    assert np.all((exact - n - 1e-6 <= table[2:]) & (table[2:] <= exact + 1e-6))


@pytest.mark.parametrize("cap", CAPS)
def test_the_gains_range_is_at_most_its_formula(cap):
    score_range = InformationGain(cap).range
    assert score_range <= (math.log2(cap) + 1 / math.log(2)) * STEP
    assert score_range > (cap * math.log2(cap) - (cap - 1) * math.log2(cap - 1)) * STEP - 1 - 1e-6 * cap
    assert score_range > 0


@pytest.mark.parametrize("cap", [2, 3, 5, 8])
def test_one_record_lowers_a_branchs_gain_by_at_most_the_range_around_and_beyond_the_cap(cap):
    score = InformationGain(cap)
    tests = multiway([1 + cap])
    most = cap + 4
    pairs = [(a, b) for a in range(most) for b in range(most)]
    values = {}
    for pair in [*pairs, *((most, b) for b in range(most))]:
        histogram = np.zeros((1, cap + 1, 2), dtype=np.int64)
        histogram[0, 0] = pair
        values[pair] = int(scores_of(score, tests, histogram)[0, 0])
    changes = [values[a + 1, b] - values[a, b] for a, b in pairs]
    assert -score.range <= min(changes) <= max(changes) <= 0
    assert min(changes) == -score.range  # the first record of a class in a large branch
    assert values[most, 0] == 0


@given(
    st.integers(2, 40),
    st.lists(st.integers(0, 90), min_size=2, max_size=3),
    st.integers(0, 2),
)
@settings(max_examples=300, deadline=None)
def test_gain_changes_within_its_range_for_any_counts_and_cap(cap, counts, label):
    score = InformationGain(cap)
    more = list(counts)
    more[label % len(counts)] += 1
    before, after = scores_of(score, multiway([1]), np.array([[counts], [more]], dtype=np.int64))[:, 0]
    assert before == plain_gain(counts, cap, 10)
    assert -score.range <= after - before <= 0


def test_gain_of_a_hand_made_node_is_its_entropy():
    # 4 and 4 records are 8 bits, 2 and 6 are 8 * 0.8113 = 6.490; a pure branch has none
    score = InformationGain()
    histogram = np.array([[[4, 4], [2, 6], [5, 0]]], dtype=np.int64)
    found = scores_of(score, multiway([3]), histogram)[0, 0] / STEP
    assert abs(found + 8 + 6.490) < 0.02


def test_large_counts_do_not_wrap():
    score = InformationGain()
    n = 1 << 29
    histogram = np.array([[[n, n], [2 * n, 0]]], dtype=np.int64)
    found = int(scores_of(score, multiway([2]), histogram)[0, 0])
    assert found == plain_gain_fast(score, [n, n])
    assert found < 0


def plain_gain_fast(score, counts) -> int:
    table = [int(entry) for entry in score.table]

    def term(n: int) -> int:
        return table[n] if n < len(table) else table[-1] + (n - len(table) + 1) * (table[-1] - table[-2])

    return sum(map(term, counts)) - term(sum(counts))


def test_branches_take_the_bits_that_the_codes_need():
    for codes, kind in ((65_536, np.uint16), (65_537, np.uint32)):
        each = multiway([3, codes]).branches([0, 1])
        assert each.dtype == kind
        assert each[1].tolist() == list(range(codes))
        tests = binary([3, codes], [False, True])
        cut = tests.branches([2 + 40_000])[0]
        assert cut.dtype == kind
        assert cut.tolist() == [0] * 40_001 + [1] * (codes - 40_001)
