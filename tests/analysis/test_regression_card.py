"""Report cards of regressors: one cell for a record, figures beside the raw ones, intervals that cover, and reaches."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from analysis_helpers import check_slopes
from scipy.special import logsumexp
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import hedgerow as hr
from hedgerow.analysis.evaluation import evaluate
from hedgerow.analysis.regression_card import ResidualGrid, _tail_law, error_of_sums
from hedgerow.mechanisms import Geometric, RoundedNormal
from hedgerow.privacy.accounting import cost

pytestmark = pytest.mark.filterwarnings("ignore:the noisy number of records")

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 100), target="y")
FIGURES = ("rmse", "mae", "r2", "bias")


def sample(size, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(size, 2))
    return X, 30 * X[:, 0] + 20 * (X[:, 1] > 0.5) + rng.gamma(2, 2 + 4 * X[:, 0], size)


@pytest.fixture(scope="module")
def model():
    return hr.HedgerowRegressor(epsilon=3, schema=SCHEMA, random_state=0).fit(*sample(5000, 0))


def raw(model, X, y):
    p = model.predict(X)
    y = np.clip(y, 0, 100)
    return {
        "rmse": mean_squared_error(y, p) ** 0.5,
        "mae": mean_absolute_error(y, p),
        "r2": r2_score(y, p),
        "bias": float((y - p).mean()),
    }


def test_figures_are_those_of_the_records_but_for_noise_and_bins(model):
    X, y = sample(20_000, 1)
    card, truth = evaluate(model, X, y, epsilon=1000, bins=512, random_state=0), raw(model, X, y)
    assert card.records == pytest.approx(20_000, abs=30)
    for name in FIGURES:
        figure = card.figure(name)
        assert figure.low <= truth[name] <= figure.high
        assert figure.value == pytest.approx(truth[name], rel=0.05, abs=0.1)
        assert getattr(card, name) == figure.value
    residuals = y - model.predict(X)
    for share in (0.05, 0.5, 0.95):
        assert card.quantile(share) == pytest.approx(np.quantile(residuals, share), rel=0.05, abs=0.1)
    assert card.quantile(0) <= card.quantile(0.01) <= card.quantile(0.99) <= card.quantile(1)
    found = card.calibration(5)
    p = model.predict(X)
    middle = (p > found.predicted[1]) & (p < found.predicted[3])
    inner = np.average(found.observed[1:4], weights=found.records[1:4])
    assert inner == pytest.approx(y[middle].mean(), abs=2)
    assert found.records.sum() == pytest.approx(20_000, rel=0.01)


def test_a_record_is_in_one_cell_where_it_can_be():
    grid = ResidualGrid.old(-10, 30, 64)
    rng = np.random.default_rng(0)
    outcomes, predictions = rng.uniform(-10, 30, 5000), rng.uniform(-20, 40, 5000)
    outcomes[:4], predictions[:4] = [-10, 30, -10, 30], [30, -10, -10, 30]
    codes = grid.codes(predictions, outcomes)
    assert codes.shape == (5000, 1)
    assert grid.possible.ravel()[codes[:, 0]].all()
    assert not grid.possible.all()
    assert codes.max() < grid.n_codes[0]
    place, residual = np.divmod(codes[:, 0], 64)
    distance = outcomes - np.clip(predictions, -10, 30)
    assert np.all(grid.residuals[residual] - 1e-9 <= distance)
    assert np.all(distance <= grid.residuals[residual + 1] + 1e-9)
    assert np.array_equal(place, grid.prediction_bins(np.clip(predictions, -10, 30)))
    alone = [int(grid.codes(p[None], y[None])[0, 0]) for p, y in zip(predictions[:50], outcomes[:50], strict=True)]
    assert codes[:50, 0].tolist() == alone


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_costs_what_it_says(model, delta):
    X, y = sample(500, 2)
    ledger = hr.Ledger(epsilon=1, delta=1e-5)
    card = evaluate(model, X, y, epsilon=0.5, delta=delta, ledger=ledger)
    claim = card.certificate_.claim
    assert card.certificate_.holds
    assert cost(card.certificate_.event).at_most(cost(card.certificate_.event))
    assert (float(claim.epsilon), float(claim.delta)) == (0.5, delta)
    assert ledger.remaining < 1
    assert card.normal == (delta > 0)
    with pytest.raises(hr.BudgetExceeded):
        evaluate(model, X, y, epsilon=5, ledger=ledger)


def test_the_noise_is_that_of_one_cell(model):
    X, y = sample(500, 2)
    pure = evaluate(model, X, y, epsilon=0.5)
    assert pure.deviation == pytest.approx(Geometric(pure.certificate_.claim.epsilon, 1).deviation)
    replaced = evaluate(model, X, y, epsilon=0.5, adjacency="replace-one")
    assert replaced.deviation == pytest.approx(2 * pure.deviation)


def test_intervals_cover_these_records_and_half_as_wide_ones_do_not(model):
    X, y = sample(6000, 3)
    truth, runs = raw(model, X, y), 24
    cards = [evaluate(model, X, y, epsilon=1, random_state=seed) for seed in range(runs)]

    def covered(name, card):
        low, high = card.interval(name, sampling=False)
        return low <= truth[name] <= high

    for name in FIGURES:
        assert sum(covered(name, card) for card in cards) >= 21
    core = cards[0]._core.ravel()  # of these cells: which others show records varies, too
    spread = np.std([card._figure("bias", np.where(core, card.counts, 0))[0].value for card in cards])
    low, high = cards[0].interval("bias", sampling=False)
    figure, _ = cards[0]._bounded("bias", 0.95)
    half = (high - low - (figure.high - figure.low)) / 2
    assert 1.5 * spread < half < 2.6 * spread


def test_figures_change_with_each_count_as_they_say(model):
    card = evaluate(model, *sample(6000, 3), epsilon=5, bins=16, random_state=0)
    for name in ("mse", "mae", "r2", "bias"):
        check_slopes(card, name)


def test_figures_of_few_records_in_a_wide_range_are_near_the_truth():
    """All noisy cells together have an RMSE that is off by a half and more: most are empty, and far from zero."""
    rng = np.random.default_rng(0)
    outcome = hr.Numeric(0, 20_000)
    schema, a = hr.Schema({"a": hr.Numeric(0, 1)}, outcome=outcome), rng.uniform(size=4000)
    y = 15_000 * a + rng.gamma(2, 300, 4000)
    model = hr.HedgerowRegressor(epsilon=20, schema=schema, random_state=0).fit(a[:2000, None], y[:2000])
    X, y = a[2000:, None], y[2000:]
    rmse = mean_squared_error(y, model.predict(X)) ** 0.5
    off, off_of_all = [], []
    for seed in range(10):
        card = evaluate(model, X, y, epsilon=1, random_state=seed)
        off.append(abs(card.rmse / rmse - 1))
        off_of_all.append(abs(card._figure("mse", card.counts)[0].value ** 0.5 / rmse - 1))
    low, high = card.interval("rmse", sampling=False)
    assert low <= card.rmse <= high
    assert np.mean(off) < 0.3
    assert np.mean(off_of_all) > 0.5


def test_a_card_with_too_few_records_says_nothing(model):
    card = evaluate(model, *sample(20, 3), epsilon=0.1, random_state=0)
    assert card.interval("mae") == (0, 100)
    assert card.interval("bias") == (-100, 100)
    assert card.interval("r2")[0] == -np.inf
    assert json.dumps(card.to_dict(), allow_nan=False)
    assert np.array_equal(model.predict_interval(sample(5, 4)[0], 0.9, card=card), [[0, 100]] * 5)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_new_outcomes_are_within_reach_as_often_as_said(model, level):
    covered = []
    for seed in range(40):
        card = evaluate(model, *sample(400, 100 + seed), epsilon=1, random_state=seed)
        X, y = sample(500, 1000 + seed)
        low, high = model.predict_interval(X, level, card=card).T
        covered.append(np.mean((low <= y) & (y <= high)))
    error = np.std(covered) / np.sqrt(len(covered))
    assert np.mean(covered) > level - 2 * error
    assert np.mean(covered) < 1  # it is no interval of everything


def test_the_scan_is_from_the_top(model):
    """The lowest bin that passes may lie below bins that do not: the first one from below covers too few."""
    card = evaluate(model, *sample(2000, 5), epsilon=1000, random_state=0)
    half = card.grid.bins // 2
    counts = np.zeros(card.grid.shape)
    counts[0, half] = 1000
    counts[0, half + 20] = 100  # a tenth is far away
    lucky = counts.copy()
    lucky[0, half + 5] = -90  # noise that hides nothing above it
    for table in (counts, lucky):
        planted = replace(card, counts=table.ravel())
        assert planted.reach(np.zeros(1), 0.95)[0] >= card.grid.distances[20]


def test_intervals_by_prediction_have_reaches_of_their_own(model):
    card = evaluate(model, *sample(30_000, 6), epsilon=10, random_state=0)
    X, y = sample(5000, 7)
    both = [model.predict_interval(X, 0.9, card=card, by_prediction=by) for by in (False, True)]
    reach = [np.unique(np.round(found[:, 1] - model.predict(X), 6)) for found in both]
    assert len(reach[0][np.isfinite(reach[0])]) == 1
    assert len(reach[1]) > 1
    low, high = both[1].T
    assert np.mean((low <= y) & (y <= high)) > 0.9


def test_intervals_end_where_the_range_ends(model, monkeypatch):
    """An outcome is clipped to the range, so an end of it is any outcome beyond."""
    card, X = evaluate(model, *sample(5000, 6), epsilon=10, random_state=0), sample(1000, 7)[0]
    center = model.predict(X)
    for reach in (center, np.full(1000, 70.0), card.reach(center, 0.9)):  # of which the first ends just there
        monkeypatch.setattr(type(card), "reach", lambda *_, reach=reach, **__: reach)
        low, high = model.predict_interval(X, 0.9, card=card).T
        assert (low == 0).any()
        assert (high == 100).any() or reach.max() < 70
        assert np.array_equal(low, np.maximum(center - reach, 0))
        assert np.array_equal(high, np.minimum(center + reach, 100))


def test_a_card_is_of_one_model_and_of_single_records(model):
    X, y = sample(2000, 8)
    card = evaluate(model, X, y, epsilon=1)
    other = hr.HedgerowRegressor(epsilon=3, schema=SCHEMA, random_state=1).fit(*sample(5000, 8))
    with pytest.raises(hr.ConfigurationError, match="not this model's"):
        other.predict_interval(X, 0.9, card=card)
    for level in (0, 1, True, "0.9"):
        with pytest.raises(hr.ConfigurationError, match="probability"):
            model.predict_interval(X, level, card=card)
    with pytest.warns(UserWarning, match="protects"):
        persons = evaluate(model, X, y, epsilon=1, groups=np.arange(2000) // 2, records_per_person=2)
    with pytest.raises(hr.ConfigurationError, match="records_per_person=1, on the command line --records-per-person 1"):
        model.predict_interval(X, 0.9, card=persons)


@pytest.mark.parametrize("bins", [8, 64])
@pytest.mark.parametrize("side", [-1, 0, 1])
def test_mean_outcomes_are_predictions_and_the_middles_of_residuals(model, bins, side):
    """Counts without noise: as many on both sides of a prediction, or in one bin on one side of it."""
    card = evaluate(model, *sample(500, 3), epsilon=5, bins=bins, random_state=0)
    counts = np.zeros(card.grid.shape)
    half = bins // 2
    counts[:, [half - 1, half] if side == 0 else [half if side > 0 else half - 1]] = 10_000
    found = replace(card, counts=counts.ravel(), deviation=1e-9).calibration(groups=10_000)
    middle = card.grid.distances[0] / 2
    inside = (found.predicted > 1) & (found.predicted < 99)
    assert inside.sum() > 3
    assert (found.observed - found.predicted)[inside] == pytest.approx(side * middle, abs=1e-9)


@pytest.mark.parametrize("bins", [16, 64])
def test_it_warns_if_no_outcome_can_be_read(model, bins):
    X, y = sample(5000, 8)
    assert evaluate(model, X, y, epsilon=1, bins=bins).warnings == ()
    with pytest.warns(
        UserWarning, match="the noisy number of records whose outcome can be read is .* there may be none"
    ):
        card = evaluate(model, X, [f"{value} euros" for value in y], epsilon=1, bins=bins)
    assert "may be none" in " ".join(str(card).split())


def test_files_hold_the_card(model):
    card = evaluate(model, *sample(2000, 8), epsilon=1)
    values = json.loads(json.dumps({**card.to_dict(), "certificate": card.certificate_.to_dict()}, allow_nan=False))
    again = hr.RegressionCard.from_dict(values)
    assert str(again) == str(card)
    assert np.array_equal(again.counts, card.counts)
    assert again.interval("r2") == card.interval("r2")
    ends = values["predictions"]
    for wrong in (
        {"bins": 63},
        {"counts": [1.0]},
        {"deviation": 0},
        {"outcome": [1, 1]},
        {"predictions": ends[::-1]},
        {"predictions": [*ends[:-1], 101.0]},
        {"predictions": ends[:-1]},
        {"centers": [np.nan] * (len(ends) - 1)},
        {"variances": [-1.0] * (len(ends) - 1)},
        {"variances": [np.nan] * (len(ends) - 1)},
    ):
        with pytest.raises(ValueError, match=r"no (counts|bins)"):
            hr.RegressionCard.from_dict({**values, **wrong})


def test_records_and_frames_give_the_same_card(model):
    X, y = sample(1000, 9)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    whole = evaluate(model, frame, y, epsilon=1, random_state=4)
    records = hr.Records.from_batches([frame[:300].assign(y=y[:300]), frame[300:].assign(y=y[300:])], label="y")
    assert np.array_equal(evaluate(model, records, epsilon=1, random_state=4).counts, whole.counts)


@dataclass
class Draws:
    noise: object
    size: int = 40_000

    def __call__(self, generator, count):
        low = -int(8 * self.noise.deviation + 10)
        outcomes = np.arange(low, -low + 1)
        law = self.noise.law(0, outcomes)
        return generator.choice(outcomes, size=(self.size, count), p=law / law.sum())


@pytest.mark.parametrize(
    "noise",
    [Geometric(Fraction(1)), Geometric(Fraction(1, 5)), RoundedNormal(Fraction(1, 25)), RoundedNormal(Fraction(4))],
)
def test_weighted_sums_of_noise_pass_the_bound_seldom(noise):
    generator, draws = np.random.default_rng(0), Draws(noise)
    weights, counts = np.array([0.1, -0.9]), np.array([7.0, 4.0])
    total = draws(generator, 7).sum(axis=1) * 0.1 - draws(generator, 4).sum(axis=1) * 0.9
    for chance in (0.1, 0.01):
        bound = error_of_sums(noise.deviation, isinstance(noise, RoundedNormal), weights, counts, chance)
        assert np.mean(total >= bound) <= chance
        half = error_of_sums(noise.deviation / 2, isinstance(noise, RoundedNormal), weights, counts, chance)
        assert np.mean(total >= half) > chance / 20
    assert error_of_sums(noise.deviation, False, weights, np.zeros(2), 0.1) == 0


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.3, 0.5, 0.8, 1.0, 3.0, 10.0])
def test_rounded_normal_noise_is_below_a_normal_of_a_quarter_more_variance(sigma):
    noise = RoundedNormal(Fraction(1 / sigma**2))
    outcomes = np.arange(-int(30 * sigma + 3), int(30 * sigma + 4))
    law = noise.law(0, outcomes)
    for tilt in np.linspace(0.05, 8, 60) / max(sigma, 0.5):
        moment = logsumexp(tilt * outcomes, b=law)
        assert moment <= tilt**2 * (noise.deviation**2 + 0.25) / 2 + 1e-12


@pytest.fixture(scope="module")
def heavy():
    """A model of a lognormal outcome in a range that is far wider, 5000 further records, and the figures of these."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(15_000, 2))
    y = np.clip(rng.lognormal(1 + X[:, 0] + X[:, 1], 1.0), 0, 1000)
    schema = SCHEMA.replace(outcome=hr.Numeric(0, 1000))
    model = hr.HedgerowRegressor(epsilon=3, schema=schema, random_state=0).fit(X[:10_000], y[:10_000])
    X, y = X[10_000:], y[10_000:]
    p = model.predict(X)
    truth = {"rmse": mean_squared_error(y, p) ** 0.5, "mae": mean_absolute_error(y, p), "r2": r2_score(y, p)}
    return model, X, y, {**truth, "bias": float((y - p).mean())}


