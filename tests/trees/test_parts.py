"""Every part of a private forest: what it plans, what it spends, what it offers, and what it leaves behind."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers import exact_law, grow, make_table
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow.trees.parts
from hedgerow.curator import Queryable
from hedgerow.errors import BudgetExceeded, FileFormatError
from hedgerow.mechanisms import (
    Budget,
    Exponential,
    PermuteAndFlip,
    PerRecordCoin,
    Randomness,
    WeightedCoin,
)
from hedgerow.mechanisms import (
    Geometric as Noise,
)
from hedgerow.privacy.accounting import Event, Parallel, cost
from hedgerow.scores import Error, InformationGain, binary, mixed, multiway
from hedgerow.scores.kernels import CUT, EACH
from hedgerow.table import Coded, MemoryTable
from hedgerow.trees import (
    UNIFORM,
    AllRecords,
    Forest,
    ForestPlan,
    Geometric,
    Grower,
    Harmonic,
    LeafShare,
    Linear,
    NoisyCounts,
    NoisyHistograms,
    NoisyMinority,
    NoisySize,
    PerRecord,
    PessimisticPruning,
    RandomTest,
    Recipe,
    SelectLabel,
    SelectTest,
    Subspace,
    TwoPhasePlan,
    Weighted,
)
from hedgerow.trees.forest import HardRecords, smoothed_votes
from hedgerow.trees.model import _added_errors, _class_counts, _sizes

ONE = Fraction(1)
N_CODES, IS_NUMERIC, N_CLASSES = (7, 4, 5, 3), (True, False, True, False), 3
FREE = LeafShare(ONE)  # for tests that cost nothing

RECIPES = {
    "binary": Recipe(candidates=binary),
    "mixed": Recipe(candidates=mixed, split=SelectTest(Exponential, InformationGain(100))),
    "multiway": Recipe(split=SelectTest(PermuteAndFlip, Error())),
    "subspace": Recipe(subspace=Subspace()),
    "subspace, mixed": Recipe(subspace=Subspace(), candidates=mixed),
    "random": Recipe(split=RandomTest(), levels=FREE, candidates=mixed),
    "random, binary": Recipe(split=RandomTest(), levels=FREE, candidates=binary, leaf=NoisyCounts()),
    "histograms": Recipe(split=NoisyHistograms(), leaf=NoisyCounts()),
    "histograms, subspace": Recipe(split=NoisyHistograms(), subspace=Subspace(), stop=NoisySize(Fraction(1, 5))),
    "noisy size": Recipe(stop=NoisySize(), leaf=NoisyCounts()),
    "noisy size, little": Recipe(stop=NoisySize(Fraction(1, 7)), candidates=binary),
    "noisy minority": Recipe(stop=NoisyMinority(), candidates=mixed),
    "pruned": Recipe(
        stop=NoisySize(), leaf=NoisyCounts(), candidates=mixed, prune=PessimisticPruning(), assign=AllRecords()
    ),
    "allowance": Recipe(allowance=9, candidates=mixed),
    **{
        f"{type(levels).__name__} {i}": Recipe(levels=levels, stop=NoisySize(), candidates=binary)
        for i, levels in enumerate(
            [Harmonic(), UNIFORM, Geometric(), Geometric(Fraction(1, 3)), Linear(), Linear(1, 0), LeafShare()]
        )
    },
    **{
        f"{type(assign).__name__} {i}": Recipe(assign=assign, candidates=binary, leaf=NoisyCounts(), stop=NoisySize())
        for i, assign in enumerate([PerRecord(), AllRecords()])
    },
}  # fmt: skip


def every(recipes=RECIPES):
    return pytest.mark.parametrize("recipe", recipes.values(), ids=recipes.keys())


def schedule_of(recipe, epsilon=ONE, trees=3, depth=3):
    return recipe.schedule(epsilon, np.array(N_CODES), IS_NUMERIC, n_estimators=trees, max_depth=depth)


def records_of(count, seed=0, n_codes=N_CODES):
    generator = np.random.default_rng(seed)
    columns = [generator.integers(0, n, count) for n in n_codes]
    columns.append((columns[0] + 2 * (columns[1] > 1) + generator.integers(0, 2, count)) % N_CLASSES)
    return [tuple(int(cell) for cell in row) for row in np.stack(columns, axis=1)]


def grown(recipe, seed=0, count=400, *, records=None, **size) -> tuple[Grower, Forest, Queryable]:
    records = records_of(count, seed) if records is None else records
    schedule = schedule_of(recipe, **size)
    curator = Queryable(make_table(records, N_CODES, N_CLASSES), size.get("epsilon", ONE), Randomness(seed))
    grower = Grower(curator, schedule)
    return grower, grower.grow(), curator


def all_codes():
    return np.array(list(product(*map(range, N_CODES))), dtype=np.uint8)


def parallel_of(event: Event) -> Parallel:
    """Return the paths of one tree of a forest's event."""
    if isinstance(event, Parallel):
        return event
    return parallel_of(event.part if hasattr(event, "part") else event.parts[-1])


