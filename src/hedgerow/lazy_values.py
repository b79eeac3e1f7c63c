"""Values of objects that are computed once, at their first use, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

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
