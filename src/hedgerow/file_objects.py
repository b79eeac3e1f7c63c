"""Binary file objects in place of paths, as object stores need them."""

from __future__ import annotations

import errno
import os
from typing import IO, Any, TypeGuard

from hedgerow.errors import ConfigurationError, FileFormatError
from hedgerow.limits import BASE_BYTES

OVERHEAD = 2**16  # bytes that an archive of little content takes beyond what it unpacks to
CHUNK = 2**20  # bytes that are read at once
RAISE = "if you trust it, pass more as max_bytes"

Place = str | os.PathLike[str] | IO[bytes]


def is_path(place: object, method: str) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a file is named by its path, or raise ConfigurationError unless it is a binary file object.

    It must have ``method``, "read" or "write".
    """
    if isinstance(place, str | os.PathLike):
        return True
    if hasattr(place, "encoding"):  # of text files, and of objects that wrap one
        mode = "rb" if method == "read" else "wb"
        raise ConfigurationError(
            f"the file object is open for text, but its content is bytes; open it in mode {mode!r}."
        )
    if not callable(getattr(place, method, None)):
        way = "; wrap bytes in io.BytesIO" if isinstance(place, bytes | bytearray | memoryview) else ""
        raise ConfigurationError(
            f"a file is named by {type(place).__name__}, but it must be a path or a binary file object with {method}(){way}."
        )
    return False


def place_name(place: Place) -> str:
    """Return a file as messages name it."""
    return os.fspath(place) if isinstance(place, str | os.PathLike) else "the file object"


def read_place(place: Place, most: int, remedy: str) -> bytes:
    """Return the bytes of a file or a binary file object; FileFormatError, which says the remedy, if it has more than ``most``.

    Nothing of a file is read whose size says so.
    """
    if not is_path(place, "read"):
        return read_object(place, most, remedy)
    with open(place, "rb") as file:
        check_size(place, os.fstat(file.fileno()).st_size, most, remedy)
        content = file.read(most + 1)  # a pipe has no size
    check_size(place, len(content), most, remedy)
    return content


def check_size(place: Place, size: int, most: int, remedy: str) -> None:
    if size > most:
        raise FileFormatError(
            f"{place_name(place)} has more bytes than the {most} that are allowed, and reading it might take all memory; "
            f"{remedy}."
        )


def read_object(file: Any, max_bytes: int | None = None, remedy: str = RAISE) -> bytes:
    """Return what a binary file object holds from where it stands to its end. It need not be seekable.

    FileFormatError if it is at its end, or holds more than ``max_bytes``; None allows as much as a file may unpack to in any
    case.
    """
    most, content = (BASE_BYTES if max_bytes is None else max_bytes) + OVERHEAD, bytearray()
    while part := file.read(CHUNK):
        if not isinstance(part, bytes | bytearray | memoryview):
            raise ConfigurationError(
                f"the file object returns {type(part).__name__}, but its content is bytes; open it in mode 'rb'."
            )
        content += part
        if len(content) > most:
            raise FileFormatError(f"the file object holds more bytes than are allowed; {remedy}.")
    if not content:
        raise FileFormatError("the file object is at its end, so there is nothing to read; call seek(0) after writing.")
    return bytes(content)


def write_object(file: Any, content: bytes) -> None:
    """Write bytes to a binary file object, where it stands. It need not be seekable, and stays open."""
    rest = memoryview(content)
    while rest:
        written: Any = file.write(rest)  # an unbuffered file may take a part of them; one that returns None takes all
        if written == 0:
            raise OSError(errno.EIO, "the file object takes no more bytes")
        rest = rest[len(rest) if written is None else written :]
