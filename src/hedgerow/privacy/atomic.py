"""A value that is replaced in one step, whoever else replaces it meanwhile: another thread, or the handler of a signal.

A lock cannot do this. One that shuts out its own thread hangs where a handler asks in the middle of a query, and one that
lets it in lets the outer query overwrite what the handler's was charged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Atomic"]

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class _Link(Generic[Value]):
    """A value, and the one that came after it, under the key 0; a dictionary takes the first of two in one step."""

    value: Value
    after: dict[int, _Link[Value]] = field(default_factory=dict)


class Atomic(Generic[Value]):
    """Holds one immutable value.

    Parameters
    ----------
    value
        The first one.
    """

    def __init__(self, value: Value) -> None:
        self._link = _Link(value)

    @property
    def value(self) -> Value:
        """The value as it is now."""
        return self._last().value

    def update(self, change: Callable[[Value], Value]) -> Value:
        """Replace the value by what ``change`` makes of it, and return that; what ``change`` raises leaves it as it is.

        ``change`` has no effects: it is called again where somebody else was first.
        """
        while True:
            before = self._last()
            after = _Link(change(before.value))
            if before.after.setdefault(0, after) is after:
                return after.value

    def _last(self) -> _Link[Value]:
        link = self._link
        while link.after:
            link = link.after[0]
        self._link = link
        return link
