"""Published boosting against plain twins, and the counterexamples to its guarantees."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import laws
import numpy as np
import pytest
from printed_boosting_recipes import SYSTEMS, adaboost, cart_dps_adaboost, dp_adaboost, dpada
from printed_recipes import boosting_plan
from products import thinned
from scipy.stats import multinomial
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from hedgerow.errors import ConfigurationError
from hedgerow.mechanisms import Randomness
from hedgerow.papers.boosting import PrintedBoosting, adaboost_alpha
from hedgerow.papers.cart import CartTree, round_budget
from hedgerow.papers.dpada import ExactStump, PrintedDPAda, noise_scales
from hedgerow.papers.kernels import CUT
from hedgerow.papers.noise import Laplace, Permutation, Resample, SomeFeatures
from hedgerow.papers.records import RawRecords, raw_numbers
from hedgerow.schema import Categorical, Numeric, Schema

COINS = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1])}, classes=[-1, 1])
MIXED = Schema(
    {"x": Numeric(0, 1), "c": Categorical(["a", "b", "c"]), "z": Numeric(0, 4), "d": Categorical([1, 2])},
    classes=["no", "yes"],
)
ORIGIN = (0, 0)


def train(recipe, records, *, schema=COINS, rounds=1, epsilon=1, seed=0):
    """Train on records (cells, label)."""
    plan = boosting_plan(recipe, schema, Fraction(epsilon), rounds=rounds)
    columns = {name: [cells[i] for cells, _ in records] for i, name in enumerate(schema.names)}
    return plan.fit_raw(columns, [label for _, label in records], Randomness(seed))


def answer(model, cells):
    """Return the sign of the vote for one record, 1 for the second class."""
    names = model.trees.branching.schema.names
    return 1 if model.decision({name: [cell] for name, cell in zip(names, cells, strict=True)})[0] > 0 else -1


def mixed_records(n, seed=0):
    """Records with missing, infinite and undeclared cells, a column of ties and unlabelled records."""
    generator = np.random.default_rng(seed)
    X = {
        "x": generator.random(n),
        "c": generator.choice(["a", "b", "c", "other", ""], n),
        "z": generator.integers(0, 5, n).astype(float),
        "d": generator.choice([1, 2, 3], n),
    }
    y = np.where((X["x"] > 0.4) ^ (X["c"] == "b"), "yes", generator.choice(["no", "unknown"], n))
    X["x"][::7] = np.nan
    X["x"][::11] = np.inf
    X["z"][::13] = -np.inf
    return X, y


# --- counterexamples of docs/proofs/dpada.md and cart-dps-adaboost.md -------------------------------------------------

HALF = [(ORIGIN, -1), (ORIGIN, -1), (ORIGIN, 1)]


@pytest.mark.parametrize("system", ["dpada", "dpada-swing", "dpada-random", "dpada-improved"])
def test_one_record_replaced_turns_a_label_for_certain(system):
    recipe = SYSTEMS[system].recipe
    replaced = [(ORIGIN, -1), (ORIGIN, 1), (ORIGIN, 1)]
    for seed in range(5):
        assert answer(train(recipe, HALF, seed=seed), ORIGIN) == -1
        assert answer(train(recipe, replaced, seed=seed), ORIGIN) == 1


@pytest.mark.parametrize("system", ["dpada", "dpada-swing", "dpada-random", "dpada-improved"])
def test_one_record_added_turns_a_label_for_certain(system):
    recipe = SYSTEMS[system].recipe
    for seed in range(5):
        before, after = train(recipe, HALF, seed=seed), train(recipe, [*HALF, ((0, 1), 1)], seed=seed)
        assert answer(before, (0, 1)) == -1
        assert answer(after, (0, 1)) == 1
        assert before.alphas == pytest.approx([adaboost_alpha(1 / 3)])
        assert after.alphas == pytest.approx([adaboost_alpha(1 / 4)])


def alphas_of_size(n):
    """All values of alpha_1 but that of no error, over every data set of n records of two binary features."""
    kinds = [((a, b), label) for a, b, label in product((0, 1), (0, 1), (-1, 1))]
    found = {float(train(adaboost(), list(records)).alphas[0]) for records in combinations_with_replacement(kinds, n)}
    return {round(value, 9) for value in found} - {round(adaboost_alpha(0), 9)}


def test_the_first_weight_tells_the_number_of_records():
    sizes = [alphas_of_size(n) for n in range(2, 5)]
    assert len(sizes[1]) >= 1
    for fewer, more in pairwise(sizes):
        assert not fewer & more


def test_alpha_1_has_no_common_value_at_any_neighboring_sizes():
    for n in range(2, 60):
        values = [{Fraction(size - k, k) for k in range(1, size)} for size in (n, n + 1)]
        assert not values[0] & values[1]


def weights_after_round_1(n, errors):
    alpha = adaboost_alpha(errors / n)
    weights = np.where(np.arange(n) < errors, math.exp(alpha), math.exp(-alpha)) / n
    return weights / weights.sum()


def test_the_scale_of_the_noise_is_zero_at_one_size_and_not_at_the_next():
    assert noise_scales(weights_after_round_1(100, 50), 1.0, 30) == (0.0, 0.0)
    assert noise_scales(weights_after_round_1(101, 50), 1.0, 30)[0] == pytest.approx(0.297, abs=5e-4)


def test_the_certificate_tells_that_scale():
    event = boosting_plan(dpada(), COINS, Fraction(1), rounds=30).event
    assert any("0.297" in getattr(part, "reason", "") for part in event.parts)


class Script:
    """Randomness with a given sample, no other noise, and features in order."""

    def __init__(self, sample):
        self.sample = np.array(sample)

    def draw(self, mechanism, *statistics):
        if isinstance(mechanism, Resample):
            return self.sample[None]
        if isinstance(mechanism, Permutation):
            return np.arange(*statistics)
        if isinstance(mechanism, SomeFeatures):
            return statistics[0]
        return np.zeros_like(statistics[0], dtype=float)


def splits(labels, sample):
    """Whether the tree of a sample of records with different values has a test."""
    schema = Schema({"v": Categorical(list(range(len(labels))))}, classes=[-1, 1])
    recipe = PrintedBoosting(CartTree(max_depth=1, pruning=None))
    plan = boosting_plan(recipe, schema, Fraction(1), rounds=1)
    model = plan.fit_raw({"v": range(len(labels))}, labels, Script(sample))
    return bool(np.any(model.trees.feature >= 0))


@pytest.mark.parametrize("n", [3, 4])
def test_a_single_class_stop_tells_of_one_record(n):
    """4.10 (d) by the exact law of the sample: never a test without the odd record, otherwise often."""
    odd = [1] * (n - 1) + [-1]
    probability = 0.0
    for sample in combinations_with_replacement(range(n), n):
        times = np.bincount(sample, minlength=n)
        assert not splits([1] * n, sample)
        if splits(odd, sample):
            probability += multinomial.pmf(times, n, np.full(n, 1 / n))
    only_odd = laws.of_resample(np.full(n, 1 / n), n, n - 1)
    assert probability == pytest.approx(1 - laws.of_resample(np.full(n, 1 / n), 0, n - 1) - only_odd)
    assert probability > 0.6


# --- budgets ----------------------------------------------------------------------------------------------------------


def test_the_budget_of_cart_dps_adaboost_is_that_of_the_review():
    assert round_budget(1, 10, 0.2) == pytest.approx(0.4665, abs=5e-5)
    assert round_budget(1, 10, 0.0987) < 0 < round_budget(1, 10, 0.0989)
    assert round_budget(1, 10, 0.119) < 0.1 < round_budget(1, 10, 0.1195)
    assert [10 * round_budget(1, 10, error) for error in (0.2, 0.4)] == pytest.approx([4.66, 16.96], abs=0.01)


def test_a_round_without_budget_gets_a_thousandth():
    rule = cart_dps_adaboost()
    assert rule.budget(1.0, 10, None) == 0.1
    assert rule.budget(1.0, 10, 0.2) == pytest.approx(0.4665, abs=5e-5)
    assert rule.budget(1.0, 10, 0.05) == pytest.approx(0.0001)
    assert math.isfinite(rule.budget(1.0, 10, 0.5))


# --- the exact stump against plain search -----------------------------------------------------------------------------


def plain_stumps(columns, branching):
    """Yield every candidate in the paper's order as the labels that it gives."""
    for feature, column in enumerate(columns):
        values = np.unique(column[~np.isnan(column)])
        if branching.bins[feature] == CUT:
            lefts = [column <= low + (high - low) / 2 for low, high in pairwise(values)]
        else:
            lefts = [column == value for value in values]
        for left in lefts:
            yield left.astype(int)
            yield (~left).astype(int)


