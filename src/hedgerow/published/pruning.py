"""Cutting a published tree back by its own noisy counts: post-processing, on whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.published.branching import Branching
from hedgerow.published.trees import Trees
from hedgerow.scores import multiway
from hedgerow.trees.model import Forest, PessimisticPruning

__all__ = ["Pruning"]


@dataclass(frozen=True)
class Pruning:
    """C4.5's pruning by pessimistic error on noisy counts (Friedman and Schuster 2010, public code).

    hedgerow.trees.model has the rule: sizes are rescaled from the root down, where children of size zero share evenly.
    """

    confidence: float = 0.25

    def apply(self, trees: Trees, branching: Branching, size: Floats, counts: Floats) -> Trees:
        """Return the trees cut back.

        ``size`` (nodes,) holds the noisy sizes of nodes, NaN where none was asked for, ``counts`` (nodes, classes) the noisy
        class counts of leaves.
        """
        inner = np.flatnonzero(trees.feature >= 0)
        if not len(inner):
            return trees
        # One candidate for each node with a test: it finds the node again after the cut.
        test = np.full(len(trees.feature), -1, dtype=np.int32)
        test[inner] = np.arange(len(inner))
        candidates = multiway(branching.arity[trees.feature[inner]])
        whole = np.rint(counts).astype(np.int64)
        grown = Forest(trees.roots, test, trees.first_child, trees.label, candidates, whole)
        asked = np.where(np.isnan(size), -1, np.rint(np.maximum(np.nan_to_num(size), 0))).astype(np.int64)
        cut = PessimisticPruning(self.confidence).apply(grown, asked)
        kept = cut.test >= 0
        node = inner[cut.test[kept]]
        leaf = Trees.of_leaves(cut.roots, cut.label)
        for name in ("feature", "low", "high"):
            getattr(leaf, name)[kept] = getattr(trees, name)[node]
        return replace(leaf, first_child=cut.first_child)
