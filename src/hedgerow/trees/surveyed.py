"""A private forest with bins from a survey."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.curator import Queryable
from hedgerow.mechanisms import Budget
from hedgerow.privacy.events import Event, Sequence
from hedgerow.schema import Encoder, Schema
from hedgerow.survey import FINE, Ones, SurveyRecipe, fine_encoder, merged_encoder, merged_to_arrays
from hedgerow.texts import short_repr
from hedgerow.trees.forest import ForestModel, ForestPlan
from hedgerow.trees.recipe import Recipe

__all__ = ["SurveyedForestPlan"]


@dataclass(frozen=True, eq=False)
class SurveyedForestModel(ForestModel):
    """A grown forest with the released cut points of a survey."""

    __repr__ = short_repr

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the trees and the cut points as named arrays."""
        return {**super().to_arrays(), **merged_to_arrays(self.encoder)}


class SurveyedForestPlan:
    """The plan of a private forest with bins that follow the noisy histograms of the records.

    Parameters
    ----------
    recipe : Recipe
        The parts of the forest.
    survey : SurveyRecipe
        The first queries, about numeric features.
    schema, epsilon, n_estimators, max_depth, max_bins
        See ``ForestPlan``; the survey places at most ``max_bins`` bins.
    fine : Encoder or None
        The bins that the survey merges, at most 255 per feature; None: those of ``fine_encoder``.
    """

    def __init__(
        self,
        recipe: Recipe,
        survey: SurveyRecipe,
        schema: Schema,
        epsilon: Fraction,
        *,
        n_estimators: int,
        max_depth: int,
        max_bins: int,
        fine: Encoder | None = None,
    ) -> None:
        self._recipe, self._bins = recipe, max_bins
        self._parts, self._schema, self._epsilon = survey, schema, epsilon
        self._trees, self._depth = n_estimators, max_depth
        self._encoder = fine_encoder(schema) if fine is None else fine
        self._survey = survey.survey(Budget(epsilon), self._encoder)
        self._left = epsilon * self._survey.left
        most = [np.minimum(np.arange(codes), max_bins - 1) for codes in self._encoder.n_codes.tolist()]
        self._most = self._forest(self._encoder.merged(most))  # which does not change categories

    def _forest(self, encoder: Encoder) -> ForestPlan:
        """Return the plan of the trees on merged bins. Its cost depends on the budget and the schema, not on the bins."""
        return ForestPlan(
            self._recipe,
            encoder.schema,
            self._left,
            n_estimators=self._trees,
            max_depth=self._depth,
            max_bins=FINE,
        )

    def on(self, encoder: Encoder) -> SurveyedForestPlan:
        """Return the plan that merges the bins of an encoder, if there are at most as many as fine bins may be."""
        if encoder.max_bins != FINE:
            return self
        size: dict[str, Any] = {"n_estimators": self._trees, "max_depth": self._depth, "max_bins": self._bins}
        return SurveyedForestPlan(self._recipe, self._parts, self._schema, self._epsilon, **size, fine=encoder)

    @property
    def event(self) -> Event:
        """Everything that will read records."""
        return Sequence((*self._survey.event.parts, self._most.event))

    @property
    def encoder(self) -> Encoder:
        """How records are read: numeric features in fine bins, which the survey merges."""
        return self._encoder

    def fit(self, curator: Queryable) -> ForestModel:
        """Place the bins and grow the model from a curator's answers."""
        histograms = self._survey.histograms(curator.open_round(Ones()))
        curator.doubts += self._survey.column_doubts(histograms)
        merges = self._survey.merged(histograms, self._bins)
        curator.merge(merges)
        return surveyed(self._forest(self._encoder.merged(merges)).fit(curator))

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ForestModel:
        """Return the model of the trees and cut points in the arrays, or raise FileFormatError."""
        if "edges" not in arrays:  # a file of 0.1.0, whose bins have one width
            size: dict[str, Any] = {"n_estimators": self._trees, "max_depth": self._depth, "max_bins": self._bins}
            return ForestPlan(self._recipe, self._schema, self._epsilon, **size).restore(arrays)
        return surveyed(self._forest(merged_encoder(arrays, self._encoder)).restore(arrays))


def surveyed(model: ForestModel) -> SurveyedForestModel:
    """Return a model that keeps its cut points."""
    return SurveyedForestModel(model.encoder, model.forest, model.share)
