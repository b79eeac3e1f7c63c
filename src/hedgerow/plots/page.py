"""A report in one HTML file that opens from disk: pictures are embedded, and there are no scripts and no web addresses."""

from __future__ import annotations

import base64
import html
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from hedgerow.files import atomic_file
from hedgerow.plots.axes import png_bytes

__all__ = ["Page"]

STYLE = """
body { font: 16px/1.5 Georgia, serif; color: #222; max-width: 62em; margin: 2em auto; padding: 0 1em; }
h1, h2, h3 { font-family: Helvetica, Arial, sans-serif; line-height: 1.2; }
table { border-collapse: collapse; font: 14px/1.4 Helvetica, Arial, sans-serif; margin: 1em 0; }
th, td { border: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top; }
table { display: block; overflow-x: auto; } td { overflow-wrap: break-word; }
@media print { td { overflow-wrap: anywhere; } }
th { background: #f2f2f2; }
pre { font-size: 13px; white-space: pre-wrap; overflow-wrap: anywhere; } pre span { display: block; }
figure { margin: 1.5em 0; break-inside: avoid; } img { max-width: 100%; break-inside: avoid; }
figcaption { font-size: 14px; color: #555; }
"""

BEFORE_ENTRY = re.compile(r" *(?:- |[a-z_]+ {2,})?")
MOST_INDENTED = 15  # characters


class Page:
    """A page that is built from top to bottom and written at the end. All text is escaped.

    Parameters
    ----------
    title : str
        The page's name and first heading.

    Examples
    --------
    >>> page = Page("Accuracy").text("Ten runs.").table(["epsilon", "accuracy"], [[1, 0.83]])
    >>> "<td>0.83</td>" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = [f"<h1>{html.escape(title)}</h1>"]

    def heading(self, text: str, level: int = 2) -> Self:
        """Add a heading."""
        self._parts.append(f"<h{level}>{html.escape(text)}</h{level}>")
        return self

    def text(self, text: str) -> Self:
        """Add text; an empty line starts a new paragraph."""
        self._parts += [f"<p>{html.escape(part.strip())}</p>" for part in text.split("\n\n") if part.strip()]
        return self

    def items(self, texts: Iterable[str]) -> Self:
        """Add a list; nothing if it is empty."""
        entries = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
        if entries:
            self._parts.append(f"<ul>{entries}</ul>")
        return self

    def lines(self, text: str) -> Self:
        """Add text whose line breaks and spaces are kept; what does not fit on a line continues below its own beginning."""
        self._parts.append(f"<pre>{''.join(map(_hanging, text.splitlines()))}</pre>")
        return self

    def table(self, headers: Sequence[object], rows: Iterable[Sequence[object]]) -> Self:
        """Add a table; every cell is shown as its text."""

        def row(cells: Iterable[object], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in rows)
        self._parts.append(f"<table><thead>{row(headers, 'th')}</thead><tbody>{body}</tbody></table>")
        return self

    def figure(self, figure: Any, caption: str) -> Self:
        """Add a picture: a matplotlib figure, a display that was drawn, or the bytes of a PNG file. A list is set in rows."""
        words, pictures = html.escape(caption), figure if isinstance(figure, list | tuple) else [figure]
        images = ""
        for picture in pictures:
            png = picture if isinstance(picture, bytes) else png_bytes(getattr(picture, "figure_", picture))
            images += f'<img alt="{words}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">'
        self._parts.append(f"<figure>{images}<figcaption>{words}</figcaption></figure>")
        return self

    def html(self) -> str:
        """Return the page as HTML."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self.title)}</title><style>{STYLE}</style></head>\n<body>\n"
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )

    def write(self, path: str | os.PathLike[str], *, replace: bool = True) -> Path:
        """Write the page to a file, completely or not at all, and return its path; ``replace`` allows replacing a file."""
        with atomic_file(path, replace=replace) as part:
            part.write_text(self.html(), encoding="utf-8")
        return Path(path)


def _hanging(line: str) -> str:
    """Return a line that continues below its entry: behind a name and its spaces, or the mark of a list, or else indented."""
    entry = BEFORE_ENTRY.match(line)
    indented = 0 if entry is None else entry.end()
    width = min(indented + 2 * (0 < indented == len(line) - len(line.lstrip())), MOST_INDENTED)
    return f'<span style="padding-left: {width}ch; text-indent: -{width}ch">{html.escape(line) or "<br>"}</span>'
