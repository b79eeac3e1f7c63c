"""Files of records as named columns, handed out block by block; Parquet files by pyarrow, which is imported with the first."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from hedgerow.errors import FileFormatError, MissingExtraError, SchemaError
from hedgerow.limits import LONGEST_QUOTED
from hedgerow.reading.cells import Cells, object_array
from hedgerow.reading.columns import Declared, one_column, read_columns, read_labels
from hedgerow.reading.text_cells import Texts, joined
from hedgerow.texts import counted, listed

Columns = dict[str, Cells]

BATCH_ROWS = 1 << 16  # of a Parquet file


class TableFile(ABC):
    """A file of records that is being read.

    Attributes
    ----------
    header : tuple of str
        The names over the columns. A name over several columns is that of none: ``blocks`` passes over them.
    index : tuple of str
        The columns that hold the index of a pandas table, as far as the file tells.
    malformed : int
        How many records so far had no cells, because their line could not be split as the header.
    open_quotes : int
        How many of them had a quote that does not close.
    unreadable : Counter
        How many cells so far, by column, had bytes in a CSV file that its encoding does not know. These counts are data: only
        ``hedgerow schema`` and predictions, which have no guarantee, show them.
    """

    header: tuple[str, ...]
    index: tuple[str, ...] = ()
    malformed = open_quotes = 0

    def __init__(self) -> None:
        self.unreadable: Counter[str] = Counter()

    @abstractmethod
    def blocks(self) -> Iterator[Columns]:
        """Yield the remaining records as columns of cells, some thousand at a time; None is a missing cell."""

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """Yield the remaining records as tables with the types that the file declares; all names must be single."""

    @property
    @abstractmethod
    def share(self) -> float | None:
        """The share of the file that was read, by bytes or records; None if unknown: of a pipe or a packed file."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether it has no record, before any is read by ``blocks`` or ``batches``."""

    def types(self) -> dict[str, Any]:
        """Return the columns without a record, of their declared types. A CSV file declares nothing: its cells are text."""
        return {name: object_array((), 0) for name in self.header}

    def check_types(self, features: Mapping[str, Declared], target: str | None, labels: Declared) -> None:
        """Raise SchemaError if a column's declared type, which is public, cannot be what the schema declares of it.

        The columns are there, each once; of the target only if the file has it.
        """
        types = self.types()
        read_columns({name: types[name] for name in features}, features)
        if target in types:
            read_labels(types[target], labels)

    def read(self) -> Columns:
        """Return the remaining records as columns of cells, in the file's order."""
        blocks = list(self.blocks())
        if not blocks:
            return {self.header[place]: object_array((), 0) for place in single_places(self.header)}
        return joined_columns(blocks)


def joined_columns(blocks: Sequence[Columns]) -> Columns:
    """Return blocks of columns one after another."""

    text = [name for name in blocks[0] if all(isinstance(block[name], Texts) for block in blocks)]
    texts = joined([{name: block[name] for name in text} for block in blocks])  # type: ignore[misc]
    return {
        name: texts[name] if name in texts else np.concatenate([block[name] for block in blocks]) for name in blocks[0]
    }


@contextmanager
def open_parquet(path: str | PathLike[str]) -> Iterator[ParquetFile]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtraError(
            f'{path} is a Parquet file, which pyarrow reads: install it with pip install "hedgerow[parquet]".'
        ) from error
    errors = (arrow.ArrowException, OSError)
    damaged = FileFormatError(f"{path} is not a Parquet file, or it is damaged; write it again.")
    with open(path, "rb") as file:
        try:
            # Pages are read as they are needed: a whole row group may be larger than memory.
            opened = parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        except errors:
            raise damaged from None
        yield ParquetFile(opened, errors, damaged)


