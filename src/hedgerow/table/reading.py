"""How records become codes and classes, wherever they are: each by itself, by what is public or released."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.arrays import Integers
from hedgerow.errors import SchemaError
from hedgerow.schema import Encoder, Schema
from hedgerow.schema.columns import Columns

__all__ = ["Coded", "Codes", "Labels", "Reading", "classes_of"]

Codes = npt.NDArray[np.unsignedinteger]
Labels = npt.NDArray[np.signedinteger]


class Reading(Protocol):
    """How records become a table. It goes to workers, so it holds nothing that must stay where a fit is."""

    @property
    def schema(self) -> Schema:
        """Whose features the columns are."""

    @property
    def n_codes(self) -> Integers:
        """How many codes each column of the table has."""

    @property
    def n_classes(self) -> int:
        """How many classes the table has; one where labels are outcomes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """The type of the classes."""

    @property
    def name(self) -> str:
        """What the checksums of records belong to: whoever reads by this name finds the same, or the records have changed."""

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of records and their classes, -1 for none; what a record gets depends on that record alone."""

    def witness(self, columns: Columns, y: Any, found: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        """Return what the checksum is made of; ``found`` is what ``read`` returned."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Records as an encoder reads them."""

    encoder: Encoder

    @property
    def schema(self) -> Schema:
        """Whose features the columns are."""
        return self.encoder.schema

    @property
    def n_codes(self) -> Integers:
        """How many codes each feature has."""
        return self.encoder.n_codes

    @property
    def n_classes(self) -> int:
        """How many classes the schema has; one where it has an outcome."""
        return max(1, len(self.encoder.schema.classes))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return self.encoder.dtype

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """The type of the classes."""
        return self.encoder.labels([]).dtype

    @property
    def name(self) -> str:
        """The schema and the bins."""
        return json.dumps([self.encoder.schema.to_dict(), self.encoder.max_bins], sort_keys=True)

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of records and their classes."""
        return self.encoder.transform(columns), classes_of(self.encoder, y)

    def witness(self, columns: Columns, y: Any, found: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        """Return what was read."""
        return found


def classes_of(encoder: Encoder, y: Any) -> Labels:
    """Return the class of each label, -1 for none, also where all labels have a type that no class has.

    What the owner declared was checked before; what a reader inferred of one batch must not end a fit.
    """
    try:
        return encoder.labels(y)
    except SchemaError:
        return np.full(len(y), -1, dtype=encoder.labels([]).dtype)
