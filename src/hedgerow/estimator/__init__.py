"""The one place that turns parameters into a claim, a claim into a plan, and a plan into a model."""

from hedgerow.estimator.base import PrivateEstimator, call_of, former_parameters, restored, result_of, with_result
from hedgerow.estimator.classifier import PrivateClassifier, PrivateRegressor
from hedgerow.estimator.exported import FORMATS, follows_schema
from hedgerow.estimator.planning import certificate_of, claim_of, draw_coins, plan_of, run, starts_of
from hedgerow.estimator.plans import ClassOrder, Explanation, Fitted, Model, Plan, PublicCoins, RawPlan, model_digest
from hedgerow.mechanisms.randomness import Draw