def test_the_stump_is_the_first_of_the_best():
    branching = raw_numbers(MIXED, 2)
    generator = np.random.default_rng(1)
    for _ in range(60):
        n = int(generator.integers(2, 12))
        columns = np.stack(
            [
                generator.integers(0, 4, n),
                generator.integers(0, 5, n),
                generator.integers(0, 2, n),
                generator.integers(0, 3, n),
            ]
        ).astype(float)
        columns[0, generator.random(n) < 0.2] = np.nan
        labels = generator.integers(0, 2, n)
        weights = generator.integers(0, 4, n) + 0.25
        weights /= weights.sum()
        data = RawRecords(columns, labels, branching)
        tree = ExactStump().fitter(data, data)(weights, 1.0, None)
        errors = [(weights[says != labels].sum(), says) for says in plain_stumps(columns, branching)]
        least = min(error for error, _ in errors)
        first = next(says for error, says in errors if error < least + 1e-10)
        np.testing.assert_array_equal(tree.labels(columns), first)


def test_without_noise_it_is_adaboost():
    generator = np.random.default_rng(0)
    X = generator.random((400, 5))
    y = ((X[:, 0] + X[:, 1] ** 2 - X[:, 2] + generator.normal(size=400) / 3) > 0.2).astype(int)
    schema = Schema({str(i): Numeric(0, 1) for i in range(5)}, classes=[0, 1])
    ours = boosting_plan(adaboost(), schema, Fraction(1), rounds=20).fit_raw(X, y, Randomness(1))
    # Its stumps are those of least impurity and not of least error, so the two agree roughly.
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20, random_state=0).fit(X, y)
    accuracy = np.mean((ours.decision(X) > 0) == y)
    assert accuracy >= theirs.score(X, y) - 0.03
    assert len(ours.alphas) == 20
    staged = [replace(ours, alphas=ours.alphas[:rounds]).decision(X) for rounds in range(1, 21)]
    losses = [np.exp(-(2 * y - 1) * log_odds / 2).mean() for log_odds in staged]
    assert all(after < before for before, after in pairwise(losses))


