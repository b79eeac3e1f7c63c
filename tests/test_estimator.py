"""What all classifiers share: plain parameters, files, refusals before booking, importances, the page in a notebook."""

import inspect
import json
import warnings
import zipfile
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

import hedgerow as hr
from hedgerow.errors import FileFormatError
from hedgerow.export.archive import read_archive, write_archive
from hedgerow.export.form import importances
from hedgerow.parameters import WholeNumber, parameter
from hedgerow.privacy.accounting import event_to_dict
from hedgerow.systems.trees import ForestClassifier

SYSTEMS = [hr.EDPRFClassifier, hr.PFDPDTClassifier]
CLASSES = [*SYSTEMS, ForestClassifier]
SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1), "c": hr.Categorical(["u", "v"])}, classes=["x", "y"])
GENERATOR = np.random.default_rng(0)
X = pd.DataFrame({"a": GENERATOR.uniform(size=200), "b": GENERATOR.uniform(size=200), "c": ["u", "v"] * 100})
Y = np.where(X["a"] > 0.5, "y", "x")


def saved(model, tmp_path):
    model.save(tmp_path / "m.hedgerow")
    with zipfile.ZipFile(tmp_path / "m.hedgerow") as archive:
        return json.loads(archive.read("model.json")), hr.load(tmp_path / "m.hedgerow")


def test_numpy_numbers_as_parameters_survive_a_file(tmp_path):
    model = hr.EDPRFClassifier(
        epsilon=np.float32(0.1),
        schema=SCHEMA,
        variant=np.str_("private"),
        n_estimators=np.int64(3),
        max_bins=np.int64(8),
        max_depth=np.uint8(2),
        random_state=np.int32(5),
    ).fit(X, Y)
    document, again = saved(model, tmp_path)
    assert set(document["parameters"]) == set(model.get_params())
    assert again.get_params(deep=False) == {
        "epsilon": 0.1,
        "schema": SCHEMA,
        "variant": "private",
        "parts": "equal",
        "n_estimators": 3,
        "max_bins": 8,
        "max_depth": 2,
        "stop": "auto",
        "adjacency": "add-remove",
        "records_per_person": None,
        "random_state": 5,
        "ledger": None,
    }
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_ == model.certificate_
    assert again.fit(X, Y).certificate_ == model.certificate_


