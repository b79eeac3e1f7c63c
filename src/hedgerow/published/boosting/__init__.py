"""The boosting systems of the papers, literally: they read raw records, so no guarantee holds for what they release.

Names are imported when they are first used, as those of ``hedgerow.published``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.published.boosting.cart import CartTree
    from hedgerow.published.boosting.coded import CodedTree
    from hedgerow.published.boosting.model import BinaryTrees, PublishedBoosted
    from hedgerow.published.boosting.noisy_votes import NoisyVotes
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

_HOME = {
    "AdaBoostStep": "hedgerow.published.boosting.rounds",
    "AttributeStump": "hedgerow.published.boosting.stumps",
    "BinaryTrees": "hedgerow.published.boosting.model",
    "CartTree": "hedgerow.published.boosting.cart",
    "CodedStep": "hedgerow.published.boosting.rounds",
    "CodedTree": "hedgerow.published.boosting.coded",
    "EqualRounds": "hedgerow.published.boosting.rounds",
    "ExactStump": "hedgerow.published.boosting.stumps",
    "LessLogAlpha": "hedgerow.published.boosting.rounds",
    "NoisyVotes": "hedgerow.published.boosting.noisy_votes",
    "PerturbExtremes": "hedgerow.published.boosting.perturbation",
    "PublishedBoosted": "hedgerow.published.boosting.model",
    "PublishedBoosting": "hedgerow.published.boosting.plan",
    "PublishedBoostingPlan": "hedgerow.published.boosting.plan",
    "WeakestLink": "hedgerow.published.boosting.sketch",
    "WholeRounds": "hedgerow.published.boosting.rounds",
    "adaboost_alpha": "hedgerow.published.boosting.rounds",
    "noise_scales": "hedgerow.published.boosting.perturbation",
    "round_budget": "hedgerow.published.boosting.rounds",
}

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
    "NoisyVotes",
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


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'hedgerow.published.boosting' has no attribute {name!r}")
