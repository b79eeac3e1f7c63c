"""Parquet files as columns of cells, by pyarrow, which is imported when the first such file is opened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from typing import Any

import numpy.typing as npt

from hedgerow.errors import FileFormatError, MissingExtraError
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.schema.columns import read_columns, read_labels
from hedgerow.sources.table_file import BLOCK_LINES, Columns, TableFile, single_places


@contextmanager
def open_parquet(path: str | PathLike[str]) -> Iterator[ParquetFile]:
    """Open a Parquet file; errors as in ``open_table``."""
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            f'{path} is a Parquet file, which pyarrow reads: install it with pip install "hedgerow[parquet]".'
        ) from error
    damaged = FileFormatError(f"{path} is not a Parquet file, or it is damaged; write it again.")
    with open(path, "rb") as file:
        try:
            opened = parquet.ParquetFile(file)
        except (arrow.ArrowException, OSError) as error:
            raise damaged from error
        yield ParquetFile(opened, (arrow.ArrowException, OSError), damaged)


class ParquetFile(TableFile):
    """A Parquet file that is being read.

    Its numbers and truth values come as machine numbers, times as the text that they are as categories, everything else as
    Python objects: what a cell means is the schema's matter. A time that Python cannot hold (after the year 9999) is there but
    no declared value, as in a pyarrow table, and bytes in a text that are no UTF-8 are replaced, as in a CSV file.
    """

    def __init__(self, file: Any, errors: tuple[type[Exception], ...], damaged: FileFormatError) -> None:
        self.malformed = self.open_quotes = 0
        self.unreadable = Counter()
        self.header = tuple(file.schema_arrow.names)
        self.index = index_of(file.schema_arrow)
        self._file = file
        self._read = 0
        self._errors = errors
        self._damaged = damaged

    @property
    def share(self) -> float:
        """The share of the file's records that was read."""
        return self._read / max(int(self._file.metadata.num_rows), 1)

    def check_types(self, schema: Schema) -> None:
        """Raise SchemaError if a column's declared type, which is public, cannot be what the schema declares of it."""
        declared = self._file.schema_arrow.empty_table()
        read_columns(declared.select(schema.names), schema.features)
        if schema.target in self.header:
            read_labels(declared[schema.target], schema.labels)

    def blocks(self) -> Iterator[Columns]:
        """Yield the records as columns of cells, some thousand at a time."""
        batches = self._file.iter_batches(batch_size=BLOCK_LINES)
        kept = single_places(self.header)
        while True:
            try:
                batch = next(batches, None)
            except self._errors as error:
                raise self._damaged from error
            if batch is None:
                return
            self._read += batch.num_rows
            yield {self.header[place]: _cells(batch.columns[place]) for place in kept}


def index_of(schema: Any) -> tuple[str, ...]:
    """Return the columns of an Arrow schema that hold the index of a pandas table."""
    try:
        named = json.loads(schema.metadata[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError, RecursionError):
        named = ()
    return tuple(name for name in schema.names if name in named or name.startswith("__index_level_"))


def _cells(column: Any) -> npt.NDArray[Any]:
    """Return the cells of an arrow array."""
    types = import_module("pyarrow.types")
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_integer(column.type) and column.null_count:
        return object_array(column.to_pylist(), len(column))  # as floats, long numbers would not be what they were
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        machine: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return machine
    if types.is_temporal(column.type):
        return read_columns({"times": column}, check_types=False).cells(0)
    try:
        return object_array(column.to_pylist(), len(column))
    except Exception:  # some cell does not convert; it costs the others time only
        return object_array(map(_cell, column), len(column))


def _cell(scalar: Any) -> Any:
    """Return one cell as a Python object."""
    try:
        return scalar.as_py()
    except Exception:
        buffer = getattr(scalar, "as_buffer", None)
        return None if buffer is None else buffer().to_pybytes().decode("utf-8", "replace")
