"""The published forest as a plan: from raw records to votes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import FileFormatError
from hedgerow.estimator import RawPlan
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event
from hedgerow.published.case import Case
from hedgerow.published.grower import Grower
from hedgerow.published.model import PublishedForest, Trees
from hedgerow.published.recipe import Level, Recipe
from hedgerow.published.records import RawRecords
from hedgerow.schema import Encoder, Schema

__all__ = ["PublishedForestPlan"]


class PublishedForestPlan(RawPlan):
    """A published forest that is about to be grown. No guarantee holds.

    Where a paper is silent, the choice is ours and stands beside the part that makes it.

    Parameters
    ----------
    recipe : Recipe
        Its parts.
    schema : Schema
        The features, their categories, and the classes; ranges only where the recipe cuts or bins them.
    epsilon : Fraction
        The budget that the paper states.
    n_estimators, max_depth, max_bins : int
        Trees, tests on a path, and bins of a numeric feature where the recipe has any.
    """

    def __init__(
        self,
        recipe: Recipe,
        schema: Schema,
        epsilon: Fraction,
        *,
        n_estimators: int,
        max_depth: int,
        max_bins: int = 5,
    ) -> None:
        self._recipe = recipe
        self._schema = schema
        self._branching = recipe.tests.branching(schema, max_bins)
        case = Case(self._branching, epsilon, n_estimators, max_depth)
        self._trees = n_estimators
        self._levels = recipe.schedule(case)
        self._event = recipe.event(case)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The mechanisms of every level, root first."""
        return self._levels

    @property
    def event(self) -> Event:
        """Every unprotected step, then the budgets that the paper states for the others."""
        return self._event

    def fit_raw(self, X: Any, y: Any, randomness: Randomness) -> PublishedForest:
        """Grow the forest on the records whose label is in the schema."""
        labels = Encoder(self._schema, 2).labels(y)
        data = RawRecords.labelled(self._branching.read(X), labels, self._branching)
        trees: Trees | None = None
        for sampler, count in self._recipe.assign.phases(self._trees):
            if count == 0:
                continue
            subsets = sampler.subsets(self._wrong(trees, data), count, randomness)
            grown = Grower(data, self._recipe, self._levels, randomness).grow(subsets)
            trees = grown if trees is None else trees + grown
        assert trees is not None
        return PublishedForest(self._branching, trees)

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> PublishedForest:
        """Return the model whose trees stand in the arrays, or raise FileFormatError."""
        trees = Trees.from_arrays(arrays, self._branching, len(self._schema.classes))
        if len(trees.roots) != self._trees:
            raise FileFormatError("the file's trees are not as many as its parameters say; fit the model again.")
        return PublishedForest(self._branching, trees)

    def _wrong(self, trees: Trees | None, data: RawRecords) -> npt.NDArray[np.bool_]:
        """Return where the vote of the trees so far is wrong, of shape (records,); everywhere without trees."""
        if trees is None:
            return np.ones(len(data.labels), dtype=np.bool_)
        votes = PublishedForest(self._branching, trees).votes(np.ascontiguousarray(data.columns.T))
        return np.asarray(votes.argmax(axis=1) != data.labels)
