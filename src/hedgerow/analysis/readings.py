"""What queries about records share where they read them in ways of their own: one class, and checksums by themselves."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.schema import Schema
from hedgerow.schema.columns import Columns
from hedgerow.table.reading import Codes, Labels

__all__ = ["OneClass", "blocks_of"]

BLOCK_ROWS = 8_192


@dataclass(frozen=True, eq=False)
class OneClass:
    """The part of a ``Reading`` that is the same for all whose records have one class or none.

    Parameters
    ----------
    schema : Schema
        Whose features the columns are.
    name : str
        What checksums belong to: every reading has its own, since none but itself finds the same.
    """

    schema: Schema
    name: str = field(default_factory=lambda: secrets.token_hex(8), kw_only=True)

    @property
    def n_classes(self) -> int:
        """One."""
        return 1

    @property
    def label_dtype(self) -> np.dtype[Any]:
        """The type of the classes."""
        return np.dtype(np.int16)

    def witness(self, columns: Columns, y: Any, found: tuple[Codes, Labels]) -> tuple[Codes, Labels]:
        """Return what was read."""
        return found


def blocks_of(columns: Columns) -> Iterator[tuple[slice, dict[str, Any]]]:
    """Yield few records at a time: their rows, and their cells by column, as a model takes them."""
    for start in range(0, columns.n_rows, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, columns.n_rows)
        yield slice(start, stop), {name: columns.cells(i, start, stop) for i, name in enumerate(columns.names)}
