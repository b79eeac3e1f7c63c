"""Pictures of a report card, all computed from released counts: curves, calibration, the confusion matrix, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from hedgerow.analysis.classification_card import Calibration, Curve, ReportCard
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.regression_card import OutcomeCalibration, RegressionCard
from hedgerow.arrays import Floats
from hedgerow.plots.axes import BLUE, COLORS, GREY, RED, Display, framed, shown, wrapped
from hedgerow.schema.features import Value

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the outcomes or residuals below the quantiles that are drawn
MOST_SHOWN = 0.995  # share of the residuals within the picture
LABEL, ROW = 0.08, 0.045  # width of a label, and height of a row of labels, as shares of the picture


@dataclass(eq=False, repr=False)
class ROCDisplay(Display):
    """ROC curves, each class against the others.

    Parameters
    ----------
    lines : sequence of (str, Curve)
        The name of each class and its curve.
    bands : sequence of Band
        Bands for the added noise, with a probability of 95 % at each threshold. If empty, no bands are drawn.

    Examples
    --------
    >>> steps = Curve(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    >>> ROCDisplay([("low", steps)]).lines[0][0]
    'low'
    """

    lines: Sequence[tuple[str, Curve]]
    bands: Sequence[Any] = ()

    @classmethod
    def from_report(cls, card: ReportCard) -> Self:
        """Make the display of a report card."""
        labels = _labels(card)
        return cls(
            [(str(label), card.roc_curve(label)) for label in labels], [card.roc_band(label) for label in labels]
        )

    def _draw(self, ax: Any) -> None:
        title = "ROC curve at the ends of bins, with a 95 % band for the noise"
        framed(ax, title, "false positive rate", "true positive rate")
        _diagonal(ax, [0, 1])
        for i, (name, curve) in enumerate(self.lines):
            ax.plot(curve.x, curve.y, color=COLORS[i % len(COLORS)], label=shown(name), marker=".", markersize=4)
            if i < len(self.bands):  # between the extreme curves on either side that noise may give
                across, up = np.array(self.bands[i].x), np.array(self.bands[i].y)
                x = np.concatenate([curve.x - across, (curve.x + across)[::-1]])
                y = np.concatenate([curve.y + up, (curve.y - up)[::-1]])
                outline = np.clip(x, 0, 1), np.clip(y, 0, 1)
                ax.fill(*outline, color=COLORS[i % len(COLORS)], alpha=0.2, linewidth=0)
        _within_one(ax, self.lines)


def _labels(card: ReportCard) -> list[Value]:
    return [card.classes[1]] if len(card.classes) == 2 else list(card.classes)


def _diagonal(ax: Any, ends: Sequence[float]) -> None:
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")


def _within_one(ax: Any, lines: Sequence[Any]) -> None:
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    if len(lines) > 1:
        ax.legend(fontsize=8, frameon=False)


@dataclass(eq=False, repr=False)
class CalibrationDisplay(Display):
    """Observed frequency of a class by predicted probability. Bins that do not stand out from their noise are left out.

    For a regressor's card: the mean outcome of each tenth of the predictions by its mean prediction.

    Parameters
    ----------
    lines : sequence of (str, Calibration or OutcomeCalibration)
        The name of each class and its bins; for a regressor one line without a name.
    bands : sequence of ndarray
        Bands of each share for the added noise, with a probability of 95 %. If empty, as for a regressor, no bars are drawn.
    outcome : bool, default False
        Whether the card is a regressor's.

    Examples
    --------
    >>> bins = Calibration(np.array([0.2, 0.8]), np.array([0.25, 0.75]), np.array([100.0, 90.0]))
    >>> CalibrationDisplay([("low", bins)]).lines[0][0]
    'low'
    """

    lines: Sequence[tuple[str, Calibration | OutcomeCalibration]]
    bands: Sequence[Any] = ()
    outcome: bool = field(default=False, kw_only=True)

    @classmethod
    def from_report(cls, card: ReportCard | RegressionCard) -> Self:
        """Make the display of a report card."""
        if isinstance(card, RegressionCard):
            return cls([("", card.calibration())], outcome=True)
        labels = _labels(card)
        lines = [(str(label), card.calibration(label)) for label in labels]
        return cls(lines, [card.calibration_band(label) for label in labels])

    def _draw(self, ax: Any) -> None:
        ends = [0.0, 1.0]
        if self.outcome:
            framed(ax, "Calibration, from noisy counts", "mean prediction", "mean outcome")
            values = np.concatenate([part for _, bins in self.lines for part in bins[:2]])
            ends = [float(values.min()), float(values.max())] if len(values) else []
        else:
            title = "Calibration, with 95 % bars for the noise"
            framed(ax, title, "predicted probability", "share with the label")
        _diagonal(ax, ends)
        for i, (name, bins) in enumerate(self.lines):
            ax.errorbar(
                bins.predicted,
                bins.observed,
                yerr=self.bands[i] if i < len(self.bands) else None,
                marker="o",
                markersize=4,
                elinewidth=0.8,
                color=COLORS[i % len(COLORS)],
                label=shown(name),
            )
        if self.outcome:
            ax.locator_params(axis="x", nbins=5)
        else:
            _within_one(ax, self.lines)


@dataclass(eq=False, repr=False)
class ConfusionMatrixDisplay(Display):
    """The noisy number of records by label and predicted class.

    Parameters
    ----------
    lines : sequence of (str, ndarray)
        The name of each class and its row.

    Examples
    --------
    >>> ConfusionMatrixDisplay([("high", [90, 10]), ("low", [5, 95])]).lines[0]
    ('high', [90, 10])
    """

    lines: Sequence[tuple[str, Any]]

    @classmethod
    def from_report(cls, card: ReportCard) -> Self:
        """Make the display of a report card."""
        return cls([(str(label), row) for label, row in zip(card.classes, card.confusion_matrix, strict=True)])

    def _draw(self, ax: Any) -> None:
        framed(ax, "Confusion matrix, noisy counts", "predicted class", "label")
        table = np.array([row for _, row in self.lines])
        ax.imshow(np.maximum(table, 0), cmap="Blues", vmin=0)
        for (i, j), count in np.ndenumerate(table):
            dark = count > table.max() / 2
            ax.text(j, i, f"{count:,.0f}", ha="center", va="center", color="white" if dark else "black", fontsize=12)
        names = [wrapped(name, 16) for name, _ in self.lines]
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(names)), names)


@dataclass(eq=False, repr=False)
class PredictionErrorDisplay(Display):
    """Predicted against observed outcomes: for each group of predictions, the central 50 % and 90 % of the outcomes.

    Groups have about the same number of records. A group that does not stand out from its noise is left out.

    Parameters
    ----------
    predicted : ndarray of shape (groups,)
        The mean prediction of each group.
    outcomes : ndarray of shape (groups, 5)
        The 5, 25, 50, 75 and 95 % quantiles of each group's outcomes, to the accuracy of the bins.

    Examples
    --------
    >>> PredictionErrorDisplay(np.array([5.0]), np.array([[3.0, 4.0, 5.0, 6.0, 7.0]])).outcomes.shape
    (1, 5)
    """

    predicted: Floats
    outcomes: Floats

    @classmethod
    def from_report(cls, card: RegressionCard) -> Self:
        """Make the display of a report card."""
        return cls(*card.outcomes_by_prediction(SHARES))

    def _draw(self, ax: Any) -> None:
        if len(self.predicted):
            both = self.predicted, self.outcomes
            _diagonal(ax, [min(part.min() for part in both), max(part.max() for part in both)])
        low, lower, middle, upper, high = self.outcomes.T
        ax.vlines(self.predicted, low, high, color=BLUE, linewidth=1, label="90 % of outcomes")
        ax.vlines(self.predicted, lower, upper, color=BLUE, linewidth=5, alpha=0.5, label="the middle half")
        ax.plot(self.predicted, middle, "o", color=RED, markersize=4, label="median")
        framed(ax, "Predicted against observed, from noisy counts", "mean prediction of a group", "outcome")
        ax.locator_params(axis="x", nbins=5)  # with more, numbers of six digits would overlap
        ax.legend(fontsize=8, frameon=False, loc="lower right")


@dataclass(eq=False, repr=False)
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

    Examples
    --------
    >>> ResidualDisplay(np.array([-1.0, 0.0, 1.0]), np.array([0.4, 0.6]), [(0.5, 0.2)]).quantiles
    [(0.5, 0.2)]
    """

    ends: Floats
    shares: Floats
    quantiles: Sequence[tuple[float, float]]

    @classmethod
    def from_report(cls, card: RegressionCard) -> Self:
        """Make the display of a report card."""
        return cls(card.grid.residuals, card.residual_shares, [(share, card.quantile(share)) for share in SHARES])

    def _draw(self, ax: Any) -> None:
        held = np.cumsum(self.shares)
        first, last = np.searchsorted(held, [1 - MOST_SHOWN, MOST_SHOWN])
        density = np.maximum(self.shares, 0) / np.diff(self.ends)
        ax.stairs(density, self.ends, fill=True, color=BLUE, alpha=0.5)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(self.ends[min(first, len(self.shares) - 1)], self.ends[min(last + 1, len(self.shares))])
        ax.set_yticks([])
        left, right = ax.get_xlim()
        ends: list[
            float
        ] = []  # of the labels in each row: a label is in the lowest where it does not meet one before it
        for share, residual in self.quantiles:
            at = (residual - left) / (right - left)
            row = next((number for number, end in enumerate(ends) if at - end >= LABEL), len(ends))
            ends[row:] = [at, *ends[row + 1 :]]
            ax.axvline(residual, color=RED, linewidth=0.8, linestyle="--")
            place = (residual, 1.0 + ROW * row)
            ax.annotate(f"{share:.0%}", place, xycoords=("data", "axes fraction"), fontsize=8, ha="center", va="bottom")
        title = "Residuals and their quantiles, from noisy counts" + "\n" * max(len(ends), 1)
        framed(ax, title, "residual (outcome less prediction)", "density")
        ax.locator_params(axis="x", nbins=5)


@dataclass(eq=False, repr=False)
class GroupsDisplay(Display):
    """A figure of each group of records, with its intervals: of these records, and of their population.

    Parameters
    ----------
    figure : str
        The figure, such as "recall".
    groups : sequence of str
        The names of the groups. Those whose figure is not known are left out.
    values : ndarray of shape (groups,)
        The figure of each group.
    noise, both : ndarray of shape (groups, 2)
        The 95 % intervals for these records, and for their population.

    Examples
    --------
    >>> ends = np.array([[0.5, 0.7], [0.4, 0.8]])
    >>> GroupsDisplay("recall", ["north", "south"], np.array([0.6, 0.6]), ends, ends).groups
    ['north', 'south']
    """

    figure: str
    groups: Sequence[str]
    values: Floats
    noise: Floats
    both: Floats

    @classmethod
    def from_report(cls, cards: GroupCards, figure: str | None = None) -> Self:
        """Make the display of the cards of groups; the figure is by default the recall, or of regressors the MAE."""
        first = next(iter(cards.values()))
        name = figure or ("mae" if isinstance(first, RegressionCard) else "recall")
        values = np.array([cards[group].figure(name).value for group in cards])
        few, few_words = ~np.isfinite(values), "; too few records to tell"
        noise, both = (
            np.array([cards[group].interval(name, sampling=sampling) for group in cards]).reshape(-1, 2)
            for sampling in (False, True)
        )
        values[few], noise[few], both[few] = np.nan, np.nan, np.nan
        names = [cards.name(group) + few_words * bool(unknown) for group, unknown in zip(cards, few, strict=True)]
        return cls(name, names, values, noise, both)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.groups))
        ax.hlines(places, *self.both.T, color=BLUE, linewidth=1, label="95 %, of their population")
        ax.hlines(places, *self.noise.T, color=BLUE, linewidth=5, alpha=0.5, label="95 %, of these records")
        ax.plot(self.values, places, "o", color=RED, markersize=4)
        ax.set_yticks(places, [wrapped(name, 20) for name in self.groups])
        ax.set_ylim(len(places) - 0.5, -0.5)
        framed(ax, "By group, from noisy counts", self.figure, "")
        ax.locator_params(axis="x", nbins=5)
        ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15))
