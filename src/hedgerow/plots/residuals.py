"""Pictures of a regressor's report card: outcomes by prediction, and the distribution of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hedgerow.analysis.regression_card import RegressionCard
from hedgerow.arrays import Floats
from hedgerow.plots.axes import BLUE, GREY, RED, Display, framed

__all__ = ["PredictionErrorDisplay", "ResidualDisplay"]


SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_SHOWN = 0.995  # share of the residuals within the picture
LABEL, ROW = 0.08, 0.045  # width of a label, and height of a row of labels, as shares of the picture


class PredictionErrorDisplay(Display):
    """Predicted against observed outcomes: for each group of predictions, the central 50 % and 90 % of the outcomes.

    Groups have about the same number of records. A group that does not stand out from its noise is left out.

    Parameters
    ----------
    predicted : ndarray of shape (groups,)
        The mean prediction of each group.
    outcomes : ndarray of shape (groups, 5)
        The 5, 25, 50, 75 and 95 % quantiles of each group's outcomes, to the accuracy of the bins.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (8000, 2))
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 10))
    >>> model = hr.HedgerowRegressor(epsilon=1.0, schema=schema).fit(X[:4000], 8 * X[:4000, 0])
    >>> card = hr.evaluate(model, X[4000:], 8 * X[4000:, 0], epsilon=1.0)
    >>> display = hr.PredictionErrorDisplay.from_report(card)
    >>> display.outcomes.shape == (len(display.predicted), 5)
    True
    """

    def __init__(self, predicted: Floats, outcomes: Floats) -> None:
        self.predicted = predicted
        self.outcomes = outcomes

    @classmethod
    def from_report(cls, card: RegressionCard) -> Self:
        """Make the display of a report card."""
        return cls(*card.outcomes_by_prediction(SHARES))

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        ax = self._on(ax, (5.0, 4.6))
        if len(self.predicted):
            ends = [min(self.predicted.min(), self.outcomes.min()), max(self.predicted.max(), self.outcomes.max())]
            ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")
        low, lower, middle, upper, high = self.outcomes.T
        ax.vlines(self.predicted, low, high, color=BLUE, linewidth=1, label="90 % of outcomes")
        ax.vlines(self.predicted, lower, upper, color=BLUE, linewidth=5, alpha=0.5, label="the middle half")
        ax.plot(self.predicted, middle, "o", color=RED, markersize=4, label="median")
        _finish(ax, "Predicted against observed, from noisy counts", "mean prediction of a group", "outcome")
        ax.legend(fontsize=8, frameon=False, loc="lower right")
        return self


class ResidualDisplay(Display):
    """The distribution of residuals (outcome minus prediction), with quantiles.

    Parameters
    ----------
    ends : ndarray of shape (bins + 1,)
        The ends of the bins of residuals.
    shares : ndarray of shape (bins,)
        The share of the records in each bin, by noisy counts.
    quantiles : sequence of (float, float)
        Probabilities, and the quantiles of the residuals at them.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (8000, 2))
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, outcome=hr.Numeric(0, 10))
    >>> model = hr.HedgerowRegressor(epsilon=1.0, schema=schema).fit(X[:4000], 8 * X[:4000, 0])
    >>> card = hr.evaluate(model, X[4000:], 8 * X[4000:, 0], epsilon=1.0)
    >>> [share for share, residual in hr.ResidualDisplay.from_report(card).quantiles]
    [0.05, 0.25, 0.5, 0.75, 0.95]
    """

    def __init__(self, ends: Floats, shares: Floats, quantiles: Sequence[tuple[float, float]]) -> None:
        self.ends = ends
        self.shares = shares
        self.quantiles = tuple(quantiles)

    @classmethod
    def from_report(cls, card: RegressionCard) -> Self:
        """Make the display of a report card."""
        return cls(card.grid.residuals, card.residual_shares, [(share, card.quantile(share)) for share in SHARES])

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        ax = self._on(ax, (5.0, 4.6))
        held = np.cumsum(self.shares)
        first, last = np.searchsorted(held, [1 - MOST_SHOWN, MOST_SHOWN])
        density = np.maximum(self.shares, 0) / np.diff(self.ends)
        ax.stairs(density, self.ends, fill=True, color=BLUE, alpha=0.5)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(self.ends[min(first, len(self.shares) - 1)], self.ends[min(last + 1, len(self.shares))])
        ax.set_yticks([])
        left, right = ax.get_xlim()
        rows = label_rows([(residual - left) / (right - left) for _, residual in self.quantiles], LABEL)
        for (share, residual), row in zip(self.quantiles, rows, strict=True):
            ax.axvline(residual, color=RED, linewidth=0.8, linestyle="--")
            place = (residual, 1.0 + ROW * row)
            ax.annotate(f"{share:.0%}", place, xycoords=("data", "axes fraction"), fontsize=8, ha="center", va="bottom")
        title = "Residuals and their quantiles, from noisy counts" + "\n" * (1 + max(rows, default=0))
        _finish(ax, title, "residual (outcome less prediction)", "density")
        return self


def label_rows(places: Sequence[float], width: float) -> list[int]:
    """Return the lowest row for each label, in increasing order of places, in which it does not meet one before it.

    Examples
    --------
    >>> label_rows([0.1, 0.12, 0.14, 0.3], width=0.1)
    [0, 1, 2, 0]
    """
    rows: list[int] = []
    ends: list[float] = []  # of each row
    for place in places:
        row = next((number for number, end in enumerate(ends) if place - end >= width), len(ends))
        ends[row:] = [place, *ends[row + 1 :]]
        rows.append(row)
    return rows


def _finish(ax: Any, title: str, across: str, up: str) -> None:
    framed(ax, title, across, up)
    ax.locator_params(axis="x", nbins=5)  # with more, numbers of six digits would overlap
