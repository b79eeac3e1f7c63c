"""What a model's file holds beside what ``save`` writes of the model that it loads as."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hedgerow.archive import DOCUMENT, document_text
from hedgerow.estimator import PrivateEstimator

__all__ = ["differences"]

LOCAL, CENTRAL, END = 30, 46, 22  # bytes of a member's two headers, without its name, and of the end of the archive


def differences(path: Path, model: PrivateEstimator) -> Iterator[str]:
    """Yield where a file is not what ``save`` writes of the model that was loaded from it.

    Other builds of the compression write other bytes for the same content, so contents are compared as they unpack. What
    could be hidden in the choice among ways to pack the same content, or in the headers of the archive and its members (some
    20 bytes each), is not looked for.
    """
    with TemporaryDirectory() as folder:
        again = Path(folder) / "model"
        model.save(again)
        if again.read_bytes() != path.read_bytes():
            for words in _differences(path, again):
                yield f"the file differs from what save writes of this model: {words}"


def _differences(path: Path, again: Path) -> Iterator[str]:
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(again) as own:
        names, expected = file.namelist(), own.namelist()
        yield from (f"it has the member {name}" for name in names if name not in expected)
        yield from (f"it lacks the member {name}" for name in expected if name not in names)
        if sorted(names) == sorted(expected) and names != expected:
            yield "its members are in another order"
        for name in expected:
            if name in names:
                yield from _member(file, file.getinfo(name), own.read(name))
        beyond = path.stat().st_size - sum(map(_size, file.infolist())) - END
    if beyond:
        yield f"{beyond} bytes are outside its members"


def _member(file: zipfile.ZipFile, member: zipfile.ZipInfo, expected: bytes) -> Iterator[str]:
    """Yield how a member differs from the content that ``save`` writes."""
    name = member.filename
    with file.open(
        member
    ) as opened:  # by its size, which loading has checked: zipfile's read takes others at their word
        content = opened.read(member.file_size)
    if content != expected:
        yield from _entries(content, expected) if name == DOCUMENT else (f"other bytes in the member {name}",)
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        if len(unpacker.decompress(_packed(file, member), member.file_size + 1)) > member.file_size:
            yield f"more content in the member {name} than its size says"
        elif unpacker.unused_data:
            yield f"{len(unpacker.unused_data)} bytes behind the content of the member {name}"


def _entries(content: bytes, expected: bytes) -> Iterator[str]:
    """Yield which entries of the document differ; its text where none does."""
    document, own = json.loads(content), json.loads(expected)
    older = "coins" not in document  # as 0.1.0 wrote it
    if older:
        own.pop("coins")
    # Parameters that an older version did not have were read as their defaults, so nothing is said by leaving them out.
    known = {name: value for name, value in own["parameters"].items() if name in document["parameters"]}
    older = older or len(known) < len(own["parameters"])
    if "variant" not in own["parameters"] and document["parameters"].get("variant") == "private":
        older, known = (
            True,
            dict(sorted({**known, "variant": "private"}.items())),
        )  # systems of 0.3 that have one form now
    own["parameters"] = known
    if older and content == document_text(own).encode():
        return
    other = sorted(name for name in document.keys() | own.keys() if _plain(document, name) != _plain(own, name))
    yield from (f"{DOCUMENT} has another entry {name}" for name in other)
    if not other:
        yield f"{DOCUMENT} is written in another way (spaces, order, or an entry twice)"


def _plain(document: dict[str, Any], name: str) -> str:
    return json.dumps(document[name]) if name in document else ""


def _packed(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return a member's compressed content."""
    file = archive.fp
    assert file is not None  # an archive that is open
    file.seek(member.header_offset + LOCAL - 4)
    file.seek(sum(struct.unpack("<2H", file.read(4))), os.SEEK_CUR)  # its name and extra fields
    # Its size is the file's own word, and memory is taken before reading.
    left = os.fstat(file.fileno()).st_size - file.tell()
    return file.read(min(member.compress_size, left))


def _size(member: zipfile.ZipInfo) -> int:
    """Return how many bytes a member takes in an archive, without extra fields and a comment."""
    return LOCAL + CENTRAL + 2 * len(member.filename.encode()) + member.compress_size
