"""DiffPRF_linear: Dong, Zhang, Xu, Wang and Liu, Journal of Database Management 33(2), 2022."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.errors import ConfigurationError
from hedgerow.parameters import WholeNumber, parameter
from hedgerow.systems.diffprfs import IntervalForest
from hedgerow.trees import Levels, Linear

__all__ = ["DiffPRFLinearClassifier"]


class DiffPRFLinearClassifier(IntervalForest):
    """Differentially private random forest whose level budgets are linear in the level (DiffPRF_linear).

    Dong, Zhang, Xu, Wang and Liu, Journal of Database Management 33(2), 2022. The share of level k, 1 for the root, is
    proportional to ``slope`` k + ``constant``. The paper leaves both to the user; the defaults are ours [inferred].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, split, assignment
        See ``IntervalForest``.
    adjacency, records_per_person, random_state, ledger
        See ``IntervalForest``.
    slope, constant : int
        The coefficients, which are not both 0. Slope 0 gives every level the same; constant 0 is the arithmetic allocation.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DiffPRFLinearClassifier(epsilon=1.0, schema=schema, slope=1, constant=2).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    slope: int = parameter(WholeNumber(0, 1000), default=1)
    constant: int = parameter(WholeNumber(0, 1000), default=1)

    def _levels(self) -> Levels:
        if self.slope == self.constant == 0:
            raise ConfigurationError(
                "slope and constant are both 0, so no level has a budget; make one of them positive."
            )
        return Linear(Fraction(self.slope), Fraction(self.constant))
