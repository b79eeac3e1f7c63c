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
FIELDS = (
    "date_time",
    "compress_type",
    "create_version",
    "reserved",
    "flag_bits",
    "volume",
    "internal_attr",
    "external_attr",
)


def differences(path: Path, model: PrivateEstimator) -> Iterator[str]:
    """Yield where a file is not what ``save`` writes of the model that was loaded from it.

    Other builds of the compression write other bytes for the same content, so contents are compared as they unpack. What
    could be hidden in the choice among ways to pack the same content is not looked for.
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
        if file.comment:
            yield f"it has a comment of {len(file.comment)} bytes"
        yield from (f"it has the member {name}" for name in dict.fromkeys(names) if name not in expected)
        yield from (f"it lacks the member {name}" for name in expected if name not in names)
        yield from (f"it has the member {name} twice" for name in dict.fromkeys(names) if names.count(name) > 1)
        if sorted(names) == sorted(expected) and names != expected:
            yield "its members are in another order"
        for name in expected:
            if name in names:
                yield from _member(file, file.getinfo(name), own)
        whole, start = sum(map(_size, file.infolist())) + END, file.start_dir
    content = path.read_bytes()
    if len(content) != whole:
        yield f"{len(content) - whole} bytes are outside its members"
    elif content[-END:] != struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, len(names), len(names), whole - END - start, start, 0
    ):
        yield "other fields at the end of the archive"


def _member(file: zipfile.ZipFile, member: zipfile.ZipInfo, own: zipfile.ZipFile) -> Iterator[str]:
    """Yield how a member differs from the one of its name that ``save`` writes."""
    name, model = member.filename, own.getinfo(member.filename)
    with file.open(
        member
    ) as opened:  # by its size, which loading has checked: zipfile's read takes other fields at their word
        content, expected = opened.read(member.file_size), own.read(model)
    if content != expected:
        yield from _entries(content, expected) if name == DOCUMENT else (f"other bytes in the member {name}",)
    if member.comment:
        yield f"the member {name} has a comment of {len(member.comment)} bytes"
    header, packed = _packed(file, member)
    other = [field for field in FIELDS if getattr(member, field) != getattr(model, field)]
    if other or member.extra or header != member.FileHeader(zip64=False) or member.create_system not in (0, 3):
        yield f"other fields in the header of the member {name}"
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        if len(unpacker.decompress(packed, member.file_size + 1)) > member.file_size:
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
    own["parameters"] = known
    if older and content == document_text(own).encode():
        return
    other = sorted(name for name in document.keys() | own.keys() if _plain(document, name) != _plain(own, name))
    yield from (f"{DOCUMENT} has another entry {name}" for name in other)
    if not other:
        yield f"{DOCUMENT} is written in another way (spaces, order, or an entry twice)"


def _plain(document: dict[str, Any], name: str) -> str:
    return json.dumps(document[name]) if name in document else ""


def _packed(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[bytes, bytes]:
    """Return a member's own header, with its name and extra fields, and its compressed content."""
    file = archive.fp
    assert file is not None  # an archive that is open
    file.seek(member.header_offset)
    header = file.read(LOCAL)
    name, extra = struct.unpack("<2H", header[-4:])
    header += file.read(name + extra)
    # Its size is the file's own word, and memory is taken before reading.
    left = os.fstat(file.fileno()).st_size - file.tell()
    return header, file.read(min(member.compress_size, left))


def _size(member: zipfile.ZipInfo) -> int:
    """Return how many bytes a member takes in an archive, without extra fields and a comment."""
    return LOCAL + CENTRAL + 2 * len(member.filename.encode()) + member.compress_size
