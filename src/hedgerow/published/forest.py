"""The published forest as a plan: from raw records to votes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import FileFormatError
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event
from hedgerow.published.grower import Grower, RawRecords
from hedgerow.published.model import Branching, PublishedForest, Trees
from hedgerow.published.recipe import FixedSize, Level, Recipe
from hedgerow.schema import Encoder, Schema
from hedgerow.schema.encoder import raw_columns
from hedgerow.trees.forest import importances

__all__ = ["PublishedForestModel", "PublishedForestPlan"]


class PublishedForestModel(PublishedForest):
    """A published forest that says which features decide it."""

    def importances(self) -> npt.NDArray[np.float64]:
        """Return the share of each feature in the tests, each test weighing what its depth leaves to it."""
        trees = self.trees
        return importances(trees.roots, trees.feature, trees.first_child, len(self.schema.names))


class PublishedForestPlan:
    """eDPRF as printed, about to be grown; with one tree it is pfDPDT. No guarantee holds.

    Wang, Qiu, Zhao, Zou and Wang, Journal of Software 36(7), 2025, algorithms 2 to 5; docs/proofs/edprf.md. Where the
    paper is silent, the choice is ours and stands beside the code that makes it.

    Parameters
    ----------
    schema : Schema
        The features, their categories, and the classes. Ranges and cut points are not used.
    epsilon : Fraction
        The budget that the paper gives to each tree.
    n_estimators : int
        Trees, on disjoint subsets of one fixed size.
    max_depth : int
        Tests on a path: the paper's treeDepth - 1.
    max_bins : int
        Bins of a numeric feature in a node (the paper is silent; 5 is our default).
    """

    def __init__(
        self, schema: Schema, epsilon: Fraction, *, n_estimators: int, max_depth: int, max_bins: int = 5
    ) -> None:
        recipe = Recipe()
        self._schema = schema
        self._branching = Branching.of(schema, max_bins)
        self._subsets = FixedSize(n_estimators)
        self._levels = recipe.schedule(epsilon, max_depth)
        numeric = bool(self._branching.bins.any())
        self._event = recipe.event(self._levels, self._subsets, epsilon, numeric=numeric)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The mechanisms of every level, root first."""
        return self._levels

    @property
    def event(self) -> Event:
        """Every unprotected step, then the budgets that the paper states for the others."""
        return self._event

    def run(self, X: Any, y: Any, randomness: Randomness) -> PublishedForestModel:
        """Grow the forest on the records whose label is in the schema."""
        labels = Encoder(self._schema, 2).labels(y)
        data = RawRecords.labelled(raw_columns(X, self._schema), labels, len(self._schema.classes))
        subsets = self._subsets.subsets(len(data.labels), randomness)
        return self._forest(Grower(data, self._branching, self._levels, randomness).grow(subsets))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> PublishedForestModel:
        """Return the model whose trees stand in the arrays, or raise FileFormatError."""
        trees = Trees.from_arrays(arrays, self._branching, len(self._schema.classes))
        if len(trees.roots) != self._subsets.parts:
            raise FileFormatError("the file's trees are not as many as its parameters say; fit the model again.")
        return self._forest(trees)

    def _forest(self, trees: Trees) -> PublishedForestModel:
        return PublishedForestModel(self._schema, self._branching, trees)
