"""The one place that turns parameters into a claim, a claim into a plan, and a plan into a model."""

from hedgerow.estimator.classifier import PrivateClassifier
from hedgerow.estimator.explanation import Explanation
from hedgerow.estimator.exported import FORMATS
from hedgerow.estimator.given import read_given
from hedgerow.estimator.planning import (
    answered,
    certificate_of,
    claim_of,
    draw_coins,
    plan_of,
    restored,
    result_of,
    rules_of,
    run,
    with_result,
)
from hedgerow.estimator.plans import Draw, Fitted, Model, Plan, PublicCoins, RawPlan

__all__ = [
    "FORMATS",
    "Draw",
    "Explanation",
    "Fitted",
    "Model",
    "Plan",
    "PrivateClassifier",
    "PublicCoins",
    "RawPlan",
    "answered",
    "certificate_of",
    "claim_of",
    "draw_coins",
    "plan_of",
    "read_given",
    "restored",
    "result_of",
    "rules_of",
    "run",
    "with_result",
]
