"""Published algorithms, literally: they read raw records, so no guarantee holds for what they release.

Names are imported at first use, because a private fit needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.catalogue import homes_of, imported_on_use

if TYPE_CHECKING:
    from hedgerow.published.assignment import (
        AllRecords as AllRecords,
        Bootstrap as Bootstrap,
        Chunks as Chunks,
        FixedSize as FixedSize,
        TwoPhases as TwoPhases,
    )
    from hedgerow.published.branching import (
        CutCodes as CutCodes,
        CutRanges as CutRanges,
        NodeBins as NodeBins,
        SchemaBins as SchemaBins,
    )
    from hedgerow.published.budgets import (
        Aligned as Aligned,
        Halved as Halved,
        LeafOnly as LeafOnly,
        PerQuery as PerQuery,
        Undivided as Undivided,
        random_tree_depth as random_tree_depth,
    )
    from hedgerow.published.forest import PublishedForestPlan as PublishedForestPlan
    from hedgerow.published.leaves import (
        LaplaceCounts as LaplaceCounts,
        PermuteAndFlipLabel as PermuteAndFlipLabel,
        SmoothSensitivityLabel as SmoothSensitivityLabel,
    )
    from hedgerow.published.noise import RealExponential as RealExponential, RealPermuteAndFlip as RealPermuteAndFlip
    from hedgerow.published.pruning import Pruning as Pruning
    from hedgerow.published.recipe import Recipe as Recipe
    from hedgerow.published.scores import Gini as Gini, InformationGain as InformationGain, Max as Max, Score as Score
    from hedgerow.published.splits import (
        NoisyHistograms as NoisyHistograms,
        RandomTest as RandomTest,
        SelectCutsThenTest as SelectCutsThenTest,
        SelectTest as SelectTest,
        Subspace as Subspace,
    )
    from hedgerow.published.stops import (
        Empty as Empty,
        NoisyCount as NoisyCount,
        SingleClass as SingleClass,
        UnreadCount as UnreadCount,
    )

_HOMES = homes_of(
    {
        "hedgerow.published.assignment": "AllRecords Bootstrap Chunks FixedSize TwoPhases",
        "hedgerow.published.branching": "CutCodes CutRanges NodeBins SchemaBins",
        "hedgerow.published.budgets": "Aligned Halved LeafOnly PerQuery Undivided random_tree_depth",
        "hedgerow.published.forest": "PublishedForestPlan",
        "hedgerow.published.leaves": "LaplaceCounts PermuteAndFlipLabel SmoothSensitivityLabel",
        "hedgerow.published.noise": "RealExponential RealPermuteAndFlip",
        "hedgerow.published.pruning": "Pruning",
        "hedgerow.published.recipe": "Recipe",
        "hedgerow.published.scores": "Gini InformationGain Max Score",
        "hedgerow.published.splits": "NoisyHistograms RandomTest SelectCutsThenTest SelectTest Subspace",
        "hedgerow.published.stops": "Empty NoisyCount SingleClass UnreadCount",
    }
)

__all__ = sorted(_HOMES)
__getattr__ = imported_on_use(__name__, _HOMES)
