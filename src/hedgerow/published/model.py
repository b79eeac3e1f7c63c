"""Trees of the published algorithms: unlike private ones, a node may hold a range that its own records had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.errors import FileFormatError
from hedgerow.export import ScoringForm, shares_of_votes, whole_votes_of_labels
from hedgerow.published import kernels
from hedgerow.published.branching import Branching
from hedgerow.published.first_numbers import first_numbers, taken
from hedgerow.published.scoring import coded
from hedgerow.texts import short_repr
from hedgerow.threads import for_slices
from hedgerow.trees.forest import OF_TESTS, importances
from hedgerow.trees.model import check_trees

__all__ = ["PublishedForest", "Trees"]

Integers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trees:
    """Nodes of all trees in one array, children of a node side by side and behind it.

    Parameters
    ----------
    roots : ndarray of shape (trees,)
        The root of each tree.
    feature : ndarray of shape (nodes,)
        The feature that a node tests, -1 for a leaf.
    first_child : ndarray of shape (nodes,)
        The node's first child, 0 for a leaf; the child for branch b stands b places behind it.
    label : ndarray of shape (nodes,)
        The class of a leaf, -1 for other nodes.
    low, high : ndarray of shape (nodes,)
        The range that a numeric test cuts into bins, or twice the point of a cut; 0 for other nodes.
    """

    roots: Integers
    feature: Integers
    first_child: Integers
    label: Integers
    low: Floats
    high: Floats

    @classmethod
    def of_leaves(cls, roots: Integers, label: Integers) -> Self:
        """Return nodes without tests."""
        nodes = len(label)
        none = np.full(nodes, -1, dtype=np.int32)
        return cls(roots, none, np.zeros(nodes, dtype=np.int32), label, np.zeros(nodes), np.zeros(nodes))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return dict(vars(self))

    def __add__(self, other: Trees) -> Trees:
        """Return the trees of both, those of ``other`` behind."""
        behind = len(self.feature)
        moved = replace(
            other, roots=other.roots + behind, first_child=np.where(other.feature >= 0, other.first_child + behind, 0)
        )
        mine, theirs = self.to_arrays(), moved.to_arrays()
        return Trees(**{name: np.concatenate([array, theirs[name]], dtype=array.dtype) for name, array in mine.items()})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], branching: Branching, n_classes: int) -> Self:
        """Return the trees that ``to_arrays`` wrote, or raise FileFormatError where they are no trees."""
        types: dict[str, type] = dict.fromkeys(("roots", "feature", "first_child", "label"), np.int32)
        types |= dict.fromkeys(("low", "high"), np.float64)
        try:
            trees = cls(**{name: _cast(arrays[name], kind) for name, kind in types.items()})
        except (KeyError, TypeError, AttributeError) as error:
            raise FileFormatError("the file's trees are damaged; fit the model again.") from error
        if not trees._sound(branching, n_classes):
            raise FileFormatError("the file's trees are damaged; fit the model again.")
        check_trees(trees.roots, trees.feature, trees.first_child, branching.arity)
        return trees

    def _sound(self, branching: Branching, n_classes: int) -> bool:
        """Say whether nodes test features, leaves have labels, and numbers are finite."""
        n_nodes = len(self.feature)
        nodes = (self.feature, self.first_child, self.label, self.low, self.high)
        if any(array.shape != (n_nodes,) for array in nodes) or self.roots.ndim != 1 or len(self.roots) == 0:
            return False
        if np.any((self.feature < -1) | (self.feature >= len(branching.arity))):
            return False
        return bool(
            np.all((self.label >= np.where(self.feature < 0, 0, -1)) & (self.label < n_classes))
            and np.all(np.isfinite(self.low) & np.isfinite(self.high) & (self.low <= self.high))
        )


def _cast(array: npt.NDArray[Any], kind: type) -> npt.NDArray[Any]:
    """Return a one-dimensional array of a type that holds all its values."""
    if array.ndim != 1:
        raise TypeError
    return np.ascontiguousarray(array.astype(kind, casting="safe"))


@dataclass(frozen=True, eq=False)
class PublishedForest:
    """A forest of the published kind that reads raw records by its schema."""

    branching: Branching
    trees: Trees

    importance_rule: ClassVar[str] = OF_TESTS

    __repr__ = short_repr

    def votes(self, columns: Floats) -> Integers:
        """Return how many trees give each class to each record of ``columns`` (records, features)."""
        trees = self.trees
        out = np.zeros((len(columns), len(self.branching.schema.classes)), dtype=np.int32)
        walk = (trees.roots, trees.feature, trees.first_child, trees.label, trees.low, trees.high, self.branching.bins)
        for_slices(len(columns), lambda rows: kernels.votes(columns[rows], *walk, out[rows]))
        return out

    def probabilities(self, X: Any) -> Floats:
        """Return the share of each class in the trees' votes and an even one more [our choice], of shape (records, classes).

        Equal shares are settled by whoever reads them, for the first class in the schema's order (our choice, the papers
        are silent).
        """
        return shares_of_votes(self.votes(self.branching.read(X)), len(self.trees.roots))

    def importances(self) -> Floats:
        """Return the share of each feature in the tests, each test weighing what its depth leaves to it."""
        trees = self.trees
        return importances(trees.roots, trees.feature, trees.first_child, len(self.branching.schema.names))

    def scoring(self) -> ScoringForm:
        """Return how the model answers, for programs that do not know this library, or raise ConfigurationError."""
        trees, branching = self.trees, self.branching
        return coded(
            branching,
            trees,
            first_numbers(branching, trees),
            lambda columns, nodes: taken(branching, trees, columns, nodes),
            *whole_votes_of_labels(trees.label, len(branching.schema.classes), len(trees.roots)),
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return self.trees.to_arrays()
