"""The curator charges before it answers, and answers by the exact law."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from costs import cost_of
from helpers import make_table

from hedgerow.curator import CompareMinorities, Queryable, SelectLabels, SelectTests
from hedgerow.errors import BudgetExceeded, ConfigurationError
from hedgerow.mechanisms import AtMost, Geometric, PermuteAndFlip, PerRecordCoin, Randomness, RoundedNormal
from hedgerow.scores import Gini, multiway
from hedgerow.table import ClassCounts, Histogram, Sizes

RECORDS = [(a, b, (a + b) % 2) for a in (0, 1) for b in (0, 1) for _ in range(5)]
TESTS = multiway((2, 2))
HALF = Fraction(1, 2)
BOTH = np.array([[True, True]])


class Silent(Randomness):
    """Randomness that must not be asked again."""

    def draw(self, mechanism, *statistics):
        raise AssertionError("something was drawn")


def open_curator(epsilon=Fraction(1), randomness=None):
    curator = Queryable(make_table(RECORDS), epsilon, randomness or Randomness(0))
    return curator, curator.assign(PerRecordCoin(1))


def offered(nodes):
    return np.ones((len(nodes), 2), dtype=bool)


def test_costs_add_along_a_path_and_siblings_count_once():
    curator, root = open_curator()
    chosen = curator.answer(SelectTests(root, TESTS, offered(root), Gini()), PermuteAndFlip(HALF, Gini().range))
    children = curator.partition(root, TESTS, chosen)
    assert len(children) == 2
    curator.answer(Sizes(children), Geometric(Fraction(1, 4)))
    assert curator.spent == Fraction(3, 4)
    curator.answer(ClassCounts(children[np.array([True, False])]), Geometric(Fraction(1, 4)))
    assert curator.spent == 1


def test_only_the_path_that_has_spent_its_budget_is_refused():
    curator, root = open_curator()
    children = curator.partition(root, TESTS, np.array([0]))
    first, second = np.array([True, False]), np.array([False, True])
    curator.answer(Sizes(children[first]), Geometric(Fraction(1)))
    with pytest.raises(BudgetExceeded, match="not answered"):
        curator.answer(Sizes(children[first]), Geometric(Fraction(1, 1000)))
    assert len(curator.answer(Sizes(children[second]), Geometric(Fraction(1)))) == 1


def test_a_refused_question_draws_nothing():
    curator, root = open_curator()
    curator._randomness = Silent(0)
    for ask in (
        lambda: curator.answer(Sizes(root), Geometric(Fraction(2))),
        lambda: curator.answer(ClassCounts(root), Geometric(Fraction(2))),
        lambda: curator.answer(Histogram(root, np.array([[True, False]])), Geometric(Fraction(2))),
        lambda: curator.answer(SelectLabels(root), PermuteAndFlip(Fraction(2), 1)),
        lambda: curator.answer(CompareMinorities(root), AtMost(Geometric(Fraction(2)), 1)),
        lambda: curator.answer(
            SelectTests(root, TESTS, offered(root), Gini()), PermuteAndFlip(Fraction(2), Gini().range)
        ),
    ):
        with pytest.raises(BudgetExceeded):
            ask()
    assert curator.spent == 0


def test_a_refusal_says_nothing_about_the_records():
    messages = set()
    for records in (RECORDS, [], RECORDS[:1]):
        curator = Queryable(make_table(records), Fraction(1), Randomness(0))
        root = curator.assign(PerRecordCoin(1))
        with pytest.raises(BudgetExceeded) as refusal:
            curator.answer(Sizes(root), Geometric(Fraction(2)))
        messages.add(str(refusal.value))
    assert len(messages) == 1


def test_a_node_cannot_be_asked_twice_in_one_question():
    curator, root = open_curator()
    children = curator.partition(root, TESTS, np.array([0]))
    twice = type(children)(children.generation, np.array([0, 0]))
    with pytest.raises(ConfigurationError, match="names a node"):
        curator.answer(Sizes(twice), Geometric(HALF))


def test_assignments_of_the_same_records_add_up():
    curator, root = open_curator()
    curator.answer(Sizes(root), Geometric(HALF))
    other = curator.assign(PerRecordCoin(3))
    curator.answer(Sizes(other), Geometric(Fraction(1, 4)))
    assert curator.spent == Fraction(3, 4)
    with pytest.raises(BudgetExceeded):
        curator.answer(Sizes(other), Geometric(HALF))
    curator.answer(Sizes(root), Geometric(Fraction(1, 4)))
    assert curator.spent == 1


def test_a_histogram_is_released_of_the_features_that_were_asked_for():
    curator, root = open_curator(Fraction(1000))
    cells = curator.answer(Histogram(root, np.array([[False, True]])), Geometric(Fraction(1000)))
    assert cells.tolist() == [[[0, 0]] * 2 + [[5, 5]] * 2]
    with pytest.raises(ConfigurationError, match="in 2 counts"):
        curator.answer(Histogram(root, BOTH), Geometric(Fraction(1)))


@pytest.mark.parametrize(
    ("ask", "sensitivity"),
    [
        (lambda curator, root: curator.answer(Sizes(root), Geometric(Fraction(1))) - 20, 1),
        (lambda curator, root: curator.answer(ClassCounts(root), Geometric(Fraction(1))) - 10, 1),
        (lambda curator, root: curator.answer(Histogram(root, BOTH), Geometric(Fraction(1), 2)) - 5, 2),
    ],
    ids=["count", "class counts", "histogram"],
)
def test_answers_follow_the_law_of_their_sensitivity(ask, sensitivity):
    noise = np.concatenate([ask(*open_curator(randomness=Randomness(seed))).ravel() for seed in range(3000)])
    outcomes = np.arange(-4, 5)
    seen = np.array([(noise == outcome).sum() for outcome in outcomes])

    def distance(other):
        expected = len(noise) * Geometric(Fraction(1), other).law(0, outcomes)
        return float(((seen - expected) ** 2 / expected).sum())

    assert distance(sensitivity) < 45  # chi-square with 9 degrees of freedom: below 1e-6
    assert distance(3 - sensitivity) > 100


def test_answers_at_a_large_budget_are_the_counts():
    curator, root = open_curator(Fraction(5000))
    assert curator.answer(Sizes(root), Geometric(Fraction(1000))).tolist() == [20]
    assert curator.answer(ClassCounts(root), Geometric(Fraction(1000))).tolist() == [[10, 10]]
    assert curator.answer(CompareMinorities(root), AtMost(Geometric(Fraction(1000)), 9)).tolist() == [False]
    assert curator.answer(CompareMinorities(root), AtMost(Geometric(Fraction(1000)), 10)).tolist() == [True]


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(-1)])
def test_nothing_gives_budget_back(budget):
    curator, root = open_curator()
    for ask in (
        lambda: curator.answer(Sizes(root), Geometric(budget)),
        lambda: curator.answer(ClassCounts(root), Geometric(budget)),
        lambda: curator.answer(SelectLabels(root), PermuteAndFlip(budget, 1)),
        lambda: curator.answer(SelectTests(root, TESTS, offered(root), Gini()), PermuteAndFlip(budget, Gini().range)),
    ):
        with pytest.raises(ConfigurationError):
            ask()
    assert curator.spent == 0


def test_threads_cannot_overdraw_a_curator():
    for _ in range(20):
        curator, root = open_curator()
        answers, barrier = [], threading.Barrier(4)

        def ask(curator=curator, root=root, answers=answers, barrier=barrier):
            barrier.wait()
            with contextlib.suppress(BudgetExceeded):
                answers.append(curator.answer(Sizes(root), Geometric(Fraction(1))))

        workers = [threading.Thread(target=ask) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(answers) == 1
        assert curator.spent == 1


def test_candidates_that_are_no_tests_are_refused():
    with pytest.raises(ConfigurationError, match="do not describe tests"):
        replace(TESTS, at=np.array([0, 2], np.int32))
    curator, root = open_curator()
    with pytest.raises(ConfigurationError, match="chosen must be a test"):
        curator.partition(root, TESTS, np.array([2]))


@pytest.mark.parametrize(
    "index", [np.array([0, 1], np.uint8), np.array([True, False]), np.array([[0]]), np.array([0.0])]
)
def test_nodes_are_named_by_signed_integers_only(index):
    _, root = open_curator()
    with pytest.raises(ConfigurationError, match="signed integers"):
        type(root)(root.generation, index)


def test_the_names_of_nodes_are_copies_that_cannot_be_written_to():
    curator, root = open_curator()
    children = curator.partition(root, TESTS, np.array([0]))
    mine = np.array([0, 1])
    nodes = type(root)(children.generation, mine)
    mine[1] = 0
    assert nodes.index.tolist() == [0, 1]
    with pytest.raises(ValueError, match="WRITEABLE"):
        nodes.index.flags.writeable = True


def test_tests_cannot_be_written_to_after_they_were_checked():
    for name in ("at", "feature", "kind"):
        with pytest.raises(ValueError, match="WRITEABLE"):
            getattr(TESTS, name).flags.writeable = True


@pytest.mark.parametrize("kind", [3, -1, 7])
def test_tests_of_an_unknown_kind_are_refused(kind):
    with pytest.raises(ConfigurationError, match="kind"):
        replace(TESTS, kind=np.array([kind, 0]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_copy_of_a_curator_in_another_process_answers_nothing():
    curator, root = open_curator()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            curator.answer(Sizes(root), Geometric(HALF))
            os.write(write, b"answered")
        except BudgetExceeded:
            os.write(write, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 20) == b"refused"
    assert len(curator.answer(Sizes(root), Geometric(HALF))) == 1


class Units:
    """Every record weighs as much as it may."""

    unit = 1 << 16

    def __call__(self, margins, labels):
        return np.full(len(labels), self.unit, dtype=np.uint64)


def test_a_batch_of_normal_noise_is_refused_before_it_is_drawn_where_its_draws_pass_their_ceiling():
    curator = Queryable(make_table(RECORDS), cost_of(mu_squared=1, draws=1), Randomness(0))
    root = curator.assign(PerRecordCoin(1))
    curator._randomness = Silent(0)
    with pytest.raises(BudgetExceeded):
        curator.answer(ClassCounts(root), RoundedNormal(Fraction(1, 10**4)))
    assert curator.total.draws == 0
