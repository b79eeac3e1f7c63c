"""The door to values that no schema declares: which of them occur is told where a noisy count passes a threshold."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import PassesThreshold, Randomness
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.filter import PrivacyFilter
from hedgerow.schema.cells import Cells
from hedgerow.schema.features import Value
from hedgerow.schema.values import count_values, public_value

__all__ = ["Values"]


class Values:
    """Holds columns of cells and tells which values occur in them, each question charged before it is answered.

    Parameters
    ----------
    missing : sequence of str
        What else stands for a missing cell.
    ceiling : Cost
        What all questions together may cost under add/remove adjacency.
    randomness : Randomness
        Where every draw comes from.
    """

    def __init__(self, missing: Sequence[str], ceiling: Cost, randomness: Randomness) -> None:
        self._missing = tuple(missing)
        self._filter = Atomic(PrivacyFilter(ceiling))
        self._randomness = randomness
        self._process = os.getpid()

    def shown(self, cells: Cells, mechanism: PassesThreshold) -> list[Value]:
        """Return the values of a column that pass the threshold, sorted: they never stand as they appeared."""
        if os.getpid() != self._process:
            raise BudgetExceeded("values are shown in the process that began it: a copy would spend its budget again.")
        amount = cost(mechanism.event("values"))
        self._filter.update(lambda before: before.charged_all(amount))
        counts = count_values(cells, self._missing)
        passes = self._randomness.draw(mechanism, np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))
        return [public_value(key) for key, shown in zip(counts, passes.tolist(), strict=True) if shown]
