"""CART-DPsAdaBoost: Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021; its tree as printed in algorithms 1 and 3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Exponential, Randomness
from hedgerow.papers import kernels
from hedgerow.papers.boosting import (
    UNIT,
    BinaryTrees,
    Fit,
    PaperBooster,
    PrintedBoosting,
    adaboost_alpha,
    most_codes,
)
from hedgerow.papers.cart_coded import (
    CodedBoosting,
    CodedTree,
    Sketch,
    WeakestLink,
    errors_by_node,
)
from hedgerow.papers.kernels import CUT
from hedgerow.papers.noise import IntervalChoice, Resample, SomeFeatures
from hedgerow.papers.records import Branching, OpenNodes, RawRecords, cut_ranges
from hedgerow.parameters import Choice, Flag, WholeNumber, parameter
from hedgerow.privacy.exact import decimal_text
from hedgerow.scores import SCORES, binary
from hedgerow.systems.base import VOTES, Size, by_budget
from hedgerow.trees import (
    AllRecords,
    BoostingRecipe,
    LeafShare,
    MadaBoost,
    NoisyCounts,
    Recipe,
    SelectTest,
    Subspace,
    Weighted,
)

TWICE_SENSITIVITY = 4  # the paper's Delta of the Gini score is 2
HALF = Fraction(1, 2)  # a record is sampled with a probability of half its weight
TESTS_SHARE = Fraction(3, 4)
FOR_PRUNING = Fraction(3, 10)
PAPER_SUBSPACE = 5
LEAST_ALPHA = 2e-10  # its logarithm is finite
RESERVE = 0.001  # of a round's equal share, where the rule gives nothing


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

    """

    max_depth: int = 4  # d, the tests on a path; e' = e / (d + 1)
    subspace: int = 5  # k, how many features a node may test
    pruning: WeakestLink | None = field(default_factory=WeakestLink)
    sampled: bool = True  # False is an ablation: a tree is grown on all records, and weights reach none
    noised: Literal["counts", "shares"] = (
        "counts"  # a leaf's records, or their shares of the sample, as small as the weights
    )

    tests = staticmethod(cut_ranges)

    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        return lambda weights, budget, randomness: self._fit(training, holdout, weights, budget, randomness)

    def _fit(
        self, training: RawRecords, holdout: RawRecords, weights: Floats, budget: float, randomness: Randomness
    ) -> BinaryTrees:
        level_budget = Fraction(budget) / (self.max_depth + 1)
        sample: Integers = np.arange(len(weights))
        if self.sampled:
            sample = randomness.draw(Resample(), weights, 1)[0]
        sketch = CartGrower(self, training, level_budget, randomness).grow(sample)
        counts, own = np.array(sketch.counts), float(level_budget) * (0.5 + sketch.heights())
        one = 1.0 if self.noised == "counts" else float(len(sample))  # a record, in units of what is noised
        noisy = counts + one * weights.max() / own[:, None] * randomness.draw(UNIT, np.zeros(counts.shape))
        tree = sketch.tree(noisy.argmax(axis=1))
        if self.pruning is None:
            return tree
        held = errors_by_node(tree, holdout, np.arange(len(holdout.labels)))
        return self.pruning.apply(tree, errors_by_node(tree, training, sample), held)

    def reasons(self, branching: Branching) -> Iterator[str]:
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
            cuts = min(self.subspace, len(branching.cuts))
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


def round_budget(epsilon: float, rounds: int, error: float) -> float:
    """Return the budget of a round of CART-DPsAdaBoost, eps / T - ln(alpha), after a round with such an error.

    Read literally: it is negative after errors that are small, and above eps / T after errors above .1192.
    """
    return epsilon / rounds - math.log(max(adaboost_alpha(error), LEAST_ALPHA))


