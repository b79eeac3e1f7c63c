"""Model files: a zip of one JSON document and plain arrays. Nothing in it is ever executed."""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from hedgerow import files
from hedgerow.errors import FileFormatError

DOCUMENT = "model.json"
SIGNATURE = "signature.json"
LARGEST_SIGNATURE = 4096  # bytes
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file

ENTRY = b"PK\1\2"  # begins a member's entry in the directory of the archive
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others let a file say how much memory unpacking takes
MAGIC = b"\x93NUMPY\1\0"
HEADER = re.compile(  # what numpy writes of plain arrays: no objects, no structures, nothing that would be evaluated
    rb"\{'descr': '([<>|][biuf][1248])', 'fortran_order': False, 'shape': \(((?:[0-9]{1,18}, ?)*[0-9]{0,18})\), \} *\n"
)
CHUNK = 2**20  # bytes that are unpacked at once
RAISE = "if you trust the file, pass more as max_bytes to hedgerow.load"

Arrays = Mapping[str, npt.NDArray[Any]]
Signer = Callable[[Mapping[str, str]], bytes]  # from the SHA-256 of each member to the content of ``SIGNATURE``


def write_archive(path: files.Place, document: Mapping[str, Any], arrays: Arrays, sign: Signer | None = None) -> None:
    if files.is_path(path, "write"):
        with files.atomic_file(path) as part:
            _write_zip(part, document, arrays, sign)
    else:  # an archive is written by going back, which a stream cannot
        content = io.BytesIO()
        _write_zip(content, document, arrays, sign)
        files.write_object(path, content.getvalue())


