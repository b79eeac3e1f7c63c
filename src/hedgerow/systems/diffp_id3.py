"""DiffP-ID3: Friedman and Schuster, KDD 2010."""

from __future__ import annotations

from fractions import Fraction

from hedgerow import published
from hedgerow.mechanisms import Exponential
from hedgerow.parameters import Choice, parameter
from hedgerow.schema import Schema
from hedgerow.scores import SCORES
from hedgerow.systems.paper import PaperTree, published_criterion
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Multiway, NoisyCounts, NoisySize, Recipe, SelectTest, Uniform

__all__ = ["DiffPID3Classifier"]


class DiffPID3Classifier(PaperTree):
    """One ID3 tree whose tests are selected by the exponential mechanism (DiffP-ID3).

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010.

    Releases  one tree with noisy class counts in each leaf.
    Costs     ``epsilon``, pure: an equal part for each level, half of it for a noisy number of records that stops small nodes,
              half for the test (docs/proofs/id3.md).
    Departs   (private) from the paper. The information gain has a public cap in place of the number of records. Selections use
              the one-sided range, which doubles their signal. A leaf gets all of the budget that its path has not spent.
    Published the authors' steps. Their code takes the number of records from the data.

    Parameters
    ----------
    epsilon, schema, variant, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperTree``. Defaults: 5 tests on a path; private: 3 [our choice]; 5 bins.
    criterion : {"information-gain", "gini", "max", "error"}
        The score that ranks the tests.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DiffPID3Classifier(epsilon=1.0, schema=schema, max_depth=2).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    criterion: str = parameter(Choice(tuple(SCORES)), default="information-gain")

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return Recipe(
            assign=AllRecords(),
            soft=True,  # a single tree returns the class shares of its leaf, not one vote
            candidates=Multiway(),
            levels=Uniform(),
            split=SelectTest(Exponential, SCORES[self.criterion]),
            leaf=NoisyCounts(),
            stop=NoisySize(),
        )

    def _published(self) -> published.Recipe:
        return published.Recipe(
            assign=published.AllRecords(),
            tests=published.SchemaBins(),
            budgets=published.PerQuery(),
            split=published.SelectTest(published.RealExponential, published_criterion(self.criterion)),
            leaf=published.LaplaceCounts(),
            stops=(published.NoisyCount(),),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(1, 5 if epsilon is None else 3, 5)
