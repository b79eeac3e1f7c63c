"""What each feature contributes to the prediction for one record."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Self

import numpy as np

from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Explanation
from hedgerow.plots.axes import BLUE, GREY, RED, Display, short, shown

__all__ = ["ExplanationDisplay"]


class ExplanationDisplay(Display):
    """The contribution of each feature to the log-odds or probability of one record, as bars.

    The bars and the baseline add up to the model's prediction. Whiskers show the uncertainty from the added noise in a feature's
    own contribution, if it is known. With more than two classes, one class is drawn.

    Parameters
    ----------
    explanation : Explanation
        The result of ``model.explain(X)``.
    record : int
        The row of ``X``, counted from 0.
    label : class or None
        The class to draw if there are more than two. None: the class with the largest sum.
    max_features : int
        Maximum number of bars, the largest first. The rest are summed in one bar.
    confidence : float
        The coverage of the whiskers.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

    Raises
    ------
    ConfigurationError
        If there is no such record or class.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> display = ExplanationDisplay(model.explain(X[:1]), record=0)
    >>> display.explanation.names
    ('a', 'b')
    """

    def __init__(
        self,
        explanation: Explanation,
        record: int = 0,
        *,
        label: Any = None,
        max_features: int = 10,
        confidence: float = 0.9,
    ) -> None:
        records = len(explanation.contributions)
        if not 0 <= record < records:
            raise ConfigurationError(f"record {record} does not exist; there are {records}, counted from 0.")
        if label is not None and label not in explanation.classes:
            raise ConfigurationError(f"there is no class {label!r}; pass one of {explanation.classes}.")
        self.explanation = explanation
        self.record = record
        self.max_features = max_features
        self.confidence = confidence
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        record: int = 0,
        *,
        label: Any = None,
        max_features: int = 10,
        confidence: float = 0.9,
        ax: Any = None,
    ) -> Self:
        """Draw the explanation of one record of ``X`` by a fitted model and return the display.

        Parameters
        ----------
        estimator : PrivateEstimator
            The model; see ``explain``.
        X : data frame or array
            The records.
        record, label, max_features, confidence
            See the class.
        ax : axes or None
            The axes to draw on. None makes a new figure.
        """
        found = estimator.explain(X)
        return cls(found, record, label=label, max_features=max_features, confidence=confidence).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        found, record = self.explanation, self.record
        added, deviation = found.contributions[record], None if found.deviation is None else found.deviation[record]
        baseline, total = found.baseline, found.total[record]
        label = found.classes[-1] if found.classes else None
        if added.ndim == 2:
            column = int(np.argmax(total)) if self.label is None else found.classes.index(self.label)
            label, baseline, total = found.classes[column], np.asarray(baseline)[column], total[column]
            added, deviation = added[:, column], None if deviation is None else deviation[:, column]
        order = np.argsort(-np.abs(added), kind="stable")
        first, rest = order[: self.max_features], order[self.max_features :]
        bars = [*added[first], *([added[rest].sum()] if len(rest) else [])]
        words = [f"{found.names[place]} = {short(found.cells[record, place])}" for place in first]
        words += [f"{len(rest)} more"] if len(rest) else []
        ax = self._on(ax, (6.8, 1.1 + 0.3 * len(bars)))
        places = np.arange(len(bars))
        ax.barh(places, bars, color=[BLUE if bar >= 0 else RED for bar in bars], height=0.7, alpha=0.85)
        if deviation is not None:
            half = NormalDist().inv_cdf((1 + self.confidence) / 2) * deviation[first]
            ax.errorbar(bars[: len(first)], places[: len(first)], xerr=half, fmt="none", ecolor="black", linewidth=1)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks(places, [shown(word) for word in words], fontsize=8)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        ax.set_xlabel(shown(f"added to the {found.scale}" + (f" of {label}" if found.classes else "")))
        ax.set_title(
            shown(f"{total:.2f}: {float(baseline):.2f} on average, {total - baseline:+.2f} here"),
            fontsize=10,
            loc="left",
        )
        ax.spines[["top", "right"]].set_visible(False)
        return self
