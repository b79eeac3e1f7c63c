"""Files of records as named columns, batch by batch: Parquet if the name ends so, otherwise CSV (docs/proofs/files.md)."""

from __future__ import annotations

import codecs
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from os import PathLike, fspath
from typing import Any, BinaryIO, Self

import numpy as np

from hedgerow.arrays import Integers
from hedgerow.errors import FileFormatError, SchemaError, require
from hedgerow.files import LONGEST_QUOTED
from hedgerow.reading.columns import Declared, check_no_name_twice, read_columns, read_labels, refuse, single
from hedgerow.reading.kernels import OPEN_QUOTE, PERHAPS_BLANK, split_records
from hedgerow.reading.text_cells import NO_TEXTS, REPLACING, Bytes, Decode, Texts, one_after_another
from hedgerow.texts import counted, listed

Columns = dict[str, Any]  # ``Texts`` of CSV, Arrow's arrays of Parquet

LONGEST_HEADER = 2**26  # bytes: more than any header, and an end for devices that never end a line
UNREADABLE = "\ufffd"  # stands for bytes that the encoding does not know
BUFFER_BYTES = 1 << 22  # that are read at once
BLOCK_CELLS = 1 << 18  # of a block: their places stay in a core's own cache
BLOCK_LINES, LEAST_LINES = 16_384, 256  # a block costs some time for each column
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes
PARQUET = (".parquet", ".pq")
BATCH_ROWS, BATCH_CELLS = 1 << 18, 1 << 22  # of a Parquet file: the most of a batch
SEPARATORS = (",", ";", "\t", "|")  # in a tie, the first
LINES, LONGEST_LINE = 50, 1 << 16  # lines that are examined, and the maximum bytes of each


@dataclass(frozen=True)
class FileForm:
    """How files are read.

    CSV has one character between cells, and its encoding is UTF-8 or a single-byte encoding that extends ASCII. Text columns
    of Parquet in ``categories`` are read as numbers of distinct texts.
    """

    separator: str = ","
    encoding: str = "utf-8"
    categories: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        separator, encoding = self.separator, self.encoding
        try:
            sample = bytes(range(256)) + b"\xe4\xc3\xa4"  # the last three are two characters of UTF-8
            text = sample.decode(encoding, "replace")
            fits = self.is_utf8 or (text.startswith(sample[:128].decode("ascii")) and len(text) == len(sample))
        except (LookupError, TypeError, ValueError, AttributeError):
            fits = False
        rule = "'utf-8' or a single-byte encoding that extends ASCII, such as 'windows-1252' or 'iso-8859-1'"
        require(fits, "encoding", encoding, rule)
        is_one = isinstance(separator, str) and len(separator) == 1 and separator not in '"\r\n\0'
        is_known = is_one and separator.encode(encoding, "ignore")
        require(is_known, "delimiter", separator, f"one character of {encoding} between cells, such as ';' or '\\t'")

    def replaced(self, separator: str | None = None, encoding: str | None = None) -> Self:
        given: dict[str, Any] = {"separator": separator, "encoding": encoding}
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name == "utf-8"


COMMAS = FileForm()


def unpacked(file: io.BufferedReader, place: str) -> io.BufferedReader:
    head = file.read(len(ZSTANDARD))
    if file.seekable():
        file.seek(0)
    else:
        file = io.BufferedReader(_Stream(file.read1, head))
    if not head.startswith(GZIP) and head != ZSTANDARD:
        return file
    import pyarrow

    stream = pyarrow.CompressedInputStream(file, "zstd" if head == ZSTANDARD else "gzip")
    return io.BufferedReader(_Stream(stream.read, packed=place))


class _Stream(io.RawIOBase):
    """What a function reads after the first bytes, as a file; FileFormatError where a ``packed`` file is damaged."""

    def __init__(self, read: Callable[[int], bytes], head: bytes = b"", packed: str | None = None) -> None:
        super().__init__()
        self._read, self._head, self._packed = read, head, packed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._head or self._read(len(buffer))
        except (OSError, ValueError):
            if self._packed is None:
                raise
            raise FileFormatError(f"{self._packed} is damaged, so it cannot be unpacked. Write it again.") from None
        buffer[: len(content)], self._head = content, b""
        return len(content)


