"""A progress bar for long work: done/total, percent and an estimate of the time left."""

from __future__ import annotations

import io
import shutil
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Self, TextIO

__all__ = ["Progress", "duration"]

WIDTH = 20


class Progress:
    """A bar on a terminal; elsewhere, as in a log file, a line now and then.

    Pieces of work of one group are taken to last equally long. The time left is what the pieces that are left would take
    at the median of their group (the first piece may load or compile something), and at the mean of those medians where
    this run has seen nothing of their group. Pieces that an earlier run did count as done and say nothing about the time.

    Parameters
    ----------
    left : iterable of hashable
        The group of each piece of work that is to be done now.
    done : int
        How many pieces were done before.
    file : text stream, optional
        Where to; standard error if left out.
    clock : callable
        Gives seconds.
    """

    def __init__(
        self,
        left: Iterable[Hashable],
        done: int = 0,
        *,
        file: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = Counter(left)
        self._done = done
        self._seen: dict[Hashable, list[float]] = defaultdict(list)
        self._file = file or sys.stderr or io.StringIO()  # a process may have no standard error
        self._clock = clock
        self._terminal = self._file.isatty()
        self._pause = 0.1 if self._terminal else 30.0
        self._width = 0
        self._shown: float | None = None
        self._last = clock()

    def __enter__(self) -> Self:
        self._last = self._clock()
        self._show("", force=True)
        return self

    def __exit__(self, *_: object) -> None:
        # Not over what stands there already: the last state stays, whether the work was finished or broken off.
        if self._terminal:
            self._file.write("\n")
            self._file.flush()

    def step(self, group: Hashable, label: str) -> None:
        """Count a piece of work that took all the time since the one before it."""
        now = self._clock()
        self._seen[group].append(now - self._last)
        self._last = now
        self._left[group] -= 1
        self._done += 1
        self._show(label, force=not self._left.total())

    def drop(self, group: Hashable) -> None:
        """Take a group that cannot be done out of the total."""
        if not self._left.pop(group, 0):
            return
        self._show("", force=not self._left.total())

    def clear(self) -> None:
        """Make room for a line that something else is about to write."""
        if self._terminal:
            self._file.write("\r" + " " * self._width + "\r")
            self._file.flush()

    def seconds_left(self) -> float | None:
        """Return the estimate, or None before the first piece of this run is done."""
        if not self._seen:
            return None
        known = {group: statistics.median(seconds) for group, seconds in self._seen.items()}
        other = statistics.mean(known.values())
        return sum(pieces * known.get(group, other) for group, pieces in self._left.items())

    def line(self, label: str = "") -> str:
        """Return what is shown."""
        total = self._done + self._left.total()
        share = self._done / total if total else 1.0
        bar = "#" * int(WIDTH * share)
        seconds = self.seconds_left()
        left = "time left unknown" if seconds is None else f"{duration(seconds)} left"
        if self._done == total:
            left = "done"
        # Rounded down, so that 100 % is said of the whole only.
        return f"[{bar:.<{WIDTH}}] {self._done}/{total} {int(100 * share)} % {left} {label}".rstrip()

    def _show(self, label: str, *, force: bool) -> None:
        now = self._clock()
        if not force and self._shown is not None and now - self._shown < self._pause:
            return
        self._shown = now
        line = self.line(label)
        if self._terminal:
            line = line[: shutil.get_terminal_size().columns - 1]
            self._file.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._file.write(line + "\n")
        self._file.flush()


def duration(seconds: float) -> str:
    """Say a number of seconds in two units at most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, whole = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {whole:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
