"""Report cards: one cell for a record, figures beside the raw ones, intervals that cover, and bookings."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from analysis_helpers import check_slopes
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

import hedgerow as hr
from hedgerow.analysis.card import MOST_BINS
from hedgerow.analysis.evaluation import evaluate
from hedgerow.analysis.release import private_schema
from hedgerow.mechanisms import Geometric, Randomness
from hedgerow.privacy.accounting import cost

matplotlib.use("Agg")

TWO = hr.Schema({"a": hr.Numeric(-3, 3), "b": hr.Numeric(-3, 3)}, classes=["no", "yes"], target="ill")
THREE = hr.Schema({"a": hr.Numeric(-3, 3), "b": hr.Numeric(-3, 3)}, classes=[1, 2, 3], target="kind")
FIGURES = hr.ReportCard.FIGURES


def sample(schema, size, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    score = X @ [1.5, -1] + rng.logistic(size=size)
    place = (score > 0.8).astype(int) if len(schema.classes) == 2 else np.digitize(score, [-1, 1])
    return X, np.array(schema.classes)[place]


def fitted(schema):
    return hr.HedgerowClassifier(epsilon=3, schema=schema, random_state=0).fit(*sample(schema, 3000, 0))


class Models(dict):
    """Models by their numbers of classes, each fitted when it is first asked for."""

    def __missing__(self, n_classes):
        self[n_classes] = fitted({2: TWO, 3: THREE}[n_classes])
        return self[n_classes]


MODELS = Models()


def raw(model, X, y):
    """The figures of these very records, as scikit-learn has them."""
    p, classes = model.predict_proba(X), list(model.schema_.classes)
    truth = np.array([classes.index(label) for label in y.tolist()])
    hot = np.eye(len(classes))[truth]
    if len(classes) == 2:
        auc, brier = roc_auc_score(truth, p[:, 1]), brier_score_loss(truth, p[:, 1])
    else:
        auc, brier = (
            np.mean([roc_auc_score(hot[:, k], p[:, k]) for k in range(len(classes))]),
            ((p - hot) ** 2).sum(axis=1).mean(),
        )
    predicted, average = p.argmax(axis=1), "binary" if len(classes) == 2 else "macro"
    shares = {name: score(truth, predicted, average=average) for name, score in SHARES.items()}
    return {"accuracy": accuracy_score(truth, predicted), **shares, "roc_auc": auc, "brier_score": brier}


SHARES = {"recall": recall_score, "precision": precision_score}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_figures_are_near_the_raw_ones(n_classes):
    model = MODELS[n_classes]
    X, y = sample(model.schema_, 4000, 1)
    card, truth = evaluate(model, X, y, epsilon=1000, random_state=0), raw(model, X, y)
    for name in FIGURES:
        assert card.figure(name).value == pytest.approx(truth[name], abs=0.004)
        low, high = card.interval(name, sampling=False)
        assert low <= truth[name] <= high
    assert np.array_equal(card.confusion_matrix, confusion_matrix(y, model.predict(X), labels=list(card.classes)))
    assert card.records == 4000
    label = card.classes[-1]
    fpr, tpr, _ = roc_curve(y == label, model.predict_proba(X)[:, -1])
    curve = card.roc_curve(label)
    assert np.abs(np.interp(curve.x, fpr, tpr) - curve.y).max() < 0.03
    bins = card.calibration(label)
    assert bins.records.sum() == pytest.approx(4000, rel=0.02)
    assert np.average(bins.observed, weights=bins.records) == pytest.approx((y == label).mean(), abs=0.01)


def coverage(model, cards, truths, sampling, deviation=1.0):
    """How many of the cards' intervals cover; ``deviation`` plants a wrong one."""
    found = dict.fromkeys(FIGURES, 0)
    for card, truth in zip(cards, truths, strict=True):
        planted = replace(card, deviation=card.deviation * deviation)
        for name in FIGURES:
            low, high = planted.interval(name, sampling=sampling)
            found[name] += low <= truth[name] <= high
    return found


