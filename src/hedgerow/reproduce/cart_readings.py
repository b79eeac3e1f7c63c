"""CART-DPsAdaBoost as printed, but for one choice that decides how its figures look."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from hedgerow.papers.boosting import EqualRounds, PrintedBoosting
from hedgerow.papers.cart import CARTDPsAdaBoostClassifier, CartTree

__all__ = ["EqualRoundsCART", "SharesCART", "UnsampledCART"]


class EqualRoundsCART(CARTDPsAdaBoostClassifier):
    """CART-DPsAdaBoost as printed with an equal part of epsilon for each round.

    The paper takes log(alpha) off that part: a number that does not depend on epsilon, often -1 and less, and is not known
    before the round has been trained.
    """

    def _published(self) -> PrintedBoosting:
        return replace(super()._published(), budgets=EqualRounds())


class _OtherTree(CARTDPsAdaBoostClassifier):
    """CART-DPsAdaBoost as printed with another setting of its tree."""

    setting: ClassVar[dict[str, Any]]

    def _published(self) -> PrintedBoosting:
        recipe = super()._published()
        assert isinstance(recipe.learner, CartTree)
        return replace(recipe, learner=replace(recipe.learner, **self.setting))


class SharesCART(_OtherTree):
    """Noise of the scale max w / epsilon' goes onto a leaf's weighted shares, which are as small as w, not onto counts."""

    setting: ClassVar[dict[str, Any]] = {"noised": "shares"}


class UnsampledCART(_OtherTree):
    """Every tree is grown on all records: the paper's perturbation of records is left out."""

    setting: ClassVar[dict[str, Any]] = {"sampled": False}
