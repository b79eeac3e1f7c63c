"""DiffPRF of Deng, Chen, Zhang and Wang, Journal of CQUPT 32(5), 2020."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from hedgerow.parameters import Choice, Constraint
from hedgerow.systems.diffprfs import IntervalForest
from hedgerow.trees import Geometric, Levels, Linear, Uniform

__all__ = ["DengDiffPRFClassifier"]

LEVELS: Mapping[str, Levels] = {
    "geometric": Geometric(),
    "arithmetic": Linear(Fraction(1), Fraction(0)),
    "uniform": Uniform(),
}


class DengDiffPRFClassifier(IntervalForest):
    """Differentially private random forest whose level budgets grow towards the leaves (DiffPRF of Deng et al.).

    Deng, Chen, Zhang and Wang, Journal of Chongqing University of Posts and Telecommunications 32(5), 2020. The formula is
    not public; that each level gets twice what the level above it gets is assumed [inferred, low confidence].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, split, assignment, adjacency, random_state, ledger
        See ``IntervalForest``.
    levels : {"geometric", "arithmetic", "uniform"}
        How a tree's budget is shared among its levels.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **IntervalForest._constraints,
        "levels": Choice(tuple(LEVELS)),
    }

    def __init__(self, epsilon: float = 1.0, *, levels: str = "geometric", **common: Any) -> None:
        super().__init__(epsilon, **common)
        self.levels = levels

    def _levels(self) -> Levels:
        return LEVELS[self.levels]
