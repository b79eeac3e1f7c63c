"""The door to how often released models are right: counts of records that only mechanisms see."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from hedgerow.curator.checks import check_noise, check_range
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import Geometric, PerRecordCoin, Randomness, Selection
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.events import Event
from hedgerow.privacy.filter import PrivacyFilter
from hedgerow.table import Table

__all__ = ["SCORE", "Contest"]

SCORE = "records predicted right"


class Contest:
    """Holds how many records each of some released models predicts right, and answers until its budget is spent.

    Parameters
    ----------
    table : Table
        The records that count, with a code of 1 for each model that is right about them, and of 0 for others: it depends on
        the record and on the model alone.
    ceiling : Cost
        What all questions together may cost under add/remove adjacency.
    randomness : Randomness
        Where every draw comes from.
    """

    def __init__(self, table: Table, ceiling: Cost, randomness: Randomness) -> None:
        everyone = table.assign(randomness.coins(PerRecordCoin(1)))
        self._counts: npt.NDArray[np.int64] = table.histogram(everyone)[0, 1::2, 0]
        self._filter = Atomic(PrivacyFilter(ceiling))
        self._randomness = randomness
        self._process = os.getpid()

    def winner(self, mechanism: Selection) -> int:
        """Return a model, chosen by its count: one record more adds at most one to each, so the range is 1."""
        check_range(mechanism, SCORE, 1)
        self._charge(mechanism.event("the best candidate", SCORE))
        scores = self._counts[None]
        return int(self._randomness.draw(mechanism, scores, np.ones(scores.shape, dtype=np.bool_))[0])

    def count(self, noise: Geometric) -> int:
        """Return the count of the only model, with noise."""
        if len(self._counts) != 1:
            raise ValueError("a record is in the counts of several models, which this noise is not for.")
        check_noise(noise, 1, 1)
        self._charge(noise.event(SCORE))
        return int(self._randomness.draw(noise, self._counts)[0])

    def _charge(self, event: Event) -> None:
        if os.getpid() != self._process:
            raise BudgetExceeded("a contest answers in the process that began it: a copy would spend its budget again.")
        amount = cost(event)
        self._filter.update(lambda before: before.charged_all(amount))