class ParquetFile(TableFile):
    """A Parquet file that is being read: what a cell means is the schema's matter, as in a pyarrow table."""

    def __init__(self, file: Any, errors: tuple[type[Exception], ...], damaged: FileFormatError) -> None:
        super().__init__()
        self.schema = file.schema_arrow
        self.header = tuple(self.schema.names)
        self.index = _index_of(self.schema)
        self._file, self._read = file, 0
        self._errors, self._damaged = errors, damaged

    @property
    def share(self) -> float:
        return self._read / max(int(self._file.metadata.num_rows), 1)

    @property
    def is_empty(self) -> bool:
        return not self._file.metadata.num_rows

    def types(self) -> dict[str, Any]:
        return dict(zip(self.header, self.schema.empty_table().columns, strict=True))

    def batches(self) -> Iterator[Any]:
        batches = self._file.iter_batches(batch_size=BATCH_ROWS)
        while True:
            try:
                batch = next(batches, None)
            except self._errors:
                raise self._damaged from None
            if batch is None:
                return
            self._read += batch.num_rows
            yield batch

    def blocks(self) -> Iterator[Columns]:
        kept = single_places(self.header)
        for batch in self.batches():
            yield {self.header[place]: _cells(batch.columns[place]) for place in kept}


def _index_of(schema: Any) -> tuple[str, ...]:
    """Return the columns of an Arrow schema that hold the index of a pandas table."""
    try:
        named = json.loads(schema.metadata[b"pandas"])["index_columns"]
    except (KeyError, TypeError, ValueError, RecursionError):
        named = ()
    return tuple(name for name in schema.names if name in named or name.startswith("__index_level_"))


def _cells(array: Any) -> Cells:
    """Return the cells of an arrow array, as those of a table of this type are read; integers with all their digits."""
    column = one_column(array)
    read = column.whole if column.whole is not None and array.null_count else column.read
    return read(0, len(column))


def places_of(names: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return places


def single_places(names: Sequence[str]) -> list[int]:
    """Return the columns whose name is theirs alone, in the file's order."""
    return [places[0] for places in places_of(names).values() if len(places) == 1]


def check_no_name_twice(names: Sequence[str], place: str) -> None:
    """Raise SchemaError if a name occurs twice.

    The name is not quoted: in a file without a header it belongs to a record.
    """
    for places in places_of(names).values():
        if len(places) > 1:
            raise SchemaError(
                f"{place} has the same name over its columns {places[0] + 1} and {places[1] + 1}, so it is open which one the "
                "schema means. Rename or drop one."
            )


def check_no_index(undeclared: Sequence[str], index: Sequence[str], place: str) -> None:
    """Raise SchemaError if a column that the schema does not declare is the index of a pandas table."""
    names = [name for name in undeclared if name in index]
    if names:
        raise SchemaError(
            f"{place} has the index of a pandas table as its column {listed(names)}, which the schema does not declare. Write "
            "the file again with index=False, or after reset_index(drop=True)."
        )


def unread(tables: Sequence[TableFile]) -> list[str]:
    """Return warnings for the records' owner: what could not be read of files so far."""
    names = dict.fromkeys(name for table in tables for name in table.header)
    unreadable = sum((table.unreadable for table in tables), Counter[str]())
    open_quotes = sum(table.open_quotes for table in tables)
    malformed = sum(table.malformed for table in tables) - open_quotes
    warnings = []
    if cells := unreadable.total():
        columns = [name for name in names if unreadable[name]]
        warnings.append(
            f"{counted(cells, 'cell')} of the {'column' if len(columns) == 1 else 'columns'} {listed(columns)} "
            f"{'has' if cells == 1 else 'have'} bytes that are not of the file's encoding (or U+FFFD, which stands for such): "
            "such a cell is no declared value. Where UTF-8 was assumed, it is likely Windows-1252: write "
            'encoding = "windows-1252" into the schema, or save the file as UTF-8 (iconv -f WINDOWS-1252 -t UTF-8).'
        )
    if malformed:
        warnings.append(
            f"another number of cells than the header's in {counted(malformed, 'record')}: all cells of such a record are "
            "missing. Quote cells that hold the separator, or pass the right --separator."
        )
    if open_quotes:
        warnings.append(
            f"open quote in {counted(open_quotes, 'record')}: a cell begins with a quote that does not close within "
            f"{LONGEST_QUOTED} bytes, so all cells of the record are missing and the next line is read as a record. Close "
            "the quote, or put the cell in quotes and double those within."
        )
    return warnings
