"""What all files of records have in common: named columns, handed out block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.errors import SchemaError
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.texts import counted, listed

__all__ = [
    "BLOCK_LINES",
    "Columns",
    "TableFile",
    "check_no_name_twice",
    "places_of",
    "single_places",
    "unreadable_cells",
]

Columns = dict[str, npt.NDArray[Any]]

BLOCK_LINES = 16_384


class TableFile(Protocol):
    """A file of records that is being read.

    Attributes
    ----------
    header : tuple of str
        The names over the columns. A name over several columns is that of none: ``blocks`` passes over them.
    malformed : int
        How many records so far had no cells, as their line was no record's.
    unreadable : Counter
        How many cells so far, by column, had bytes in a CSV file that its encoding does not know. Both are for the owner's
        eyes: only ``hedgerow schema`` tells them.
    """

    header: tuple[str, ...]
    malformed: int
    unreadable: Counter[str]

    def blocks(self) -> Iterator[Columns]:
        """Yield the remaining records as columns of cells, some thousand at a time; None is a missing cell."""

    @property
    def share(self) -> float | None:
        """The share of the file that was read, by its bytes or its records; None where nobody knows, as of a pipe."""

    def check_types(self, schema: Schema) -> None:
        """Raise SchemaError if the file declares a type for a column that cannot be what the schema declares.

        The columns are there, each once; of the target only if the file has it. A CSV file declares nothing.
        """

    def read(self) -> Columns:
        """Return the remaining records as columns of cells, in the file's order."""
        blocks = list(self.blocks())
        if not blocks:
            return {self.header[place]: object_array((), 0) for place in single_places(self.header)}
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def places_of(names: Sequence[str]) -> dict[str, list[int]]:
    """Return over which columns each name stands."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return places


def single_places(names: Sequence[str]) -> list[int]:
    """Return the columns whose name is theirs alone, in the file's order."""
    return [found[0] for found in places_of(names).values() if len(found) == 1]


def check_no_name_twice(names: Sequence[str], place: str) -> None:
    """Raise SchemaError if a name stands twice.  It is not quoted: in a CSV file that lacks its header, it is a record's."""
    for found in places_of(names).values():
        if len(found) > 1:
            raise SchemaError(
                f"{place} has the same name over its columns {found[0] + 1} and {found[1] + 1}, so it is open which one the "
                "schema means. Rename or drop one."
            )


def unreadable_cells(table: TableFile) -> list[str]:
    """Return a warning for the records' owner if some cells held bytes that are no UTF-8."""
    cells = table.unreadable.total()
    if not cells:
        return []
    columns = [name for name in table.header if table.unreadable[name]]
    return [
        f"{counted(cells, 'cell')} of the {'column' if len(columns) == 1 else 'columns'} {listed(columns)} "
        f"{'has' if cells == 1 else 'have'} bytes that are not of the file's encoding (or U+FFFD, which stands for such): such a "
        'cell is no declared value. Where UTF-8 was assumed, it is likely Windows-1252: write encoding = "windows-1252" into the '
        "schema, or save the file as UTF-8 (iconv -f WINDOWS-1252 -t UTF-8)."
    ]
