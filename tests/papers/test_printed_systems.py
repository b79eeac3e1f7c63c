"""Every published system: its budgets, its unprotected steps, and a fit of each."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from printed_boosting_recipes import SYSTEMS as BOOSTERS
from printed_recipes import SYSTEMS, forest_plan, shipped

import hedgerow as hr
from hedgerow.estimator import result_of
from hedgerow.mechanisms import Randomness
from hedgerow.papers.noise import IntervalChoice, Laplace, RealExponential
from hedgerow.privacy.accounting import Sequence, Unprotected, cost, event_from_dict, event_to_dict
from hedgerow.privacy.certificate import Certificate
from hedgerow.schema import Categorical, Numeric, Schema
from hedgerow.trees.parts import UNIFORM, Geometric, Linear

SCHEMA = Schema(
    {"x": Numeric(0, 1), "c": Categorical(["a", "b", "c"]), "z": Numeric(-1, 3), "d": Categorical([1, 2])},
    classes=["no", "yes", "maybe"],
)


def plan(name, *, epsilon=Fraction(7, 10), trees=None, depth=3, schema=SCHEMA):
    system = SYSTEMS[name]
    trees = min(system.n_estimators, 5) if trees is None else trees
    return forest_plan(system.recipe, schema, epsilon, n_estimators=trees, max_depth=depth)


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


# --- budgets ----------------------------------------------------------------------------------------------------------


def paths(shares):
    """Return what each path spends, the shortest first; a leaf is counted where it holds counts."""
    above = [sum(level.test + level.count for level in shares[:number]) for number in range(len(shares))]
    return [spent + level.leaf + level.count for spent, level in zip(above, shares, strict=True)]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_longest_path_has_the_whole_budget_and_no_path_more(name, depth):
    recipe, trees = SYSTEMS[name].recipe, 4 if SYSTEMS[name].n_estimators > 1 else 1
    shares = recipe.shares(Fraction(7, 10), trees, depth)
    if recipe.sharing == "halved" and recipe.leaf == "label":  # its count is paid for a test only
        shares = [replace(level, leaf=level.leaf - level.count) for level in shares]
    spent = paths(shares)
    budget = Fraction(7, 10) / (trees if "shared" in SYSTEMS[name].divided else 1)
    assert len(spent) == depth + 1
    assert max(spent) == spent[-1] == budget
    if "aligned" in SYSTEMS[name].divided:
        assert set(spent) == {budget}


@pytest.mark.parametrize("name", ["diffprf_deng", "diffprf_linear", "tradition"])
def test_a_level_is_halved_between_the_count_and_the_rest(name):
    for level in shipped(name).shares(Fraction(1), 1, 3):
        assert level.count == level.test == level.leaf


class Watching(Randomness):
    """Randomness that keeps the mechanisms which it draws through."""

    def __init__(self, seed):
        super().__init__(seed)
        self.seen = []

    def draw(self, mechanism, *statistics):
        self.seen.append(mechanism)
        return super().draw(mechanism, *statistics)


def test_mu_et_al_pay_each_cut_and_the_feature_alike():
    recipe = replace(shipped("diffprf_linear"), levels=UNIFORM)
    watching = Watching(1)
    plan = forest_plan(recipe, SCHEMA, Fraction(4000), n_estimators=1, max_depth=3)
    plan.fit_raw(*records(), watching)
    count, cut, test = (
        next(seen for seen in watching.seen if isinstance(seen, kind))
        for kind in (Laplace, IntervalChoice, RealExponential)
    )
    assert count.epsilon == 500  # eps' = 1000, half of it
    assert cut.epsilon == test.epsilon == Fraction(1000, 2 * (2 + 1))  # eps' / (2 (n + 1)), two numeric features
    assert cut.score_range == test.score_range == 4


@pytest.mark.parametrize(("size", "splits"), [(21, False), (22, True)])
def test_small_nodes_end_where_mu_et_al_say(size, splits):
    class Noiseless(Randomness):
        def draw(self, mechanism, *statistics):
            return statistics[0] if isinstance(mechanism, Laplace) else super().draw(mechanism, *statistics)

    # N / (t K) < sqrt(2) / eps', with t = 5 branches, K = 3 classes and eps' = 1
    schema = Schema({"c": Categorical(["a", "b", "c"])}, classes=["no", "yes", "maybe"])
    plan = forest_plan(shipped("diffprf_deng arithmetic"), schema, Fraction(3), n_estimators=1, max_depth=1)
    model = plan.fit_raw({"c": ["a"] * size}, ["no"] * size, Noiseless(1))
    assert (model.feature[0] >= 0) == splits


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
    "diffprf_deng": ["with replacement", "floating point"],
    "diffprf_linear": ["with replacement", "floating point"],
    "tpdprf": ["single class", "with replacement", "raw training error", "floating point"],
}


@pytest.mark.parametrize("name", SAID)
def test_every_unprotected_step_is_named_and_no_other(name):
    event = plan(name).event
    reasons = cost(event).reasons
    assert len(reasons) == len(SAID[name])
    for reason, words in zip(reasons, SAID[name], strict=True):
        assert words in reason
    certificate = Certificate(name, "published", Fraction(7, 10), Fraction(0), "add-remove", event)
    assert not certificate.holds
    assert certificate.spent is None
    assert certificate.details()
    assert event == Sequence(tuple(map(Unprotected, reasons)))
    assert event_from_dict(event_to_dict(event)) == event


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
    assert right[known].mean() > 0.75
    assert len(model.roots) == min(SYSTEMS[name].n_estimators, 5)


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
    trees, arity = model, model.branching.arity
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
    trees, branching = model, model.branching
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
    assert found == len(trees.feature)  # nothing hangs loose


def test_every_published_form_of_the_registry_has_its_recipe_tested():
    kinds = {system.kind.__name__ for system in (*SYSTEMS.values(), *BOOSTERS.values()) if system.kind is not None}
    assert kinds == {info.class_name for info in hr.list_systems() if "published" in info.variants}


@pytest.mark.parametrize(
    ("kind", "inferred"),
    [
        (hr.EDPRFClassifier, ["parts of all records [inferred]", "label at random [our choice]"]),
        (hr.DPAdaClassifier, ["best stump [inferred]", "below 0 becomes 0 [inferred]", "last to the end [inferred]"]),
        (
            hr.CARTDPsAdaBoostClassifier,
            ["that of the round before, and .001 of its equal part where nothing is left [inferred]"],
        ),
    ],
)
def test_what_a_paper_leaves_open_is_marked_in_the_class(kind, inferred):
    text = " ".join(kind.__doc__.split())
    assert [words for words in inferred if words not in text] == []


def test_the_algorithms_to_the_letter_are_parameters():
    printed = hr.EDPRFClassifier(variant="published", parts="shrinking")._published()
    assert printed.samples.sizes(100, 4) == [25, 18, 14, 10]
    assert hr.EDPRFClassifier(variant="published")._published().samples.sizes(100, 4) == [25] * 4
    X = np.random.default_rng(0).uniform(size=(60, 1))
    y = np.where(X[:, 0] + np.random.default_rng(1).normal(0, 0.4, 60) > 0.5, "yes", "no")
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    for schedule, first in (("all", 1), ("from-second", 2), ("swing", 2)):
        model = hr.DPAdaClassifier(
            schema=schema, variant="published", schedule=schedule, n_estimators=6, random_state=0
        )
        assert min(result_of(model.fit(X, y)).coins) == first
