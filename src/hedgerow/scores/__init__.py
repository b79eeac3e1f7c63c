"""What to ask of a node: candidate tests and scores."""

from hedgerow.scores.scores import Candidates, ClassCount, Gini, Minority, multiway

__all__ = ["Candidates", "ClassCount", "Gini", "Minority", "multiway"]
