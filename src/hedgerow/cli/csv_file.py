"""CSV files as columns of text, read line by line so that no record can change how another one is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from os import PathLike

from hedgerow.cli.table_file import BLOCK_LINES, Columns, TableFile, checked_names
from hedgerow.errors import SchemaError
from hedgerow.schema.cells import object_array

__all__ = ["CSVFile", "cells_of_line", "open_csv"]


@contextmanager
def open_csv(path: str | PathLike[str], separator: str = ",") -> Iterator[CSVFile]:
    """Open a CSV file; errors as in ``open_table``."""
    # Lines end with \n and nothing else: a bare \r belongs to its cell, and a byte that is no UTF-8 to its line.
    with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        yield CSVFile(lines, separator, str(path))


class CSVFile(TableFile):
    """A CSV file that is being read.

    Lines are cut first and quotes are read within a line, so a stray quote ends with its line. Blank lines are skipped.
    A line whose number of cells is not the header's is a record all of whose cells are missing: a fit leaves it out
    with every record whose label is missing, and a prediction has a line for it. The names of the columns are read without
    the white space around them.
    """

    def __init__(self, lines: Iterator[str], separator: str, place: str) -> None:
        self.malformed = 0
        self._separator = separator
        self._lines = (text for line in lines if not self._is_blank(text := line.removesuffix("\n").removesuffix("\r")))
        self.header = _checked_header(next(self._lines, None), separator, place)

    def blocks(self) -> Iterator[Columns]:
        """Yield the remaining records as columns of text, some thousand at a time; None is a missing cell."""
        rows = self._rows()
        while block := list(islice(rows, BLOCK_LINES)):
            columns = zip(*block, strict=True)
            yield {name: object_array(cells, len(block)) for name, cells in zip(self.header, columns, strict=True)}

    def _rows(self) -> Iterator[list[str] | list[None]]:
        width = len(self.header)
        missing = [None] * width
        for line in self._lines:
            cells = cells_of_line(line, self._separator)
            if len(cells) == width:
                yield cells
            else:
                self.malformed += 1
                yield missing

    def _is_blank(self, line: str) -> bool:
        return not line.strip() and self._separator not in line


def cells_of_line(line: str, separator: str = ",") -> list[str]:
    """Return the cells of one line.

    A cell that begins with a quote goes on to the closing quote (two quotes within stand for one), or to the end of the
    line if there is none. Any other quote is an ordinary character.
    """
    if '"' not in line:
        return line.split(separator)
    cells: list[str] = []
    start = 0
    while True:
        quoted, end = _quoted_part(line, start) if line.startswith('"', start) else ("", start)
        stop = line.find(separator, end)
        if stop < 0:
            return [*cells, quoted + line[end:]]
        cells.append(quoted + line[end:stop])
        start = stop + 1


def _quoted_part(line: str, start: int) -> tuple[str, int]:
    """Return the text of the quoted part that begins at ``start``, and where it ends."""
    pieces, start = [], start + 1
    while (stop := line.find('"', start)) >= 0:
        pieces.append(line[start:stop])
        if not line.startswith('"', stop + 1):
            return "".join(pieces), stop + 1
        pieces.append('"')
        start = stop + 2
    return "".join([*pieces, line[start:]]), len(line)


def _checked_header(line: str | None, separator: str, place: str) -> tuple[str, ...]:
    """Return the names in the header."""
    if line is None:
        raise SchemaError(f"{place} is empty, but its first line must name the columns. Add that line.")
    if "\r" in line:
        raise SchemaError(f"{place} has a bare carriage return in its first line. Save it with lines that end in \\n.")
    return checked_names((cell.strip() for cell in cells_of_line(line, separator)), place)
