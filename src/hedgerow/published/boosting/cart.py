"""The tree of CART-DPsAdaBoost as printed: Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021, algorithms 1 and 3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event, Pure, Sequence
from hedgerow.published.boosting import kernels
from hedgerow.published.boosting.model import BinaryTrees, most_codes
from hedgerow.published.boosting.sketch import Sketch, WeakestLink, errors_by_node
from hedgerow.published.branching import BranchingRule, CutRanges
from hedgerow.published.case import Case
from hedgerow.published.kernels import CUT, GINI, grouped
from hedgerow.published.noise import IntervalChoice, Laplace, Resample, SomeFeatures
from hedgerow.published.records import NodeRecords, RawRecords

__all__ = ["CartTree"]


UNIT = Laplace(Fraction(1))
TWICE_SENSITIVITY = 4  # the paper's Delta of the Gini score is 2
STATED = "as the paper states it"


@dataclass(frozen=True)
class CartTree:
    """A binary tree on a bootstrap sample by weights, pruned on held-out records.

    A node of a single class, or one with ``max_depth`` tests above it, is a leaf. Another draws ``subspace`` features and
    tests the one with the least Gini index: of a number at a cut by the exponential mechanism over the intervals of its
    range, with exp(e'' q / 4) and q = -n Gini, of codes at the best of their two-group divisions, without noise. Nodes get the
    label of the larger noisy class count, of scale max w / (e' / 2).

    Choices that are ours: a missing number goes right, and so does a code without records in the node; a feature without
    two groups is not tested, and a node whose features have none is a leaf. Each noisy count that no step reads, the sizes of
    nodes, is paid for and not drawn. Step 8 adds the budget of a pruned subtree to its parent: a node with h levels below
    it, should it become a leaf, has e' / 2 + h e' for its counts. Pruning counts errors and not weights.

    Parameters
    ----------
    max_depth : int
        d, the tests on a path; e' = e / (d + 1).
    subspace : int
        k, how many features a node may test.
    pruning : WeakestLink or None
        What cuts trees back; None leaves them as they are.
    sampled : bool
        Whether a tree is grown on a sample by weight, as the paper has it, or on all records: an ablation, in which weights
        reach no tree.
    noised : {"counts", "shares"}
        What the noise of a leaf is added to: the numbers of its records, or their shares of the whole sample, which are as
        small as the weights that the noise is scaled to.
    """

    max_depth: int = 4
    subspace: int = 5
    pruning: WeakestLink | None = field(default_factory=WeakestLink)
    sampled: bool = True
    noised: Literal["counts", "shares"] = "counts"

    tests: ClassVar[BranchingRule] = CutRanges()

    def fitter(self, training: RawRecords, holdout: RawRecords) -> CartFitter:
        """Return the learner with its records."""
        return CartFitter(self, training, holdout)

    def level_budget(self, budget: Fraction) -> Fraction:
        """Return e', the budget of each level of a tree."""
        return budget / (self.max_depth + 1)

    def stated(self, case: Case) -> Event:
        """Return the cost of one round as section 3.3 of the paper states it, for its equal share of the budget."""
        level = self.level_budget(case.epsilon / case.trees)
        size = Pure(level / 2, "Laplace noise in floating point, read by no step", f"size of a node, {STATED}")
        steps: list[Event] = [size] * (self.max_depth + 1)
        cuts = min(self.subspace, case.n_cuts)
        if cuts:
            interval = "exponential mechanism over intervals in floating point, Gini score"
            cut = Pure(cuts * level / (2 * (cuts + 1)), interval, f"at most {cuts} cuts of a node, {STATED}")
            steps += [cut] * self.max_depth
        counts = Pure(level / 2, "Laplace noise in floating point, scale max w / epsilon", f"class counts, {STATED}")
        return Sequence((*steps, counts))

    def reasons(self, case: Case) -> Iterator[str]:
        """Yield what is read without protection."""
        if self.sampled:
            yield (
                "each tree draws as many records as there are, with replacement and by raw normalized weights: a record may be "
                "in it many times, and one record changes the chances of all others. With 1000 records and a hard one more these "
                "differ by .0089 in total after 1 round, and by .983 of at most 1 after 5"
            )
        if self.max_depth > 0:
            yield (
                "a node becomes a leaf when its records are of a single class, without noise: with records of one class the "
                "tree is a leaf for certain, and one record of the other class is in the sample, and splits it, with a "
                "probability of about .63, an infinite loss"
            )
            yield (
                "a node tests the feature with the least raw Gini index, and codes are grouped by raw counts: nothing is "
                "random there but the features that are offered, an infinite loss"
            )
            cuts = min(self.subspace, case.n_cuts)
            path = self.max_depth * (Fraction(3, 2) + Fraction(cuts, 2 * (cuts + 1))) + 1
            yield (
                "the paper's algorithm 1 spends more in an inner node than its section 3.3: e' / 2 for the size, e' for the node "
                f"and n e' / (2 (n + 1)) for cuts, {float(path / (self.max_depth + 1)):.3g} times the tree's budget on a path"
            )
        yield (
            "noise has the scale max w / e', with the largest normalized weight read off the records: no sensitivity of the "
            "counts of a sample, which one record changes by as often as it is drawn"
        )
        if self.pruning is not None:
            yield (
                "trees are cut back by raw errors on the records that are held out, an infinite loss; the budget of what is "
                "cut off is added to noise that was drawn before"
            )


@dataclass(frozen=True, eq=False)
class CartFitter:
    """The learner with its records."""

    learner: CartTree
    training: RawRecords
    holdout: RawRecords

    def fit(self, weights: Floats, budget: float, randomness: Randomness) -> BinaryTrees:
        """Return one tree."""
        level_budget = self.learner.level_budget(Fraction(budget))
        sample: Integers = np.arange(len(weights))
        if self.learner.sampled:
            sample = randomness.draw(Resample(), weights, 1)[0]
        sketch = CartGrower(self.learner, self.training, level_budget, randomness).grow(sample)
        counts, own = np.array(sketch.counts), float(level_budget) * (0.5 + sketch.heights())
        one = 1.0 if self.learner.noised == "counts" else float(len(sample))  # a record, in units of what is noised
        noisy = counts + one * weights.max() / own[:, None] * randomness.draw(UNIT, np.zeros(counts.shape))
        tree = sketch.tree(noisy.argmax(axis=1))
        if self.learner.pruning is None:
            return tree
        held = errors_by_node(tree, self.holdout, np.arange(len(self.holdout.labels)))
        return self.learner.pruning.apply(tree, errors_by_node(tree, self.training, sample), held)


@dataclass(frozen=True, eq=False)
class OpenCartNodes:
    """The nodes of one level: their numbers, what cuts above left of the ranges (nodes, cuts), and their records.

    ``records`` stand node by node, and ``node`` says in which one each is.
    """

    number: Integers
    low: Floats
    high: Floats
    records: Integers
    node: Integers

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, chosen: Truth) -> OpenCartNodes:
        stays = chosen[self.node]
        node = (np.cumsum(chosen) - 1)[self.node[stays]]
        return OpenCartNodes(self.number[chosen], self.low[chosen], self.high[chosen], self.records[stays], node)


