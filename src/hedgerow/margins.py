"""The units of weights and votes, and public weights of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, shown
from hedgerow.schema import Schema
from hedgerow.schema.cells import CategoryReader

UNIT = 1 << 16  # the weight of a record that counts in full
VOTE_STEPS = 1 << 9  # of a log-odds of 1, the unit of votes, margins and decisions everywhere


LEAST = Fraction(1, 10**9)  # of the largest weight


@dataclass(frozen=True)
class ClassWeights:
    """How much each class of a schema counts, in its order, as a share of the largest weight."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, given: Mapping[Any, float] | None, schema: Schema) -> ClassWeights:
        """Return the weights that a parameter states for a schema; a class that is left out weighs 1.

        Only their ratios matter; below a billionth of the largest all count a billionth. Names are read as labels are: 1, 1.0 and
        "1" are one class.
        """
        weights, reader = [Fraction(1)] * len(schema.classes), CategoryReader(schema.classes, schema.missing)
        named: set[int] = set()
        for label, weight in (given or {}).items():
            place = reader.code(label)
            if not 0 <= place < len(weights):
                raise ConfigurationError(
                    f"class_weight names {shown(label)}, which is no class; name some of {', '.join(map(str, schema.classes))}."
                )
            if place in named:
                raise ConfigurationError(f"class_weight names the class {schema.classes[place]!r} twice; keep one.")
            named.add(place)
            weights[place] = Fraction(weight)
        most = max(weights)
        return cls(tuple(float(max(LEAST, weight / most)) for weight in weights))

    def __bool__(self) -> bool:
        """Whether some class counts less than another."""
        return min(self.values) < 1

    def array(self) -> npt.NDArray[np.float64]:
        return np.array(self.values)
