"""HedgerowRegressor: it learns, keeps to its claim on any records, and what it does follows from what was released."""

import numpy as np
import pandas as pd
import pytest
from products import name_of_check, pairwise, thinned
from released_only import World, fit_in
from sklearn.utils.estimator_checks import estimator_checks_generator

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError
from hedgerow.export.archive import read_archive, write_archive

GENERATOR = np.random.default_rng(7)
X = GENERATOR.uniform(0, 1, (6000, 3))
Y = 8 * X[:, 0] + np.sin(6 * X[:, 1]) + GENERATOR.normal(0, 0.3, 6000)
SCHEMA = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, outcome=hr.Numeric(-2, 12))
DELTAS = [0.0, 1e-6]
SKEWED = np.exp(GENERATOR.normal(0, 2, 6000))

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")


def regressor(epsilon=1.0, **parameters):
    return hr.HedgerowRegressor(epsilon, **{"schema": SCHEMA, **parameters})


@pytest.mark.parametrize("delta", DELTAS)
def test_a_signal_is_learned_and_named(delta):
    model = regressor(delta=delta).fit(X[:5000], Y[:5000])
    assert model.certificate_.holds
    assert model.score(X[5000:], Y[5000:]) > 0.9
    assert model.feature_importances_.argmax() == 0
    assert model.predict(X).min() >= -2
    assert model.predict(X).max() <= 12


@pytest.mark.parametrize("delta", DELTAS)
def test_contributions_add_up_to_the_outcome(delta):
    model = regressor(delta=delta).fit(X, Y)
    found = model.explain(X[:50])
    assert found.scale == "outcome"
    said = found.baseline + found.contributions.sum(axis=1)
    assert np.allclose(said.clip(-2, 12), model.predict(X[:50]))
    labels, curve = model.feature_curve("a")
    assert len(labels) == len(curve)
    assert curve[:3].mean() < curve[-4:-1].mean()


def test_a_heavy_tail_does_not_set_the_clip():
    """Of 6000 records of which one in 100 is more than 50 times the median, means by the range's clip would be noise."""
    schema = SCHEMA.replace(outcome=hr.Numeric(0, 100_000))
    model = regressor(schema=schema, random_state=0).fit(X, SKEWED * (1 + 20 * (X[:, 0] > 0.5)))
    high, low = (model.predict(np.array([[a, 0.5, 0.5]]))[0] for a in (0.8, 0.2))
    assert 20 < high < 400
    assert low < high / 2


OUTCOMES = {
    "usual": Y,
    "none": np.full(6000, np.nan),
    "above": np.full(6000, 1e300),
    "below": np.full(6000, -1e300),
    "one": np.where(np.arange(6000), np.nan, 3.0),
}


@pytest.mark.parametrize(("outcome", "epsilon", "delta"), pairwise(OUTCOMES, [0.01, 1.0, 100.0], DELTAS))
def test_no_records_are_refused_and_outcomes_stay_in_the_range(outcome, epsilon, delta):
    model = regressor(epsilon, delta=delta).fit(X, OUTCOMES[outcome])
    assert model.certificate_.holds
    said = model.predict(X[:100])
    assert ((said >= -2) & (said <= 12)).all()


def test_where_nothing_can_be_learned_the_model_is_a_mean():
    models = [regressor(1e-3, random_state=seed).fit(X, Y) for seed in range(3)]
    assert all(len(model.model_.terms) == 0 for model in models)


@pytest.mark.parametrize("delta", DELTAS)
def test_at_a_small_epsilon_it_is_no_worse_than_the_mean(delta):
    noise = GENERATOR.normal(5, 2, 6000)  # nothing to learn
    scores = [regressor(0.1, delta=delta, random_state=seed).fit(X, noise).score(X, noise) for seed in range(8)]
    assert np.mean(scores) > -0.1


