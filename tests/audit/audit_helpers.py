"""Laws of all small data sets, and their worst loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from helpers import total

from hedgerow.audit import Grid
from hedgerow.audit.exact import worst_loss
from hedgerow.audit.losses import Laws, check_labels
from hedgerow.mechanisms import Geometric, PermuteAndFlip
from hedgerow.privacy.accounting import Pure
from hedgerow.privacy.exact import Dyadic

FEW = Grid((0,), (0, 1))  # none, or some


class Codes:
    """Features with a code for each value: a categorical feature of a schema also has codes for what is missing or undeclared."""

    def __init__(self, schema, max_bins):
        self.schema = schema
        self.n_codes = np.array([len(feature.values) for feature in schema.features.values()])
        self.edges = (np.empty(0),) * len(schema.names)

    def merged(self, into):
        """There are no neighboring bins to merge."""
        assert all(np.array_equal(codes, np.arange(n)) for codes, n in zip(into, self.n_codes, strict=True))
        return self


def neighbors(records, most, adjacency):
    """Yield all data sets of at most so many of some records, each with its neighbors; one record is public knowledge."""
    for size in range(1, most) if adjacency == "add-remove" else range(most - 1, most):
        for common in combinations_with_replacement(records, size):
            if adjacency == "add-remove":
                yield from ((common, (*common, record)) for record in records)
            else:
                for i, record in enumerate(records):
                    yield from (((*common, record), (*common, other)) for other in records[i + 1 :])


def exact_search(estimator, records, *, most=2, grid=None):
    """Return the worst finding over all small pairs, and the number of pairs."""
    laws = Laws(estimator, grid or Grid())
    check_labels(records, estimator)
    pairs = list(neighbors(records, most, laws.claim.adjacency))
    losses = [laws.loss(*pair) for pair in pairs]
    return laws.finding(*pairs[int(np.argmax(losses))]), len(pairs)


def worst_over(laws) -> float:
    """Return the largest loss over the pairs of data sets of which one has a record more."""
    for law in laws.values():
        assert total(law) == pytest.approx(1, abs=1e-9)
    return max(
        worst_loss(law, laws[records[:i] + records[i + 1 :]])
        for records, law in laws.items()
        for i in range(len(records))
    )


@dataclass(frozen=True)
class TwiceTheRate(PermuteAndFlip):
    """Permute-and-flip that books half of what it costs."""

    def event(self, purpose: str, detail: str, level: int = 0) -> Pure:
        found = super().event(purpose, detail, level)
        return replace(found, epsilon=found.epsilon / 2)

    @property
    def rate(self) -> Dyadic:
        return PermuteAndFlip(2 * self.epsilon, self.score_range).rate


@dataclass(frozen=True)
class TwiceTheNoise(Geometric):
    """Geometric noise for half of the sensitivity that it names."""

    def event(self, purpose: str, level: int = 0, draws: int = 0) -> Pure:
        found = super().event(purpose, level, draws)
        return replace(found, epsilon=found.epsilon / 2)

    @property
    def rate(self) -> Dyadic:
        return Geometric(2 * self.epsilon, self.sensitivity).rate
