"""Which values columns hold, and how often: counted where the records are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.reading.cells import count_values
from hedgerow.reading.columns import read_columns, read_labels
from hedgerow.schema import Schema

Counts = tuple[Mapping[float | str, int], ...]  # of each column, and of the labels if they are counted


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """A query to records whose answers add up: how many of them have each value.

    Parameters
    ----------
    schema : Schema
        Whose features the columns are, and which markers stand for missing cells.
    columns : tuple of int
        Which of its features are counted.
    with_labels : bool
        Whether the labels are, too.
    """

    schema: Schema
    columns: tuple[int, ...]
    with_labels: bool

    @property
    def nothing(self) -> Counts:
        """The answer of no record."""
        return ({},) * (len(self.columns) + self.with_labels)

    def __call__(self, X: Any, y: Any, counted: npt.NDArray[np.bool_] | None = None) -> Counts:
        """Return the answer of some records, or of those that are ``counted``; each cell decides for itself."""
        columns = read_columns(X, self.schema.features, check_types=False)
        cells = [columns.cells(place) for place in self.columns] + ([read_labels(y)] if self.with_labels else [])
        if counted is not None:
            cells = [column[counted] for column in cells]
        return tuple(count_values(column, self.schema.missing) for column in cells)

    def sum(self, one: Counts, other: Counts) -> Counts:
        """Return the answer of the records of both."""
        return tuple(Counter(first) + Counter(second) for first, second in zip(one, other, strict=True))
