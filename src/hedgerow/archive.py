"""Model files: a zip of one JSON document and plain arrays. Nothing in it is ever executed."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import FileFormatError

__all__ = ["atomic_file", "read_archive", "write_archive"]

DOCUMENT = "model.json"
LARGEST = 2**31  # bytes that all members together may unpack to
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file

Arrays = Mapping[str, npt.NDArray[Any]]


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place at the end, or vanishes if anything goes wrong."""
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_archive(path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a document and arrays to a file, whole or not at all."""
    with atomic_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(DOCUMENT, EPOCH), json.dumps(document, indent=1), zipfile.ZIP_DEFLATED)
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", EPOCH), buffer.getvalue(), zipfile.ZIP_DEFLATED)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the document and the arrays of a file.

    Raises
    ------
    FileFormatError
        If the file is not one that ``write_archive`` wrote.
    OSError
        If it cannot be opened.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > LARGEST:
                raise FileFormatError(f"{path} would unpack to more than {LARGEST >> 30} GiB; it is no model file.")
            document = json.loads(archive.read(DOCUMENT))
            arrays = {
                member.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(member)), allow_pickle=False
                )
                for member in archive.namelist()
                if member.endswith(".npy")
            }
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(
            f"{path} is not a model file of hedgerow, or it is damaged; save the model again."
        ) from error
    if not isinstance(document, dict):
        raise FileFormatError(f"{path} is not a model file of hedgerow; save the model again.")
    return document, arrays
