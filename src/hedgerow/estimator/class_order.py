"""The order of classes that scikit-learn expects: sorted. Models keep the schema's order, and only this module changes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hedgerow.estimator.plans import Explanation
from hedgerow.export import ScoringForm
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.schema.features import Value

Values = TypeVar("Values", bound=npt.NDArray[Any])


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """The classes of a schema as ``numpy.unique`` sorts labels; numbers come before text, which numpy cannot compare.

    Parameters
    ----------
    classes : tuple
        The sorted classes; none for a regressor.
    places : ndarray of shape (classes,)
        The place of each of them in the schema.
    """

    classes: tuple[Value, ...]
    places: npt.NDArray[np.intp]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        given = schema.classes
        places = sorted(range(len(given)), key=lambda k: (isinstance(given[k], str), given[k]))
        return cls(tuple(given[k] for k in places), np.array(places, dtype=np.intp))

    @property
    def is_given(self) -> bool:
        """Whether the schema declares its classes in this order."""
        return bool((np.diff(self.places) > 0).all())

    def array(self) -> npt.NDArray[Any]:
        """Return the classes as an array of their own type, or of objects if they have several."""
        kinds = {type(label) for label in self.classes}
        if len(kinds) == 1 or kinds == {int, float}:
            found = np.array(self.classes)
            if found.tolist() == list(self.classes):
                return found
        return object_array(self.classes, len(self.classes))

    def codes(self, labels: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
        return labels if self.is_given else np.argsort(self.places)[labels]

    def columns(self, values: Values) -> Values:
        return values if self.is_given else cast(Values, values[..., self.places])

    def margins(self, values: Values) -> Values:
        """Return margins in this order. For two classes they are the second's log-odds, and there is no axis for classes."""
        if self.is_given:
            return values
        return -values if len(self.classes) == 2 else self.columns(values)

    def signs(self, signs: tuple[int, ...]) -> tuple[int, ...]:
        """Return how the log-odds of the schema's second class may go, given how those of the second in this order may."""
        return signs if self.is_given else tuple(-sign for sign in signs)

    def form(self, form: ScoringForm) -> ScoringForm:
        return form if self.is_given else replace(form, classes=self.classes, votes=self.columns(form.votes))

    def explanation(self, found: Explanation) -> Explanation:
        if self.is_given:
            return found
        baseline: Any = np.asarray(found.baseline)
        opposite = len(self.classes) == 2 and found.scale == "probability"
        baseline = 1 - baseline if opposite else self.margins(baseline)
        deviation = found.deviation
        if deviation is not None and len(self.classes) > 2:
            deviation = self.columns(deviation)
        return replace(
            found,
            classes=self.classes,
            baseline=float(baseline) if baseline.ndim == 0 else baseline,
            contributions=self.margins(found.contributions),
            deviation=deviation,
        )