@pytest.mark.parametrize(
    ("epsilon", "number"),
    [
        (Fraction(1, 3), Fraction(1, 3)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("0.25", Fraction(1, 4)),
        (0.7, Fraction(7, 10)),
        (1, Fraction(1)),
    ],
)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_any_exact_budget_survives_a_file(kind, epsilon, number, tmp_path):
    model = kind(epsilon=epsilon, schema=SCHEMA).fit(X, Y)
    document, again = saved(model, tmp_path)
    assert document["parameters"]["epsilon"] == str(number)
    assert again.certificate_.epsilon == number
    assert again.epsilon == (number if number == Fraction(1, 3) else float(number))
    assert again.fit(X, Y).certificate_ == model.certificate_
    assert model.epsilon is epsilon  # fit writes nothing into parameters


def test_a_generator_and_a_ledger_come_back_as_none_and_the_certificate_still_tells(tmp_path):
    model = hr.PFDPDTClassifier(schema=SCHEMA, random_state=np.random.default_rng(1), ledger=hr.Ledger(1.0)).fit(X, Y)
    document, again = saved(model, tmp_path)
    assert document["parameters"]["random_state"] is None
    assert document["parameters"]["ledger"] is None
    assert again.ledger is None
    assert again.random_state is None
    assert again.certificate_.seeded


@pytest.mark.parametrize("kind", CLASSES)
def test_events_hold_plain_values(kind):
    settings = {"max_depth": np.int64(2), "max_bins": np.int64(4)}
    if kind is not hr.PFDPDTClassifier:
        settings["n_estimators"] = np.int64(3)
    event = kind(schema=SCHEMA, **settings).fit(X, Y).certificate_.event
    json.dumps(event_to_dict(event))  # numpy's numbers would not pass


@pytest.mark.parametrize(
    "labels",
    [
        None,
        5,
        "y",
        np.zeros((200, 2)),
        pd.DataFrame({"a": Y, "b": Y}),
        pl.DataFrame({"a": Y, "b": Y}),
        Y[:-1],
        np.float64(1),
        {"y", "x"},
        (label for label in Y),
    ],
    ids=lambda labels: type(labels).__name__,
)
@pytest.mark.parametrize("kind", CLASSES)
def test_labels_of_a_wrong_shape_are_refused_before_anything_is_booked(kind, labels):
    ledger = hr.Ledger(1.0)
    model = kind(schema=SCHEMA, ledger=ledger)
    with pytest.raises(hr.ConfigurationError):
        model.fit(X, labels)
    assert ledger.entries == ()
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("labels", [list(Y), tuple(Y), Y[:, None], pd.Series(Y), pd.DataFrame({"y": Y}), pl.Series(Y)])
def test_labels_of_any_table_are_one_column(labels):
    reference = hr.PFDPDTClassifier(schema=SCHEMA, random_state=1).fit(X, Y).predict_proba(X)
    assert np.array_equal(hr.PFDPDTClassifier(schema=SCHEMA, random_state=1).fit(X, labels).predict_proba(X), reference)


@pytest.mark.parametrize("name", ["epsilon", "schema", "adjacency", "random_state", "ledger"])
@pytest.mark.parametrize("kind", CLASSES)
def test_common_parameters_are_refused_in_the_common_sentence(kind, name):
    with pytest.raises(hr.ConfigurationError, match=f"^{name} is .*, but it must be .*\\.$"):
        kind(**{"schema": SCHEMA, name: [1]}).fit(X, Y)


def test_importances_of_a_drawn_tree():
    # 0 tests feature 0 with children 1 to 3; 2 tests feature 1 with children 4 and 5; 6 is a tree of one leaf.
    roots, feature = np.array([0, 6], dtype=np.int32), np.array([0, -1, 1, -1, -1, -1, -1], dtype=np.int32)
    first_child = np.array([1, 0, 4, 0, 0, 0, 0], dtype=np.int32)
    assert importances(roots, feature, first_child, 3) == pytest.approx([3 / 4, 1 / 4, 0])


def test_importances_of_trees_that_test_nothing_are_zero():
    found = importances(np.array([0], dtype=np.int32), np.array([-1], dtype=np.int32), np.zeros(1, dtype=np.int32), 2)
    assert found.tolist() == [0, 0]
    assert hr.PFDPDTClassifier(schema=SCHEMA, max_depth=0).fit(X, Y).feature_importances_.tolist() == [0, 0, 0]


def slow_importances(forest, n_features):
    sums = np.zeros(n_features)

    def walk(node, weight):
        test = forest.test[node]
        if test >= 0:
            sums[forest.candidates.feature[test]] += weight
            arity = forest.candidates.arity[test]
            for branch in range(arity):
                walk(forest.first_child[node] + branch, weight / arity)

    for root in forest.roots:
        walk(root, 1.0)
    return sums / sums.sum()


@pytest.mark.parametrize("kind", [hr.EDPRFClassifier, ForestClassifier])
@pytest.mark.parametrize("seed", range(3))
def test_importances_are_those_of_a_walk_through_the_trees(kind, seed):
    model = kind(100, schema=SCHEMA, n_estimators=4, max_depth=3, stop="noisy-minority", random_state=seed).fit(X, Y)
    assert model.feature_importances_ == pytest.approx(slow_importances(model.model_.forest, 3))


@pytest.mark.parametrize(
    "model",
    [kind(epsilon=100, schema=SCHEMA, max_depth=2) for kind in CLASSES]
    + [kind(epsilon=100, schema=SCHEMA, max_depth=2, variant="published") for kind in SYSTEMS],
)
def test_importances_are_shares_that_find_the_feature_that_decides(model, tmp_path):
    found = model.fit(X, Y).feature_importances_
    assert found.shape == (3,)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert found.argmax() == 0


def test_importances_survive_a_file(tmp_path):
    model = hr.EDPRFClassifier(schema=SCHEMA).fit(X, Y)
    _, again = saved(model, tmp_path)
    assert np.array_equal(again.feature_importances_, model.feature_importances_)


DICTS = X.to_dict("records")
MOMENTS = X.assign(a=pd.to_datetime("2024-01-01"))
LISTS = {"a": [[0.1]] * 200, "b": X["b"], "c": X["c"]}
MATRIX = np.full((200, 3), "2024-01-01", dtype="M8[D]")
LAZY = partial(lambda: pl.from_pandas(X).lazy()), partial(pl.DataFrame, LISTS)  # made in the test: they start threads
NO_RECORDS = [DICTS, LAZY[0], iter(X.to_numpy()), MOMENTS, LAZY[1], MATRIX]
LABELS = [np.zeros(200), pd.Series(Y == "y"), pl.Series([1] * 200), pd.Series(MOMENTS["a"]).dt.to_period("D")]


@pytest.mark.parametrize(("X", "y"), [*((given, Y) for given in NO_RECORDS), *((X, given) for given in LABELS)])
@pytest.mark.parametrize("variant", ["private", "published"])
def test_containers_and_types_that_cannot_be_right_are_refused_before_anything_is_booked(X, y, variant):
    X = X() if isinstance(X, partial) else X
    ledger = hr.Ledger(epsilon=1)
    for kind in (hr.EDPRFClassifier, hr.DPAdaBoostClassifier):
        model = kind(schema=SCHEMA, ledger=ledger, variant=variant)
        with pytest.raises(hr.ConfigurationError):
            model.fit(X, y)
        assert not hasattr(model, "classes_")
    with pytest.raises(hr.ConfigurationError):
        hr.HedgerowClassifier(schema=SCHEMA, ledger=ledger).fit(X, y)
    with pytest.raises(hr.ConfigurationError):
        hr.Curator(X, y, SCHEMA, 1.0, ledger=ledger)
    assert ledger.spent == 0
    assert ledger.entries == ()


@pytest.mark.parametrize("given", NO_RECORDS)
@pytest.mark.parametrize("variant", ["private", "published"])
def test_no_method_answers_for_them_either(given, variant):
    classes = (hr.EDPRFClassifier, hr.DPAdaBoostClassifier)
    models = [kind(schema=SCHEMA, variant=variant).fit(X, Y) for kind in classes]
    if variant == "private":
        models.append(hr.HedgerowClassifier(epsilon=100, schema=SCHEMA).fit(X, Y))
        models.append(hr.DiffGenClassifier(schema=SCHEMA).fit(X, Y))
    names = ("predict", "predict_proba", "decision_function", "generalize", "transform")
    for method in (getattr(model, name) for model in models for name in names if hasattr(model, name)):
        with pytest.raises(hr.ConfigurationError):
            method(given)


class Shaded(hr.EDPRFClassifier):
    """A user's class with a parameter of its own."""

    shade: int = parameter(WholeNumber(0, 9), default=0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hr.EDPRFClassifier(shema=SCHEMA), "EDPRFClassifier.*'shema'"),
        (lambda: Shaded(shad=1), "Shaded.*'shad'"),
        (lambda: hr.EDPRFClassifier(class_weight="balanced"), "EDPRFClassifier.*'class_weight'"),
        (lambda: hr.HedgerowRegressor().fit(X, Y, exposure=[1]), "fit.*'exposure'"),
    ],
)
def test_an_unknown_keyword_is_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_a_users_class_declares_parameters_as_fields():
    assert clone(Shaded(2.0, shade=1, max_depth=3)).get_params()["shade"] == 1
    with pytest.raises(hr.ConfigurationError, match="shade is 10, but it must be an integer from 0 to 9"):
        Shaded(shade=10, schema=SCHEMA).fit(X, Y)


