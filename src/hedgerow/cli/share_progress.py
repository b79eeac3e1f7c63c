"""How far a fit or a prediction is, on a terminal and nowhere else: shares tell how many records there are."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self

__all__ = ["ShareProgress"]

WIDTH = 20
PAUSE = 0.1  # seconds


class ShareProgress:
    """A bar on standard error for the share of the bytes that were read, then for each question that is counted.

    Where standard error is no terminal, or it is not to be ``shown``, nothing is written: a log would keep what depends on the
    records.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._terminal = shown and sys.stderr is not None and sys.stderr.isatty()
        self._next = 0.0
        self._width = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write("")
        if self._width:
            sys.stderr.write("\r")

    def read(self, share: float | None) -> None:
        """Show how much was read."""
        self._show("reading" if share is None else f"{_bar(share)} of the bytes read")

    def counted(self, question: int, share: float) -> None:
        """Show how much of a question was counted."""
        self._show(f"{_bar(share)} of round {question} counted")

    def _show(self, line: str) -> None:
        if not self._terminal or time.monotonic() < self._next:
            return
        with self._lock:
            self._next = time.monotonic() + PAUSE
            self._write(line)

    def _write(self, line: str) -> None:
        if self._terminal and (line or self._width):
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line) if line else self._width


def _bar(share: float) -> str:
    return f"[{'#' * int(WIDTH * share):.<{WIDTH}}] {int(100 * share):3d} %"
