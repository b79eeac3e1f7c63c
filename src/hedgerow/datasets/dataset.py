"""A data set in memory, and how it is read from the published files.

Files come from the folder that the caller names, the folder in ``HEDGEROW_DATA``, the cache (``HEDGEROW_CACHE``, else
``~/.cache/hedgerow``), or the repository that publishes the set. Each holds a set's files in a subfolder of the set's name, as
they are or gzipped (``name.gz``). Every file is compared with a known SHA-256 before one line of it is read.

The UCI repository serves zips that hold the files themselves, another zip, a gzipped tar or gzipped files. They are unpacked
in memory and within a limit; names in an archive are only compared, never used as paths.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import math
import os
import re
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from hedgerow.errors import ConfigurationError, DatasetError
from hedgerow.files import atomic_file
from hedgerow.schema import Numeric, Schema
from hedgerow.texts import short_repr

# An archive in the downloaded one is opened, an archive in that one is not.
NESTED = 1
TIMEOUT_SECONDS = 60.0
# Far above the archives that are fetched (10 MB and less), far below what would trouble a small machine.
MAX_DOWNLOAD = 32 * 2**20


def gunzip(content: bytes, max_bytes: int) -> bytes:
    return _Unpacking(max_bytes).gunzip(content)


def unpack(archive: bytes, names: Iterable[str], max_bytes: int) -> dict[str, bytes]:
    """Return files of a zip, by name without folders; ``max_bytes`` is all that may be unpacked, archives in it included.

    A file may also lie in the zip as ``name.gz``, or in a zip or tar (``.zip``, ``.tar``, ``.tar.gz``, ``.tgz``) in the zip.

    Raises
    ------
    ValueError
        There is more to unpack.
    LookupError
        A file is not there.
    Exception
        What zipfile, tarfile and gzip raise for a damaged archive, which is of many kinds.
    """
    wanted = list(names)
    files = dict(_Unpacking(max_bytes).search("zip", archive, wanted, NESTED))
    if wanted:
        raise LookupError(f"it holds no {' and no '.join(wanted)}")
    return files


class _Unpacking:
    """Archives that are read in memory; every stream is read through one limit."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = self.left = max_bytes

    def read(self, opened: AbstractContextManager[Any]) -> bytes:
        with opened as stream:
            content: bytes = stream.read(self.left + 1)
        self.left -= len(content)
        if self.left < 0:
            raise ValueError(f"it unpacks to more than {self.max_bytes} bytes")
        return content

    def gunzip(self, content: bytes) -> bytes:
        return self.read(gzip.open(io.BytesIO(content)))

    def search(self, kind: str, content: bytes, wanted: list[str], nested: int) -> Iterator[tuple[str, bytes]]:
        """Yield the files that are wanted, and take their names off the list."""
        for path, opened in _members(kind, content):
            name = PurePosixPath(path).name
            if name not in wanted:
                name = re.sub(r"\.gz$", "", re.sub(r"\.tgz$", ".tar.gz", name))
            suffix = name.rpartition(".")[2]
            if name in wanted or (wanted and nested and suffix in ("zip", "tar")):
                inner = self.read(opened())
                if path.endswith((".gz", ".tgz")) and not path.endswith(name):
                    inner = self.gunzip(inner)
                if name in wanted:
                    wanted.remove(name)
                    yield name, inner
                else:
                    yield from self.search(suffix, inner, wanted, nested - 1)


def _members(kind: str, content: bytes) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the path of each member of an archive, and what opens it. Links and folders of a tar are none."""
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as zipped:
            yield from ((info.filename, partial(zipped.open, info)) for info in zipped.infolist())
    else:
        # The content is unpacked already: of a gzipped tar, tarfile would unpack all that it skips, without a limit.
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            yield from ((info.name, partial(tar.extractfile, info)) for info in tar if info.isreg())


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
        home = _expanded(data_home)
        if home.is_file() and len(source.hashes) == 1:  # the file itself, whatever its name is
            [name] = source.hashes
            return {name: _checked(source, name, _bytes_of(source, home), str(home))}
        return _read_local(source, home / source.folder)
    if os.environ.get("HEDGEROW_DATA"):
        home = _expanded(os.environ["HEDGEROW_DATA"])
        if not home.is_dir():
            raise DatasetError(f"HEDGEROW_DATA names {home}, which is not a folder; {source.way_out}.")
        if all(_place(home / source.folder, name) for name in source.hashes):
            return _read_local(source, home / source.folder)
    cache = _expanded(os.environ.get("HEDGEROW_CACHE") or "~/.cache/hedgerow") / source.folder
    # A cached file is ours, not the user's: a damaged one is fetched again instead of reported.
    with suppress(DatasetError):
        return _read_local(source, cache)
    return _fetch(source, cache)


def _expanded(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.expanduser(path))


def _place(folder: Path, name: str) -> Path | None:
    """Return where a folder holds a file, as it is or gzipped."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


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


