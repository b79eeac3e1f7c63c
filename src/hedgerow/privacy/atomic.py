"""A value that is replaced in one step, even if another thread or the handler of a signal replaces it meanwhile.

A lock cannot do this. A lock that excludes its own thread hangs if a handler sends a query in the middle of another query. A
lock that admits its own thread lets the outer query overwrite the charge of the handler's query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class _Link(Generic[Value]):
    """A value, and the one that came after it, under the key 0; a dictionary takes the first of two in one step."""

    value: Value
    after: dict[int, _Link[Value]] = field(default_factory=dict)


class Atomic(Generic[Value]):
    """Holds one immutable value."""

    def __init__(self, value: Value) -> None:
        self._link = _Link(value)

    @property
    def value(self) -> Value:
        return self._last().value

    def update(self, change: Callable[[Value], Value]) -> Value:
        """Replace the value by ``change(value)``, and return the result; if ``change`` raises, the value stays the same.

        ``change`` must have no effects: it is called again if somebody else replaced the value first.
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


_watching: list[Watch] = []


class Watch:
    """A context that notices whether a ledger's entry, or a draw, began within it; ``begun`` stays afterwards."""

    def __init__(self) -> None:
        self.begun = False

    def __enter__(self) -> Self:
        _watching.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _watching.remove(self)


def began() -> None:
    """Note that an entry, or a draw, is about to begin. An interruption from here on may come after something was spent."""
    for watch in _watching:
        watch.begun = True
