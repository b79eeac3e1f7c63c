"""The share of a model that each feature accounts for, and its contribution to the prediction for one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from hedgerow.additive.curves import noise_by_feature
from hedgerow.additive.model import AdditiveModel
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Explanation
from hedgerow.plots.axes import BLUE, GREY, RED, Display, short, shown, wrapped


@dataclass(eq=False, repr=False)
class ImportancesDisplay(Display):
    """The importances of the features as bars, and for ``HedgerowClassifier`` the importance that noise alone would give.

    A bar shows ``feature_importances_``. For ``HedgerowClassifier`` it is a share of the spread of curves and cuts, for DiffGen
    and DT-Diff of the specializations, and for other systems of the tests, whatever their effect. A feature whose bar does not
    pass the grey mark may be pure noise. The bars are computed from released values and cost nothing.

    Parameters
    ----------
    names : sequence of str
        The features.
    importances : ndarray of shape (features,)
        Shares that add up to 1.
    noise : ndarray of shape (features,) or None
        The importance that noise alone would give each feature; None if it is not known.
    words : str
        What the shares are of.
    max_features : int
        Maximum number of bars, the largest first.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> display = ImportancesDisplay(schema.names, model.feature_importances_, noise=None, words="")
    >>> bool(np.isclose(display.importances.sum(), 1))
    True
    """

    names: Sequence[str]
    importances: Floats
    noise: Floats | None = None
    words: str = field(default="", kw_only=True)
    max_features: int = field(default=20, kw_only=True)

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_features: int = 20, ax: Any = None) -> Self:
        """Draw the importances of a fitted classifier and return the display.

        Parameters
        ----------
        estimator : PrivateEstimator
            The model.
        max_features : int, default 20
            Maximum number of bars, the largest first.
        ax : axes or None
            The axes to draw on. None makes a new figure.
        """
        model = estimator.model_
        noise = noise_by_feature(model) if isinstance(model, AdditiveModel) else None
        names = estimator.schema_.names
        display = cls(
            names, estimator.feature_importances_, noise, words=model.importance_rule, max_features=max_features
        )
        return display.plot(ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 0.9 + 0.28 * min(len(self.names), self.max_features)

    def _draw(self, ax: Any) -> None:
        drawn = np.argsort(-self.importances, kind="stable")[: self.max_features]
        places = np.arange(len(drawn))
        ax.barh(places, self.importances[drawn], color=BLUE, height=0.7)
        if self.noise is not None:
            ends = self.noise[drawn]
            ax.barh(places, ends, height=0.3, color=GREY, label="what noise alone would show")
            ax.legend(frameon=False, fontsize=8, loc="lower right")
        left = len(self.names) - len(drawn)
        ax.set_yticks(places, [wrapped(self.names[place], 30) for place in drawn], fontsize=8)
        ax.set_ylim(len(drawn) - 0.4, -0.6)
        ax.set_xlabel(wrapped(self.words + (f"; {left} features more" if left else ""), 80), fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)


@dataclass(eq=False, repr=False)
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

    explanation: Explanation
    record: int = 0
    label: Any = field(default=None, kw_only=True)
    max_features: int = field(default=10, kw_only=True)
    confidence: float = field(default=0.9, kw_only=True)

    def __post_init__(self) -> None:
        records, classes = len(self.explanation.contributions), self.explanation.classes
        if not 0 <= self.record < records:
            raise ConfigurationError(f"record {self.record} does not exist; there are {records}, counted from 0.")
        if self.label is not None and self.label not in classes:
            raise ConfigurationError(f"there is no class {self.label!r}; pass one of {classes}.")

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
        explanation = estimator.explain(X)
        return cls(explanation, record, label=label, max_features=max_features, confidence=confidence).plot(ax)

    def _size(self) -> tuple[float, float]:
        features = len(self.explanation.names)
        return 6.8, 1.1 + 0.3 * (min(features, self.max_features) + (features > self.max_features))

    def _draw(self, ax: Any) -> None:
        explanation, record = self.explanation, self.record
        added, deviation = (
            explanation.contributions[record],
            None if explanation.deviation is None else explanation.deviation[record],
        )
        baseline, total = explanation.baseline, explanation.total[record]
        label = explanation.classes[-1] if explanation.classes else None
        if added.ndim == 2:
            column = int(np.argmax(total)) if self.label is None else explanation.classes.index(self.label)
            label, baseline, total = explanation.classes[column], np.asarray(baseline)[column], total[column]
            added, deviation = added[:, column], None if deviation is None else deviation[:, column]
        order = np.argsort(-np.abs(added), kind="stable")
        first, rest = order[: self.max_features], order[self.max_features :]
        bars = [*added[first], *([added[rest].sum()] if len(rest) else [])]
        words = [f"{explanation.names[place]} = {short(explanation.cells[record, place])}" for place in first]
        words += [f"{len(rest)} more"] if len(rest) else []
        places = np.arange(len(bars))
        ax.barh(places, bars, color=[BLUE if bar >= 0 else RED for bar in bars], height=0.7, alpha=0.85)
        if deviation is not None:
            half = NormalDist().inv_cdf((1 + self.confidence) / 2) * deviation[first]
            ax.errorbar(bars[: len(first)], places[: len(first)], xerr=half, fmt="none", ecolor="black", linewidth=1)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks(places, [shown(word) for word in words], fontsize=8)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        ax.set_xlabel(shown(f"added to the {explanation.scale}" + (f" of {label}" if explanation.classes else "")))
        ax.set_title(
            shown(f"{total:.2f}: {float(baseline):.2f} on average, {total - baseline:+.2f} here"),
            fontsize=10,
            loc="left",
        )
        ax.spines[["top", "right"]].set_visible(False)
