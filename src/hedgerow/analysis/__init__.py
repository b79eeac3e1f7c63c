"""What comes before and after a fit, under the same ledger: released schemas, report cards, private search, planning."""

from __future__ import annotations

from hedgerow.analysis.classification_card import ReportCard
from hedgerow.analysis.evaluation import evaluate
from hedgerow.analysis.group_cards import GroupCards
from hedgerow.analysis.held_out import HeldOut, hold_out
from hedgerow.analysis.outlook import FitPlan, plan
from hedgerow.analysis.regression_card import RegressionCard
from hedgerow.analysis.release import ReleasedSchema, private_schema
from hedgerow.analysis.search import PrivateSearchCV

__all__ = [
    "FitPlan",
    "GroupCards",
    "HeldOut",
    "PrivateSearchCV",
    "RegressionCard",
    "ReleasedSchema",
    "ReportCard",
    "evaluate",
    "hold_out",
    "plan",
    "private_schema",
]
