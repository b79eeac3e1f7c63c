"""Files of records by their name: Parquet if it ends so, otherwise CSV."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import chain
from os import PathLike, fspath

from hedgerow.sources.csv_file import COMMAS, HEAD_BYTES, CSVFormat, cell_counts, is_text, open_csv, unpacked
from hedgerow.sources.kernels import OPEN_QUOTE
from hedgerow.sources.table_file import Columns, TableFile, open_parquet

PARQUET = (".parquet", ".pq")
SEPARATORS = (",", ";", "\t", "|")  # in a tie, the first
LINES, LONGEST_LINE = 50, 1 << 16  # lines that are examined, and the maximum bytes of each


def is_parquet(path: str | PathLike[str]) -> bool:
    return fspath(path).lower().endswith(PARQUET)


def open_table(path: str | PathLike[str], form: CSVFormat = COMMAS) -> AbstractContextManager[TableFile]:
    """Open a file of records, read the names of its columns and leave the records to ``TableFile.blocks``.

    Raise SchemaError when the header is absent, FileFormatError when the first bytes or the header are not those of CSV in its
    encoding, or a Parquet file is none or damaged; never because of what a record holds.
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

    It reads the whole file: text that is not UTF-8 is taken for Windows-1252. A pipe or device is not read.
    """
    if is_parquet(path) or not os.path.isfile(path):
        return CSVFormat(separator or COMMAS.separator)
    with open(path, "rb") as packed:
        file = unpacked(packed, str(path))
        head = file.read(HEAD_BYTES)
        if not is_text(head):  # opening the file raises the error
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
    lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
    return CSVFormat(separator or _separator_of(lines), encoding)


def _separator_of(lines: list[bytes]) -> str:
    """Return the separator that gives the most records the first record's number of cells (more than one).

    A comma if none does.
    """

    def fit(separator: str) -> tuple[float, int]:
        counts = cell_counts(b"".join(lines), separator.encode(), len(lines))
        widths = [count for count in counts if count != OPEN_QUOTE]
        width = widths[0] if widths else 0
        return (widths.count(width) / len(widths) if width > 1 else 0.0, width)

    return max(SEPARATORS, key=fit)
