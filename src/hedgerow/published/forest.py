"""The published forest, as a plan and as a model: from raw records to trees, and from these to votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Floats
from hedgerow.compiled import for_slices
from hedgerow.errors import FileFormatError
from hedgerow.estimator import RawPlan
from hedgerow.export import ScoringForm, shares_of_votes, whole_votes_of_labels
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.events import Event
from hedgerow.published import kernels
from hedgerow.published.branching import Branching
from hedgerow.published.case import Case
from hedgerow.published.grower import Grower
from hedgerow.published.recipe import Level, Recipe
from hedgerow.published.records import RawRecords
from hedgerow.published.scoring import coded
from hedgerow.published.trees import Trees, first_numbers, taken
from hedgerow.schema import Encoder, Schema
from hedgerow.texts import short_repr
from hedgerow.trees.forest import OF_TESTS, importances

__all__ = ["PublishedForest", "PublishedForestPlan"]


@dataclass(frozen=True, eq=False)
class PublishedForest:
    """A forest of the published kind that reads raw records by its schema."""

    branching: Branching
    trees: Trees

    importance_rule: ClassVar[str] = OF_TESTS

    __repr__ = short_repr

    def votes(self, columns: Floats) -> npt.NDArray[np.int32]:
        """Return how many trees give each class to each record of ``columns`` (records, features)."""
        trees = self.trees
        out = np.zeros((len(columns), len(self.branching.schema.classes)), dtype=np.int32)
        walk = (trees.roots, trees.feature, trees.first_child, trees.label, trees.low, trees.high, self.branching.bins)
        for_slices(len(columns), lambda rows: kernels.votes(columns[rows], *walk, out[rows]))
        return out

    def probabilities(self, X: Any) -> Floats:
        """Return the share of each class in the trees' votes and an even one more [our choice], of shape (records, classes).

        Equal shares are settled by whoever reads them, for the first class in the schema's order (our choice, the papers
        are silent).
        """
        return shares_of_votes(self.votes(self.branching.read(X)), len(self.trees.roots))

    def importances(self) -> Floats:
        """Return the share of each feature in the tests, each test weighted by its depth."""
        trees = self.trees
        return importances(trees.roots, trees.feature, trees.first_child, len(self.branching.schema.names))

    def scoring(self) -> ScoringForm:
        """Return the scoring rule of the model, for programs that do not know this library, or raise ConfigurationError."""
        trees, branching = self.trees, self.branching
        return coded(
            branching,
            trees,
            first_numbers(branching, trees),
            lambda columns, nodes: taken(branching, trees, columns, nodes),
            *whole_votes_of_labels(trees.label, len(branching.schema.classes), len(trees.roots)),
        )

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return self.trees.to_arrays()


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
