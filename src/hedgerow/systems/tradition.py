"""The baseline tree of eDPRF's ablations: Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, section 5."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hedgerow import published
from hedgerow.mechanisms import SELECTIONS
from hedgerow.parameters import Choice, parameter
from hedgerow.schema import Schema
from hedgerow.scores import Gini
from hedgerow.systems.paper import PaperTree
from hedgerow.systems.size import Size
from hedgerow.trees import AllRecords, Leaf, Multiway, NoisyCounts, NoisySize, Recipe, SelectLabel, SelectTest, Uniform

__all__ = ["TraditionClassifier"]

LEAVES: Mapping[str, Leaf] = {"counts": NoisyCounts(), "label": SelectLabel()}


class TraditionClassifier(PaperTree):
    """One tree built the traditional way: exponential mechanism for tests, noisy class counts for leaves.

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025: "tradition", with ``split="permute-and-flip"`` their
    "tradition_spl_imp", with ``leaf="label"`` their "tradition_leaf_imp".

    Releases  one tree with noisy class counts, or a label, in each leaf.
    Costs     ``epsilon``, pure: every level gets the same budget (docs/proofs/tradition.md).
    Departs   (private) from the paper. Bins come from the schema and not from each node's records. No node stops because it
              is pure. Selections use the one-sided ranges. A leaf gets all of the budget that its path has not spent.
    Published the paper's steps as printed. The paper does not say how a level's budget is shared, so there are two readings
              [inferred].

    Parameters
    ----------
    epsilon, schema, variant, max_depth, max_bins, adjacency, records_per_person, random_state, ledger
        See ``PaperTree``. Defaults: 3 tests on a path (published: 5), 5 bins.
    split : {"exponential", "permute-and-flip"}
        The mechanism that selects tests.
    leaf : {"counts", "label"}
        What a leaf releases: noisy counts, the largest of which gives its label, or a label selected by permute-and-flip.
    reading : {"halved", "undivided"}
        "halved" (R1): half of a level's budget is for a noisy number of records, which stops small nodes, and half is for the
        test or the leaf. "undivided" (R2): there is no query of the number of records.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1), "b": hr.Numeric(0, 1)}, classes=["low", "high"])
    >>> model = hr.TraditionClassifier(epsilon=1.0, schema=schema, split="permute-and-flip").fit(X, y)
    >>> model.certificate_.holds, model.predict(X).shape
    (True, (2000,))
    """

    split: str = parameter(Choice(tuple(SELECTIONS)), default="exponential")
    leaf: str = parameter(Choice(tuple(LEAVES)), default="counts")
    reading: str = parameter(Choice(("halved", "undivided")), default="halved")

    def _private(self, schema: Schema, depth: int) -> Recipe:
        return Recipe(
            assign=AllRecords(),
            soft=self.leaf == "counts",  # a single tree returns the class shares of its leaf, not one vote
            candidates=Multiway(),
            levels=Uniform(),
            split=SelectTest(SELECTIONS[self.split], Gini()),
            leaf=LEAVES[self.leaf],
            stop=NoisySize() if self.reading == "halved" else None,
        )

    def _published(self) -> published.Recipe:
        halved = self.reading == "halved"
        budgets = (
            published.Halved(Uniform(), whole_leaf=self.leaf == "label") if halved else published.Undivided(Uniform())
        )
        by_flips = self.split == "permute-and-flip"
        return published.Recipe(
            assign=published.AllRecords(),
            tests=published.NodeBins(),
            budgets=budgets,
            split=published.SelectTest(
                published.RealPermuteAndFlip if by_flips else published.RealExponential, published.Gini()
            ),
            leaf=published.LaplaceCounts() if self.leaf == "counts" else published.PermuteAndFlipLabel(),
            stops=(published.SingleClass(), published.UnreadCount()) if halved else (published.SingleClass(),),
        )

    def _default_size(self, epsilon: Fraction | None) -> Size:
        return Size(1, 5 if epsilon is None else 3, 5)