# Budgets: what is planned, and what is spent.


@every()
@pytest.mark.parametrize(("depth", "epsilon"), [(0, ONE), (1, Fraction(9)), (4, Fraction(1, 100))])
def test_every_path_is_planned_at_nearly_all_that_a_tree_may_spend(recipe, depth, epsilon):
    schedule = schedule_of(recipe, epsilon, depth=depth)
    assert epsilon * (1 - Fraction(1, 10**6)) < cost(schedule.event).epsilon <= epsilon
    for path in parallel_of(schedule.event).parts:
        spent = cost(path).epsilon
        assert schedule.sampling.budget.amount * (1 - Fraction(1, 10**6)) < spent <= schedule.sampling.budget.amount


@every()
@pytest.mark.parametrize("depth", [0, 4])
def test_growing_spends_at_most_what_was_planned(recipe, depth):
    planned = cost(schedule_of(recipe, depth=depth).event).epsilon
    for seed, count in enumerate((0, 1, 30, 800)):
        _, _, curator = grown(recipe, seed, count, depth=depth)
        assert 0 < curator.spent <= planned <= 1
        if count == 800:
            assert curator.spent > planned * Fraction(9, 10)


@every()
def test_a_curator_with_a_hair_less_than_was_spent_stops_the_forest(recipe):
    _, _, curator = grown(recipe, depth=2)
    less = curator.spent - Fraction(1, 10**30)
    with pytest.raises(BudgetExceeded):
        Grower(
            Queryable(make_table(records_of(400), N_CODES, N_CLASSES), less, Randomness(0)),
            schedule_of(recipe, depth=2),
        ).grow()


@given(
    st.fractions(Fraction(1, 1000), 20),
    st.integers(1, 20),
    st.sampled_from(
        [
            Harmonic(),
            UNIFORM,
            Geometric(),
            Geometric(Fraction(1, 2)),
            Linear(),
            Linear(3, 0),
            FREE,
        ]
    ),
)
@settings(max_examples=200, deadline=None)
def test_levels_share_the_budget_exactly(epsilon, levels, rule):
    budgets = rule.budgets(epsilon, levels)
    assert len(budgets) == levels
    assert sum(budgets) == epsilon
    assert min(budgets) >= 0
    assert (min(budgets) == 0) == (rule is FREE and levels > 1)


def test_levels_are_those_of_the_specification():
    share = [float(budget) for budget in Linear().budgets(ONE, 6)]
    assert share == pytest.approx([0.0741, 0.1111, 0.1481, 0.1852, 0.2222, 0.2593], abs=5e-5)
    share = [float(budget) for budget in Linear(1, 0).budgets(ONE, 6)]
    assert share == pytest.approx([0.0476, 0.0952, 0.1429, 0.1905, 0.2381, 0.2857], abs=5e-5)
    share = [float(budget) for budget in Geometric().budgets(ONE, 6)]
    assert share == pytest.approx([0.0159, 0.0317, 0.0635, 0.127, 0.254, 0.5079], abs=5e-5)
    assert FREE.budgets(ONE, 3) == [0, 0, 1]
    assert FREE.budgets(ONE, 1) == [1]


# What nodes are offered.


@dataclass(frozen=True, eq=False)
class Watched:
    """A split that writes down what each node was offered."""

    split: Any
    calls: list
    budget: Budget | None = None

    def events(self, level, candidates):
        return replace(self.split, budget=self.budget).events(level, candidates)

    def choose(self, curator, nodes, candidates, offered):
        chosen = replace(self.split, budget=self.budget).choose(curator, nodes, candidates, offered)
        self.calls.append((nodes, offered.copy(), chosen.copy()))
        return chosen


def branch_of(tests, test, code):
    kind, at = tests.kind[test], int(tests.at[test])
    if kind == CUT:
        return int(code > at)
    return code if kind == EACH else int(code != at)


def paths_to(forest: Forest) -> dict[int, list[tuple[int, int]]]:
    """Return the (test, branch) pairs above every node."""
    stack = [(int(root), []) for root in forest.roots]
    paths = {}
    while stack:
        node, path = stack.pop()
        paths[node] = path
        test = int(forest.test[node])
        if test >= 0:
            first = int(forest.first_child[node])
            stack += [(first + b, [*path, (test, b)]) for b in range(int(forest.candidates.arity[test]))]
    return paths


