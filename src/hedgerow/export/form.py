"""How a released model answers: cells become codes, codes lead down trees, leaves add whole votes, a link makes the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, check_shape, for_slices, lazy
from hedgerow.export import kernels
from hedgerow.export.readings import Reading, readings_of
from hedgerow.schema import Encoder
from hedgerow.schema.features import Value
from hedgerow.schema.types import OutcomeGrid

LARGEST = 1 << 63  # whole numbers of 64 bits are below

Codes = npt.NDArray[Any]
Nodes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Mean:
    """A class's probability is its sum of votes over ``total``."""

    total: int

    def __call__(self, sums: Integers) -> Floats:
        return np.asarray(sums / self.total)


@dataclass(frozen=True)
class Softmax:
    """Sums of votes over ``steps`` are log-odds.

    With a ``cap``, each probability p of their softmax is multiplied by max(1, (1 - p) / cap), and all are divided by their sum:
    that undoes what bounded weights do to probabilities. Of class shares q, gradients with the weights w_k = min(1, cap /
    (1 - p_k)) cancel where q_k w_k is proportional to p_k. The order of the classes stays as it is.
    """

    steps: int
    cap: float | None = None

    def __call__(self, sums: Integers) -> Floats:
        margins = sums / self.steps
        odds = np.exp(margins - margins.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        if self.cap is None:
            return np.asarray(shares)
        odds = shares * np.maximum(1, (1 - shares) / self.cap)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


class OutcomeRange(OutcomeGrid):
    """A sum of votes is a place on the grid of outcomes, and no prediction is beyond its ends."""

    def __call__(self, sums: Integers) -> Floats:
        return self.values(np.clip(sums[:, 0], 0, self.steps))


@dataclass(frozen=True)
class OutcomeLog:
    """A sum of votes, at least ``first`` and at most ``last``, over ``steps`` is the log of a prediction over ``base``."""

    base: float
    steps: float
    first: int
    last: int
    low: float
    high: float

    def __call__(self, sums: Integers) -> Floats:
        factors = np.exp(np.clip(sums[:, 0], self.first, self.last) / self.steps)
        return np.asarray(np.clip(self.base * factors, self.low, self.high))


Link = Mean | OutcomeLog | OutcomeRange | Softmax


MOST_TESTS = 128  # on a path, with room to spare


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees over codes, whose nodes are in one array.

    A record starts at every root. In a node with a test it goes to the child ``first_child[node] + branch[test][code]``, the code
    being that of the test's feature.
    """

    n_features: int
    roots: Nodes  # (trees,)
    test: Nodes  # (nodes,): -1 for a leaf
    first_child: Nodes  # (nodes,): the first of a node's children, which stand side by side behind it; 0 for a leaf
    feature: Nodes  # (tests,)
    arity: Nodes  # (tests,): the number of branches
    branch: Codes  # (tests, codes): the branch of each code of the test's feature; beyond its codes anything

    @lazy
    def _walk(self) -> tuple[Any, ...]:
        """The trees as the kernel reads them: a leaf has a test with one branch, which leads back to the leaf."""
        leaf, tests, width = self.test < 0, len(self.feature), self.branch.shape[1]
        return (
            np.where(leaf, tests, self.test).astype(np.int32),
            np.where(leaf, np.arange(len(leaf)), self.first_child).astype(np.int32),
            np.append(self.feature, 0).astype(np.int32),
            np.concatenate([self.branch, np.zeros((1, width), dtype=self.branch.dtype)]),
            self.depth,
        )

    def add_votes(
        self,
        codes: Codes,
        votes: npt.NDArray[np.signedinteger],
        sums: npt.NDArray[np.signedinteger],
        trees: slice = slice(None),
    ) -> None:
        """Add to ``sums`` (records, columns) the ``votes`` of the leaves that records of ``codes`` (records, features) reach.

        They are of shape (nodes, columns), or (nodes,): the column to which each leaf gives one vote. A table of votes for labels
        of many classes would not fit memory.
        """
        check_shape(codes, (len(codes), self.n_features), "codes (records, features)")
        check_shape(sums, (len(codes), sums.shape[-1]), "sums (records, columns)")
        check_shape(votes, (len(self.test), sums.shape[1])[: votes.ndim], "votes (nodes, columns)")
        kernels.add_votes(codes, self.roots[trees].astype(np.int32), *self._walk, votes, sums)

    def sums_of(self, codes: Codes, votes: npt.NDArray[np.signedinteger], columns: int) -> Integers:
        out = np.zeros((len(codes), columns), dtype=np.int64)
        for_slices(len(codes), lambda rows: self.add_votes(codes[rows], votes, out[rows]))
        return out

    def scoring(self, encoder: Encoder, votes: Integers, link: Link) -> ScoringForm:
        own = {field.name: getattr(self, field.name) for field in fields(Trees)}
        return ScoringForm(**own, encoder=encoder, classes=encoder.schema.classes, votes=votes, link=link)

    @lazy
    def levels(self) -> npt.NDArray[np.int32]:
        return levels(self.roots, self.test, self.first_child, self.arity)

    @lazy
    def parents(self) -> Integers:
        return parents(self.roots, self.test >= 0, self.first_child)

    @property
    def depth(self) -> int:
        return int(self.levels.max()) - 1

    def children(self, node: int) -> Integers:
        return np.asarray(self.first_child[node] + np.arange(self.arity[self.test[node]]))

    def importances(self) -> Floats:
        feature = np.append(self.feature, -1)[self.test]  # -1 for a leaf
        return importances(self.roots, feature, self.first_child, self.n_features)

    def means(self, values: Floats) -> Floats:
        """Return values (nodes, columns) in which every node but a leaf has the mean of its branches, which count alike."""
        values, inner = values.copy(), self.test >= 0
        values[inner] = 0
        arity = np.where(inner, np.bincount(self.parents[self.parents >= 0], minlength=len(inner)), 1)
        for number in range(int(self.levels.max()), 1, -1):
            nodes = np.flatnonzero(self.levels == number)
            np.add.at(values, self.parents[nodes], values[nodes] / arity[self.parents[nodes], None])
        return values

    def contributions(self, codes: Codes, values: Floats) -> tuple[Floats, Floats]:
        """Return the unweighted mean of the trees over their branches, (columns,), and what each feature adds to it.

        The second is of shape (records, features, columns): a test adds the value of its branch minus the mean of its branches.
        ``values`` (nodes, columns) are those of the leaves, and are added up over the trees.
        """
        means, out, rows = self.means(values), np.zeros((*codes.shape, values.shape[1])), np.arange(len(codes))
        for root in self.roots.tolist():
            node: Integers = np.full(len(codes), root, dtype=np.int64)
            at = rows
            while len(at := at[self.test[node[at]] >= 0]):
                here = node[at]
                feature = self.feature[self.test[here]]
                child = self.first_child[here] + self.branch[self.test[here], codes[at, feature]]
                out[at, feature] += means[child] - means[here]
                node[at] = child
        return means[self.roots].sum(axis=0), out


def levels(
    roots: Nodes, test: Nodes, first_child: Nodes, arity: Nodes, most: int | None = None
) -> npt.NDArray[np.int32]:
    """Return the level of each node; roots are on level 1, and nodes below the level ``most`` on level 0."""
    level = np.zeros(len(test), dtype=np.int32)
    nodes, number = roots.astype(np.int64), 1
    while len(nodes) and (most is None or number <= most):
        level[nodes] = number
        inner = nodes[test[nodes] >= 0]
        branches = arity[test[inner]]
        ends = np.cumsum(branches)
        places = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - branches, branches)
        nodes, number = np.repeat(first_child[inner], branches) + places, number + 1
    return level


def parents(roots: Nodes, inner: npt.NDArray[np.bool_], first_child: Nodes) -> Integers:
    """Return the node above each node, -1 above a root; ``inner`` marks the nodes with children."""
    out = np.full(len(first_child), -1, dtype=np.int64)
    above = np.flatnonzero(inner)
    if len(above):
        above = above[np.argsort(first_child[above])]
        children = np.setdiff1d(np.arange(len(first_child)), roots)
        # Children are adjacent: a node's parent is the last test whose first child is not behind the node.
        out[children] = above[np.searchsorted(first_child[above], children, side="right") - 1]
    return out


def importances(roots: Nodes, feature: Nodes, first_child: Nodes, n_features: int) -> Floats:
    """Return the share of each feature in the tests of trees, of shape (features,); zeros where there is no test.

    ``feature`` is -1 for a leaf. A root weighs 1, and a test shares its weight evenly among its branches.
    """
    inner = np.flatnonzero(feature >= 0)
    if not len(inner):
        return np.zeros(n_features)
    parent = parents(roots, feature >= 0, first_child)
    children = np.flatnonzero(parent >= 0)
    parent = parent[children]
    arity = np.bincount(parent, minlength=len(feature))
    weight = np.zeros(len(feature))
    weight[roots] = 1.0
    for _ in range(MOST_TESTS):
        before = weight.copy()
        weight[children] = before[parent] / arity[parent]
        if np.array_equal(before, weight):
            break
    sums = np.bincount(feature[inner], weights=weight[inner], minlength=n_features)
    return np.asarray(sums / sums.sum())


@dataclass(frozen=True, eq=False)
class ScoringForm(Trees):
    """A model as trees over codes: each leaf that a record reaches gives it votes.

    The label is the first class with the largest sum of votes. A regressor's form has no classes and one column of votes.
    """

    encoder: Encoder
    classes: Sequence[Value]  # the labels; none for a regressor
    votes: (
        Integers  # (nodes, classes): what a leaf gives to each class, or to the prediction; other nodes' mean nothing
    )
    link: Link  # from sums of votes to probabilities, or to the prediction

    @lazy
    def readings(self) -> tuple[Reading, ...]:
        return readings_of(self.encoder)

    @property
    def labels(self) -> tuple[Value, ...]:
        """The classes as values of one type: whole numbers of 64 bits, numbers or truth values where all are, otherwise text."""
        for kind in (bool, int, float):
            if all(type(label) is kind for label in self.classes):
                if kind is int and not all(-LARGEST <= label < LARGEST for label in self.classes if type(label) is int):
                    break
                return tuple(self.classes)
        return tuple(str(label) for label in self.classes)

    def sums(self, codes: Codes) -> Integers:
        return self.sums_of(codes, self.votes, self.votes.shape[1])

    def codes_to_branches(self, test: int) -> Codes:
        return np.asarray(self.branch[test, : self.encoder.n_codes[self.feature[test]]])

    def merged(self) -> ScoringForm:
        """Return a form that says the same with one tree for all that have the same tests, whose votes are added up."""
        together: dict[tuple[int, ...], list[Integers]] = {}
        first, arity = self.first_child.tolist(), np.append(self.arity, 0)[self.test].tolist()  # of a leaf 0
        for root in self.roots.tolist():
            nodes, level = [root], [root]
            while level:
                level = [child for node in level for child in range(first[node], first[node] + arity[node])]
                nodes += level
            together.setdefault(tuple(self.test[nodes].tolist()), []).append(np.array(nodes))
        if len(together) == len(self.roots):
            return self
        kept = [trees[0] for trees in together.values()]
        votes = np.concatenate([sum(self.votes[nodes] for nodes in trees) for trees in together.values()])
        place = np.zeros(len(self.test), dtype=np.int64)
        order = np.concatenate(kept)
        place[order] = np.arange(len(order))
        starts = np.cumsum([0, *map(len, kept[:-1])])
        test = self.test[order]
        first_child = np.where(test < 0, 0, place[self.first_child[order]])
        return replace(self, roots=starts, test=test, first_child=first_child, votes=votes)
