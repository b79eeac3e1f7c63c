"""What all files of records have in common: named columns, handed out block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hedgerow.errors import SchemaError
from hedgerow.limits import LONGEST_QUOTED
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.texts import counted, listed

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
    open_quotes : int
        How many of them had a quote that does not close.
    unreadable : Counter
        How many cells so far, by column, had bytes in a CSV file that its encoding does not know. These counts are data: only
        ``hedgerow schema`` and predictions, which have no guarantee, tell them.
    index : tuple of str
        The columns that hold the index of a pandas table, as far as the file tells.
    """

    header: tuple[str, ...]
    index: tuple[str, ...]
    malformed: int
    open_quotes: int
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


def check_no_index(undeclared: Sequence[str], index: Sequence[str], place: str) -> None:
    """Raise SchemaError if a column that the schema does not declare is the index of a pandas table."""
    found = [name for name in undeclared if name in index]
    if found:
        raise SchemaError(
            f"{place} has the index of a pandas table as its column {listed(found)}, which the schema does not declare. Write "
            "the file again with index=False, or after reset_index(drop=True)."
        )


def unread(tables: Sequence[TableFile]) -> list[str]:
    """Return warnings for the records' owner: what could not be read of files so far."""
    names = dict.fromkeys(name for table in tables for name in table.header)
    unreadable = sum((table.unreadable for table in tables), Counter[str]())
    open_quotes = sum(table.open_quotes for table in tables)
    malformed = sum(table.malformed for table in tables) - open_quotes
    found = []
    if cells := unreadable.total():
        columns = [name for name in names if unreadable[name]]
        found.append(
            f"{counted(cells, 'cell')} of the {'column' if len(columns) == 1 else 'columns'} {listed(columns)} "
            f"{'has' if cells == 1 else 'have'} bytes that are not of the file's encoding (or U+FFFD, which stands for such): "
            "such a cell is no declared value. Where UTF-8 was assumed, it is likely Windows-1252: write "
            'encoding = "windows-1252" into the schema, or save the file as UTF-8 (iconv -f WINDOWS-1252 -t UTF-8).'
        )
    if malformed:
        found.append(
            f"another number of cells than the header's in {counted(malformed, 'record')}: all cells of such a record are "
            "missing. Quote cells that hold the separator, or pass the right --separator."
        )
    if open_quotes:
        found.append(
            f"open quote in {counted(open_quotes, 'record')}: a cell begins with a quote that does not close within "
            f"{LONGEST_QUOTED} bytes, so all cells of the record are missing and the next line is read as a record. Close "
            "the quote, or put the cell in quotes and double those within."
        )
    return found
