"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.scores import Candidates, ClassCount, Gini, Max, Minority, Score, binary, multiway

__all__ = ["Candidates", "ClassCount", "Gini", "Max", "Minority", "Score", "binary", "multiway"]
