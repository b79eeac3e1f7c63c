"""DiffPRFs: Mu, Ding, Song and Lu, 2016; and the base class of two later papers that change its level budgets."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from hedgerow import published
from hedgerow.parameters import Choice, parameter
from hedgerow.schema import Schema
from hedgerow.systems.forest import ASSIGNMENTS
from hedgerow.systems.paper import BOOTSTRAPS, SPLITS, PaperForest
from hedgerow.systems.size import Size
from hedgerow.trees import Levels, Mixed, NoisyCounts, Recipe, Uniform

__all__ = ["DiffPRFsClassifier", "IntervalForest"]


class IntervalForest(PaperForest):
    """A forest that cuts numeric features by the exponential mechanism, for any level budgets.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperForest``. Defaults: 25 trees of 5 tests [inferred]; private: 3 trees of 4 tests, cuts on a grid of 128 cells
        [our choice].
    split : {"merged", "separate"}
        Private form. "merged": one selection among all cuts and categorical features. "separate", as in the papers: one selection
        for each numeric feature that can still be cut, and one among the features.
    assignment : {"all-records", "poisson"}
        Private form: what replaces the bootstrap.
    """

    split: str = parameter(Choice(tuple(SPLITS)), default="merged")
    assignment: str = parameter(Choice(BOOTSTRAPS), default="all-records")

    @abstractmethod
    def _levels(self) -> Levels:
        """Return how the levels of a tree share its budget."""

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return Recipe(
            assign=ASSIGNMENTS[self.assignment],
            candidates=Mixed(),
            levels=self._levels(),
            split=SPLITS[self.split],
            leaf=NoisyCounts(),
        )

    def _published(self) -> published.Recipe:
        return published.Recipe(
            assign=published.Bootstrap(),
            tests=published.CutRanges(),
            budgets=published.Halved(self._levels()),
            split=published.SelectCutsThenTest(published.RealExponential, published.Gini()),
            leaf=published.LaplaceCounts(),
            stops=(published.NoisyCount(Fraction(1, 2)),),  # a level's whole share is twice the count's
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(25, 5, 128) if epsilon is None else Size(3, 4, 128)


class DiffPRFsClassifier(IntervalForest):
    """Differentially private random forest that needs no binning (DiffPRFs).

    Mu, Ding, Song and Lu, "DiffPRFs: random forest under differential privacy", 2016.

    Releases  ``n_estimators`` trees with noisy class counts in each leaf. A tree votes for the largest class of its leaf.
    Costs     ``epsilon``, pure: an equal part for each tree, and an equal part of that for each level (docs/proofs/diffprfs.md).
    Departs   (private) from the paper. Every tree reads all records or a Poisson sample, not a bootstrap sample. Cuts lie on
              the grid of the schema's ranges. One selection, at the one-sided range, replaces the paper's n + 1. A leaf gets
              all of the budget that its path has not spent. No noisy number of records stops small nodes [our choice: the
              papers' rule is inferred, and at epsilon / T it turns roots into leaves].
    Published bootstrap samples, intervals between the values of a node, n + 1 selections, and noisy numbers of records.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, split, assignment
        See ``IntervalForest``.
    adjacency, records_per_person, random_state, ledger
        See ``IntervalForest``.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DiffPRFsClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    def _levels(self) -> Levels:
        return Uniform()