def test_a_tail_that_noise_hides_does_not_set_the_mean():
    """The first histogram of 500 outcomes is noise in each of its bins; a mean of it alone is off by up to 500."""
    tail = np.exp(np.random.default_rng(0).normal(1.5, 1, 500))
    given = {"delta": 0.0, "schema": SCHEMA.replace(outcome=hr.Numeric(0, 1000))}
    means = [regressor(0.1, random_state=seed, **given).fit(X[:500], tail).predict(X[:1])[0] for seed in range(8)]
    assert np.abs(np.array(means) - tail.mean()).max() < 40


COUNTS = hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, outcome=hr.Integer(0, 60))
VISITS = GENERATOR.poisson(np.exp(2 * X[:, 0] - 1 + np.sin(6 * X[:, 1])))


@pytest.mark.parametrize("delta", DELTAS)
def test_counts_are_learned_by_the_log_of_their_mean(delta):
    model = regressor(delta=delta, schema=COUNTS, loss="poisson").fit(X, VISITS)
    said = model.predict(X)
    assert model.certificate_.holds
    assert 0 < said.min() <= said.max() <= 60
    assert said.mean() == pytest.approx(VISITS.mean(), rel=0.2)
    assert np.corrcoef(said, np.exp(2 * X[:, 0] - 1 + np.sin(6 * X[:, 1])))[0, 1] > 0.9
    found = model.explain(X[:50])
    assert found.scale == "log outcome"
    assert np.allclose(np.exp(found.baseline + found.contributions.sum(axis=1)).clip(0, 60), said[:50], rtol=1e-9)


CHOICES = {
    "counts": (hr.Integer(0, 60), VISITS, "poisson"),
    "above zero": (hr.Numeric(1, 200), VISITS**2 + 1, "poisson"),
    "a range below zero": (hr.Numeric(-1, 60), VISITS, "squared"),
    "far from zero": (hr.Numeric(0, 60), Y + 20, "squared"),
}


@pytest.mark.parametrize(("case", "delta"), thinned([(case, delta) for delta in DELTAS for case in CHOICES], 5))
def test_the_released_outcome_chooses_the_link(case, delta, tmp_path):
    """The fit is the one of the chosen loss, bit for bit, at the cost of every loss."""
    outcome, y, chosen = CHOICES[case]
    schema = COUNTS.replace(outcome=outcome)
    losses = ("auto", "squared") if outcome.low < 0 else ("auto", "squared", "poisson")
    settings = {"delta": delta, "schema": schema, "n_estimators": 20, "random_state": 0}
    models = {loss: regressor(5.0, loss=loss, **settings).fit(X, y) for loss in losses}
    assert {loss: model.loss_ for loss, model in models.items()} == {
        **dict(zip(losses, losses, strict=True)),
        "auto": chosen,
    }
    assert np.array_equal(models["auto"].predict(X), models[chosen].predict(X))
    assert all(model.certificate_.event == models["auto"].certificate_.event for model in models.values())
    assert models["auto"].explain(X[:5]).scale == ("log outcome" if chosen == "poisson" else "outcome")
    assert models["auto"].predict(X).min() >= outcome.low
    models["auto"].save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    assert loaded.loss_ == chosen
    assert np.array_equal(loaded.predict(X), models["auto"].predict(X))


@pytest.mark.parametrize(("low", "chosen"), [(0, "poisson"), (-1, "squared")])
@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_a_start_brings_its_link(loss, low, chosen):
    init = regressor(5.0, schema=COUNTS, loss=loss, random_state=0).fit(X, VISITS)
    model = regressor(5.0, schema=COUNTS.replace(outcome=hr.Integer(low, 60)), init=init, random_state=1)
    if loss == "poisson" and chosen == "squared":
        with pytest.raises(ConfigurationError, match="init adds up the log outcome"):
            model.fit(X, VISITS)
    else:
        assert model.fit(X, VISITS).loss_ == loss


