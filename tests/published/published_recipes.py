"""The published form of every tree and forest system as it ships: what the classes make of ``variant="published"``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import hedgerow as hr
from hedgerow import published
from hedgerow.published import Recipe
from hedgerow.systems.paper import PaperTree

ANY = hr.Schema({"c": hr.Categorical(["a", "b"])}, classes=["no", "yes"])


@dataclass(frozen=True)
class System:
    """A shipped class with the choices that make one of its published forms."""

    kind: type[PaperTree]
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


def system(kind: type[PaperTree], **choices: Any) -> System:
    return System(kind, tuple(choices.items()))


SYSTEMS = {
    "edprf": system(hr.EDPRFClassifier),
    "pfdpdt": system(hr.PFDPDTClassifier),
    "tradition": system(hr.TraditionClassifier),
    "tradition_spl_imp": system(hr.TraditionClassifier, split="permute-and-flip"),
    "tradition_leaf_imp": system(hr.TraditionClassifier, leaf="label"),
    "tradition R2": system(hr.TraditionClassifier, reading="undivided"),
    "tradition_spl_imp R2": system(hr.TraditionClassifier, reading="undivided", split="permute-and-flip"),
    "tradition_leaf_imp R2": system(hr.TraditionClassifier, reading="undivided", leaf="label"),
    "diffprf_patil": system(hr.DiffPRFClassifier),
    "diffprfs": system(hr.DiffPRFsClassifier),
    "diffprf_deng": system(hr.DengDiffPRFClassifier),
    "diffprf_deng arithmetic": system(hr.DengDiffPRFClassifier, levels="arithmetic"),
    "diffprf_linear": system(hr.DiffPRFLinearClassifier),
    "tpdprf": system(hr.TpDPRFClassifier),
    "sulq_id3": system(hr.SuLQID3Classifier),
    "pinq_id3": system(hr.PINQID3Classifier),
    "diffp_id3": system(hr.DiffPID3Classifier),
    "diffp_c45": system(hr.DiffPC45Classifier),
    "random_chunks": system(hr.RandomTreesClassifier),
    "random_smooth": system(hr.RandomTreesClassifier, rule="smooth"),
}


def shipped(name: str) -> Recipe:
    """Return the published recipe of a system."""
    return SYSTEMS[name].recipe


def diffp_id3_with_a_bound(records: int) -> Recipe:
    """Return DiffP-ID3 with a public bound on the number of records in place of their number; it does not ship."""
    gain = published.InformationGain(records)
    return replace(shipped("diffp_id3"), split=published.SelectTest(published.RealExponential, gain))
