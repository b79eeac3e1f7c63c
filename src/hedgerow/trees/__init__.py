"""Private trees and forests: parts, schedule, grower, model."""

from hedgerow.trees.forest import ForestModel, ForestPlan
from hedgerow.trees.grower import Grower
from hedgerow.trees.model import Forest
from hedgerow.trees.recipe import NoisyMinority, Recipe, Schedule, SelectLabel, SelectTest

__all__ = [
    "Forest",
    "ForestModel",
    "ForestPlan",
    "Grower",
    "NoisyMinority",
    "Recipe",
    "Schedule",
    "SelectLabel",
    "SelectTest",
]
