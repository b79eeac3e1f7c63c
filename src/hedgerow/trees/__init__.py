"""Private trees, forests and boosting of trees: parts, schedule, grower, plans, models."""

from hedgerow.trees.boosting import (
    BoostedModel,
    BoostingPlan,
    BoostingRecipe,
    Discrete,
    MadaBoost,
    Real,
    SmoothBoost,
    Votes,
    WeightFamily,
)
from hedgerow.trees.forest import ForestModel, ForestPlan, Grower, Recipe, Schedule, SurveyedForestPlan, TwoPhasePlan
from hedgerow.trees.model import Forest, PessimisticPruning
from hedgerow.trees.parts import (
    UNIFORM,
    AllRecords,
    Assignment,
    CandidateRule,
    Geometric,
    Harmonic,
    Leaf,
    LeafShare,
    Levels,
    Linear,
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
    Weighted,
)
