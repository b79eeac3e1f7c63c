"""Differentially private tree ensembles for tabular data.

``__init__.pyi`` lists the public names. They are imported when they are first used, so that ``import hedgerow`` costs next to
nothing.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from typing import Any

from hedgerow.catalogue import REGRESSORS, SYSTEMS

__version__ = "0.4.0"

_PACKAGES = {name: f"hedgerow.{name}" for name in ("audit", "datasets", "engines", "plots")}
_PACKAGES["federated"] = "hedgerow.engines.federated"
with open(os.path.splitext(__file__)[0] + ".pyi", encoding="utf-8") as _stub:
    _IMPORTS = re.findall(r"^from (\S+) import (\([^)]*|.*)", _stub.read(), re.MULTILINE)
_HOMES = {name: module for module, names in _IMPORTS for name in re.findall(r"(\w+) as \1", names)}
_HOMES = {name: module for name, module in _HOMES.items() if name not in _PACKAGES}
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
