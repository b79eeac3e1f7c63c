"""Files of records by their name: Parquet if it ends so, otherwise CSV."""

from __future__ import annotations

from contextlib import AbstractContextManager
from os import PathLike, fspath

import numpy as np

from hedgerow.cli.csv_file import open_csv
from hedgerow.cli.parquet_file import open_parquet
from hedgerow.cli.table_file import Columns, TableFile
from hedgerow.schema.cells import object_array

__all__ = ["open_table", "read_table"]

PARQUET = (".parquet", ".pq")


def open_table(path: str | PathLike[str], separator: str = ",") -> AbstractContextManager[TableFile]:
    """Open a file of records, read the names of its columns and leave the records to ``TableFile.blocks``.

    Raises
    ------
    SchemaError
        When the header is absent or names a column twice; never because of what a record holds.
    FileFormatError
        When a Parquet file is none, or damaged.
    click.ClickException
        When pyarrow is not installed.
    OSError
        When the file cannot be read.
    """
    return open_parquet(path) if fspath(path).lower().endswith(PARQUET) else open_csv(path, separator)


def read_table(path: str | PathLike[str], separator: str = ",") -> Columns:
    """Return the columns of a file by name, in the file's order; errors as in ``open_table``."""
    with open_table(path, separator) as table:
        blocks = list(table.blocks())
        if not blocks:
            return {name: object_array((), 0) for name in table.header}
        return {name: np.concatenate([block[name] for block in blocks]) for name in table.header}
