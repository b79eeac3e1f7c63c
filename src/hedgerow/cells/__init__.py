"""Learners that release a table of cells: public generalizations, chosen privately, with noisy class counts."""

from hedgerow.cells.cut import CellCut
from hedgerow.cells.hierarchy import Hierarchy
from hedgerow.cells.model import CellsModel
from hedgerow.cells.plan import CellsPlan
from hedgerow.cells.recipe import CellsRecipe, CellsSchedule, MergedCuts, SeparateCuts
from hedgerow.cells.specializer import Release, Specializer

__all__ = [
    "CellCut",
    "CellsModel",
    "CellsPlan",
    "CellsRecipe",
    "CellsSchedule",
    "Hierarchy",
    "MergedCuts",
    "Release",
    "SeparateCuts",
    "Specializer",
]