def undecided_by(tests, path) -> list[bool]:
    """Return which tests could still tell apart two codes that every test of a path lets through."""
    answer = []
    for test, feature in enumerate(tests.feature):
        left = [
            code
            for code in range(int(tests.n_codes[feature]))
            if all(tests.feature[above] != feature or branch_of(tests, above, code) == branch for above, branch in path)
        ]
        answer.append(len({branch_of(tests, test, code) for code in left}) > 1)
    return answer


@every({name: recipe for name, recipe in RECIPES.items() if name != "pruned"})
def test_what_is_offered_follows_from_the_tests_above_a_node_alone(recipe):
    calls: list = []
    grower, forest, _ = grown(replace(recipe, split=Watched(recipe.split, calls)), trees=2)
    tests, paths = forest.candidates, paths_to(forest)
    asked = set()
    for nodes, offered, chosen in calls:
        start = grower._layers[nodes.generation].start
        for index, row, test in zip(nodes.index, offered, chosen, strict=True):
            node = start + int(index)
            asked.add(node)
            expected = np.array(undecided_by(tests, paths[node]))
            if recipe.allowance < 100:
                expected &= tests.arity <= descendants_allowed(recipe.allowance, tests, paths[node])
            if recipe.subspace is None:
                assert row.tolist() == expected.tolist()
            else:
                drawn = np.unique(tests.feature[row])
                could = np.unique(tests.feature[expected])
                assert len(drawn) == min(2, len(could))  # of 4 features
                assert np.array_equal(row, expected & np.isin(tests.feature, drawn))
            assert row[test]
            assert forest.test[node] == test
    assert asked == set(np.flatnonzero(forest.test >= 0).tolist())


def descendants_allowed(allowance, tests, path) -> int:
    for test, _ in path:
        allowance = (allowance - int(tests.arity[test])) // int(tests.arity[test])
    return allowance


@every({name: recipe for name, recipe in RECIPES.items() if recipe.stop is None})
def test_a_path_ends_early_only_where_nothing_is_left_to_ask(recipe):
    _, forest, _ = grown(recipe)
    tests, level = forest.candidates, forest.trees.levels
    for node, path in paths_to(forest).items():
        if forest.test[node] < 0 and level[node] < 4:
            left = np.array(undecided_by(tests, path)) & (
                tests.arity <= descendants_allowed(recipe.allowance, tests, path)
            )
            assert not left.any()


@every()
def test_every_branch_of_every_grown_test_can_be_taken(recipe):
    """No test is decided by its path: some record of the schema reaches every node."""
    _, forest, _ = grown(recipe, epsilon=Fraction(20))
    tests = forest.candidates
    for path in paths_to(forest).values():
        for feature, count in enumerate(N_CODES):
            mine = [(test, branch) for test, branch in path if tests.feature[test] == feature]
            assert any(all(branch_of(tests, test, code) == b for test, b in mine) for code in range(count))


def test_a_subspace_offers_each_feature_as_often_as_any_other():
    tests = mixed((7, 4, 5, 3, 4), (True, False, True, False, False))
    curator = Queryable(make_table([], (7, 4, 5, 3, 4)), ONE, Randomness(0))
    offered = np.ones((6000, len(tests)), dtype=bool)
    offered[3000:, tests.feature == 1] = False
    drawn = Subspace().offer(curator, tests, offered)
    features = np.array([[drawn[node, tests.feature == f].all() for f in range(5)] for node in range(6000)])
    assert np.all(features.sum(axis=1) == 3)  # ceil(sqrt(5))
    assert np.array_equal(drawn, offered & features[:, tests.feature])
    assert np.all(np.abs(features[:3000].mean(axis=0) - 3 / 5) < 0.05)
    assert np.all(np.abs(features[3000:].mean(axis=0) - [3 / 4, 0, 3 / 4, 3 / 4, 3 / 4]) < 0.05)
    assert curator.spent == 0


def test_a_random_test_is_of_any_feature_and_any_place_in_it():
    tests = mixed((7, 4, 5), (True, False, True))
    curator = Queryable(make_table([], (7, 4, 5)), ONE, Randomness(0))
    offered = np.ones((9000, len(tests)), dtype=bool)
    offered[:, 0] = False  # a decided cut
    chosen = RandomTest().choose(curator, None, tests, offered)
    share = np.bincount(chosen, minlength=len(tests)) / 9000
    expected = np.array([0] + [1 / 15] * 5 + [1 / 3] + [1 / 12] * 4)
    assert np.all(np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 9000) + 1e-12)
    assert curator.spent == 0
    assert RandomTest().events(1, tests) == ()


def test_random_tests_read_no_record():
    forests = [
        grown(Recipe(split=RandomTest(), levels=FREE, candidates=mixed, assign=AllRecords()), records=records)[1]
        for records in ([], records_of(300), records_of(20, seed=5))
    ]
    assert len({forest.test.tobytes() for forest in forests}) == 1
    assert len({forest.label.tobytes() for forest in forests}) > 1


# Splits.


