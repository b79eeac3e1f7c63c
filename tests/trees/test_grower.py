"""Grown trees: shape, budgets on every path, and what one record can move."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from costs import stated
from helpers import grow, make_table, n_leaves

from hedgerow.curator import Queryable
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Budget, PerRecordCoin, Randomness
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.privacy.accounting import cost
from hedgerow.scores import multiway
from hedgerow.trees import Forest, Grower, NoisyMinority, Recipe
from hedgerow.trees.parts import Harmonic

ONE = Fraction(1)


def random_records(count, n_codes, n_classes, seed=0):
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, n, count) for n in n_codes] + [generator.integers(0, n_classes, count)]
    return [tuple(int(cell) for cell in row) for row in np.stack(columns, axis=1)]


def paths(forest: Forest):
    """Yield (features tested, level of the leaf) for every path of every tree."""
    stack = [(int(root), ()) for root in forest.roots]
    while stack:
        node, features = stack.pop()
        test = forest.test[node]
        if test < 0:
            yield features, len(features) + 1
        else:
            below = (*features, int(forest.candidates.feature[test]))
            arity = int(forest.candidates.arity[test])
            stack += [(int(forest.first_child[node]) + branch, below) for branch in range(arity)]


def test_harmonic_budgets_are_those_of_the_papers_figure_3():
    budgets = Harmonic().budgets(ONE, 3)
    assert [round(float(budget), 2) for budget in budgets] == [0.18, 0.27, 0.55]
    assert round(float(1 - budgets[0]), 2) == 0.82


@pytest.mark.parametrize("stop", [None, NoisyMinority()])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_every_path_of_the_plan_costs_at_most_epsilon_and_nearly_all_of_it(stop, depth):
    epsilon = Fraction(3, 10)
    schedule = Recipe(stop=stop).schedule(epsilon, np.array([2, 3]), [False] * 2, n_estimators=7, max_depth=depth)
    for path in schedule.event.part.parts:
        assert epsilon * (1 - Fraction(1, 10**9)) < cost(path).epsilon <= epsilon


@pytest.mark.parametrize("stop", [None, NoisyMinority()])
def test_what_is_spent_is_what_was_planned(stop):
    schedule = Recipe(stop=stop).schedule(ONE, np.array([2, 3]), [False] * 2, n_estimators=3, max_depth=2)
    curator = Queryable(make_table(random_records(200, (2, 3), 2), (2, 3)), ONE, Randomness(3))
    Grower(curator, schedule).grow()
    assert curator.spent <= cost(schedule.event).epsilon


def test_a_path_ends_when_the_features_are_used_up():
    forest = grow(random_records(50, (2, 2), 2), Randomness(1), depth=5)
    assert {level for _, level in paths(forest)} == {3}


def test_the_shape_of_a_forest_does_not_depend_on_the_records_when_all_tests_are_alike():
    shapes = {
        grow(records, Randomness(seed), trees=2).test.shape
        for seed, records in enumerate(([], [(0, 0, 0)], random_records(100, (2, 2), 2)))
    }
    assert len(shapes) == 1


def test_the_allowance_bounds_the_nodes_of_every_tree():
    n_codes = (50, 50, 3, 2)
    recipe = Recipe(allowance=60)
    forest = grow(random_records(400, n_codes, 2), Randomness(5), recipe=recipe, trees=4, depth=4, n_codes=n_codes)
    assert forest.n_nodes <= 4 * 61
    assert n_leaves(forest) > 4


def test_an_allowance_below_the_narrowest_test_gives_single_leaves():
    forest = grow(random_records(50, (3, 4), 2), Randomness(5), recipe=Recipe(allowance=2), n_codes=(3, 4))
    assert forest.n_nodes == 1


def test_a_signal_is_found():
    records = [(a, b, b) for a in (0, 1) for b in (0, 1) for _ in range(200)]
    forest = grow(records, Randomness(0), depth=1, epsilon=Fraction(5))
    assert forest.test[0] == 1
    votes = forest.trees.sums_of(np.array([[0, 0], [0, 1]], dtype=np.uint8), forest.label, 2)
    assert votes.tolist() == [[1, 0], [0, 1]]


def test_removing_a_record_moves_no_other_record_to_another_tree():
    # Record i reads word i of the stream, so the assignment of the first n - 1 records is the same with n records.
    key = bytes(range(32))
    coin = PerRecordCoin(7)
    longer = coin.sample(open_stream(key, 1), 1000)
    shorter = coin.sample(open_stream(key, 1), 999)
    assert np.array_equal(longer[:999], shorter)
    assert np.all(np.bincount(longer, minlength=7) > 90)


def test_trees_survive_arrays_and_damaged_arrays_are_refused():
    forest = grow(random_records(60, (2, 2), 2), Randomness(0), trees=2)
    arrays = forest.to_arrays()
    again = Forest.from_arrays(arrays, forest.candidates, 2)
    assert all(np.array_equal(again.to_arrays()[name], arrays[name]) for name in arrays)
    for name, value in (("first_child", 0), ("test", 9), ("label", 7), ("roots", -1), ("first_child", 10**6)):
        damaged = {key: array.copy() for key, array in arrays.items()}
        damaged[name][0 if name != "label" else -1] = value
        with pytest.raises(FileFormatError):
            Forest.from_arrays(damaged, forest.candidates, 2)
    with pytest.raises(FileFormatError):
        Forest.from_arrays({}, forest.candidates, 2)


def test_two_parents_of_one_node_are_refused():
    forest = grow(random_records(60, (2, 2), 2), Randomness(0), depth=2)
    arrays = {name: array.copy() for name, array in forest.to_arrays().items()}
    arrays["first_child"][1] = arrays["first_child"][2]
    with pytest.raises(FileFormatError):
        Forest.from_arrays(arrays, forest.candidates, 2)


def test_a_path_that_no_estimator_grows_is_refused():
    deep = 200
    inner = np.arange(deep)
    arrays = {
        "roots": np.array([0], dtype=np.int32),
        "test": np.array([0, *[0, -1] * deep], dtype=np.int32),
        "first_child": np.zeros(2 * deep + 1, dtype=np.int32),
        "label": np.zeros(2 * deep + 1, dtype=np.int32),
    }
    arrays["test"][-2] = -1
    places = np.array([0, *range(1, 2 * deep - 1, 2)])
    arrays["first_child"][places] = 2 * inner + 1
    candidates = multiway((2, 2))
    with pytest.raises(FileFormatError, match="deeper"):
        Forest.from_arrays(arrays, candidates, 2)


def test_the_stop_compares_with_theta_over_its_share():
    stop = NoisyMinority(theta=Fraction(2), budget=Budget(Fraction(1, 4))).mechanism
    assert stated(stop.noise) == Fraction(1, 4)
    assert stop.threshold == 8
    assert NoisyMinority(budget=Budget(Fraction(15, 100))).mechanism.threshold == 13
