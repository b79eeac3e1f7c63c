"""The same report as ``Page`` in Markdown, with embedded pictures, for places that show Markdown but not HTML."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from hedgerow.files import atomic_file
from hedgerow.plots.axes import png_bytes
from hedgerow.texts import printable

__all__ = ["MarkdownPage"]

MARKS = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$-])")
FENCE = re.compile(r"`+")


class MarkdownPage:
    """A page that is built from top to bottom and written at the end. No text is read as Markdown syntax.

    Parameters
    ----------
    title : str
        The page's first heading.

    Examples
    --------
    >>> MarkdownPage("Card").text("a *b*").markdown()
    '# Card\\n\\na \\\\*b\\\\*\\n'
    """

    def __init__(self, title: str) -> None:
        self._parts = [f"# {_plain(title)}"]

    def heading(self, text: str, level: int = 2) -> Self:
        """Add a heading."""
        self._parts.append(f"{'#' * level} {_plain(text)}")
        return self

    def text(self, text: str) -> Self:
        """Add text; an empty line starts a new paragraph."""
        self._parts += [_plain(part.strip()) for part in text.split("\n\n") if part.strip()]
        return self

    def items(self, texts: Iterable[str]) -> Self:
        """Add a list; nothing if it is empty."""
        entries = "\n".join(f"- {_plain(text)}" for text in texts)
        if entries:
            self._parts.append(entries)
        return self

    def lines(self, text: str) -> Self:
        """Add text whose line breaks and spaces are kept."""
        fence = "`" * max(3, 1 + max((len(run) for run in FENCE.findall(text)), default=0))
        self._parts.append(f"{fence}text\n{text}\n{fence}")
        return self

    def table(self, headers: Sequence[object], rows: Iterable[Sequence[object]]) -> Self:
        """Add a table; every cell is shown as its text."""

        def row(cells: Iterable[object]) -> str:
            return "| " + " | ".join(_plain(str(cell)) or " " for cell in cells) + " |"

        self._parts.append("\n".join([row(headers), "|" + " -- |" * len(headers), *map(row, rows)]))
        return self

    def figure(self, figure: Any, caption: str) -> Self:
        """Add a picture, or a list of them: a matplotlib figure, a display that was drawn, or the bytes of a PNG file."""
        for picture in figure if isinstance(figure, list | tuple) else [figure]:
            png = picture if isinstance(picture, bytes) else png_bytes(getattr(picture, "figure_", picture))
            self._parts.append(f"![{_plain(caption)}](data:image/png;base64,{base64.b64encode(png).decode('ascii')})")
        return self

    def markdown(self) -> str:
        """Return the page as Markdown."""
        return "\n\n".join(self._parts) + "\n"

    def write(self, path: str | os.PathLike[str], *, replace: bool = True) -> Path:
        """Write the page to a file, completely or not at all, and return its path; ``replace`` allows replacing a file."""
        with atomic_file(path, replace=replace) as part:
            part.write_text(self.markdown(), encoding="utf-8")
        return Path(path)


def _plain(text: str) -> str:
    """Return a text on one line in which no character is Markdown syntax."""
    return MARKS.sub(r"\\\1", printable(text.replace("\n", " ")))
