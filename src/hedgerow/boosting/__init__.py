"""Boosting by record-local weights: rounds of small private trees whose votes add up."""

from hedgerow.boosting.plan import (
    BoostingPlan,
    BoostingRecipe,
    Discrete,
    MadaBoost,
    Real,
    SmoothBoost,
    Votes,
    WeightFamily,
)

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
