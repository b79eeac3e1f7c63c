"""Forests of random tests: Fletcher and Islam 2017, and diffprivlib's random forest."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hedgerow import published
from hedgerow.parameters import Choice, parameter
from hedgerow.schema import Schema
from hedgerow.systems.paper import PaperForest
from hedgerow.systems.size import Size
from hedgerow.trees import Binary, CandidateRule, LeafShare, Mixed, PerRecord, RandomTest, Recipe, SelectLabel

__all__ = ["RandomTreesClassifier"]

CANDIDATES: Mapping[str, CandidateRule] = {"chunks": Binary(), "smooth": Mixed()}
ALL_FOR_LEAVES = LeafShare(Fraction(1))  # tests cost nothing


class RandomTreesClassifier(PaperForest):
    """Differentially private forest whose tests are drawn at random, without reading the records.

    Fletcher and Islam, "Differentially private random decision forests using smooth sensitivity", Expert Systems with
    Applications 78, 2017 (``rule="smooth"``); Holohan, Braghin, Mac Aonghusa and Levacher, diffprivlib 0.6.6
    (``rule="chunks"``).

    Releases  ``n_estimators`` trees with one label per leaf.
    Costs     ``epsilon``, pure: each record is assigned to one tree at random and pays for one leaf. Permute-and-flip selects
              the leaf's label by the class counts at their one-sided range (docs/proofs/random-trees.md).
    Departs   (private) from both. Records are assigned to trees independently, not by position or in equal parts. Cuts lie on
              the grid of the schema's ranges. The leaf differs from Fletcher and Islam's, whose noise follows the counts and so
              protects nothing.
    Published the two systems as they are written.

    Parameters
    ----------
    epsilon, schema, variant, n_estimators, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperForest``. Defaults: 10 trees of 5 tests, cuts on a grid of 32 cells [our choice].
    rule : {"chunks", "smooth"}
        "chunks": diffprivlib's tests, all with two branches. "smooth": Fletcher and Islam's, with one branch for each code of a
        category. The published form also samples records and labels leaves as they do.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.RandomTreesClassifier(epsilon=1.0, schema=schema, n_estimators=5).fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    rule: str = parameter(Choice(tuple(CANDIDATES)), default="chunks")

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return Recipe(
            assign=PerRecord(),
            candidates=CANDIDATES[self.rule],
            levels=ALL_FOR_LEAVES,
            split=RandomTest(),
            leaf=SelectLabel(),
        )

    def _published(self) -> published.Recipe:
        if self.rule == "chunks":
            return published.Recipe(
                assign=published.Chunks(),
                tests=published.CutCodes(),
                budgets=published.LeafOnly(),
                split=published.RandomTest(),
                leaf=published.PermuteAndFlipLabel(score_range=1),
            )
        return published.Recipe(
            assign=published.FixedSize(label_factor=None),
            tests=published.CutRanges(),
            budgets=published.LeafOnly(),
            split=published.RandomTest(),
            leaf=published.SmoothSensitivityLabel(),
            stops=(published.Empty(),),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(10, 5, 32)

    def _size(self, schema: Schema, epsilon: Fraction | None) -> Size:
        size = super()._size(schema, epsilon)
        if epsilon is not None or self.rule == "chunks":
            return size
        default = Size(100, published.random_tree_depth(schema), size.max_bins)
        return default.given(n_estimators=self.n_estimators, max_depth=self.max_depth)
