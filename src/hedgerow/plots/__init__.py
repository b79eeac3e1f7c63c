"""Pictures of what a model costs, learns and can prove, and pages to put them on.

Each display is made by a ``from_...`` class method, which computes what will be drawn, and drawn by ``plot``. Only ``plot``
needs matplotlib, the extra ``plot``.
"""

from hedgerow.plots.audit import AuditDisplay
from hedgerow.plots.budget import BudgetDisplay
from hedgerow.plots.page import Page
from hedgerow.plots.report import CalibrationDisplay, ConfusionMatrixDisplay, PrecisionRecallDisplay, ROCDisplay
from hedgerow.plots.tree import TreeDisplay
from hedgerow.plots.utility import PrivacyUtilityDisplay

__all__ = [
    "AuditDisplay",
    "BudgetDisplay",
    "CalibrationDisplay",
    "ConfusionMatrixDisplay",
    "Page",
    "PrecisionRecallDisplay",
    "PrivacyUtilityDisplay",
    "ROCDisplay",
    "TreeDisplay",
]
