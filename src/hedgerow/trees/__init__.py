"""Private trees and forests: parts, schedule, grower, model."""

from hedgerow.trees.assignments import AllRecords, Assignment, PerRecord, PoissonSample, Weighted
from hedgerow.trees.candidates import Binary, CandidateRule, Grouped, Mixed, Multiway
from hedgerow.trees.forest import ForestModel, ForestPlan
from hedgerow.trees.grower import Grower
from hedgerow.trees.leaves import Leaf, NoisyCounts, SelectLabel
from hedgerow.trees.levels import Geometric, Harmonic, LeafShare, Levels, Linear, Uniform
from hedgerow.trees.model import Forest
from hedgerow.trees.pruning import PessimisticPruning
from hedgerow.trees.recipe import Recipe, Schedule
from hedgerow.trees.splits import NoisyHistograms, RandomTest, SelectCutsThenTest, SelectTest, Split, Subspace
from hedgerow.trees.stops import NoisyMinority, NoisySize, Stop
from hedgerow.trees.surveyed import SurveyedForestPlan
from hedgerow.trees.two_phases import TwoPhasePlan

__all__ = [
    "AllRecords",
    "Assignment",
    "Binary",
    "CandidateRule",
    "Forest",
    "ForestModel",
    "ForestPlan",
    "Geometric",
    "Grouped",
    "Grower",
    "Harmonic",
    "Leaf",
    "LeafShare",
    "Levels",
    "Linear",
    "Mixed",
    "Multiway",
    "NoisyCounts",
    "NoisyHistograms",
    "NoisyMinority",
    "NoisySize",
    "PerRecord",
    "PessimisticPruning",
    "PoissonSample",
    "RandomTest",
    "Recipe",
    "Schedule",
    "SelectCutsThenTest",
    "SelectLabel",
    "SelectTest",
    "Split",
    "Stop",
    "Subspace",
    "SurveyedForestPlan",
    "TwoPhasePlan",
    "Uniform",
    "Weighted",
]
