"""Which records of each person count: few, by coins of their own, whatever other persons' rows are and where."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.mechanisms import Randomness
from hedgerow.reading.cells import object_array
from hedgerow.reading.persons import Groups
from hedgerow.table import keep_of
from hedgerow.table.reading import Keep, least


class Given:
    """Words that are known beforehand."""

    def __init__(self, words):
        self.words = np.asarray(words, dtype=np.uint64)

    def of(self, first_row, records):
        return self.words[first_row : first_row + records]


def groups(*cells):
    return Groups("id", object_array(cells, len(cells)))


def kept(who, words, most, counted=None):
    counted = np.ones(len(who), dtype=bool) if counted is None else np.array(counted)
    found = Keep(groups(*who), most, Given(words)).of(counted)
    assert found.dtype == np.bool_
    return found.tolist()


def test_the_least_words_of_each_person_count():
    who = ["a", "b", "a", None, "a", "b"]
    assert kept(who, [3, 1, 2, 0, 1, 9], 2) == [False, True, True, False, True, True]
    assert kept(who, [3, 1, 2, 0, 1, 9], 1) == [False, True, False, False, True, False]
    assert kept(who, [3, 1, 2, 0, 1, 9], 3) == [True, True, True, False, True, True]


def test_equal_words_count_in_the_order_of_the_person_own_records():
    assert kept(["a", "b", "a", "a"], [5, 5, 5, 5], 2) == [True, True, True, False]


def test_a_record_without_a_class_takes_nobodys_place():
    assert kept(["a", "a", "a"], [1, 2, 3], 1, [False, True, True]) == [False, True, False]


@given(
    who=st.lists(st.sampled_from(["a", "b", "c", None]), max_size=12),
    words=st.lists(st.integers(0, 5), min_size=12, max_size=12),
    most=st.integers(1, 3),
    data=st.data(),
)
@settings(max_examples=200)
def test_one_person_more_moves_no_record_of_others(who, words, most, data):
    """Each record brings its word along: then what counts of others is the same, and of the new person at most so many do."""
    new = data.draw(st.lists(st.integers(0, len(who)), max_size=5))
    places = sorted(new)
    more_who, more_words, own = list(who), list(words[: len(who)]), [False] * len(who)
    for place in reversed(places):
        more_who.insert(place, "new")
        more_words.insert(place, data.draw(st.integers(0, 5)))
        own.insert(place, True)
    before, after = kept(who, words[: len(who)], most), kept(more_who, more_words, most)
    assert [count for count, is_new in zip(after, own, strict=True) if not is_new] == before
    assert sum(count for count, is_new in zip(after, own, strict=True) if is_new) == min(most, len(new))


def test_a_choice_among_all_records_would_move_others():
    """The planted bug: so many records of each person in all, by their place among everybody's words."""

    def among_all(who, words, most):
        order = np.argsort(words, kind="stable")[: most * len(set(who))]
        return [i in order for i in range(len(who))]

    assert among_all(["a", "a", "b"], [1, 2, 3], 1) == [True, True, False]
    assert among_all(["a", "a"], [1, 2], 1) == [True, False]  # without b, another record of a


@pytest.mark.parametrize("most", [1, 2])
def test_every_choice_of_a_persons_records_is_as_likely_as_any_other(most):
    who, runs = ["a", "b", "a", "a", "b"], 6000
    found = Counter()
    for seed in range(runs):
        keep = keep_of(groups(*who), most, Randomness(seed))
        found[tuple(np.flatnonzero(keep.of(np.ones(5, dtype=bool))).tolist())] += 1
    of_a, of_b = list(combinations((0, 2, 3), most)), list(combinations((1, 4), most))
    assert set(found) == {tuple(sorted(one + other)) for one in of_a for other in of_b}
    each = runs / (len(of_a) * len(of_b))
    assert all(abs(count - each) < 5 * each**0.5 for count in found.values())


def test_without_groups_no_stream_is_used():
    drawn, other = Randomness(1), Randomness(1)
    assert keep_of(None, 3, drawn) is None
    assert drawn.random_bits().key == other.random_bits().key
    keep_of(groups("a"), 3, drawn)
    assert drawn.random_bits().key != other.random_bits().key


@given(
    who=st.lists(st.sampled_from(["a", "b", "c", "d", None]), max_size=30),
    ends=st.lists(st.integers(0, 30), max_size=4),
    at_once=st.integers(1, 40),
    most=st.integers(1, 3),
    seed=st.integers(0, 99),
)
@settings(max_examples=100)
def test_in_parts_the_same_records_count(who, ends, at_once, most, seed):
    """A person's records may lie in several parts, and persons are told apart a share at a time."""
    count = len(who)
    labels = np.random.default_rng(seed).integers(-1, 3, count).astype(np.int16)
    keep = keep_of(groups(*who), most, Randomness(seed))
    whole = keep.labels(labels)
    ids = np.array([[ord(cell), seed] if cell else [0, 0] for cell in who], dtype=np.uint64).reshape(-1, 2)
    bounds = [0, *sorted(min(end, count) for end in ends), count]
    parts = [(start, {"labels": labels[start:stop], "ids": ids[start:stop]}) for start, stop in pairwise(bounds)]
    keep.in_parts(parts, at_once)
    assert np.concatenate([arrays["labels"] for _, arrays in parts]).tolist() == whole.tolist()
    assert not any("ids" in arrays for _, arrays in parts)
    assert whole.dtype == labels.dtype


def test_persons_are_told_apart_by_all_bits_of_their_ids(monkeypatch):
    """Half of an id may be another's, or all zeros."""
    ids = np.array([[7, 1], [7, 2], [7, 1], [0, 2], [8, 2], [8, 0], [8, 2]], dtype=np.uint64)
    words = np.array([1, 2, 3, 4, 5, 6, 7], dtype=np.uint64)
    assert least(ids, words, 1).tolist() == [True, True, False, True, True, True, False]
    monkeypatch.setattr("hedgerow.table.reading.person_ids", lambda *given: ids)
    assert kept("abacded", words, 1) == [True, True, False, True, True, True, False]
    for at_once in (1, 3, 100):
        parts = [(0, {"labels": np.zeros(7, dtype=np.int16), "ids": ids.copy()})]
        Keep(groups(*"abacded"), 1, Given(words)).in_parts(parts, at_once)
        assert parts[0][1]["labels"].tolist() == [0, 0, -1, 0, 0, 0, -1]


def test_a_rule_shows_neither_ids_nor_coins():
    keep = keep_of(groups("secret"), 3, Randomness(1))
    assert "secret" not in repr(keep)
    assert "words" not in repr(keep)
    assert "most=3" in repr(keep)


def test_many_records_of_one_person():
    ids = np.ones((100_000, 2), dtype=np.uint64)
    words = np.random.default_rng(0).permutation(100_000).astype(np.uint64)
    assert np.array_equal(least(ids, words, 10), words < 10)
