"""CSV files as columns of text, read line by line so that no record can change how another one is read."""

from __future__ import annotations

import codecs
import io
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from typing import BinaryIO, Self

from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.sources.file_kinds import HEAD_BYTES, check_is_text, decoded_header
from hedgerow.sources.table_file import BLOCK_LINES, Columns, TableFile, single_places

__all__ = ["CSVFile", "CSVFormat", "cells_of_line", "open_csv"]

LONGEST_HEADER = 2**26  # bytes; far more than any file has, far less than a device gives that never ends
UNREADABLE = "\ufffd"  # stands for bytes that the encoding does not know


@dataclass(frozen=True)
class CSVFormat:
    """How CSV files are written: the character between cells, and the encoding, UTF-8 or one of a byte for each character."""

    separator: str = ","
    encoding: str = "utf-8"

    @classmethod
    def of(cls, schema: Schema, separator: str | None = None, encoding: str | None = None) -> Self:
        """Return what is given, otherwise what the schema declares, otherwise commas and UTF-8."""
        return cls(separator or schema.delimiter or cls.separator, encoding or schema.encoding or cls.encoding)

    @property
    def is_utf8(self) -> bool:
        """Whether bytes are UTF-8."""
        return codecs.lookup(self.encoding).name == "utf-8"


@contextmanager
def open_csv(path: str | PathLike[str], form: CSVFormat) -> Iterator[CSVFile]:
    """Open a CSV file; errors as in ``open_table``."""
    with open(path, "rb") as file:
        yield CSVFile(file, form, str(path))


class CSVFile(TableFile):
    """A CSV file that is being read.

    Lines are cut first, at \\n and nothing else, and quotes are read within a line: a stray quote ends with its line, a byte
    that the encoding does not know with its cell, and a bare \\r belongs to its cell. Blank lines are skipped. A line whose
    number of cells is not the header's is a record all of whose cells are missing: a fit leaves it out with every record whose
    label is missing, and a prediction has a line for it. The names of the columns are read without the white space around them.
    """

    def __init__(self, file: BinaryIO, form: CSVFormat, place: str) -> None:
        self.malformed = 0
        self.unreadable = Counter()
        self._form, self._separator = form, form.separator
        self._file = file
        head = file.read(HEAD_BYTES)
        check_is_text(head, place)
        head = head + file.readline(LONGEST_HEADER)
        head = head.removeprefix(codecs.BOM_UTF8) if form.is_utf8 else head
        if len(head) >= LONGEST_HEADER:
            raise FileFormatError(
                f"{place} has a first line that does not end, so it is no CSV file. Pass another one."
            )
        start = io.BytesIO(head)
        self.header = self._read_header(chain(start, file), place)
        # From here on a byte that is none of the encoding's is a matter of its cell, in what is left of the head as well.
        self._texts = _text_of(start, form), _text_of(file, form)  # kept: the last one closes the file when it goes
        self._lines = chain(*self._texts)

    @property
    def share(self) -> float | None:
        """The share of the file's bytes that was read; None of a pipe."""
        try:
            return min(self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1), 1.0)
        except OSError:
            return None

    def check_types(self, schema: Schema) -> None:
        """Do nothing: the cells of a CSV file are text, whatever stands in them."""

    def _read_header(self, lines: Iterator[bytes], place: str) -> tuple[str, ...]:
        for line in lines:
            text = _without_end(decoded_header(line, place, self._form.encoding))
            if not self._is_blank(text):
                if "\r" in text:
                    raise SchemaError(
                        f"{place} has a bare carriage return in its first line. Save it with lines that end in \\n."
                    )
                return tuple(cell.strip() for cell in cells_of_line(text, self._separator))
        raise SchemaError(f"{place} is empty, but its first line must name the columns. Add that line.")

    def blocks(self) -> Iterator[Columns]:
        """Yield the remaining records as columns of text, some thousand at a time; None is a missing cell."""
        rows = self._rows()
        kept = {self.header[place] for place in single_places(self.header)}
        while block := list(islice(rows, BLOCK_LINES)):
            columns = zip(self.header, zip(*block, strict=True), strict=True)
            yield {name: object_array(cells, len(block)) for name, cells in columns if name in kept}

    def _rows(self) -> Iterator[list[str] | list[None]]:
        width = len(self.header)
        missing = [None] * width
        for line in map(_without_end, self._lines):
            if self._is_blank(line):
                continue
            cells = cells_of_line(line, self._separator)
            if len(cells) == width:
                if UNREADABLE in line:
                    self.unreadable.update(
                        name for name, cell in zip(self.header, cells, strict=True) if UNREADABLE in cell
                    )
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


def _text_of(file: BinaryIO, form: CSVFormat) -> Iterator[str]:
    return io.TextIOWrapper(file, encoding=form.encoding, errors="replace", newline="\n")


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
