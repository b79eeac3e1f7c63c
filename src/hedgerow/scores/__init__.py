"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.candidates import Candidates, binary, mixed, multiway
from hedgerow.scores.scores import ClassCount, Error, Gini, InformationGain, Max, Minority, Score
from hedgerow.scores.specializations import BranchScore, Majority, Purity, Specializations, most_concerned

__all__ = [
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
]
