"""The boosting systems of the papers, literally: they read raw records, so no guarantee holds for what they release.

Names are imported when they are first used, as those of ``hedgerow.published``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.catalogue import homes_of, imported_on_use

if TYPE_CHECKING:
    from hedgerow.published.boosting.cart import CartTree as CartTree
    from hedgerow.published.boosting.coded import CodedTree as CodedTree
    from hedgerow.published.boosting.model import BinaryTrees as BinaryTrees, PublishedBoosted as PublishedBoosted
    from hedgerow.published.boosting.noisy_votes import NoisyVotes as NoisyVotes
    from hedgerow.published.boosting.perturbation import (
        PerturbExtremes as PerturbExtremes,
        noise_scales as noise_scales,
    )
    from hedgerow.published.boosting.plan import (
        PublishedBoosting as PublishedBoosting,
        PublishedBoostingPlan as PublishedBoostingPlan,
    )
    from hedgerow.published.boosting.rounds import (
        AdaBoostStep as AdaBoostStep,
        CodedStep as CodedStep,
        EqualRounds as EqualRounds,
        LessLogAlpha as LessLogAlpha,
        WholeRounds as WholeRounds,
        adaboost_alpha as adaboost_alpha,
        round_budget as round_budget,
    )
    from hedgerow.published.boosting.sketch import WeakestLink as WeakestLink
    from hedgerow.published.boosting.stumps import AttributeStump as AttributeStump, ExactStump as ExactStump

_HOMES = homes_of(
    {
        "hedgerow.published.boosting.cart": "CartTree",
        "hedgerow.published.boosting.coded": "CodedTree",
        "hedgerow.published.boosting.model": "BinaryTrees PublishedBoosted",
        "hedgerow.published.boosting.noisy_votes": "NoisyVotes",
        "hedgerow.published.boosting.perturbation": "PerturbExtremes noise_scales",
        "hedgerow.published.boosting.plan": "PublishedBoosting PublishedBoostingPlan",
        "hedgerow.published.boosting.rounds": "AdaBoostStep CodedStep EqualRounds LessLogAlpha WholeRounds "
        "adaboost_alpha round_budget",
        "hedgerow.published.boosting.sketch": "WeakestLink",
        "hedgerow.published.boosting.stumps": "AttributeStump ExactStump",
    }
)

__all__ = sorted(_HOMES)
__getattr__ = imported_on_use(__name__, _HOMES)
