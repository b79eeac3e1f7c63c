"""eDPRF: Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from hedgerow.estimator import Plan, PrivateClassifier
from hedgerow.parameters import Choice, Integer
from hedgerow.privacy.ledger import Ledger
from hedgerow.schema import Schema
from hedgerow.trees.forest import ForestPlan
from hedgerow.trees.recipe import Recipe

__all__ = ["EDPRFClassifier"]

class EDPRFClassifier(PrivateClassifier):
    _constraints: ClassVar[dict] = {"n_estimators": Integer(1, 100_000, or_none=True), "max_depth": Integer(0, 100, or_none=True), "max_bins": Integer(2, 10_000, or_none=True)}
    def __init__(self, epsilon: float = 1.0, *, schema=None, variant="private", n_estimators=None, max_depth=None, max_bins=None, stop=None, adjacency="add-remove", random_state=None, ledger=None):
        self.epsilon = epsilon
        self.schema = schema
        self.variant=variant
        self.n_estimators=n_estimators
        self.max_depth=max_depth
        self.max_bins=max_bins
        self.stop=stop
        self.adjacency=adjacency
        self.random_state=random_state
        self.ledger=ledger
    def _plan(self, schema, epsilon):
        return ForestPlan(Recipe(stop=self.stop), schema, epsilon, n_estimators=self.n_estimators or 35, max_depth=3 if self.max_depth is None else self.max_depth, max_bins=self.max_bins or 5)