def test_signatures_hide_nothing():
    assert list(inspect.signature(hr.HedgerowClassifier.fit).parameters) == ["self", "X", "y", "groups"]
    assert "max_depth" in inspect.signature(hr.PFDPDTClassifier).parameters
    assert not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(hr.PFDPDTClassifier).parameters.values())
    assert not has_fit_parameter(hr.EDPRFClassifier(), "sample_weight")


@pytest.mark.parametrize(("delta", "warns"), [(0, False), (9e-4, False), (1e-3, True), (0.999999, True)])
def test_a_large_delta_is_warned_of_before_anything_is_booked(delta, warns):
    with pytest.warns(UserWarning, match="delta is 0.9"):
        ledger = hr.Ledger(2, 0.9999999)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hr.DPAdaBoostClassifier(schema=SCHEMA, delta=delta, ledger=ledger).fit(X, Y)
    assert [(str(w.message).split(",")[0], w.filename) for w in caught if "no released" not in str(w.message)] == [
        (f"delta is {delta}", __file__)
    ] * warns
    with pytest.raises(UserWarning) if warns else nullcontext():  # in tests warnings are errors
        hr.DPAdaBoostClassifier(schema=SCHEMA, delta=delta, ledger=ledger).fit(X, Y)
    assert len(ledger.entries) == 1 + (not warns)


