"""CSV files as columns of text, read record by record (docs/proofs/files.md).

Files that are no CSV in UTF-8 are recognized by their first bytes, before a record is read.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from typing import BinaryIO, Self

from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.limits import LONGEST_QUOTED
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.sources.table_file import BLOCK_LINES, Columns, TableFile, single_places

LONGEST_HEADER = 2**26  # bytes; far more than any file has, far less than a device gives that never ends
UNREADABLE = "\ufffd"  # stands for bytes that the encoding does not know


HEAD_BYTES = 16  # as many as the longest mark below has

# Marks that are text could begin a header; what follows them in a file of the kind could not.
KINDS = (
    (rb"\x1f\x8b", "a gzip file", "Unpack it (gunzip), and pass what comes out"),
    (rb"BZh[1-9]1AY&SY", "a bzip2 file", "Unpack it (bunzip2), and pass what comes out"),
    (rb"\xfd7zXZ\x00", "an xz file", "Unpack it (unxz), and pass what comes out"),
    (rb"\x28\xb5\x2f\xfd", "a Zstandard file", "Unpack it (unzstd), and pass what comes out"),
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
    def of(cls, schema: Schema, separator: str | None = None, encoding: str | None = None) -> Self:
        """Return what is given, otherwise what the schema declares, otherwise commas and UTF-8."""
        return cls(separator or schema.delimiter or cls.separator, encoding or schema.encoding or cls.encoding)

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name == "utf-8"


@contextmanager
def open_csv(path: str | PathLike[str], form: CSVFormat) -> Iterator[CSVFile]:
    with open(path, "rb") as file:
        yield CSVFile(file, form, str(path))


class CSVFile(TableFile):
    """A CSV file that is being read.

    A record ends at \\n outside quotes and at nothing else; a bare \\r belongs to its cell. A byte that the encoding does not
    know is a matter of its cell. Blank lines are skipped. A record whose number of cells is not the header's, or with a quote
    that does not close (``records_in``), has no cells: a fit leaves it out with every record whose label is missing, and a
    prediction has a line for it. The names of the columns are on one line, and read without the white space around them.
    """

    def __init__(self, file: BinaryIO, form: CSVFormat, place: str) -> None:
        super().__init__()
        self._form, self._separator = form, form.separator
        self._file = file
        try:
            self._separator_bytes = form.separator.encode(form.encoding)
        except UnicodeEncodeError:
            raise SchemaError(
                f"the separator {form.separator!r} is no character of {form.encoding}, in which {place} is read. Pass the "
                "separator of this file."
            ) from None
        head = file.read(HEAD_BYTES)
        check_is_text(head, place)
        # If the first line ended, what follows is a record, whose length must not decide whether there is an error.
        head = head + file.readline(-1 if b"\n" in head else LONGEST_HEADER)
        head = head.removeprefix(codecs.BOM_UTF8) if form.is_utf8 else head
        if len(head) >= LONGEST_HEADER and b"\n" not in head[:LONGEST_HEADER]:
            raise FileFormatError(
                f"{place} has a first line that does not end, so it is no CSV file. Pass another one."
            )
        self._lines = chain(io.BytesIO(head), file)
        self.header = self._read_header(place)
        self.index = self.header[:1] if self.header[0] == "" else ()
        self._records = self._rows()

    @property
    def share(self) -> float | None:
        try:
            return min(self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1), 1.0)
        except OSError:
            return None

    @property
    def is_empty(self) -> bool:
        first = next(self._records, None)
        self._records = chain([] if first is None else [first], self._records)
        return first is None

    def _read_header(self, place: str) -> tuple[str, ...]:
        for line in self._lines:
            text = _without_end(decoded_header(line, place, self._form.encoding))
            if not self._is_blank(text):
                if "\r" in text:
                    raise SchemaError(
                        f"{place} has a bare carriage return in its first line. Save it with lines that end in \\n."
                    )
                # What follows is a record: neither may it become a name, nor decide whether there is an error.
                if _quoted_record(line, iter(()), deque(), self._separator_bytes) is None:
                    raise SchemaError(
                        f"{place} has a quote in its first line that does not close there, but the names of columns must "
                        "be on one line. Rename the column whose name has a line break, or close the quote."
                    )
                return tuple(cell.strip() for cell in cells_of(text, self._separator))
        raise SchemaError(f"{place} is empty, but its first line must name the columns. Add that line.")

    def blocks(self) -> Iterator[Columns]:
        kept = {self.header[place] for place in single_places(self.header)}
        while block := list(islice(self._records, BLOCK_LINES)):
            columns = zip(self.header, zip(*block, strict=True), strict=True)
            yield {name: object_array(cells, len(block)) for name, cells in columns if name in kept}

    batches = blocks

    def _rows(self) -> Iterator[Sequence[str | None]]:
        width, decoded = len(self.header), _decoder(self._form)
        missing = [None] * width
        for record in records_in(self._lines, self._separator_bytes):
            if record is None:
                self.malformed += 1
                self.open_quotes += 1
                yield missing
                continue
            text = _without_end(decoded(record))
            if self._is_blank(text):
                continue
            cells = cells_of(text, self._separator)
            if len(cells) == width:
                if UNREADABLE in text:
                    self.unreadable.update(
                        name for name, cell in zip(self.header, cells, strict=True) if UNREADABLE in cell
                    )
                yield cells
            else:
                self.malformed += 1
                yield missing

    def _is_blank(self, text: str) -> bool:
        return not text.strip() and self._separator not in text


def check_is_text(head: bytes, place: str) -> None:
    """Raise FileFormatError if a file's first bytes are those of another kind of file than text of one byte and more."""
    for mark, kind, way_out in KINDS:
        if re.match(mark, head):
            raise FileFormatError(f"{place} is {kind}, not CSV text. {way_out}.")
    for mark, encoding in WIDE:
        if head.startswith(mark):
            raise FileFormatError(
                f"{place} is text in {encoding}, but CSV is read as UTF-8. Save it as UTF-8 "
                f"(iconv -f {encoding} -t UTF-8)."
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
            f"{place} has zero bytes in its first line, as text in UTF-16 and files of programs have, but CSV is read as "
            "UTF-8. Save it as CSV in UTF-8."
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


def records_in(lines: Iterator[bytes], separator: bytes) -> Iterator[bytes | bytearray | None]:
    """Yield the bytes of each record with its end, None for one with a quote that does not close.

    A cell that begins with a quote goes on, over line breaks, to the closing quote: the first that is not one of two. It closes
    if both and what is between have at most ``LONGEST_QUOTED`` bytes. Otherwise the record ends with the line of the opening
    quote, and reading goes on at the next line. Any other quote is an ordinary character.
    """
    ahead: deque[bytes] = deque()  # lines that an open quote looked at
    while line := ahead.popleft() if ahead else next(lines, b""):
        yield _quoted_record(line, lines, ahead, separator) if b'"' in line else line


def _quoted_record(
    line: bytes, lines: Iterator[bytes], ahead: deque[bytes], separator: bytes
) -> bytes | bytearray | None:
    """Return the record that begins with this line, and take from ``ahead`` and ``lines`` what belongs to it."""
    record, start = bytearray(line), 0
    while True:
        end = start
        if record.startswith(b'"', start):
            taken: list[bytes] = []
            end, stop = start + 1, start + LONGEST_QUOTED
            while True:
                end = record.find(b'"', end, stop)
                if end < 0:
                    more = b"" if len(record) >= stop else ahead.popleft() if ahead else next(lines, b"")
                    if not more:
                        ahead.extendleft(reversed(taken))
                        return None
                    taken.append(more)
                    end = len(record)
                    record += more
                elif record.startswith(b'"', end + 1):
                    end += 2
                else:
                    break
        start = record.find(separator, end)
        if start < 0:
            return record
        start += len(separator)


def cells_of(line: str, separator: str = ",") -> list[str]:
    """Return the cells of a record, which may have line breaks within quotes; a quote that does not close goes to its end."""
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


def _decoder(form: CSVFormat) -> Callable[[bytes | bytearray], str]:
    """Return the function that reads bytes as text; those that the encoding does not know become ``UNREADABLE``."""
    if form.is_utf8:
        return lambda record: record.decode("utf-8", "replace")
    letters = bytes(range(256)).decode(form.encoding, "replace")  # by this table in a third of the time
    return lambda record: codecs.charmap_decode(record, "replace", letters)[0]


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")