def root_features(recipe, n_codes, is_numeric) -> dict[int, float]:
    """Return how probably the root of a tree without records tests each feature, exact."""
    law = exact_law(
        lambda source: (
            grow((), source, recipe=recipe, depth=1, n_codes=n_codes, is_numeric=is_numeric, n_classes=1).test[0].item()
        )
    )
    feature = recipe.candidates(np.array(n_codes), is_numeric).feature
    found: Counter = Counter()
    for test, probability in law.items():
        found[int(feature[test])] += probability
    return dict(found)


@pytest.mark.parametrize(
    "split",
    [
        SelectTest(Exponential),
        RandomTest(),
    ],
)
def test_without_records_a_numeric_feature_is_as_probable_as_a_categorical_one(split):
    recipe = Recipe(candidates=mixed, split=split, levels=LeafShare())
    assert root_features(recipe, (4, 4), (True, False)) == pytest.approx({0: 0.5, 1: 0.5})


def plain_gain(records, feature, n_codes) -> float:
    total = 0.0
    for code in range(n_codes[feature]):
        labels = [record[-1] for record in records if record[feature] == code]
        total += sum(k * math.log2(k / len(labels)) for k in Counter(labels).values())
    return total


@pytest.mark.parametrize("cells", [1, 1 << 22])
def test_noisy_histograms_without_noise_choose_the_largest_information_gain(cells, monkeypatch):
    monkeypatch.setattr(hedgerow.trees.parts, "CELLS_AT_ONCE", cells)
    records = records_of(500, seed=3)
    recipe = Recipe(split=NoisyHistograms(), assign=AllRecords(), leaf=NoisyCounts())
    _, forest, _ = grown(recipe, records=records, trees=1, depth=3, epsilon=Fraction(10**7))
    for node, path in paths_to(forest).items():
        used = {int(forest.candidates.feature[test]) for test, _ in path}
        mine = [r for r in records if all(r[forest.candidates.feature[test]] == branch for test, branch in path)]
        if forest.test[node] < 0:
            assert forest.counts[node].tolist() == [sum(r[-1] == label for r in mine) for label in range(N_CLASSES)]
            continue
        gains = {f: plain_gain(mine, f, N_CODES) for f in set(range(4)) - used}
        chosen = int(forest.candidates.feature[forest.test[node]])
        assert gains[chosen] == pytest.approx(max(gains.values()), abs=1e-9)


def test_noisy_histograms_charge_the_noise_of_as_many_features_as_a_node_may_test():
    tests = multiway(N_CODES)
    split = NoisyHistograms(budget=Budget(ONE))
    curator = Queryable(make_table(records_of(50), N_CODES, N_CLASSES), ONE, Randomness(0))
    sensitivities = []
    original = curator.answer
    curator.answer = lambda query, noise: (
        sensitivities.append((noise.sensitivity, query.asked.sum(axis=1).tolist())) or original(query, noise)
    )
    root = curator.assign(PerRecordCoin(3))
    offered = np.array([[True] * 4, [True, False, True, False], [True, True, True, True]])
    chosen = split.choose(curator, root, tests, offered)
    assert sensitivities == [(2, [2]), (4, [4, 4])]
    assert offered[np.arange(3), chosen].all()
    assert curator.spent <= cost(split.events(1, tests)[0]).epsilon <= 1


# Stops.


class NoNoise(Randomness):
    """Answers without noise."""

    def draw(self, mechanism, *statistics):
        return np.array(statistics[0]) if isinstance(mechanism, Noise) else super().draw(mechanism, *statistics)


@pytest.mark.parametrize(("count", "leaf"), [(3, False), (2, True)])
def test_a_noisy_size_stops_nodes_with_few_records_for_their_widest_test(count, leaf):
    # a deviation of sqrt(2) / 2, times 2 branches and 2 classes: 2.83 records
    stop = NoisySize(budget=Budget(Fraction(2)))
    curator = Queryable(make_table([(0, 0, 0)] * count), Fraction(50), NoNoise(0))
    root = curator.assign(PerRecordCoin(1))
    stops, sizes = stop.ask(curator, root, np.array([2]))
    assert (stops.tolist(), sizes.tolist()) == ([leaf], [count])
    assert curator.spent == 2


def test_sizes_are_those_of_nodes_that_were_asked_and_no_others():
    grower, forest, _ = grown(
        Recipe(stop=NoisySize(), candidates=mixed, leaf=NoisyCounts()), epsilon=Fraction(2000), count=6
    )
    size = np.concatenate([layer.size for layer in grower._layers])
    inner, level = forest.test >= 0, forest.trees.levels
    assert np.all(size[inner] > 0)
    assert np.all(size[level == 4] == -1)
    assert size[forest.roots].sum() == 6
    stopped = ~inner & (level < 4) & (size >= 0)
    assert stopped.any()
    assert np.array_equal(size[stopped], forest.counts[stopped].sum(axis=1))


