"""Public weights of classes: post-processing of what was released, so that the decision moves and nothing else does."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import hedgerow as hr
from hedgerow.additive.losses import Logistic
from hedgerow.additive.monotone import holds
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.export import Softmax
from hedgerow.export.archive import read_archive, write_archive
from hedgerow.parameters import UNIT, VOTE_STEPS, class_weights

BOTH = [hr.HedgerowClassifier, hr.ForestClassifier]
FORESTS = [
    {},
    {"n_estimators": 3},
    {"n_estimators": 5, "voting": "hard"},
    {"bins": "equal-width", "candidates": "multiway"},
]


def records(count=3000, classes=(0, 1), seed=0):
    generator = np.random.default_rng(seed)
    X = pd.DataFrame(generator.uniform(0, 1, (count, 3)), columns=list("abc"))
    odds = 4 * X["a"] + 3 * (X["b"] > 0.6) + generator.logistic(size=count)
    y = np.digitize(odds, np.quantile(odds, [0.8, 0.9, 0.95][: len(classes) - 1]))
    return X, np.array(classes)[y]


def schema(classes=(0, 1)):
    return hr.Schema({name: hr.Numeric(0, 1) for name in "abc"}, classes=list(classes))


def fitted(kind, weights, classes=(0, 1), **given):
    return kind(1.0, schema=schema(classes), random_state=3, class_weight=weights, **given).fit(
        *records(classes=classes)
    )


TEST = records(2000, seed=9)[0]


TENTHS = st.sampled_from([8, 5])  # of this version's cap, and of the one that some files of version 0.2 hold


def calibrated(p, cap):
    """Return what a model whose softmax is ``p`` says under a cap, in units."""
    return Softmax(1, cap / UNIT)(np.log(p))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-6, 1), min_size=2, max_size=5), TENTHS)
def test_margins_are_even_where_weighted_shares_are(weights, tenths):
    weights, loss = np.array(weights) / max(weights), Logistic(len(weights), normal=True, tenths=tenths)
    margins = -loss.weighted(weights)
    weighed = loss.exported(np.append(np.zeros(int(len(weights) == 2)), margins)[None])[0] * weights
    assert weighed == pytest.approx(np.full(len(weights), weighed.mean()), rel=4 / VOTE_STEPS)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-4, 1), TENTHS)
def test_moved_odds_of_two_classes_are_the_weighted_ones_but_for_the_cap(weight, tenths):
    loss, margins = Logistic(2, normal=True, tenths=tenths), np.linspace(-12, 12, 4001)
    moved = margins + loss.weighted(np.array([weight, 1.0])) / VOTE_STEPS
    found, usual = (
        calibrated(np.stack([1 / (1 + np.exp(m)), 1 / (1 + np.exp(-m))], axis=1), loss.cap) for m in (moved, margins)
    )
    apart = np.log(found[:, 1] / found[:, 0]) - np.log(usual[:, 1] / usual[:, 0] / weight)
    assert np.abs(apart).max() <= np.log(UNIT / loss.cap) + 4 / VOTE_STEPS


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [(0, 1), ("x", "y", "z")])
def test_margins_of_a_hedgerow_move_by_a_public_constant_and_nothing_else_does(classes, delta):
    weights = dict(zip(classes, (0.5, 4, 9), strict=False))
    plain, weighed = (fitted(hr.HedgerowClassifier, one, classes, delta=delta) for one in (None, weights))
    moved = plain.model_.loss.weighted(np.array(class_weights(weights, schema(classes)))) / VOTE_STEPS
    assert np.array_equal(weighed.model_.start, plain.model_.start + moved * VOTE_STEPS)
    moved = moved[0] if len(classes) == 2 else moved
    said, before = weighed.decision_function(TEST), plain.decision_function(TEST)
    assert np.array_equal(said, before + moved)
    assert weighed.certificate_.event == plain.certificate_.event
    assert len(weighed.model_.terms) == len(plain.model_.terms)
    for one, other in zip(weighed.model_.terms, plain.model_.terms, strict=True):
        assert one.key == other.key
        assert np.array_equal(one.sums, other.sums)
        assert np.array_equal(one.votes, other.votes)
    assert np.array_equal(weighed.feature_importances_, plain.feature_importances_)
    explained, usual = weighed.explain(TEST), plain.explain(TEST)
    assert np.array_equal(explained.contributions, usual.contributions)
    assert np.array_equal(explained.deviation, usual.deviation)
    assert explained.baseline == pytest.approx(usual.baseline + moved, abs=1e-12)
    if len(classes) == 2:
        clear = np.abs(said) > 1 / VOTE_STEPS
        assert clear.mean() > 0.9
        by_hand = (plain.predict_proba(TEST) * [0.5, 4]).argmax(axis=1)
        assert np.array_equal(weighed.predict(TEST)[clear], by_hand[clear])
        assert weighed.predict(TEST).sum() > 1.3 * plain.predict(TEST).sum()


@pytest.mark.parametrize("given", FORESTS, ids=str)
def test_leaves_of_a_forest_say_the_shares_of_weighted_counts(given):
    plain, weighed = (fitted(hr.ForestClassifier, one, **given) for one in (None, {1: 6}))
    assert np.array_equal(weighed.model_.forest.counts, plain.model_.forest.counts)
    assert np.array_equal(weighed.model_.forest.test, plain.model_.forest.test)
    assert weighed.certificate_.event == plain.certificate_.event
    soft = {**given, "voting": "soft"}
    leaf = plain.model_.forest.test < 0
    share = fitted(hr.ForestClassifier, None, **soft).model_.votes[leaf] * [1, 6.0]
    share /= share.sum(axis=1, keepdims=True)
    assert np.array_equal(weighed.model_.forest.label[leaf], share.argmax(axis=1))
    if weighed.voting == "soft":
        votes = weighed.model_.votes[leaf]
        assert votes / votes.sum(axis=1, keepdims=True) == pytest.approx(share, abs=1e-12)
    explained = weighed.explain(TEST)
    assert explained.baseline + explained.contributions.sum(axis=1) == pytest.approx(weighed.predict_proba(TEST)[:, 1])
    assert weighed.predict(TEST).sum() > 1.3 * plain.predict(TEST).sum()


@pytest.mark.parametrize("kind", BOTH)
def test_only_ratios_matter_and_classes_are_named_as_labels_are(kind):
    expected = fitted(kind, {1: 3}).predict_proba(TEST)
    for weights in ({0: 2, 1: 6}, {"1": 3.0}, {np.int64(1): np.float32(3)}, {0: 1e-300, 1: 3e-300}):
        assert np.array_equal(fitted(kind, weights).predict_proba(TEST), expected), weights
    for weights in ({}, {0: 7, 1: 7}, {1: 1}):
        assert np.array_equal(fitted(kind, weights).predict_proba(TEST), fitted(kind, None).predict_proba(TEST)), (
            weights
        )


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("balanced", "'balanced' would read how many records each class has off the records themselves"),
        ([1, 2], "a dict of classes to positive numbers"),
        *(({1: weight}, "positive numbers") for weight in (0, -1, np.inf, np.nan, True, "3", None, 10**400)),
        ({(1,): 2}, "a dict of classes"),
        ({2: 3}, "class_weight names 2, which is no class; name some of 0, 1"),
        ({1: 3, "1": 4}, "names the class 1 twice"),
    ],
)
def test_other_weights_are_refused_before_anything_is_booked(kind, weights, words):
    ledger = hr.Ledger(10)
    with pytest.raises(ConfigurationError, match=words) as caught:
        kind(schema=schema(), class_weight=weights, ledger=ledger).fit(*records(50))
    assert str(caught.value).count(". ") == 0
    assert ledger.entries == ()


def test_weights_of_records_are_refused_and_so_are_leaves_without_counts():
    for kind in BOTH:
        with pytest.raises(TypeError, match="sample_weight"):
            kind(schema=schema()).fit(*records(50), sample_weight=[1] * 50)
    with pytest.raises(ConfigurationError, match="leaves that release a label have none"):
        fitted(hr.ForestClassifier, {1: 3}, leaf="label", voting="hard")
    fitted(hr.ForestClassifier, {1: 1}, leaf="label", voting="hard")


@pytest.mark.parametrize("kind", BOTH)
def test_blocks_of_records_and_curators_take_weights_too(kind):
    X, y = records()
    frame, model = X.assign(y=y), kind(1.0, schema=schema().replace(target="y"), random_state=3, class_weight={1: 3})
    expected = clone(model).fit(X, y).predict_proba(TEST)
    blocks = hr.Records.from_batches([frame[start : start + 700] for start in range(0, 3000, 700)])
    assert np.array_equal(clone(model).fit(blocks).predict_proba(TEST), expected)
    two = [
        kind(1.0, class_weight=one).fit_curator(hr.Curator(X, y, schema(), epsilon=1, max_bins=255, random_state=1))
        for one in (None, {1: 3})
    ]
    assert two[1].predict(TEST).sum() > two[0].predict(TEST).sum()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "classes", [(0, 1), *(pytest.param(c, marks=pytest.mark.full) for c in (("no", "yes"), (False, True)))]
)
def test_weights_are_kept_and_checked_by_files_and_hold_outside(kind, classes, tmp_path):
    model = fitted(kind, {classes[1]: 3.5}, classes)
    expected = model.predict_proba(TEST)
    model.save(tmp_path / "m.hedgerow")
    again = hr.load(tmp_path / "m.hedgerow")
    assert np.array_equal(again.predict_proba(TEST), expected)
    assert list(again.class_weight.values()) == [3.5]
    again.save(tmp_path / "again.hedgerow")
    assert np.array_equal(hr.load(tmp_path / "again.hedgerow").predict_proba(TEST), expected)
    document, arrays = read_archive(tmp_path / "m.hedgerow")
    document = json.loads(json.dumps(document))
    document["parameters"]["class_weight"] = {"other": 3.5}
    write_archive(tmp_path / "other.hedgerow", document, dict(arrays))
    with pytest.raises(FileFormatError):
        hr.load(tmp_path / "other.hedgerow")
    database = sqlite3.connect(":memory:")
    TEST.assign(key=range(len(TEST))).to_sql("people", database, index=False)
    rows = pd.read_sql(model.to_sql("people", "sqlite", keep=["key"]), database).sort_values("key")
    assert rows.filter(like="probability").to_numpy() == pytest.approx(expected, abs=1e-9)
    assert np.array_equal(rows["label"].to_numpy().astype(model.classes_.dtype), model.predict(TEST))


def test_curves_go_as_they_may_whatever_classes_weigh():
    model = fitted(hr.HedgerowClassifier, {1: 5}, monotonic_cst={"a": 1}).model_
    assert holds(model.terms, model.signs)
    assert any(model.signs)
