"""What a model learned: importances, one prediction explained, and a released tree as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from hedgerow.additive.curves import noise_by_feature
from hedgerow.additive.model import AdditiveModel
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, Explanation
from hedgerow.plots.axes import BLUE, GREY, RED, Display, framed, shown, wrapped
from hedgerow.schema import Categorical, Numeric
from hedgerow.schema.features import Feature
from hedgerow.texts import printable, shortened
from hedgerow.trees import BoostedModel, ForestModel


def tree_lines(model: ForestModel, tree: int) -> Iterator[str]:
    """Yield the lines of a tree (from 0), indented below each test.

    A leaf of a booster has its contribution to the log-odds: of each class, or of two classes the second's alone.
    """
    forest, encoder, order = model.forest, model.encoder, ClassOrder.of(model.encoder.schema)
    schema = encoder.schema

    def leaf_text(node: int) -> str:
        if isinstance(model, BoostedModel):  # whose counts may be weights in other units
            margins = order.margins(model.shown(model.votes[[node]] / model.vote_steps)[0])
            return f"log-odds {', '.join(f'{added:+.3f}' for added in margins.reshape(-1).tolist())}"
        counts = () if forest.counts is None else order.columns(forest.counts[node]).tolist()
        text = printable(str(schema.classes[int(forest.label[node])]))
        return f"{text}, noisy counts {', '.join(map(str, counts))}" if counts else text

    def lines(node: int, when: str, depth: int) -> Iterator[str]:
        test = int(forest.test[node])
        if test < 0:
            yield f"{'  ' * depth}{when}: {leaf_text(node)}"
            return
        if depth:
            yield f"{'  ' * depth}{when}"
        feature, first = int(forest.candidates.feature[test]), int(forest.first_child[node])
        branch_of_code = forest.candidates.branches([test])[0, : int(encoder.n_codes[feature])]
        name = schema.names[feature]
        for branch in range(int(forest.candidates.arity[test])):
            codes = np.flatnonzero(branch_of_code == branch).tolist()
            text = branch_text(name, schema.features[name], codes, encoder.max_bins)
            yield from lines(first + branch, text, depth + 1)

    return lines(int(forest.roots[tree]), "always", 0)


def branch_text(name: str, feature: Feature, codes: list[int], max_bins: int) -> str:
    """Return the cells of a feature that take a branch, such as "age in [18, 32.4) or missing" or "job = nurse"."""
    negated = ""
    if isinstance(feature, Categorical):
        others = [code for code in range(feature.n_codes(max_bins)) if code not in codes]
        if len(others) == 1 and len(codes) > 1:
            negated, codes = "not ", others
    n_values = feature.n_codes(max_bins) - (1 if isinstance(feature, Numeric) else 2)
    values, parts = [code for code in codes if code < n_values], []
    if isinstance(feature, Numeric):
        # Neighboring codes less their places are equal.
        for _, run in groupby(enumerate(values), lambda pair: pair[1] - pair[0]):
            within = [code for _, code in run]
            label = feature.interval_label(within[0], within[-1], max_bins)
            parts.append(f"in {label}" if label.startswith("[") else f"= {label}")
    elif values:
        parts.append("= " + ", ".join(printable(feature.code_label(code, max_bins)) for code in values))
    parts += [feature.code_label(code, max_bins) for code in codes if code >= n_values]
    return f"{printable(name)} {negated}{' or '.join(parts)}"


LABEL = 34  # characters in a line of a feature's name, or of its cell


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
    >>> display = ImportancesDisplay(["age", "job"], np.array([0.7, 0.3]), words="share of the tests")
    >>> display.noise is None
    True
    """

    names: Sequence[str]
    importances: Floats
    noise: Floats | None = None
    words: str = field(default="", kw_only=True)
    max_features: int = field(default=20, kw_only=True)

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_features: int = 20, ax: Any = None) -> Self:
        """Draw the importances of a fitted model and return the display; ``ax`` are the axes to draw on."""
        model = estimator.model_
        noise = noise_by_feature(model) if isinstance(model, AdditiveModel) else None
        given = {"words": model.importance_rule, "max_features": max_features}
        return cls(estimator.schema_.names, estimator.feature_importances_, noise, **given).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it on ``ax``, matplotlib axes, or on a new figure, and return the display."""
        drawn = np.argsort(-self.importances, kind="stable")[: self.max_features]
        ax = self._axes(ax, 6.4, 0.9 + 0.28 * len(drawn))
        places = np.arange(len(drawn))
        ax.barh(places, self.importances[drawn], color=BLUE, height=0.7)
        if self.noise is not None:
            ax.barh(places, self.noise[drawn], height=0.3, color=GREY, label="what noise alone would show")
            ax.legend(frameon=False, fontsize=8, loc="lower right")
        left = len(self.names) - len(drawn)
        ax.set_yticks(places, [wrapped(self.names[place], 30) for place in drawn], fontsize=8)
        ax.set_ylim(len(drawn) - 0.4, -0.6)
        across = wrapped(self.words + (f"; {left} features more" if left else ""), 80)
        framed(ax, across=across, fontsize=8)
        return self


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
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["low", "high"])
    >>> model = hr.ForestClassifier(epsilon=1.0, schema=schema).fit([["x"], ["y"]], ["low", "high"])
    >>> ExplanationDisplay(model.explain([["x"]])).explanation.names
    ('a',)
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
    def from_estimator(cls, estimator: Any, X: Any, record: int = 0, *, ax: Any = None, **settings: Any) -> Self:
        """Draw the explanation of one record of ``X`` by a fitted model and return the display.

        ``settings`` are label, max_features and confidence, and ``ax`` are the axes to draw on.
        """
        return cls(estimator.explain(X), record, **settings).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it on ``ax``, matplotlib axes, or on a new figure, and return the display."""
        explanation, record = self.explanation, self.record
        added = explanation.contributions[record]
        deviation = None if explanation.deviation is None else explanation.deviation[record]
        baseline, total = explanation.baseline, explanation.total[record]
        label = explanation.classes[-1] if explanation.classes else None
        if added.ndim == 2:
            column = int(np.argmax(total)) if self.label is None else explanation.classes.index(self.label)
            label, baseline, total = explanation.classes[column], np.asarray(baseline)[column], total[column]
            added, deviation = added[:, column], None if deviation is None else deviation[:, column]
        order = np.argsort(-np.abs(added), kind="stable")
        first, rest = order[: self.max_features], order[self.max_features :]
        bars = [*added[first], *([added[rest].sum()] if len(rest) else [])]
        cells = ((explanation.names[place], shortened(explanation.cells[record, place], LABEL)) for place in first)
        words = [f"{wrapped(name, LABEL)} = {shown(cell)}" for name, cell in cells] + [f"{len(rest)} more"] * bool(
            len(rest)
        )
        places = np.arange(len(bars))
        ax = self._axes(ax, 6.8, 1.1 + 0.3 * len(bars) + 0.13 * "".join(words).count("\n"))
        ax.barh(places, bars, color=[BLUE if bar >= 0 else RED for bar in bars], height=0.7, alpha=0.85)
        if deviation is not None:
            half = NormalDist().inv_cdf((1 + self.confidence) / 2) * deviation[first]
            ax.errorbar(bars[: len(first)], places[: len(first)], xerr=half, fmt="none", ecolor="black", linewidth=1)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks(places, words, fontsize=8)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        title = f"{total:.2f}: {float(baseline):.2f} on average, {total - baseline:+.2f} here"
        across = f"added to the {explanation.scale}" + (f" of {label}" if explanation.classes else "")
        framed(ax, shown(title), wrapped(across, 60))
        return self
