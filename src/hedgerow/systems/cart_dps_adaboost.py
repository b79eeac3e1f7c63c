"""CART-DPsAdaBoost: Jia, Qiu and Ma, Journal of Cyber Security 6(4), 2021."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.boosting import BoostingRecipe, MadaBoost
from hedgerow.mechanisms import Exponential
from hedgerow.parameters import Choice, Flag, WholeNumber, parameter
from hedgerow.published import boosting as published
from hedgerow.scores import SCORES
from hedgerow.systems.boosted import VOTES, PaperBooster, by_budget
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Binary, LeafShare, NoisyCounts, Recipe, SelectTest, Subspace, Weighted

__all__ = ["CARTDPsAdaBoostClassifier"]

HALF = Fraction(1, 2)  # a record is sampled with a probability of half its weight
TESTS_SHARE = Fraction(3, 4)
FOR_PRUNING = Fraction(3, 10)
PAPER_SUBSPACE = 5


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

    Parameters
    ----------
    epsilon, delta, schema, variant, n_estimators, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperBooster``. Defaults: 4 rounds below a budget of 0.5, 30 from 10 on, otherwise 10 [our choice]; published:
        10, or 30 as coded with noise in Gini indices; 10 bins.
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

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.CARTDPsAdaBoostClassifier(epsilon=1.0, delta=1e-6, schema=schema).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
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
            candidates=Binary(),
            levels=LeafShare(1 - TESTS_SHARE),
            split=SelectTest(Exponential, SCORES[self.criterion]),
            subspace=None if self.subspace is None else Subspace(self.subspace),
            leaf=NoisyCounts(),
        )
        return BoostingRecipe(tree, VOTES[self.voting], MadaBoost())

    def _published(self) -> published.PublishedBoosting:
        depth = self._size(None).max_depth
        if self.as_coded:
            noisy = self.coded_noise == "gini"
            return published.PublishedBoosting(
                published.CodedTree(depth, noisy=noisy),
                budgets=published.WholeRounds() if noisy else published.EqualRounds(),
                step=published.CodedStep(),
                votes=None if noisy else published.NoisyVotes(),
                holdout=FOR_PRUNING,
            )
        return published.PublishedBoosting(
            published.CartTree(depth, PAPER_SUBSPACE if self.subspace is None else self.subspace),
            budgets=published.LessLogAlpha(),
            holdout=FOR_PRUNING,
        )

    def _size(self, epsilon: Fraction | None) -> Size:
        return super()._size(epsilon).given(max_depth=self.max_depth)

    def _default_size(self, epsilon: Fraction | None) -> Size:
        if epsilon is None:
            return Size(30 if self.as_coded and self.coded_noise == "gini" else 10, 4, 10)
        return Size(by_budget(epsilon, 4, 10, 30), 2, 10)
