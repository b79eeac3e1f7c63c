"""Files of records as named columns, batch by batch: Parquet by pyarrow if the name ends so, otherwise CSV."""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from os import PathLike, fspath
from typing import Any

from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.files import LONGEST_QUOTED
from hedgerow.reading.columns import Declared, check_no_name_twice, read_columns, read_labels, refuse, single
from hedgerow.reading.csv_file import COMMAS, Columns, CSVFile, FileForm, cell_counts, unpacked
from hedgerow.reading.kernels import OPEN_QUOTE
from hedgerow.reading.text_cells import one_after_another
from hedgerow.texts import counted, listed

PARQUET = (".parquet", ".pq")
BATCH_ROWS, BATCH_CELLS = 1 << 17, 1 << 21  # of a Parquet file: the most of a batch
SEPARATORS = (",", ";", "\t", "|")  # in a tie, the first
LINES, LONGEST_LINE = 50, 1 << 16  # lines that are examined, and the maximum bytes of each


class ParquetFile:
    """A Parquet file that is being read, as ``CSVFile``: what a cell means is the schema's matter, as in a pyarrow table."""

    malformed = open_quotes = 0

    def __init__(self, file: Any, path: str | PathLike[str], categories: frozenset[str]) -> None:
        import pyarrow
        from pyarrow import parquet

        self.unreadable: Counter[str] = Counter()
        self._errors, self._read = (pyarrow.ArrowException, OSError), 0
        self._damaged = FileFormatError(f"{path} is not a Parquet file, or it is damaged; write it again.")
        try:
            # Pages are read as they are needed: a whole row group may be larger than memory.
            opened = partial(parquet.ParquetFile, file, buffer_size=1 << 20, pre_buffer=False)
            self._file = opened()
            text = [
                one.name for one in self._file.schema_arrow if one.type in (pyarrow.string(), pyarrow.large_string())
            ]
            if known := [name for name in single(text) if name in categories]:
                self._file = opened(metadata=self._file.metadata, read_dictionary=known)
        except self._errors:
            raise self._damaged from None
        self.header = tuple(self._file.schema_arrow.names)

    @property
    def share(self) -> float:
        return self._read / max(int(self._file.metadata.num_rows), 1)

    @property
    def is_empty(self) -> bool:
        return not self._file.metadata.num_rows

    def types(self) -> Columns:
        return dict(zip(self.header, self._file.schema_arrow.empty_table().columns, strict=True))

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        wanted = set(names or single(self.header))
        rows = min(max(BATCH_CELLS // max(len(wanted), 1), 1), BATCH_ROWS)
        batches = self._file.iter_batches(rows, columns=names)  # it may read columns whose names begin alike, too
        while True:
            try:
                batch = next(batches, None)
            except self._errors:
                raise self._damaged from None
            if batch is None:
                return
            self._read += batch.num_rows
            columns = zip(batch.schema.names, batch.columns, strict=True)
            yield {name: column for name, column in columns if name in wanted}


TableFile = CSVFile | ParquetFile


def is_parquet(path: str | PathLike[str]) -> bool:
    return fspath(path).lower().endswith(PARQUET)


@contextmanager
def open_table(
    path: str | PathLike[str], form: FileForm = COMMAS, *, parquet: bool | None = None
) -> Iterator[TableFile]:
    """Open a file of records, read the names of its columns and leave the records to ``batches``."""
    with open(path, "rb") as file:
        if is_parquet(path) if parquet is None else parquet:
            yield ParquetFile(file, path, form.categories)
        else:
            yield CSVFile(unpacked(file, str(path)), form, str(path))


def read_table(
    path: str | PathLike[str], form: FileForm = COMMAS, check: Callable[[TableFile], None] | None = None
) -> Columns:
    """Return the columns of a file by name, in the file's order; errors as in ``open_table``."""
    with open_table(path, form) as table:
        if check is not None:
            check(table)
        return whole([table], table.batches())


def whole(tables: Sequence[TableFile], given: Iterable[Columns]) -> Columns:
    batches = list(given)
    if not batches:
        types = tables[0].types()
        return {name: types[name] for name in single(tables[0].header)}
    if isinstance(tables[0], CSVFile):
        return dict(zip(batches[0], one_after_another([[*batch.values()] for batch in batches if batch]), strict=True))
    import pyarrow

    return {name: pyarrow.chunked_array([batch[name] for batch in batches]) for name in batches[0]}


def batches_of(
    tables: Iterable[TableFile], sizes: Sequence[int], names: Sequence[str] | None = None
) -> Iterator[tuple[Columns, float | None]]:
    """Yield the batches of files, each with the share of all bytes that was read up to its end, if it is known."""
    for place, table in enumerate(tables):
        for batch in table.batches(names):
            share = table.share
            yield batch, None if share is None else (sum(sizes[:place]) + sizes[place] * share) / max(sum(sizes), 1)


def guess_format(path: str | PathLike[str], separator: str | None = None) -> FileForm:
    """Return how a CSV file seems to be written, for a draft of a schema; a separator that is given stays.

    It reads the whole file: text that is not UTF-8 is taken for Windows-1252. A pipe or device is not read.
    """
    if is_parquet(path) or not os.path.isfile(path):
        return FileForm(separator or COMMAS.separator)
    with open(path, "rb") as packed:
        file = unpacked(packed, str(path))
        lines, encoding = [file.readline(LONGEST_LINE) for _ in range(LINES)], "utf-8"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for block in chain(lines, iter(lambda: file.read(1 << 20), b"")):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            encoding = "windows-1252"
    text = b"".join(lines).removeprefix(codecs.BOM_UTF8)

    def fit(separator: str) -> tuple[float, int]:
        widths = [count for count in cell_counts(text, separator.encode(), LINES) if count != OPEN_QUOTE]
        width = widths[0] if widths else 0
        return (widths.count(width) / len(widths) if width > 1 else 0.0, width)

    return FileForm(separator or max(SEPARATORS, key=fit), encoding)


def compare_header(header: Sequence[str], wanted: Iterable[str], data: object) -> tuple[list[str], list[str]]:
    """Return the wanted columns that a file lacks, and its others; SchemaError if it lacks all, or has a wanted one twice."""
    known, there = dict.fromkeys(wanted), dict.fromkeys(header)  # files may have thousands of columns
    check_no_name_twice(header, data, known)
    lacking = [name for name in known if name not in there]
    if known and len(lacking) == len(known):  # the first line is then a record, which must not be shown
        raise SchemaError(
            f"{data} has none of the schema's columns ({listed(lacking)}). If its first line is a record, add a header line "
            "above it; otherwise pass the right --separator, or the schema of this file."
        )
    return lacking, [name for name in there if name not in known]


def check_header(
    table: TableFile, wanted: Iterable[str], data: object, *, more: bool = False, ignored: Sequence[str] = ()
) -> None:
    """Raise SchemaError unless the columns are the wanted ones, in any order, each once, and some that are ignored."""
    lacking, others = compare_header(table.header, wanted, data)
    refuse(data, lacking, () if more else [name for name in others if name not in ignored])


def check_types(
    table: TableFile, features: Mapping[str, Declared], target: str | None = None, labels: Declared | None = None
) -> None:
    types = table.types()
    read_columns({name: types[name] for name in features}, features)
    if target in types:
        read_labels(types[target], labels)


def unread(tables: Sequence[TableFile]) -> list[str]:
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
