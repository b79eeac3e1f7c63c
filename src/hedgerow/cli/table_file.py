"""What all files of records have in common: named columns, handed out block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy.typing as npt

from hedgerow.errors import SchemaError

__all__ = ["BLOCK_LINES", "Columns", "TableFile", "checked_names"]

Columns = dict[str, npt.NDArray[Any]]

BLOCK_LINES = 16_384


class TableFile(Protocol):
    """A file of records that is being read.

    Attributes
    ----------
    header : tuple of str
        The names of the columns.
    malformed : int
        How many records so far had no cells, as their line was no record's. It is for their owner's eyes: only
        ``hedgerow schema check`` tells it.
    """

    header: tuple[str, ...]
    malformed: int

    def blocks(self) -> Iterator[Columns]:
        """Yield the remaining records as columns of cells, some thousand at a time; None is a missing cell."""


def checked_names(names: Iterable[str], place: str) -> tuple[str, ...]:
    """Return the names of a file's columns.  No error quotes them: in a CSV file that lacks its header, they are a record."""
    found = tuple(names)
    for second, name in enumerate(found):
        first = found.index(name)
        if first < second:
            raise SchemaError(
                f"{place} has the same name over its columns {first + 1} and {second + 1}, so it is open which one the "
                "schema means. Rename or drop one."
            )
    return found