def test_a_log_predicts_a_median():
    schema = SCHEMA.replace(outcome=hr.Numeric(0.1, 1000))
    skewed = np.exp(2 * X[:, 0] + GENERATOR.normal(0, 1, 6000))
    model = regressor(delta=1e-6, schema=schema, outcome_transform="log", random_state=0).fit(X, skewed)
    assert np.mean(skewed > model.predict(X)) == pytest.approx(0.5, abs=0.05)
    assert np.corrcoef(np.log(model.predict(X)), X[:, 0])[0, 1] > 0.95


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"loss": "poisson"}, "from 0 or above"),
        ({"outcome_transform": "log"}, "above 0"),
        ({"loss": "poisson", "outcome_transform": "log"}, "link of"),
    ],
)
def test_losses_that_the_range_does_not_fit_are_refused(parameters, match):
    with pytest.raises(ConfigurationError, match=match):
        regressor(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    "parameters", [{"loss": "poisson", "schema": COUNTS}, {"outcome_transform": "log", "schema": None}]
)
def test_a_file_of_another_loss_answers_alike(parameters, tmp_path):
    schema = parameters["schema"] or SCHEMA.replace(outcome=hr.Numeric(0.5, 60))
    model = regressor(delta=1e-6, **{**parameters, "schema": schema}).fit(X, VISITS)
    model.save(tmp_path / "model.hedgerow")
    assert np.array_equal(hr.load(tmp_path / "model.hedgerow").predict(X), model.predict(X))


def test_rounds_and_curves_are_as_they_were_asked_for():
    model = regressor(n_estimators=7, monotonic_cst={"a": 1}, interaction_cst="no_interactions").fit(X, Y)
    assert len(model.model_.terms) == 7
    assert not any(term.cuts for term in model.model_.terms)
    assert (np.diff(model.feature_curve("a")[1][:-1]) >= 0).all()
    with pytest.raises(ConfigurationError, match="no feature"):
        model.feature_curve("z")


def test_classes_are_refused():
    with pytest.raises(ConfigurationError, match="predicts a number"):
        regressor(schema=hr.Schema({"a": hr.Numeric(0, 1)}, classes=["x", "y"])).fit([[0.5]], ["x"])


def test_a_file_answers_alike_and_a_damaged_one_is_refused(tmp_path):
    model = regressor(delta=1e-6, random_state=3).fit(X, Y)
    path = tmp_path / "model.hedgerow"
    model.save(path)
    loaded = hr.load(path)
    assert type(loaded) is hr.HedgerowRegressor
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certificate_.details() == model.certificate_.details()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(bytes(content))
    with pytest.raises(FileFormatError):
        hr.load(path)


def loaded_with_weight(model, folder, name, weight):
    """Return the model that ``load`` makes of a file with another array of count weights, or none."""

    path = folder / "changed"
    model.save(path)
    document, arrays = read_archive(path)
    others = {one: array for one, array in arrays.items() if one != name}
    write_archive(path, document, others if weight is None else {**others, name: weight})
    return hr.load(path)


DAMAGED_WEIGHTS = [np.array([0]), np.array([1001]), np.array([500, 500]), np.array([500.0]), np.array([500], np.int32)]


