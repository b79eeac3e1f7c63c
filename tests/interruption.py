"""Raise at every line of some files in turn, as Ctrl-C, a time limit or a lack of memory may."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import hedgerow

SOURCE = Path(hedgerow.__file__).parent
MOST = 20_000  # lines of one action


class Interrupted(BaseException):
    """What falls between two lines."""


def _interrupt() -> None:
    raise Interrupted


@contextmanager
def interrupted_at(number: int, files: tuple[str, ...], by: Callable[[], None] = _interrupt) -> Iterator[list[str]]:
    """Raise at the line of these files that is reached as number ``number``, counted from 1; yield where that was, if at all.

    ``by`` is what is called there, as the handler of a signal is; it may return, and the action goes on.
    """
    names = tuple(str(SOURCE / file) for file in files)
    left, where = number, []

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(names):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                where.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
                sys.settrace(None)
                by()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield where
    except Interrupted:
        pass
    finally:
        sys.settrace(before)


def at_every_line(
    files: tuple[str, ...],
    prepare: Callable[[], Any],
    act: Callable[[Any], Any],
    handle: Callable[[Any], None] | None = None,
) -> Iterator[tuple[str, Any, Any]]:
    """Yield where an action was broken off, what was prepared for it and what it returned (None where it was broken off).

    The action is repeated, each time on something newly prepared, until it gets through; that last time is yielded too, as
    "nowhere". ``handle`` is called in place of an exception, with what was prepared.
    """
    for number in range(1, MOST):
        prepared, answer = prepare(), None
        by = _interrupt if handle is None else partial(handle, prepared)
        with interrupted_at(number, files, by) as where:
            answer = act(prepared)
        yield (where[0] if where else "nowhere"), prepared, answer
        if not where:
            return
    raise AssertionError("the action has no end")
