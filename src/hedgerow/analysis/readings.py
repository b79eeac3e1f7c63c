"""What queries about records share where they read them in ways of their own: one class, and checksums by themselves."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hedgerow.arrays import Integers
from hedgerow.reading.columns import Columns
from hedgerow.schema import Encoder, Schema
from hedgerow.table import classes_of
from hedgerow.table.reading import Codes, Labels

BLOCK_ROWS = 8_192


@dataclass(frozen=True, eq=False)
class OneClass:
    """The part of a ``Reading`` that is the same for all whose records have one class or none.

    Its name, which checksums belong to, is its own, since no other reading has the same codes.
    """

    schema: Schema
    name: str = field(default_factory=lambda: secrets.token_hex(8), kw_only=True)

    @property
    def n_classes(self) -> int:
        return 1

    @property
    def label_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int16)

    def witness(self, columns: Columns, y: Any, codes: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        return codes


class Labelled(OneClass):
    """Labelled records as codes that depend on that record and on released models alone."""

    code_type: ClassVar[type] = np.uint32

    @property
    @abstractmethod
    def n_codes(self) -> Integers: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.code_type)

    @abstractmethod
    def _codes(self, block: dict[str, Any], truth: Any) -> Any:
        """Return the codes of some records, (records, columns), by their cells and their classes, or their outcomes."""

    def read(self, columns: Columns, y: Any) -> tuple[Codes, Labels]:
        """Return the codes of each record, and a class for those that have a label; the codes of others are 0."""
        known = np.asarray(classes_of(Encoder(self.schema, 2), y), dtype=np.int64)
        truth: Any = np.maximum(known, 0)
        if self.schema.outcome is not None:
            truth = self.schema.outcome_grid.values(truth)
        codes = np.zeros((columns.n_rows, len(self.n_codes)), dtype=self.dtype)
        for start in range(0, columns.n_rows, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, columns.n_rows)
            block = {name: columns.cells(i, start, stop) for i, name in enumerate(columns.names)}
            codes[start:stop] = self._codes(block, truth[start:stop])
        codes[known < 0] = 0
        return codes, np.where(known >= 0, 0, -1).astype(np.int16)