def test_no_candidate_gives_the_heavier_class():
    schema = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
    plan = boosting_plan(adaboost(), schema, Fraction(1), rounds=3)
    model = plan.fit_raw({"x": [0.5] * 3}, ["yes", "yes", "no"], Randomness(1))
    assert model.decision({"x": [0.0]})[0] > 0


@pytest.mark.parametrize(
    ("low", "high"), [(-np.inf, 1.0), (1.0, np.inf), (-np.inf, np.inf), (-1.7e308, 1.7e308), (0.0, 5e-324)]
)
def test_a_cut_divides_any_two_numbers(low, high):
    schema = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
    plan = boosting_plan(adaboost(), schema, Fraction(1), rounds=1)
    X = {"x": [low, high]}
    model = plan.fit_raw(X, ["no", "yes"], Randomness(1))
    assert list(model.decision(X) > 0) == [False, True]


# --- DPAda's noise ----------------------------------------------------------------------------------------------------


class Noise:
    """Randomness whose unit noise is given."""

    def __init__(self, *values):
        self.values = list(values)
        self.asked = []

    def draw(self, mechanism, counts):
        assert mechanism == Laplace(Fraction(1))
        self.asked.append(len(counts))
        return np.full(len(counts), self.values.pop(0))


WEIGHTS = np.array([0.4, 0.1, 0.1, 0.4])


def perturbed(ties, *noise, weights=WEIGHTS):
    source = Noise(*noise)
    return PrintedDPAda(ExactStump(), ties).perturbed(weights, 1.0, 1, source), source.asked


def test_noise_has_the_scale_of_algorithm_2():
    of_most, of_least = noise_scales(WEIGHTS, 2.0, 4)
    assert of_most == pytest.approx(0.15 / (0.5 * 0.4))
    assert of_least == pytest.approx(0.15 / (0.5 * 0.1))


