"""Files of records by their name: Parquet if it ends so, otherwise CSV."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import chain
from os import PathLike, fspath

from hedgerow.sources.csv_file import CSVFormat, cells_of_line, open_csv
from hedgerow.sources.file_kinds import HEAD_BYTES, is_text
from hedgerow.sources.parquet_file import open_parquet
from hedgerow.sources.table_file import Columns, TableFile

__all__ = ["CSVFormat", "guess_format", "is_parquet", "open_table", "read_table"]

PARQUET = (".parquet", ".pq")
COMMAS = CSVFormat()
SEPARATORS = (",", ";", "\t", "|")  # of equals the first
LINES, LONGEST_LINE = 50, 1 << 16  # that are looked at, and bytes of one


def is_parquet(path: str | PathLike[str]) -> bool:
    """Say whether a file is read as Parquet, by its name."""
    return fspath(path).lower().endswith(PARQUET)


def open_table(path: str | PathLike[str], form: CSVFormat = COMMAS) -> AbstractContextManager[TableFile]:
    """Open a file of records, read the names of its columns and leave the records to ``TableFile.blocks``.

    Raises
    ------
    SchemaError
        When the header is absent; never because of what a record holds.
    FileFormatError
        When the first bytes or the header of a file are not those of CSV in its encoding, or a Parquet file is none or damaged.
    MissingExtraError
        When pyarrow is not installed.
    OSError
        When the file cannot be read.
    """
    return open_parquet(path) if is_parquet(path) else open_csv(path, form)


def read_table(
    path: str | PathLike[str], form: CSVFormat = COMMAS, check: Callable[[TableFile], None] | None = None
) -> Columns:
    """Return the columns of a file by name, in the file's order; errors as in ``open_table``.

    ``check`` may raise what speaks against the header or the declared types, before a record is read.
    """
    with open_table(path, form) as table:
        if check is not None:
            check(table)
        return table.read()


def guess_format(path: str | PathLike[str], separator: str | None = None) -> CSVFormat:
    """Return how a CSV file seems to be written, for a draft of a schema; a separator that is given stays.

    It is read to its end for that: text that is not UTF-8 is taken for Windows-1252. What is no ordinary file is taken as it is.
    """
    if is_parquet(path) or not os.path.isfile(path):
        return CSVFormat(separator or COMMAS.separator)
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
        if not is_text(head):  # which opening it will say
            return COMMAS
        lines = [head + file.readline(LONGEST_LINE), *(file.readline(LONGEST_LINE) for _ in range(LINES))]
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for block in chain(lines, iter(lambda: file.read(1 << 20), b"")):
                decoder.decode(block)
            decoder.decode(b"", final=True)
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "windows-1252"
    texts = [text for line in lines if (text := line.decode(encoding, "replace").strip("\r\n"))]
    return CSVFormat(separator or _separator_of(texts), encoding)


def _separator_of(lines: list[str]) -> str:
    """Return the character that parts the first line, and most others into as many cells; a comma where none does."""
    if not lines:
        return COMMAS.separator

    def fit(separator: str) -> tuple[float, int]:
        width = len(cells_of_line(lines[0], separator))
        alike = sum(len(cells_of_line(line, separator)) == width for line in lines)
        return (alike / len(lines) if width > 1 else 0.0, width)

    return max(SEPARATORS, key=fit)