def votes_of(forest, codes):
    return forest.trees.sums_of(codes, forest.label, N_CLASSES if forest.counts is None else forest.counts.shape[1])


# Files.


@every()
def test_forests_survive_arrays_and_predict_the_same(recipe):
    _, forest, _ = grown(recipe)
    arrays = forest.to_arrays()
    plain = recipe.candidates(np.array(N_CODES), IS_NUMERIC)
    again = Forest.from_arrays(arrays, plain, N_CLASSES)
    assert np.array_equal(votes_of(again, all_codes()), votes_of(forest, all_codes()))
    assert all(np.array_equal(again.to_arrays()[name], arrays[name]) for name in arrays)
    assert (forest.counts is None) == (recipe.leaf == SelectLabel())
    if forest.counts is not None:
        assert np.array_equal(smoothed_votes(again, 2.0)[0], smoothed_votes(forest, 2.0)[0])


@every()
def test_votes_agree_with_a_plain_walk(recipe):
    _, forest, _ = grown(recipe, trees=2)
    codes = all_codes()[::11]
    expected = np.zeros((len(codes), N_CLASSES), dtype=int)
    for row, record in enumerate(codes.tolist()):
        for root in forest.roots:
            node = int(root)
            while (test := int(forest.test[node])) >= 0:
                node = int(forest.first_child[node]) + branch_of(
                    forest.candidates, test, record[forest.candidates.feature[test]]
                )
            expected[row, forest.label[node]] += 1
    assert np.array_equal(votes_of(forest, codes), expected)


def test_a_file_whose_tests_cut_codes_in_another_order_is_refused():
    _, forest, _ = grown(Recipe(candidates=binary))
    arrays = {**forest.to_arrays(), "order": np.zeros((2, 3), dtype=np.int32)}
    with pytest.raises(FileFormatError, match="order of their own"):
        Forest.from_arrays(arrays, forest.candidates, N_CLASSES)


@pytest.mark.parametrize(
    "damage",
    [
        {"counts": np.zeros((3, 3), dtype=np.int64)},
        {"counts": np.zeros(3)},
        {"label": np.zeros(1, dtype=np.int32)},
        {"roots": np.zeros((1, 1), dtype=np.int32)},
        {"roots": np.zeros(0, dtype=np.int32)},
        {"test": np.int32(-1)},
        {"first_child": np.zeros(2)},
    ],
)
def test_other_damage_is_refused(damage):
    _, forest, _ = grown(Recipe(candidates=mixed, leaf=NoisyCounts()))
    with pytest.raises(FileFormatError):
        Forest.from_arrays({**forest.to_arrays(), **damage}, forest.candidates, N_CLASSES)


# Pruning.


def tree(tests, nodes) -> tuple[Forest, np.ndarray]:
    """Return one tree, and its sizes, of nodes (test or -1, first child, size, class counts)."""
    test, first, size, counts = (np.array(column) for column in zip(*nodes, strict=True))
    leaf = test < 0
    forest = Forest(
        np.array([0], np.int32),
        test.astype(np.int32),
        first.astype(np.int32),
        np.where(leaf, counts.argmax(axis=1), -1).astype(np.int32),
        tests,
        counts.astype(np.int64),
    )
    return forest, size


def test_what_is_added_to_errors_is_quinlans():
    # C4.5, page 41: U25%(0, 6) = 0.206, (0, 9) = 0.143, (0, 1) = 0.750, and (1, 16) = 0.157 by the binomial
    n, wrong = np.array([6.0, 9, 1, 16]), np.array([0.0, 0, 0, 1])
    upper = (wrong + _added_errors(n, wrong, 0.25)) / n
    assert upper[:3] == pytest.approx([0.206, 0.143, 0.750], abs=5e-4)
    assert upper[3] == pytest.approx(0.157, abs=3e-3)


def test_quinlans_subtree_of_sixteen_votes_becomes_a_leaf():
    # 6 * 0.206 + 9 * 0.143 + 1 * 0.750 = 3.273 errors as a subtree, 16 * 0.157 = 2.512 as a leaf
    nodes = [(0, 1, 16, [0, 0]), (-1, 0, -1, [6, 0]), (-1, 0, -1, [9, 0]), (-1, 0, -1, [0, 1])]
    pruned = PessimisticPruning().apply(*tree(multiway([3]), nodes))
    assert (pruned.test.tolist(), pruned.counts.tolist(), pruned.label.tolist()) == ([-1], [[15, 1]], [0])


