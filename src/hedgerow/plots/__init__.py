"""Pictures of what a model costs, learns and guarantees, and pages for them.

A ``from_...`` class method computes the data of a display, and ``plot`` draws it. Only ``plot`` needs matplotlib, the extra
``plot``. For ``FeatureDisplay``, ``ImportancesDisplay`` and ``ExplanationDisplay``, the class method also draws, as in
scikit-learn.
"""

from hedgerow.plots.audit import AuditDisplay
from hedgerow.plots.budget import BudgetDisplay
from hedgerow.plots.explanation import ExplanationDisplay
from hedgerow.plots.features import FeatureDisplay
from hedgerow.plots.importances import ImportancesDisplay
from hedgerow.plots.markdown import MarkdownPage
from hedgerow.plots.page import Page
from hedgerow.plots.report import CalibrationDisplay, ConfusionMatrixDisplay, PrecisionRecallDisplay, ROCDisplay
from hedgerow.plots.residuals import PredictionErrorDisplay, ResidualDisplay
from hedgerow.plots.tree import TreeDisplay
from hedgerow.plots.utility import PrivacyUtilityDisplay

__all__ = [
    "AuditDisplay",
    "BudgetDisplay",
    "CalibrationDisplay",
    "ConfusionMatrixDisplay",
    "ExplanationDisplay",
    "FeatureDisplay",
    "ImportancesDisplay",
    "MarkdownPage",
    "Page",
    "PrecisionRecallDisplay",
    "PredictionErrorDisplay",
    "PrivacyUtilityDisplay",
    "ROCDisplay",
    "ResidualDisplay",
    "TreeDisplay",
]
