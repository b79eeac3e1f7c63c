"""Pictures of a regressor: its curves in the outcome's unit, and what its report card says."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import hedgerow as hr

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
    assert 5 <= len(display.predicted) <= 10
    assert (np.diff(display.predicted) > 0).all()
    assert (np.diff(display.outcomes, axis=1) >= 0).all()
    X, y = sample(20_000, 1)
    predicted = model.predict(X)
    for at, outcomes in zip(display.predicted, display.outcomes, strict=True):
        near = y[np.abs(predicted - at) < 1]
        assert outcomes[2] == pytest.approx(np.median(near), abs=3)
        assert outcomes[4] == pytest.approx(np.quantile(near, 0.95), abs=6)
    assert display.ax_.get_xlabel() == "mean prediction of a group"


def test_residuals_are_drawn_with_their_quantiles(model, card):
    display = hr.ResidualDisplay.from_report(card).plot()
    assert display.shares.sum() == pytest.approx(1)
    X, y = sample(20_000, 1)
    residuals = y - model.predict(X)
    for share, residual in display.quantiles:
        assert -0.5 < residual - np.quantile(residuals, share) < 3  # the upper end of a bin
    low, high = display.ax_.get_xlim()
    assert low < np.quantile(residuals, 0.05) < np.quantile(residuals, 0.95) < high


def test_calibration_of_a_regressor_is_near_the_diagonal(card):
    display = hr.CalibrationDisplay.from_report(card).plot()
    ((_, bins),) = display.lines
    np.testing.assert_allclose(bins.observed, bins.predicted, atol=2)
    assert display.ax_.get_ylabel() == "mean outcome"


def test_quantiles_that_lie_close_together_have_labels_that_do_not_overlap():
    ends, shares = np.linspace(-100, 100, 101), np.full(100, 0.01)
    close = [(0.05, -40.0), (0.25, -2.0), (0.5, 0.0), (0.75, 1.0), (0.95, 60.0)]
    display = hr.ResidualDisplay(ends, shares, close).plot()
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.texts]
    assert len(boxes) == 5
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
    assert display.ax_.get_title(loc="left").count("\n") == 3  # above three rows of labels