RUNS = 400
LEAST = 0.95 * RUNS - 2 * math.sqrt(RUNS * 0.95 * 0.05)


def test_a_few_intervals_cover_and_half_as_wide_ones_do_not():
    model, runs = MODELS[2], 30
    X, y = sample(TWO, 500, 2)
    cards = [evaluate(model, X, y, epsilon=0.5, random_state=seed) for seed in range(runs)]
    truths = [raw(model, X, y)] * runs
    assert min(coverage(model, cards, truths, sampling=False).values()) >= 26
    assert coverage(model, cards, truths, sampling=False, deviation=0.5)["accuracy"] < 26


def widths_over_deviations(cards, name, deviation=1.0):
    """How many deviations of the figure over cards half of an interval is; ``deviation`` plants a wrong noise."""
    half = []
    for card in cards[:8]:  # their widths are nearly the same
        planted = replace(card, deviation=card.deviation * deviation)
        low, high = planted.interval(name, sampling=False)
        figure = planted.figure(name)  # what bins leave open is no noise
        half.append((high - low - (figure.high - figure.low)) / 2)
    return float(np.mean(half) / np.std([card.figure(name).value for card in cards]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_interval_is_as_wide_as_its_figure_varies_over_cards(n_classes):
    """Of each figure: 1.96 deviations, nearly; an interval from seven tenths of the noise is told from it."""
    model = MODELS[n_classes]
    X, y = sample(model.schema_, 4000, 2)
    cards = [evaluate(model, X, y, epsilon=0.5, random_state=seed) for seed in range(100)]
    for name in FIGURES:
        check_slopes(cards[0], name)
        assert 1.65 < widths_over_deviations(cards, name) < 2.5, name
        assert widths_over_deviations(cards, name, 0.7) < 1.65, name


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_of_noise_cover_the_raw_figures(n_classes):
    model = MODELS[n_classes]
    X, y = sample(model.schema_, 1500, 2)
    truth = raw(model, X, y)
    cards = [evaluate(model, X, y, epsilon=0.5, random_state=seed) for seed in range(RUNS)]
    found = coverage(model, cards, [truth] * RUNS, sampling=False)
    assert min(found.values()) >= LEAST
    assert (
        coverage(model, cards, [truth] * RUNS, sampling=False, deviation=0.5)["accuracy"] < LEAST
    )  # half the noise is seen
    widths = [np.subtract(*card.interval("accuracy", sampling=False)[::-1]) for card in cards]
    assert np.mean(widths) < 5 * np.std([card.accuracy for card in cards])


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_full_intervals_cover_the_figures_of_the_population(n_classes):
    model = MODELS[n_classes]
    truth = raw(model, *sample(model.schema_, 200_000, 3))
    cards = []
    for seed in range(RUNS):
        X, y = sample(model.schema_, 1000, 1000 + seed)
        cards.append(evaluate(model, X, y, epsilon=2, random_state=seed))
    assert min(coverage(model, cards, [truth] * RUNS, sampling=True).values()) >= LEAST
    noise_alone = coverage(model, cards, [truth] * RUNS, sampling=False)
    assert noise_alone["accuracy"] < LEAST  # sampling is not nothing


def test_where_nothing_stands_out_the_interval_is_everything():
    model = MODELS[2]
    X, y = sample(TWO, 20, 4)
    card = evaluate(model, X, y, epsilon=0.05, random_state=0)
    assert card.interval("accuracy") == (0.0, 1.0)
    card = evaluate(model, X[:0].tolist() or [[None, None]], [None], epsilon=1, random_state=0)
    assert card.interval("roc_auc") == (0.0, 1.0)
    assert str(card)
    assert json.dumps(card.to_dict(), allow_nan=False)


def test_noise_for_fewer_cells_is_refused(monkeypatch):
    """The curator refuses a planted bug: noise for one cell where a record of three classes is in four."""
    monkeypatch.setattr("hedgerow.mechanisms.noise.Budget.noise", lambda self, cells=1: Geometric(self.amount, 1))
    with pytest.raises(hr.ConfigurationError, match="in 4 counts"):
        evaluate(MODELS[3], *sample(THREE, 50, 5), epsilon=1, random_state=0)


def test_cards_follow_from_noisy_counts_alone(monkeypatch):
    class Scripted(Randomness):
        def draw(self, mechanism, *statistics):
            return np.random.default_rng(self._number()).integers(0, 90, np.shape(statistics[0]))

    monkeypatch.setattr("hedgerow.curator.given.Randomness", Scripted)
    one = evaluate(MODELS[2], *sample(TWO, 60, 6), epsilon=1, random_state=0)
    other = evaluate(MODELS[2], *sample(TWO, 999, 7), epsilon=1, random_state=0)
    assert one.to_dict() == other.to_dict()
    computed = {"_bounded_by_level"}  # from the others
    assert vars(one).keys() - computed == {"classes", "grid", "counts", "deviation", "certificate_", "model_unit"}


def test_a_report_card_spends_nearly_all_of_its_claim_and_its_certificate_says_so():
    X, y = sample(THREE, 200, 8)
    card = evaluate(MODELS[3], X, y, epsilon=0.3)
    certificate = card.certificate_
    assert certificate.holds
    assert certificate.spent <= Fraction(3, 10)
    assert certificate.spent > Fraction(2999, 10_000)
    assert "other records than those of the fit" in certificate.details()
    assert hr.Certificate.from_dict(certificate.to_dict()) == certificate
    assert card.deviation == pytest.approx(4 * math.sqrt(2) / 0.3)
    half = evaluate(MODELS[3], X, y, epsilon=0.3, adjacency="replace-one")
    assert half.certificate_.holds
    assert half.certificate_.spent <= Fraction(3, 10)
    assert half.deviation == pytest.approx(2 * card.deviation)
    normal = evaluate(MODELS[3], X, y, epsilon=0.3, delta=1e-6)
    assert normal.certificate_.holds
    assert cost(normal.certificate_.event).mu_squared > 0
    assert normal.certificate_.event.draws == len(normal.counts)  # what their samplers may err counts each time
    assert not evaluate(MODELS[3], X, y, epsilon=0.3, random_state=0).certificate_.holds


def test_persons_are_named_and_a_large_delta_is_told():
    X, y = sample(TWO, 200, 8)
    with pytest.warns(UserWarning, match="protects a person told by column 'who', .* but the model protects a record"):
        card = evaluate(MODELS[2], X, y, epsilon=1, groups=pd.Series(range(200), name="who"), records_per_person=2)
    first = str(card).splitlines()[0]
    assert "It protects a person told by column 'who', with at most 2 records; its model protects a record." in first
    assert (card.certificate_.unit.records, card.certificate_.unit.person) == (2, "who")
    with pytest.warns(UserWarning, match="delta is") as caught:
        evaluate(MODELS[2], X, y, epsilon=1, delta=0.01)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("bins", [2, MOST_BINS])
def test_the_fewest_and_the_most_bins(bins):
    assert evaluate(MODELS[2], *sample(TWO, 200, 8), epsilon=1, bins=bins).certificate_.holds


def test_an_inferred_schema_taints_and_a_released_one_is_named():
    X, y = sample(TWO, 300, 9)
    with pytest.warns(hr.PrivacyLeakWarning):
        model = hr.EDPRFClassifier(epsilon=1).fit(X, y)
    card = evaluate(model, X, y, epsilon=1)
    assert not card.certificate_.holds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        schema = private_schema(pd.DataFrame(X, columns=["a", "b"]), epsilon=5, numeric=["a", "b"], classes=TWO.classes)
    model = hr.EDPRFClassifier(epsilon=1, schema=schema).fit(X, y)
    card = evaluate(model, X, y, epsilon=1)
    assert card.certificate_.holds
    assert card.certificate_.releases == (schema.certificate_.digest,)


def test_an_evaluation_is_booked_and_refused_before_a_draw(tmp_path, monkeypatch):
    X, y = sample(TWO, 50, 10)
    for ledger in (hr.Ledger(epsilon=1), hr.LedgerStore(tmp_path / "b.db").create("people", epsilon=1)):
        evaluate(MODELS[2], X, y, epsilon=0.7, ledger=ledger)
        assert (ledger.entries[0].label, ledger.entries[0].state, ledger.spent) == (
            "evaluate",
            "finished",
            Fraction(7, 10),
        )
        with monkeypatch.context() as patch:
            patch.setattr(Randomness, "draw", lambda *_: pytest.fail("it was drawn"))
            with pytest.raises(hr.BudgetExceeded):
                evaluate(MODELS[2], X, y, epsilon=0.7, ledger=ledger)
        assert len(ledger.entries) == 1


def test_every_table_gives_the_same_card_and_odd_records_are_left_out():
    X, y = sample(TWO, 300, 11)
    frame = pd.DataFrame(X, columns=["a", "b"])
    first = evaluate(MODELS[2], X, y, epsilon=1, random_state=3)
    for other in (frame, frame[["b", "a"]], frame.astype(str), X.tolist()):
        assert np.array_equal(evaluate(MODELS[2], other, y, epsilon=1, random_state=3).counts, first.counts)
    odd = evaluate(
        MODELS[2],
        [*X.tolist(), [object(), "x"], "no row", [1]],
        [*y, "maybe", None, math.nan],
        epsilon=1,
        random_state=3,
    )
    assert np.array_equal(odd.counts, first.counts)
    again = evaluate(MODELS[2], X[::-1], y[::-1], epsilon=1, random_state=3)
    assert np.array_equal(again.counts, first.counts)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 2}, "delta"),
        ({"bins": 3}, "even"),
        ({"bins": True}, "even"),
        ({"bins": 0}, "even"),
        ({"bins": 2048}, "even"),
        ({"bins": "x"}, "even"),
        ({"ledger": 3}, "ledger"),
        ({"model": 3}, "fitted model"),
        ({"X": [[1]] * 50}, None),
        ({"X": hr.Records.from_batches([], label="c"), "y": None}, "no records"),
        ({"y": ["no"]}, "different lengths"),
        ({"adjacency": "x"}, "adjacency"),
        ({"records_per_person": 0}, "records_per_person"),
    ],
)
def test_wrong_questions_are_refused_and_not_booked(changes, words):
    X, y = sample(TWO, 50, 12)
    ledger = hr.Ledger(epsilon=10)
    settings = {"model": MODELS[2], "X": X, "y": y, "epsilon": 1.0, "ledger": ledger, **changes}
    model, X, y = (settings.pop(name) for name in ("model", "X", "y"))
    if words is None:  # rows of another length are records whose cells are all missing
        assert evaluate(model, X, y, **settings).certificate_.holds
        return
    with pytest.raises(hr.ConfigurationError, match=words):
        evaluate(model, X, y, **settings)
    assert ledger.entries == ()
    card = evaluate(MODELS[2], *sample(TWO, 50, 12), epsilon=1)
    for ask in (lambda: card.interval("f1"), lambda: card.interval("accuracy", 1.5), lambda: card.roc_curve("maybe")):
        with pytest.raises(hr.ConfigurationError):
            ask()


