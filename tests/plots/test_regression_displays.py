"""Pictures of a regressor: its curves in the outcome's unit, and what its report card says."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.plots.report import SHARES

matplotlib.use("Agg")

SCHEMA = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 100), target="price")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def sample(size, seed):
    generator = np.random.default_rng(seed)
    X = generator.uniform(size=(size, 2))
    return X, 30 * X[:, 0] + 20 * (X[:, 1] > 0.5) + generator.gamma(2, 4, size)


@pytest.fixture(scope="module")
def model():
    return hr.HedgerowRegressor(epsilon=20, delta=1e-6, schema=SCHEMA, random_state=0).fit(*sample(8000, 0))


@pytest.fixture(scope="module")
def card(model):
    return hr.evaluate(model, *sample(20_000, 1), epsilon=20, random_state=0)


def test_curves_are_in_the_unit_of_the_outcome(model):
    display = hr.FeatureDisplay.from_estimator(model, ["a"])
    (panel,) = display.panels
    assert display.axes_[0].get_ylabel() == "added to price"
    assert panel.effect.values.max() - panel.effect.values.min() == pytest.approx(30, abs=4)
    assert panel.effect.deviation is not None


def test_outcomes_of_each_group_are_around_its_prediction(model, card):
    display = hr.PredictionErrorDisplay.from_report(card).plot()
    groups, quantiles = display.ax_.lines[-1].get_data()[0], card.outcomes_by_prediction(SHARES)
    assert 5 <= len(groups) <= 10
    assert (np.diff(groups) > 0).all()
    np.testing.assert_array_equal(groups, quantiles[0])
    assert (np.diff(quantiles[1], axis=1) >= 0).all()
    X, y = sample(20_000, 1)
    predicted = model.predict(X)
    for at, outcomes in zip(*quantiles, strict=True):
        near = y[np.abs(predicted - at) < 1]
        assert outcomes[2] == pytest.approx(np.median(near), abs=3)
        assert outcomes[4] == pytest.approx(np.quantile(near, 0.95), abs=6)
    assert display.ax_.get_xlabel() == "mean prediction of a group"


def test_residuals_are_drawn_with_their_quantiles(model, card):
    display = hr.ResidualDisplay.from_report(card).plot()
    assert card.residual_shares.sum() == pytest.approx(1)
    X, y = sample(20_000, 1)
    residuals = y - model.predict(X)
    drawn = [line.get_xdata()[0] for line in display.ax_.lines[1:]]
    assert [text.get_text().split(":")[0] for text in display.ax_.get_legend().texts] == [
        "5%",
        "25%",
        "50%",
        "75%",
        "95%",
    ]
    for share, residual in zip(SHARES, drawn, strict=True):
        assert -0.5 < residual - np.quantile(residuals, share) < 3  # the upper end of a bin
    low, high = display.ax_.get_xlim()
    assert low < np.quantile(residuals, 0.05) < np.quantile(residuals, 0.95) < high


def test_calibration_of_a_regressor_is_near_the_diagonal(card):
    display = hr.CalibrationDisplay.from_report(card).plot()
    predicted, observed = display.ax_.lines[1].get_data()
    np.testing.assert_array_equal(observed, card.calibration().observed)
    np.testing.assert_allclose(observed, predicted, atol=2)
    assert display.ax_.get_ylabel() == "mean outcome"
