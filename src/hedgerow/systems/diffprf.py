"""DiffPRF: Patil and Singh, ICACCI 2014."""

from __future__ import annotations

from fractions import Fraction

from hedgerow import published
from hedgerow.mechanisms import Exponential
from hedgerow.parameters import Choice, parameter
from hedgerow.schema import Schema
from hedgerow.scores import SCORES
from hedgerow.systems.forest import ASSIGNMENTS
from hedgerow.systems.paper import BOOTSTRAPS, PaperForest, published_criterion
from hedgerow.systems.size import Size
from hedgerow.trees import Multiway, NoisyCounts, Recipe, SelectTest, Subspace, Uniform

__all__ = ["DiffPRFClassifier"]


class DiffPRFClassifier(PaperForest):
    """Differentially private random forest of ID3 trees (DiffPRF).

    Patil and Singh, "Differential private random forest", 2014. We know it from short descriptions only, so most settings are
    ours [inferred].

    Releases  ``n_estimators`` trees with noisy class counts in each leaf. A tree votes for the largest class of its leaf.
    Costs     ``epsilon``, pure: an equal part for each tree, and an equal part of that for each level (docs/proofs/diffprf.md).
    Departs   (private) from the paper, in which a record may enter a bootstrap sample several times. Every tree reads all
              records, or a Poisson sample of them. Selections use the one-sided range, with a public cap on the number of
              records in place of the number. A leaf gets all of the budget that its path has not spent. No noisy number of
              records stops small nodes [our choice].
    Published bootstrap samples, the number of records taken from the data, and noisy numbers of records.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperForest``. Defaults: 10 trees of 5 tests [inferred], 5 bins; private: 3 trees of 3 tests [our choice].
    criterion : {"information-gain", "gini", "max", "error"}
        The score that ranks the tests.
    assignment : {"all-records", "poisson"}
        Private form: what replaces the bootstrap.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DiffPRFClassifier(epsilon=1.0, schema=schema, n_estimators=2).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    criterion: str = parameter(Choice(tuple(SCORES)), default="information-gain")
    assignment: str = parameter(Choice(BOOTSTRAPS), default="all-records")

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return Recipe(
            assign=ASSIGNMENTS[self.assignment],
            candidates=Multiway(),
            levels=Uniform(),
            split=SelectTest(Exponential, SCORES[self.criterion]),
            subspace=Subspace(),
            leaf=NoisyCounts(),
        )

    def _published(self) -> published.Recipe:
        return published.Recipe(
            assign=published.Bootstrap(),
            tests=published.SchemaBins(),
            budgets=published.PerQuery(),
            split=published.SelectTest(published.RealExponential, published_criterion(self.criterion)),
            subspace=published.Subspace(),
            leaf=published.LaplaceCounts(),
            stops=(published.NoisyCount(),),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(10, 5, 5) if epsilon is None else Size(3, 3, 5)