@pytest.mark.parametrize("delta", DELTAS)
def test_the_weight_of_counts_comes_back_and_a_damaged_one_does_not(delta, tmp_path):
    model = regressor(delta=delta, random_state=3).fit(X, Y)
    begun = regressor(delta=delta, random_state=3, init=model).fit(X, Y)
    old = 500 if delta else 250  # of a file of version 0.3, which says nothing of it
    for weight, found in ((np.array([1]), 1), (np.array([1000]), 1000), (None, old)):
        loaded = loaded_with_weight(model, tmp_path, "count_weight", weight)
        assert loaded.model_.loss.count_weight == found
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert loaded.certificate_ == model.certificate_
        assert np.isfinite(loaded.feature_curve("a")[1]).all()
    for weight, found in ((np.array([1]), 1), (None, old)):
        loaded = loaded_with_weight(begun, tmp_path, "init_count_weight", weight)
        assert [part.loss.count_weight for part in loaded.model_.parts] == [found, 500]
        assert np.array_equal(loaded.predict(X), begun.predict(X))
    # A start keeps the weight by which its sums were measured, in memory and in a file
    first = loaded_with_weight(model, tmp_path, "count_weight", None)
    begun = regressor(delta=delta, random_state=3, init=first).fit(X, Y)
    for one in (begun, loaded_with_weight(begun, tmp_path, "", None)):
        assert [part.loss.count_weight for part in one.model_.parts] == [old, 500]
    for weight in DAMAGED_WEIGHTS:
        for fitted, name in ((model, "count_weight"), (begun, "init_count_weight")):
            with pytest.raises(FileFormatError, match="count_weight is damaged"):
                loaded_with_weight(fitted, tmp_path, name, weight)


def test_the_same_seed_gives_the_same_model_from_records_in_blocks(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    frame.to_csv(tmp_path / "records.csv", index=False)
    records = hr.Records.from_csv(tmp_path / "records.csv", label="y")
    whole = regressor(delta=1e-6, random_state=1).fit(frame[list("abc")], frame["y"])
    blocks = regressor(delta=1e-6, random_state=1).fit(records)
    assert np.array_equal(whole.predict(X), blocks.predict(X))


def test_a_curator_and_a_ledger_are_charged_the_whole_plan():
    curator = hr.Curator(X, Y, SCHEMA, epsilon=1.5, max_bins=255)
    assert hr.HedgerowRegressor(1.0).fit_curator(curator).score(X, Y) > 0.5
    assert curator.remaining <= 0.5 + 1e-6
    ledger = hr.Ledger(epsilon=1)
    regressor(ledger=ledger).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        regressor(ledger=ledger).fit(X, Y)


WORLDS = [
    World({name: X[:300, j] for j, name in enumerate("abc")}, Y[:300], lies=10),
    World({name: X[:40, j] for j, name in enumerate("abc")}, np.full(40, 12.0)),
    World({name: X[:5, j] for j, name in enumerate("abc")}, Y[:5], lies=10**6),
    World({name: X[:40, j] for j, name in enumerate("abc")}, Y[:40], lies=10**6, rising=True),
]
ONE = World({name: X[:1, j] for j, name in enumerate("abc")}, np.array([np.nan]))


@pytest.mark.parametrize("seed", thinned(range(3), 3))
@pytest.mark.parametrize(
    "parameters",
    [
        {"delta": 0.0},
        {"delta": 1e-6},
        {"delta": 1e-6, "schema": SCHEMA.replace(outcome=hr.Numeric(0, 12))},
        {"delta": 1e-6, "loss": "poisson", "schema": SCHEMA.replace(outcome=hr.Numeric(0, 12))},
        {"delta": 1e-6, "outcome_transform": "log", "schema": SCHEMA.replace(outcome=hr.Numeric(1, 12))},
    ],
    ids=["pure", "normal", "auto", "poisson", "log"],
)
def test_a_fit_follows_from_what_is_released(parameters, seed):
    """A start, a clip or a mean of exact outcomes would differ from world to world."""
    model, asked = fit_in(ONE, regressor(n_estimators=3, **parameters), seed)
    assert len(asked) >= 6
    for world in WORLDS:
        other, asked_there = fit_in(world, regressor(n_estimators=3, **parameters), seed)
        assert asked == asked_there
        assert model == other


CHECKS = list(estimator_checks_generator(hr.HedgerowRegressor(epsilon=10_000), mark="skip"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), thinned(CHECKS, 11), ids=name_of_check)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_no_check_went_missing():
    assert len(CHECKS) >= 50  # in scikit-learn 1.7.2 as in 1.9.1
