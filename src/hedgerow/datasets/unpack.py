"""Files out of a downloaded archive, in memory and within a limit.

The UCI repository serves zips that hold the files themselves, another zip, a gzipped tar or gzipped files. Names in an
archive are only compared, never used as paths.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import PurePosixPath
from typing import Protocol

__all__ = ["gunzip", "unpack"]

# An archive in the downloaded one is opened, an archive in that one is not.
NESTED = 1


def gunzip(content: bytes, max_bytes: int) -> bytes:
    """Return what a gzip file holds; errors as in ``unpack``."""
    return _Limit(max_bytes).gunzip(content)


def unpack(archive: bytes, names: Iterable[str], max_bytes: int) -> dict[str, bytes]:
    """Return files of a zip, by name.

    Parameters
    ----------
    archive
        The zip.
    names
        The names of the files, without folders. A file may also lie in the zip as ``name.gz``, or in a zip or tar
        (``.zip``, ``.tar``, ``.tar.gz``, ``.tgz``) in the zip.
    max_bytes
        How many bytes may be unpacked in all, those of archives in the archive included.

    Raises
    ------
    ValueError
        There is more to unpack.
    LookupError
        A file is not there.
    Exception
        What zipfile, tarfile and gzip raise for a damaged archive, which is of many kinds.
    """
    search = _Search(names, max_bytes)
    search.in_zip(archive, NESTED)
    if search.wanted:
        raise LookupError(f"it holds no {' and no '.join(search.wanted)}")
    return search.found


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Limit:
    """How many bytes may still be unpacked; every stream is read through it."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = self.left = max_bytes

    def read(self, stream: _Stream) -> bytes:
        content = stream.read(self.left + 1)
        self.left -= len(content)
        if self.left < 0:
            raise ValueError(f"it unpacks to more than {self.max_bytes} bytes")
        return content

    def gunzip(self, content: bytes) -> bytes:
        with gzip.open(io.BytesIO(content)) as stream:
            return self.read(stream)


class _Search:
    """The search for files in an archive: which are wanted still, which are found."""

    def __init__(self, names: Iterable[str], max_bytes: int) -> None:
        self.wanted = list(names)
        self.found: dict[str, bytes] = {}
        self.limit = _Limit(max_bytes)

    def in_zip(self, content: bytes, nested: int) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for info in archive.infolist():
                self.visit(info.filename, partial(self.zip_member, archive, info), nested)

    def in_tar(self, content: bytes, nested: int) -> None:
        # The content is unpacked already: of a gzipped tar, tarfile would unpack all that it skips, without a limit.
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for info in archive:
                if info.isreg():
                    self.visit(info.name, partial(self.tar_member, archive, info), nested)

    def visit(self, path: str, member: Callable[[], bytes], nested: int) -> None:
        """Read a member if it is wanted or may hold what is wanted."""
        name = PurePosixPath(path).name
        if name in self.wanted:
            self.found[name] = member()
            self.wanted.remove(name)
        elif name.endswith((".gz", ".tgz")):
            inside = name.removesuffix(".gz") if name.endswith(".gz") else name.removesuffix(".tgz") + ".tar"
            self.visit(inside, lambda: self.limit.gunzip(member()), nested)
        elif self.wanted and nested and name.endswith(".zip"):
            self.in_zip(member(), nested - 1)
        elif self.wanted and nested and name.endswith(".tar"):
            self.in_tar(member(), nested - 1)

    def zip_member(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
        with archive.open(info) as stream:
            return self.limit.read(stream)

    def tar_member(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
        stream = archive.extractfile(info)
        assert stream is not None, "a regular file has content"
        with stream:
            return self.limit.read(stream)