@pytest.mark.filterwarnings("ignore:nearly all outcomes")
def test_a_heavy_tail_is_estimated_and_bounded(heavy):
    model, X, y, truth = heavy
    cards = [evaluate(model, X, y, epsilon=1, random_state=seed) for seed in range(16)]
    for name in FIGURES:
        values = np.array([card.figure(name).value for card in cards])
        assert np.mean(np.abs(values / truth[name] - 1)) < {"mae": 0.06, "bias": 0.5, "r2": 0.3}.get(name, 0.25), name
        ends = np.array([card.interval(name, sampling=False) for card in cards])
        assert np.isfinite(ends).all()
        assert np.mean((ends[:, 0] <= truth[name]) & (truth[name] <= ends[:, 1])) > 0.9
    # What the noise hides is not left out.
    cut = [card._figure("mse", np.where(card._core.ravel(), card.counts, 0))[0].value ** 0.5 for card in cards]
    assert np.mean(cut) < 0.92 * truth["rmse"]
    assert np.mean([card.rmse for card in cards]) > 0.95 * truth["rmse"]


@pytest.mark.parametrize("variance", [0.001, 12.0])
@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_a_law_of_tails_is_that_of_the_counts(variance, bend):
    """A power has no bend, and a lognormal tail has one. Their sums of distances are known better than those of raw counts."""
    rng, octaves = np.random.default_rng(0), np.arange(24) * 0.375
    law = 300 * np.exp(-(1.8 if not bend else -0.5) * octaves - bend * octaves**2)
    noisy = rng.poisson(law, (30, 24)) + rng.normal(0, variance**0.5, (30, 24))
    found = np.array([_tail_law(counts, np.full(24, variance), 0.375) for counts in noisy])
    for power, most in ((0, 0.05), (1, 0.07), (2, 0.25)):
        true = law @ 2 ** (power * octaves)
        off = np.abs(found @ 2 ** (power * octaves) / true - 1).mean()
        assert off < most
        if variance > 1 and power:
            assert off < np.abs(noisy @ 2 ** (power * octaves) / true - 1).mean() / 2
    impossible = np.where(np.arange(24) < 20, variance, 0.0)
    assert not _tail_law(noisy[0] * (impossible > 0), impossible, 0.375)[20:].any()


