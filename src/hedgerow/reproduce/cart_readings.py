"""CART-DPsAdaBoost as printed, but for one choice that decides how its figures look."""

from __future__ import annotations

from dataclasses import replace

from hedgerow.published import boosting as published
from hedgerow.systems.cart_dps_adaboost import CARTDPsAdaBoostClassifier

__all__ = ["EqualRoundsCART"]


class EqualRoundsCART(CARTDPsAdaBoostClassifier):
    """CART-DPsAdaBoost as printed with an equal part of epsilon for each round.

    The paper takes log(alpha) off that part: a number that does not depend on epsilon, often -1 and less, and is not known
    before the round has been trained.
    """

    def _published(self) -> published.PublishedBoosting:
        return replace(super()._published(), budgets=published.EqualRounds())
