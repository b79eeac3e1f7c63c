"""How names, values, tables and the progress of work are shown: in messages, in notebooks and on a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from reprlib import Repr
from typing import Any

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


def progress_bar(pieces: int, label: str, *, shown: bool = True) -> Any:
    """Return click's bar, which a terminal alone shows; ``update(1, text)`` counts a piece of work and shows its text."""
    from click import progressbar  # only long work takes it

    file = sys.stderr if shown else None  # a process may have no standard error
    return progressbar(
        length=pieces, label=label, file=file or io.StringIO(), show_pos=True, item_show_func=lambda text: text
    )
