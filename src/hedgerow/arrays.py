"""Arrays: names of their types, checks of their shapes, as kernels do not look at ends, and copies that nobody writes to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truth = npt.NDArray[np.bool_]


def check_shape(array: npt.NDArray[Any], shape: tuple[int, ...], what: str) -> None:
    """Raise ValueError unless the array has the shape that a kernel will read; beyond its end is foreign memory.

    Shapes follow from the schema, the configuration and the number of records, never from what a record holds, so a wrong one
    is an error in code.
    """
    if array.shape != shape:
        raise ValueError(f"{what} should be of shape {shape}, but an array of shape {array.shape} was passed.")


def frozen_copy(array: npt.ArrayLike, kind: Any) -> npt.NDArray[Any]:
    """Return a copy of an array that cannot be made writeable again."""
    array = np.asarray(array)
    return np.frombuffer(array.astype(kind).tobytes(), dtype=kind).reshape(array.shape)
