"""The boosting systems of the papers, literally: they read raw records, so no guarantee holds for what they release."""

from hedgerow.published.boosting.cart import CartTree
from hedgerow.published.boosting.coded import CodedTree
from hedgerow.published.boosting.model import BinaryTrees, PublishedBoosted
from hedgerow.published.boosting.perturbation import PerturbExtremes, noise_scales
from hedgerow.published.boosting.plan import PublishedBoosting, PublishedBoostingPlan
from hedgerow.published.boosting.rounds import (
    AdaBoostStep,
    CodedStep,
    EqualRounds,
    LessLogAlpha,
    WholeRounds,
    adaboost_alpha,
    round_budget,
)
from hedgerow.published.boosting.sketch import WeakestLink
from hedgerow.published.boosting.stumps import AttributeStump, ExactStump

__all__ = [
    "AdaBoostStep",
    "AttributeStump",
    "BinaryTrees",
    "CartTree",
    "CodedStep",
    "CodedTree",
    "EqualRounds",
    "ExactStump",
    "LessLogAlpha",
    "PerturbExtremes",
    "PublishedBoosted",
    "PublishedBoosting",
    "PublishedBoostingPlan",
    "WeakestLink",
    "WholeRounds",
    "adaboost_alpha",
    "noise_scales",
    "round_budget",
]
