"""The curator charges before it answers, and answers by the exact law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers import make_table

from hedgerow.curator import Curator
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import AtMost, Geometric, PermuteAndFlip, PerRecordCoin, Randomness
from hedgerow.scores import Gini, multiway

RECORDS = [(a, b, (a + b) % 2) for a in (0, 1) for b in (0, 1) for _ in range(5)]
TESTS = multiway((2, 2))
HALF = Fraction(1, 2)


class Silent(Randomness):
    """Randomness that must not be asked again."""

    def draw(self, mechanism, *statistics):
        raise AssertionError("something was drawn")


def open_curator(epsilon=Fraction(1), randomness=None):
    curator = Curator(make_table(RECORDS), epsilon, randomness or Randomness(0))
    return curator, curator.assign(PerRecordCoin(1))


def offered(nodes):
    return np.ones((len(nodes), 2), dtype=bool)


def test_costs_add_along_a_path_and_siblings_count_once():
    curator, root = open_curator()
    chosen = curator.select(root, TESTS, offered(root), Gini(), PermuteAndFlip(HALF, Gini().range))
    children = curator.partition(root, TESTS, chosen)
    assert len(children) == 2
    curator.count(children, Fraction(1, 4))
    assert curator.spent == Fraction(3, 4)
    curator.class_counts(children[np.array([True, False])], Fraction(1, 4))
    assert curator.spent == 1


def test_only_the_path_that_has_spent_its_budget_is_refused():
    curator, root = open_curator()
    children = curator.partition(root, TESTS, np.array([0]))
    first, second = np.array([True, False]), np.array([False, True])
    curator.count(children[first], Fraction(1))
    with pytest.raises(BudgetExceeded, match="not answered"):
        curator.count(children[first], Fraction(1, 1000))
    assert len(curator.count(children[second], Fraction(1))) == 1


def test_a_refused_question_draws_nothing():
    curator, root = open_curator()
    curator._randomness = Silent(0)
    for ask in (
        lambda: curator.count(root, Fraction(2)),
        lambda: curator.class_counts(root, Fraction(2)),
        lambda: curator.histogram(root, np.array([0]), Fraction(2)),
        lambda: curator.select_label(root, PermuteAndFlip(Fraction(2), 1)),
        lambda: curator.minority_at_most(root, AtMost(Geometric(Fraction(2)), 1)),
        lambda: curator.select(root, TESTS, offered(root), Gini(), PermuteAndFlip(Fraction(2), Gini().range)),
    ):
        with pytest.raises(BudgetExceeded):
            ask()
    assert curator.spent == 0


def test_a_refusal_says_nothing_about_the_records():
    messages = set()
    for records in (RECORDS, [], RECORDS[:1]):
        curator = Curator(make_table(records), Fraction(1), Randomness(0))
        root = curator.assign(PerRecordCoin(1))
        with pytest.raises(BudgetExceeded) as refusal:
            curator.count(root, Fraction(2))
        messages.add(str(refusal.value))
    assert len(messages) == 1


def test_a_partitioned_node_answers_no_more():
    curator, root = open_curator()
    curator.partition(root, TESTS, np.array([0]))
    with pytest.raises(ConfigurationError, match="ask its children"):
        curator.count(root, HALF)


def test_a_node_cannot_be_asked_twice_in_one_question():
    curator, root = open_curator()
    children = curator.partition(root, TESTS, np.array([0]))
    twice = type(children)(children.generation, np.array([0, 0]))
    with pytest.raises(ConfigurationError, match="twice"):
        curator.count(twice, HALF)


def test_records_are_assigned_once():
    curator, _ = open_curator()
    with pytest.raises(ConfigurationError, match="assigned already"):
        curator.assign(PerRecordCoin(2))


def test_a_mechanism_calibrated_for_a_smaller_range_is_refused():
    curator, root = open_curator()
    with pytest.raises(ConfigurationError, match="range"):
        curator.select(root, TESTS, offered(root), Gini(), PermuteAndFlip(HALF, Gini().range - 1))


def test_a_node_that_is_offered_nothing_is_refused():
    curator, root = open_curator()
    with pytest.raises(ConfigurationError, match="offered no test"):
        curator.select(root, TESTS, ~offered(root), Gini(), PermuteAndFlip(HALF, Gini().range))


def test_a_label_mechanism_calibrated_for_a_smaller_range_is_refused():
    curator, root = open_curator()
    with pytest.raises(ConfigurationError, match="range"):
        curator.select_label(root, PermuteAndFlip(HALF, 0))


def test_a_histogram_over_several_features_pays_for_each():
    curator, root = open_curator(Fraction(1000))
    cells = curator.histogram(root, np.array([0, 1]), Fraction(1000))
    assert curator.spent == 1000
    assert [part.shape for part in cells] == [(1, 2, 2), (1, 2, 2)]
    assert all(np.array_equal(part[0], [[5, 5], [5, 5]]) for part in cells)


def test_answers_at_a_large_budget_are_the_counts():
    curator, root = open_curator(Fraction(5000))
    assert curator.count(root, Fraction(1000)).tolist() == [20]
    assert curator.class_counts(root, Fraction(1000)).tolist() == [[10, 10]]
    assert curator.minority_at_most(root, AtMost(Geometric(Fraction(1000)), 9)).tolist() == [False]
    assert curator.minority_at_most(root, AtMost(Geometric(Fraction(1000)), 10)).tolist() == [True]


def test_scores_are_the_same_in_one_chunk_or_many(monkeypatch):
    import hedgerow.curator as module

    curator, root = open_curator()
    children = curator.partition(root, TESTS, np.array([0]))
    frontier = curator._frontiers[children.generation]
    whole = curator._scores(frontier, slice(0, 2), TESTS, Gini())
    parts = [curator._scores(frontier, slice(i, i + 1), TESTS, Gini()) for i in range(2)]
    assert np.array_equal(whole, np.concatenate(parts))
    monkeypatch.setattr(module, "CHUNK", 1)
    assert len(curator.select(children, TESTS, offered(children), Gini(), PermuteAndFlip(HALF, Gini().range))) == 2
