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

    McSherry, "Privacy integrated queries", SIGMOD 2009, as Friedman and Schuster, KDD 2010, build a tree with it.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level; half of it for the number of records of a node, half shared by
              the counts of the features by code and class (docs/proofs/id3.md).
    Departs   (private) from the paper: the number of records with a code is the sum over the classes and not asked for again;
              a leaf gets all that its path has left.
    Published both are asked for, each at half.

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
            soft=True,  # one tree: shares of its leaf in place of one vote
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
