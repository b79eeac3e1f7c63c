"""Private access to the scores of released models, which are sums over records that only mechanisms see."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from hedgerow.curator.rounds import check_range
from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import PerRecordCoin, Randomness, Selection
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.events import Event
from hedgerow.privacy.filter import PrivacyFilter
from hedgerow.table import Table

SCORE = "a score of records"


class Contest:
    """Holds the scores of some released models, which are sums over records, and answers until its budget is spent.

    Parameters
    ----------
    table : Table
        The records that count, with a code for each model, from 0 to ``most``: what the record adds to the model's score, by the
        record and the model alone. Where ``most`` is 1 that is whether the model is right about it.
    ceiling : Cost
        What all queries together may cost under add/remove adjacency.
    randomness : Randomness
        Where every draw comes from.
    most : int
        The largest score that a record adds.
    """

    def __init__(self, table: Table, ceiling: Cost, randomness: Randomness, most: int = 1) -> None:
        everyone = table.assign(randomness.coins(PerRecordCoin(1)))
        by_code = table.histogram(everyone)[0, :, 0].reshape(-1, most + 1)
        self._scores: npt.NDArray[np.int64] = by_code @ np.arange(most + 1)
        self._most = most
        self._filter = Atomic(PrivacyFilter(ceiling))
        self._randomness = randomness
        self._process = os.getpid()

    def winner(self, mechanism: Selection) -> int:
        """Return a model, chosen by its score: one record more adds from 0 to ``most`` to each, so that is the range."""
        check_range(mechanism, SCORE, self._most)
        self._charge(mechanism.event("the best candidate", SCORE))
        scores = self._scores[None]
        return int(self._randomness.draw(mechanism, scores, np.ones(scores.shape, dtype=np.bool_))[0])

    def _charge(self, event: Event) -> None:
        if os.getpid() != self._process:
            raise BudgetExceeded("a contest answers in the process that began it: a copy would spend its budget again.")
        amount = cost(event)
        self._filter.update(lambda before: before.charged_all(amount))
