"""Weighted votes of small trees that read raw columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Truth
from hedgerow.errors import FileFormatError
from hedgerow.export import ScoringForm, Softmax
from hedgerow.published.boosting import kernels
from hedgerow.published.branching import Branching
from hedgerow.published.kernels import CUT
from hedgerow.published.scoring import coded
from hedgerow.texts import short_repr
from hedgerow.trees.forest import OF_ROUNDS, importances
from hedgerow.trees.model import check_trees

__all__ = ["BinaryTrees", "PublishedBoosted"]

Integers = npt.NDArray[np.int32]

LARGEST_ALPHA = 1e6  # sums of such weights stay finite
DAMAGED = "the file's trees are damaged; fit the model again."
KINDS = {"cut": np.float64, "left": np.bool_}  # of the arrays that are not int32


@dataclass(frozen=True, eq=False)
class BinaryTrees:
    """Nodes of all trees in one array. The two children of a node are adjacent, and behind it.

    Parameters
    ----------
    roots : ndarray of shape (trees,)
        The root of each tree.
    feature : ndarray of shape (nodes,)
        The feature that a node tests, -1 for a leaf.
    first_child : ndarray of shape (nodes,)
        The node's left child, 0 for a leaf.
    label : ndarray of shape (nodes,)
        The class, 0 or 1, of a leaf, and what it would be for another node.
    cut : ndarray of shape (nodes,)
        The largest number that goes left; 0 where no number is tested.
    left : ndarray of shape (nodes, codes)
        Which codes go left; False where no code is tested.
    """

    roots: Integers
    feature: Integers
    first_child: Integers
    label: Integers
    cut: Floats
    left: Truth

    @classmethod
    def of_leaves(cls, label: npt.NDArray[Any], codes: int) -> Self:
        """Return one tree's nodes, still without tests."""
        nodes = len(label)
        zero = np.zeros(nodes, dtype=np.int32)
        root, none = np.zeros(1, dtype=np.int32), np.full(nodes, -1, dtype=np.int32)
        return cls(root, none, zero, label.astype(np.int32), np.zeros(nodes), np.zeros((nodes, codes), dtype=np.bool_))

    @classmethod
    def leaf(cls, label: int, codes: int) -> Self:
        """Return a tree without a test."""
        return cls.of_leaves(np.array([label]), codes)

    @classmethod
    def stump(cls, feature: int, label: int, cut: float, left: Truth) -> Self:
        """Return a tree of one test, with a label on the left and the other one on the right."""
        tree = cls.of_leaves(np.array([label, label, 1 - label]), len(left))
        tree.feature[0], tree.first_child[0], tree.cut[0], tree.left[0] = feature, 1, cut, left
        return tree

    @classmethod
    def joined(cls, trees: list[Self], codes: int) -> Self:
        """Return the trees of all, one behind the other."""
        none = cls.of_leaves(np.empty(0), codes)
        parts, behind = [replace(none, roots=none.roots[:0])], 0
        for tree in trees:
            parts.append(tree._behind(behind))
            behind += len(tree.feature)
        return cls(*(np.concatenate([getattr(tree, field.name) for tree in parts]) for field in fields(cls)))

    def _behind(self, nodes: int) -> Self:
        """Return the trees, renumbered to follow this many nodes."""
        first_child = np.where(self.feature >= 0, self.first_child + nodes, 0).astype(np.int32)
        return replace(self, roots=(self.roots + nodes).astype(np.int32), first_child=first_child)

    def labels(self, tree: int, columns: Floats, branching: Branching) -> Integers:
        """Return the label that one tree gives each record of ``columns`` (features, records)."""
        out = np.empty(columns.shape[1], dtype=np.int32)
        kernels.labels(columns, self.roots[tree], *self.walk(branching), out)
        return out

    def walk(self, branching: Branching) -> tuple[npt.NDArray[Any], ...]:
        """Return the arrays with which kernels walk down the trees."""
        return self.feature, self.first_child, self.label, branching.bins == CUT, self.cut, self.left

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], branching: Branching) -> Self:
        """Return the trees that ``to_arrays`` wrote, or raise FileFormatError if they are not trees."""
        try:
            names = [field.name for field in fields(cls)]
            trees = cls(*(_cast(arrays[name], KINDS.get(name, np.int32), 1 + (name == "left")) for name in names))
        except (KeyError, TypeError, AttributeError) as error:
            raise FileFormatError(DAMAGED) from error
        if not trees._sound(branching):
            raise FileFormatError(DAMAGED)
        check_trees(trees.roots, trees.feature, trees.first_child, np.full(len(branching.arity), 2))
        return trees

    def _sound(self, branching: Branching) -> bool:
        """Return whether nodes test features, and have labels and cuts."""
        nodes = len(self.feature)
        if any(array.shape != (nodes,) for array in (self.first_child, self.label, self.cut)):
            return False
        if self.left.shape != (nodes, most_codes(branching)):
            return False
        return bool(
            np.all((self.feature >= -1) & (self.feature < len(branching.arity)))
            and np.all((self.label >= 0) & (self.label < 2))
            and not np.any(np.isnan(self.cut))
        )


def most_codes(branching: Branching) -> int:
    """Return how many codes a feature of codes has at most."""
    return int(branching.arity.max())