COINS_OF_FILES = {
    "fewer": lambda coins: coins[:-1],
    "more": lambda coins: sorted({*coins, *range(1, 21)}),
    "twice": lambda coins: [*coins, coins[-1]],
    "out of order": lambda coins: coins[::-1],
    "round 0": lambda coins: [0, *coins[1:]],
    "a round too many": lambda coins: [*coins[:-1], 21],
    "no numbers": lambda coins: [str(coin) for coin in coins],
    "no list": lambda coins: 3,
}


@pytest.mark.parametrize("change", COINS_OF_FILES)
def test_public_coins_that_no_fit_with_the_certificate_had_are_refused(change, tmp_path):
    model = hr.DPAdaClassifier(
        epsilon=5.0, schema=COINS_SCHEMA, schedule="random", n_estimators=20, random_state=3
    ).fit(COINS_X, COINS_Y)
    model.save(tmp_path / "m")
    document, arrays = contents_of(tmp_path / "m")
    assert len(document["coins"]) > 3
    write_archive(tmp_path / "same", document, arrays)
    assert np.array_equal(hr.load(tmp_path / "same").predict_proba(COINS_X), model.predict_proba(COINS_X))
    coins = COINS_OF_FILES[change](document["coins"])
    write_archive(tmp_path / "other", {**document, "coins": coins}, arrays)
    with pytest.raises(FileFormatError):
        hr.load(tmp_path / "other")


def test_public_coins_of_a_system_that_draws_none_are_refused(tmp_path):
    hr.EDPRFClassifier(epsilon=5.0, schema=COINS_SCHEMA).fit(COINS_X, COINS_Y).save(tmp_path / "m")
    document, arrays = contents_of(tmp_path / "m")
    assert document["coins"] == []
    write_archive(tmp_path / "other", {**document, "coins": [2]}, arrays)
    with pytest.raises(FileFormatError):
        hr.load(tmp_path / "other")


def test_a_certificate_of_the_other_form_is_refused(tmp_path):
    hr.EDPRFClassifier(epsilon=5.0, schema=COINS_SCHEMA).fit(COINS_X, COINS_Y).save(tmp_path / "m")
    document, arrays = contents_of(tmp_path / "m")
    document["certificate"]["variant"] = "published"
    write_archive(tmp_path / "other", document, arrays)
    with pytest.raises(FileFormatError, match="published form"):
        hr.load(tmp_path / "other")


COINS_SCHEMA = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["no", "yes"])
COINS_X, COINS_Y = {"a": ["x", "y"] * 30}, ["no", "yes"] * 30


def contents_of(path):
    document, arrays = read_archive(path)
    return dict(document), {name: arrays[name] for name in arrays}
