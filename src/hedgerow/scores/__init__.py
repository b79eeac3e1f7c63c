"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.candidates import Candidates, binary, mixed, multiway, multiway_or_binary
from hedgerow.scores.scores import SCORES, ClassCount, Error, Gini, InformationGain, Max, Minority, Score
from hedgerow.scores.specializations import (
    BRANCH_SCORES,
    BranchScore,
    Majority,
    Purity,
    Specializations,
    most_concerned,
)

__all__ = [
    "BRANCH_SCORES",
    "SCORES",
    "BranchScore",
    "Candidates",
    "ClassCount",
    "Error",
    "Gini",
    "InformationGain",
    "Majority",
    "Max",
    "Minority",
    "Purity",
    "Score",
    "Specializations",
    "binary",
    "mixed",
    "most_concerned",
    "multiway",
    "multiway_or_binary",
]
