"""Boosting by bounded reweighting: MadaBoost and SmoothBoost weights."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hedgerow.boosting import BoostingRecipe, Discrete, MadaBoost, SmoothBoost, WeightFamily
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.scores import SCORES
from hedgerow.systems.base import VOTES, BoostedSystem, Size, by_budget
from hedgerow.trees import AllRecords, Binary, CandidateRule, LeafShare, Multiway, NoisyCounts, Recipe, SelectTest

CANDIDATES: Mapping[str, CandidateRule] = {"multiway": Multiway(), "binary": Binary()}
WEIGHTS: Mapping[str, WeightFamily] = {"madaboost": MadaBoost(), "smoothboost": SmoothBoost()}
EQUAL_VOTES = Discrete(level=2.0)  # SmoothBoost's hypotheses have equal votes


class SmoothBoostClassifier(BoostedSystem):
    """Boosting whose weights never exceed 1 and are never normalized, so that one record changes every count by at most 1.

    Domingo and Watanabe, COLT 2000 (MadaBoost); Servedio, JMLR 2003 (SmoothBoost). Bun, Carmosino and Sorrell, COLT 2020, and
    Asadi, Bun, Carmosino et al. 2022 also boost with bounded weights; here they need no projection.

    Releases  ``n_estimators`` trees with noisy weights of the classes in each leaf.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each round, a share of it for the test and the
              rest for the leaves (docs/proofs/boosting.md).
    Defaults  8 rounds below a budget of 0.5, 60 from 10 on, otherwise 20; 10 bins [our choice].

    Parameters
    ----------
    weights : {"madaboost", "smoothboost"}
        "madaboost": min(1, exp(-margin / 2)), with votes of the log-odds. "smoothboost": SmoothBoost's, with equal votes.
    max_depth : int
        Maximum number of tests on a path. 1 gives stumps.
    candidates : {"multiway", "binary"}
        "multiway": one branch for each code of a feature. "binary": cuts and single values.
    criterion : {"max", "error"}
        The score that ranks the tests: the weight that majority labels classify correctly, or the weight that they misclassify.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.SmoothBoostClassifier(epsilon=1.0, delta=1e-6, schema=schema, n_estimators=5).fit(X, y)
    >>> model.certificate_.holds, model.decision_function(X).shape
    (True, (2000,))
    """

    weights: str = parameter(Choice(tuple(WEIGHTS)), default="madaboost")
    max_depth: int = parameter(WholeNumber(1, 16), default=1)
    candidates: str = parameter(Choice(tuple(CANDIDATES)), default="multiway")
    criterion: str = parameter(Choice(("max", "error")), default="max")

    def _private(self) -> BoostingRecipe:
        tree = Recipe(
            assign=AllRecords(),
            candidates=CANDIDATES[self.candidates],
            levels=LeafShare(Fraction(1, 2)),
            split=SelectTest(score=SCORES[self.criterion]),
            leaf=NoisyCounts(),
        )
        votes = EQUAL_VOTES if self.weights == "smoothboost" else VOTES["real"]
        return BoostingRecipe(tree, votes, WEIGHTS[self.weights])

    def _size(self, default: Size) -> Size:
        return super()._size(default).given(max_depth=self.max_depth)

    def _default_size(self, epsilon: Fraction) -> Size:
        return Size(by_budget(epsilon, 8, 20, 60), 1, 10)
