"""A released tree, as plain values and as a picture: tests and leaves, root at the left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.boosting.plan import BoostedModel
from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder
from hedgerow.plots.axes import COLORS, GREY, Display, short, shown
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