def test_records_that_no_law_of_the_tail_expects_are_kept(model):
    """A second hill of residuals, as of a marker that was read as a number, is in the figures."""
    card = evaluate(model, *sample(6000, 3), epsilon=1, random_state=0)
    place = int(np.searchsorted(card.grid.distances, 70))
    counts = card.counts.reshape(card.grid.shape).copy()
    counts[0, card.grid.bins // 2 + place] += 120
    planted = replace(card, counts=counts.ravel())
    square = np.mean(card.grid.distances[place - 1 : place + 1]) ** 2
    added = planted.rmse**2 * planted.records - card.rmse**2 * card.records
    assert added == pytest.approx(120 * square, rel=0.1)
    assert planted.interval("rmse")[0] < planted.rmse < planted.interval("rmse")[1]


@pytest.mark.filterwarnings("ignore:nearly all outcomes")
def test_the_bound_of_a_tail_needs_the_noise_of_its_cells(heavy):
    model, X, y, _ = heavy
    held, planted = [], []
    for seed in range(40):
        card = evaluate(model, X[:600], y[:600], epsilon=0.5, random_state=seed)
        rmse = np.sqrt(np.mean((y[:600] - model.predict(X[:600])) ** 2))
        for found, one in ((held, card), (planted, replace(card, deviation=card.deviation / 8))):
            low, high = one.interval("rmse", sampling=False)
            found.append(low <= rmse <= high)
    assert np.mean(held) > 0.9
    assert np.mean(planted) < np.mean(held)


def test_what_is_not_bounded_has_no_value(model):
    card = evaluate(model, *sample(20, 3), epsilon=0.1, random_state=0)
    for name in FIGURES:
        assert np.isnan(card.figure(name).value)
        assert card.to_dict()["figures"][name]["value"] is None
    assert card.too_few
    assert [line.split()[1] for line in str(card).splitlines() if line.startswith("  r2")] == ["-"]


def test_cards_of_version_0_3_are_read_by_their_own_bins(model):
    card = evaluate(model, *sample(500, 3), epsilon=1)
    old = ResidualGrid.old(0, 100, 64)
    assert ResidualGrid.from_dict({"outcome": [0, 100], "bins": 64}) == old
    assert old.ends == tuple(sorted({*range(0, 101, 10), *(100 / 2**halvings for halvings in range(1, 11))}))
    assert ResidualGrid.old(-64, 36, 64).ends[:4] == (-64, -54, -44, -34)
    assert {-32, -16, -8, -4, -2, -1, -1 / 16} <= set(ResidualGrid.old(-64, 36, 64).ends)
    values = {**card.to_dict(), "certificate": card.certificate_.to_dict(), "counts": np.ones(old.n_codes[0]).tolist()}
    for name in ("predictions", "centers", "variances"):
        del values[name]
    again = hr.RegressionCard.from_dict(values)
    assert again.grid == old
    assert "Report card" in str(again)


def test_a_new_record_counts_beside_those_of_the_card(model):
    """Without noise it is split conformal prediction: of n residuals the ceil((n + 1)(1 - miss))-th smallest."""
    card = evaluate(model, *sample(2000, 5), epsilon=1000, random_state=0)
    half, level = card.grid.bins // 2, 0.9
    miss = 1 - level / (1 - 0.1 * (1 - level))  # a tenth of the risk is for the noise
    for n in (19, 30):
        counts = np.zeros(card.grid.shape)
        counts[0, half : half + n] = 1
        exact = replace(card, counts=counts.ravel(), deviation=0.01, normal=False)
        place = math.ceil((n + 1) * (1 - miss)) - 1
        assert place != math.ceil(n * (1 - miss)) - 1  # so that the new record decides
        assert exact.reach(np.zeros(1), level)[0] == card.grid.distances[place] + card.step / 2
