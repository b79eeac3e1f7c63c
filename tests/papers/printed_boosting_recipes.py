"""The published form of every boosting system as it ships: what the classes make of ``variant="published"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hedgerow as hr
from hedgerow.papers.boosting import PaperBooster, PrintedBoosting
from hedgerow.papers.dpada import ExactStump


@dataclass(frozen=True)
class System:
    """A recipe and the shipped class that makes it, None for a reference that does not ship."""

    recipe: PrintedBoosting
    kind: type[PaperBooster] | None = None


def system(kind: type[PaperBooster], **choices: Any) -> System:
    """Return a published form of a shipped class."""
    return System(kind(variant="published", **choices)._published(), kind)


def dp_adaboost() -> PrintedBoosting:
    """4.9, Shen 2017."""
    return system(hr.DPAdaBoostClassifier).recipe


def cart_dps_adaboost(**choices: Any) -> PrintedBoosting:
    """4.10; as_coded=True is the authors' public code."""
    return system(hr.CARTDPsAdaBoostClassifier, **choices).recipe


def dpada(**choices: Any) -> PrintedBoosting:
    """4.11."""
    return system(hr.DPAdaClassifier, **choices).recipe


def adaboost() -> PrintedBoosting:
    """Return the papers' reference without any noise, which is DPAda without its own; it does not ship."""
    return PrintedBoosting(ExactStump())


SYSTEMS = {
    "dp-adaboost": system(hr.DPAdaBoostClassifier),
    "cart-dps-adaboost": system(hr.CARTDPsAdaBoostClassifier),
    "cart-dps-adaboost as coded": system(hr.CARTDPsAdaBoostClassifier, as_coded=True),
    "cart-dps-adaboost, noisy gini": system(hr.CARTDPsAdaBoostClassifier, as_coded=True, coded_noise="gini"),
    "adaboost": System(adaboost()),
    "dpada": system(hr.DPAdaClassifier),
    "dpada-swing": system(hr.DPAdaClassifier, schedule="swing"),
    "dpada-random": system(hr.DPAdaClassifier, schedule="random"),
    "dpada-improved": system(hr.DPAdaClassifier, schedule="improved"),
}
