"""Boosting by record-local weights: rounds of small private trees whose votes add up."""

from hedgerow.boosting.plan import BoostingPlan, BoostingRecipe
from hedgerow.boosting.votes import Discrete, Real, Votes
from hedgerow.boosting.weights import MadaBoost, SmoothBoost, WeightFamily

__all__ = [
    "BoostingPlan",
    "BoostingRecipe",
    "Discrete",
    "MadaBoost",
    "Real",
    "SmoothBoost",
    "Votes",
    "WeightFamily",
]
