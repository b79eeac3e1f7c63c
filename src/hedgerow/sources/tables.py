"""Files of records by their name: Parquet if it ends so, otherwise CSV."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from os import PathLike, fspath

from hedgerow.sources.csv_file import open_csv
from hedgerow.sources.parquet_file import open_parquet
from hedgerow.sources.table_file import Columns, TableFile

__all__ = ["is_parquet", "open_table", "read_table"]

PARQUET = (".parquet", ".pq")


def is_parquet(path: str | PathLike[str]) -> bool:
    """Say whether a file is read as Parquet, by its name."""
    return fspath(path).lower().endswith(PARQUET)


def open_table(path: str | PathLike[str], separator: str = ",") -> AbstractContextManager[TableFile]:
    """Open a file of records, read the names of its columns and leave the records to ``TableFile.blocks``.

    Raises
    ------
    SchemaError
        When the header is absent; never because of what a record holds.
    FileFormatError
        When the first bytes or the header of a file are not those of CSV in UTF-8, or a Parquet file is none or damaged.
    MissingExtraError
        When pyarrow is not installed.
    OSError
        When the file cannot be read.
    """
    return open_parquet(path) if is_parquet(path) else open_csv(path, separator)


def read_table(
    path: str | PathLike[str], separator: str = ",", check: Callable[[TableFile], None] | None = None
) -> Columns:
    """Return the columns of a file by name, in the file's order; errors as in ``open_table``.

    ``check`` may raise what speaks against the header or the declared types, before a record is read.
    """
    with open_table(path, separator) as table:
        if check is not None:
            check(table)
        return table.read()
