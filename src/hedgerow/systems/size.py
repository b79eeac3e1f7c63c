"""The size of a system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

__all__ = ["ENOUGH", "LITTLE", "PLENTY", "Size"]

# Add/remove budgets from which finer models are worth their noise [our choice].
LITTLE, ENOUGH, PLENTY = Fraction(1, 4), Fraction(1, 2), Fraction(10)


@dataclass(frozen=True)
class Size:
    """The size of a system: trees (rounds of boosting), tests on a path, bins of a numeric feature."""

    n_estimators: int
    max_depth: int
    max_bins: int

    def given(self, **parameters: int | None) -> Size:
        """Return the size with those values replaced whose parameters are not None."""
        return replace(self, **{name: value for name, value in parameters.items() if value is not None})
