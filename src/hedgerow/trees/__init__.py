"""Private trees and forests: parts, schedule, grower, model."""

from hedgerow.trees.forest import ForestModel, ForestPlan, SurveyedForestPlan, TwoPhasePlan
from hedgerow.trees.grower import Grower, Recipe, Schedule
from hedgerow.trees.model import Forest, PessimisticPruning
from hedgerow.trees.parts import (
    AllRecords,
    Assignment,
    Binary,
    CandidateRule,
    Geometric,
    Harmonic,
    Leaf,
    LeafShare,
    Levels,
    Linear,
    Mixed,
    Multiway,
    NoisyCounts,
    NoisyHistograms,
    NoisyMinority,
    NoisySize,
    PerRecord,
    RandomTest,
    SelectLabel,
    SelectTest,
    Split,
    Stop,
    Subspace,
    Uniform,
    Weighted,
)