def test_a_subtree_that_pays_is_kept():
    # As a leaf 6 of 16 are wrong
    nodes = [(0, 1, 16, [0, 0]), (-1, 0, -1, [6, 0]), (-1, 0, -1, [0, 9]), (-1, 0, -1, [0, 1])]
    forest, size = tree(multiway([3]), nodes)
    pruned = PessimisticPruning().apply(forest, size)
    assert pruned.test.tolist() == forest.test.tolist()
    assert pruned.counts.tolist() == forest.counts.tolist()


def test_pruning_works_from_the_leaves_up_and_keeps_what_is_above():
    # The root parts the classes, its first child parts nothing, its second child parts the rest.
    nodes = [
        (0, 1, 80, [0, 0]),
        (1, 3, 40, [0, 0]),
        (1, 5, 40, [0, 0]),
        (-1, 0, -1, [20, 0]),
        (-1, 0, -1, [19, 1]),
        (-1, 0, -1, [20, 0]),
        (-1, 0, -1, [0, 20]),
    ]
    forest, size = tree(multiway([2, 2]), nodes)
    pruned = PessimisticPruning().apply(forest, size)
    assert pruned.test.tolist() == [0, -1, 1, -1, -1]
    assert pruned.first_child.tolist() == [1, 0, 3, 0, 0]
    assert pruned.counts.tolist() == [[0, 0], [39, 1], [0, 0], [20, 0], [0, 20]]
    assert pruned.label.tolist() == [-1, 0, -1, 0, 1]
    assert np.array_equal(Forest.from_arrays(pruned.to_arrays(), forest.candidates, 2).test, pruned.test)
    codes = np.array(list(product((0, 1), repeat=2)), dtype=np.uint8)
    assert votes_of(pruned, codes).argmax(axis=1).tolist() == [0, 0, 0, 1]


def test_sizes_are_scaled_from_the_root_down():
    nodes = [
        (0, 1, 100, [0, 0]),
        (1, 3, 30, [0, 0]),
        (1, 5, 20, [0, 0]),
        (-1, 0, -1, [9, -4]),  # 9 by its counts: their sum where it is above zero, as released
        (-1, 0, 15, [1, 3]),
        (-1, 0, 0, [0, 0]),
        (-1, 0, -1, [-5, 2]),
    ]
    forest, size = tree(multiway([2, 2]), nodes)
    level, parent = forest.trees.levels, forest.trees.parents
    scaled = _sizes(forest, size, level, parent)
    assert scaled.tolist() == pytest.approx([100, 60, 40, 60 * 5 / 20, 60 * 15 / 20, 20, 20])
    counts = _class_counts(forest, scaled, level, parent)
    assert counts.tolist()[3:] == pytest.approx(np.array([[15, 0], [11.25, 33.75], [10, 10], [0, 20]]))
    assert counts.sum(axis=1) == pytest.approx(scaled)


@st.composite
def counted_trees(draw):
    """Return a random tree with noisy counts and sizes, of binary and wider tests."""
    tests = multiway([2, 3, 4, 2])
    kinds, first, level = [], [], [0]
    node = 0
    while node < len(level):
        test = draw(st.integers(-1, 3)) if level[node] < 3 and len(level) < 40 else -1
        kinds.append(test)
        first.append(len(level) if test >= 0 else 0)
        level += [level[node] + 1] * (int(tests.arity[test]) if test >= 0 else 0)
        node += 1
    numbers = st.integers(-20, 60)
    nodes = [
        (test, child, draw(st.integers(-5, 90)) if test < 0 else draw(st.integers(0, 90)), [0, 0, 0])
        if test >= 0
        else (test, child, draw(numbers), [draw(numbers) for _ in range(3)])
        for test, child in zip(kinds, first, strict=True)
    ]
    return tree(tests, nodes)


@given(counted_trees(), st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9]))
@settings(max_examples=300, deadline=None)
def test_pruned_trees_are_sound_and_their_sizes_add_up(drawn, confidence):
    forest, size = drawn
    level, parent = forest.trees.levels, forest.trees.parents
    scaled = _sizes(forest, size, level, parent)
    counts = _class_counts(forest, scaled, level, parent)
    for node in np.flatnonzero(forest.test >= 0):
        children = np.flatnonzero(parent == node)
        assert scaled[children].sum() == pytest.approx(scaled[node])
        assert counts[children].sum(axis=0) == pytest.approx(counts[node])
    assert counts.sum(axis=1) == pytest.approx(scaled)
    assert counts.min() >= 0
    pruned = PessimisticPruning(confidence).apply(forest, size)
    again = Forest.from_arrays(pruned.to_arrays(), forest.candidates, 3)
    assert pruned.n_nodes <= forest.n_nodes
    assert not pruned.counts[pruned.test >= 0].any()
    leaf = pruned.test < 0
    assert np.array_equal(pruned.label[leaf], pruned.counts[leaf].argmax(axis=1))
    codes = np.array(list(product(*map(range, (2, 3, 4, 2)))), dtype=np.uint8)
    assert np.array_equal(votes_of(again, codes), votes_of(pruned, codes))
    assert np.all(votes_of(pruned, codes).sum(axis=1) == 1)
    if pruned.n_nodes == forest.n_nodes:
        assert pruned.counts.tolist() == forest.counts.tolist()


