"""Private access to values that no schema declares: a value is released if its noisy count passes a threshold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms import PassesThreshold, Randomness
from hedgerow.privacy.accounting import Cost, cost
from hedgerow.privacy.atomic import Atomic
from hedgerow.privacy.filter import PrivacyFilter
from hedgerow.schema.cells import public_value
from hedgerow.schema.features import Value


class Values:
    """Holds the counts of the values of some columns, and releases which values occur; each query is charged before its answer.

    Parameters
    ----------
    counts : sequence of mapping
        For each column the number of records with each value, by the key that compares values.
    ceiling : Cost
        What all queries together may cost under add/remove adjacency.
    randomness : Randomness
        Where every draw comes from.
    """

    def __init__(self, counts: Sequence[Mapping[float | str, int]], ceiling: Cost, randomness: Randomness) -> None:
        self._counts = tuple(counts)
        self._filter = Atomic(PrivacyFilter(ceiling))
        self._randomness = randomness
        self._process = os.getpid()

    def shown(self, column: int, mechanism: PassesThreshold) -> list[Value]:
        """Return the values of a column that pass the threshold, sorted, numbers before text, never in order of appearance."""
        if os.getpid() != self._process:
            raise BudgetExceeded("values are shown in the process that began it: a copy would spend its budget again.")
        amount = cost(mechanism.event("values"))
        self._filter.update(lambda before: before.charged_all(amount))
        counts = dict(sorted(self._counts[column].items(), key=lambda pair: (isinstance(pair[0], str), pair[0])))
        passes = self._randomness.draw(mechanism, np.fromiter(counts.values(), dtype=np.int64, count=len(counts)))
        return [public_value(key) for key, shown in zip(counts, passes.tolist(), strict=True) if shown]
