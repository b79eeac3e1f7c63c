"""Pictures of what a model costs, learns and can prove, and pages to put them on.

Each display is made by a ``from_...`` class method, which computes what will be drawn, and drawn by ``plot``, which alone needs
matplotlib, the extra ``plot``. ``FeatureDisplay``, ``ImportancesDisplay`` and ``ExplanationDisplay`` are drawn at once, as
scikit-learn's are.
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
