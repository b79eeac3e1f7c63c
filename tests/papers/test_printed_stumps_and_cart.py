"""The trees of CART-DPsAdaBoost: greedy tests, groupings, pruning, and the noise of the authors' code."""

from fractions import Fraction
from itertools import combinations

import laws
import numpy as np
import pytest
from printed_boosting_recipes import cart_dps_adaboost
from printed_recipes import boosting_plan
from scipy.stats import binomtest
from seeds import FITS, moved_key

from hedgerow.mechanisms import Randomness
from hedgerow.mechanisms.kernels import open_stream
from hedgerow.papers.cart import CartTree, PrintedCart, best_groups
from hedgerow.papers.cart_coded import CodedBoosting, CodedTree, MeanLaplace, WeakestLink, errors_by_node
from hedgerow.papers.dpada import AttributeStump
from hedgerow.papers.kernels import CUT
from hedgerow.papers.noise import IntervalChoice, Laplace, Resample
from hedgerow.papers.records import RawRecords, raw_numbers
from hedgerow.papers.trees import PrintedTrees
from hedgerow.schema import Categorical, Numeric, Schema

MIXED = Schema(
    {"x": Numeric(0, 1), "c": Categorical(list("abcde")), "z": Numeric(0, 4), "d": Categorical([1, 2])},
    classes=["no", "yes"],
)


def impurity(labels):
    return 2 * np.sum(labels == 0) * np.sum(labels == 1) / len(labels) if len(labels) else 0.0


# --- groupings --------------------------------------------------------------------------------------------------------


def test_groupings_are_the_best_of_all():
    generator = np.random.default_rng(0)
    for _ in range(100):
        counts = generator.integers(0, 5, (1, 6, 2)) * generator.integers(0, 2, (1, 6, 1))
        score, left = np.full(1, -np.inf), np.zeros((1, 6), dtype=bool)
        best_groups(counts, np.ones(1, dtype=bool), score, left)
        present = [code for code in range(6) if counts[0, code].any()]
        found = [
            sum(-2 * part[0] * part[1] / max(part.sum(), 1) for part in (inside, counts[0].sum(axis=0) - inside))
            for size in range(1, len(present))
            for group in combinations(present, size)
            for inside in [counts[0, list(group)].sum(axis=0)]
        ]
        if len(present) < 2:
            assert not np.isfinite(score[0])
            assert not left.any()
        else:
            assert score[0] == pytest.approx(max(found))
            assert 0 < left.sum() < len(present)
            assert set(np.flatnonzero(left)) <= set(present)


# --- the tree as printed ----------------------------------------------------------------------------------------------


class FixedSample(Randomness):
    """Randomness in which a bootstrap sample holds each record once."""

    def draw(self, mechanism, *statistics):
        drawn = super().draw(mechanism, *statistics)
        return np.arange(drawn.shape[1])[None] if isinstance(mechanism, Resample) else drawn


def records(n, seed):
    generator = np.random.default_rng(seed)
    columns = np.stack(
        [
            generator.integers(1, 9, n) / 10,
            generator.integers(0, 7, n),
            generator.integers(0, 5, n),
            generator.integers(0, 4, n),
        ]
    ).astype(float)
    columns[0, generator.random(n) < 0.1] = np.nan
    return RawRecords(columns, generator.integers(0, 2, n), CartTree.tests(MIXED, 2))


def rows_by_node(tree, data):
    """Which records pass each node."""
    rows = {0: np.arange(len(data.labels))}
    for node in np.flatnonzero(tree.feature >= 0):
        feature, column = tree.feature[node], data.columns[tree.feature[node], rows[node]]
        left = column < tree.low[node] if data.branching.bins[feature] == CUT else tree.left[node, column.astype(int)]
        rows[tree.first_child[node]], rows[tree.first_child[node] + 1] = rows[node][left], rows[node][~left]
    return rows


def best_test(data, rows):
    """The least impurity of all cuts inside the range and all groupings."""
    labels, least = data.labels[rows], impurity(data.labels[rows])
    for feature, column in enumerate(data.columns[:, rows]):
        values = np.unique(column[~np.isnan(column)])
        if data.branching.bins[feature] == CUT:
            lefts = [column <= value for value in values]
        else:
            lefts = [np.isin(column, group) for size in range(1, len(values)) for group in combinations(values, size)]
        least = min([least, *(impurity(labels[left]) + impurity(labels[~left]) for left in lefts)])
    return least


