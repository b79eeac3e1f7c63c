"""Laws of all small data sets, and their worst loss."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from hedgerow.audit import Grid
from hedgerow.audit.exact import total, worst_loss
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