class CSVFile:
    """A CSV file that is being read, by the rule in docs/proofs/files.md.

    A byte outside the encoding affects its own cell only. The names of the columns are read without the white space around them.
    A name over several columns is that of none. ``malformed``, ``open_quotes`` and ``unreadable`` are data: only
    ``hedgerow schema`` and predictions, which have no guarantee, show them.
    """

    def __init__(self, file: BinaryIO, form: FileForm, place: str) -> None:
        self._form, self._file = form, file
        self.malformed = self.open_quotes = 0  # records without cells so far, and those of them with an open quote
        self.unreadable: Counter[str] = Counter()  # cells so far, by column, with bytes that the encoding does not know
        separator = form.separator.encode("ascii" if form.separator.isascii() else form.encoding)
        self._separator = np.frombuffer(separator, dtype=np.uint8)
        self._decode: Decode = REPLACING
        if not form.is_utf8:
            # A table lookup takes a third of the codec's time
            letters = bytes(range(256)).decode(form.encoding, "replace")
            self._decode = lambda cell: codecs.charmap_decode(cell, "replace", letters)[0]
        self.header = self._read_header(place)
        self._blocks = self._read_blocks()

    @property
    def share(self) -> float | None:
        """The share of the bytes that was read; None if unknown: of a pipe or a packed file."""
        try:
            return min(self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1), 1.0)
        except OSError:
            return None

    def types(self) -> Columns:
        """Return the columns without a record, of their declared types. A CSV file declares nothing: its cells are text."""
        return dict.fromkeys(self.header, NO_TEXTS)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        """Yield the remaining records, some thousand at a time; of the named columns, or of all whose name is theirs alone."""
        wanted = set(single(self.header) if names is None else names)
        kept = [(place, name) for place, name in enumerate(self.header) if name in wanted]
        for block in self._blocks:
            yield {name: block[place] for place, name in kept}

    def _read_header(self, place: str) -> tuple[str, ...]:
        """Return the names of the columns. No error quotes their line, as it may be a record."""
        first = self._file.readline(LONGEST_HEADER)
        if len(first) == LONGEST_HEADER and not first.endswith(b"\n"):
            raise FileFormatError(f"{place} has a first line that does not end: it is no CSV file. Pass another one.")
        first = first.removeprefix(codecs.BOM_UTF8) if self._form.is_utf8 else first
        for line in chain([first], iter(self._file.readline, b"")):
            if b"\x00" in line:
                raise FileFormatError(
                    f"{place} has zero bytes in its first line, as packed files, spreadsheets, Parquet files and text in UTF-16 "
                    "have. Save it as CSV in UTF-8; give a Parquet file a name that ends in .parquet."
                )
            try:
                text = line.decode(self._form.encoding).removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError:
                raise FileFormatError(
                    f"{place} has a first line that is not in {self._form.encoding}. If it is text, it is likely Windows-1252: "
                    'write encoding = "windows-1252" into the schema. Otherwise save it as CSV in UTF-8 (iconv -f WINDOWS-1252 '
                    "-t UTF-8)."
                ) from None
            if not text.strip() and self._form.separator not in text:
                continue
            if "\r" in text:
                raise SchemaError(
                    f"{place} has a bare carriage return in its first line. Save it with lines that end in \\n."
                )
            # What follows is a record: neither may it become a name, nor decide whether there is an error.
            (width,) = cell_counts(line, self._separator.tobytes(), 1)
            if width == OPEN_QUOTE:
                raise SchemaError(
                    f"{place} has a quote in its first line that does not close there. Close it, or rename the column whose name "
                    "has a line break."
                )
            data, starts, stops, _ = _split(line, self._separator, width, 1)
            return tuple(str(cell).strip() for cell in Texts(data, starts[:, 0], stops[:, 0], self._decode).tolist())
        raise SchemaError(f"{place} is empty, but its first line must name the columns. Add that line.")

    def _read_blocks(self) -> Iterator[list[Texts]]:
        width, rest, ended = len(self.header), b"", False
        lines = min(BLOCK_LINES, max(BLOCK_CELLS // width, LEAST_LINES))
        usual = length = max(BUFFER_BYTES, 8 * LEAST_LINES * width)
        while not ended:
            data = np.empty(length + len(rest), dtype=np.uint8)  # a new one, since columns of text keep theirs
            data[: len(rest)] = np.frombuffer(rest, dtype=np.uint8)
            view, size = memoryview(data), len(rest)  # type: ignore[arg-type]
            while size < len(data) and (count := self._file.readinto(view[size:])):  # type: ignore[attr-defined]
                size += count
            ended, position = size < len(data), 0
            whole_text = self._is_all_text(data[:size], ended=ended)
            while True:
                starts = np.empty((width, lines), dtype=np.int64)
                stops, counts = np.empty_like(starts), np.empty(lines, dtype=np.int64)
                records, position = split_records(
                    data, position, size, ended, LONGEST_QUOTED, self._separator, starts, stops, counts
                )
                if not records:
                    break
                columns = self._checked(data, starts[:, :records], stops[:, :records], counts[:records], whole_text)
                if len(columns[0]):
                    yield columns
            rest = data[position:size].tobytes()
            length = usual if position else 2 * len(data)  # a record longer than the buffer

    def _is_all_text(self, data: Bytes, *, ended: bool) -> bool:
        if int(data.max(initial=0)) < 128:  # every encoding here extends ASCII
            return True
        raw = data.tobytes()
        return UNREADABLE not in str(self._decode(raw if ended else raw[: raw.rfind(b"\n") + 1]))

    def _checked(self, data: Bytes, starts: Any, stops: Any, counts: Integers, whole_text: bool) -> list[Texts]:
        for row in np.flatnonzero(counts == PERHAPS_BLANK).tolist():
            blank = not str(self._decode(data[starts[0, row] : stops[0, row]].tobytes())).strip()
            counts[row] = 0 if blank else 1
            if not blank and len(starts) > 1:
                starts[:, row] = -1
        if not counts.all():
            starts, stops, counts = starts[:, counts != 0], stops[:, counts != 0], counts[counts != 0]
        self.malformed += int(np.count_nonzero(counts != len(starts)))
        self.open_quotes += int(np.count_nonzero(counts == OPEN_QUOTE))
        columns = [Texts(data, *places, self._decode) for places in zip(starts, stops, strict=True)]
        for name, cells in zip(self.header, columns, strict=True) if not whole_text else ():
            if count := sum(UNREADABLE in cell for cell in cells if isinstance(cell, str)):
                self.unreadable[name] += count
        return columns


def _split(text: bytes, separator: Bytes, width: int, most: int) -> tuple[Bytes, Any, Any, Integers]:
    """Return at most ``most`` records of a text: its bytes, where the ``width`` cells begin and end in them, and their number."""
    data, counts = np.frombuffer(bytearray(text), dtype=np.uint8), np.empty(most, dtype=np.int64)
    starts, stops = np.empty((width, most), dtype=np.int64), np.empty((width, most), dtype=np.int64)
    records, _ = split_records(data, 0, len(data), True, LONGEST_QUOTED, separator, starts, stops, counts)
    return data, starts, stops, counts[:records]


def cell_counts(text: bytes, separator: bytes, most: int) -> list[int]:
    """Return the number of cells of at most ``most`` records, ``OPEN_QUOTE`` for one with a quote that does not close."""
    counts = _split(text, np.frombuffer(separator, dtype=np.uint8), 0, most)[-1]
    return [1 if count == PERHAPS_BLANK else count for count in counts.tolist()]


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

    def types(self) -> Columns:
        return dict(zip(self.header, self._file.schema_arrow.empty_table().columns, strict=True))

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        wanted = set(names or single(self.header))
        rows = min(max(BATCH_CELLS // max(len(wanted), 1), 1), BATCH_ROWS)
        try:
            for batch in self._file.iter_batches(rows, columns=names):  # also columns whose names begin alike
                self._read += batch.num_rows
                columns = zip(batch.schema.names, batch.columns, strict=True)
                yield {name: column for name, column in columns if name in wanted}
        except self._errors:
            raise self._damaged from None


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


def read_table(path: str | PathLike[str], form: FileForm = COMMAS) -> Columns:
    """Return the columns of a file by name, in the file's order; errors as in ``open_table``."""
    with open_table(path, form) as table:
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
