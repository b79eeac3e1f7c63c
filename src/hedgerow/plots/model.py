"""What a model learned: importances, one prediction explained, and a released tree as plain values and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from hedgerow.additive.curves import noise_by_feature
from hedgerow.additive.model import AdditiveModel
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, Explanation
from hedgerow.plots.axes import BLUE, COLORS, GREY, RED, Display, framed, short, shown, wrapped
from hedgerow.schema import Categorical, Numeric
from hedgerow.schema.features import Feature
from hedgerow.texts import printable
from hedgerow.trees import BoostedModel, ForestModel


def tree_values(model: ForestModel, tree: int) -> dict[str, Any]:
    """Return a tree (from 0) as nested plain values: a leaf has a label, every other node a feature and branches.

    A leaf of a booster has its contribution to the log-odds: of each class, or of two classes the second's alone.
    """
    return _node(model, int(model.forest.roots[tree]))


def leaf_text(leaf: Mapping[str, Any]) -> str:
    text = printable(str(leaf["label"]))
    if "log_odds" in leaf:
        return f"log-odds {', '.join(f'{added:+.3f}' for added in leaf['log_odds'])}"
    return f"{text}, noisy counts {', '.join(map(str, leaf['noisy_counts']))}" if "noisy_counts" in leaf else text


def _node(model: ForestModel, node: int) -> dict[str, Any]:
    forest, schema = model.forest, model.encoder.schema
    test = int(forest.test[node])
    if test < 0:
        leaf: dict[str, Any] = {"label": schema.classes[int(forest.label[node])]}
        if isinstance(model, BoostedModel):
            # The counts may be weights in other units.
            margins = model.shown(model.votes[[node]] / model.vote_steps)[0]
            leaf["log_odds"] = ClassOrder.of(schema).margins(margins).reshape(-1).tolist()
        elif forest.counts is not None:
            leaf["noisy_counts"] = ClassOrder.of(schema).columns(forest.counts[node]).tolist()
        return leaf
    feature, first = int(forest.candidates.feature[test]), int(forest.first_child[node])
    branch_of_code = forest.candidates.branches([test])[0, : int(model.encoder.n_codes[feature])]
    name = schema.names[feature]
    branches = []
    for branch in range(int(forest.candidates.arity[test])):
        codes = np.flatnonzero(branch_of_code == branch).tolist()
        when = branch_text(name, schema.features[name], codes, model.encoder.max_bins)
        branches.append({"when": when, "node": _node(model, first + branch)})
    return {"feature": name, "branches": branches}


def branch_text(name: str, feature: Feature, codes: list[int], max_bins: int) -> str:
    """Return the cells of a feature that take a branch, such as "age in [18, 32.4) or missing" or "job = nurse"."""
    if isinstance(feature, Categorical):
        others = [code for code in range(feature.n_codes(max_bins)) if code not in codes]
        if len(others) == 1 and len(codes) > 1:
            return f"{printable(name)} not {_cells_text(feature, others, max_bins)}"
    return f"{printable(name)} {_cells_text(feature, codes, max_bins)}"


def _cells_text(feature: Feature, codes: list[int], max_bins: int) -> str:
    n_values = feature.n_codes(max_bins) - (1 if isinstance(feature, Numeric) else 2)
    values = [code for code in codes if code < n_values]
    if isinstance(feature, Numeric):
        labels = [feature.interval_label(run[0], run[-1], max_bins) for run in _runs(values)]
        parts = [f"in {label}" if label.startswith("[") else f"= {label}" for label in labels]
    else:
        parts = ["= " + ", ".join(printable(feature.code_label(code, max_bins)) for code in values)] if values else []
    return " or ".join([*parts, *(feature.code_label(code, max_bins) for code in codes if code >= n_values)])


def _runs(codes: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][-1] == code - 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return runs


@dataclass(frozen=True)
class Placed:
    """A node of a picture: its column is the number of tests above it, and ``when`` the branch that leads to it."""

    column: int
    row: float
    when: str
    text: str
    label: str | None = None
    parent_row: float | None = None


def placed_nodes(tree: Mapping[str, Any], max_depth: int | None = None) -> tuple[Placed, ...]:
    """Return the nodes of a tree, in the form of ``tree_values``, with each leaf on a row of its own.

    Sibling leaves of the same class share a row. Below ``max_depth`` tests, a subtree is one node with its number of leaves.
    """
    return tuple(_place(tree, 0, "", max_depth, count()))


def _place(node: Mapping[str, Any], column: int, when: str, max_depth: int | None, rows: Iterator[int]) -> list[Placed]:
    if "branches" not in node:
        return [Placed(column, next(rows), when, leaf_text(node), str(node["label"]))]
    if max_depth is not None and column >= max_depth:
        return [Placed(column, next(rows), when, f"test of {node['feature']} ({_n_leaves(node)} leaves below)")]
    below = [_place(child, column + 1, words, max_depth, rows) for words, child in _merged(node)]
    row = (below[0][0].row + below[-1][0].row) / 2
    placed = [Placed(column, row, when, str(node["feature"]))]
    for child, *rest in below:
        placed += [replace(child, parent_row=row), *rest]
    return placed


def _merged(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each child with the text of its branch. Leaves that have the same label, and nothing else, are merged."""
    name = f"{node['feature']} "
    groups: dict[object, tuple[list[str], Mapping[str, Any]]] = {}
    for number, branch in enumerate(node["branches"]):
        child = branch["node"]
        key: object = number if "branches" in child or len(child) > 1 else ("leaf", child["label"])
        groups.setdefault(key, ([], child))[0].append(branch["when"].removeprefix(name))
    for branches, child in groups.values():
        categories = [text.removeprefix("= ") for text in branches if text.startswith("= ")]
        others = [text for text in branches if not text.startswith("= ")]
        yield " or ".join([*([f"= {', '.join(categories)}"] if categories else []), *others]), child


