"""Sphinx: pages that stand outside ``docs/``, so that each text has one place on a code host and in the site.

A page of ``docs/`` whose text is one link to a Markdown file outside becomes that file. Links are turned accordingly:
those of such a page, and those of other pages to files that a page stands for. What has no page (sources, tables of
numbers, folders) is named, not linked: the site knows of no code host.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

STANDS_FOR = re.compile(r"\s*(?:This page is )?\[[^\]]*\]\((?P<target>(?:\.\./)+[\w./-]+\.md)\)\.?\s*\Z")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")
CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


@cache
def pages_outside(docs: Path) -> dict[Path, Path]:
    """Return the page that stands for each file outside."""
    found = {}
    for page in docs.rglob("*.md"):
        text = page.read_text()
        stands = STANDS_FOR.match(text) if len(text) < 400 else None
        if stands:
            found[(page.parent / stands["target"]).resolve()] = page
    return found


def turned(link: re.Match[str], origin: Path, page: Path, docs: Path) -> str:
    """Return a link of a text that was written for ``origin`` as it must stand in ``page``."""
    file, hash_, anchor = link["target"].partition("#")
    if not file or "://" in file or file.startswith("mailto:"):
        return link[0]
    target = (origin.parent / file).resolve()
    target = pages_outside(docs).get(target, target)
    if (target / "README.md").exists():
        target = target / "README.md"
    if target.is_dir() and (docs / "privacy" / f"{target.name}.md").exists():
        target = docs / "privacy" / f"{target.name}.md"
    inside = target.suffix in (".md", ".png") and target.is_relative_to(docs.parent)
    if not inside or (target.suffix == ".md" and not target.is_relative_to(docs)):
        return link["text"]
    return f"{link['image']}[{link['text']}]({Path(os.path.relpath(target, page.parent)).as_posix()}{hash_}{anchor})"


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the text of the file outside in place of the link to it, and turn the links."""
    page, docs = Path(app.env.doc2path(name)), Path(app.srcdir)
    if page.suffix != ".md":
        return
    origin, text = page, source[0]
    for outside, stands in pages_outside(docs).items():
        if stands == page:
            origin, text = outside, outside.read_text()
            app.env.note_dependency(str(outside))
    parts = CODE.split(text)
    parts[::2] = [LINK.sub(lambda link: turned(link, origin, page, docs), part) for part in parts[::2]]
    source[0] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Turn pages as they are read, before they are executed."""
    app.connect("source-read", read, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
