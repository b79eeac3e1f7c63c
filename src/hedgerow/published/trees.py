"""Trees of the published algorithms, and where the branches of their tests begin on the line of all floats.

Unlike in private trees, a node may hold a range that its own records had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers
from hedgerow.errors import FileFormatError
from hedgerow.published import kernels
from hedgerow.published.branching import Branching
from hedgerow.published.kernels import CUT
from hedgerow.trees.model import check_trees

__all__ = ["Trees", "first_numbers", "taken"]

LARGEST = 0x7FEFFFFFFFFFFFFF  # the largest float64 as an integer
Indices = npt.NDArray[np.int32]


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
        The node's first child, 0 for a leaf; the child for branch b is b places behind it.
    label : ndarray of shape (nodes,)
        The class of a leaf, -1 for other nodes.
    low, high : ndarray of shape (nodes,)
        The range that a numeric test cuts into bins, or twice the point of a cut; 0 for other nodes.
    """

    roots: Indices
    feature: Indices
    first_child: Indices
    label: Indices
    low: Floats
    high: Floats

    @classmethod
    def of_leaves(cls, roots: Indices, label: Indices) -> Self:
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
        """Return the trees that ``to_arrays`` wrote, or raise FileFormatError if they are not trees."""
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


def taken(branching: Branching, trees: Trees, columns: Floats, nodes: Integers) -> Integers:
    """Return the branch that each record of ``columns`` (features, records) takes in each of some nodes, (nodes, records)."""
    count = columns.shape[1]
    out = np.empty(len(nodes) * count, dtype=np.int64)
    records, node = np.tile(np.arange(count), len(nodes)), np.repeat(nodes, count)
    kernels.branches(columns, records, node, trees.feature, branching.bins, trees.low, trees.high, out)
    return out.reshape(len(nodes), count)


def first_numbers(branching: Branching, trees: Trees) -> list[Floats]:
    """Return the first number of each branch of the nodes' tests, in one array for each feature."""
    found = []
    for feature, bins in enumerate(branching.bins.tolist()):
        own = np.flatnonzero(trees.feature == feature)
        if bins == CUT:
            found.append(trees.low[own])
        else:
            parts = [_first_of_bin(branching, trees, feature, own, place) for place in range(1, bins)]
            found.append(np.concatenate([np.empty(0), *parts]))
    return found


def _first_of_bin(branching: Branching, trees: Trees, feature: int, nodes: Integers, place: int) -> Floats:
    """Return the least number that goes to a bin or to one behind it in each of some nodes, by halving all floats.

    A number's bin never falls where the number grows: no step of its arithmetic turns an order round.
    """
    low, high = np.full(len(nodes), -LARGEST), np.full(len(nodes), LARGEST)
    columns, records, branch = np.zeros((len(branching.bins), len(nodes))), np.arange(len(nodes)), np.empty_like(nodes)
    while np.any(low < high):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        columns[feature] = _float(middle)
        kernels.branches(columns, records, nodes, trees.feature, branching.bins, trees.low, trees.high, branch)
        low, high = (
            np.where(branch >= place, low, np.minimum(middle + 1, high)),
            np.where(branch >= place, middle, high),
        )
    return _float(low)


def _float(place: Integers) -> Floats:
    """Return the floats at places in their order, 0 being the middle."""
    return np.asarray(np.where(place >= 0, 1.0, -1.0) * np.abs(place).view(np.float64))