def plain_pruned(forest, size, confidence):
    """Return which nodes stay tests, by recursion over one node at a time."""
    scaled = _sizes(forest, size, forest.trees.levels, forest.trees.parents)
    counts = _class_counts(forest, scaled, forest.trees.levels, forest.trees.parents)

    def upper(n, wrong):
        n = max(n, 1e-9)
        if wrong < 1:
            none = n * (1 - confidence ** (1 / n))
            return wrong + none + wrong * (upper(n, 1.0) - 1.0 - none) if wrong > 0 else none
        if wrong + 0.5 >= n:
            return wrong + max(n - wrong, 0.0)
        from statistics import NormalDist

        z, f = NormalDist().inv_cdf(1 - confidence), (wrong + 0.5) / n
        return (
            n
            * (f + z * z / (2 * n) + z * math.sqrt(f / n - f * f / n + z * z / (4 * n * n)))
            / (1 + z * z / n)
        )  # fmt: skip

    def visit(node):
        as_leaf = upper(counts[node].sum(), counts[node].sum() - counts[node].max())
        if forest.test[node] < 0:
            return as_leaf, None
        first, arity = int(forest.first_child[node]), int(forest.candidates.arity[forest.test[node]])
        below = [visit(first + branch) for branch in range(arity)]
        total = sum(error for error, _ in below)
        gap = as_leaf - total - 0.1
        if gap <= 0:
            return as_leaf, None
        return total, (int(forest.test[node]), [shape for _, shape in below])

    return visit(0)[1]


def shape_of(forest, node=0):
    if forest.test[node] < 0:
        return None
    first, arity = int(forest.first_child[node]), int(forest.candidates.arity[forest.test[node]])
    return int(forest.test[node]), [shape_of(forest, first + branch) for branch in range(arity)]


@given(counted_trees(), st.sampled_from([0.1, 0.25, 0.4]))
@settings(max_examples=200, deadline=None)
def test_pruning_agrees_with_a_plain_recursion(drawn, confidence):
    forest, size = drawn
    assert shape_of(PessimisticPruning(confidence).apply(forest, size)) == plain_pruned(forest, size, confidence)


def test_pruning_reads_released_counts_alone():
    """The trees grown without pruning, cut back after the records are gone, are those grown with it."""
    recipe = replace(RECIPES["pruned"], prune=None)
    grower, forest, curator = grown(recipe, seed=4, epsilon=Fraction(5))
    size = np.concatenate([layer.size for layer in grower._layers])
    spent = curator.spent
    curator._table = curator._state = curator._randomness = None
    pruned = PessimisticPruning().apply(forest, size)
    _, expected, other = grown(RECIPES["pruned"], seed=4, epsilon=Fraction(5))
    assert pruned.n_nodes < forest.n_nodes
    assert {name: array.tolist() for name, array in pruned.to_arrays().items()} == {
        name: array.tolist() for name, array in expected.to_arrays().items()
    }
    assert other.spent == spent
    assert cost(schedule_of(recipe).event) == cost(schedule_of(RECIPES["pruned"]).event)


def test_a_forest_of_labels_is_not_pruned():
    _, forest, _ = grown(Recipe(stop=NoisySize()))
    assert PessimisticPruning().apply(forest, np.zeros(forest.n_nodes, dtype=np.int64)) is forest


def test_a_tree_whose_tests_were_not_asked_for_their_sizes_keeps_its_counts():
    nodes = [(0, 1, -1, [0, 0]), (-1, 0, -1, [400, 0]), (-1, 0, -1, [0, 900])]
    pruned = PessimisticPruning().apply(*tree(multiway([2]), nodes))
    assert pruned.counts.sum() == 1300
    assert pruned.n_nodes == 3


# Two forests.


@pytest.mark.parametrize("names", [("mixed", "mixed"), ("random", "noisy minority"), ("histograms", "histograms")])
def test_joined_forests_vote_as_their_sum(names):
    (_, first, _), (_, second, _) = (grown(RECIPES[name], seed, trees=2 + seed) for seed, name in enumerate(names))
    both = Forest.joined(first, second)
    assert len(both.roots) == 5
    codes = all_codes()
    assert np.array_equal(votes_of(both, codes), votes_of(first, codes) + votes_of(second, codes))
    again = Forest.from_arrays(both.to_arrays(), first.candidates, N_CLASSES)
    assert np.array_equal(votes_of(again, codes), votes_of(both, codes))
    if first.counts is not None:
        assert both.counts.sum() == first.counts.sum() + second.counts.sum()


EASY = Fraction(3, 10)


