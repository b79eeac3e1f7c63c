"""CSV files as columns of text, read record by record (docs/proofs/files.md).

Files that are no CSV in UTF-8 are recognized by their first bytes, before a record is read.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from os import PathLike
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from hedgerow.errors import FileFormatError, MissingExtraError, SchemaError
from hedgerow.limits import LONGEST_QUOTED
from hedgerow.reading.csv_kernels import OPEN_QUOTE, PERHAPS_BLANK, split_records
from hedgerow.reading.table_file import Columns, TableFile, single_places
from hedgerow.reading.text_cells import REPLACING, Bytes, Decode, Texts

LONGEST_HEADER = 2**26  # bytes: more than any header, and an end for devices that never end a line
UNREADABLE = "\ufffd"  # stands for bytes that the encoding does not know
BUFFER_BYTES = 1 << 22  # that are read at once
BLOCK_CELLS = 1 << 18  # of a block: their places stay in a core's own cache
BLOCK_LINES, LEAST_LINES = 16_384, 256  # a block costs some time for each column

HEAD_BYTES = 16  # as many as the longest mark below has

# Text could begin with "BZh" or "PK". So each pattern also has bytes that follow the mark in such a file and never in a
# header.
KINDS = (
    (rb"BZh[1-9]1AY&SY", "a bzip2 file", "Unpack it (bunzip2), and pass what comes out"),
    (rb"\xfd7zXZ\x00", "an xz file", "Unpack it (unxz), and pass what comes out"),
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it, and pass the file of records in it"),
    (
        rb"PK(?:\x03\x04|\x05\x06)",
        "a zip archive, as .xlsx, .ods, .npz and model files are",
        "Unpack it, or save its table as CSV",
    ),
    (rb"PAR[1E][\x00-\x1f]", "a Parquet file", "Give it a name that ends in .parquet"),
    (rb"ARROW1\x00\x00|FEA1[\x00-\x1f]", "a Feather (Arrow) file", "Save it as Parquet or CSV"),
    (rb"ORC[\x00-\x1f]", "an ORC file", "Save it as Parquet or CSV"),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel (.xls) or Office file", "Save its table as CSV"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "Save its table as Parquet or CSV"),
    (rb"SQLite format 3\x00", "an SQLite database", "Export its table as CSV"),
)

# UTF-32's first mark begins with UTF-16's.
WIDE = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True)
class CSVFormat:
    """How CSV files are written: the character between cells, and the encoding, UTF-8 or one of a byte for each character."""

    separator: str = ","
    encoding: str = "utf-8"

    @classmethod
    def of(cls, separator: str | None = None, encoding: str | None = None) -> Self:
        """Return what is given, otherwise commas and UTF-8."""
        return cls(separator or cls.separator, encoding or cls.encoding)

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name == "utf-8"


COMMAS = CSVFormat()


@contextmanager
def open_csv(path: str | PathLike[str], form: CSVFormat) -> Iterator[CSVFile]:
    with open(path, "rb") as file:
        yield CSVFile(unpacked(file, str(path)), form, str(path))


GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes


def unpacked(file: io.BufferedReader, place: str) -> io.BufferedReader:
    """Return a file of gzip or Zstandard as what is packed in it, any other file as it is."""
    head = file.read(len(ZSTANDARD))
    if file.seekable():
        file.seek(0)
    else:
        file = io.BufferedReader(_Stream(_preceded(file, head)))
    if head.startswith(GZIP):
        return io.BufferedReader(_Stream(gzip.GzipFile(fileobj=file).read, place))
    if head != ZSTANDARD:
        return file
    try:
        arrow = import_module("pyarrow")
    except ImportError as error:
        raise MissingExtraError(
            f'{place} is a Zstandard file, which pyarrow unpacks: install it with pip install "hedgerow[parquet]".'
        ) from error
    return io.BufferedReader(_Stream(arrow.CompressedInputStream(file, "zstd").read, place))


def _preceded(file: io.BufferedReader, head: bytes) -> Callable[[int], bytes]:
    """Return the function that reads a pipe whose first bytes were read."""
    heads = [head]
    return lambda size: heads.pop() if heads and heads[0] else file.read1(size)


class _Stream(io.RawIOBase):
    """What a function reads, as a file; FileFormatError where the packed file ``place`` is damaged."""

    def __init__(self, read: Callable[[int], bytes], place: str | None = None) -> None:
        super().__init__()
        self._read, self._place = read, place

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._read(len(buffer))
        except (EOFError, OSError, ValueError, zlib.error):
            if self._place is None:
                raise
            raise FileFormatError(f"{self._place} is damaged, so it cannot be unpacked. Write it again.") from None
        buffer[: len(content)] = content
        return len(content)


class CSVFile(TableFile):
    """A CSV file that is being read.

    A record ends at \\n outside quotes and at nothing else; a bare \\r belongs to its cell. A cell that begins with a quote goes
    on, over line breaks, to the closing quote: the first that is not one of two. It closes if both and what is between have at
    most ``LONGEST_QUOTED`` bytes. Otherwise the record ends with the line of the opening quote, and reading goes on at the next
    line. Any other quote is an ordinary character. A byte outside the encoding affects its own cell only. Blank lines
    are skipped. A record whose number of cells is not the header's, or with a quote that does not close, has no cells: a fit
    leaves it out with every record whose label is missing, and a prediction has a line for it. The names of the columns are on
    one line, and read without the white space around them.
    """

    def __init__(self, file: BinaryIO, form: CSVFormat, place: str) -> None:
        super().__init__()
        self._form = form
        self._file = file
        try:
            separator = form.separator.encode("ascii" if form.separator.isascii() else form.encoding)
        except UnicodeEncodeError:
            raise SchemaError(
                f"the separator {form.separator!r} is no character of {form.encoding}, in which {place} is read. Pass the "
                "separator of this file."
            ) from None
        self._separator = np.frombuffer(separator, dtype=np.uint8)
        self._decode = decoder(form)
        head = file.read(HEAD_BYTES)
        check_is_text(head, place)
        # If the first line ended, what follows is a record, whose length must not decide whether there is an error.
        head = head + file.readline(-1 if b"\n" in head else LONGEST_HEADER)
        head = head.removeprefix(codecs.BOM_UTF8) if form.is_utf8 else head
        if len(head) >= LONGEST_HEADER and b"\n" not in head[:LONGEST_HEADER]:
            raise FileFormatError(
                f"{place} has a first line that does not end, so it is no CSV file. Pass another one."
            )
        self.header = self._read_header(head, place)
        self.index = self.header[:1] if self.header[0] == "" else ()
        self._blocks = self._read_blocks()

    @property
    def share(self) -> float | None:
        try:
            return min(self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1), 1.0)
        except OSError:
            return None

    @property
    def is_empty(self) -> bool:
        first = next(self._blocks, None)
        self._blocks = chain([] if first is None else [first], self._blocks)
        return first is None

    def _read_header(self, head: bytes, place: str) -> tuple[str, ...]:
        """Return the names of the columns, and leave what follows their line in ``_rest``."""
        while line := head[: head.find(b"\n") + 1] or head or self._file.readline():
            head = head[len(line) :]
            text = decoded_header(line, place, self._form.encoding).removesuffix("\n").removesuffix("\r")
            if text.strip() or self._form.separator in text:
                if "\r" in text:
                    raise SchemaError(
                        f"{place} has a bare carriage return in its first line. Save it with lines that end in \\n."
                    )
                # What follows is a record: neither may it become a name, nor decide whether there is an error.
                (width,) = cell_counts(line, self._separator.tobytes(), 1)
                if width == OPEN_QUOTE:
                    raise SchemaError(
                        f"{place} has a quote in its first line that does not close there, but the names of columns must "
                        "be on one line. Rename the column whose name has a line break, or close the quote."
                    )
                self._rest = head
                return tuple(cell.strip() for cell in _cells_of(line, width, self._separator, self._decode))
        raise SchemaError(f"{place} is empty, but its first line must name the columns. Add that line.")

    def blocks(self) -> Iterator[Columns]:
        kept = [(place, self.header[place]) for place in single_places(self.header)]
        for data, starts, stops in self._blocks:
            yield {name: Texts(data, starts[place], stops[place], self._decode) for place, name in kept}

    batches = blocks

    def _read_blocks(self) -> Iterator[tuple[Bytes, Any, Any]]:
        """Yield records: bytes, and where each column's cells, (columns, records), begin and end in them."""
        width, rest, ended = len(self.header), self._rest, False
        lines = min(BLOCK_LINES, max(BLOCK_CELLS // width, LEAST_LINES))
        usual = length = max(BUFFER_BYTES, 8 * LEAST_LINES * width)
        while not ended:
            data = np.empty(length + len(rest), dtype=np.uint8)  # a new one, since columns of text keep theirs
            data[: len(rest)] = np.frombuffer(rest, dtype=np.uint8)
            size = len(rest) + _fill(self._file, data[len(rest) :])
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
                block = self._checked(data, starts[:, :records], stops[:, :records], counts[:records], whole_text)
                if block[0].shape[1]:
                    yield data, *block
            rest = data[position:size].tobytes()
            length = usual if position else 2 * len(data)  # a record longer than the buffer

    def _is_all_text(self, data: Bytes, *, ended: bool) -> bool:
        """Return whether all bytes up to the last line's end are of the encoding, and none stands for one that was not."""
        if int(data.max(initial=0)) < 128:  # every encoding here extends ASCII
            return True
        raw = data.tobytes()
        return UNREADABLE not in str(self._decode(raw if ended else raw[: raw.rfind(b"\n") + 1]))

    def _checked(
        self, data: Bytes, starts: Any, stops: Any, counts: npt.NDArray[np.int64], whole_text: bool
    ) -> tuple[Any, Any]:
        """Return where cells begin and end without those of blank lines, and count what could not be read."""
        for row in np.flatnonzero(counts == PERHAPS_BLANK).tolist():
            blank = not str(self._decode(data[starts[0, row] : stops[0, row]].tobytes())).strip()
            counts[row] = 0 if blank else 1
            if not blank and len(starts) > 1:
                starts[:, row] = -1
        if not counts.all():
            starts, stops, counts = starts[:, counts != 0], stops[:, counts != 0], counts[counts != 0]
        self.malformed += int(np.count_nonzero(counts != len(starts)))
        self.open_quotes += int(np.count_nonzero(counts == OPEN_QUOTE))
        if not whole_text:
            for place, name in enumerate(self.header):
                cells = Texts(data, starts[place], stops[place], self._decode).tolist()
                count = sum(UNREADABLE in cell for cell in cells if isinstance(cell, str))
                if count:
                    self.unreadable[name] += count
        return starts, stops


def check_is_text(head: bytes, place: str) -> None:
    """Raise FileFormatError if the first bytes are not those of text in UTF-8 or a single-byte encoding."""
    for mark, kind, way_out in KINDS:
        if re.match(mark, head):
            raise FileFormatError(f"{place} is {kind}, not CSV text. {way_out}.")
    for mark, encoding in WIDE:
        if head.startswith(mark):
            raise FileFormatError(
                f"{place} is text in {encoding}, but CSV must be in UTF-8 or a single-byte encoding. "
                f"Save it as UTF-8 (iconv -f {encoding} -t UTF-8)."
            )


def is_text(head: bytes) -> bool:
    try:
        check_is_text(head, "")
    except FileFormatError:
        return False
    return True


def decoded_header(line: bytes, place: str, encoding: str = "utf-8") -> str:
    """Return the text of a file's first line, which must be in its encoding; no error quotes it, as it may be a record."""
    if b"\x00" in line:
        raise FileFormatError(
            f"{place} has zero bytes in its first line, as text in UTF-16 and files of programs have, but CSV must be in "
            "UTF-8 or a single-byte encoding. Save it as CSV in UTF-8."
        )
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        if codecs.lookup(encoding).name != "utf-8":
            raise FileFormatError(
                f"{place} has a first line that is not in {encoding}, as the schema's encoding says. Correct that entry."
            ) from None
        raise FileFormatError(
            f"{place} has a first line that is not UTF-8, likely Latin-1 or Windows-1252, so the columns' names cannot be "
            'read. Write encoding = "windows-1252" into the schema if it is, or save the file as UTF-8 '
            "(iconv -f WINDOWS-1252 -t UTF-8)."
        ) from None


def decoder(form: CSVFormat) -> Decode:
    """Return the function that reads bytes as text; those that the encoding does not know become ``UNREADABLE``."""
    if form.is_utf8:
        return REPLACING
    letters = bytes(range(256)).decode(form.encoding, "replace")  # a table lookup takes a third of the codec's time
    return lambda cell: codecs.charmap_decode(cell, "replace", letters)[0]


def cell_counts(text: bytes, separator: bytes, most: int) -> list[int]:
    """Return the number of cells of at most so many records, ``OPEN_QUOTE`` for one with a quote that does not close."""
    data, counts = np.frombuffer(bytearray(text), dtype=np.uint8), np.empty(most, dtype=np.int64)
    starts = np.empty((0, most), dtype=np.int64)
    parts = np.frombuffer(separator, dtype=np.uint8)
    records, _ = split_records(data, 0, len(data), True, LONGEST_QUOTED, parts, starts, starts, counts)
    found: list[int] = np.where(counts == PERHAPS_BLANK, 1, counts)[:records].tolist()
    return found


def _cells_of(line: bytes, width: int, separator: Bytes, decode: Decode) -> list[str]:
    """Return the ``width`` cells of one line."""
    data, counts = np.frombuffer(bytearray(line), dtype=np.uint8), np.empty(1, dtype=np.int64)
    starts, stops = np.empty((width, 1), dtype=np.int64), np.empty((width, 1), dtype=np.int64)
    split_records(data, 0, len(data), True, LONGEST_QUOTED, separator, starts, stops, counts)
    return [str(cell) for cell in Texts(data, starts[:, 0], stops[:, 0], decode).tolist()]


def _fill(file: BinaryIO, into: Bytes) -> int:
    """Read bytes until ``into`` is full or the file ends, and return how many there were."""
    view, size = memoryview(into), 0  # type: ignore[arg-type]
    while size < len(into) and (count := file.readinto(view[size:])):  # type: ignore[attr-defined]
        size += count
    return size
