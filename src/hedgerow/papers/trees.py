"""Printed trees: how they grow on raw records, level by level and all at once, how records pass them; and the plan of a fit."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.estimator import PrivateClassifier, PublicCoins, RawPlan
from hedgerow.files import packaged_table
from hedgerow.mechanisms import Randomness
from hedgerow.papers import kernels
from hedgerow.papers.records import Branching, OpenNodes, RawRecords
from hedgerow.parameters import Choice, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Encoder, Schema
from hedgerow.systems.base import Size
from hedgerow.texts import short_repr

REASONS = packaged_table("hedgerow.papers", "reasons")


def reason(name: str, **figures: object) -> str:
    """Return a sentence of ``reasons.toml``: why no guarantee holds."""
    return str(REASONS[name].format(**figures))


@dataclass(frozen=True, eq=False)
class PrintedTrees:
    """Nodes of all trees in one array; the children of a node are side by side and behind it. Shapes are (nodes,)."""

    branching: Branching
    roots: npt.NDArray[np.int32]  # (trees,)
    feature: npt.NDArray[np.int32]  # what a node tests, -1 for a leaf
    first_child: npt.NDArray[np.int32]  # 0 for a leaf
    label: npt.NDArray[np.int32]  # the class of a leaf; that of another node is not read
    low: Floats  # the range that a numeric test cuts into bins, or twice the point of a cut; 0 for other nodes
    high: Floats
    left: Truth  # (nodes, codes): which codes go left where a test has two groups of them

    __repr__ = short_repr

    @classmethod
    def of_leaves(cls, branching: Branching, label: npt.ArrayLike, roots: Sequence[int] = (0,)) -> Self:
        """Return nodes whose tests are still to be filled in."""
        labels = np.asarray(label, dtype=np.int32)
        nodes = len(labels)
        none, zero = np.full(nodes, -1, dtype=np.int32), np.zeros(nodes)
        left = np.zeros((nodes, branching.group_codes), dtype=np.bool_)
        root = np.asarray(roots, dtype=np.int32)
        return cls(branching, root, none, zero.astype(np.int32), labels, zero, zero.copy(), left)

    @classmethod
    def concatenated(cls, branching: Branching, parts: Sequence[Self]) -> Self:
        """Return parts that number the nodes of the whole as one."""
        arrays = [part.to_arrays() for part in (cls.of_leaves(branching, [], []), *parts)]
        return cls(branching, **{name: np.concatenate([part[name] for part in arrays]) for name in arrays[0]})

    @classmethod
    def joined(cls, branching: Branching, trees: Sequence[Self]) -> Self:
        parts, behind = [], 0
        for tree in trees:
            children = np.where(tree.feature >= 0, tree.first_child + behind, 0).astype(np.int32)
            parts.append(replace(tree, roots=tree.roots + np.int32(behind), first_child=children))
            behind += len(tree.feature)
        return cls.concatenated(branching, parts)

    @property
    def _tests(self) -> tuple[npt.NDArray[Any], ...]:
        return self.low, self.high, self.left, self.branching.bins

    def reached(self, columns: Floats, records: Integers, tree: int = 0) -> Iterator[tuple[Integers, Integers]]:
        """Yield level by level which of some records of ``columns`` (features, records) are in the tree, and at what nodes."""
        place = np.arange(len(records))
        node = np.full(len(records), self.roots[tree], dtype=np.int64)
        while len(place):
            yield place, node
            inner = self.feature[node] >= 0
            place, node = place[inner], node[inner]
            branch = np.empty_like(node)
            kernels.branches(columns, records[place], node, self.feature, *self._tests, branch)
            node = self.first_child[node] + branch

    def labels(self, columns: Floats, tree: int = 0) -> Integers:
        out = np.empty(columns.shape[1], dtype=np.int64)
        for place, node in self.reached(columns, np.arange(len(out)), tree):
            out[place] = self.label[node]
        return out

    def votes(self, columns: Floats) -> Integers:  # eDPRF: algorithm 6
        """Return how many trees give each class to each record of ``columns`` (features, records)."""
        out = np.zeros((columns.shape[1], len(self.branching.schema.classes)), dtype=np.int64)
        for tree in range(len(self.roots)):
            out[np.arange(len(out)), self.labels(columns, tree)] += 1
        return out

    def probabilities(self, X: Any) -> Floats:
        """Return the share of each class in the trees' votes and an even one more [our choice], (records, classes).

        Of equal shares the first class in the schema's order counts [our choice, the papers are silent].
        """
        votes = self.votes(np.ascontiguousarray(self.branching.read(X).T))
        n_classes = votes.shape[1]
        return np.asarray((votes * n_classes + 1) / (n_classes * (len(self.roots) + 1)))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: array for name, array in vars(self).items() if name != "branching"}


class Growth:
    """Trees that grow: the nodes of each level, their class ``counts`` (nodes, classes), and the last level as open nodes."""

    def __init__(self, data: RawRecords, subsets: Sequence[Integers]) -> None:
        self.levels: list[PrintedTrees] = []
        self.counts: list[Integers] = []
        self._size = 0
        self._add(OpenNodes.roots(data, subsets))

    def _add(self, nodes: OpenNodes) -> None:
        roots = () if self.levels else range(len(nodes))
        self.levels.append(PrintedTrees.of_leaves(nodes.data.branching, np.full(len(nodes), -1), roots))
        self.counts.append(nodes.class_counts())
        self.open = nodes
        self._size += len(nodes)

    def split(self, nodes: OpenNodes, feature: Integers, low: Floats, high: Floats, left: Truth | None = None) -> None:
        """Give tests to some of the open nodes, whose children are open from now on; arguments are as in ``PrintedTrees``."""
        data, level, row = nodes.data, self.levels[-1], nodes.row
        bins, arity = data.branching.bins, data.branching.branches[feature]
        level.feature[row], level.first_child[row] = feature, self._size + np.cumsum(arity) - arity
        level.low[row], level.high[row] = low, high
        if left is not None:
            level.left[row] = left
        branch = np.empty(len(nodes.records), dtype=np.int64)
        kernels.branches(data.columns, nodes.records, nodes.node, feature, low, high, level.left[row], bins, branch)
        unused = nodes.unused.copy()
        unused[np.arange(len(nodes)), feature] = bins[feature] < 0  # what has two branches may be tested again
        self._add(replace(nodes, unused=unused).children(feature, low, arity, branch))

    def trees(self) -> PrintedTrees:
        return PrintedTrees.concatenated(self.open.data.branching, self.levels)


class Printed(Protocol):
    """What a paper prints: how columns are read, what is read without protection, and a fit of a number of trees.

    ``epsilon`` is the budget that the paper states, and ``coins`` are the numbers of the rounds, from 1, that noise follows.
    """

    def read_by(self, schema: Schema, max_bins: int) -> Branching: ...

    def reasons(self, branching: Branching, epsilon: Fraction, size: Size) -> Iterator[str]: ...

    def fit(
        self, data: RawRecords, epsilon: Fraction, size: Size, coins: PublicCoins, randomness: Randomness
    ) -> Any: ...


class PrintedPlan(RawPlan):
    """A printed system that is about to be trained, on the records whose label is in the schema. No guarantee holds."""

    def __init__(self, recipe: Printed, schema: Schema, epsilon: Fraction, size: Size, coins: PublicCoins = ()) -> None:
        self._recipe = recipe
        self._given = epsilon, size, coins
        self._branching = recipe.read_by(schema, size.max_bins)
        self.reasons = tuple(recipe.reasons(self._branching, epsilon, size))

    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> Any:
        labels = Encoder(self._branching.schema, 2).labels(y)
        data = RawRecords.labelled(self._branching.read(X), labels, self._branching)
        return self._recipe.fit(data, *self._given, randomness)


class PaperSystem(PrivateClassifier):
    """A system of a paper, in the form whose guarantee is proved and in the form that the paper prints.

    Parameters
    ----------
    variant : {"private", "published"}
        "private": the form whose guarantee is proved. "published": the form that the paper prints, to fit and predict; its
        certificate says that no guarantee holds, and why.
    """

    variant: str = parameter(Choice(("private", "published")), default="private")

    @property
    @abstractmethod
    def _published_size(self) -> Size:
        """The default size of the published form."""

    @abstractmethod
    def _published(self) -> Printed:
        """Return the parts of the published form."""

    def _printed_plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> RawPlan:
        size = self._published_size.of(self)  # the paper's budgets are the same under either adjacency
        return PrintedPlan(self._published(), schema, claim.epsilon, size, coins)
