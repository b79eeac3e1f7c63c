"""The model of HedgerowRegressor: terms that add up to a point of the outcome's grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from hedgerow.additive.terms import AdditiveModel
from hedgerow.errors import ConfigurationError
from hedgerow.export import ScoringForm

__all__ = ["RegressionModel"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RegressionModel(AdditiveModel):
    """A start and terms, whose votes add up to outcomes; parameters are those of ``AdditiveModel``."""

    scale: ClassVar[Literal["log-odds", "outcome"]] = "outcome"

    @property
    def vote_steps(self) -> float:
        """How many votes a unit of the outcome is."""
        return 1 / self.encoder.schema.outcome_grid.step

    @property
    def origin(self) -> float:
        """What the model says where all votes add up to zero: the low end of the range."""
        return self.encoder.schema.outcome_grid.low

    def scoring(self) -> ScoringForm:
        """Refuse: exports answer for classes so far."""
        raise ConfigurationError("a regressor's model is not exported yet; save it with save(path).")

    def _cap_to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {}

    def predictions(self, X: Any) -> Floats:
        """Return the outcomes of records, (records,), within the schema's range."""
        return self.answers(X, self._outcomes)

    def staged_predictions(self, X: Any) -> Iterator[Floats]:
        """Yield ``predictions`` of the first terms, one more each time; the mean of what is left is in all of them."""
        codes = self.encoder.transform(X)
        margins = np.tile(self.start, (len(codes), 1))
        for term in self.terms:
            term(codes, margins)
            yield self._outcomes(margins)

    def _outcomes(self, margins: npt.NDArray[np.int64]) -> Floats:
        """Return the outcomes of margins (records, 1), (records,)."""
        grid = self.encoder.schema.outcome_grid
        return grid.values(np.clip(margins[:, 0], 0, grid.steps))
