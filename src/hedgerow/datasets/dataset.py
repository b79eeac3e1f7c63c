"""A data set in memory, and how it is read from the published files.

Files come from the folder that the caller names, the folder in ``HEDGEROW_DATA``, the cache (``HEDGEROW_CACHE``, else
``~/.cache/hedgerow``), or the repository that publishes the set. Each holds a set's files in a subfolder of the set's name, as
they are or gzipped (``name.gz``). Every file is compared with a known SHA-256 before one line of it is read.

The UCI repository serves zips that hold the files themselves, another zip or a gzipped tar. They are unpacked in memory and
within a limit; names in an archive are only compared, never used as paths.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import math
import os
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
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

TIMEOUT_SECONDS = 60.0
# Far above the archives that are fetched (10 MB and less), far below what would trouble a small machine.
MAX_DOWNLOAD = 32 * 2**20


def unpack(archive: bytes, names: Iterable[str], max_bytes: int) -> dict[str, bytes]:
    """Return files of a zip, or of a zip or gzipped tar in it, by name without folders.

    ``max_bytes`` is all that may be unpacked, archives in it included: ValueError if there is more, LookupError if a file is not
    there. A damaged archive raises what zipfile, tarfile and gzip raise, which is of many kinds.
    """
    wanted, files, left = list(names), {}, max_bytes

    def read(opened: AbstractContextManager[Any]) -> bytes:
        nonlocal left
        with opened as stream:
            content: bytes = stream.read(left + 1)
        left -= len(content)
        if left < 0:
            raise ValueError(f"it unpacks to more than {max_bytes} bytes")
        return content

    def take(path: str, opened: Callable[[], Any]) -> None:
        name = PurePosixPath(path).name
        if name in wanted:
            wanted.remove(name)
            files[name] = read(opened())

    with zipfile.ZipFile(io.BytesIO(archive)) as outer:
        for info in outer.infolist():
            take(info.filename, partial(outer.open, info))
            if wanted and info.filename.endswith(".zip"):
                with zipfile.ZipFile(io.BytesIO(read(outer.open(info)))) as inner:
                    for one in inner.infolist():
                        take(one.filename, partial(inner.open, one))
            elif wanted and info.filename.endswith(".tar.gz"):
                # Unpacked first: of a gzipped tar, tarfile would unpack all that it skips, without a limit.
                content = read(gzip.GzipFile(fileobj=io.BytesIO(read(outer.open(info)))))
                with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
                    for member in tar:
                        if member.isreg():  # links and folders are no files
                            take(member.name, partial(tar.extractfile, member))
    if wanted:
        raise LookupError(f"it holds no {' and no '.join(wanted)}")
    return files


def digest(content: bytes) -> str:
    r"""Hash a text file, reading each line end as \n: archives and tools that unpack them differ in that alone."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def packaged_schema(name: str) -> Schema:
    with resources.as_file(resources.files("hedgerow.datasets") / f"{name}.toml") as path:
        return Schema.load(path)


