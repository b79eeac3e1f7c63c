"""DP-AdaBoost: Shen, thesis, Nanjing University of Aeronautics and Astronautics, 2017."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.boosting import BoostingRecipe, MadaBoost
from hedgerow.parameters import Choice, parameter
from hedgerow.published import boosting as published
from hedgerow.scores import Max
from hedgerow.systems.boosted import VOTES, PaperBooster, by_budget
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, LeafShare, Multiway, NoisyCounts, RandomTest, Recipe, SelectTest, Split

__all__ = ["DPAdaBoostClassifier"]


class DPAdaBoostClassifier(PaperBooster):
    """AdaBoost on stumps of one attribute, with one leaf per value and noisy leaves (DP-AdaBoost).

    Shen, 2017. We know it from the descriptions in two later papers, so most settings are ours [inferred].

    Releases  ``n_estimators`` stumps with noisy weights of the classes in each leaf.
    Costs     ``epsilon``, pure, or (``epsilon``, ``delta``): an equal part for each round (docs/proofs/dp-adaboost.md).
    Departs   (private) from the paper. The attribute is selected with noise, or at random, while the paper reads it off the
              records. Weights are capped and not normalized. Votes follow from the noisy leaves alone.
    Published the attribute with the largest exact weighted information gain, noise proportional to the largest weight, exact
              alpha.

    Parameters
    ----------
    epsilon, delta, schema, variant, n_estimators, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperBooster``. Defaults: 8 rounds below a budget of 0.5, 60 from 10 on, otherwise 16; published: 10; 10 bins
        [our choice].
    attribute : {"selected", "random"}
        How the private form selects the attribute. "selected": by permute-and-flip (with ``delta`` above 0 by the exponential
        mechanism) on the weight that majority labels classify correctly, with half of a round's budget. "random": at random, so
        the whole budget is for the leaves, as in the paper.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DPAdaBoostClassifier(epsilon=1.0, schema=schema, attribute="random").fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    attribute: str = parameter(Choice(("selected", "random")), default="selected")

    def _private(self) -> BoostingRecipe:
        selected = self.attribute == "selected"
        split: Split = SelectTest(score=Max()) if selected else RandomTest()
        tree = Recipe(
            assign=AllRecords(),
            candidates=Multiway(),
            levels=LeafShare(Fraction(1, 2) if selected else Fraction(1)),
            split=split,
            leaf=NoisyCounts(),
        )
        return BoostingRecipe(tree, VOTES["real"], MadaBoost())

    def _published(self) -> published.PublishedBoosting:
        return published.PublishedBoosting(published.AttributeStump())

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(10 if epsilon is None else by_budget(epsilon, 8, 16, 60), 1, 10)
