"""The model of HedgerowRegressor: terms that add up to a point of the outcome's grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.additive.links import Scale
from hedgerow.additive.model import AdditiveModel, scoring
from hedgerow.additive.squared import Squared
from hedgerow.additive.terms import joined
from hedgerow.arrays import Floats
from hedgerow.export import ScoringForm
from hedgerow.texts import short_repr

__all__ = ["RegressionModel"]


@dataclass(frozen=True, eq=False)
class RegressionModel(AdditiveModel):
    """A start and terms, whose votes add up to outcomes; parameters are those of ``AdditiveModel``."""

    loss: Squared

    @property
    def scale(self) -> Scale:
        """What margins say: the outcome or its log."""
        return self.loss.link.scale

    __repr__ = short_repr

    @property
    def vote_steps(self) -> float:
        """How many votes a unit of the outcome, or of its log, is."""
        return self.loss.link.vote_steps

    @property
    def origin(self) -> float:
        """What the model says where all votes add up to zero."""
        return self.loss.link.origin

    def scoring(self) -> ScoringForm:
        """Return the scoring rule of the model, for programs that do not know this library."""
        return scoring(self.encoder, self.start, joined(self.terms), self.loss.link.exported())

    def _loss_to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        units = [(term.unit, term.deviation) for term in self.terms]
        return {"units": np.array(units, dtype=np.int64).reshape(-1, 2)}

    def predictions(self, X: Any) -> Floats:
        """Return the outcomes of records, (records,), within the schema's range."""
        return self.answers(X, self._outcomes)

    def staged_predictions(self, X: Any) -> Iterator[Floats]:
        """Yield ``predictions`` of the first terms, one more each time; the mean of what is left is in all of them."""
        for margins in self.staged(self.encoder.transform(X)):
            yield self._outcomes(margins)

    def _outcomes(self, margins: npt.NDArray[np.int64]) -> Floats:
        """Return the outcomes of margins (records, 1), (records,)."""
        return self.loss.link.outcomes(margins[:, 0])