def _n_leaves(node: Mapping[str, Any]) -> int:
    return sum(_n_leaves(branch["node"]) for branch in node["branches"]) if "branches" in node else 1


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
    """One tree of a private forest, as it was released.

    Parameters
    ----------
    nodes : tuple of Placed
        The nodes and their positions.
    classes : tuple of str
        The classes, whose order gives the colors of leaves.
    title : str
        The title of the picture.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Categorical(["x", "y"])}, classes=["low", "high"])
    >>> model = hr.ForestClassifier(epsilon=1.0, schema=schema).fit([["x"], ["y"]], ["low", "high"])
    >>> TreeDisplay.from_estimator(model).classes
    ('high', 'low')
    """

    nodes: tuple[Placed, ...]
    classes: tuple[str, ...]
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, tree: int = 0, max_depth: int | None = 3) -> Self:
        """Make the display of one tree of a fitted forest, counted from 0, down to ``max_depth`` tests on a path."""
        model = estimator.model_
        name = type(estimator).__name__
        if not isinstance(model, ForestModel):
            raise ConfigurationError(f"a tree is drawn of private forests, and {name} ({estimator.variant}) is none.")
        trees = len(model.forest.roots)
        if not 0 <= tree < trees:
            raise ConfigurationError(f"tree {tree} does not exist; the model has {trees}, counted from 0.")
        nodes, classes = placed_nodes(tree_values(model, tree), max_depth), ClassOrder.of(estimator.schema_).classes
        return cls(nodes, tuple(map(str, classes)), f"{name}, tree {tree + 1} of {trees}")

    def _columns_and_rows(self) -> tuple[int, float]:
        return 1 + max(node.column for node in self.nodes), 1 + max(node.row for node in self.nodes)

    def _size(self) -> tuple[float, float]:
        columns, rows = self._columns_and_rows()
        return 2.6 * columns + 1.0, 0.34 * rows + 0.8

    def _draw(self, ax: Any) -> None:
        columns, rows = self._columns_and_rows()
        for node in self.nodes:
            if node.parent_row is not None:
                start, bend = node.column - 0.78, node.column - 0.70
                line = [start, bend, node.column], [node.parent_row, node.row, node.row]
                ax.plot(*line, color=GREY, linewidth=0.8, zorder=1)
                when = shown(short(node.when))
                ax.text(bend + 0.01, node.row - 0.07, when, fontsize=6.5, va="bottom", color="#444444")
            box = {"boxstyle": "round,pad=0.25", "facecolor": self._color(node), "edgecolor": "none"}
            ax.text(node.column, node.row, shown(short(node.text)), va="center", fontsize=8, bbox=box)
        ax.set_xlim(-0.05, columns - 0.25)
        ax.set_ylim(rows - 0.3, -0.9)
        ax.set_axis_off()
        ax.set_title(shown(self.title), fontsize=10, loc="left")

    def _color(self, node: Placed) -> str:
        if node.label not in self.classes:
            return "#eeeeee"
        return COLORS[self.classes.index(node.label) % len(COLORS)] + "44"


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

    def _size(self) -> tuple[float, float]:
        return 6.4, 0.9 + 0.28 * min(len(self.names), self.max_features)

    def _draw(self, ax: Any) -> None:
        drawn = np.argsort(-self.importances, kind="stable")[: self.max_features]
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

    def _size(self) -> tuple[float, float]:
        features = len(self.explanation.names)
        return 6.8, 1.1 + 0.3 * (min(features, self.max_features) + (features > self.max_features))

    def _draw(self, ax: Any) -> None:
        explanation, record = self.explanation, self.record
        added, deviation = explanation.contributions[record], None
        if explanation.deviation is not None:
            deviation = explanation.deviation[record]
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
        title = f"{total:.2f}: {float(baseline):.2f} on average, {total - baseline:+.2f} here"
        across = f"added to the {explanation.scale}" + (f" of {label}" if explanation.classes else "")
        framed(ax, shown(title), shown(across))
