"""Every system: its name, the class that holds it, and what its private form guarantees. Nothing of it is imported here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class SystemInfo:
    """One system: the name on the command line, its class, its paper, its variants, and what the private form guarantees.

    Parameters
    ----------
    name : str
        The name on the command line.
    class_name : str
        The class, which ``hedgerow`` holds under this name.
    module : str
        The module that the class is in.
    paper : str
        Where the system was published; empty for our own.
    variants : tuple of str
        The forms that it has.
    guarantee : str
        What its private form guarantees.

    Examples
    --------
    >>> import hedgerow as hr
    >>> [info] = [info for info in hr.list_systems() if info.name == "edprf"]
    >>> info.class_name, info.variants
    ('EDPRFClassifier', ('private', 'published'))
    """

    name: str
    class_name: str
    module: str
    paper: str
    variants: tuple[str, ...]
    guarantee: str


PURE = "epsilon-DP, one record added or removed (or replaced)"
DELTA = "epsilon-DP or (epsilon, delta)-DP, one record added or removed (or replaced)"
GUARANTEES = {"pure": PURE, "delta": DELTA}


def _read() -> Iterator[SystemInfo]:
    """Yield the systems of the table in ``catalogue.md``; those of papers have a published form, too."""
    with open(os.path.splitext(__file__)[0] + ".md", encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in file]
    for name, class_name, module, guarantee, paper in rows[2:]:
        variants = ("private", "published") if module.startswith("papers.") else ("private",)
        yield SystemInfo(name, class_name, f"hedgerow.{module}", paper, variants, GUARANTEES[guarantee])


_INFOS = tuple(_read())
REGRESSORS = tuple(info for info in _INFOS if info.class_name.endswith("Regressor"))
SYSTEMS = tuple(info for info in _INFOS if info not in REGRESSORS)
