"""Learners that release a table of cells: public generalizations, chosen privately, with noisy class counts."""

from hedgerow.cells.cut import Cut
from hedgerow.cells.hierarchy import Hierarchy
from hedgerow.cells.model import CellsModel
from hedgerow.cells.plan import CellsPlan
from hedgerow.cells.recipe import MergedCuts, Recipe, Schedule, SeparateCuts
from hedgerow.cells.specializer import Release, Specializer

__all__ = [
    "CellsModel",
    "CellsPlan",
    "Cut",
    "Hierarchy",
    "MergedCuts",
    "Recipe",
    "Release",
    "Schedule",
    "SeparateCuts",
    "Specializer",
]
