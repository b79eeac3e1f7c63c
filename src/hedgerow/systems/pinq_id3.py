"""PINQ-based ID3: McSherry, SIGMOD 2009; the baseline of Friedman and Schuster, KDD 2010."""

from __future__ import annotations

from fractions import Fraction

from hedgerow import published
from hedgerow.schema import Schema
from hedgerow.systems.paper import PaperTree
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Multiway, NoisyCounts, NoisyHistograms, NoisySize, Recipe, Uniform

__all__ = ["PINQID3Classifier"]


class PINQID3Classifier(PaperTree):
    """One ID3 tree from noisy counts of partitions (PINQ-based ID3).

    McSherry, "Privacy integrated queries", SIGMOD 2009, with the tree of Friedman and Schuster, KDD 2010.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level. Half of it is for the number of records of a node, half is shared
              by the counts of the features by code and class (docs/proofs/id3.md).
    Departs   (private) from the paper. The number of records with a code is the sum over the classes and not another query. A
              leaf gets all of the budget that its path has not spent.
    Published both are queries, at half the budget each.

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
    >>> model = hr.PINQID3Classifier(epsilon=1.0, schema=schema).fit(X, y)
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
            stop=NoisySize(),
        )

    def _published(self) -> published.Recipe:
        return published.Recipe(
            assign=published.AllRecords(),
            tests=published.SchemaBins(),
            budgets=published.PerQuery(),
            split=published.NoisyHistograms(partition=True),
            leaf=published.LaplaceCounts(),
            stops=(published.NoisyCount(),),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(1, 2, 5)
