"""Packages whose names are imported when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["homes_of", "imported_on_use"]


def homes_of(names_by_module: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name, from the names of each module as one text."""
    return {name: module for module, names in names_by_module.items() for name in names.split()}


def imported_on_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports a name from its module."""

    def imported(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return imported