@pytest.mark.parametrize(("ties", "draws"), [("each", [2, 2]), ("shared", [1, 1]), ("one", [1, 1])])
def test_ties_get_noise_as_the_switch_says(ties, draws):
    weights, asked = perturbed(ties, 1.0, -0.01)
    assert asked == draws
    raw = np.array([0.4 + 0.375, 0.1 - 0.015, 0.1 - 0.015, 0.4 + 0.375])
    if ties == "one":
        raw[[2, 3]] = WEIGHTS[[2, 3]]
    np.testing.assert_allclose(weights, raw / raw.sum())


def test_noisy_weights_are_cut_off():
    weights, _ = perturbed("each", -100.0, 100.0)
    np.testing.assert_allclose(weights, np.full(4, 0.25))
    weights, _ = perturbed("each", 0.0, -100.0)
    np.testing.assert_allclose(weights, [0.5, 0, 0, 0.5])


def test_a_least_weight_of_zero_becomes_zero_or_the_mean():
    start = np.array([0.5, 0.0, 0.1, 0.4])
    for noise, least in ((0.001, 0.25), (-0.001, 0.0)):
        weights, _ = perturbed("each", 0.0, noise, weights=start)
        raw = np.array([0.5, least, 0.1, 0.4])
        np.testing.assert_allclose(weights, raw / raw.sum())


def test_noise_follows_the_marked_rounds():
    X, y = mixed_records(60)

    class Counting(Randomness):
        drawn = 0

        def draw(self, mechanism, *statistics):
            self.drawn += isinstance(mechanism, Laplace)
            return super().draw(mechanism, *statistics)

    randomness = Counting(1)
    plan = boosting_plan(dpada(), MIXED, Fraction(1), rounds=7, marked=(2, 4, 6))
    model = plan.fit_raw(X, y, randomness)
    assert len(model.alphas) == 7
    assert randomness.drawn == 2 * 3


# --- all systems ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_training_on_a_mixed_set_with_missing_cells(system):
    X, y = mixed_records(300)
    plan = boosting_plan(SYSTEMS[system].recipe, MIXED, Fraction(1000), rounds=10)
    model = plan.fit_raw(X, y, Randomness(3))
    known = y != "unknown"
    shares = model.probabilities(X)
    assert shares.shape == (300, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if not system.startswith("dpada"):
        assert np.mean((shares[known, 1] > 0.5) == (y[known] == "yes")) > 0.7


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_seed_gives_the_same_model(system):
    X, y = mixed_records(80)
    plan = boosting_plan(SYSTEMS[system].recipe, MIXED, Fraction(1), rounds=4)
    first, second = (plan.fit_raw(X, y, Randomness(5)).to_arrays() for _ in range(2))
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


@pytest.mark.parametrize(("system", "labels"), thinned(product(SYSTEMS, [[], ["yes"], ["unknown"], ["no", "no"]]), 3))
def test_hardly_any_records_still_make_a_model(system, labels):
    X = {"x": [0.5] * len(labels), "c": ["a"] * len(labels), "z": [np.nan] * len(labels), "d": [1] * len(labels)}
    plan = boosting_plan(SYSTEMS[system].recipe, MIXED, Fraction(1), rounds=3)
    model = plan.fit_raw(X, labels, Randomness(1))
    shares = model.probabilities({"x": [0.1], "c": ["b"], "z": [1.0], "d": [2]})
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_no_tree_means_one_half():
    model = boosting_plan(adaboost(), COINS, Fraction(1), rounds=3).fit_raw({"a": [], "b": []}, [], Randomness(1))
    np.testing.assert_array_equal(model.probabilities({"a": [0, 1], "b": [0, 1]}), np.full((2, 2), 0.5))


@pytest.mark.parametrize("classes", [["a", "b", "c"], ["a"]])
def test_other_than_two_classes_are_refused(classes):
    schema = Schema({"x": Numeric(0, 1)}, classes=classes)
    with pytest.raises(ConfigurationError, match=r"classes, but AdaBoost .* knows two\. Pass a schema with two"):
        boosting_plan(dp_adaboost(), schema, Fraction(1), rounds=3)