def inside(curve, band, truth):
    """Which points of the true curve are within the band of the released one, along both axes."""
    return (np.abs(curve.x - truth.x) <= band.x + 1e-12) & (np.abs(curve.y - truth.y) <= band.y + 1e-12)


def test_bands_of_curves_cover_what_the_counts_without_noise_say():
    exact = evaluate(MODELS[2], *sample(TWO, 3000, 13), epsilon=1e6, bins=64, random_state=0)
    found, wide = {"roc": [], "calibration": []}, []
    for seed in range(24):
        card = evaluate(MODELS[2], *sample(TWO, 3000, 13), epsilon=0.2, bins=64, random_state=seed)
        found["roc"].append(inside(card.roc_curve(), card.roc_band(), exact.roc_curve()))
        bins, true = card.calibration(), dict(zip(*exact.calibration()[:2], strict=True))
        half = card.calibration_band()
        assert len(half) == len(bins.predicted)
        for predicted, observed, reach in zip(bins.predicted, bins.observed, half, strict=True):
            found["calibration"].append(abs(observed - true.get(predicted, observed)) <= reach)
        wide.append(card.roc_band().y.max())
    for name, one in found.items():
        assert np.mean(one) > 0.94, name
    assert np.mean(wide) < 0.2
    assert (exact.roc_band().y < 1e-3).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_display_draws_what_the_report_card_released(n_classes):
    card = evaluate(MODELS[n_classes], *sample(MODELS[n_classes].schema_, 800, 13), epsilon=1, random_state=0)
    for kind in (hr.ROCDisplay, hr.CalibrationDisplay):
        lines = kind.from_report(card).plot().ax_.lines
        assert len(lines) > (n_classes if n_classes > 2 else 1)  # one for each class, and the diagonal
    counts = hr.ConfusionMatrixDisplay.from_report(card).plot().ax_.texts
    assert [text.get_text() for text in counts] == [f"{count:,.0f}" for count in card.confusion_matrix.ravel()]
    drawn = hr.ROCDisplay.from_report(card).plot().ax_.lines[1]
    assert np.array_equal(drawn.get_ydata(), card.roc_curve(card.classes[-1] if n_classes == 2 else 1).y)
    plt.close("all")