@dataclass(frozen=True)
class PrintedCart(PrintedBoosting):
    """AdaBoost whose rounds have eps / T - ln(alpha): algorithm 3, with alpha of the round before.

    The paper's alpha is known at the round's end only. The first round takes alpha = 1, and a rest that is not positive
    becomes .001 eps / T [inferred]; alpha is at least 2e-10, so that no budget is infinite [our choice].
    """

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        budget = epsilon / rounds if error is None else round_budget(epsilon, rounds, error)
        return budget if budget > 0 else RESERVE * epsilon / rounds

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        if rounds == 1:
            return
        total = float(epsilon)
        used = [
            f"{round_budget(total, rounds, error):.4g} after an error of {error:g}" for error in (0.05, 0.2, 0.3, 0.4)
        ]
        text = (
            f"a round's budget is epsilon / {rounds} - ln(alpha), read off the raw training error of the round before: "
            f"nominally {decimal_text(epsilon / rounds)}, really {', '.join(used)}"
        )
        if round_budget(total, rounds, 0.0) < 0:
            zero = 1 / (1 + math.exp(2 * math.exp(total / rounds)))  # where alpha is e^(epsilon / T)
            text += f"; below an error of {zero:.3g} it is negative, and .001 of the nominal one stands in"
        yield text


Tests = tuple[Integers, Floats, Truth]  # of each node: its feature, -1 for none, its cut, and the codes that go left


class CartGrower:
    """Grows one tree level by level; a level may spend ``level_budget``, and all noise comes from ``randomness``."""

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
        frontier, counts = self._add(OpenNodes.roots(self._data, [sample]))
        for _ in range(self._learner.max_depth):
            frontier = frontier[np.all(counts > 0, axis=1)]
            if not len(frontier):
                break
            frontier, counts = self._split(frontier, self._choose(frontier))
        return self._sketch

    def _add(self, nodes: OpenNodes) -> tuple[OpenNodes, Integers]:
        """Add the nodes of a level to the sketch, and return them with their class counts (nodes, 2)."""
        counts = nodes.class_counts()
        self._number = self._sketch.add(counts)
        return nodes, counts

    def _choose(self, frontier: OpenNodes) -> Tests:
        offered = self._randomness.draw(SomeFeatures(self._learner.subspace), frontier.offered)
        score, left = self._groupings(frontier, offered & ~self._numeric)
        cut = self._cuts(frontier, offered & self._numeric, score)
        feature = score.argmax(axis=1)
        testable = np.isfinite(score.max(axis=1))
        rows = np.arange(len(frontier))
        table = np.zeros((len(frontier), self._sketch.codes), dtype=np.bool_)
        for node in rows[testable & ~self._numeric[feature]]:
            group = left[node, frontier.offsets[feature[node]] : frontier.offsets[feature[node] + 1]]
            table[node, : len(group)] = group
        return np.where(testable, feature, -1), cut[rows, feature], table

    def _groupings(self, nodes: OpenNodes, offered: Truth) -> tuple[Floats, Truth]:
        """Return the score of each feature's best groups (nodes, features), and the codes (nodes, all codes) on the left."""
        score = np.full(offered.shape, -np.inf)
        left = np.zeros((len(nodes), int(nodes.offsets[-1])), dtype=np.bool_)
        none = np.zeros(offered.shape)
        for block in nodes.blocks():
            counts = nodes.histogram(block, offered, none, none)
            kernels.best_groupings(counts, nodes.offsets, offered[block], score[block], left[block])
        return score, left

    def _cuts(self, nodes: OpenNodes, offered: Truth, score: Floats) -> Floats:
        """Return a cut for each offered number (nodes, features), and write its score."""
        cut = np.zeros(offered.shape)
        numbers = offered.sum(axis=1)
        for n in np.unique(numbers[numbers > 0]):
            mechanism = IntervalChoice(self._budget / (2 * (int(n) + 1)), TWICE_SENSITIVITY)
            for node, feature, intervals in nodes.cut_intervals(offered & (numbers == n)[:, None]):
                score[node, feature], cut[node, feature] = self._randomness.draw(mechanism, *intervals)
        return cut

    def _split(self, frontier: OpenNodes, tests: Tests) -> tuple[OpenNodes, Integers]:
        tested = tests[0] >= 0
        frontier, feature, cut, left = frontier[tested], tests[0][tested], tests[1][tested], tests[2][tested]
        side = np.empty(len(frontier.records), dtype=np.int64)
        records = (self._data.columns, frontier.records, frontier.node)
        kernels.sides(*records, feature, self._numeric, cut, left, side)
        parents = self._number[frontier.row]
        children, counts = self._add(frontier.children(feature, cut, np.full(len(frontier), 2), side))
        for i, node in enumerate(parents.tolist()):
            self._sketch.split(node, int(feature[i]), cut[i], left[i], int(self._number[2 * i]))
        return children, counts


