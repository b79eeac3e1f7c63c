"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.candidates import Candidates, binary, mixed, multiway
from hedgerow.scores.scores import ClassCount, Error, Gini, InformationGain, Max, Minority, Score

__all__ = [
    "Candidates",
    "ClassCount",
    "Error",
    "Gini",
    "InformationGain",
    "Max",
    "Minority",
    "Score",
    "binary",
    "mixed",
    "multiway",
]
