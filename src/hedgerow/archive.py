"""Model files: a zip of one JSON document and plain arrays. Nothing in it is ever executed."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import FileFormatError
from hedgerow.files import atomic_file

__all__ = ["read_archive", "write_archive"]

DOCUMENT = "model.json"
LARGEST = 2**31  # bytes that all members together may unpack to
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file

Arrays = Mapping[str, npt.NDArray[Any]]


def write_archive(path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a document and arrays to a file, whole or not at all."""
    with atomic_file(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(DOCUMENT, EPOCH), json.dumps(document, indent=1), zipfile.ZIP_DEFLATED)
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
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
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                if sum(member.file_size for member in archive.infolist()) > LARGEST:
                    raise FileFormatError(f"{path} would unpack to more than {LARGEST >> 30} GiB; it is no model file.")
                document = json.loads(archive.read(DOCUMENT))
                arrays = {
                    name.removesuffix(".npy"): _read_array(archive.read(name))
                    for name in archive.namelist()
                    if name.endswith(".npy")
                }
        except FileFormatError:
            raise
        except Exception as error:  # whatever a damaged member makes the readers raise
            raise FileFormatError(
                f"{path} is not a model file of hedgerow, or it is damaged; save it again."
            ) from error
    if not isinstance(document, dict):
        raise FileFormatError(f"{path} is not a model file of hedgerow; save the model again.")
    return document, arrays


def _read_array(content: bytes) -> npt.NDArray[Any]:
    """Return the array of a member, whose header must promise exactly what follows it."""
    buffer = io.BytesIO(content)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise ValueError("another version of the array format")
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(buffer)
    body = content[buffer.tell() :]
    if dtype.hasobject or fortran_order or math.prod(shape) * dtype.itemsize != len(body):
        raise ValueError("the header does not fit the content")
    return np.frombuffer(body, dtype=dtype).reshape(shape).copy()
