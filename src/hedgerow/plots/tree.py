"""A released tree: tests and leaves, root at the left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.errors import ConfigurationError
from hedgerow.estimator import ClassOrder
from hedgerow.plots.axes import COLORS, GREY, Display, short, shown
from hedgerow.plots.tree_values import leaf_text, tree_values
from hedgerow.trees import ForestModel

__all__ = ["Placed", "TreeDisplay", "placed_nodes"]


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
    >>> model = hr.ForestClassifier(epsilon=1.0, schema=schema, max_depth=1).fit(X, y)
    >>> TreeDisplay.from_estimator(model).classes
    ('low', 'high')
    """

    def __init__(self, nodes: tuple[Placed, ...], classes: tuple[str, ...], title: str = "") -> None:
        self.nodes = nodes
        self.classes = classes
        self.title = title

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

    def plot(self, ax: Any = None) -> Self:
        """Draw it and return the display."""
        columns = 1 + max(node.column for node in self.nodes)
        rows = 1 + max(node.row for node in self.nodes)
        ax = self._on(ax, (2.6 * columns + 1.0, 0.34 * rows + 0.8))
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
        return self

    def _box(self, node: Placed) -> dict[str, Any]:
        color = "#eeeeee"
        if node.label in self.classes:
            color = COLORS[self.classes.index(node.label) % len(COLORS)] + "44"
        return {"boxstyle": "round,pad=0.25", "facecolor": color, "edgecolor": "none"}
