"""Published algorithms, literally: they read raw records, so no guarantee holds for what they release."""

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
from hedgerow.published.forest import PublishedForestPlan
from hedgerow.published.leaves import LaplaceCounts, PermuteAndFlipLabel, SmoothSensitivityLabel
from hedgerow.published.model import PublishedForest
from hedgerow.published.noise import RealExponential, RealPermuteAndFlip
from hedgerow.published.pruning import Pruning
from hedgerow.published.recipe import Recipe
from hedgerow.published.scores import Gini, InformationGain, Max, Score
from hedgerow.published.splits import NoisyHistograms, RandomTest, SelectCutsThenTest, SelectTest, Subspace
from hedgerow.published.stops import Empty, NoisyCount, SingleClass, UnreadCount

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
