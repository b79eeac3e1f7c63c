"""Systems by other readings of their papers, and forests with other papers' budgets, for figures that compare these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from hedgerow.papers.boosting import PrintedBoosting
from hedgerow.papers.cart import CARTDPsAdaBoostClassifier, CartTree
from hedgerow.papers.dpada import DPAdaClassifier
from hedgerow.papers.edprf import EDPRFClassifier, TraditionClassifier
from hedgerow.papers.forest import Bootstrap, PrintedForest, TwoPhases
from hedgerow.parameters import Choice, Flag, parameter
from hedgerow.schema import Schema
from hedgerow.trees import AllRecords, Geometric, Harmonic, Levels, Linear, Recipe

ALLOCATIONS: Mapping[str, Levels] = {"deng": Geometric(), "tpdprf": Harmonic(), "linear": Linear()}


class AllocationForest(EDPRFClassifier):
    """A forest with eDPRF's budgets (``allocation`` "own") or with those of another paper.

    With another's, every tree reads all records (published: a bootstrap sample) for an equal part of epsilon, and in the
    published form a leaf gets its level's share, as there, and not what its path has left. In the private form no forest has the
    noisy size that stops small nodes of a single traditional tree: with a T-th of epsilon it would stop at the root. Nor do its
    trees vote with the shares of their leaves, as that tree does: most of such a share is noise, and a tree has one vote.

    ``tree`` "tradition" needs another paper's budgets. There the published form is a rival as eDPRF's paper describes it: tests,
    leaves and stops of ``TraditionClassifier`` in one of its readings, the rival's level budgets, its bootstrap, and of TpDPRF,
    whose budgets are never divided, the two phases. ``purity_test`` says whether a node of a single class is a leaf, as the paper
    prints, and ``aligned`` whether eDPRF's leaf gets what its path has left.
    """

    allocation: str = parameter(Choice(("own", *ALLOCATIONS)), default="own")
    purity_test: bool = parameter(Flag(), default=True)
    aligned: bool = parameter(Flag(), default=True)
    tree: str = parameter(Choice(("pfdpdt", "tradition")), default="pfdpdt")
    reading: str = parameter(Choice(("halved", "undivided")), default="halved")

    def _private(self, schema: Schema, depth: int) -> Recipe:
        own = self.allocation == "own"
        if self.tree == "tradition":
            recipe = self._traditional()._private(schema, depth)
            return recipe if own else replace(recipe, levels=ALLOCATIONS[self.allocation], stop=None, soft=False)
        recipe = super()._private(schema, depth)
        return recipe if own else replace(recipe, assign=AllRecords(), levels=ALLOCATIONS[self.allocation])

    def _published(self) -> PrintedForest:
        traditional = self._traditional() if self.tree == "tradition" else None
        recipe = traditional._published() if traditional else super()._published()
        recipe = replace(recipe, pure_leaves=self.purity_test)
        if self.allocation == "own":
            return recipe if self.aligned else replace(recipe, sharing="undivided")
        return replace(
            recipe,
            samples=TwoPhases() if traditional and self.allocation == "tpdprf" else Bootstrap(),
            levels=ALLOCATIONS[self.allocation],
            sharing="halved" if traditional and traditional.reading == "halved" else "undivided",
        )

    def _traditional(self) -> TraditionClassifier:
        """Return the traditional tree; with TpDPRF's budgets, which are not divided within a level, without counts."""
        return TraditionClassifier(reading="undivided" if self.allocation == "tpdprf" else self.reading)


def _cart(**tree: Any) -> type[Any]:
    class Reading(CARTDPsAdaBoostClassifier):
        def _published(self) -> PrintedBoosting:
            recipe = super()._published()
            return replace(recipe, learner=replace(cast(CartTree, recipe.learner), **tree))

    return Reading


class EqualRoundsCART(CARTDPsAdaBoostClassifier):
    """CART-DPsAdaBoost as printed with an equal part of epsilon for each round.

    The paper takes log(alpha) off that part: a number that does not depend on epsilon, often -1 and less, and is not known
    before the round has been trained.
    """

    def _published(self) -> PrintedBoosting:
        printed = super()._published()
        return PrintedBoosting(printed.learner, holdout=printed.holdout)


def _dpada(schedule: str = "all", **given: Any) -> DPAdaClassifier:
    """Return DPAda by the name that a row has for its schedule: "all" is there that of equation 21."""
    return DPAdaClassifier(schedule="from-second" if schedule == "all" else schedule, **given)


READINGS: Mapping[str, Callable[..., Any]] = {
    "allocation": AllocationForest,
    "cart-equal-rounds": EqualRoundsCART,
    # Noise goes onto a leaf's weighted shares, which are as small as the weights that it is scaled by, and not onto counts.
    "cart-shares": _cart(noised="shares"),
    "cart-unsampled": _cart(sampled=False),  # the paper's perturbation of records is left out
    "dpada": _dpada,
    "dpada-from-round-1": partial(DPAdaClassifier, schedule="all"),
}
