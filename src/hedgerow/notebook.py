"""Small HTML tables for notebooks: no color of their own, so that they read in light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from hedgerow.texts import shortened

__all__ = ["MOST_ROWS", "html_table"]

MOST_ROWS = 20
MOST_COLUMNS = 10
LONGEST_CELL = 300  # characters
LINE = "border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.4)"
CELL = f"{LINE}; padding: 0.2em 1em 0.2em 0; text-align: left; vertical-align: top; white-space: pre-line"


def html_table(title: str, rows: Iterable[Sequence[object]], headers: Sequence[object] = (), *, note: str = "") -> str:
    """Return a table in HTML: the first ``MOST_ROWS`` rows and ``MOST_COLUMNS`` columns; every text is escaped.

    Parameters
    ----------
    title, note : str
        What stands above and below the table.
    rows : iterable of sequences
        The cells; the first of each row is its heading.
    headers : sequence
        The headings of the columns, if there are any.
    """
    body = list(rows)
    more = len(body) - MOST_ROWS
    notes = [f"and {more} more"] * (more > 0) + [note] * bool(note)
    head = f"<thead>{_row(headers, 'th')}</thead>" if headers else ""
    return (
        f'<div style="overflow-x: auto; max-width: 60em"><p style="margin: 0.3em 0"><strong>{escape(title)}</strong></p>'
        f'<table style="border-collapse: collapse; border: 0; margin: 0 0 0.5em 0">{head}<tbody>'
        + "".join(_row(cells, "td") for cells in body[:MOST_ROWS])
        + f"</tbody></table>{''.join(f'<p>{escape(text)}</p>' for text in notes)}</div>"
    )


def _row(cells: Sequence[object], tag: str) -> str:
    texts = [escape(shortened(str(cell), LONGEST_CELL)) for cell in cells[:MOST_COLUMNS]]
    tags = ["th", *[tag] * (len(texts) - 1)]
    shown = (f'<{kind} style="{CELL}">{text}</{kind}>' for kind, text in zip(tags, texts, strict=True))
    return f'<tr style="background: none">{"".join(shown)}</tr>'
