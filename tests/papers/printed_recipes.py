"""The published form of every tree and forest system as it ships: what the classes make of ``variant="published"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hedgerow as hr
from hedgerow.papers.forest import PaperTree, PrintedForest
from hedgerow.papers.trees import PrintedPlan
from hedgerow.systems.base import Size


@dataclass(frozen=True)
class System:
    """A shipped class with the choices that make one of its published forms, and how its paper divides the budget.

    ``divided`` may hold "shared" (by the trees: a record is in several) and "aligned" (every path of a tree spends all).
    """

    kind: type[PaperTree]
    divided: tuple[str, ...]
    choices: tuple[tuple[str, Any], ...]

    @property
    def recipe(self) -> PrintedForest:
        """Its parts."""
        return self.kind(variant="published", **dict(self.choices))._published()

    @property
    def n_estimators(self) -> int:
        """Its default number of trees."""
        return self.kind._published_size.n_estimators


def system(kind: type[PaperTree], *divided: str, **choices: Any) -> System:
    return System(kind, divided, tuple(choices.items()))


SYSTEMS = {
    "edprf": system(hr.EDPRFClassifier, "aligned"),
    "pfdpdt": system(hr.PFDPDTClassifier, "aligned"),
    "tradition": system(hr.TraditionClassifier, "shared"),
    "tradition_spl_imp": system(hr.TraditionClassifier, "shared", split="permute-and-flip"),
    "tradition_leaf_imp": system(hr.TraditionClassifier, "shared", leaf="label"),
    "tradition R2": system(hr.TraditionClassifier, "shared", reading="undivided"),
    "tradition_spl_imp R2": system(hr.TraditionClassifier, "shared", reading="undivided", split="permute-and-flip"),
    "tradition_leaf_imp R2": system(hr.TraditionClassifier, "shared", reading="undivided", leaf="label"),
    "diffprf_deng": system(hr.DengDiffPRFClassifier, "shared"),
    "diffprf_deng arithmetic": system(hr.DengDiffPRFClassifier, "shared", levels="arithmetic"),
    "diffprf_linear": system(hr.DiffPRFLinearClassifier, "shared"),
    "tpdprf": system(hr.TpDPRFClassifier, "shared"),
}


def shipped(name: str) -> PrintedForest:
    """Return the published recipe of a system."""
    return SYSTEMS[name].recipe


def forest_plan(recipe, schema, epsilon, *, n_estimators, max_depth, max_bins=5):
    return PrintedPlan(recipe, schema, epsilon, Size(n_estimators, max_depth, max_bins))


def boosting_plan(recipe, schema, epsilon, *, rounds, marked=()):
    return PrintedPlan(recipe, schema, epsilon, Size(rounds, 1, 5), marked)
