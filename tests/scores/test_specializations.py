"""Scores of specializations against plain sums, their ranges over neighbors, and how many choices concern a record."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from hedgerow.errors import ConfigurationError
from hedgerow.scores import Majority, Purity, Specializations, most_concerned

LINE = np.array([2, 0, 1, 3, 5, 4])  # two features of four and two codes
EDGES = [(0, 1, 4), (0, 2, 3, 4), (1, 2, 3), (4, 5, 6)]


def specializations(edges=EDGES):
    return Specializations(LINE, edges, np.ones(len(edges), dtype=np.int64))


def plain(histogram, score):
    found = []
    for edges in EDGES:
        branches = [histogram[LINE[a:b]].sum(axis=0) for a, b in pairwise(edges)]
        if isinstance(score, Majority):
            found.append(sum(int(counts.max()) for counts in branches))
        else:
            found.append(
                sum(int(1024 * Fraction(int((counts**2).sum()), max(int(counts.sum()), 1))) for counts in branches)
            )
    return found


@pytest.mark.parametrize("score", [Majority(), Purity()])
def test_scores_are_sums_over_branches_of_concerned_records(score):
    generator = np.random.default_rng(0)
    for _ in range(50):
        histogram = generator.integers(0, 40, (6, 3))
        assert specializations().scores(histogram, score).tolist() == plain(histogram, score)


@pytest.mark.parametrize("score", [Majority(), Purity()])
def test_one_record_moves_scores_apart_by_the_range_at_most(score):
    generator, spread = np.random.default_rng(1), 0
    choice = specializations()
    for _ in range(300):
        histogram = generator.integers(0, generator.integers(1, 30), (6, 2)) * generator.integers(0, 2, (6, 2))
        before = choice.scores(histogram, score)
        for first, second, label in product(range(4), (4, 5), (0, 1)):
            more = histogram.copy()
            more[[first, second], label] += 1
            change = np.append(choice.scores(more, score) - before, 0)
            spread = max(spread, int(change.max() - change.min()))
    assert 0.75 * score.range < spread <= score.range


def test_scores_say_their_steps():
    assert (Majority.detail, Purity.detail) == ("majority score", "purity score in steps of 1/1024")
    assert (Majority.range, Purity.range) == (1, 2048)


def test_large_counts_fit():
    histogram = np.zeros((6, 2), dtype=np.int64)
    histogram[2, 0] = 2**31 - 1
    assert specializations().scores(histogram, Purity())[0] == (2**31 - 1) * 1024


def test_records_concerned():
    features = np.array([0, 4, 6])
    one, left, right, other = (specializations([edges]) for edges in ((0, 1, 4), (0, 1, 2), (2, 3, 4), (4, 5, 6)))
    assert most_concerned([one], features) == 1
    assert most_concerned([left, right], features) == 1
    assert most_concerned([left, right, other], features) == 2
    assert most_concerned([one, right], features) == 2
    for first, second in (
        ((0, 2, 3), (0, 1, 2)),
        ((0, 1, 2), (1, 2, 3)),
        ((0, 1, 3), (2, 3, 4)),
        ((0, 1, 2), (0, 1, 2)),
    ):
        assert most_concerned([specializations([first]), specializations([second])], features) == 2
    assert most_concerned([specializations([(0, 1, 2), (2, 3, 4)]), right], features) == 2
    assert most_concerned([specializations([(0, 1, 2), (2, 3, 4)]), left], features) == 2
    assert most_concerned([specializations([(2, 3, 4), (0, 1, 2)]), left], features) == 2
    assert most_concerned([specializations([(0, 1, 2), (4, 5, 6)]), right, other], features) == 3
    across = specializations([(2, 3, 5)])  # it ends at the first place of the second feature
    assert most_concerned([across], features) == 1
    assert most_concerned([across, left, other], features) == 3
    assert most_concerned([specializations()], features) == 1
    assert most_concerned([specializations(), left, right], features) == 2
    assert most_concerned([], features) == 0


@pytest.mark.parametrize(
    ("edges", "weight"),
    [
        ([(0, 1, 2)], [1, 1]),
        ([(0, 1, 2)], [0]),
        ([(0, 1, 2), (1, 2)], [1, 1]),
        ([(0, 2, 2)], [1]),
        ([(0, 2, 1)], [1]),
        ([(-1, 1, 2)], [1]),
        ([(0, 1, 5)], [1]),
        ([], []),
    ],
)
def test_specializations_that_divide_nothing_are_refused(edges, weight):
    """A choice is charged by its first and its last edge."""
    line = np.arange(4)
    Specializations(line, [(0, 1, 4), (2, 3, 4), (0, 1, 2)], np.array([1, 1, 1]))
    with pytest.raises(ConfigurationError):
        Specializations(line, edges, np.array(weight, dtype=np.int64))
