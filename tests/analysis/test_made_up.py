"""Bins of report cards follow from the released model alone, and suit it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import select_by_cell
from products import thinned

import hedgerow as hr
from hedgerow.analysis import classification_card
from hedgerow.analysis.card import RECORDS, cut_points, made_up_answers
from hedgerow.analysis.classification_card import ScoreGrid, usual_bins
from hedgerow.analysis.evaluation import evaluate
from hedgerow.analysis.regression_card import PREDICTIONS

pytestmark = pytest.mark.filterwarnings("ignore:no released count", "ignore:the noisy number of records")

FEATURES = {"a": hr.Numeric(0, 100), "b": hr.Categorical(["x", "y", "z"]), "c": hr.Numeric(-1, 1)}
CLASSES = {2: ["no", "yes"], 3: ["a", "b", "c"]}
SYSTEMS = [info for info in hr.list_systems() if info.name != "diffgen"]


def sample(size, seed, n_classes=2):
    rng = np.random.default_rng(seed)
    X = {
        "a": rng.exponential(8, size).clip(0, 100),  # most are in a tenth of the range
        "b": rng.choice(["x", "y"], size, p=[0.9, 0.1]),
        "c": rng.uniform(-1, 1, size),
    }
    score = X["a"] / 8 + 2 * (X["b"] == "y") + rng.logistic(0, 0.3, size)
    return X, score, np.array(CLASSES[n_classes])[np.digitize(score, [1.5, 3][: n_classes - 1])]


def fitted(name="hedgerow", n_classes=2, **settings):
    schema = hr.Schema(FEATURES, classes=CLASSES[n_classes])
    kind = getattr(hr, next(info.class_name for info in SYSTEMS if info.name == name))
    X, _, y = sample(4000, 0, n_classes)
    return kind(epsilon=3, schema=schema, random_state=0, **settings).fit(X, y)


@pytest.mark.parametrize("bins", [2, 3, 16, 64])
@pytest.mark.parametrize("values", [np.zeros(100), np.ones(100), np.linspace(0.2, 0.3, 100), np.repeat([0.1, 0.9], 50)])
def test_cut_points_are_inside_ascending_and_as_few_as_said(values, bins):
    cuts = cut_points(values, bins, 0.0, 1.0, [0.5])
    assert 0.5 in cuts
    assert len(cuts) < bins
    assert all(0 < cut < 1 for cut in cuts)
    assert list(cuts) == sorted(set(cuts))


def test_cut_points_are_at_quantiles_and_between_the_values():
    values = np.random.default_rng(0).beta(1, 9, 5000)
    cuts = np.array(cut_points(values, 20, 0.0, 1.0, even=0.0))
    shares = np.diff(np.searchsorted(np.sort(values), [0, *cuts, 1])) / 5000
    np.testing.assert_allclose(shares, 1 / 20, atol=0.001)
    assert not np.isin(cuts, values).any()
    assert cut_points(np.repeat([0.1, 0.9], 50), 8, 0.0, 1.0, even=0.0) == (0.5,)
    wide = np.diff([0, *cut_points(values, 20, 0.0, 1.0), 1])
    assert wide.max() < 0.3 < np.diff([0, *cuts, 1]).max()  # where made-up records have no score


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("info", thinned(SYSTEMS, 3), ids=lambda info: info.name)
def test_every_system_has_bins_and_a_file_the_same(info, tmp_path):
    model = fitted(info.name)
    X, _, y = sample(500, 1)
    probabilities = made_up_answers(model.model_)
    assert probabilities.shape == (RECORDS, 2)
    card = evaluate(model, X, y, epsilon=1, random_state=0)
    model.save(tmp_path / "m.hedgerow")
    again = evaluate(hr.load(tmp_path / "m.hedgerow"), X, y, epsilon=1, random_state=0)
    assert again.grid == card.grid
    assert np.array_equal(again.counts, card.counts)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bins_hold_shares_of_the_records_by_what_the_model_released(n_classes):
    """Even in a range that is far too wide, where values that are drawn evenly would be beyond nearly all records."""
    model = fitted(n_classes=n_classes)
    assert model.model_.code_shares()[0].max() < 0.4
    card = evaluate(
        model, sample(20_000, 1, n_classes)[0], sample(20_000, 1, n_classes)[2], epsilon=1e6, random_state=0, bins=24
    )
    for k in card.grid.cuts:
        assert len(k) >= 12
    records = sum(card.grid.curve(card.counts, 1))
    assert records.max() < 0.3 * records.sum()


def test_shares_follow_whole_terms_before_cells_that_have_features_of_their_own(monkeypatch):
    select_by_cell(monkeypatch)
    model = fitted()
    inner = model.model_
    several = [term for term in inner.terms if len(set(term.feature.tolist())) > 1]
    assert several
    whole = {int(t.feature[0]): t for t in reversed(inner.terms) if len(set(t.feature.tolist())) == 1}
    shares = inner.code_shares()
    for feature, share in enumerate(shares):
        assert len(share) == inner.encoder.n_codes[feature]
        assert share.sum() == pytest.approx(1)
        if feature in whole:
            mass = whole[feature].mass.sum(axis=0)
            np.testing.assert_allclose(share, mass / mass.sum())
    X, _, y = sample(500, 1)
    evaluate(model, X, y, epsilon=1, random_state=0)
    term, *_ = several
    apart = replace(inner, terms=(term,))  # no other term says anything of its features
    for feature in set(term.feature.tolist()):
        mass = term.mass[term.feature == feature].sum(axis=0)[: inner.encoder.n_codes[feature]]
        np.testing.assert_allclose(apart.code_shares()[feature], mass / mass.sum())


def test_the_interval_is_narrower_than_with_bins_of_equal_width_and_holds(monkeypatch):
    model = fitted()
    X, _, y = sample(1000, 2)
    found = {}
    old = ScoreGrid.from_dict({"classes": CLASSES[2], "bins": 64})
    for name in ("quantiles", "equal"):
        with monkeypatch.context() as patch:
            if name == "equal":
                patch.setattr(classification_card.ScoreGrid, "of", classmethod(lambda *_: old))
            cards = [evaluate(model, X, y, epsilon=0.5, random_state=seed) for seed in range(20)]
        ends = np.array([card.interval("roc_auc", sampling=False) for card in cards])
        found[name] = np.median(ends[:, 1] - ends[:, 0])
    exact = evaluate(model, X, y, epsilon=1e6, bins=512, random_state=0).roc_auc
    assert found["quantiles"] < 0.75 * found["equal"]
    assert found["quantiles"] < 0.3 < exact


def test_more_noise_has_fewer_bins():
    deviations = np.sqrt(2) / np.array([100, 2, 1, 0.5, 0.25, 0.01])
    assert [usual_bins(deviation) for deviation in deviations] == [64, 38, 24, 16, 10, 8]


def test_bins_of_predictions_lie_where_the_model_predicts():
    schema = hr.Schema(FEATURES, outcome=hr.Numeric(0, 10_000))
    X, score, _ = sample(4000, 0)
    model = hr.HedgerowRegressor(epsilon=3, schema=schema, random_state=0).fit(X, 10 * score)
    card = evaluate(model, X, 10 * score, epsilon=1, random_state=0)
    ends = card.grid.predictions
    predictions = model.predict(X)
    assert len(ends) == PREDICTIONS + 1
    assert ends[0] <= predictions.min()
    assert predictions.max() <= ends[-1] < 2000
    rows = np.bincount(card.grid.prediction_bins(predictions), minlength=PREDICTIONS)
    assert rows.max() < 0.6 * len(predictions)
    assert not card.grid.possible[:, 0].any()  # no residual is as far below zero as the range is wide