def test_the_evaluate_command_books_in_a_ledger_and_ends_where_it_refuses(folder, run, answer, train):
    hr.LedgerStore("budgets.db").create("people", epsilon=4)
    booked = ["--ledger", "budgets.db", "--dataset", "people"]
    assert train("--out", "m.hedgerow", *booked).exit_code == 0
    result = run("evaluate", "m.hedgerow", "people.csv", "--epsilon", 2, *booked)
    assert result.exit_code == 0, result.output
    assert "Report card on about" in result.stdout
    assert "holds      yes" in result.stdout
    assert hr.LedgerStore("budgets.db").ledger("people").spent == 3
    assert run("evaluate", "m.hedgerow", "people.csv", "--epsilon", 2, *booked).exit_code == 3
    document = answer("evaluate", "m.hedgerow", "people.csv", "--epsilon", 2, "--delta", 1e-6)
    assert document["certificate"]["holds"]
    assert set(document["figures"]) == set(FIGURES)
    assert run("evaluate", "m.hedgerow", "people.toml", "--epsilon", 2).exit_code == 2


def test_a_roc_band_holds_both_rates_of_a_threshold_together():
    """Beside the normal law of a share of noisy counts: each rate has 97.5 %, so that both hold with 95 %."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (20_000, 2))
    y = np.where(rng.uniform(size=20_000) < X[:, 0], "high", "low")
    schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    model = hr.HedgerowClassifier(epsilon=1.0, schema=schema, n_estimators=5, random_state=0).fit(X[:4000], y[:4000])
    card = hr.evaluate(model, X[4000:], y[4000:], epsilon=1.0, random_state=0)
    curve, band = card.roc_curve(), card.roc_band()
    for share, half, label in ((curve.x, band.x, 0), (curve.y, band.y, 1)):
        cells = np.arange(len(share))
        records = card.confusion_matrix[label].sum()
        deviation = card.deviation * np.sqrt(cells * (1 - share) ** 2 + cells[::-1] * share**2) / records
        middle = slice(len(share) // 3, -len(share) // 3)  # few counts have longer tails than a normal
        np.testing.assert_allclose(half[middle] / deviation[middle], 2.241, rtol=0.06)
