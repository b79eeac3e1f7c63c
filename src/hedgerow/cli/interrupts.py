"""Ctrl-C that no destructor swallows, and that shows no traceback of anybody's."""

from __future__ import annotations

import _thread
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["heard"]

AGAIN = 0.005  # seconds after which an interruption that was swallowed comes once more


@contextmanager
def heard() -> Iterator[None]:
    """Deliver an interruption again that fell into a destructor or a weak reference's callback, which Python ignores.

    Python would print it with a traceback and go on. What SQLAlchemy logs of an interruption within its pool is not shown
    either: the interruption itself goes on, and says what is to be said.
    """
    before = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        timer = threading.Timer(AGAIN, _thread.interrupt_main)
        timer.daemon = True
        timers.append(timer)
        timer.start()

    timers: list[threading.Timer] = []
    silent = logging.NullHandler()  # with a handler of its own, nothing goes to Python's last resort, which is stderr
    logging.getLogger("sqlalchemy").addHandler(silent)
    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        logging.getLogger("sqlalchemy").removeHandler(silent)
        for timer in timers:  # the command is over, and so is what it should have interrupted
            timer.cancel()
