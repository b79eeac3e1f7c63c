"""How records become codes and classes, wherever they are. Each depends only on that record and on public or released values."""

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

Codes = npt.NDArray[np.unsignedinteger]
Labels = npt.NDArray[np.signedinteger]


class Reading(Protocol):
    """How records become a table. A reading is sent to workers, so it holds nothing that must stay in the fit's process."""

    @property
    def schema(self) -> Schema:
        """The schema of the columns."""

    @property
    def n_codes(self) -> Integers:
        """How many codes each column of the table has."""

    @property
    def n_classes(self) -> int:
        """How many classes the table has; one if labels are outcomes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """The type of the classes."""

    @property
    def name(self) -> str:
        """The name for checksums. If readings of one name have different checksums, the records have changed."""

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of records and their classes, -1 for none. Those of a record depend on that record alone."""

    def witness(self, columns: Columns, y: Any, found: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        """Return the arrays of which the checksum is computed. ``found`` is the result of ``read``."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Records as an encoder reads them."""

    encoder: Encoder

    @property
    def schema(self) -> Schema:
        return self.encoder.schema

    @property
    def n_codes(self) -> Integers:
        return self.encoder.n_codes

    @property
    def n_classes(self) -> int:
        return max(1, len(self.encoder.schema.classes))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.encoder.dtype

    @property
    def label_dtype(self) -> np.dtype[Any]:
        return self.encoder.labels([]).dtype

    @property
    def name(self) -> str:
        return json.dumps([self.encoder.schema.to_dict(), self.encoder.max_bins], sort_keys=True)

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        return self.encoder.transform(columns), classes_of(self.encoder, y)

    def witness(self, columns: Columns, y: Any, found: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        return found


def classes_of(encoder: Encoder, y: Any) -> Labels:
    """Return the class of each label; -1 for none, even if all labels have a type that no class has.

    Types that the owner declared were checked before. A type that a reader inferred from one batch must not end a fit.
    """
    try:
        return encoder.labels(y)
    except SchemaError:
        return np.full(len(y), -1, dtype=encoder.labels([]).dtype)