def _write_zip(
    place: Path | IO[bytes], document: Mapping[str, Any], arrays: Arrays, sign: Signer | None = None
) -> None:
    hashes: dict[str, str] = {}

    def write(name: str, content: bytes) -> None:
        hashes[name] = sha256(content).hexdigest()
        archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)

    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        write(DOCUMENT, json.dumps(document, indent=1).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
            write(f"{name}.npy", buffer.getvalue())
        if sign is not None:
            write(SIGNATURE, sign(hashes))


def read_archive(path: files.Place, max_bytes: int | None = None) -> tuple[dict[str, Any], Members]:
    """Return the document of a file, and its arrays, each of which is unpacked when it is asked for."""
    name, most = files.place_name(path), None if max_bytes is None else max_bytes + files.OVERHEAD
    if files.is_path(path, "read"):
        if os.path.exists(path) and not os.path.isfile(path):
            raise FileFormatError(f"{path} is no regular file, and so not a model file of hedgerow.")
        most = files.LARGEST_MODEL if most is None else most
    content = files.read_place(path, most, RAISE)  # what changes the file later is not read
    allowed = files.Allowance.of_file(len(content), max_bytes)
    try:
        members = Members(content, allowed)
        document = read_document(members.read(DOCUMENT), allowed.values)
    except FileFormatError as error:
        raise FileFormatError(
            f"{name} is not a model file of hedgerow, or it was altered or damaged: {error}."
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged archive makes zipfile raise
        raise FileFormatError(
            f"{name} is not a model file of hedgerow, or it was altered or damaged: get it again from whoever saved it."
        ) from error
    return document, members


class Members(Mapping[str, npt.NDArray[Any]]):
    """The arrays of an archive by name; looking at one unpacks it, and no others."""

    def __init__(self, content: bytes, allowed: files.Allowance) -> None:
        """Check the directory of an archive and nothing else; FileFormatError if it is not as save writes it."""
        if content.count(ENTRY) > files.MOST_MEMBERS:
            raise FileFormatError(f"it has more than {files.MOST_MEMBERS} members")
        self.allowed = allowed
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        members = self._archive.infolist()
        names = [member.filename for member in members]
        # a line of what a signature signs holds one name
        if len(set(names)) != len(names) or not all(name.isascii() and name.isprintable() for name in names):
            raise FileFormatError("it has a member twice, or one of another name than save gives")
        if any(member.compress_type not in PACKED for member in members):
            raise FileFormatError("it is packed in another way than save packs")
        size = sum(member.file_size for member in members)
        if size > allowed.bytes:
            raise FileFormatError(f"it unpacks to {size} bytes, and {allowed.bytes} are allowed; {RAISE}")
        self._names = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        member = self._archive.getinfo(f"{name}.npy")
        with self._opened(member.filename, f"array {name}") as file:
            return _read_array(file, member.file_size)

    def hashes(self) -> dict[str, str]:
        members = [member for member in self._archive.infolist() if member.filename != SIGNATURE]
        return {one.filename: sha256(self._first(one.filename, one.file_size)).hexdigest() for one in members}

    def signature(self) -> bytes | None:
        """Return the content of the signature, of which what no signature has is cut off; None if the file has none."""
        return self._first(SIGNATURE, LARGEST_SIGNATURE) if SIGNATURE in self._archive.namelist() else None

    def read(self, name: str) -> bytes:
        member = self._archive.getinfo(name)
        if member.file_size > self.allowed.document:
            raise FileFormatError(
                f"its {name} takes {member.file_size} bytes, and {self.allowed.document} are allowed; {RAISE}"
            )
        return self._first(name, member.file_size)

    def _first(self, name: str, size: int) -> bytes:
        """Return so many bytes of a member: zipfile unpacks as many as it is asked for, whatever the directory says."""
        with self._opened(name, name) as file:
            return file.read(size)

    @contextmanager
    def _opened(self, name: str, what: str) -> Iterator[IO[bytes]]:
        try:
            with self._archive.open(name) as file:
                yield file
        except MemoryError:  # which says nothing about the file
            raise
        except Exception as error:
            raise FileFormatError(f"the file's {what} is damaged; save the model again") from error


def array_of(
    arrays: Arrays,
    name: str,
    dtype: type[np.generic],
    shape: tuple[int | None, ...],
    low: float | None = None,
    high: float | None = None,
) -> npt.NDArray[Any]:
    """Return an array of a file, or raise FileFormatError unless it has this type, shape (None: any length) and range."""
    array = arrays.get(name)
    if (
        array is not None
        and array.dtype == dtype
        and array.ndim == len(shape)
        and all(size in (None, own) for size, own in zip(shape, array.shape, strict=True))
        and (not array.size or ((low is None or array.min() >= low) and (high is None or array.max() <= high)))
    ):
        return array
    raise FileFormatError(f"the file's array {name} is damaged; fit the model again.")


def _read_array(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    start = file.read(len(MAGIC) + 2)
    header = file.read(int.from_bytes(start[-2:], "little"))
    match = HEADER.fullmatch(header)
    if start[:-2] != MAGIC or match is None:
        raise ValueError("no header of a plain array")
    dtype = np.dtype(match[1].decode())
    shape = tuple(int(part) for part in match[2].split(b",") if part.strip())
    if len(start) + len(header) + math.prod(shape) * dtype.itemsize != size:
        raise ValueError("the header does not fit the content")
    array = np.empty(shape, dtype=dtype)
    body = array.reshape(-1).view(np.uint8)
    for place in range(0, len(body), CHUNK):
        wanted = body[place : place + CHUNK]
        part = file.read(len(wanted))
        if len(part) != len(wanted):
            raise ValueError("the content ends too early")
        wanted[:] = np.frombuffer(part, dtype=np.uint8)
    return array.astype(dtype.newbyteorder("="), copy=False)


TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (files.LONGEST_NUMBER + 1))
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_document(content: bytes, most_values: int) -> dict[str, Any]:
    _check_size(content, most_values)

    def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(values := dict(pairs)) != len(pairs):
            raise ValueError("a key stands twice")
        return values

    def finite(text: str) -> float:
        if not math.isfinite(value := float(text)):  # inf, which JSON does not have, among them
            raise ValueError("a number is too large for a float")
        return value

    try:
        document = json.loads(content.decode(), object_pairs_hook=of_pairs, parse_float=finite, parse_constant=finite)
        json.dumps(document, ensure_ascii=False).encode()  # a lone half of a surrogate pair is found here
    except (ValueError, RecursionError) as error:
        raise FileFormatError("its document is no JSON that save writes") from error
    if not isinstance(document, dict):
        raise FileFormatError("its document is no JSON object")
    return document


def _check_size(content: bytes, most_values: int) -> None:
    """Raise FileFormatError where parsing would take too much memory, in time that grows with the length alone."""
    bare = TEXT.sub(b"", content)
    if sum(map(bare.count, (b",", b"[", b"{"))) > most_values:
        raise FileFormatError(f"its document has more than {most_values} values")
    brackets = np.frombuffer(bare.translate(None, NO_BRACKETS), dtype=np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    if len(steps) and int(np.cumsum(steps).max()) > files.DEEPEST_DOCUMENT:
        raise FileFormatError(f"its document is more than {files.DEEPEST_DOCUMENT} brackets deep")
    if LONG_NUMBER.search(bare):
        raise FileFormatError(f"its document has a number of more than {files.LONGEST_NUMBER} digits")
