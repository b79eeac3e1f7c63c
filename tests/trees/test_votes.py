"""What trees vote, against counts worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.scores import multiway
from hedgerow.trees import Forest
from hedgerow.trees.boosting import VOTE_STEPS, Discrete, Real

ROOT_TWO = math.sqrt(2)


def stump(*leaves):
    """Return a root with as many leaves as there are counts, and these."""
    counts = np.array([[0] * len(leaves[0]), *leaves], dtype=np.int64)
    inner = np.arange(len(counts)) == 0
    return Forest(
        np.array([0], np.int32),
        np.where(inner, 0, -1).astype(np.int32),
        inner.astype(np.int32),
        np.where(inner, -1, counts.argmax(axis=1)).astype(np.int32),
        multiway((len(leaves),)),
        counts,
    )


def steps(vote):
    return math.trunc(vote * 512)


def test_real_votes_are_the_log_odds_of_noisy_counts_and_pseudo_counts():
    votes = Real(clip=100.0).of(stump((30, 10), (5, 80)), noise=4.0)
    pseudo = 4 * ROOT_TWO
    for found, (first, second) in zip(votes[1:], ((30, 10), (5, 80)), strict=True):
        lead = math.log((first + pseudo) / (second + pseudo))
        assert found.tolist() == [steps(lead / 2), steps(-lead / 2)]
    assert votes.dtype == np.int64
    assert votes[0].tolist() == [0, 0]


def test_real_votes_of_three_classes_are_logs_less_their_mean():
    found = Real(clip=100.0).of(stump((7, 20, 1), (1, 1, 1)), noise=1.0)
    logs = [math.log(count + ROOT_TWO) for count in (7, 20, 1)]
    assert found[1].tolist() == [steps(log - sum(logs) / 3) for log in logs]
    assert found[2].tolist() == [0, 0, 0]


def test_real_votes_have_half_a_count_of_noise_at_least():
    first, second = (Real().of(stump((3, 2), (0, 1)), noise=noise) for noise in (0.0, 0.5))
    assert np.array_equal(first, second)
    lead = math.log((3 + 0.5 * ROOT_TWO) / (2 + 0.5 * ROOT_TWO))
    assert first[1, 0] == steps(lead / 2)
    more = Real().of(stump((3, 2), (0, 1)), noise=50.0)
    assert np.all(np.abs(more[1:]) < np.abs(first[1:]))


@pytest.mark.parametrize("clip", [0.5, 1.0, 3.0])
def test_a_real_margin_moves_by_the_clip_at_most(clip):
    votes = Real(clip).of(stump((10**9, 0), (0, 10**9), (10**9, -(10**9))), noise=1.0)
    assert votes[1:].tolist() == [[steps(clip / 2), -steps(clip / 2)], [-steps(clip / 2), steps(clip / 2)],
                                  [steps(clip / 2), -steps(clip / 2)]]  # fmt: skip


def test_negative_counts_are_none():
    for votes in (Real(), Discrete()):
        assert np.array_equal(
            votes.of(stump((-900, 5), (4, -1)), noise=1.0), votes.of(stump((0, 5), (4, 0)), noise=1.0)
        )


def test_a_discrete_tree_votes_with_the_log_odds_of_its_error():
    votes = Discrete().of(stump((30, 10), (5, 55)), noise=1.0)
    alpha = math.log((1 - 0.15) / 0.15)  # 15 of 100 are not in their leaf's largest class
    assert votes.tolist() == [[0, 0], [steps(alpha / 2), steps(-alpha / 2)], [steps(-alpha / 2), steps(alpha / 2)]]


def test_a_discrete_tree_of_three_classes_adds_the_logarithm_of_two():
    votes = Discrete().of(stump((20, 10, 10), (0, 0, 60)), noise=1.0)
    alpha = math.log(0.8 / 0.2) + math.log(2)
    assert votes[1].tolist() == [steps(alpha * 2 / 3), steps(-alpha / 3), steps(-alpha / 3)]
    assert votes[2].tolist() == [steps(-alpha / 3), steps(-alpha / 3), steps(alpha * 2 / 3)]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_tree_that_knows_nothing_has_no_vote(classes):
    for counts in ((4,) * classes, (0,) * classes, (-3,) * classes):
        assert not Discrete().of(stump(counts, counts), noise=1.0).any()


def test_a_tree_without_errors_has_the_largest_vote():
    alpha = math.log(0.99 / 0.01)
    for counts in ((50, 0), (10**6, -4)):
        assert Discrete().of(stump(counts, (0, 9)), noise=1.0)[1].tolist() == [steps(alpha / 2), -steps(alpha / 2)]
    assert Discrete(least=0.2).of(stump((50, 0), (0, 9)), noise=1.0)[1, 0] == steps(math.log(4) / 2)


def test_a_fixed_weight_is_the_same_for_every_tree():
    for counts in (((50, 0), (0, 9)), ((5, 5), (3, 4)), ((0, 0), (-2, -7))):
        votes = Discrete(level=2.0).of(stump(*counts), noise=1.0)[1:]
        assert np.all(np.abs(votes) == 512)
        assert np.all(votes.sum(axis=1) == 0)


COUNTS = st.integers(2, 5).flatmap(
    lambda classes: st.lists(
        st.lists(st.integers(-(10**9), 10**9), min_size=classes, max_size=classes), min_size=2, max_size=6
    )
)


@given(COUNTS, st.floats(0, 1e9), st.sampled_from([Real(), Real(0.25), Discrete(), Discrete(level=2.0)]))
@settings(deadline=None)
def test_votes_follow_the_largest_counts_and_are_bounded(leaves, noise, votes):
    found = votes.of(stump(*leaves), noise)
    assert found.shape == (len(leaves) + 1, len(leaves[0]))
    assert not found[0].any()
    for given_votes, counts in zip(found[1:], np.maximum(leaves, 0), strict=True):
        assert given_votes[counts.argmax()] == given_votes.max()
        lead = given_votes.max() - given_votes.min()
        if isinstance(votes, Real):
            assert lead <= votes.clip * VOTE_STEPS
        elif votes.level is not None:
            assert lead <= 2 * VOTE_STEPS
        else:
            assert lead <= (math.log(99) + math.log(len(counts) - 1)) * VOTE_STEPS + 1


@pytest.mark.parametrize("votes", [Real(), Discrete(), Discrete(level=2.0)], ids=repr)
def test_one_class_is_voted_for_without_an_error(votes):
    assert not votes.of(stump((5,), (0,)), noise=1.0)[0].any()
