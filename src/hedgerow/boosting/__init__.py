"""Boosting by record-local weights: rounds of small private trees whose votes add up."""

from hedgerow.boosting.classifier import BoostingClassifier
from hedgerow.boosting.hedgerow import HedgerowClassifier
from hedgerow.boosting.plan import BoostingPlan, BoostingRecipe
from hedgerow.boosting.votes import Discrete, Real, Votes
from hedgerow.boosting.weights import MadaBoost, SmoothBoost, WeightFamily

__all__ = [
    "BoostingClassifier",
    "BoostingPlan",
    "BoostingRecipe",
    "Discrete",
    "HedgerowClassifier",
    "MadaBoost",
    "Real",
    "SmoothBoost",
    "Votes",
    "WeightFamily",
]
