"""Sphinx: below each code block of the pages that are executed stands what it printed and drew (``page_blocks``).

The output of a page's code is kept beside its pictures, under a hash of the code, of the library without docstrings and of this
folder. A build runs only what changed. A page of ``notebook_pages`` begins with a link to its notebook, and a comment
``<!-- thumbnails -->`` becomes a grid of the page's pictures, each a link to the section that draws it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import hedgerow
from notebooks import write_notebook
from page_blocks import Block, Output, blocks_of, outputs_of

THUMBNAILS = "<!-- thumbnails -->"
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)


@cache
def surroundings() -> str:
    """Return a digest of all that code of pages may see: the library without its docstrings, other packages, this Python."""
    digest = hashlib.sha256(sys.version.encode())
    for one in sorted(f"{found.name} {found.version}" for found in distributions()):
        digest.update(one.encode())
    library = Path(hedgerow.__file__).parent
    for path in sorted([*library.rglob("*.py"), Path(__file__).with_name("page_blocks.py")]):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
                node.body = node.body[1:]
        digest.update(f"{path.name} {ast.dump(tree)}".encode())
    return digest.hexdigest()


def kept_outputs(page: Path, pictures: Path) -> list[Output]:
    """Return what the blocks of a page say; they run only if something changed since they ran."""
    blocks = [(block.language, block.words, block.code) for block in blocks_of(page.read_text())]
    key = hashlib.sha256(f"{surroundings()} {blocks}".encode()).hexdigest()
    kept = pictures / "outputs.json"
    if kept.exists():
        before = json.loads(kept.read_text())
        if before["key"] == key and all((pictures / name).exists() for name in before["pictures"]):
            return [Output(**{**one, "pictures": tuple(one["pictures"])}) for one in before["outputs"]]
    outputs = outputs_of(page, pictures)
    drawn = [name for output in outputs for name in output.pictures]
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"key": key, "pictures": drawn, "outputs": [asdict(output) for output in outputs]}))
    return outputs


def thumbnails(page: str, text: str, blocks: list[Block], outputs: list[Output], folder: str) -> str:
    """Return a grid of the first picture of each section, in Markdown."""
    cards, seen = [], set()
    for block, output in zip(blocks, outputs, strict=True):
        headings = HEADING.findall(text[: block.end])
        if output.pictures and headings and headings[-1] not in seen:
            seen.add(headings[-1])
            anchor = re.sub(r"[^\w -]", "", headings[-1].lower()).replace(" ", "-")
            card = f":::{{grid-item-card}} {headings[-1]}\n:link: {page}.html#{anchor}\n:link-type: url\n"
            cards.append(f"{card}:img-bottom: {folder}/{output.pictures[0]}\n:::")
    return "::::{grid} 2 2 3 4\n:gutter: 2\n:class-container: thumbnails\n\n" + "\n".join(cards) + "\n::::"


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
        outputs = kept_outputs(page, pictures)
    except RuntimeError as error:
        raise ExtensionError(str(error)) from None
    folder = Path(os.path.relpath(pictures, page.parent)).as_posix()
    text = source[0]
    for block, output in reversed(list(zip(blocks, outputs, strict=True))):
        text = text[: block.end] + shown(block, output, folder) + text[block.end :]
    if THUMBNAILS in text:
        text = text.replace(THUMBNAILS, thumbnails(page.stem, source[0], blocks, outputs, folder))
    if any(fnmatch(name, pattern) for pattern in app.config.notebook_pages):
        notebook = pictures / f"{page.stem}.ipynb"
        write_notebook(page, notebook)
        title, rest = text.split("\n", 1)
        text = f"{title}\n\n{{download}}`Download this page as a notebook <{folder}/{notebook.name}>`\n{rest}"
    source[0] = text


def execute_all(app: Sphinx) -> None:
    """Run the pages whose code changed, two at a time, before they are read; a page that fails says so when it is read."""
    folder = Path(app.srcdir)
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.md"))]
    names = [name for name in names if any(fnmatch(name, pattern) for pattern in app.config.executed_pages)]

    def run(name: str) -> None:
        page = folder / f"{name}.md"
        if blocks_of(page.read_text()):
            with suppress(RuntimeError):
                kept_outputs(page, Path(app.outdir).parent / "executed" / name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, names))


def setup(app: Sphinx) -> dict[str, bool]:
    """Run pages before they are read, and show what they say as they are read."""
    app.add_config_value("executed_pages", [], "env", [list])
    app.add_config_value("notebook_pages", [], "env", [list])
    app.connect("builder-inited", execute_all)
    app.connect("source-read", execute)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
