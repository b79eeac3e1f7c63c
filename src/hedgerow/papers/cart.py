"""CART-DPsAdaBoost: Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021; its tree as printed in algorithms 1 and 3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from hedgerow import trees
from hedgerow.arrays import Floats, Integers, Truth
from hedgerow.mechanisms import Exponential, Randomness
from hedgerow.papers.boosting import UNIT, Fit, PaperBooster, PrintedBoosting, adaboost_alpha
from hedgerow.papers.cart_coded import CodedBoosting, CodedTree, WeakestLink, errors_by_node
from hedgerow.papers.kernels import CUT
from hedgerow.papers.noise import IntervalChoice, Resample, SomeFeatures
from hedgerow.papers.records import Branching, OpenNodes, RawRecords, cut_ranges
from hedgerow.papers.trees import Growth, PrintedTrees, reason
from hedgerow.parameters import Choice, Flag, WholeNumber, parameter
from hedgerow.privacy.exact import decimal_text
from hedgerow.schema import Schema
from hedgerow.scores import SCORES, binary
from hedgerow.systems.base import VOTES, Size, by_budget

# CART-DPsAdaBoost: equation 2; definition 2
TWICE_SENSITIVITY = 4  # the paper's Delta of the Gini score is 2
HALF = Fraction(1, 2)  # a record is sampled with a probability of half its weight
TESTS_SHARE = Fraction(3, 4)
FOR_PRUNING = Fraction(3, 10)
PAPER_SUBSPACE = 5
LEAST_ALPHA = 2e-10  # its logarithm is finite
RESERVE = 0.001  # of a round's equal share, where the rule gives nothing


@dataclass(frozen=True)
class CartTree:  # CART-DPsAdaBoost: algorithm 1
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
    noised: Literal["counts", "shares"] = "counts"  # of a leaf; shares of the sample are as small as the weights

    @staticmethod
    def tests(schema: Schema, max_bins: int) -> Branching:
        return cut_ranges(schema, max_bins).grouped()

    # CART-DPsAdaBoost: algorithm 1, steps 2, 4 and 5; algorithm 3, step 5
    def fitter(self, training: RawRecords, holdout: RawRecords) -> Fit:
        def fit(weights: Floats, budget: float, randomness: Randomness) -> PrintedTrees:
            level_budget = Fraction(budget) / (self.max_depth + 1)
            sample = randomness.draw(Resample(), weights, 1)[0] if self.sampled else np.arange(len(weights))
            growth = Growth(training, [sample])
            for _ in range(self.max_depth):
                frontier = growth.open[np.all(growth.counts[-1] > 0, axis=1)]
                if not len(frontier):
                    break
                tested, feature, cut, left = self._choose(frontier, level_budget, randomness)
                growth.split(frontier[tested], feature, cut, cut, left)
            tree, counts = growth.trees(), np.concatenate(growth.counts)
            height = np.zeros(len(counts))  # how many levels of nodes are below each node
            for node in np.flatnonzero(tree.feature >= 0)[::-1]:
                height[node] = 1 + height[tree.first_child[node] :][:2].max()
            own = float(level_budget) * (0.5 + height)
            one = 1.0 if self.noised == "counts" else float(len(sample))  # a record, in units of what is noised
            noisy = counts + one * weights.max() / own[:, None] * randomness.draw(UNIT, np.zeros(counts.shape))
            tree.label[:] = noisy.argmax(axis=1)
            if self.pruning is None:
                return tree
            held = errors_by_node(tree, holdout, np.arange(len(holdout.labels)))
            return self.pruning.apply(tree, errors_by_node(tree, training, sample), held)

        return fit

    # CART-DPsAdaBoost: algorithm 1, steps 3, 8 and 9; equation 4; definition 4
    def _choose(
        self, nodes: OpenNodes, level_budget: Fraction, randomness: Randomness
    ) -> tuple[Truth, Integers, Floats, Truth]:
        """Return which nodes have a test, and of these the feature, the cut, and the codes that go left."""
        numeric = nodes.data.branching.bins == CUT
        offered = randomness.draw(SomeFeatures(self.subspace), nodes.offered)
        score, cut = np.full(offered.shape, -np.inf), np.zeros(offered.shape)
        groups = np.zeros((len(nodes), int(nodes.offsets[-1])), dtype=np.bool_)
        for block in nodes.blocks():
            counts = nodes.histogram(block, offered & ~numeric, cut, cut)
            for coded in np.flatnonzero(~numeric):
                codes = slice(*nodes.offsets[coded : coded + 2])
                best_groups(counts[:, codes], offered[block, coded], score[block, coded], groups[block, codes])
        cuttable = offered & numeric
        numbers = cuttable.sum(axis=1)
        for n in np.unique(numbers[numbers > 0]):
            mechanism = IntervalChoice(level_budget / (2 * (int(n) + 1)), TWICE_SENSITIVITY)
            for node, feature, intervals in nodes.cut_intervals(cuttable & (numbers == n)[:, None]):
                score[node, feature], cut[node, feature] = randomness.draw(mechanism, *intervals)
        best: Integers = score.argmax(axis=1)
        tested = np.isfinite(score.max(axis=1))
        left = np.zeros((len(nodes), nodes.data.branching.group_codes), dtype=np.bool_)
        for row in np.flatnonzero(tested & ~numeric[best]):
            group = groups[row, nodes.offsets[best[row]] : nodes.offsets[best[row] + 1]]
            left[row, : len(group)] = group
        return tested, best[tested], cut[tested, best[tested]], left[tested]

    def reasons(self, branching: Branching) -> Iterator[str]:
        if self.sampled:
            yield reason("weighted-sample")
        if self.max_depth > 0:
            yield reason("pure-leaves-of-sample")
            yield reason("raw-split")
            cuts = min(self.subspace, len(branching.cuts))
            path = self.max_depth * (Fraction(3, 2) + Fraction(cuts, 2 * (cuts + 1))) + 1
            yield reason("overspent-path", times=float(path / (self.max_depth + 1)))
        yield reason("noise-by-weights")
        if self.pruning is not None:
            yield reason("raw-pruning")


def best_groups(counts: Integers, offered: Truth, score: Floats, left: Truth) -> None:  # CART-DPsAdaBoost: equation 5
    """Write the two groups of codes with the least Gini index in each of some nodes where this is offered, and its score.

    The score is -n times the Gini index of the two groups. For two classes the best groups are among the cuts along the
    codes sorted by their share of class 1 (Breiman, Friedman, Olshen and Stone 1984, 4.2.2). Codes without records stay out
    of the left group; a node with one code only keeps its score.
    """
    size = counts.sum(axis=2)
    share = np.divide(counts[:, :, 1], size, out=np.full(size.shape, np.inf), where=size > 0)
    order = np.argsort(share, axis=1, kind="stable")
    below = np.take_along_axis(counts, order[:, :, None], axis=1).cumsum(axis=1)
    sides = below, below[:, -1:] - below
    with np.errstate(invalid="ignore"):
        cut = -sum(2.0 * side[:, :, 0] * side[:, :, 1] / side.sum(axis=2) for side in sides)
    present = np.count_nonzero(size, axis=1)
    cut[np.arange(size.shape[1]) >= present[:, None] - 1] = -np.inf
    chosen = np.flatnonzero(offered & (present > 1))
    best = cut[chosen].argmax(axis=1)
    score[chosen] = cut[chosen, best]
    for node, last in zip(chosen, best, strict=True):
        left[node, order[node, : last + 1]] = True


def round_budget(epsilon: float, rounds: int, error: float) -> float:  # CART-DPsAdaBoost: algorithm 3, step 3
    """Return the budget of a round of CART-DPsAdaBoost, eps / T - ln(alpha), after a round with such an error.

    Read literally: it is negative after errors that are small, and above eps / T after errors above .1192.
    """
    return epsilon / rounds - math.log(max(adaboost_alpha(error), LEAST_ALPHA))


@dataclass(frozen=True)
class PrintedCart(PrintedBoosting):
    """AdaBoost whose rounds have eps / T - ln(alpha): algorithm 3, with alpha of the round before.

    The paper's alpha is known at the round's end only, so that of the round before is taken [inferred]. The first round takes
    alpha = 1 [inferred], and a rest that is not positive becomes .001 eps / T [inferred]; alpha is at least 2e-10, so that no
    budget is infinite [our choice].
    """

    def budget(self, epsilon: float, rounds: int, error: float | None) -> float:
        budget = epsilon / rounds if error is None else round_budget(epsilon, rounds, error)
        return budget if budget > 0 else RESERVE * epsilon / rounds

    def noise_reasons(self, epsilon: Fraction, rounds: int) -> Iterator[str]:
        if rounds > 1:
            used = round_budget(float(epsilon), rounds, 0.2)
            yield reason("budget-by-error", rounds=rounds, nominal=decimal_text(epsilon / rounds), used=used)


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
    Published algorithms 1, 3 and 4 as printed, or as the authors coded them. A round's printed budget needs its own alpha: it
              takes that of the round before, and .001 of its equal part where nothing is left [inferred].
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

    def _private(self) -> trees.BoostingRecipe:  # CART-DPsAdaBoost: algorithms 1 and 3
        tree = trees.Recipe(
            assign=trees.AllRecords() if self.delta else trees.Weighted(HALF),
            candidates=binary,
            levels=trees.LeafShare(1 - TESTS_SHARE),
            split=trees.SelectTest(Exponential, SCORES[self.criterion]),
            subspace=None if self.subspace is None else trees.Subspace(self.subspace),
            leaf=trees.NoisyCounts(),
        )
        return trees.BoostingRecipe(tree, VOTES[self.voting], trees.MadaBoost())

    @property
    def _published_size(self) -> Size:
        return Size(30 if self.as_coded and self.coded_noise == "gini" else 10, 4, 10)

    def _published(self) -> PrintedBoosting:
        depth = self._published_size.of(self).max_depth
        if self.as_coded:
            return CodedBoosting(CodedTree(depth, noisy=self.coded_noise == "gini"), holdout=FOR_PRUNING)
        subspace = PAPER_SUBSPACE if self.subspace is None else self.subspace
        return PrintedCart(CartTree(depth, subspace), holdout=FOR_PRUNING)

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(by_budget(epsilon, 4, 10, 30), 2, 10)
