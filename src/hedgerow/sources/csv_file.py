"""CSV files as columns of text, read record by record (docs/proofs/files.md)."""

from __future__ import annotations

import codecs
import io
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from os import PathLike
from typing import BinaryIO, Self

from hedgerow.errors import FileFormatError, SchemaError
from hedgerow.limits import LONGEST_QUOTED
from hedgerow.schema import Schema
from hedgerow.schema.cells import object_array
from hedgerow.sources.file_kinds import HEAD_BYTES, check_is_text, decoded_header
from hedgerow.sources.table_file import BLOCK_LINES, Columns, TableFile, single_places

LONGEST_HEADER = 2**26  # bytes; far more than any file has, far less than a device gives that never ends
UNREADABLE = "\ufffd"  # stands for bytes that the encoding does not know


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
        """Whether bytes are UTF-8."""
        return codecs.lookup(self.encoding).name == "utf-8"


@contextmanager
def open_csv(path: str | PathLike[str], form: CSVFormat) -> Iterator[CSVFile]:
    """Open a CSV file; errors as in ``open_table``."""
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
        self.malformed = self.open_quotes = 0
        self.unreadable = Counter()
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

    @property
    def share(self) -> float | None:
        """The share of the file's bytes that was read; None of a pipe."""
        try:
            return min(self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1), 1.0)
        except OSError:
            return None

    def check_types(self, schema: Schema) -> None:
        """Do nothing: the cells of a CSV file are text, whatever stands in them."""

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
        """Yield the remaining records as columns of text, some thousand at a time; None is a missing cell."""
        rows = self._rows()
        kept = {self.header[place] for place in single_places(self.header)}
        while block := list(islice(rows, BLOCK_LINES)):
            columns = zip(self.header, zip(*block, strict=True), strict=True)
            yield {name: object_array(cells, len(block)) for name, cells in columns if name in kept}

    def _rows(self) -> Iterator[list[str] | list[None]]:
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