@dataclass(frozen=True, eq=False)
class Dataset:
    """A published data set with its public schema.

    Parameters
    ----------
    name : str
        The name of the set.
    X : ndarray of shape (n_records, n_features)
        Columns in the order of the schema: float64, or dtype object if the set has words in it. Cells of numeric features are
        then floats, and those of categories text.
    y : ndarray of shape (n_records,)
        The labels.
    schema : Schema
        What is public about the set: written by hand from its codebook, not read off the records.
    X_test, y_test : ndarray or None
        The test part, if the set is published with one.

    Examples
    --------
    >>> import numpy as np, hedgerow as hr
    >>> schema = hr.Schema({"a": hr.Numeric(0, 1)}, classes=["no", "yes"])
    >>> made_up = hr.datasets.Dataset("made up", X=np.array([[0.5]]), y=np.array(["no"]), schema=schema)
    >>> made_up.schema.names, made_up.X_test is None
    (('a',), True)
    """

    name: str
    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    schema: Schema
    X_test: npt.NDArray[Any] | None = None
    y_test: npt.NDArray[Any] | None = None

    __repr__ = short_repr

    def split(
        self, test_size: float, seed: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Split `X` and `y` at random, as the figures that this library is compared with were split.

        The test part is the first ``ceil(n * test_size)`` of ``numpy.random.RandomState(seed).permutation(n)``, the
        rest trains. A published test part (`X_test`) stays out of it.

        Returns
        -------
        X_train, X_test, y_train, y_test : ndarray

        Raises
        ------
        ConfigurationError
            `test_size` does not leave both parts at least one record.
        """
        n = len(self.y)
        size = math.ceil(n * test_size) if 0 < test_size < 1 else 0
        if not 0 < size < n:
            raise ConfigurationError(
                f"test_size={test_size!r} leaves one part of the {n} records empty. Pass a fraction between 0 and 1."
            )
        # The legacy generator, because the published splits came from it.
        order = np.random.RandomState(seed).permutation(n)
        test, train = order[:size], order[size:]
        return self.X[train], self.X[test], self.y[train], self.y[test]


@dataclass(frozen=True)
class Published:
    """A data set as its publisher has it: a file of records to train on and, if there is one, a file of records to test on.

    ``rows`` gives the cells of each record, the label last, from the lines of a file.
    """

    name: str
    source: Source
    rows: Callable[[list[str]], Iterable[Sequence[str]]]
    schema: Callable[[], Schema]
    dtype: Any = object

    def load(self, data_home: str | os.PathLike[str] | None = None) -> Dataset:
        texts = read_files(self.source, data_home)
        schema = self.schema()
        parts: list[npt.NDArray[Any]] = []
        for name in self.source.hashes:  # each text is let go once it is read: those of Census-Income have 156 MB
            parts += self._records(texts.pop(name).splitlines(), schema)
        return Dataset(self.name, parts[0], parts[1], schema, *parts[2:])

    def _records(self, lines: list[str], schema: Schema) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        cells = (cell for row in self.rows(lines) for cell in row)
        records = np.fromiter(cells, dtype=object).reshape(-1, len(schema.names) + 1)
        X = records[:, :-1]
        return with_numbers(X, schema) if self.dtype is object else X.astype(self.dtype), records[:, -1].astype(str)


def with_numbers(X: npt.NDArray[Any], schema: Schema) -> npt.NDArray[Any]:
    """Return text cells after those of numeric features became floats, in place, except where they are missing."""
    for place, feature in enumerate(schema.features.values()):
        if isinstance(feature, Numeric):
            known = ~np.isin(X[:, place], schema.missing)
            X[known, place] = X[known, place].astype(np.float64)
    return X


def packaged_schema(name: str) -> Schema:
    with resources.as_file(resources.files("hedgerow.datasets") / f"{name}.toml") as path:
        return Schema.load(path)
