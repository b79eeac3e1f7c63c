"""Threads over independent pieces of work; kernels run without the interpreter lock, so they run side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["available_threads", "for_each", "for_slices", "single"]

Item = TypeVar("Item")

FEW_ROWS = 1 << 13  # fewer take longer on two threads

_here = (
    threading.local()
)  # a thread of a pool does what it is given by itself: pools within pools would crowd the processors


def available_threads() -> int:
    """Return how many processors this process may use, at most 8: beyond that the memory is the limit."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


def for_each(items: Iterable[Item], work: Callable[[Item], None], threads: int | None = None) -> None:
    """Call ``work`` for every item, on as many threads as asked for; the pieces must not share what they write.

    Where one fails, or this is interrupted, those that have not begun never do.
    """
    items = list(items)
    threads = min(available_threads() if threads is None else threads, len(items))
    if threads <= 1 or getattr(_here, "in_pool", False):
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads, initializer=_enter_pool) as pool:
        try:
            for _ in pool.map(work, items):
                pass
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _enter_pool() -> None:
    _here.in_pool = True


@contextmanager
def single() -> Iterator[None]:
    """Do what is done within on this thread alone, as where others of the same machine have their own share of the work."""
    before = getattr(_here, "in_pool", False)
    _here.in_pool = True
    try:
        yield
    finally:
        _here.in_pool = before


def for_slices(rows: int, work: Callable[[slice], None], few: int = FEW_ROWS) -> None:
    """Call ``work`` for slices that together are all rows; ``few`` are not worth a second thread."""
    step = max(few, -(-rows // available_threads()))
    for_each([slice(start, start + step) for start in range(0, rows, step)], work)
