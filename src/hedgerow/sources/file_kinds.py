"""What a file is, by its first bytes: files that are no CSV in UTF-8 are named before a record is read."""

from __future__ import annotations

import codecs
import re

from hedgerow.errors import FileFormatError

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


def check_is_text(head: bytes, place: str) -> None:
    """Raise FileFormatError if a file's first bytes are those of another kind of file than text of one byte and more."""
    for mark, kind, way_out in KINDS:
        if re.match(mark, head):
            raise FileFormatError(f"{place} is {kind}, not CSV text. {way_out}.")
    for mark, encoding in WIDE:
        if head.startswith(mark):
            raise FileFormatError(f"{place} is text in {encoding}, but CSV is read as UTF-8. {_save_as_utf8(encoding)}")


def is_text(head: bytes) -> bool:
    """Return whether a file's first bytes are not those of another kind of file."""
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


def _save_as_utf8(encoding: str) -> str:
    return f"Save it as UTF-8 (iconv -f {encoding} -t UTF-8)."
