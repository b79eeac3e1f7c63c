"""Whether something may have been spent yet: a ledger's entry began, or a first draw did."""

from __future__ import annotations

from typing import Self

__all__ = ["Watch", "began"]

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
