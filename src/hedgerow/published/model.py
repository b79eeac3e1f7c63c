"""Trees of the published algorithms: unlike private ones, each node holds a range that its own records had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.errors import FileFormatError
from hedgerow.published import kernels
from hedgerow.schema import Numeric, Schema
from hedgerow.schema.encoder import raw_columns

__all__ = ["Branching", "PublishedForest", "Trees"]

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Branching:
    """The branches of the test on each feature.

    A categorical feature has one for each value of the schema, one for missing and one for undeclared cells. A numeric one
    has ``bins`` of equal width between the least and the largest finite value in the node, and one for missing cells
    (our choice, the paper is silent). Cut points of the schema are not used.

    Parameters
    ----------
    bins : ndarray of shape (features,)
        Bins of a numeric feature, 0 for a categorical one.
    arity : ndarray of shape (features,)
        How many branches there are.
    """

    bins: npt.NDArray[np.int64]
    arity: npt.NDArray[np.int64]

    @classmethod
    def of(cls, schema: Schema, max_bins: int) -> Self:
        """Return the branches for a schema and a number of bins."""
        features = schema.features.values()
        bins = np.array([max_bins if isinstance(feature, Numeric) else 0 for feature in features], dtype=np.int64)
        codes = np.array([feature.n_codes(max_bins) for feature in features], dtype=np.int64)
        return cls(bins, np.where(bins > 0, bins + 1, codes))


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
        The range that a numeric test cuts into bins, 0 for other nodes.
    """

    roots: Integers
    feature: Integers
    first_child: Integers
    label: Integers
    low: Floats
    high: Floats

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return dict(vars(self))

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
        return trees

    def _sound(self, branching: Branching, n_classes: int) -> bool:
        """Say whether every record would reach a leaf with a label."""
        n_nodes = len(self.feature)
        nodes = (self.feature, self.first_child, self.label, self.low, self.high)
        if any(array.shape != (n_nodes,) for array in nodes) or self.roots.ndim != 1 or len(self.roots) == 0:
            return False
        if np.any((self.feature < -1) | (self.feature >= len(branching.arity))):
            return False
        inner = self.feature >= 0
        first = self.first_child[inner].astype(np.int64)
        return bool(
            np.all((self.roots >= 0) & (self.roots < n_nodes))
            and np.all((self.label[~inner] >= 0) & (self.label[~inner] < n_classes))
            # Children behind their parent: no path can be endless.
            and np.all(first > np.flatnonzero(inner))
            and np.all(first + branching.arity[self.feature[inner]] <= n_nodes)
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

    schema: Schema
    branching: Branching
    trees: Trees

    def probabilities(self, X: Any) -> Floats:
        """Return the share of the trees' votes that each class gets, of shape (records, classes).

        Equal shares are settled by whoever reads them, for the first class in the schema's order (our choice, the paper
        is silent).
        """
        columns = raw_columns(X, self.schema)
        out = np.zeros((len(columns), len(self.schema.classes)), dtype=np.int32)
        trees = self.trees
        kernels.votes(
            columns,
            trees.roots,
            trees.feature,
            trees.first_child,
            trees.label,
            trees.low,
            trees.high,
            self.branching.bins,
            out,
        )
        return np.asarray(out / len(trees.roots))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return self.trees.to_arrays()
