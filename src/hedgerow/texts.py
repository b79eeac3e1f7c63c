"""How names, values, tables and the progress of work are shown: in messages, in notebooks and on a terminal."""

from __future__ import annotations

import io
import json
import math
import shutil
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import fields
from html import escape
from reprlib import Repr
from typing import Any, Self, TextIO

LONGEST_REPR = 2000  # characters
FEW = Repr()
FEW.maxlevel, FEW.maxother, FEW.maxstring = 3, 120, 120


def listed(names: Sequence[object]) -> str:
    return ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def printable(text: str) -> str:
    return text if text.isprintable() else json.dumps(text)[1:-1]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def it_or_them(names: Sequence[object]) -> str:
    return "it" if len(names) == 1 else "them"


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."


def short_repr(value: Any) -> str:
    """Return the fields of a dataclass or named tuple on one line: long texts, long sequences and arrays are cut short."""
    shown = []
    for name in getattr(value, "_fields", None) or [part.name for part in fields(value) if part.repr]:
        part = getattr(value, name)
        shape = getattr(part, "shape", ())
        shown.append(f"{name}=" + (f"<array of shape {shape}>" if shape else FEW.repr(part)))
    return shortened(f"{type(value).__name__}({', '.join(shown)})", LONGEST_REPR)


MOST_ROWS = 20
MOST_COLUMNS = 10
LONGEST_CELL = 300  # characters
LINE = "border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.4)"
CELL = f"{LINE}; padding: 0.2em 1em 0.2em 0; text-align: left; vertical-align: top; white-space: pre-line"


def html_table(title: str, rows: Iterable[Sequence[object]], headers: Sequence[object] = (), *, note: str = "") -> str:
    """Return a table in HTML, with every text escaped: the first ``MOST_ROWS`` rows and ``MOST_COLUMNS`` columns."""

    def row(cells: Sequence[object], tag: str) -> str:
        shown = ""
        for place, cell in enumerate(cells[:MOST_COLUMNS]):
            kind = tag if place else "th"
            shown += f'<{kind} style="{CELL}">{escape(shortened(str(cell), LONGEST_CELL))}</{kind}>'
        return f'<tr style="background: none">{shown}</tr>'

    body = list(rows)
    more = len(body) - MOST_ROWS
    notes = [f"and {more} more"] * (more > 0) + [note] * bool(note)
    head = f"<thead>{row(headers, 'th')}</thead>" if headers else ""
    return (
        f'<div style="overflow-x: auto; max-width: 60em"><p style="margin: 0.3em 0"><strong>{escape(title)}</strong></p>'
        f'<table style="border-collapse: collapse; border: 0; margin: 0 0 0.5em 0">{head}<tbody>'
        + "".join(row(cells, "td") for cells in body[:MOST_ROWS])
        + f"</tbody></table>{''.join(f'<p>{escape(text)}</p>' for text in notes)}</div>"
    )


def bar_of(share: float) -> str:
    return f"[{'#' * int(20 * share):.<20}]"


class Progress:
    """A bar on a terminal; elsewhere, as in a log file, a line now and then.

    ``left`` has the group of each piece of work that is to be done, and pieces of a group are taken to last equally long. The
    ``done`` pieces of an earlier run count as done and say nothing about the time.
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
        self._width = 0
        self._shown = -math.inf
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
        now = self._clock()
        self._seen[group].append(now - self._last)
        self._last = now
        self._left[group] -= 1
        self._done += 1
        self._show(label, force=not self._left.total())

    def line(self, label: str = "") -> str:
        total, left = self._done + self._left.total(), "time left unknown"
        if self._done == total:
            left = "done"
        elif self._seen:  # medians of groups, as a first piece may compile
            known = {group: statistics.median(seconds) for group, seconds in self._seen.items()}
            other = statistics.mean(known.values())
            seconds = round(sum(pieces * known.get(group, other) for group, pieces in self._left.items()))
            (hours, minutes), seconds = divmod(seconds // 60, 60), seconds % 60
            left = f"{hours} h {minutes:02d} min left" if hours else f"{minutes} min {seconds:02d} s left"
        share = self._done / total if total else 1.0
        # Rounded down, so that 100 % is said of the whole only.
        return f"{bar_of(share)} {self._done}/{total} {int(100 * share)} % {left} {label}".rstrip()

    def _show(self, label: str, *, force: bool) -> None:
        now = self._clock()
        if not force and now - self._shown < (0.1 if self._terminal else 30.0):
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
