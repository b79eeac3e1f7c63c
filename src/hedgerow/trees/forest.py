"""Private forests as plans and models: from encoded records to votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Curator
from hedgerow.mechanisms import Randomness
from hedgerow.privacy.accounting import cost
from hedgerow.privacy.events import Event
from hedgerow.schema import Encoder, Schema
from hedgerow.scores import Candidates, multiway
from hedgerow.table import Table
from hedgerow.trees.grower import Grower
from hedgerow.trees.model import Forest
from hedgerow.trees.recipe import Recipe, Schedule

__all__ = ["ForestModel", "ForestPlan"]

BLOCK = 1 << 16  # records that are predicted at once


@dataclass(frozen=True, eq=False)
class ForestModel:
    """A grown forest that reads raw records by its schema."""

    encoder: Encoder
    forest: Forest

    def probabilities(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the share of the trees' votes that each class gets, of shape (records, classes)."""
        n_classes = len(self.encoder.schema.classes)
        parts = [self.forest.votes(codes, n_classes) for _, codes in self.encoder.blocks(X, BLOCK)]
        votes = np.concatenate([np.empty((0, n_classes), dtype=np.int32), *parts])
        return np.asarray(votes / len(self.forest.roots))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees as named arrays."""
        return self.forest.to_arrays()


class ForestPlan:
    """A private forest that is about to be grown.

    Parameters
    ----------
    recipe : Recipe
        Its parts.
    schema : Schema
        What is public about the records.
    epsilon : Fraction
        The budget under add/remove adjacency.
    n_estimators, max_depth, max_bins : int
        Trees, tests on a path, and bins of a numeric feature.
    """

    def __init__(
        self, recipe: Recipe, schema: Schema, epsilon: Fraction, *, n_estimators: int, max_depth: int, max_bins: int
    ) -> None:
        self._encoder = Encoder(schema, max_bins)
        self._schedule: Schedule = recipe.schedule(epsilon, n_estimators, max_depth)

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return self._schedule.event

    @property
    def _candidates(self) -> Candidates:
        return multiway(self._encoder.n_codes)

    def run(self, X: Any, y: Any, randomness: Randomness) -> ForestModel:
        """Grow the forest on the records."""
        table = Table(
            self._encoder.transform(X),
            self._encoder.labels(y),
            self._encoder.n_codes,
            len(self._encoder.schema.classes),
        )
        return ForestModel(self._encoder, self.grow(table, randomness))

    def grow(self, table: Table, randomness: Randomness) -> Forest:
        """Grow the forest on encoded records, through a curator that holds no more than the plan's budget."""
        curator = Curator(table, cost(self.event).epsilon, randomness)
        return Grower(curator, self._candidates, self._schedule).grow()

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        """Return the model whose trees stand in the arrays."""
        forest = Forest.from_arrays(arrays, self._candidates, len(self._encoder.schema.classes))
        return ForestModel(self._encoder, forest)
