"""Differentially private tree ensembles for tabular data.

Public names are imported when they are first used, so that ``import hedgerow`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.catalogue import REGRESSORS, SYSTEMS

if TYPE_CHECKING:
    from hedgerow import audit as audit, datasets as datasets, engines as engines, plots as plots
    from hedgerow.engines import federated as federated
    from hedgerow.analysis import *
    from hedgerow.curator import Curator as Curator
    from hedgerow.engines.records import Records as Records
    from hedgerow.errors import (
        BudgetExceeded as BudgetExceeded,
        ConfigurationError as ConfigurationError,
        DatasetError as DatasetError,
        EngineError as EngineError,
        FileFormatError as FileFormatError,
        HedgerowError as HedgerowError,
        LedgerDamaged as LedgerDamaged,
        LedgerPickleError as LedgerPickleError,
        LedgerUnavailable as LedgerUnavailable,
        MissingExtraError as MissingExtraError,
        PrivacyLeakWarning as PrivacyLeakWarning,
        SchemaError as SchemaError,
        UnreadColumnWarning as UnreadColumnWarning,
    )
    from hedgerow.estimator import Explanation as Explanation
    from hedgerow.export.signature import Signature as Signature, signature_of as signature_of
    from hedgerow.ledgers.ledger import Ledger as Ledger
    from hedgerow.ledgers.store import LedgerStore as LedgerStore
    from hedgerow.plots import (
        AuditDisplay as AuditDisplay,
        CalibrationDisplay as CalibrationDisplay,
        ConfusionMatrixDisplay as ConfusionMatrixDisplay,
        ExplanationDisplay as ExplanationDisplay,
        FeatureDisplay as FeatureDisplay,
        GroupsDisplay as GroupsDisplay,
        ImportancesDisplay as ImportancesDisplay,
        PredictionErrorDisplay as PredictionErrorDisplay,
        ResidualDisplay as ResidualDisplay,
        ROCDisplay as ROCDisplay,
    )
    from hedgerow.privacy.certificate import Certificate as Certificate
    from hedgerow.schema import (
        Boolean as Boolean,
        Categorical as Categorical,
        Date as Date,
        Integer as Integer,
        Numeric as Numeric,
        Schema as Schema,
    )
    from hedgerow.papers.cart import CARTDPsAdaBoostClassifier as CARTDPsAdaBoostClassifier
    from hedgerow.papers.dpada import *
    from hedgerow.papers.edprf import *
    from hedgerow.systems.cells import *
    from hedgerow.systems.hedgerow import (
        HedgerowClassifier as HedgerowClassifier,
        HedgerowRegressor as HedgerowRegressor,
    )
    from hedgerow.systems.trees import *
    from hedgerow.systems import SystemInfo as SystemInfo, list_systems as list_systems, load as load

__version__ = "0.3.0"

_PACKAGES = {name: f"hedgerow.{name}" for name in ("audit", "datasets", "engines", "plots")}
_PACKAGES["federated"] = "hedgerow.engines.federated"
_NAMES = {
    "hedgerow.analysis": "FitPlan GroupCards HeldOut PrivateSearchCV ReleasedSchema RegressionCard ReportCard evaluate hold_out "
    "plan private_schema",
    "hedgerow.curator": "Curator",
    "hedgerow.engines.records": "Records",
    "hedgerow.errors": "BudgetExceeded ConfigurationError DatasetError EngineError FileFormatError HedgerowError "
    "LedgerDamaged LedgerPickleError LedgerUnavailable MissingExtraError PrivacyLeakWarning "
    "SchemaError UnreadColumnWarning",
    "hedgerow.estimator": "Explanation",
    "hedgerow.export.signature": "Signature signature_of",
    "hedgerow.ledgers.ledger": "Ledger",
    "hedgerow.ledgers.store": "LedgerStore",
    "hedgerow.plots": "AuditDisplay CalibrationDisplay ConfusionMatrixDisplay ExplanationDisplay "
    "FeatureDisplay GroupsDisplay ImportancesDisplay PredictionErrorDisplay "
    "ROCDisplay ResidualDisplay",
    "hedgerow.privacy.certificate": "Certificate",
    "hedgerow.schema": "Boolean Categorical Date Integer Numeric Schema",
    "hedgerow.systems": "SystemInfo list_systems load",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_HOMES |= {info.class_name: info.module for info in (*SYSTEMS, *REGRESSORS)}

__all__ = sorted([*_HOMES, *_PACKAGES])


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(_PACKAGES[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