@pytest.mark.parametrize("seed", range(5))
def test_with_much_budget_every_test_is_the_best(seed):
    data = records(40, seed)
    learner = CartTree(max_depth=3, subspace=4, pruning=None)
    tree = learner.fitter(data, data)(np.full(40, 1 / 40), 1e9, FixedSample(seed))
    rows = rows_by_node(tree, data)
    assert (tree.feature >= 0).sum() >= 3
    for node, own in rows.items():
        labels = data.labels[own]
        if tree.feature[node] >= 0:
            parts = [data.labels[rows[tree.first_child[node] + side]] for side in (0, 1)]
            assert sum(map(impurity, parts)) == pytest.approx(best_test(data, own))
        elif len(labels):
            counts = np.bincount(labels, minlength=2)
            assert counts[tree.label[node]] == counts.max()
    counted = errors_by_node(tree, data, np.arange(40)).tolist()
    assert counted == [int(np.sum(data.labels[rows[node]] != tree.label[node])) for node in range(len(counted))]


class Watching(Randomness):
    """Randomness that keeps the mechanisms which it draws through."""

    def __init__(self, seed):
        super().__init__(seed)
        self.seen = []

    def draw(self, mechanism, *statistics):
        self.seen.append(mechanism)
        return super().draw(mechanism, *statistics)


def test_cuts_get_the_papers_share_and_factor():
    data, randomness = records(60, 0), Watching(1)
    CartTree(max_depth=1, subspace=4, pruning=None).fitter(data, data)(np.full(60, 1 / 60), 0.5, randomness)
    (cut,) = {mechanism for mechanism in randomness.seen if isinstance(mechanism, IntervalChoice)}
    level = Fraction(1, 2) / 2
    assert cut == IntervalChoice(level / (2 * 3), 4)  # n = 2 numbers; twice Delta = 2


def test_labels_get_noise_by_the_largest_weight():
    """Records of one class are one leaf; its label is wrong as often as Laplace noise of scale max w / (e' / 2) says."""
    data = records(2, 0)
    data = RawRecords(data.columns, np.zeros(2, dtype=np.int64), data.branching)
    weights, budget = np.array([0.75, 0.25]), 0.6
    fitter = CartTree(max_depth=1, subspace=4, pruning=None).fitter(data, data)
    wrong = sum(int(fitter(weights, budget, Randomness(seed)).label[0]) for seed in range(3000))
    gap = 2 / (0.75 / (0.6 / 2 / 2))  # two records, in units of the scale
    chance = (2 + gap) * np.exp(-gap) / 4  # that the difference of two Laplace draws exceeds it
    assert binomtest(wrong, 3000, chance).pvalue > FITS
    assert binomtest(wrong, 3000, (2 + 2 * gap) * np.exp(-2 * gap) / 4).pvalue < FITS


def test_a_bootstrap_follows_the_weights():
    data = records(50, 3)
    recipe = PrintedCart(CartTree(max_depth=2, pruning=None))
    assert recipe.holdout == 0
    weights = np.zeros(50)
    weights[:5] = 0.2
    tree = CartTree(max_depth=6, subspace=4, pruning=None).fitter(data, data)(weights, 1e9, Randomness(1))
    rows = rows_by_node(tree, RawRecords(data.columns[:, :5], data.labels[:5], data.branching))
    assert len(tree.feature) <= 9  # five records at most, so at most four tests
    assert all(
        tree.label[node] in data.labels[own] for node, own in rows.items() if len(own) and tree.feature[node] < 0
    )


# --- pruning ----------------------------------------------------------------------------------------------------------


def seven_nodes():
    tree = PrintedTrees.of_leaves(raw_numbers(MIXED, 2), [0, 0, 1, 0, 1, 0, 1])
    tree.feature[:3], tree.first_child[:3] = [0, 1, 2], [1, 3, 5]
    return tree


ERRORS = np.array([10, 4, 3, 1, 1, 1, 1])  # the right test goes first, then the left one, then the root


@pytest.mark.parametrize(
    ("held", "kept"),
    [
        ([9, 5, 5, 1, 1, 1, 1], [0, 1, 2, -1, -1, -1, -1]),
        ([9, 5, 2, 1, 1, 2, 2], [0, 1, -1, -1, -1]),
        ([9, 1, 2, 1, 1, 2, 2], [0, -1, -1]),
        ([1, 1, 2, 1, 1, 2, 2], [-1]),
    ],
)
def test_held_out_records_choose_a_tree_of_the_sequence(held, kept):
    pruned = WeakestLink().apply(seven_nodes(), ERRORS, np.array(held))
    assert pruned.feature.tolist() == kept
    children = pruned.first_child[pruned.feature >= 0]
    assert sorted([0, *children, *(children + 1)]) == list(range(len(pruned.feature)))


def test_ties_go_to_the_smaller_tree_and_in_the_code_to_the_larger():
    equal = np.array([4, 2, 2, 1, 1, 1, 1])
    assert WeakestLink().apply(seven_nodes(), ERRORS, equal).feature.tolist() == [-1]
    assert len(WeakestLink(as_coded=True).apply(seven_nodes(), ERRORS, equal).feature) == 7


