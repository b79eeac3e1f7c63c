"""DiffPRF of Deng, Chen, Zhang and Wang, Journal of CQUPT 32(5), 2020."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from hedgerow.ledgers.ledger import Ledger
from hedgerow.parameters import Choice, Constraint, RandomSource
from hedgerow.schema import Schema
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
    not public. We assume that each level gets twice the budget of the level above it [inferred, low confidence].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, split, assignment
        See ``IntervalForest``.
    adjacency, records_per_person, random_state, ledger
        See ``IntervalForest``.
    levels : {"geometric", "arithmetic", "uniform"}
        How the levels of a tree share its budget.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DengDiffPRFClassifier(epsilon=1.0, schema=schema, levels="arithmetic").fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"levels": Choice(tuple(LEVELS))}

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        levels: str = "geometric",
        split: str = "merged",
        assignment: str = "all-records",
        n_estimators: int | None = None,
        variant: str = "private",
        max_depth: int | None = None,
        max_bins: int | None = None,
        schema: Schema | None = None,
        adjacency: str = "add-remove",
        records_per_person: int | None = None,
        random_state: RandomSource = None,
        ledger: Ledger | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            split=split,
            assignment=assignment,
            n_estimators=n_estimators,
            variant=variant,
            max_depth=max_depth,
            max_bins=max_bins,
            schema=schema,
            adjacency=adjacency,
            records_per_person=records_per_person,
            random_state=random_state,
            ledger=ledger,
        )
        self.levels = levels

    def _levels(self) -> Levels:
        return LEVELS[self.levels]
