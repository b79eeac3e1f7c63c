"""The share of a model that each feature accounts for, beside the importance that noise alone would give it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from hedgerow.additive.curves import noise_by_feature
from hedgerow.additive.model import AdditiveModel
from hedgerow.arrays import Floats
from hedgerow.plots.axes import BLUE, GREY, Display, wrapped

__all__ = ["ImportancesDisplay"]


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

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure; set by ``plot``.

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

    def __init__(
        self,
        names: Sequence[str],
        importances: Floats,
        noise: Floats | None = None,
        *,
        words: str = "",
        max_features: int = 20,
    ) -> None:
        self.names = tuple(names)
        self.importances = importances
        self.noise = noise
        self.words = words
        self.max_features = max_features

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

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        drawn = np.argsort(-self.importances, kind="stable")[: self.max_features]
        ax = self._on(ax, (6.4, 0.9 + 0.28 * len(drawn)))
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
        return self