@dataclass(frozen=True)
class Published:
    """A data set as its publisher has it: a file of records to train on and, if there is one, a file of records to test on."""

    name: str
    folder: str
    hashes: Mapping[str, str]
    page: str
    rows: Callable[[list[str]], Iterable[Sequence[str]]]
    url: str | None = None
    dtype: Any = object
    max_bytes: int = 32 * 2**20

    def load(self, data_home: str | os.PathLike[str] | None = None) -> Dataset:
        texts, schema = self.read_files(data_home), packaged_schema(self.name)
        parts: list[npt.NDArray[Any]] = []
        for name in self.hashes:  # each text is let go once it is read: those of Census-Income have 156 MB
            cells = (cell for row in self.rows(texts.pop(name).splitlines()) for cell in row)
            records = np.fromiter(cells, dtype=object).reshape(-1, len(schema.names) + 1)
            X = records[:, :-1]
            for place, feature in enumerate(schema.features.values()):
                if isinstance(feature, Numeric):
                    known = ~np.isin(X[:, place], schema.missing)
                    X[known, place] = X[known, place].astype(np.float64)
            parts += [X.astype(self.dtype, copy=False), records[:, -1].astype(str)]
        return Dataset(self.name, parts[0], parts[1], schema, *parts[2:])

    def read_files(self, data_home: str | os.PathLike[str] | None = None) -> dict[str, str]:
        """Return the text of each file of the set, by name."""
        if data_home is not None:
            home = Path(data_home).expanduser()
            if home.is_file() and len(self.hashes) == 1:  # the file itself, whatever its name is
                return {name: self._read(name, home) for name in self.hashes}
            return self._read_local(home / self.folder)
        if os.environ.get("HEDGEROW_DATA"):
            home = Path(os.environ["HEDGEROW_DATA"]).expanduser()
            if not home.is_dir():
                raise DatasetError(f"HEDGEROW_DATA names {home}, which is not a folder; {self._way_out}.")
            if all(_place(home / self.folder, name) for name in self.hashes):
                return self._read_local(home / self.folder)
        cache = Path(os.environ.get("HEDGEROW_CACHE") or "~/.cache/hedgerow").expanduser() / self.folder
        # A cached file is ours, not the user's: a damaged one is fetched again instead of reported.
        with suppress(DatasetError):
            return self._read_local(cache)
        return self._fetch(cache)

    @property
    def _way_out(self) -> str:
        names = " and ".join(f"{self.folder}/{name}" for name in self.hashes)
        return f"get the files from {self.page} and set HEDGEROW_DATA to a folder that holds {names} (or .gz of them)"

    def _read_local(self, folder: Path) -> dict[str, str]:
        places = {name: _place(folder, name) or folder / name for name in self.hashes}
        for path in places.values():
            if not path.is_file():
                raise DatasetError(f"{path} does not exist; {self._way_out}.")
        return {name: self._read(name, path) for name, path in places.items()}

    def _read(self, name: str, path: Path) -> str:
        try:
            content = path.read_bytes()
            if path.suffix == ".gz":
                with gzip.open(io.BytesIO(content)) as file:
                    content = file.read(self.max_bytes + 1)
                if len(content) > self.max_bytes:
                    raise ValueError(f"it unpacks to more than {self.max_bytes} bytes")
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise DatasetError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        return self._checked(name, content, str(path))

    def _checked(self, name: str, content: bytes, origin: str) -> str:
        if digest(content) != self.hashes[name]:
            raise DatasetError(
                f"{origin} is not the published {name}: its SHA-256 is {digest(content)}, expected {self.hashes[name]}, "
                f"so its rows would not give comparable results; {self._way_out}."
            )
        return content.decode("utf-8").replace("\r\n", "\n")

    def _fetch(self, cache: Path) -> dict[str, str]:
        if self.url is None:
            raise DatasetError(f"no licence allows hedgerow to fetch the {self.folder} data; {self._way_out}.")
        try:
            with _open_url(self.url) as response:
                archive = response.read(MAX_DOWNLOAD + 1)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise DatasetError(f"{self.url} could not be fetched ({reason}); {self._way_out}.") from error
        if len(archive) > MAX_DOWNLOAD:
            raise DatasetError(f"{self.url} is larger than {MAX_DOWNLOAD} bytes, unlike the archive; {self._way_out}.")
        try:
            contents = unpack(archive, self.hashes, self.max_bytes)
        except Exception as error:  # whatever a damaged archive makes the readers raise
            raise DatasetError(f"{self.url} did not give the published archive ({error}); {self._way_out}.") from error
        texts = {name: self._checked(name, part, f"{self.url}, member {name},") for name, part in contents.items()}
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


def _place(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


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

    def split(self, test_size: float, seed: int) -> tuple[npt.NDArray[Any], ...]:
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
            raise ConfigurationError(f"test_size={test_size!r} leaves one part of {n} records empty; pass a fraction.")
        # The legacy generator, because the published splits came from it.
        order = np.random.RandomState(seed).permutation(n)
        test, train = order[:size], order[size:]
        return self.X[train], self.X[test], self.y[train], self.y[test]
