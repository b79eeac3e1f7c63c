"""What the tests on a record's path add to what trees say of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.trees.model import Forest, Integers

__all__ = ["node_means", "path_contributions"]


def node_means(forest: Forest, values: Floats) -> Floats:
    """Return values (nodes, columns) in which every node but a leaf has the mean of its branches, which count alike."""
    values = values.copy()
    parent, level = forest.parents, forest.levels()
    inner = forest.test >= 0
    values[inner] = 0
    arity = np.where(inner, np.bincount(parent[parent >= 0], minlength=forest.n_nodes), 1)
    for number in range(int(level.max()), 1, -1):
        children = np.flatnonzero(level == number)
        np.add.at(values, parent[children], values[children] / arity[parent[children], None])
    return values


def path_contributions(forest: Forest, codes: npt.NDArray[np.unsignedinteger], values: Floats) -> tuple[Floats, Floats]:
    """Return what trees say on average over their branches, (columns,), and what each feature adds to that for each record.

    The second is of shape (records, features, columns): a test adds what its branch says more than the mean of its branches.
    ``values`` (nodes, columns) are what leaves say, and are added up over the trees.
    """
    means = node_means(forest, values)
    out = np.zeros((*codes.shape, values.shape[1]))
    rows: Integers = np.arange(len(codes))
    tests = np.unique(forest.test[forest.test >= 0])
    branches = forest.candidates.branches(tests)
    features = forest.candidates.feature[tests]
    for root in forest.roots.tolist():
        node: Integers = np.full(len(codes), root, dtype=np.int64)
        at = rows
        while len(at := at[forest.test[node[at]] >= 0]):
            here = node[at]
            test = np.searchsorted(tests, forest.test[here])
            feature = features[test]
            child = forest.first_child[here] + branches[test, codes[at, feature]]
            out[at, feature] += means[child] - means[here]
            node[at] = child
    return means[forest.roots].sum(axis=0), out
