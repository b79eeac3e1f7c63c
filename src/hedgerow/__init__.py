"""Differentially private tree ensembles for tabular classification.

Public names are imported when they are first used, so that ``import hedgerow`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow import datasets
    from hedgerow.errors import (
        BudgetExceeded,
        ConfigurationError,
        DatasetError,
        FileFormatError,
        HedgerowError,
        LedgerPickleError,
        PrivacyLeakWarning,
        SchemaError,
    )
    from hedgerow.privacy.certificate import Certificate
    from hedgerow.privacy.ledger import Ledger
    from hedgerow.schema import Categorical, Numeric, Schema
    from hedgerow.systems import SystemInfo, list_systems, load
    from hedgerow.systems.edprf import EDPRFClassifier, PFDPDTClassifier
    from hedgerow.trees.classifier import ForestClassifier

__version__ = "0.1.0"

_HOME = {
    "BudgetExceeded": "hedgerow.errors",
    "Categorical": "hedgerow.schema",
    "Certificate": "hedgerow.privacy.certificate",
    "ConfigurationError": "hedgerow.errors",
    "DatasetError": "hedgerow.errors",
    "EDPRFClassifier": "hedgerow.systems.edprf",
    "FileFormatError": "hedgerow.errors",
    "ForestClassifier": "hedgerow.trees.classifier",
    "HedgerowError": "hedgerow.errors",
    "Ledger": "hedgerow.privacy.ledger",
    "LedgerPickleError": "hedgerow.errors",
    "Numeric": "hedgerow.schema",
    "PFDPDTClassifier": "hedgerow.systems.edprf",
    "PrivacyLeakWarning": "hedgerow.errors",
    "Schema": "hedgerow.schema",
    "SchemaError": "hedgerow.errors",
    "SystemInfo": "hedgerow.systems",
    "list_systems": "hedgerow.systems",
    "load": "hedgerow.systems",
}

__all__ = [
    "BudgetExceeded",
    "Categorical",
    "Certificate",
    "ConfigurationError",
    "DatasetError",
    "EDPRFClassifier",
    "FileFormatError",
    "ForestClassifier",
    "HedgerowError",
    "Ledger",
    "LedgerPickleError",
    "Numeric",
    "PFDPDTClassifier",
    "PrivacyLeakWarning",
    "Schema",
    "SchemaError",
    "SystemInfo",
    "datasets",
    "list_systems",
    "load",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("hedgerow.datasets")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