def test_the_code_never_keeps_the_root_alone():
    held = np.array([0, 5, 5, 5, 5, 5, 5])
    pruned = WeakestLink(as_coded=True).apply(seven_nodes(), ERRORS, held)
    assert pruned.feature.tolist() == [0, -1, -1]
    leaf = PrintedTrees.of_leaves(raw_numbers(MIXED, 2), [1])
    for rule in (WeakestLink(), WeakestLink(as_coded=True)):
        assert rule.apply(leaf, np.array([3]), np.array([3])).label.tolist() == [1]


# --- the authors' code ------------------------------------------------------------------------------------------------


def test_the_mean_of_a_hundred_draws():
    noise = MeanLaplace(0.5)
    drawn = noise.sample(open_stream(moved_key(bytes(32)), 1), np.full(20_000, 3.0))
    for threshold in (2.5, 2.8, 3.0, 3.1, 3.3):
        assert (
            binomtest(int(np.sum(drawn <= threshold)), 20_000, laws.of_mean_laplace(noise, 3.0, threshold)[0]).pvalue
            > FITS
        )
    for threshold in (2.8, 3.3):
        wrong = laws.of_mean_laplace(MeanLaplace(0.4), 3.0, threshold)[0]
        assert binomtest(int(np.sum(drawn <= threshold)), 20_000, wrong).pvalue < FITS
    assert drawn.std() == pytest.approx(np.sqrt(2 / 100) / 0.5, rel=0.05)


def test_the_mean_of_one_draw_is_laplace():
    for threshold in (-2.0, 0.0, 1.0, 4.0):
        np.testing.assert_allclose(
            laws.of_mean_laplace(MeanLaplace(0.7, 1), 1.0, threshold),
            laws.of_laplace(Laplace(Fraction(7, 10)), 1.0, threshold),
        )


def test_the_code_with_much_budget_takes_the_best_single_tests():
    data = records(80, 2)
    data = RawRecords(data.columns, data.labels, CodedTree.tests(MIXED, 2))
    tree = CodedTree(max_depth=1).fitter(data, data)(np.full(80, 1.0), 1e9, Randomness(1))
    found = []
    for feature, column in enumerate(data.columns):
        values = np.unique(column[~np.isnan(column)])
        cut = data.branching.bins[feature] == CUT
        lefts = [column <= v for v in values[:-1]] if cut else [column == v for v in values]
        found += [impurity(data.labels[left]) + impurity(data.labels[~left]) for left in lefts]
    rows = rows_by_node(tree, data)
    assert impurity(data.labels[rows[1]]) + impurity(data.labels[rows[2]]) == pytest.approx(min(found))


def test_the_code_without_noise_in_its_trees_takes_the_best_single_test_at_any_budget():
    data = records(80, 2)
    data = RawRecords(data.columns, data.labels, CodedTree.tests(MIXED, 2))
    few, many = (
        CodedTree(3, noisy=False).fitter(data, data)(np.full(80, 1.0), budget, Randomness(seed))
        for seed, budget in ((1, 1e-6), (2, 1e9))
    )
    for name, array in few.to_arrays().items():
        assert np.array_equal(array, many.to_arrays()[name])
    rows = rows_by_node(few, data)
    majority = [np.bincount(data.labels[rows[node]], minlength=2).argmax() for node in range(len(few.label))]
    assert all(label == larger for label, larger in zip(few.label, majority, strict=True))


def test_training_as_coded_ends_with_a_tree_that_is_right_on_the_records_held_out():
    X = {"x": np.linspace(0, 1, 200), "c": ["a"] * 200, "z": [0] * 200, "d": [1] * 200}
    y = np.where(X["x"] > 0.5, "yes", "no")
    plan = boosting_plan(cart_dps_adaboost(as_coded=True), MIXED, Fraction(1), rounds=7)
    assert len(plan.fit_raw(X, y, Randomness(1)).alphas) == 1
    wrong = np.where(np.arange(200) % 3 == 0, "no", y)
    assert len(plan.fit_raw(X, wrong, Randomness(1)).alphas) == 7


def test_answers_as_coded_have_the_papers_noise_on_each_tree_and_record():
    X = {"x": np.linspace(0, 1, 4000), "c": ["a"] * 4000, "z": [0] * 4000, "d": [1] * 4000}
    y = np.where((X["x"] > 0.5) ^ (np.arange(4000) % 5 == 0), "yes", "no")
    models = {}
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(10**9)):
        plan = boosting_plan(cart_dps_adaboost(as_coded=True), MIXED, epsilon, rounds=3)
        models[epsilon] = plan.fit_raw(X, y, Randomness(1))
    free = models[Fraction(10**9)]
    for epsilon, model in models.items():
        assert np.array_equal(model.alphas, free.alphas)
        assert np.array_equal(model.decision(X), model.decision(X))
        noise = (model.decision(X) - free.decision(X)) / 2
        deviation = np.sqrt(2 / 100 * np.sum(model.alphas**2)) / float(epsilon)
        if epsilon < 10**9:
            assert noise.std() == pytest.approx(deviation, rel=0.06)
            assert abs(noise.mean()) < 5 * deviation / 4000**0.5
            assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 0.08


