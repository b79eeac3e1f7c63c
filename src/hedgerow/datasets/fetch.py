"""Where the files of a data set come from, and how they are checked.

The order is: the folder that the caller names, the folder in ``HEDGEROW_DATA``, the cache (``HEDGEROW_CACHE``, else
``~/.cache/hedgerow``), the repository that publishes the set. Each holds a set's files in a subfolder of the set's
name, as they are or gzipped (``name.gz``). Every file is compared with a known SHA-256 before one line of it is read,
wherever it came from.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from hedgerow.datasets.unpack import gunzip, unpack
from hedgerow.errors import DatasetError
from hedgerow.files import atomic_file

__all__ = ["Source", "digest", "read_file", "read_files"]

TIMEOUT_SECONDS = 60.0
# Far above the archives that are fetched (10 MB and less), far below what would trouble a small machine.
MAX_DOWNLOAD = 32 * 2**20


@dataclass(frozen=True)
class Source:
    """The files of one data set: the subfolder, SHA-256 by file name, a person's page and an archive's address.

    The SHA-256 is the ``digest`` of the unpacked file. `max_bytes` is what a gzipped file, or all that is unpacked from
    the archive, may come to.
    """

    folder: str
    hashes: Mapping[str, str]
    page: str
    url: str | None = None
    max_bytes: int = 32 * 2**20

    @property
    def way_out(self) -> str:
        """What a user can do when the files cannot be had."""
        names = " and ".join(f"{self.folder}/{name}" for name in self.hashes)
        return f"get the files from {self.page} and set HEDGEROW_DATA to a folder that holds {names} (or .gz of them)"


def digest(content: bytes) -> str:
    r"""Hash a text file, reading each line end as \n: archives and tools that unpack them differ in that alone."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def read_files(source: Source, data_home: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Return the text of each file of a set, by name.

    Raises
    ------
    DatasetError
        No place has the files, they are not the published ones, or they could not be fetched.
    """
    if data_home is not None:
        return _read_local(source, _expanded(data_home) / source.folder)
    if os.environ.get("HEDGEROW_DATA"):
        home = _expanded(os.environ["HEDGEROW_DATA"])
        if not home.is_dir():
            raise DatasetError(f"HEDGEROW_DATA names {home}, which is not a folder; {source.way_out}.")
        if _is_complete(source, home / source.folder):
            return _read_local(source, home / source.folder)
    cache = _expanded(os.environ.get("HEDGEROW_CACHE") or "~/.cache/hedgerow") / source.folder
    # A cached file is ours, not the user's: a damaged one is fetched again instead of reported.
    with suppress(DatasetError):
        return _read_local(source, cache)
    return _fetch(source, cache)


def read_file(source: Source, path: str | os.PathLike[str]) -> str:
    """Return the text of a one-file set from the file that the caller names, whatever its name is."""
    [name] = source.hashes
    return _checked(source, name, _bytes_of(source, _expanded(path)), str(path))


def _expanded(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.expanduser(path))


def _place(folder: Path, name: str) -> Path | None:
    """Return where a folder holds a file, as it is or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _is_complete(source: Source, folder: Path) -> bool:
    return all(_place(folder, name) for name in source.hashes)


def _bytes_of(source: Source, path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gunzip(content, source.max_bytes) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DatasetError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _read_local(source: Source, folder: Path) -> dict[str, str]:
    texts = {}
    for name in source.hashes:
        path = _place(folder, name)
        if path is None:
            raise DatasetError(f"{folder / name} does not exist; {source.way_out}.")
        texts[name] = _checked(source, name, _bytes_of(source, path), str(path))
    return texts


def _checked(source: Source, name: str, content: bytes, origin: str) -> str:
    if digest(content) != source.hashes[name]:
        raise DatasetError(
            f"{origin} is not the published {name}: its SHA-256 is {digest(content)}, expected {source.hashes[name]}, "
            f"so its rows would not give comparable results; {source.way_out}."
        )
    return content.decode("utf-8").replace("\r\n", "\n")


def _fetch(source: Source, cache: Path) -> dict[str, str]:
    if source.url is None:
        raise DatasetError(
            f"hedgerow may not fetch the {source.folder} data, as no licence allows it; {source.way_out}."
        )
    archive = _download(source, source.url)
    try:
        contents = unpack(archive, source.hashes, source.max_bytes)
    except Exception as error:  # whatever a damaged archive makes the readers raise
        raise DatasetError(f"{source.url} did not give the published archive ({error}); {source.way_out}.") from error
    texts = {
        name: _checked(source, name, content, f"{source.url}, member {name},") for name, content in contents.items()
    }
    try:
        for name, content in contents.items():
            (cache / name).parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(cache / name) as part:
                part.write_bytes(content)
    except OSError as error:
        raise DatasetError(
            f"The cache {cache} cannot be written ({error}); set HEDGEROW_CACHE to a folder that can."
        ) from error
    return texts


def _open_url(url: str) -> AbstractContextManager[BinaryIO]:
    # This opener speaks https and nothing else: a redirect to another scheme ends in "unknown url type".
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return cast(AbstractContextManager[BinaryIO], opener.open(url, timeout=TIMEOUT_SECONDS))


def _download(source: Source, url: str) -> bytes:
    try:
        with _open_url(url) as response:
            content = response.read(MAX_DOWNLOAD + 1)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DatasetError(f"{url} could not be fetched ({reason}); {source.way_out}.") from error
    if len(content) > MAX_DOWNLOAD:
        raise DatasetError(
            f"{url} is larger than {MAX_DOWNLOAD} bytes, so it is not the published archive; {source.way_out}."
        )
    return content