def margins_of(forest, codes):
    margins = np.zeros((len(codes), N_CLASSES), dtype=np.int64)
    forest.trees.add_votes(codes, forest.label, margins)
    return margins


def hard_and_easy(copies=1):
    """Return what the rule says of all codes with some labels, and the labels, codes and forest."""
    _, forest, _ = grown(Recipe(candidates=mixed))
    codes = np.repeat(all_codes(), copies, axis=0)
    labels = (np.arange(len(codes)) % N_CLASSES).astype(np.int16)
    return HardRecords(EASY)(margins_of(forest, codes), labels), labels, codes, forest


def test_hard_records_are_those_that_the_forest_gets_wrong():
    said, labels, codes, forest = hard_and_easy()
    votes = votes_of(forest, codes).tolist()
    right = np.array([min(range(N_CLASSES), key=lambda k: (-row[k], k)) for row in votes]) == labels
    assert 0 < right.sum() < len(right)
    assert np.array_equal(said, np.where(right, int(EASY * 2**32), 2**32))


def test_what_the_rule_says_of_a_record_depends_on_that_record_alone():
    said, labels, codes, forest = hard_and_easy()
    one = [HardRecords(EASY)(margins_of(forest, codes[i : i + 1]), labels[i : i + 1])[0] for i in range(len(codes))]
    assert np.array_equal(said, one)


def test_a_weighted_assignment_takes_hard_records_surely_and_others_as_probably_as_said():
    said, *_ = hard_and_easy(copies=20)
    part = Randomness(5).draw(WeightedCoin(), said)
    surely = said == 2**32
    assert np.all(part[surely] == 0)
    assert set(part[~surely].tolist()) == {0, -1}
    share = (part[~surely] == 0).mean()
    assert abs(share - 0.3) < 5 * math.sqrt(0.21 / (~surely).sum())


def test_a_weighted_coin_never_takes_a_record_more_probably_than_its_cost_allows():
    coin = WeightedCoin(Fraction(1, 4))
    assert coin.law(np.uint64(2**32)).tolist() == [0.25, 0.75]
    part = Randomness(0).draw(coin, np.full(4000, 2**32, dtype=np.uint64))
    assert abs((part == 0).mean() - 0.25) < 0.05


def two_phases(epsilon=ONE, trees=(2, 2)):
    import hedgerow as hr

    schema = hr.Schema({"n": hr.Numeric(0, 5), "c": hr.Categorical(["a", "b"])}, classes=[0, 1])
    first, second = (
        ForestPlan(
            Recipe(assign=assign, candidates=mixed, leaf=NoisyCounts()),
            schema,
            epsilon * part / sum(trees),
            n_estimators=part,
            max_depth=2,
            max_bins=5,
        )
        for assign, part in zip((AllRecords(), Weighted()), trees, strict=True)
    )
    return TwoPhasePlan(first, second, Fraction(3, 10))


@pytest.mark.parametrize("trees", [(2, 2), (3, 2), (1, 4)])
def test_two_phases_cost_their_sum_and_spend_at_most_that(trees):
    plan = two_phases(trees=trees)
    planned = cost(plan.event).epsilon
    assert 1 - Fraction(1, 10**6) < planned <= 1
    generator = np.random.default_rng(1)
    X = np.array(
        [[str(n), c] for n, c in zip(generator.integers(0, 6, 300), generator.choice(["a", "b"], 300), strict=True)]
    )
    y = (X[:, 1] == "a").astype(int)
    curator = Queryable(MemoryTable.by(Coded(plan.encoder), X, y), ONE, Randomness(0))
    model = plan.fit(curator)
    assert planned * Fraction(9, 10) < curator.spent <= planned
    assert len(model.forest.roots) == sum(trees)
    again = plan.restore(model.to_arrays())
    assert np.array_equal(again.probabilities(X), model.probabilities(X))
    assert len(curator._state.value.filter.assignments) == 1 + sum(trees)
    less = Queryable(MemoryTable.by(Coded(plan.encoder), X, y), curator.spent - Fraction(1, 10**30), Randomness(0))
    with pytest.raises(BudgetExceeded):
        plan.fit(less)


def test_noise_of_leaves_is_as_large_as_their_path_has_left():
    """A stopped leaf gets what its path left, less what the stop may cost: no more, no less."""
    schedule = schedule_of(Recipe(stop=NoisySize(), leaf=NoisyCounts(), levels=UNIFORM), depth=3)
    left = ONE
    for level in schedule.levels[:-1]:
        assert level.leaf.noise.epsilon == left
        assert level.stopped_leaf.noise.epsilon == left - Fraction(1, 8)
        assert level.stop.noise.epsilon == Fraction(1, 8)
        left -= Fraction(1, 4)
    assert schedule.levels[-1].leaf.noise.epsilon == left == Fraction(1, 4)
