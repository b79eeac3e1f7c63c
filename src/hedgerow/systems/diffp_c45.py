"""DiffP-C4.5: Friedman and Schuster, KDD 2010."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hedgerow import published
from hedgerow.mechanisms import Exponential
from hedgerow.parameters import Choice, parameter
from hedgerow.schema import Schema
from hedgerow.scores import SCORES
from hedgerow.systems.paper import PaperTree, published_criterion
from hedgerow.systems.size import Size
from hedgerow.trees import (
    AllRecords,
    LeafShare,
    Mixed,
    NoisyCounts,
    NoisySize,
    PessimisticPruning,
    Recipe,
    SelectCutsThenTest,
    SelectTest,
)

__all__ = ["DiffPC45Classifier"]

PRUNINGS: Mapping[str, PessimisticPruning | None] = {"pessimistic": PessimisticPruning(), "none": None}


class DiffPC45Classifier(PaperTree):
    """One C4.5 tree with numeric cuts and pruning on noisy counts (DiffP-C4.5).

    Friedman and Schuster, "Data mining with differential privacy", KDD 2010.

    Releases  one tree with noisy class counts in each leaf. The noisy numbers of records of nodes decide the pruning.
    Costs     ``epsilon``, pure: an equal part for each query on a path, at most epsilon in total (docs/proofs/id3.md).
    Departs   (private) from the paper. Cuts lie on the grid of the schema's ranges. One selection, at the one-sided range, may
              replace the paper's n + 1. A leaf gets all of the budget that its path has not spent.
    Published the authors' steps: cuts lie between the values of a node, and the number of records is taken from the data.

    Parameters
    ----------
    epsilon, schema, variant, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperTree``. Defaults: 5 tests on a path; private: 4, cuts on a grid of 128 cells [our choice].
    criterion : {"max", "gini", "information-gain", "error"}
        The score that ranks the tests.
    split : {"merged", "separate"}
        Private form. "merged": one selection among all cuts and categorical features. "separate", as in the paper: one selection
        for each numeric feature and one among the features.
    pruning : {"pessimistic", "none"}
        Whether the grown tree is pruned by C4.5's pessimistic error on noisy counts.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.DiffPC45Classifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    criterion: str = parameter(Choice(tuple(SCORES)), default="max")
    split: str = parameter(Choice(("merged", "separate")), default="merged")
    pruning: str = parameter(Choice(tuple(PRUNINGS)), default="pessimistic")

    def _private(self, schema: Schema, depth: int) -> Recipe:
        score = SCORES[self.criterion]
        cuts = 0 if self.split == "merged" else sum(schema.is_numeric)
        questions = 2 + cuts  # of a node: its size, cuts, the test; a leaf has the budget of 2
        return Recipe(
            assign=AllRecords(),
            soft=True,  # a single tree returns the class shares of its leaf, not one vote
            candidates=Mixed(),
            levels=LeafShare(Fraction(2, questions * depth + 2)),
            split=SelectTest(Exponential, score) if self.split == "merged" else SelectCutsThenTest(Exponential, score),
            leaf=NoisyCounts(),
            stop=NoisySize(Fraction(1, questions)),
            prune=PRUNINGS[self.pruning],
        )

    def _published(self) -> published.Recipe:
        return published.Recipe(
            assign=published.AllRecords(),
            tests=published.CutRanges(),
            budgets=published.PerQuery(),
            split=published.SelectCutsThenTest(published.RealExponential, published_criterion(self.criterion)),
            leaf=published.LaplaceCounts(),
            stops=(published.NoisyCount(),),
            pruning=published.Pruning() if self.pruning == "pessimistic" else None,
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(1, 5 if epsilon is None else 4, 128)
