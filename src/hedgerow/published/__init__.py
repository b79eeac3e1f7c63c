"""Published algorithms, literally: they read raw records, so no guarantee holds for what they release.

Names are imported when they are first used, since each system's page speaks of them and a private fit needs none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.published.assignment import AllRecords, Bootstrap, Chunks, FixedSize, TwoPhases
    from hedgerow.published.boosting import (
        AdaBoostStep,
        AttributeStump,
        CartTree,
        CodedStep,
        CodedTree,
        ExactStump,
        LessLogAlpha,
        PerturbExtremes,
        PublishedBoosted,
        PublishedBoosting,
        PublishedBoostingPlan,
        WholeRounds,
        round_budget,
    )
    from hedgerow.published.branching import CutCodes, CutRanges, NodeBins, SchemaBins
    from hedgerow.published.budgets import Aligned, Halved, LeafOnly, PerQuery, Undivided
    from hedgerow.published.depth import random_tree_depth
    from hedgerow.published.forest import PublishedForest, PublishedForestPlan
    from hedgerow.published.leaves import LaplaceCounts, PermuteAndFlipLabel, SmoothSensitivityLabel
    from hedgerow.published.noise import RealExponential, RealPermuteAndFlip
    from hedgerow.published.pruning import Pruning
    from hedgerow.published.recipe import Recipe
    from hedgerow.published.scores import Gini, InformationGain, Max, Score
    from hedgerow.published.splits import NoisyHistograms, RandomTest, SelectCutsThenTest, SelectTest, Subspace
    from hedgerow.published.stops import Empty, NoisyCount, SingleClass, UnreadCount

_HOME = {
    "AdaBoostStep": "hedgerow.published.boosting",
    "Aligned": "hedgerow.published.budgets",
    "AllRecords": "hedgerow.published.assignment",
    "AttributeStump": "hedgerow.published.boosting",
    "Bootstrap": "hedgerow.published.assignment",
    "CartTree": "hedgerow.published.boosting",
    "Chunks": "hedgerow.published.assignment",
    "CodedStep": "hedgerow.published.boosting",
    "CodedTree": "hedgerow.published.boosting",
    "CutCodes": "hedgerow.published.branching",
    "CutRanges": "hedgerow.published.branching",
    "Empty": "hedgerow.published.stops",
    "ExactStump": "hedgerow.published.boosting",
    "FixedSize": "hedgerow.published.assignment",
    "Gini": "hedgerow.published.scores",
    "Halved": "hedgerow.published.budgets",
    "InformationGain": "hedgerow.published.scores",
    "LaplaceCounts": "hedgerow.published.leaves",
    "LeafOnly": "hedgerow.published.budgets",
    "LessLogAlpha": "hedgerow.published.boosting",
    "Max": "hedgerow.published.scores",
    "NodeBins": "hedgerow.published.branching",
    "NoisyCount": "hedgerow.published.stops",
    "NoisyHistograms": "hedgerow.published.splits",
    "PerQuery": "hedgerow.published.budgets",
    "PermuteAndFlipLabel": "hedgerow.published.leaves",
    "PerturbExtremes": "hedgerow.published.boosting",
    "Pruning": "hedgerow.published.pruning",
    "PublishedBoosted": "hedgerow.published.boosting",
    "PublishedBoosting": "hedgerow.published.boosting",
    "PublishedBoostingPlan": "hedgerow.published.boosting",
    "PublishedForest": "hedgerow.published.forest",
    "PublishedForestPlan": "hedgerow.published.forest",
    "RandomTest": "hedgerow.published.splits",
    "RealExponential": "hedgerow.published.noise",
    "RealPermuteAndFlip": "hedgerow.published.noise",
    "Recipe": "hedgerow.published.recipe",
    "SchemaBins": "hedgerow.published.branching",
    "Score": "hedgerow.published.scores",
    "SelectCutsThenTest": "hedgerow.published.splits",
    "SelectTest": "hedgerow.published.splits",
    "SingleClass": "hedgerow.published.stops",
    "SmoothSensitivityLabel": "hedgerow.published.leaves",
    "Subspace": "hedgerow.published.splits",
    "TwoPhases": "hedgerow.published.assignment",
    "Undivided": "hedgerow.published.budgets",
    "UnreadCount": "hedgerow.published.stops",
    "WholeRounds": "hedgerow.published.boosting",
    "random_tree_depth": "hedgerow.published.depth",
    "round_budget": "hedgerow.published.boosting",
}

__all__ = [
    "AdaBoostStep",
    "Aligned",
    "AllRecords",
    "AttributeStump",
    "Bootstrap",
    "CartTree",
    "Chunks",
    "CodedStep",
    "CodedTree",
    "CutCodes",
    "CutRanges",
    "Empty",
    "ExactStump",
    "FixedSize",
    "Gini",
    "Halved",
    "InformationGain",
    "LaplaceCounts",
    "LeafOnly",
    "LessLogAlpha",
    "Max",
    "NodeBins",
    "NoisyCount",
    "NoisyHistograms",
    "PerQuery",
    "PermuteAndFlipLabel",
    "PerturbExtremes",
    "Pruning",
    "PublishedBoosted",
    "PublishedBoosting",
    "PublishedBoostingPlan",
    "PublishedForest",
    "PublishedForestPlan",
    "RandomTest",
    "RealExponential",
    "RealPermuteAndFlip",
    "Recipe",
    "SchemaBins",
    "Score",
    "SelectCutsThenTest",
    "SelectTest",
    "SingleClass",
    "SmoothSensitivityLabel",
    "Subspace",
    "TwoPhases",
    "Undivided",
    "UnreadCount",
    "WholeRounds",
    "random_tree_depth",
    "round_budget",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'hedgerow.published' has no attribute {name!r}")
