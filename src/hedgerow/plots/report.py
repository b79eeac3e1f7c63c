"""Pictures of a report card: curves, calibration and the confusion matrix, all computed from released counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hedgerow.analysis.card import Calibration, Curve, ReportCard
from hedgerow.analysis.regression_card import OutcomeCalibration, RegressionCard
from hedgerow.plots.axes import COLORS, GREY, Display, framed, shown, wrapped
from hedgerow.schema.features import Value

__all__ = ["CalibrationDisplay", "ConfusionMatrixDisplay", "PrecisionRecallDisplay", "ROCDisplay"]


def _labels(card: ReportCard) -> list[Value]:
    """Return the classes whose curves are drawn."""
    return [card.classes[1]] if len(card.classes) == 2 else list(card.classes)


class _Display(Display):
    """What the displays share: axes from 0 to 1, and one line for each class."""

    title = ""
    names = ("", "")

    def __init__(self, lines: Sequence[tuple[str, Any]]) -> None:
        self.lines = tuple(lines)

    def _begin(self, ax: Any) -> Any:
        ax = self._on(ax, (5.0, 4.6))
        framed(ax, self.title, *self.names)
        return ax

    def _end(self) -> None:
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(0, 1.02)
        if len(self.lines) > 1:
            self.ax_.legend(fontsize=8, frameon=False)


class _Banded(_Display):
    """Lines with bands for the uncertainty from the added noise."""

    def __init__(self, lines: Sequence[tuple[str, Any]], bands: Sequence[Any] = ()) -> None:
        super().__init__(lines)
        self.bands = tuple(bands)

    def _fill(self, i: int, curve: Curve, *, rising: bool) -> None:
        """Draw the band of a curve, between the extreme curves on either side that noise may give."""
        if i < len(self.bands):
            across, up = np.array(self.bands[i].x), np.array(self.bands[i].y)
            across = -across if rising else across
            upper = np.clip(curve.x + across, 0, 1), np.clip(curve.y + up, 0, 1)
            lower = np.clip(curve.x - across, 0, 1), np.clip(curve.y - up, 0, 1)
            outline = [np.concatenate((one, other[::-1])) for one, other in zip(upper, lower, strict=True)]
            self.ax_.fill(*outline, color=COLORS[i % len(COLORS)], alpha=0.2, linewidth=0)


class _Curves(_Banded):
    """One curve for each class, with its band; ``name`` is that of the card's methods."""

    name = ""
    rising = False
    style = "default"
    lines: tuple[tuple[str, Curve], ...]

    @classmethod
    def from_report(cls, card: ReportCard) -> Self:
        """Make the display of a report card."""
        curve, band = getattr(card, f"{cls.name}_curve"), getattr(card, f"{cls.name}_band")
        labels = _labels(card)
        return cls([(str(label), curve(label)) for label in labels], [band(label) for label in labels])

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        ax = self._begin(ax)
        for i, (name, curve) in enumerate(self.lines):
            ax.plot(curve.x, curve.y, color=COLORS[i % len(COLORS)], label=shown(name), drawstyle=self.style)
            self._fill(i, curve, rising=self.rising)
        self._end()
        return self


class ROCDisplay(_Curves):
    """ROC curves, each class against the others.

    Parameters
    ----------
    lines : sequence of (str, Curve)
        The name of each class and its curve.
    bands : sequence of Band
        Bands for the added noise, with a probability of 95 % at each threshold. If empty, no bands are drawn.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (4000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X[:3000], y[:3000])
    >>> card = hr.evaluate(model, X[3000:], y[3000:], epsilon=1.0)
    >>> [(name, curve)] = hr.ROCDisplay.from_report(card).lines
    >>> name, len(curve.x) == len(curve.y)
    ('high', True)
    """

    title = "ROC curve, with a 95 % band for the noise"
    names = ("false positive rate", "true positive rate")
    name, rising = "roc", True

    def _begin(self, ax: Any) -> Any:
        ax = super()._begin(ax)
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        return ax


class PrecisionRecallDisplay(_Curves):
    """Precision by recall, each class against the others.

    Parameters
    ----------
    lines : sequence of (str, Curve)
        The name of each class and its curve.
    bands : sequence of Band
        Bands for the added noise, with a probability of 95 % at each threshold. If empty, no bands are drawn.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (4000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X[:3000], y[:3000])
    >>> card = hr.evaluate(model, X[3000:], y[3000:], epsilon=1.0)
    >>> [(name, curve)] = hr.PrecisionRecallDisplay.from_report(card).lines
    >>> name, len(curve.x) == len(curve.y)
    ('high', True)
    """

    title = "Precision and recall, with a 95 % band for the noise"
    names = ("recall", "precision")
    name, style = "precision_recall", "steps-pre"


class CalibrationDisplay(_Banded):
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

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (4000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X[:3000], y[:3000])
    >>> card = hr.evaluate(model, X[3000:], y[3000:], epsilon=1.0)
    >>> [(name, bins)] = hr.CalibrationDisplay.from_report(card).lines
    >>> name, len(bins.predicted) == len(bins.observed)
    ('high', True)
    """

    title = "Calibration, with 95 % bars for the noise"
    names = ("predicted probability", "share with the label")
    lines: tuple[tuple[str, Calibration | OutcomeCalibration], ...]

    def __init__(self, lines: Sequence[tuple[str, Any]], bands: Sequence[Any] = (), *, outcome: bool = False) -> None:
        super().__init__(lines, bands)
        self.outcome = outcome
        if outcome:
            self.title = "Calibration, from noisy counts"
            self.names = ("mean prediction", "mean outcome")

    @classmethod
    def from_report(cls, card: ReportCard | RegressionCard) -> Self:
        """Make the display of a report card."""
        if isinstance(card, RegressionCard):
            return cls([("", card.calibration())], outcome=True)
        labels = _labels(card)
        lines = [(str(label), card.calibration(label)) for label in labels]
        return cls(lines, [card.calibration_band(label) for label in labels])

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        ax = self._begin(ax)
        ends = [0.0, 1.0]
        if self.outcome:
            values = np.concatenate([part for _, bins in self.lines for part in bins[:2]])
            ends = [float(values.min()), float(values.max())] if len(values) else []
        ax.plot(ends, ends, color=GREY, linewidth=0.8, linestyle=":")
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
            self._end()
        return self


class ConfusionMatrixDisplay(_Display):
    """The noisy number of records by label and predicted class.

    Parameters
    ----------
    lines : sequence of (str, ndarray)
        The name of each class and its row.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (4000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X[:3000], y[:3000])
    >>> card = hr.evaluate(model, X[3000:], y[3000:], epsilon=1.0)
    >>> [name for name, row in hr.ConfusionMatrixDisplay.from_report(card).lines]
    ['low', 'high']
    """

    title = "Confusion matrix, noisy counts"
    names = ("predicted class", "label")

    @classmethod
    def from_report(cls, card: ReportCard) -> Self:
        """Make the display of a report card."""
        return cls([(str(label), row) for label, row in zip(card.classes, card.confusion_matrix, strict=True)])

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        ax = self._begin(ax)
        table = np.array([row for _, row in self.lines])
        ax.imshow(np.maximum(table, 0), cmap="Blues", vmin=0)
        for (i, j), count in np.ndenumerate(table):
            dark = count > table.max() / 2
            ax.text(j, i, f"{count:,.0f}", ha="center", va="center", color="white" if dark else "black", fontsize=12)
        names = [wrapped(name, 16) for name, _ in self.lines]
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(names)), names)
        return self
