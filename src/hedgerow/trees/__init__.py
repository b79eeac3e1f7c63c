"""Private trees and forests: parts, schedule, grower, model."""

from hedgerow.trees.forest import ForestModel, ForestPlan
from hedgerow.trees.grower import Grower
from hedgerow.trees.levels import Harmonic, LeafShare, Uniform
from hedgerow.trees.model import Forest
from hedgerow.trees.recipe import (
    AllRecords,
    Binary,
    Multiway,
    NoisyCounts,
    NoisyMinority,
    PerRecord,
    Poisson,
    Recipe,
    Schedule,
    SelectLabel,
    SelectTest,
)

__all__ = [
    "AllRecords",
    "Binary",
    "Forest",
    "ForestModel",
    "ForestPlan",
    "Grower",
    "Harmonic",
    "LeafShare",
    "Multiway",
    "NoisyCounts",
    "NoisyMinority",
    "PerRecord",
    "Poisson",
    "Recipe",
    "Schedule",
    "SelectLabel",
    "SelectTest",
    "Uniform",
]
