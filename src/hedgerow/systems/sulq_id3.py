"""SuLQ-based ID3: Blum, Dwork, McSherry and Nissim, PODS 2005."""

from __future__ import annotations

from fractions import Fraction

from hedgerow import published
from hedgerow.schema import Schema
from hedgerow.systems.paper import PaperTree
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Multiway, NoisyCounts, NoisyHistograms, NoisySize, Recipe, Uniform

__all__ = ["SuLQID3Classifier"]


class SuLQID3Classifier(PaperTree):
    """One ID3 tree from noisy counts alone (SuLQ-based ID3).

    Blum, Dwork, McSherry and Nissim, "Practical privacy: the SuLQ framework", PODS 2005; here with pure epsilon.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level, and within a level an equal part for the number of records and
              for the counts of each feature by code and class (docs/proofs/id3.md).
    Departs   (private) from the framework. A feature's counts are one query, since a record is in only one of them; SuLQ
              queries each count separately. A leaf gets all of the budget that its path has not spent.
    Published every single count is a query, with an equal part of the budget.

    Parameters
    ----------
    epsilon, schema, variant, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperTree``. Defaults: 2 tests on a path, 5 bins [our choice].

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.SuLQID3Classifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return Recipe(
            assign=AllRecords(),
            soft=True,  # a single tree returns the class shares of its leaf, not one vote
            candidates=Multiway(),
            levels=Uniform(),
            split=NoisyHistograms(),
            leaf=NoisyCounts(),
            stop=NoisySize(Fraction(1, 1 + len(schema.names))),
        )

    def _published(self) -> published.Recipe:
        return published.Recipe(
            assign=published.AllRecords(),
            tests=published.SchemaBins(),
            budgets=published.PerQuery(),
            split=published.NoisyHistograms(partition=False),
            leaf=published.LaplaceCounts(partition=False),
            stops=(published.NoisyCount(Fraction(0)),),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(1, 2, 5)
