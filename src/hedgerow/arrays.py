"""Names of array types, checks of shapes and frozen copies; and values of objects that are computed at their first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

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


Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - a decorator, like property
    """``functools.cached_property`` without its lock, which Python 3.11 shares among all objects of a class.

    A process that is forked while another thread holds such a lock waits for it forever. Two threads may compute a value at the
    same time; both get the one that was stored first.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.func = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, owner: type) -> Self: ...
    @overload
    def __get__(self, holder: object, owner: type) -> Value: ...
    def __get__(self, holder: object | None, owner: type) -> Self | Value:
        if holder is None:
            return self
        value: Value = vars(holder).setdefault(self._name, self.func(holder))
        return value
