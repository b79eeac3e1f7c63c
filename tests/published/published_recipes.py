"""The published form of every tree and forest system as it ships: what the classes make of ``variant="published"``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hedgerow.published import Recipe
from hedgerow.systems.paper import PaperTree

import hedgerow as hr
from hedgerow import published

ANY = hr.Schema({"c": hr.Categorical(["a", "b"])}, classes=["no", "yes"])


@dataclass(frozen=True)
class System:
    """A shipped class with the choices that make one of its published forms, and how its paper divides the budget.

    ``divided`` may hold "shared" (by the trees: a record is in several) and "aligned" (every path of a tree spends all).
    """

    kind: type[PaperTree]
    divided: tuple[str, ...]
    choices: tuple[tuple[str, Any], ...]

    @property
    def recipe(self) -> Recipe:
        """Its parts."""
        return self._model._published()

    @property
    def n_estimators(self) -> int:
        """Its default number of trees."""
        return self._model._size(ANY, None).n_estimators

    @property
    def _model(self) -> PaperTree:
        return self.kind(variant="published", **dict(self.choices))


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
    "diffprf_patil": system(hr.DiffPRFClassifier, "shared"),
    "diffprfs": system(hr.DiffPRFsClassifier, "shared"),
    "diffprf_deng": system(hr.DengDiffPRFClassifier, "shared"),
    "diffprf_deng arithmetic": system(hr.DengDiffPRFClassifier, "shared", levels="arithmetic"),
    "diffprf_linear": system(hr.DiffPRFLinearClassifier, "shared"),
    "tpdprf": system(hr.TpDPRFClassifier, "shared"),
    "sulq_id3": system(hr.SuLQID3Classifier, "shared"),
    "pinq_id3": system(hr.PINQID3Classifier, "shared"),
    "diffp_id3": system(hr.DiffPID3Classifier, "shared"),
    "diffp_c45": system(hr.DiffPC45Classifier, "shared"),
    "random_chunks": system(hr.RandomTreesClassifier, "aligned"),
    "random_smooth": system(hr.RandomTreesClassifier, "aligned", rule="smooth"),
}


def shipped(name: str) -> Recipe:
    """Return the published recipe of a system."""
    return SYSTEMS[name].recipe


def diffp_id3_with_a_bound(records: int) -> Recipe:
    """Return DiffP-ID3 with a public bound on the number of records in place of their number; it does not ship."""
    gain = published.InformationGain(records)
    return replace(shipped("diffp_id3"), split=published.SelectTest(published.RealExponential, gain))