def _cast(array: npt.NDArray[Any], kind: type, dimensions: int) -> npt.NDArray[Any]:
    """Return an array of a type that holds all its values."""
    if array.ndim != dimensions:
        raise TypeError
    return np.ascontiguousarray(array.astype(kind, casting="safe"))


@dataclass(frozen=True, eq=False)
class PublishedBoosted:
    """A weighted vote: F(x) = sum of alpha_t h_t(x), h_t = 1 for the schema's second class and -1 for its first.

    ``alphas`` (trees,) are the weights of the trees in the papers. The model returns 2 F, the log-odds of the
    second class by AdaBoost's loss (Friedman, Hastie and Tibshirani 2000); the papers release its sign only.
    """

    branching: Branching
    trees: BinaryTrees
    alphas: Floats

    importance_rule: ClassVar[str] = OF_ROUNDS

    __repr__ = short_repr

    def staged_decision(self, X: Any) -> Iterator[Floats]:
        """Yield the second class's log-odds after each round, of shape (records,)."""
        return accumulate(self._terms(self._columns(X)))

    def decision(self, X: Any) -> Floats:
        """Return the second class's log-odds, of shape (records,); zeros if training stopped before the first tree."""
        columns = self._columns(X)
        return sum(self._terms(columns), start=np.zeros(columns.shape[1]))

    def _columns(self, X: Any) -> Floats:
        return np.ascontiguousarray(self.branching.read(X).T)

    def _terms(self, columns: Floats) -> Iterator[Floats]:
        """Yield 2 alpha_t h_t of each tree, for ``columns`` (features, records)."""
        for tree, alpha in enumerate(self.alphas):
            yield 2 * alpha * (2 * self.trees.labels(tree, columns, self.branching) - 1)

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities of which ``decision`` is the log-odds, of shape (records, classes).

        Where it is 0 both classes have one half [our choice, the papers are silent].
        """
        return _shares(self.decision(X))

    def staged_probabilities(self, X: Any) -> Iterator[Floats]:
        """Yield the probabilities after each round."""
        return map(_shares, self.staged_decision(X))

    def importances(self) -> Floats:
        """Return the share of each feature in the tests, each test weighted by its depth."""
        trees = self.trees
        return importances(trees.roots, trees.feature, trees.first_child, len(self.branching.schema.names))

    def scoring(self) -> ScoringForm:
        """Return the scoring rule of the model, for programs that do not know this library, or raise ConfigurationError.

        Weights are rounded to units that are smaller than the rounding errors of their sums.
        """
        trees, branching = self.trees, self.branching
        own = [trees.cut[(trees.feature == i) & (bins == CUT)] for i, bins in enumerate(branching.bins.tolist())]
        with np.errstate(over="ignore"):
            cuts = [np.nextafter(largest, np.inf) for largest in own]  # the numbers above go right
        unit = 1 << (50 - int(np.ceil(np.log2(1 + np.abs(self.alphas).sum()))))
        votes = np.where(trees.feature < 0, np.rint(self._weights() * unit).astype(np.int64) * (2 * trees.label - 1), 0)
        return coded(branching, trees, cuts, self._taken, np.stack((-votes, votes), axis=1), Softmax(unit))

    def _weights(self) -> Floats:
        """Return the weight of the tree that each node belongs to, of shape (nodes,)."""
        weights, nodes = np.zeros(len(self.trees.feature)), self.trees.roots
        weights[nodes] = self.alphas
        while len(nodes := nodes[self.trees.feature[nodes] >= 0]):
            children = self.trees.first_child[nodes]
            weights[children] = weights[children + 1] = weights[nodes]
            nodes = np.concatenate((children, children + 1))
        return weights

    def _taken(self, columns: Floats, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the branch that each record of ``columns`` (features, records) takes in each of some nodes, (nodes, records)."""
        count = columns.shape[1]
        out = np.empty(len(nodes) * count, dtype=np.int64)
        feature, _, _, *walk = self.trees.walk(self.branching)
        kernels.sides(columns, np.tile(np.arange(count), len(nodes)), np.repeat(nodes, count), feature, *walk, out)
        return out.reshape(len(nodes), count)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees and their weights as named arrays."""
        return {**self.trees.to_arrays(), "alphas": self.alphas}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], branching: Branching, rounds: int) -> Self:
        """Return the model that ``to_arrays`` wrote, of at most so many trees, or raise FileFormatError."""
        trees = BinaryTrees.from_arrays(arrays, branching)
        alphas = arrays.get("alphas")
        if alphas is None or alphas.shape != trees.roots.shape or alphas.dtype != np.float64:
            raise FileFormatError("the weights of the file's trees are damaged; fit the model again.")
        if len(alphas) > rounds or not np.all(np.abs(alphas) <= LARGEST_ALPHA):
            raise FileFormatError("the weights of the file's trees are damaged; fit the model again.")
        return cls(branching, trees, alphas)


def _shares(log_odds: Floats) -> Floats:
    second = (1 + np.tanh(log_odds / 2)) / 2  # 1 / (1 + exp(-log_odds)), which passes the range of no float
    return np.stack((1 - second, second), axis=1)
