"""Pictures of a report card, all computed from released counts: curves, calibration, the confusion matrix, residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.analysis.card import INTERVALS, Card
from hedgerow.analysis.classification_card import ReportCard
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.regression_card import RegressionCard
from hedgerow.plots.axes import BLUE, COLORS, GREY, RED, TEXTS, Display, framed, shown, wrapped
from hedgerow.schema.features import Value

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)  # of the outcomes or residuals below the quantiles that are drawn
MOST_SHOWN = 0.995  # share of the residuals within the picture


@dataclass(eq=False, repr=False)
class CardDisplay(Display):
    """A picture of a report card, which it holds. A subclass says what it draws; parameters and an example are added."""

    kind: ClassVar[str] = "ReportCard"

    card: Any

    def __init_subclass__(cls) -> None:
        example = TEXTS["example-of-numbers" if cls.kind == "RegressionCard" else "example-of-classes"]
        words = {"words": (cls.__doc__ or "").strip(), "kind": cls.kind, "name": cls.__name__}
        cls.__doc__ = TEXTS["display"].format(**words, **example)

    @classmethod
    def from_report(cls, card: Any) -> Self:
        """Make the display of a report card."""
        return cls(card)


def _labels(card: ReportCard) -> Iterator[tuple[str, Value]]:
    """Return the colors and labels of the curves of a card: of two classes the second alone."""
    return zip(cycle(COLORS), card.classes[1:] if len(card.classes) == 2 else card.classes, strict=False)


def _diagonal(ax: Any, ends: Sequence[float]) -> None:
    ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")


def _within_one(ax: Any, card: ReportCard) -> None:
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    if len(card.classes) > 2:
        ax.legend(fontsize=8, frameon=False)


class ROCDisplay(CardDisplay):
    """ROC curves, each class against the others, with 95 % bands for the added noise at each threshold."""

    card: ReportCard

    def _draw(self, ax: Any) -> None:
        title = "ROC curve at the ends of bins, with a 95 % band for the noise"
        framed(ax, title, "false positive rate", "true positive rate")
        _diagonal(ax, [0, 1])
        for color, label in _labels(self.card):
            curve, band = self.card.roc_curve(label), self.card.roc_band(label)
            ax.plot(curve.x, curve.y, color=color, label=shown(label), marker=".", markersize=4)
            # Between the extreme curves on either side that noise may give.
            x = np.concatenate([curve.x - band.x, (curve.x + band.x)[::-1]])
            y = np.concatenate([curve.y + band.y, (curve.y - band.y)[::-1]])
            ax.fill(np.clip(x, 0, 1), np.clip(y, 0, 1), color=color, alpha=0.2, linewidth=0)
        _within_one(ax, self.card)


class CalibrationDisplay(CardDisplay):
    """Observed frequency of a class by predicted probability. Bins that do not stand out from their noise are left out.

    For a regressor's card: the mean outcome of each tenth of the predictions by its mean prediction, without bars for the noise.
    """

    kind = "ReportCard or RegressionCard"
    card: ReportCard | RegressionCard

    def _draw(self, ax: Any) -> None:
        style = {"marker": "o", "markersize": 4, "elinewidth": 0.8}
        if isinstance(self.card, RegressionCard):
            framed(ax, "Calibration, from noisy counts", "mean prediction", "mean outcome")
            bins = self.card.calibration()
            values = np.concatenate(bins[:2])
            _diagonal(ax, [float(values.min()), float(values.max())] if len(values) else [])
            ax.errorbar(bins.predicted, bins.observed, color=COLORS[0], **style)
            ax.locator_params(axis="x", nbins=5)
            return
        framed(ax, "Calibration, with 95 % bars for the noise", "predicted probability", "share with the label")
        _diagonal(ax, [0.0, 1.0])
        for color, label in _labels(self.card):
            shares, band = self.card.calibration(label), self.card.calibration_band(label)
            ax.errorbar(shares.predicted, shares.observed, yerr=band, color=color, label=shown(label), **style)
        _within_one(ax, self.card)


class ConfusionMatrixDisplay(CardDisplay):
    """The noisy number of records by label and predicted class."""

    card: ReportCard

    def _draw(self, ax: Any) -> None:
        framed(ax, "Confusion matrix, noisy counts", "predicted class", "label")
        table = self.card.confusion_matrix
        ax.imshow(np.maximum(table, 0), cmap="Blues", vmin=0)
        for (i, j), count in np.ndenumerate(table):
            dark = count > table.max() / 2
            ax.text(j, i, f"{count:,.0f}", ha="center", va="center", color="white" if dark else "black", fontsize=12)
        names = [wrapped(label, 16) for label in self.card.classes]
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(names)), names)


class PredictionErrorDisplay(CardDisplay):
    """Predicted against observed outcomes: for each group of predictions, the central 50 % and 90 % of the outcomes.

    Groups have about the same number of records. A group that does not stand out from its noise is left out.
    """

    kind = "RegressionCard"
    card: RegressionCard

    def _draw(self, ax: Any) -> None:
        predicted, outcomes = self.card.outcomes_by_prediction(SHARES)
        if len(predicted):
            both = predicted, outcomes
            _diagonal(ax, [min(part.min() for part in both), max(part.max() for part in both)])
        low, lower, middle, upper, high = outcomes.T
        ax.vlines(predicted, low, high, color=BLUE, linewidth=1, label="90 % of outcomes")
        ax.vlines(predicted, lower, upper, color=BLUE, linewidth=5, alpha=0.5, label="the middle half")
        ax.plot(predicted, middle, "o", color=RED, markersize=4, label="median")
        framed(ax, "Predicted against observed, from noisy counts", "mean prediction of a group", "outcome")
        ax.locator_params(axis="x", nbins=5)  # with more, numbers of six digits would overlap
        ax.legend(fontsize=8, frameon=False, loc="lower right")


class ResidualDisplay(CardDisplay):
    """The distribution of residuals (outcome minus prediction), with quantiles."""

    kind = "RegressionCard"
    card: RegressionCard

    def _draw(self, ax: Any) -> None:
        shares, bins = self.card.residual_shares, self.card.grid.residuals
        first, last = np.searchsorted(np.cumsum(shares), [1 - MOST_SHOWN, MOST_SHOWN])
        ax.stairs(np.maximum(shares, 0) / np.diff(bins), bins, fill=True, color=BLUE, alpha=0.5)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_xlim(bins[min(first, len(shares) - 1)], bins[min(last + 1, len(shares))])
        ax.set_yticks([])
        for share in SHARES:
            residual = self.card.quantile(share)
            ax.axvline(residual, color=RED, linewidth=0.8, linestyle="--", label=f"{share:.0%}: {residual:.3g}")
        ax.legend(fontsize=8, frameon=False, handlelength=0)
        framed(ax, "Residuals and their quantiles, from noisy counts", "residual (outcome less prediction)", "density")
        ax.locator_params(axis="x", nbins=5)


@dataclass(eq=False, repr=False)
class GroupsDisplay(Display):
    """A figure of each group of records, with its intervals: of these records, and of their population.

    A group whose figure is not known has a name and nothing beside it.

    Parameters
    ----------
    cards : GroupCards
        The cards of the groups.
    figure : str or None
        The figure, such as "recall"; None: the recall, or of regressors the MAE.

    Examples
    --------
    >>> import hedgerow as hr
    >>> cards = hr.GroupCards("site", {})  # as hr.evaluate(..., by="site") returns them
    >>> hr.GroupsDisplay.from_report(cards, "accuracy").figure
    'accuracy'
    """

    cards: GroupCards
    figure: str | None = None

    @classmethod
    def from_report(cls, cards: GroupCards, figure: str | None = None) -> Self:
        """Make the display of the cards of groups."""
        return cls(cards, figure)

    def _draw(self, ax: Any) -> None:
        figure = self.figure or ("mae" if isinstance(next(iter(self.cards.values())), RegressionCard) else "recall")
        names = []
        for place, (group, card) in enumerate(self.cards.items()):
            value = card.figure(figure).value
            known = np.isfinite(value)
            names.append(self.cards.name(group) + "; too few records to tell" * (not known))
            for sampling, style in ((True, {"linewidth": 1}), (False, {"linewidth": 5, "alpha": 0.5})):
                ends = card.interval(figure, sampling=sampling) if known else (np.nan, np.nan)
                label = INTERVALS[sampling] if place == 0 else None
                ax.hlines(place, *ends, color=BLUE, label=label, **style)
            ax.plot([value], [place], "o", color=RED, markersize=4)
        ax.set_yticks(range(len(names)), [wrapped(name, 20) for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        framed(ax, "By group, from noisy counts", figure, "")
        ax.locator_params(axis="x", nbins=5)
        ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15))


def displays_of(report: Card | GroupCards) -> tuple[list[Any], str]:
    """Return the displays of a report's page, and what they show."""
    if isinstance(report, GroupCards):
        figures = next(iter(report.values())).FIGURES[:3]
        return [GroupsDisplay.from_report(report, name) for name in figures], f"{', '.join(figures)} of each group"
    kinds: tuple[Any, ...] = (ROCDisplay, CalibrationDisplay, ConfusionMatrixDisplay)
    content = "the ROC curve, calibration, and the confusion matrix"
    if isinstance(report, RegressionCard):
        kinds = (PredictionErrorDisplay, ResidualDisplay, CalibrationDisplay)
        content = "predictions against outcomes, residuals with quantiles, and calibration by tenths of the predictions"
    return [kind.from_report(report) for kind in kinds], content
