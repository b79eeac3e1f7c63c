"""What a model learned about its features: curves over their units, with uncertainty bands for the added noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from hedgerow.additive.curves import Curve, Pair, curve_of, pair_of
from hedgerow.additive.model import AdditiveModel
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder
from hedgerow.plots.axes import BLUE, COLORS, GREY, Display, framed, new_grid, shown, wrapped
from hedgerow.schema import Date, Encoder, Numeric
from hedgerow.texts import short_repr

Column = tuple[Floats, Floats | None, str, str]  # of one class: values, half-widths of the band, color and label

FARTHEST = 1e300  # from zero that is drawn: matplotlib computes widths
FIRST = 6  # panels if no features are named
MOST_VALUES = 20  # values of a category that are drawn
LABEL = 28  # characters in a line of a label
FAINT = 0.1  # log-odds; a map with a smaller maximum does not use the full range of colors


@dataclass(frozen=True, eq=False)
class FeatureAxis:
    name: str
    labels: tuple[str, ...]
    ends: Floats | None  # of a numeric feature's bins
    values: int  # the number of codes that are values; the others are missing and undeclared
    tick: Callable[[float], str] | None = None  # the text at a position of the axis, such as a date

    @classmethod
    def of(cls, encoder: Encoder, feature: int) -> Self:
        name = encoder.schema.names[feature]
        kind, codes = encoder.schema.features[name], int(encoder.n_codes[feature])
        labels = tuple(kind.code_label(code, encoder.max_bins) for code in range(codes))
        if isinstance(kind, Numeric):
            ends = np.clip([kind.low, *encoder.edges[feature], kind.end], -FARTHEST, FARTHEST)
            return cls(name, labels, ends, codes - 1, kind.edge_label if isinstance(kind, Date) else None)
        return cls(name, labels, None, codes - 2)


@dataclass(frozen=True, eq=False)
class FeaturePanel:
    """One feature with its curve, or two and what they add together beyond that, with the uncertainty from the added noise."""

    axes: tuple[FeatureAxis, ...]
    effect: Curve | Pair

    __repr__ = short_repr


def feature_panels(
    estimator: Any, features: str | Iterable[str | tuple[str, str]] | None = None
) -> tuple[FeaturePanel, ...]:
    """Return the panels of features, and of pairs of features, of an additive model.

    Without ``features`` they are the six of the largest importances. A model without curves is refused. Classes are in the order
    of ``classes_``; for two classes there is one column.
    """
    model, names, order = estimator.model_, list(estimator.schema_.names), ClassOrder.of(estimator.schema_)
    if not isinstance(model, AdditiveModel):
        raise ConfigurationError(
            f"{type(estimator).__name__} has no curve for each feature. Fit "
            "hr.HedgerowClassifier or hr.HedgerowRegressor, or show one prediction by hr.ExplanationDisplay."
        )
    if features is None:
        largest = np.argsort(-estimator.feature_importances_, kind="stable")[:FIRST]
        features = [names[place] for place in largest]
    panels = []
    for panel in [features] if isinstance(features, str) else features:
        of = (panel,) if isinstance(panel, str) else tuple(panel)
        unknown = [name for name in of if name not in names]
        if unknown:
            raise ConfigurationError(f"there is no feature {unknown[0]!r}; pass one of {', '.join(map(str, names))}.")
        places = sorted(map(names.index, of))
        if len(of) > 2 or len(set(places)) < len(of):
            raise ConfigurationError(f"{of} is no pair; pass two different features.")
        effect = curve_of(model, places[0]) if len(of) == 1 else pair_of(model, *places)
        deviation = effect.deviation
        if deviation is not None and deviation.shape[-1] > 1:
            deviation = order.columns(deviation)
        effect = replace(effect, values=order.margins(effect.values), deviation=deviation)
        panels.append(FeaturePanel(tuple(FeatureAxis.of(model.encoder, place) for place in places), effect))
    return tuple(panels)


def outcome_words(estimator: Any) -> str | None:
    """Return a description of the quantity to which the curves of a regressor add up; None for a classifier."""
    if estimator.schema_.classes:
        return None
    target = estimator.schema_.target or "the outcome"
    return target if estimator.model_.loss.scale == "outcome" else f"the log of {target}"


@dataclass(eq=False, repr=False)
class FeatureDisplay(Display):
    """The contribution of each feature to the log-odds or outcome, as step functions over its units, with a band.

    For ``HedgerowClassifier`` and ``HedgerowRegressor``, a panel shows the contribution of a feature by itself. It is the sum of
    the feature's own curves and of the average, over their other features, of rounds with cuts that use it. The average is
    weighted by what was released about the cells. The panel of a pair is a map of the joint contribution of both features beyond
    that; cells that noise alone may explain are grey. Curves are centered on their mean. The band shows the uncertainty from the
    added noise only. It does not include the bias of smoothing, sampling variation of the records or the selection of features
    (docs/curves.md). Everything drawn is computed from released values and costs nothing.

    Parameters
    ----------
    panels : sequence of FeaturePanel
        The panels to draw.
    classes : tuple
        The classes, sorted. For two classes, the log-odds are those of the second. None for a regressor, whose curves are in the
        unit of the outcome or of its log.
    confidence : float
        The coverage of the bands.
    target : str or None
        The quantity to which a regressor's curves add up: the name of its outcome, or the log of it.

    Attributes
    ----------
    axes_
        The matplotlib axes of each panel; set by ``plot``, as ``figure_``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["low", "high"])
    >>> model = hr.HedgerowClassifier(epsilon=1.0, schema=schema).fit([["x"], ["y"]] * 500, ["low", "high"] * 500)
    >>> [panel] = feature_panels(model, "a")
    >>> panel.effect.values.shape == panel.effect.deviation.shape == (len(panel.axes[0].labels), 1)
    True
    """

    axes_: list[Any] = field(init=False)
    panels: Sequence[FeaturePanel]
    classes: Sequence[Any]
    confidence: float = field(default=0.9, kw_only=True)
    target: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ConfigurationError(f"confidence is {self.confidence!r}, but it is a share; pass for example 0.9.")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        features: str | Iterable[str | tuple[str, str]] | None = None,
        *,
        confidence: float = 0.9,
        ax: Any = None,
    ) -> Self:
        """Draw features of a fitted booster and return the display.

        ``features`` are a name, or names and pairs of names, or None for the six most important features; ``ax`` are the axes to
        draw on, one for each panel.
        """
        panels, classes = feature_panels(estimator, features), ClassOrder.of(estimator.schema_).classes
        return cls(panels, classes, confidence=confidence, target=outcome_words(estimator)).plot(ax)

    @property
    def sureness(self) -> float:
        return NormalDist().inv_cdf((1 + self.confidence) / 2)

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display; ``ax`` is one matplotlib axes for each panel, and None makes a new figure."""
        if ax is None:
            self.axes_ = new_grid(len(self.panels), (4.6, 3.4))
        else:
            self.axes_ = list(ax) if isinstance(ax, Iterable) else [ax]
        if len(self.axes_) != len(self.panels):
            raise ConfigurationError(
                f"there are {len(self.panels)} panels, and {len(self.axes_)} axes to draw them on."
            )
        for axes, panel in zip(self.axes_, self.panels, strict=True):
            if isinstance(panel.effect, Pair):
                self._draw_pair(axes, panel.axes, panel.effect)
            else:
                self._draw_curve(axes, panel.axes[0], panel.effect)
        self.figure_ = self.axes_[0].figure if self.axes_ else None
        return self

    def _draw_curve(self, ax: Any, axis: FeatureAxis, curve: Curve) -> None:
        quantity = f"added to {self.target or 'the outcome'}"
        if self.classes:
            quantity = f"log-odds of {self.classes[1]}" if len(self.classes) == 2 else "log-odds"
        quantity, title = wrapped(quantity, LABEL), wrapped(axis.name, 40)
        # Values, half-widths of bands, color and label of each class; for two classes, of the second only.
        columns, many = [], curve.values.shape[1] > 1
        for k, values in enumerate(curve.values.T):
            half = None if curve.deviation is None else self.sureness * curve.deviation[:, k]
            color, label = (COLORS[k % len(COLORS)], shown(self.classes[k])) if many else (BLUE, "")
            columns.append((values, half, color, label))
        if axis.ends is None:
            ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
            self._draw_values(ax, axis, curve, columns)
            framed(ax, title, quantity)
        else:
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
            self._draw_steps(ax, axis, curve, columns)
            framed(ax, title, wrapped(axis.name, LABEL), quantity)
            name_ticks(ax.xaxis, axis)
        if len(self.classes) > 2:
            ax.legend(frameon=False, fontsize=8)
        if not curve.values.any():
            ax.annotate("the model does not use it", (0.5, 0.6), xycoords="axes fraction", ha="center", color=GREY)

    def _draw_steps(self, ax: Any, axis: FeatureAxis, curve: Curve, columns: list[Column]) -> None:
        ends, bins, missing = axis.ends, slice(axis.values), bool(curve.seen[axis.values])
        assert ends is not None
        beside = ends[-1] + 0.06 * (ends[-1] - ends[0])
        for values, half, color, label in columns:
            ax.stairs(values[bins], ends, baseline=None, color=color, linewidth=1.6, label=label)
            if half is not None:
                low, high = values[bins] - half[bins], values[bins] + half[bins]
                band = [*low, low[-1]], [*high, high[-1]]
                ax.fill_between(ends, *band, step="post", color=color, alpha=0.2, linewidth=0)
            if missing:
                error = None if half is None else half[axis.values]
                ax.errorbar([beside], [values[axis.values]], yerr=error, fmt="o", color=color, markersize=4)
        if missing:
            ax.annotate(
                "missing", (beside, 0.02), xycoords=("data", "axes fraction"), rotation=90, fontsize=8, ha="center"
            )
        shares = curve.mass[bins]
        if curve.deviation is not None and shares.max() > 0:
            # The share of each bin, if it was released: without it, empty ends look as certain as the middle.
            bottom = ax.inset_axes((0, 0, 1, 0.08), sharex=ax)
            bottom.stairs(shares, ends, fill=True, color=GREY, alpha=0.5)
            bottom.set_axis_off()

    def _draw_values(self, ax: Any, axis: FeatureAxis, curve: Curve, columns: list[Column]) -> None:
        """Draw a categorical feature: a point for each value, or for those of the most records if there are too many."""
        drawn = [code for code in range(len(axis.labels)) if code < axis.values or curve.seen[code]]
        left = len(drawn) - MOST_VALUES
        if left > 0:
            drawn = sorted(sorted(drawn, key=lambda code: -curve.mass[code])[:MOST_VALUES])
        places = np.arange(len(drawn))
        for number, (values, half, color, label) in enumerate(columns):
            aside = 0.5 * ((number + 0.5) / len(columns) - 0.5)
            error = None if half is None else half[drawn]
            ax.errorbar(values[drawn], places + aside, xerr=error, fmt="o", color=color, markersize=4, label=label)
        labels = [wrapped(axis.labels[code], LABEL) for code in drawn]
        if left > 0:
            labels[-1] += f"\n(+ {left} of fewer records)"
        ax.set_yticks(places, labels, fontsize=8)
        ax.invert_yaxis()

    def _draw_pair(self, ax: Any, axes: tuple[FeatureAxis, ...], pair: Pair) -> None:
        """Draw a pair as a map; cells that noise alone may explain are grey. With more than two classes, the last is drawn."""
        cells: Any = (*(slice(axis.values) for axis in axes), -1)
        values, deviation = pair.values[cells], pair.deviation
        ends = [np.arange(axis.values + 1) - 0.5 if axis.ends is None else axis.ends for axis in axes]
        most = max(float(np.abs(values).max()), FAINT if self.classes else 0.0) or 1.0
        drawn = ax.pcolormesh(*ends, values.T, cmap="RdBu_r", vmin=-most, vmax=most)
        if deviation is not None:
            veil = np.where(np.abs(values) <= self.sureness * deviation[cells], 1.0, np.nan)
            ax.pcolormesh(*ends, veil.T, cmap="Greys", vmin=0, vmax=3, alpha=0.75)
        for axis, of, ticks in zip(axes, (ax.xaxis, ax.yaxis), (ax.set_xticks, ax.set_yticks), strict=True):
            name_ticks(of, axis)
            if axis.ends is None:
                turned = {"rotation": 45, "ha": "right"} if axis is axes[0] else {}
                ticks(range(axis.values), [shown(label) for label in axis.labels[: axis.values]], fontsize=7, **turned)
        first, second = (axis.name for axis in axes)
        ax.set_xlabel(wrapped(first, LABEL))
        ax.set_ylabel(wrapped(second, LABEL))
        ax.set_title(wrapped(f"{first} and {second} together", 40), fontsize=10, loc="left")
        quantity = f"log-odds of {self.classes[-1]}" if self.classes else f"added to {self.target or 'the outcome'}"
        ax.figure.colorbar(drawn, ax=ax, label=wrapped(quantity, LABEL))


def name_ticks(of: Any, axis: FeatureAxis) -> None:
    tick = axis.tick
    if tick is not None:
        of.set_major_formatter(lambda place, _: tick(place))
        of.set_tick_params(labelrotation=30, labelsize=8)