class CARTDPsAdaBoostClassifier(PaperBooster):
    """AdaBoost on CART trees grown on samples by weight (CART-DPsAdaBoost).

    Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021.

    Releases  ``n_estimators`` trees with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each round, amplified by the sampling. Three quarters of a tree's budget are
              for its tests, the rest for its leaves. With ``delta`` above 0, records are weighted instead of sampled, because
              only pure epsilon is amplified (docs/proofs/cart-dps-adaboost.md).
    Departs   (private) from the paper. A record is in a round's sample at most once, with a probability of half its capped
              weight. One run of the exponential mechanism selects a test among all cuts and values. No stop rule makes a node
              a leaf. A tree's vote follows from its noisy leaves.
    Published algorithms 1, 3 and 4 as printed, with the circular budget; or as the authors coded them.
    Defaults  4 rounds below a budget of 0.5, 30 from 10 on, otherwise 10 [our choice]; published: 10, or 30 as coded with noise
              in Gini indices; 10 bins.

    Parameters
    ----------
    max_depth : int or None
        Maximum number of tests on a path. None: 2 [our choice]; published: 4.
    subspace : int or None
        Number of features, drawn at random, that a node considers. None: all of them [our choice]; published: 5.
    criterion : {"max", "error", "gini"}
        Private form: the score that ranks the tests. The paper's Gini score has twice the range [our choice].
    voting : {"discrete", "real"}
        Private form: a tree votes with one weight from its noisy error, or each leaf votes with its log-odds.
    as_coded : bool
        Published form: whether to follow the authors' public code where it differs from the paper.
    coded_noise : {"votes", "gini"}
        Where the coded form adds noise. "votes": to the trees' predictions, as in the four scripts that draw the paper's figures
        and tables. "gini": to the Gini indices and labels, as in a fifth script.
    """

    max_depth: int | None = parameter(WholeNumber(1, 16, or_none=True), default=None)
    subspace: int | None = parameter(WholeNumber(1, 100_000, or_none=True), default=None)
    criterion: str = parameter(Choice(("max", "error", "gini")), default="max")
    voting: str = parameter(Choice(tuple(VOTES)), default="discrete")
    as_coded: bool = parameter(Flag(), default=False)
    coded_noise: str = parameter(Choice(("votes", "gini")), default="votes")

    def _private(self) -> BoostingRecipe:
        tree = Recipe(
            assign=AllRecords() if self.delta else Weighted(HALF),
            candidates=binary,
            levels=LeafShare(1 - TESTS_SHARE),
            split=SelectTest(Exponential, SCORES[self.criterion]),
            subspace=None if self.subspace is None else Subspace(self.subspace),
            leaf=NoisyCounts(),
        )
        return BoostingRecipe(tree, VOTES[self.voting], MadaBoost())

    @property
    def _published_size(self) -> Size:
        return Size(30 if self.as_coded and self.coded_noise == "gini" else 10, 4, 10)

    def _published(self) -> PrintedBoosting:
        depth = self._size(self._published_size).max_depth
        if self.as_coded:
            return CodedBoosting(CodedTree(depth, noisy=self.coded_noise == "gini"), holdout=FOR_PRUNING)
        subspace = PAPER_SUBSPACE if self.subspace is None else self.subspace
        return PrintedCart(CartTree(depth, subspace), holdout=FOR_PRUNING)

    def _size(self, default: Size) -> Size:
        return super()._size(default).given(max_depth=self.max_depth)

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(by_budget(epsilon, 4, 10, 30), 2, 10)
