"""Every published system: its budgets, its unprotected steps, and a fit of each."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hedgerow.published import PublishedForestPlan
from published_boosting_recipes import SYSTEMS as BOOSTERS
from published_recipes import SYSTEMS, diffp_id3_with_a_bound, shipped

import hedgerow as hr
from hedgerow import published
from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import unprotected
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.events import Pure, Sequence, event_from_dict, event_to_dict
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.trees.levels import Geometric, Linear

SCHEMA = Schema(
    {"x": Numeric(0, 1), "c": Categorical(["a", "b", "c"]), "z": Numeric(-1, 3), "d": Categorical([1, 2])},
    classes=["no", "yes", "maybe"],
)


def plan(name, *, epsilon=Fraction(7, 10), trees=None, depth=3, schema=SCHEMA):
    system = SYSTEMS[name]
    trees = min(system.n_estimators, 5) if trees is None else trees
    return PublishedForestPlan(system.recipe, schema, epsilon, n_estimators=trees, max_depth=depth)


def records(n=600, seed=0):
    generator = np.random.default_rng(seed)
    X = {
        "x": generator.random(n),
        "c": generator.choice(["a", "b", "c", "other", ""], n),
        "z": generator.integers(-1, 4, n).astype(float),
        "d": generator.choice([1, 2, 3], n),
    }
    y = np.where(X["x"] > 0.5, "yes", np.where(X["z"] > 1, "maybe", "no"))
    X["x"][::17] = np.nan
    X["z"][::19] = np.inf
    y[::23] = "unknown"
    return X, y


def tree_paths(event):
    """The stated steps of every path of one tree."""
    tree = event.parts[-1]
    return (tree.parts[0] if isinstance(tree, Sequence) else tree).parts


# --- budgets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_longest_path_states_the_whole_budget_and_no_path_more(name, depth):
    divided, trees = SYSTEMS[name].divided, 4 if SYSTEMS[name].n_estimators > 1 else 1
    event = plan(name, trees=trees, depth=depth).event
    budget = Fraction(7, 10) / (trees if "shared" in divided else 1)
    spent = [sum(step.epsilon for step in path.parts) for path in tree_paths(event)]
    assert len(spent) == depth + 1
    assert spent[-1] == budget
    assert max(spent) == budget
    if "aligned" in divided:
        assert set(spent) == {budget}
    copies = event.parts[-1]
    assert isinstance(copies, Sequence) == ("shared" in divided and trees > 1)
    assert not isinstance(copies, Sequence) or len(copies.parts) == trees


@pytest.mark.parametrize("name", ["diffprfs", "diffprf_deng", "diffprf_linear", "tradition"])
def test_a_level_is_halved_between_the_count_and_the_rest(name):
    for path in tree_paths(plan(name, trees=1).event):
        for number in {step.level for step in path.parts}:
            count, *rest = [step.epsilon for step in path.parts if step.level == number]
            assert count == sum(rest)


def test_mu_et_al_pay_each_cut_and_the_feature_alike():
    level = plan("diffprfs", epsilon=Fraction(4), trees=1, depth=3).levels[0]
    assert level.stops[0].noise.epsilon == Fraction(1, 2)  # eps' = 1, half of it
    assert level.split.test.budget == Fraction(1, 2 * (2 + 1))  # eps'' = eps' / (2 (n + 1)), two numeric features
    assert level.split.cuts == 2
    # N / (t K) < sqrt(2) / eps', with t = 5 branches and K = 3 classes
    np.testing.assert_allclose(level.stops[0].threshold(np.array([5]), 3), [5 * 3 * math.sqrt(2)])


def test_friedman_and_schuster_price_every_query_alike():
    c45 = plan("diffp_c45", epsilon=Fraction(1), depth=5).levels
    one = Fraction(1, (2 + 2) * 5 + 2)  # B / ((2 + n) d + 2), n = 2
    assert c45[0].stops[0].noise.epsilon == c45[0].split.test.budget == c45[5].leaf.noise.epsilon == one
    id3 = plan("diffp_id3", epsilon=Fraction(1), depth=5).levels
    assert id3[0].stops[0].noise.epsilon == id3[0].split.budget == id3[5].leaf.noise.epsilon == Fraction(1, 12)
    np.testing.assert_allclose(id3[0].stops[0].threshold(np.array([6]), 3), [6 * 3 * math.sqrt(2) * 12])


def test_sulq_divides_by_all_counts_and_pinq_by_what_partition_leaves():
    codes = 6 + 5 + 6 + 4
    sulq = plan("sulq_id3", epsilon=Fraction(1), depth=2).levels
    queries = 2 * (1 + codes * (1 + 3)) + 1 + 3  # d (1 + sum |A| (1 + K)) + 1 + K
    assert {sulq[0].stops[0].noise.epsilon, sulq[1].split.noise.epsilon, sulq[2].leaf.noise.epsilon} == {
        Fraction(1, queries)
    }
    pinq = plan("pinq_id3", epsilon=Fraction(1), depth=2).levels
    assert pinq[0].split.noise.epsilon == Fraction(1, 6) / (2 * 4)
    assert pinq[1].split.noise.epsilon == Fraction(1, 6) / (2 * 3)  # one feature is used up


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (Linear(Fraction(1), Fraction(1)), ".0741 .1111 .1481 .1852 .2222 .2593"),
        (Linear(Fraction(1), Fraction(0)), ".0476 .0952 .1429 .1905 .2381 .2857"),
        (Linear(Fraction(0), Fraction(1)), ".1667 .1667 .1667 .1667 .1667 .1667"),
        (Geometric(), ".0159 .0317 .0635 .1270 .2540 .5079"),
    ],
)
def test_levels_share_as_tabled(levels, expected):
    assert " ".join(f"{float(share):.4f}"[1:] for share in levels.budgets(Fraction(1), 6)) == expected
    assert sum(levels.budgets(Fraction(1, 3), 9)) == Fraction(1, 3)


# --- certificates -----------------------------------------------------------------------------------------------------

SAID = {
    "edprf": ["single class", "least and the largest", "T * epsilon / 2 = 1.75", "floating point"],
    "pfdpdt": ["single class", "least and the largest", "floating point"],
    "tradition": ["single class", "least and the largest", "floating point"],
    "diffprf_patil": ["2^ceil(log2 n)", "with replacement", "floating point"],
    "diffprfs": ["with replacement", "floating point"],
    "diffprf_deng": ["with replacement", "floating point"],
    "diffprf_linear": ["with replacement", "floating point"],
    "tpdprf": ["single class", "with replacement", "raw training error", "floating point"],
    "sulq_id3": ["floating point"],
    "pinq_id3": ["floating point"],
    "diffp_id3": ["2^ceil(log2 n)", "floating point"],
    "diffp_c45": ["floating point"],
    "random_chunks": ["(2 T - 1) epsilon = 6.3", "floating point"],
    "random_smooth": ["without records", "smooth sensitivity", "T times what one leaf loses", "floating point"],
}


@pytest.mark.parametrize("name", SAID)
def test_every_unprotected_step_is_named_and_no_other(name):
    event = plan(name).event
    reasons = unprotected(event)
    assert len(reasons) == len(SAID[name])
    for reason, words in zip(reasons, SAID[name], strict=True):
        assert words in reason
    certificate = Certificate(name, "published", Fraction(7, 10), Fraction(0), "add-remove", event)
    assert not certificate.holds
    assert certificate.spent is None
    assert certificate.details()
    assert event_from_dict(event_to_dict(event)) == event


def test_a_public_bound_on_n_leaves_only_the_floats():
    recipe = diffp_id3_with_a_bound(1000)
    event = PublishedForestPlan(recipe, SCHEMA, Fraction(1), n_estimators=1, max_depth=3).event
    assert len(unprotected(event)) == 1


# --- fits -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=SYSTEMS)
def fitted(request):
    made = plan(request.param, epsilon=Fraction(5000))
    return request.param, made, made.fit_raw(*records(), Randomness(1))


def test_a_fit_learns_where_noise_is_small(fitted):
    name, _, model = fitted
    X, y = records(seed=2)
    known = np.isfinite(X["x"]) & np.isfinite(X["z"]) & (y != "unknown")
    right = np.array(SCHEMA.classes)[model.probabilities(X).argmax(axis=1)] == y
    assert right[known].mean() > (0.5 if name.startswith("random") else 0.75)
    assert len(model.trees.roots) == min(SYSTEMS[name].n_estimators, 5)
    if (model.trees.feature >= 0).any():
        assert model.importances().sum() == pytest.approx(1)


def test_a_restored_forest_answers_as_before(fitted):
    _, made, model = fitted
    restored = made.restore(model.to_arrays())
    X, _ = records(seed=3)
    np.testing.assert_array_equal(restored.probabilities(X), model.probabilities(X))
    shares = restored.probabilities(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_damage_is_noticed(fitted):
    _, made, model = fitted
    for name, place, value in (
        ("feature", 0, 4),
        ("first_child", 0, 0),
        ("label", -1, 3),
        ("roots", 0, -1),
        ("low", 0, np.nan),
    ):
        arrays = {key: array.copy() for key, array in model.to_arrays().items()}
        if name == "first_child":
            arrays["feature"][0] = max(arrays["feature"][0], 0)
        arrays[name][place] = value
        with pytest.raises(FileFormatError):
            made.restore(arrays)
    arrays = model.to_arrays()
    with pytest.raises(FileFormatError):
        made.restore(arrays | {"roots": arrays["roots"][:0]})


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_records_still_make_a_forest(name, rows):
    X, y = records(24)
    model = plan(name).fit_raw({key: column[:rows] for key, column in X.items()}, y[:rows], Randomness(2))
    assert model.probabilities(X).shape == (24, 3)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_same_seed_gives_the_same_forest(name):
    first, second = (plan(name).fit_raw(*records(100), Randomness(7)).to_arrays() for _ in range(2))
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


# --- shapes of trees --------------------------------------------------------------------------------------------------


def nodes(model):
    """Yield (depth, node, path of (feature, branch, cut)) of every node."""
    trees, arity = model.trees, model.branching.arity
    stack = [(0, int(root), ()) for root in trees.roots]
    while stack:
        depth, node, path = stack.pop()
        yield depth, node, path
        feature = trees.feature[node]
        if feature >= 0:
            for branch in range(arity[feature]):
                step = (int(feature), branch, float(trees.low[node]))
                stack.append((depth + 1, int(trees.first_child[node]) + branch, (*path, step)))


@pytest.mark.parametrize("name", SYSTEMS)
def test_cuts_narrow_and_other_features_are_used_once(name):
    model = plan(name, epsilon=Fraction(5000)).fit_raw(*records(), Randomness(3))
    trees, branching = model.trees, model.branching
    found = 0
    for depth, node, path in nodes(model):
        found += 1
        assert depth <= 3
        feature = trees.feature[node]
        if feature < 0:
            assert trees.label[node] >= 0
        elif branching.bins[feature] == -1:
            low, high = branching.low[feature], branching.high[feature]
            for above, branch, cut in path:
                if above == feature:
                    low, high = (low, cut) if branch == 0 else (cut, high)
            assert low <= trees.low[node] == trees.high[node] <= high
        else:
            assert feature not in [above for above, _, _ in path]
    assert found == len(trees.feature)  # nothing hangs loose, also after pruning


def test_random_trees_do_not_look_at_records():
    X, y = records()
    shapes = []
    for labels in (y, y[::-1]):
        model = plan("random_chunks").fit_raw(X, labels, Randomness(4))
        shapes.append({name: model.to_arrays()[name] for name in ("feature", "first_child", "low")})
    for name, array in shapes[0].items():
        np.testing.assert_array_equal(array, shapes[1][name])


def test_depth_rule_of_fletcher_and_islam():
    numeric = {f"x{i}": Numeric(0, 1) for i in range(7)}
    categories = {f"c{i}": Categorical(["a"]) for i in range(5)}
    assert published.random_tree_depth(Schema(categories, classes=[0, 1])) == 2
    assert published.random_tree_depth(Schema(numeric, classes=[0, 1])) == 5  # (6/7)**5 = .463
    assert published.random_tree_depth(Schema({**numeric, **categories}, classes=[0, 1])) == 7
    assert published.random_tree_depth(Schema({f"x{i}": Numeric(0, 1) for i in range(40)}, classes=[0, 1])) == 15


def test_pruning_cuts_a_tree_that_says_nothing():
    X, _ = records(2000)
    y = np.random.default_rng(5).choice(SCHEMA.classes, 2000, p=[0.9, 0.05, 0.05])
    grown = replace(shipped("diffp_c45"), pruning=None)
    sizes = {}
    for name, recipe in (("grown", grown), ("cut", shipped("diffp_c45"))):
        made = PublishedForestPlan(recipe, SCHEMA, Fraction(5000), n_estimators=1, max_depth=3)
        sizes[name] = len(made.fit_raw(X, y, Randomness(6)).trees.feature)
    assert sizes["cut"] < sizes["grown"]


def test_every_published_form_of_the_registry_has_its_recipe_tested():
    kinds = {system.kind.__name__ for system in (*SYSTEMS.values(), *BOOSTERS.values()) if system.kind is not None}
    cells = {"DiffGenClassifier", "DTDiffClassifier"}  # tests/published/test_published_cells.py
    assert kinds | cells == {info.class_name for info in hr.list_systems() if "published" in info.variants}


def test_named_alternatives_are_recipes():
    assert shipped("diffprf_deng").budgets != shipped("diffprfs").budgets
    assert shipped("diffprf_deng arithmetic").split == shipped("diffprfs").split
    assert shipped("sulq_id3").stops == (published.NoisyCount(Fraction(0)),)


def test_stated_steps_are_pure():
    for name in SYSTEMS:
        for path in tree_paths(plan(name).event):
            assert all(isinstance(step, Pure) for step in path.parts)
