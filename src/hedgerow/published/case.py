"""What is known of a published fit before it reads a record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.published.branching import Branching

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """The configuration of a fit, from which its parts compute budgets and reasons.

    ``epsilon`` is the total budget that the paper states, ``trees`` their number, ``max_depth`` the tests on a path.
    """

    branching: Branching
    epsilon: Fraction
    trees: int
    max_depth: int

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.branching.bins)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.branching.schema.classes)

    @property
    def n_cuts(self) -> int:
        """How many features are cut, each by a selection of its own."""
        return len(self.branching.cuts)

    @property
    def n_codes(self) -> int:
        """How many branches the tests on all features have together."""
        return int(self.branching.arity.sum())

    @property
    def bins_in_nodes(self) -> bool:
        """Whether a feature is binned by what a node's records hold."""
        return bool(np.any(self.branching.bins > 0))
