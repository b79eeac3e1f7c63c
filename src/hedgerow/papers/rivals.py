"""Forests that eDPRF's paper compares itself with: the DiffPRF of Deng et al., DiffPRF_linear and TpDPRF."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import ClassVar

from hedgerow.errors import ConfigurationError
from hedgerow.estimator import Plan, PublicCoins, RawPlan
from hedgerow.mechanisms import Exponential
from hedgerow.papers.forest import Bootstrap, PaperForest, PrintedForest, TwoPhases
from hedgerow.papers.noise import RealExponential
from hedgerow.papers.records import cut_ranges, schema_bins
from hedgerow.parameters import Choice, WholeNumber, parameter
from hedgerow.privacy.claim import Claim
from hedgerow.schema import Schema
from hedgerow.scores import Gini
from hedgerow.systems.base import Size
from hedgerow.systems.trees import interval_forest
from hedgerow.trees import (
    AllRecords,
    Assignment,
    ForestPlan,
    Geometric,
    Harmonic,
    Levels,
    Linear,
    Mixed,
    NoisyCounts,
    Recipe,
    SelectTest,
    TwoPhasePlan,
    Uniform,
    Weighted,
)

EASY = Fraction(3, 10)
LEVELS: Mapping[str, Levels] = {
    "geometric": Geometric(),
    "arithmetic": Linear(Fraction(1), Fraction(0)),
    "uniform": Uniform(),
}


class RivalForest(PaperForest):
    """``DiffPRFsClassifier`` with other level budgets, in both forms.

    Published: bootstrap samples, intervals between the values of a node, n + 1 selections, and noisy numbers of records.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperForest``. Defaults: 25 trees of 5 tests [inferred]; private: 3 trees of 4 tests, cuts on a grid of 128 cells
        [our choice].
    """

    _private_size = Size(3, 4, 128)
    _published_size = Size(25, 5, 128)
    _former: ClassVar[Mapping[str, object]] = {"split": "merged", "assignment": "all-records"}

    @abstractmethod
    def _levels(self) -> Levels:
        """Return how the levels of a tree share its budget."""

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return interval_forest(self._levels())

    def _published(self) -> PrintedForest:
        return PrintedForest(
            samples=Bootstrap(),
            tests=cut_ranges,
            levels=self._levels(),
            sharing="halved",
            selection=RealExponential,
            leaf="counts",
            pure_leaves=False,
            counted=True,
        )


class DengDiffPRFClassifier(RivalForest):
    """Differentially private random forest whose level budgets grow towards the leaves (DiffPRF of Deng et al.).

    Deng, Chen, Zhang and Wang, Journal of Chongqing University of Posts and Telecommunications 32(5), 2020. The formula is
    not public. We assume that each level gets twice the budget of the level above it [inferred, low confidence].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier`` and ``RivalForest``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``RivalForest``.
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


class DiffPRFLinearClassifier(RivalForest):
    """Differentially private random forest whose level budgets are linear in the level (DiffPRF_linear).

    Dong, Zhang, Xu, Wang and Liu, Journal of Database Management 33(2), 2022. The share of level k, 1 for the root, is
    proportional to ``slope`` k + ``constant``. The paper leaves both to the user; the defaults are ours [inferred].

    Releases, costs, departs, published
              as ``DiffPRFsClassifier`` and ``RivalForest``, with these level budgets (docs/proofs/diffprfs.md).

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``RivalForest``.
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


class TpDPRFClassifier(PaperForest):
    """Differentially private random forest in two phases (TpDPRF).

    Liu, Li, Wei, Liu, Liu and Wang, Applied Intelligence 53, 2023. We know it from its abstract, so most settings are ours
    [inferred].

    Releases  ``n_estimators`` trees with noisy class counts in each leaf. A tree votes for the largest class of its leaf. The
              first half of the trees, rounded up, reads all records. A tree of the second half reads the records that the first
              half misclassifies, and each of the others with probability 0.3.
    Costs     ``epsilon``, pure: an equal part for each tree, with harmonic level budgets that are not divided, because each node
              has one query (docs/proofs/tpdprf.md).
    Departs   (private) from the paper. A record's probability of being read follows from the released trees and the record
              alone, without training error or normalization. Selections use the one-sided range. A leaf gets all of the budget
              that its path has not spent.
    Published weights from the exact training error, and bootstrap samples drawn by these weights.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperForest``. Defaults: 25 trees of 5 tests [inferred]; private: 4 trees of 4 tests, cuts on a grid of 128 cells
        [our choice].

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.TpDPRFClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    def _plan(self, schema: Schema, claim: Claim, coins: PublicCoins) -> Plan | RawPlan:
        size = self._size(self._private_size)
        trees = size.n_estimators
        if self.variant == "published" or trees == 1:
            return super()._plan(schema, claim, coins)
        first, second = (
            ForestPlan(self._of(assign), schema, claim.pure * part / trees, **asdict(size.given(n_estimators=part)))
            for assign, part in ((AllRecords(), trees - trees // 2), (Weighted(), trees // 2))
        )
        return TwoPhasePlan(first, second, EASY)

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return self._of(AllRecords())

    def _of(self, assign: Assignment) -> Recipe:
        return Recipe(
            assign=assign,
            candidates=Mixed(),
            levels=Harmonic(),
            split=SelectTest(Exponential, Gini()),
            leaf=NoisyCounts(),
        )

    _private_size = Size(4, 4, 128)
    _published_size = Size(25, 5, 5)

    def _published(self) -> PrintedForest:
        return PrintedForest(
            samples=TwoPhases(),
            tests=schema_bins,
            levels=Harmonic(),
            sharing="undivided",
            selection=RealExponential,
            leaf="counts",
            pure_leaves=True,  # inferred: without it, features with many categories exhaust the memory
        )
