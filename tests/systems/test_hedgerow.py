"""HedgerowClassifier: its curves add up to what it says, and it is never far below the majority rule."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from products import thinned

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.export import Softmax
from hedgerow.parameters import UNIT, VOTE_STEPS
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.exact import exact

GENERATOR = np.random.default_rng(5)
X = GENERATOR.uniform(0, 1, (3000, 3))
Y = np.where(X[:, 0] + 0.1 * GENERATOR.normal(size=3000) > 0.5, "yes", "no")
SCHEMA = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=["no", "yes"])
THREE = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=[0, 1, 2])


def calibrated(p, cap):
    """Return what a model whose softmax is ``p`` says under a cap, in units."""
    return Softmax(1, cap / UNIT)(np.log(p))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_curves_add_up_to_the_decision(delta):
    model = hr.HedgerowClassifier(1.0, delta=delta, schema=SCHEMA, interaction_cst="no_interactions").fit(X, Y)
    encoder = model.model_.encoder
    codes = encoder.transform(X[:50])
    total = np.full(50, model.model_.start[0] / VOTE_STEPS)
    for number, name in enumerate(SCHEMA.names):
        labels, curve = model.feature_curve(name)
        assert len(labels) == len(curve) == encoder.n_codes[number]
        total += curve[codes[:, number]]
    assert np.array_equal(total, model.decision_function(X[:50]))
    logistic, cap = 1 / (1 + np.exp(-total)), Logistic(2, normal=True).cap
    assert np.allclose(model.predict_proba(X[:50]), calibrated(np.stack([1 - logistic, logistic], axis=1), cap))


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
        assert 0.5 * delta < spent.delta(exact(epsilon)) <= delta
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


def rounds_of(model):
    """Yield the model after each of its rounds."""
    return (replace(model, terms=model.terms[:number]) for number in range(1, len(model.terms) + 1))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_round_moves_two_classes_apart_by_more_than_two(delta):
    model = hr.HedgerowClassifier(20.0, delta=delta, schema=SCHEMA).fit(X, np.where(X[:, 0] > 0.2, "yes", "no"))
    stages = np.stack(
        [np.full(3000, model.model_.start[0] / VOTE_STEPS), *(after.decision(X) for after in rounds_of(model.model_))]
    )
    assert 1 < np.abs(np.diff(stages, axis=0)).max() <= 2


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize("size", [1, 70])
def test_blocks_of_predictions_change_nothing(size, monkeypatch):
    schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=list(range(7)))
    X = np.linspace(0, 1, 100)[:, None]
    model = hr.HedgerowClassifier(schema=schema, epsilon=5.0, random_state=0).fit(X, (X[:, 0] * 6.9).astype(int))
    whole = model.predict_proba(X), model.decision_function(X)
    monkeypatch.setattr("hedgerow.schema.encoder.BLOCK_ROWS", size)
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
    assert model.score(columns, y) > 0.75
    first, *_ = model.interactions_
    assert {"a", "b"} <= set(first.features)
    edges = [float(part.conditions[0].split(" < ")[1]) for part in first.parts if " < " in part.conditions[0]]
    assert any(0.3 < edge < 0.7 for edge in edges)
    for part in first.parts:
        assert part.curves.shape == (*(2 for _ in part.conditions), len(part.labels))
        assert set(first.features) == {part.feature} | {text.split(" ")[0] for text in part.conditions}
    shares = [group.share for group in model.interactions_]
    assert shares == sorted(shares, reverse=True)
    assert 0.3 < sum(shares) <= 1 + 1e-9
    assert model.feature_importances_.argmin() == 2
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_of_features_and_of_cells_add_up_to_the_decision(classes):
    """The side of a record is read off the words of a condition."""
    columns, y = xor(classes=classes)
    schema = XOR if classes == 2 else XOR.replace(classes=[0, 1, 2])
    model = hr.HedgerowClassifier(8.0, delta=1e-6, schema=schema, random_state=0).fit(columns, y)
    names, codes = list(schema.names), model.model_.encoder.transform(columns)
    total = model.model_.shown(np.tile(model.model_.start, (4000, 1)) / VOTE_STEPS)
    total = total + sum(model.feature_curve(name)[1][codes[:, place]] for place, name in enumerate(names))
    known = np.ones(4000, dtype=bool)
    assert model.interactions_
    for part in (part for group in model.interactions_ for part in group.parts):
        sides = []
        for condition in part.conditions:
            name, sign, value = condition.split(" ", 2)
            cells = columns[name]
            if sign == "<":  # the condition names the edge in six digits: the records right at it are left out
                known &= abs(cells - float(value)) > 1e-5
                sides.append(np.where(cells < float(value), 0, 1))
            elif sign == "=":
                sides.append(np.where(cells == value, 0, 1))
            else:
                assert sign == "is"  # not missing, as all cells here are
                sides.append(np.zeros(4000, dtype=int))
        shown = part.curves[(*sides, codes[:, names.index(part.feature)])]
        total = total + np.nan_to_num(shown)  # NaN in cells of another feature
    assert known.mean() > 0.99
    assert np.allclose(total[known], model.decision_function(columns)[known])


LIMITS = [("no_interactions", 0), ("pairwise", 1), (None, 2)]


@pytest.mark.parametrize(
    ("limit", "most", "delta"),
    thinned([(limit, most, delta) for delta in (1e-6, 0.0) for limit, most in LIMITS], 2),
)
def test_features_interact_as_far_as_they_may(limit, most, delta):
    columns, y = xor()
    model = hr.HedgerowClassifier(20.0, delta=delta, schema=XOR, interaction_cst=limit, random_state=0).fit(columns, y)
    depths = [len(term.cuts) for term in model.model_.terms]
    assert max(depths) <= most
    assert (max(depths) > 0) == (most > 0)
    assert all(len(group.features) <= 1 + most for group in model.interactions_)
    assert bool(model.interactions_) == (most > 0)
    explained = model.explain(columns)
    assert np.array_equal(explained.baseline + explained.contributions.sum(axis=1), model.decision_function(columns))


@pytest.mark.parametrize("value", ["pair", 1, True, [["a", "b"]]])
def test_another_interaction_constraint_is_refused_before_anything_is_booked(value):
    ledger = hr.Ledger(epsilon=5)
    with pytest.raises(hr.ConfigurationError, match="interaction_cst"):
        hr.HedgerowClassifier(schema=SCHEMA, interaction_cst=value, ledger=ledger).fit(X, Y)
    assert ledger.spent == 0


def test_a_single_feature_has_no_interactions():
    columns, y = xor()
    alone = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    assert not hr.HedgerowClassifier(3.0, schema=alone).fit({"a": columns["a"]}, y).interactions_


def test_more_records_make_a_better_model():
    """What a sum of curves cannot say is found from more records on."""
    generator = np.random.default_rng(0)
    schema = hr.Schema({name: hr.Numeric(0, 1) for name in "abcde"}, classes=["no", "yes"])
    x = generator.uniform(0, 1, (40_000, 5))
    odds = 2 * np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1, -1)
    y = np.where(generator.logistic(size=len(x)) < odds, "yes", "no")
    scores = [
        hr.HedgerowClassifier(3.0, delta=1e-6, schema=schema, random_state=0)
        .fit(x[:n], y[:n])
        .score(x[30_000:], y[30_000:])
        for n in (500, 30_000)
    ]
    assert scores[0] < 0.7
    assert scores[1] > 0.8  # .88 is the best


def test_pure_steps_of_three_classes_do_not_overshoot():
    """Accuracy from round to round goes up, and not up and down."""
    generator = np.random.default_rng(2)
    x = generator.uniform(0, 1, (6000, 2))
    y = np.digitize(x[:, 0], np.linspace(0, 1, 8)[1:-1])
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=list(range(7)))
    model = hr.HedgerowClassifier(5.0, schema=schema, random_state=0).fit(x, y)
    losses = [
        -np.log(p[np.arange(len(y)), y]).mean() for p in (after.probabilities(x) for after in rounds_of(model.model_))
    ]
    assert np.all(np.diff(losses) < 0.02)


def test_a_large_epsilon_with_a_delta_has_a_pure_plan():
    model = hr.HedgerowClassifier(50.0, delta=1e-6, schema=SCHEMA).fit(X, Y)
    assert model.certificate_.holds
    assert model.certificate_.spent <= 50
    assert (
        "no noise of a plan with delta keeps to so large an epsilon, so the plan is pure"
        in model.certificate_.details()
    )


def test_fits_of_a_ledger_with_delta_add_up_all_that_a_pure_fit_costs():
    """A pure fit of few large rounds costs more rho than one of many small ones, and its event says so."""
    model = hr.HedgerowClassifier(0.5, schema=SCHEMA, random_state=0).fit(X, Y)
    spent = cost(model.certificate_.event)
    whole = 0.97 * 0.5  # of which one round could be made, a quarter for its selection
    assert spent.rho >= 0.9 * ((whole / 4) ** 2 + (whole * 3 / 4) ** 2) / 2


@pytest.mark.filterwarnings("ignore:the noisy number of records")
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_model_starts_between_even_classes_and_their_shares(share):
    y = np.where(np.arange(3000) < share * 3000, "no", "yes")
    model = hr.HedgerowClassifier(5.0, delta=1e-6, schema=SCHEMA, random_state=3).fit(X, y)
    start = model.model_.start[0] / VOTE_STEPS
    assert -np.log(share / (1 - share)) - 0.05 <= start <= 0.05
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(1 - share, abs=0.03)
