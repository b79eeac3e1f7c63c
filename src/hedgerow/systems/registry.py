"""Every system by name: what it is, and the class that holds it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module

from hedgerow.archive import read_archive
from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.estimator import FORMAT, PrivateClassifier

__all__ = ["SystemInfo", "list_systems", "load", "system_class"]


@dataclass(frozen=True)
class SystemInfo:
    """One system: the name on the command line, its class, its paper, its variants, and what the private form guarantees."""

    name: str
    class_name: str
    module: str
    paper: str
    variants: tuple[str, ...]
    guarantee: str


_SYSTEMS = (
    SystemInfo(
        "forest",
        "ForestClassifier",
        "hedgerow.trees.classifier",
        "ours: private trees put together from parts",
        ("private",),
        "epsilon-DP, one record added or removed (or replaced)",
    ),
    SystemInfo(
        "edprf",
        "EDPRFClassifier",
        "hedgerow.systems.edprf",
        "Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025",
        ("private", "published"),
        "epsilon-DP, one record added or removed (or replaced)",
    ),
    SystemInfo(
        "pfdpdt",
        "PFDPDTClassifier",
        "hedgerow.systems.edprf",
        "Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithm 5",
        ("private", "published"),
        "epsilon-DP, one record added or removed (or replaced)",
    ),
)


def list_systems() -> tuple[SystemInfo, ...]:
    """Return every system that this version holds."""
    return _SYSTEMS


def system_class(name: str) -> type[PrivateClassifier]:
    """Return the class of a system by its name, or raise ConfigurationError with the names that exist."""
    for info in _SYSTEMS:
        if name in (info.name, info.class_name):
            found: type[PrivateClassifier] = getattr(import_module(info.module), info.class_name)
            return found
    raise ConfigurationError(f"there is no system {name!r}; choose one of {', '.join(info.name for info in _SYSTEMS)}.")


def load(path: str | os.PathLike[str]) -> PrivateClassifier:
    """Return the model that ``save`` wrote to a file; nothing in the file is executed.

    Raises
    ------
    FileFormatError
        If the file is damaged, is no model, or was written by a newer version.
    OSError
        If the file cannot be opened.
    """
    document, arrays = read_archive(path)
    if document.get("format") != FORMAT:
        raise FileFormatError(f"{path} has format {document.get('format')!r}, but this version reads format {FORMAT}.")
    try:
        kind = system_class(str(document.get("class")))
    except ConfigurationError as error:
        raise FileFormatError(f"{path} holds a model of a class that this version does not know.") from error
    return kind._from_file(document, arrays)
