"""What a model learned: importances, one prediction explained, and a released tree as plain values and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Self

import numpy as np

from hedgerow.additive.curves import noise_by_feature
from hedgerow.additive.model import AdditiveModel
from hedgerow.arrays import Floats
from hedgerow.boosting.plan import BoostedModel
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder, Explanation
from hedgerow.plots.axes import BLUE, COLORS, GREY, RED, Display, short, shown, wrapped
from hedgerow.schema import Categorical, Numeric
from hedgerow.schema.features import Feature
from hedgerow.texts import printable
from hedgerow.trees import ForestModel


def tree_values(model: ForestModel, tree: int) -> dict[str, Any]:
    """Return a tree (from 0) as nested plain values: a leaf has a label, every other node a feature and branches.

    A leaf of a booster has its contribution to the log-odds: of each class, or of two classes the second's alone.
    """
    return _node(model, int(model.forest.roots[tree]))


def leaf_text(leaf: dict[str, Any]) -> str:
    """Return the text of a leaf: its label, with its noisy counts if it has them, or its contribution to the log-odds."""
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
            leaf["log_odds"] = (
                ClassOrder.of(schema)
                .margins(model.shown(model.votes[[node]] / model.vote_steps)[0])
                .reshape(-1)
                .tolist()
            )
        elif forest.counts is not None:
            leaf["noisy_counts"] = ClassOrder.of(schema).columns(forest.counts[node]).tolist()
        return leaf
    feature, first = int(forest.candidates.feature[test]), int(forest.first_child[node])
    branch_of_code = forest.candidates.branches([test])[0, : int(model.encoder.n_codes[feature])]
    name = schema.names[feature]
    return {
        "feature": name,
        "branches": [
            {
                "when": branch_text(
                    name,
                    schema.features[name],
                    np.flatnonzero(branch_of_code == branch).tolist(),
                    model.encoder.max_bins,
                ),
                "node": _node(model, first + branch),
            }
            for branch in range(int(forest.candidates.arity[test]))
        ],
    }


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
    """A node and its position: column (tests above it), row, branch text, node text, class, and its parent's row."""

    column: int
    row: float
    when: str
    text: str
    label: str | None
    parent_row: float | None


def placed_nodes(tree: Mapping[str, Any], max_depth: int | None = None) -> tuple[Placed, ...]:
    """Return the nodes of a tree, in the form of ``tree_values``, with each leaf on a row of its own.

    Sibling leaves of the same class share a row. Below ``max_depth`` tests, a subtree is one node with its number of leaves.
    """
    rows = iter(range(1_000_000))
    return tuple(_place(tree, 0, "", max_depth, rows))


def _place(
    node: Mapping[str, Any], column: int, when: str, max_depth: int | None, rows: Iterator[int]
) -> Iterator[Placed]:
    if "branches" not in node:
        yield Placed(column, next(rows), when, leaf_text(dict(node)), str(node["label"]), None)
        return
    if max_depth is not None and column >= max_depth:
        leaves = _n_leaves(node)
        yield Placed(column, next(rows), when, f"test of {node['feature']} ({leaves} leaves below)", None, None)
        return
    below: list[Placed] = []
    children: list[Placed] = []
    for words, child in _merged(node):
        placed = list(_place(child, column + 1, words, max_depth, rows))
        children.append(placed[0])
        below += placed
    row = (children[0].row + children[-1].row) / 2
    yield Placed(column, row, when, str(node["feature"]), None, None)
    tops = set(map(id, children))
    for placed_one in below:
        yield (Placed(**{**vars(placed_one), "parent_row": row}) if id(placed_one) in tops else placed_one)


def _merged(node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each child with the text of its branch. Leaves that have the same label, and nothing else, are merged."""
    name = f"{node['feature']} "
    groups: dict[object, tuple[list[str], Mapping[str, Any]]] = {}
    for number, branch in enumerate(node["branches"]):
        child = branch["node"]
        alone = "branches" in child or len(child) > 1
        key: object = number if alone else ("leaf", child["label"])
        groups.setdefault(key, ([], child))[0].append(branch["when"].removeprefix(name))
    for words, child in groups.values():
        yield _joined(words), child


def _joined(words: list[str]) -> str:
    """Return the text of several branches to one leaf, with categories in one list."""
    categories = [word.removeprefix("= ") for word in words if word.startswith("= ")]
    others = [word for word in words if not word.startswith("= ")]
    return " or ".join([*([f"= {', '.join(categories)}"] if categories else []), *others])


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
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.ForestClassifier(epsilon=1.0, schema=schema, max_depth=1).fit(X, y)
    >>> TreeDisplay.from_estimator(model).classes
    ('high', 'low')
    """

    nodes: tuple[Placed, ...]
    classes: tuple[str, ...]
    title: str = ""

    @classmethod
    def from_estimator(cls, estimator: Any, *, tree: int = 0, max_depth: int | None = 3) -> Self:
        """Make the display of one tree of a fitted forest, counted from 0, down to ``max_depth`` tests on a path.

        Raises
        ------
        ConfigurationError
            If the model is not a private forest, or has no such tree.
        """
        model = estimator.model_
        name = type(estimator).__name__
        if not isinstance(model, ForestModel):
            raise ConfigurationError(f"a tree is drawn of private forests, and {name} ({estimator.variant}) is none.")
        trees = len(model.forest.roots)
        if not 0 <= tree < trees:
            raise ConfigurationError(f"tree {tree} does not exist; the model has {trees}, counted from 0.")
        nodes = placed_nodes(tree_values(model, tree), max_depth)
        return cls(
            nodes, tuple(map(str, ClassOrder.of(estimator.schema_).classes)), f"{name}, tree {tree + 1} of {trees}"
        )

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
                ax.plot(
                    [start, bend, node.column],
                    [node.parent_row, node.row, node.row],
                    color=GREY,
                    linewidth=0.8,
                    zorder=1,
                )
                ax.text(
                    bend + 0.01, node.row - 0.07, shown(short(node.when)), fontsize=6.5, va="bottom", color="#444444"
                )
            ax.text(node.column, node.row, shown(short(node.text)), va="center", fontsize=8, bbox=self._box(node))
        ax.set_xlim(-0.05, columns - 0.25)
        ax.set_ylim(rows - 0.3, -0.9)
        ax.set_axis_off()
        ax.set_title(shown(self.title), fontsize=10, loc="left")

    def _box(self, node: Placed) -> dict[str, Any]:
        color = "#eeeeee"
        if node.label in self.classes:
            color = COLORS[self.classes.index(node.label) % len(COLORS)] + "44"
        return {"boxstyle": "round,pad=0.25", "facecolor": color, "edgecolor": "none"}


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
