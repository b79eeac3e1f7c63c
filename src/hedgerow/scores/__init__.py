"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.candidates import Candidates, binary, mixed, multiway, multiway_or_binary
from hedgerow.scores.scores import (
    BRANCH_SCORES,
    SCORES,
    BranchScore,
    ClassCount,
    Error,
    Gini,
    InformationGain,
    Majority,
    Max,
    Minority,
    Purity,
    Score,
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
