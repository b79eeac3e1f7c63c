"""A page as a notebook: its text in Markdown cells, its code in cells that run from top to bottom.

python docs/extensions/notebooks.py build/notebooks docs/tutorials/*.md
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from page_blocks import Block, blocks_of

LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?!https?:)[^()\s]+\)")
DIRECTIVE = re.compile(r"^:{3,}.*\n?", re.MULTILINE)
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def notebook_of(text: str) -> dict[str, Any]:
    """Return the notebook of a page; links to other pages of the site are their text alone."""
    cells, start = [], 0
    for block in blocks_of(text):
        if not block.runs:
            continue
        before = text.rindex(f"```{block.language}", start, block.end)
        cells += [*_words(text[start:before]), _code(block)]
        start = block.end
    cells += _words(text[start:])
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": language},
        "cells": cells,
    }


def write_notebook(page: Path, path: Path) -> None:
    """Write the notebook of a page into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook_of(page.read_text()), indent=1, ensure_ascii=False) + "\n")


def _words(text: str) -> list[dict[str, Any]]:
    parts = FENCED.split(text)
    parts[::2] = [LINK.sub(r"\1", DIRECTIVE.sub("", part)) for part in parts[::2]]
    words = "".join(parts).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": words}] if words else []


def _code(block: Block) -> dict[str, Any]:
    source = block.code.rstrip("\n")
    return {
        "cell_type": "code",
        "metadata": {"tags": ["raises-exception"]} if block.raises else {},
        "execution_count": None,
        "outputs": [],
        "source": source if block.language == "python" else f"%%bash\n{source}",
    }


if __name__ == "__main__":
    folder, *pages = map(Path, sys.argv[1:])
    for one in pages:
        write_notebook(one, folder / f"{one.stem}.ipynb")
