"""Differentially private tree ensembles for tabular classification.

Public names are imported when they are first used, so that ``import hedgerow`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow import audit, datasets, engines, mlflow, plots
    from hedgerow.analysis import (
        FitPlan,
        HeldOut,
        PrivateSearchCV,
        RegressionCard,
        ReleasedSchema,
        ReportCard,
        evaluate,
        hold_out,
        plan,
        private_schema,
    )
    from hedgerow.curator import Curator
    from hedgerow.engines.records import Records
    from hedgerow.errors import (
        BudgetExceeded,
        ConfigurationError,
        DatasetError,
        EngineError,
        FileFormatError,
        HedgerowError,
        LedgerDamaged,
        LedgerPickleError,
        LedgerUnavailable,
        MissingExtraError,
        PrivacyLeakWarning,
        SchemaError,
        UnreadColumnWarning,
    )
    from hedgerow.estimator import Explanation
    from hedgerow.ledgers.ledger import Ledger
    from hedgerow.ledgers.store import LedgerStore
    from hedgerow.plots import (
        AuditDisplay,
        BudgetDisplay,
        CalibrationDisplay,
        ConfusionMatrixDisplay,
        ExplanationDisplay,
        FeatureDisplay,
        ImportancesDisplay,
        PrecisionRecallDisplay,
        PredictionErrorDisplay,
        PrivacyUtilityDisplay,
        ResidualDisplay,
        ROCDisplay,
        TreeDisplay,
    )
    from hedgerow.privacy.certificate import Certificate
    from hedgerow.schema import Boolean, Categorical, Date, Integer, Numeric, Schema
    from hedgerow.systems import SystemInfo, list_systems, load
    from hedgerow.systems.cart_dps_adaboost import CARTDPsAdaBoostClassifier
    from hedgerow.systems.deng_diffprf import DengDiffPRFClassifier
    from hedgerow.systems.diffgen import DiffGenClassifier
    from hedgerow.systems.diffp_c45 import DiffPC45Classifier
    from hedgerow.systems.diffp_id3 import DiffPID3Classifier
    from hedgerow.systems.diffprf import DiffPRFClassifier
    from hedgerow.systems.diffprf_linear import DiffPRFLinearClassifier
    from hedgerow.systems.diffprfs import DiffPRFsClassifier
    from hedgerow.systems.dp_adaboost import DPAdaBoostClassifier
    from hedgerow.systems.dpada import DPAdaClassifier
    from hedgerow.systems.dt_diff import DTDiffClassifier
    from hedgerow.systems.edprf import EDPRFClassifier, PFDPDTClassifier
    from hedgerow.systems.forest import ForestClassifier
    from hedgerow.systems.hedgerow import HedgerowClassifier
    from hedgerow.systems.pinq_id3 import PINQID3Classifier
    from hedgerow.systems.random_trees import RandomTreesClassifier
    from hedgerow.systems.regressor import HedgerowRegressor
    from hedgerow.systems.smooth_boost import SmoothBoostClassifier
    from hedgerow.systems.sulq_id3 import SuLQID3Classifier
    from hedgerow.systems.tpdprf import TpDPRFClassifier
    from hedgerow.systems.tradition import TraditionClassifier

__version__ = "0.3.0.dev0"

_PACKAGES = ("audit", "datasets", "engines", "mlflow", "plots")

_HOME = {
    "AuditDisplay": "hedgerow.plots",
    "Boolean": "hedgerow.schema",
    "BudgetDisplay": "hedgerow.plots",
    "BudgetExceeded": "hedgerow.errors",
    "CARTDPsAdaBoostClassifier": "hedgerow.systems.cart_dps_adaboost",
    "CalibrationDisplay": "hedgerow.plots",
    "Categorical": "hedgerow.schema",
    "Certificate": "hedgerow.privacy.certificate",
    "ConfigurationError": "hedgerow.errors",
    "ConfusionMatrixDisplay": "hedgerow.plots",
    "Curator": "hedgerow.curator",
    "DPAdaBoostClassifier": "hedgerow.systems.dp_adaboost",
    "DPAdaClassifier": "hedgerow.systems.dpada",
    "DTDiffClassifier": "hedgerow.systems.dt_diff",
    "DatasetError": "hedgerow.errors",
    "Date": "hedgerow.schema",
    "DengDiffPRFClassifier": "hedgerow.systems.deng_diffprf",
    "DiffGenClassifier": "hedgerow.systems.diffgen",
    "DiffPC45Classifier": "hedgerow.systems.diffp_c45",
    "DiffPID3Classifier": "hedgerow.systems.diffp_id3",
    "DiffPRFClassifier": "hedgerow.systems.diffprf",
    "DiffPRFLinearClassifier": "hedgerow.systems.diffprf_linear",
    "DiffPRFsClassifier": "hedgerow.systems.diffprfs",
    "EDPRFClassifier": "hedgerow.systems.edprf",
    "EngineError": "hedgerow.errors",
    "Explanation": "hedgerow.estimator",
    "ExplanationDisplay": "hedgerow.plots",
    "FeatureDisplay": "hedgerow.plots",
    "FileFormatError": "hedgerow.errors",
    "FitPlan": "hedgerow.analysis",
    "ForestClassifier": "hedgerow.systems.forest",
    "HedgerowClassifier": "hedgerow.systems.hedgerow",
    "HedgerowRegressor": "hedgerow.systems.regressor",
    "HedgerowError": "hedgerow.errors",
    "HeldOut": "hedgerow.analysis",
    "ImportancesDisplay": "hedgerow.plots",
    "Integer": "hedgerow.schema",
    "Ledger": "hedgerow.ledgers.ledger",
    "LedgerDamaged": "hedgerow.errors",
    "LedgerPickleError": "hedgerow.errors",
    "LedgerStore": "hedgerow.ledgers.store",
    "LedgerUnavailable": "hedgerow.errors",
    "MissingExtraError": "hedgerow.errors",
    "Numeric": "hedgerow.schema",
    "PFDPDTClassifier": "hedgerow.systems.edprf",
    "PINQID3Classifier": "hedgerow.systems.pinq_id3",
    "PrecisionRecallDisplay": "hedgerow.plots",
    "PredictionErrorDisplay": "hedgerow.plots",
    "PrivacyLeakWarning": "hedgerow.errors",
    "PrivacyUtilityDisplay": "hedgerow.plots",
    "PrivateSearchCV": "hedgerow.analysis",
    "ROCDisplay": "hedgerow.plots",
    "RandomTreesClassifier": "hedgerow.systems.random_trees",
    "Records": "hedgerow.engines.records",
    "ReleasedSchema": "hedgerow.analysis",
    "RegressionCard": "hedgerow.analysis",
    "ReportCard": "hedgerow.analysis",
    "ResidualDisplay": "hedgerow.plots",
    "Schema": "hedgerow.schema",
    "SchemaError": "hedgerow.errors",
    "UnreadColumnWarning": "hedgerow.errors",
    "SmoothBoostClassifier": "hedgerow.systems.smooth_boost",
    "SuLQID3Classifier": "hedgerow.systems.sulq_id3",
    "SystemInfo": "hedgerow.systems",
    "TpDPRFClassifier": "hedgerow.systems.tpdprf",
    "TraditionClassifier": "hedgerow.systems.tradition",
    "TreeDisplay": "hedgerow.plots",
    "evaluate": "hedgerow.analysis",
    "hold_out": "hedgerow.analysis",
    "list_systems": "hedgerow.systems",
    "load": "hedgerow.systems",
    "plan": "hedgerow.analysis",
    "private_schema": "hedgerow.analysis",
}

__all__ = [
    "AuditDisplay",
    "Boolean",
    "BudgetDisplay",
    "BudgetExceeded",
    "CARTDPsAdaBoostClassifier",
    "CalibrationDisplay",
    "Categorical",
    "Certificate",
    "ConfigurationError",
    "ConfusionMatrixDisplay",
    "Curator",
    "DPAdaBoostClassifier",
    "DPAdaClassifier",
    "DTDiffClassifier",
    "DatasetError",
    "Date",
    "DengDiffPRFClassifier",
    "DiffGenClassifier",
    "DiffPC45Classifier",
    "DiffPID3Classifier",
    "DiffPRFClassifier",
    "DiffPRFLinearClassifier",
    "DiffPRFsClassifier",
    "EDPRFClassifier",
    "EngineError",
    "Explanation",
    "ExplanationDisplay",
    "FeatureDisplay",
    "FileFormatError",
    "FitPlan",
    "ForestClassifier",
    "HedgerowClassifier",
    "HedgerowError",
    "HedgerowRegressor",
    "HeldOut",
    "ImportancesDisplay",
    "Integer",
    "Ledger",
    "LedgerDamaged",
    "LedgerPickleError",
    "LedgerStore",
    "LedgerUnavailable",
    "MissingExtraError",
    "Numeric",
    "PFDPDTClassifier",
    "PINQID3Classifier",
    "PrecisionRecallDisplay",
    "PredictionErrorDisplay",
    "PrivacyLeakWarning",
    "PrivacyUtilityDisplay",
    "PrivateSearchCV",
    "ROCDisplay",
    "RandomTreesClassifier",
    "Records",
    "RegressionCard",
    "ReleasedSchema",
    "ReportCard",
    "ResidualDisplay",
    "Schema",
    "SchemaError",
    "SmoothBoostClassifier",
    "SuLQID3Classifier",
    "SystemInfo",
    "TpDPRFClassifier",
    "TraditionClassifier",
    "TreeDisplay",
    "UnreadColumnWarning",
    "audit",
    "datasets",
    "engines",
    "evaluate",
    "hold_out",
    "list_systems",
    "load",
    "mlflow",
    "plan",
    "plots",
    "private_schema",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"hedgerow.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