@dataclass(frozen=True, eq=False)
class Tests:
    """The test of each node: its feature, -1 where there is none, its cut, and the codes (nodes, codes) that go left."""

    feature: Integers
    cut: Floats
    left: Truth

    def __getitem__(self, chosen: Truth) -> Tests:
        return Tests(self.feature[chosen], self.cut[chosen], self.left[chosen])


class CartGrower:
    """Grows one tree level by level.

    Parameters
    ----------
    learner : CartTree
        The tree's parameters.
    data : RawRecords
        The records.
    level_budget : Fraction
        What a level may spend.
    randomness : Randomness
        Where all noise comes from.
    """

    def __init__(self, learner: CartTree, data: RawRecords, level_budget: Fraction, randomness: Randomness) -> None:
        self._learner = learner
        self._data = data
        self._branching = data.branching
        self._numeric = data.branching.bins == CUT
        self._budget = level_budget
        self._randomness = randomness
        self._sketch = Sketch(most_codes(data.branching))

    def grow(self, sample: Integers) -> Sketch:
        """Return the tree of the records ``sample``, some of which are in it more than once."""
        cuts = self._branching.cuts
        root = np.zeros(len(sample), dtype=np.int64)
        reach = (self._branching.low[None, cuts], self._branching.high[None, cuts])
        frontier = self._add(*reach, sample, root, nodes=1)
        for _ in range(self._learner.max_depth):
            frontier = frontier[np.all(np.array(self._sketch.counts)[frontier.number] > 0, axis=1)]
            if len(frontier):
                frontier = self._split(frontier, self._choose(frontier))
        return self._sketch

    def _add(self, low: Floats, high: Floats, records: Integers, node: Integers, *, nodes: int) -> OpenCartNodes:
        cells = node * 2 + self._data.labels[records]
        number = self._sketch.add(np.bincount(cells, minlength=2 * nodes).reshape(nodes, 2))
        return OpenCartNodes(number, low, high, records, node)

    def _choose(self, frontier: OpenCartNodes) -> Tests:
        """Return the test of each node."""
        start = np.searchsorted(frontier.node, np.arange(len(frontier) + 1))
        nodes = NodeRecords(self._data, frontier.records, start, frontier.low, frontier.high, len(frontier.records))
        offered = np.ones((len(frontier), len(self._numeric)), dtype=np.bool_)
        offered[:, self._branching.cuts] = frontier.low < frontier.high
        offered = self._randomness.draw(SomeFeatures(self._learner.subspace), offered)
        score, left = self._groupings(nodes, offered & ~self._numeric)
        cut = self._cuts(nodes, offered & self._numeric, score)
        feature = score.argmax(axis=1)
        found = np.isfinite(score.max(axis=1))
        rows = np.arange(len(frontier))
        table = np.zeros((len(frontier), self._sketch.codes), dtype=np.bool_)
        for node in rows[found & ~self._numeric[feature]]:
            group = left[node, nodes.offsets[feature[node]] : nodes.offsets[feature[node] + 1]]
            table[node, : len(group)] = group
        return Tests(np.where(found, feature, -1), cut[rows, feature], table)

    def _groupings(self, nodes: NodeRecords, offered: Truth) -> tuple[Floats, Truth]:
        """Return the score of each feature's best groups (nodes, features), and the codes (nodes, all codes) on the left."""
        score = np.full(offered.shape, -np.inf)
        left = np.zeros((len(nodes), int(nodes.offsets[-1])), dtype=np.bool_)
        none = np.zeros(offered.shape)
        for block in nodes.blocks():
            counts = nodes.histogram(block, offered, none, none)
            kernels.best_groupings(counts, nodes.offsets, offered[block], score[block], left[block])
        return score, left

    def _cuts(self, nodes: NodeRecords, offered: Truth, score: Floats) -> Floats:
        """Return a cut for each offered number (nodes, features), and write its score."""
        cut = np.zeros(offered.shape)
        numbers = offered.sum(axis=1)
        for n in np.unique(numbers[numbers > 0]):
            mechanism = IntervalChoice(self._budget / (2 * (int(n) + 1)), TWICE_SENSITIVITY)
            for node, feature, intervals in nodes.cut_intervals(offered & (numbers == n)[:, None], GINI):
                score[node, feature], cut[node, feature] = self._randomness.draw(mechanism, *intervals)
        return cut

    def _split(self, frontier: OpenCartNodes, tests: Tests) -> OpenCartNodes:
        """Set the nodes' tests, and return their children."""
        found = tests.feature >= 0
        frontier, tests = frontier[found], tests[found]
        side = np.empty(len(frontier.records), dtype=np.int64)
        records = (self._data.columns, frontier.records, frontier.node)
        kernels.sides(*records, tests.feature, self._numeric, tests.cut, tests.left, side)
        moved = grouped(frontier.records, 2 * frontier.node + side, 2 * len(frontier))
        low, high = (np.repeat(end, 2, axis=0) for end in (frontier.low, frontier.high))
        number = np.flatnonzero(self._numeric[tests.feature])
        place = np.searchsorted(self._branching.cuts, tests.feature[number])
        high[2 * number, place] = low[2 * number + 1, place] = tests.cut[number]
        children = self._add(low, high, *moved, nodes=2 * len(frontier))
        for i, node in enumerate(frontier.number):
            self._sketch.split(
                int(node), int(tests.feature[i]), tests.cut[i], tests.left[i], int(children.number[2 * i])
            )
        return children
