"""Sphinx: below each code block of the pages that are executed stands what it printed and drew (``page_blocks``)."""

from __future__ import annotations

import os
from fnmatch import fnmatch
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from page_blocks import Block, Output, blocks_of, outputs_of


def shown(block: Block, output: Output, folder: str) -> str:
    """Return the Markdown of an output."""
    parts = []
    if output.text.strip():
        kind = "failed" if output.failed else "printed"
        fence = "`" * max(4, 1 + max(map(len, output.text.split()), default=0) * ("```" in output.text))
        parts.append(f"{{.output .{kind}}}\n{fence}text\n{output.text.rstrip()}\n{fence}")
    if output.html.strip():
        parts.append(f"````{{raw}} html\n{output.html}\n````")
    parts += [f"![What the code above draws]({folder}/{name})" for name in output.pictures]
    return "".join(f"\n\n{part}\n" for part in parts)


def execute(app: Sphinx, name: str, source: list[str]) -> None:
    """Run the blocks of a page and put what they say below them."""
    if not any(fnmatch(name, pattern) for pattern in app.config.executed_pages):
        return
    blocks = blocks_of(source[0])
    if not blocks:
        return
    page = Path(app.env.doc2path(name))
    pictures = Path(app.outdir).parent / "executed" / name
    try:
        outputs = outputs_of(page, pictures)
    except RuntimeError as error:
        raise ExtensionError(str(error)) from None
    folder = Path(os.path.relpath(pictures, page.parent)).as_posix()
    text = source[0]
    for block, output in reversed(list(zip(blocks, outputs, strict=True))):
        text = text[: block.end] + shown(block, output, folder) + text[block.end :]
    source[0] = text


def setup(app: Sphinx) -> dict[str, bool]:
    """Run pages as they are read."""
    app.add_config_value("executed_pages", [], "env", [list])
    app.connect("source-read", execute)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
