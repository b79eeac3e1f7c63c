"""Private cells as a plan: from records to released cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from hedgerow.cells.hierarchy import Hierarchy
from hedgerow.cells.model import CellsModel, read_release
from hedgerow.cells.recipe import CellsRecipe
from hedgerow.cells.specializer import Release, Specializer
from hedgerow.curator import Queryable
from hedgerow.privacy.events import Event
from hedgerow.schema import Encoder, Schema

__all__ = ["CellsPlan"]


class CellsPlan:
    """Private cells that are about to be released.

    Parameters
    ----------
    recipe : CellsRecipe
        How the cut is specialized.
    schema : Schema
        What is public about the records.
    epsilon : Fraction
        The budget under add/remove adjacency.
    specializations, max_bins : int
        Specializations at most, and bins of a numeric feature.
    """

    def __init__(
        self, recipe: CellsRecipe, schema: Schema, epsilon: Fraction, *, specializations: int, max_bins: int
    ) -> None:
        self._encoder = Encoder(schema, max_bins)
        self._max_cells = recipe.max_cells
        self._hierarchy = Hierarchy.of(self._encoder)
        numeric = sum(self._hierarchy.is_numeric)
        self._schedule = recipe.cuts.schedule(epsilon, numeric, specializations, recipe.score)

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return self._schedule.event

    @property
    def encoder(self) -> Encoder:
        """How records are read."""
        return self._encoder

    def fit(self, curator: Queryable) -> CellsModel:
        """Specialize the cut and count its cells by asking a curator."""
        return self._model(self.release(curator))

    def release(self, curator: Queryable) -> Release:
        """Return what is released."""
        return Specializer(curator, self._hierarchy, self._schedule, self._max_cells).release()

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> CellsModel:
        """Return the model whose release stands in the arrays, or raise FileFormatError."""
        n_classes = len(self._encoder.schema.classes)
        most = self._schedule.specializations
        return self._model(read_release(arrays, self._hierarchy, n_classes, most_steps=most, max_cells=self._max_cells))

    def _model(self, release: Release) -> CellsModel:
        rate = float(self._schedule.counts.rate.fraction)
        deviation = math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)  # of two-sided geometric noise
        return CellsModel(self._encoder, self._hierarchy, release, deviation)
