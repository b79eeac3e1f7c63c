"""HedgerowClassifier: its curves add up to what it says, and it is never far below the majority rule."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from costs import sums
from hedgerow.boosting.additive import AdditivePlan
from hedgerow.boosting.additive_round import DenseRecipe, Shares
from hedgerow.boosting.gradients import calibrated, cap_of
from hedgerow.boosting.smoothing import Smoothing
from scipy.stats import multivariate_normal

import hedgerow as hr
from hedgerow.boosting import smoothing
from hedgerow.boosting.weights import VOTE_STEPS
from hedgerow.curator import Queryable
from hedgerow.errors import BudgetExceeded, FileFormatError
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.claim import Claim
from hedgerow.privacy.exact import exact
from hedgerow.systems import hedgerow
from hedgerow.table import MemoryTable

GENERATOR = np.random.default_rng(5)
X = GENERATOR.uniform(0, 1, (3000, 3))
Y = np.where(X[:, 0] + 0.1 * GENERATOR.normal(size=3000) > 0.5, "yes", "no")
SCHEMA = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=["no", "yes"])
THREE = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=[0, 1, 2])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_curves_add_up_to_the_decision(delta):
    model = hr.HedgerowClassifier(1.0, delta=delta, schema=SCHEMA).fit(X, Y)
    encoder = model.model_.encoder
    codes = encoder.transform(X[:50])
    total = np.zeros(50)
    for number, name in enumerate(SCHEMA.names):
        labels, curve = model.feature_curve(name)
        assert len(labels) == len(curve) == encoder.n_codes[number]
        total += curve[codes[:, number]]
    assert np.allclose(total, model.decision_function(X[:50]))
    logistic = 1 / (1 + np.exp(-total))
    assert np.allclose(model.predict_proba(X[:50]), calibrated(np.stack([1 - logistic, logistic], axis=1), cap_of(2)))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_signal_is_learned_and_named(delta):
    model = hr.HedgerowClassifier(1.0, delta=delta, schema=SCHEMA).fit(X[:2000], Y[:2000])
    assert (model.predict(X[2000:]) == Y[2000:]).mean() > 0.85
    assert model.feature_importances_.argmax() == 0
    assert model.feature_importances_.sum() == pytest.approx(1)
    _, curve = model.feature_curve("a")
    assert curve[:5].mean() < 0 < curve[-6:-1].mean()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_three_classes(delta):
    y = np.digitize(X[:, 1], [0.3, 0.6])
    model = hr.HedgerowClassifier(2.0, delta=delta, schema=THREE).fit(X[:2000], y[:2000])
    assert (model.predict(X[2000:]) == y[2000:]).mean() > 0.75
    labels, curve = model.feature_curve("b")
    assert curve.shape == (len(labels), 3)
    assert np.allclose(model.predict_proba(X[:9]).sum(axis=1), 1)


def test_an_unknown_feature_is_named():
    model = hr.HedgerowClassifier(1.0, schema=SCHEMA).fit(X, Y)
    with pytest.raises(hr.ConfigurationError, match="no feature 'z'"):
        model.feature_curve("z")


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-9])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0])
def test_every_certificate_holds_and_uses_its_claim(epsilon, delta, adjacency):
    model = hr.HedgerowClassifier(epsilon, delta=delta, schema=SCHEMA, adjacency=adjacency).fit(X[:300], Y[:300])
    assert model.certificate_.holds
    spent = cost(model.certificate_.event).under(adjacency)
    if delta:
        assert 0.9 * delta < spent.delta(exact(epsilon)) <= delta
    else:
        assert 0.99 * epsilon < spent.epsilon <= exact(epsilon)


@pytest.mark.parametrize("n", [1, 50, 400])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 10.0])
def test_few_records_and_little_budget_give_no_warning_of_numbers_and_finite_answers(epsilon, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the noisy number of records")
        model = hr.HedgerowClassifier(epsilon, delta=1e-6, schema=SCHEMA).fit(X[:n], Y[:n])
        probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()


def test_wide_categories_and_many_features():
    names = [f"f{i}" for i in range(60)]
    schema = hr.Schema(
        {**dict.fromkeys(names, hr.Numeric(0, 1)), "id": hr.Categorical(list(range(1000)))}, classes=["no", "yes"]
    )
    table = {name: GENERATOR.uniform(size=3000) for name in names} | {"id": GENERATOR.integers(0, 1000, 3000)}
    table["f7"] = X[:, 0]
    model = hr.HedgerowClassifier(2.0, delta=1e-6, schema=schema).fit(table, Y)
    assert (model.predict(table) == Y).mean() > 0.8


def test_saved_models_say_the_same(tmp_path):
    model = hr.HedgerowClassifier(1.0, delta=1e-6, schema=SCHEMA).fit(X, Y)
    model.save(tmp_path / "m.hedgerow")
    again = hr.load(tmp_path / "m.hedgerow")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.feature_curve("a")[1], model.feature_curve("a")[1])


def test_steps_without_noise_or_prior_are_newtons():
    steps = Smoothing(spreads=(1e6,), common=1e-9).steps(
        np.array([[3.0], [-2.0]]), np.array([[6.0], [4.0]]), 1e-9, 1e-9, False
    )
    assert steps[:, 0] == pytest.approx([0.5, -0.5], rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_round_moves_two_classes_apart_by_more_than_two(delta):
    model = hr.HedgerowClassifier(20.0, delta=delta, schema=SCHEMA).fit(X, np.where(X[:, 0] > 0.2, "yes", "no"))
    stages = np.stack([np.zeros(3000), *model.staged_decision_function(X)])
    assert 1.5 < np.abs(np.diff(stages, axis=0)).max() <= 2


def test_both_ways_to_smooth_agree_where_steps_are_independent():
    generator = np.random.default_rng(1)
    gradient, curvature, variance = generator.normal(0, 5, 7), generator.uniform(0, 9, 7), generator.uniform(1, 4, 7)
    prior = 0.3**2 * np.eye(7) + 0.8**2
    likelihood, steps = smoothing._dependent(gradient, curvature, variance, prior)
    other_likelihood, other_steps = smoothing._independent(gradient, curvature, variance, 0.3, 0.8)
    assert steps == pytest.approx(other_steps)
    assert likelihood == pytest.approx(other_likelihood)
    noisy = multivariate_normal(np.zeros(7), np.diag(curvature) @ prior @ np.diag(curvature) + np.diag(variance))
    assert likelihood == pytest.approx(noisy.logpdf(gradient) + 3.5 * np.log(2 * np.pi))


def test_the_sums_say_how_far_steps_spread():
    generator = np.random.default_rng(2)
    curvature = np.full((300, 1), 50.0)
    for spread in (0.125, 1.0):
        true = generator.normal(0, spread, (300, 1))
        gradient = curvature * true + generator.normal(0, np.sqrt(50 + 100), (300, 1))
        steps = Smoothing().steps(gradient, curvature, 10.0, 1.0, False)
        other = Smoothing(spreads=(1.0 if spread < 1 else 0.125,)).steps(gradient, curvature, 10.0, 1.0, False)
        assert ((steps - true) ** 2).mean() < 0.9 * ((other - true) ** 2).mean()


def test_steps_shrink_with_the_noise_and_lean_on_their_neighbors():
    gradient, curvature = np.array([[5.0], [5.0], [5.0], [0.0]]), np.full((4, 1), 10.0)
    quiet = Smoothing().steps(gradient, curvature, 0.1, 0.1, True)
    loud = Smoothing().steps(gradient, curvature, 100.0, 100.0, True)
    assert np.abs(loud).max() < 0.1 < np.abs(quiet[:3]).min()
    spike = Smoothing(rough=(0.5,), smooth=()).steps(np.array([[0.0], [9.0], [0.0], [0.0]]), curvature, 5.0, 0.1, True)
    assert 0 < spike[0, 0] < spike[1, 0]


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize("size", [1, 70])
def test_blocks_of_predictions_change_nothing(size, monkeypatch):
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=list(range(7)))
    X = np.linspace(0, 1, 100)[:, None]
    model = hr.HedgerowClassifier(schema=schema, epsilon=5.0, random_state=0).fit(X, (X[:, 0] * 6.9).astype(int))
    whole = model.predict_proba(X), model.decision_function(X)
    monkeypatch.setattr("hedgerow.boosting.plan.BLOCK_SUMS", size)
    assert np.array_equal(model.predict_proba(X), whole[0])
    assert np.array_equal(model.decision_function(X), whole[1])


XOR = hr.Schema(
    {"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical(["x", "y", "z"])}, classes=["no", "yes"]
)


def xor(records=4000, classes=2):
    generator = np.random.default_rng(7)
    a, b = generator.uniform(0, 1, (2, records))
    c = generator.choice(["x", "y", "z"], records)
    odd = ((a > 0.5) ^ (b > 0.5)) ^ (generator.uniform(0, 1, records) < 0.05)
    y = np.where(odd, "yes", "no") if classes == 2 else np.where(odd, 2, np.where(c == "x", 1, 0))
    return {"a": a, "b": b, "c": c}, y


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_two_features_say_together_is_learned_and_named(delta):
    columns, y = xor()
    model = hr.HedgerowClassifier(10.0, delta=delta, schema=XOR, random_state=0).fit(columns, y)
    assert model.score(columns, y) > 0.8
    first, *_ = model.interactions_
    assert {first.feature, first.by} == {"a", "b"}
    edge = float(first.condition.removeprefix(f"{first.by} < "))
    assert 0.3 < edge < 0.7
    assert first.curves.shape == (2, len(first.labels))
    shares = [curve.share for curve in model.interactions_]
    assert shares == sorted(shares, reverse=True)
    assert 0.3 < sum(shares) <= 1
    assert model.feature_importances_.argmin() == 2


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_of_both_kinds_add_up_to_the_decision(classes):
    columns, y = xor(classes=classes)
    schema = XOR if classes == 2 else XOR.replace(classes=[0, 1, 2])
    model = hr.HedgerowClassifier(5.0, delta=1e-6, schema=schema, random_state=0).fit(columns, y)
    names, codes = list(schema.names), model.model_.encoder.transform(columns)
    total = sum(model.feature_curve(name)[1][codes[:, place]] for place, name in enumerate(names))
    inside = {"c": lambda side, cells: cells == side}
    for curve in model.interactions_:
        cells = columns[curve.by]
        name, sign, value = curve.condition.split(" ", 2)
        assert name == curve.by
        if sign == "is":  # no cell is missing here
            first = np.ones(len(cells), dtype=bool)
        else:
            first = inside["c"](value, cells) if sign == "=" else cells < float(value)
            if sign == "<":  # the condition names the edge in six digits: the records right at it are left out
                first = np.where(abs(cells - float(value)) < 1e-5, -1, first)
        side = np.where(first == 1, 0, 1)
        total = np.where(
            (first == -1).reshape(-1, *[1] * (np.ndim(total) - 1)),
            np.nan,
            total + curve.curves[side, codes[:, names.index(curve.feature)]],
        )
    assert model.interactions_
    decided = model.decision_function(columns)
    known = ~np.isnan(total)
    assert known.mean() > 0.99
    assert np.allclose(total[known], decided[known])


def test_a_model_with_splits_is_saved_and_damaged_ones_are_refused(tmp_path):
    columns, y = xor()
    model = hr.HedgerowClassifier(10.0, schema=XOR, random_state=0).fit(columns, y)
    assert model.interactions_
    model.save(tmp_path / "m.hedgerow")
    loaded = hr.load(tmp_path / "m.hedgerow")
    assert np.array_equal(loaded.predict_proba(columns), model.predict_proba(columns))
    assert [curve.condition for curve in loaded.interactions_] == [curve.condition for curve in model.interactions_]
    plan = AdditivePlan(hedgerow.RECIPE, XOR, Claim(Fraction(10)), rounds=None, bins=None)
    arrays = model.model_.to_arrays()
    assert np.array_equal(plan.restore(arrays).forest.test, model.model_.forest.test)
    forest = model.model_.forest
    root = next(root for root in forest.roots if forest.test[root] >= 3)
    child = forest.first_child[root]
    for changed in (
        (child, (forest.test[child] + 1) % 3),
        (child, root),
        (child, forest.candidates.feature[forest.test[root]]),
    ):
        test = forest.test.copy()
        test[changed[0]] = changed[1]
        with pytest.raises(FileFormatError):
            plan.restore({**arrays, "test": test})


def test_few_rounds_have_no_splits_and_a_single_feature_none():
    columns, y = xor()
    assert not hr.HedgerowClassifier(3.0, schema=XOR, n_estimators=11).fit(columns, y).interactions_
    alone = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    assert not hr.HedgerowClassifier(3.0, schema=alone).fit({"a": columns["a"]}, y).interactions_


@pytest.mark.parametrize("features", [1, 20])
def test_rounds_follow_the_number_of_features_that_say_something(features):
    """Twenty alike features get more rounds than one, at the same records and budget."""
    generator = np.random.default_rng(1)
    x = generator.uniform(0, 1, (5000, 20))
    odds = 6 * (x[:, :features] - 0.5).sum(axis=1) / np.sqrt(features)
    y = np.where(generator.uniform(0, 1, 5000) < 1 / (1 + np.exp(-odds)), "yes", "no")
    schema = hr.Schema({f"f{place}": hr.Numeric(0, 1) for place in range(20)}, classes=["no", "yes"])
    model = hr.HedgerowClassifier(1.0, delta=1e-6, schema=schema, random_state=0).fit(x, y)
    assert (len(model.model_.forest.roots) > 12) == (features == 20)


def test_pure_steps_of_three_classes_do_not_overshoot():
    """Accuracy from round to round goes up, and not up and down."""
    generator = np.random.default_rng(2)
    x = generator.uniform(0, 1, (6000, 2))
    y = np.digitize(x[:, 0], np.linspace(0, 1, 8)[1:-1])
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=list(range(7)))
    model = hr.HedgerowClassifier(5.0, schema=schema, random_state=0).fit(x, y)
    losses = [-np.log(p[np.arange(len(y)), y]).mean() for p in model.staged_predict_proba(x)]
    assert np.all(np.diff(losses) < 0.01)


def test_a_large_epsilon_with_a_delta_has_a_pure_plan():
    model = hr.HedgerowClassifier(50.0, delta=1e-6, schema=SCHEMA).fit(X, Y)
    assert model.certificate_.holds
    assert model.certificate_.spent <= 50
    assert "no noise of a plan with delta keeps to so large an epsilon, so the plan is pure" in str(model.certificate_)


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize(("records", "starts"), [(60, True), (3000, False)])
def test_where_records_are_few_the_model_starts_at_the_shares_of_the_classes(records, starts, monkeypatch):
    asked = []

    def ask(shares, curator):
        asked.append(float(shares.noise.deviation))
        found = original(shares, curator)
        return found[0], found[1] + np.array([30, -30]) * VOTE_STEPS

    original = Shares.ask
    monkeypatch.setattr(Shares, "ask", ask)
    model = hr.HedgerowClassifier(1.0, schema=SCHEMA, random_state=3).fit(X[:records], Y[:records])
    assert len(asked) == 1
    assert (
        model.decision_function(X) < -20
    ).all() == starts  # with many the margins go back to zero before the first round


TWENTY = hr.Schema({f"f{i}": hr.Numeric(-4, 4) for i in range(20)}, classes=["no", "yes"])


def normal(odds, n=5000):
    generator = np.random.default_rng(12)
    values = generator.normal(size=(n, 20))
    return values, np.where(generator.random(n) < 1 / (1 + np.exp(-odds(values))), "yes", "no")


def test_of_very_many_records_each_fourth_round_alone_has_splits(monkeypatch):
    splits = replace(hedgerow.RECIPE.splits, many_records=100.0)
    monkeypatch.setattr(hedgerow, "RECIPE", replace(hedgerow.RECIPE, splits=splits))
    columns, y = xor()
    model = hr.HedgerowClassifier(5.0, delta=1e-6, schema=XOR, n_estimators=18, random_state=0).fit(columns, y)
    two_sided = [number for number, (_, _, firsts) in enumerate(model.model_.rounds()) if len(firsts) > 1]
    assert two_sided
    assert all(number >= 3 and (number - 3) % 4 == 0 for number in two_sided)


def visited(model):
    forest = model.model_.forest
    return {int(test) for test in forest.test[forest.roots]}


@pytest.mark.parametrize("seed", range(3))
def test_many_alike_features_get_rounds_for_all_of_them_and_two_of_twenty_do_not(seed):
    dense = hr.HedgerowClassifier(1.0, delta=1e-6, schema=TWENTY, random_state=seed).fit(
        *normal(lambda X: 0.8 * X.sum(axis=1))
    )
    sparse = hr.HedgerowClassifier(1.0, delta=1e-6, schema=TWENTY, random_state=seed).fit(
        *normal(lambda X: 2 * X[:, :2].sum(axis=1))
    )
    rounds = [len(model.model_.forest.roots) for model in (dense, sparse)]
    assert rounds[0] == 63
    assert rounds[1] <= 18
    # Nothing is cut before two rounds for each feature.
    assert all(len(firsts) == 1 for _, _, firsts in list(dense.model_.rounds())[:40])
    assert len(visited(dense)) >= 19


def test_features_are_alike_where_all_scores_stand_out_and_are_even():
    recipe, chance = DenseRecipe(), np.full(20, 10.0)
    generator = np.random.default_rng(3)
    even, some = np.full(20, 30.0), np.where(np.arange(20) < 10, 50.0, 10.0)
    for scores, alike in ((even, True), (some, False), (chance, False)):
        found = [recipe.all_alike(scores + generator.normal(0, 5, 20), chance, 5.0) for _ in range(200)]
        assert np.mean(found) > 0.95 if alike else np.mean(found) < 0.05
    assert not recipe.all_alike(np.full(20, 10.0), chance, 5.0)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6)], ids=["pure", "concentrated"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_rounds_for_all_features_are_planned_for(delta, adjacency, monkeypatch):
    """Both kinds of rounds are among the plan's choices; one with another share of the selection is not, and is stopped."""
    X, y = normal(lambda X: 0.8 * X.sum(axis=1))
    monkeypatch.setattr(DenseRecipe, "all_alike", lambda *_: True)
    plan = AdditivePlan(hedgerow.RECIPE, TWENTY, Claim(Fraction(3), delta, adjacency), rounds=None, bins=None)
    encoder, planned = plan.encoder, cost(plan.event)

    def curator_of():
        table = MemoryTable(encoder.transform(X), encoder.labels(y), encoder.n_codes, 2)
        return Queryable(table, planned, Randomness(0))

    assert planned.under(adjacency).within(Fraction(3), delta)
    curator = curator_of()
    plan.fit(curator)
    assert all(amount <= sums(planned)[part] for part, amount in sums(curator.total).items())
    dearer = replace(hedgerow.RECIPE, dense=replace(hedgerow.RECIPE.dense, scores=Fraction(1, 5)))
    planted = AdditivePlan(dearer, TWENTY, Claim(Fraction(3), delta, adjacency), rounds=None, bins=None)
    monkeypatch.setattr(planted, "_scout", lambda left: replace(AdditivePlan._scout(planted, left), left=left))
    with pytest.raises(BudgetExceeded):
        planted.fit(curator_of())
