"""DiffPRF of Deng, Chen, Zhang and Wang, Journal of CQUPT 32(5), 2020."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hedgerow.parameters import Choice, parameter
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

    levels: str = parameter(Choice(tuple(LEVELS)), default="geometric")

    def _levels(self) -> Levels:
        return LEVELS[self.levels]