def test_noise_on_shares_is_as_much_larger_as_a_count_is_than_a_share():
    data = records(80, 2)
    weights = np.full(80, 1 / 80)
    trees = {}
    for noised in ("counts", "shares"):
        learner = CartTree(2, 3, pruning=None, noised=noised)
        trees[noised] = [learner.fitter(data, data)(weights, 0.5, Randomness(seed)).label for seed in range(40)]
    raw = CartTree(2, 3, pruning=None).fitter(data, data)
    exact = [raw(weights, 1e9, Randomness(seed)).label[0] for seed in range(40)]
    assert [label[0] for label in trees["counts"]] == exact
    assert [label[0] for label in trees["shares"]] != exact


def test_without_samples_every_record_grows_each_tree():
    data = records(80, 2)
    learner = CartTree(2, 100, pruning=None, sampled=False)
    assert (
        learner.fitter(data, data)(np.full(80, 1 / 80), 1e9, Randomness(1)).label[0]
        == np.bincount(data.labels).argmax()
    )
    assert not any("with replacement" in reason for reason in learner.reasons(data.branching))


def test_the_weights_of_the_code():
    step = CodedBoosting(CodedTree())
    wrong = np.array([True, False, False, False])
    weights = np.array([0.97, 0.01, 0.01, 0.01])
    assert step.weigh(wrong, weights) == (0.25, pytest.approx(np.log10(3) / 2))
    for all_wrong, sign in ((False, 1), (True, -1)):  # which does not end the training
        assert step.weigh(np.full(4, all_wrong), weights)[1] == pytest.approx(sign * np.log10(999) / 2)
    assert step.start(3).tolist() == [1, 1, 1]


@pytest.mark.parametrize("recipe", [cart_dps_adaboost(), cart_dps_adaboost(as_coded=True)])
def test_three_tenths_of_the_records_prune(recipe):
    class Sizes(Randomness):
        largest = 0

        def draw(self, mechanism, *statistics):
            drawn = super().draw(mechanism, *statistics)
            if isinstance(mechanism, Resample):
                self.largest = drawn.shape[1]
            return drawn

    X = {"x": np.linspace(0, 1, 101), "c": ["a"] * 101, "z": [0] * 101, "d": [1] * 101}
    y = np.where(X["x"] > 0.5, "yes", "no")
    randomness = Sizes(1)
    plan = boosting_plan(recipe, MIXED, Fraction(100), rounds=2)
    model = plan.fit_raw(X, y, randomness)
    assert np.mean((model.decision(X) > 0) == (y == "yes")) > 0.9
    assert randomness.largest in (0, 71)  # the code draws no sample


# --- DP-AdaBoost ------------------------------------------------------------------------------------------------------


def test_the_attribute_has_the_best_gain_and_its_values_their_classes():
    schema = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1, 2])}, classes=["no", "yes"])
    columns = np.array([[0, 1, 0, 1, 0, 1], [0, 1, 1, 2, 2, 0]], dtype=float)
    data = RawRecords(columns, np.array([0, 1, 1, 0, 0, 0]), AttributeStump.tests(schema, 2))
    tree = AttributeStump().fitter(data, data)(np.full(6, 1 / 6), 1e9, Randomness(1))
    assert tree.feature[0] == 1
    assert tree.left[0, :3].tolist() == [False, True, False]
    assert tree.label[1:].tolist() == [1, 0]


def test_leaves_get_noise_by_the_largest_weight():
    schema = Schema({"a": Categorical([0])}, classes=["no", "yes"])
    data = RawRecords(np.zeros((1, 4)), np.array([0, 0, 0, 1]), AttributeStump.tests(schema, 2))
    weights, budget = np.array([0.4, 0.3, 0.1, 0.2]), 0.8
    fitter = AttributeStump().fitter(data, data)
    wrong = sum(bool(fitter(weights, budget, Randomness(seed)).left[0, 0]) for seed in range(3000))
    gap = 0.6 / (0.4 / budget)
    chance = (2 + gap) * np.exp(-gap) / 4
    assert binomtest(wrong, 3000, chance).pvalue > FITS
    assert binomtest(wrong, 3000, (2 + 2 * gap) * np.exp(-2 * gap) / 4).pvalue < FITS
