"""Sphinx: what the site lists of systems, from the catalogue and the table in ``docs/systems.md``.

A comment ``.. systems: ours`` or ``.. systems: of papers`` becomes a summary of the classes of these systems, each with its page;
``<!-- proofs of systems -->`` becomes the entries of the proof pages that the table links to.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hedgerow.catalogue import REGRESSORS, SYSTEMS

if TYPE_CHECKING:
    from sphinx.application import Sphinx  # tests read the lists without Sphinx

SUMMARY = ".. currentmodule:: hedgerow\n\n.. autosummary::\n   :toctree: generated/\n   :nosignatures:\n\n"
PROOFS = "<!-- proofs of systems -->"
LINKED = re.compile(r"^\| `[\w-]+` \| .*?\]\((proofs/[\w-]+)\.md\)", re.MULTILINE)


def with_summaries(text: str) -> str:
    """Return a page in reStructuredText with summaries in place of their comments."""
    for group, published in (("ours", False), ("of papers", True)):
        infos = [info for info in (*SYSTEMS, *REGRESSORS) if ("published" in info.variants) == published]
        names = "".join(f"   {info.class_name}\n" for info in infos)
        text = text.replace(f".. systems: {group}\n", SUMMARY + names)
    return text


def proofs(table: str) -> str:
    """Return a list of the proof pages that the table of systems links to, in Markdown."""
    pages = dict.fromkeys(LINKED.findall(table))
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *(f"../{page}" for page in pages), "```"])


def write_pages(app: Sphinx) -> None:
    """Write the page of each class, as autosummary does for the classes that it finds in a file."""
    from sphinx.ext.autosummary.generate import generate_autosummary_docs

    folder = Path(app.srcdir) / "api"
    with TemporaryDirectory() as other:
        file = Path(other) / "models.rst"
        file.write_text(with_summaries((folder / "models.rst").read_text()))
        overwrite = app.config.autosummary_generate_overwrite
        generate_autosummary_docs([str(file)], folder / "generated", app=app, overwrite=overwrite)


def fill(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the lists in place of their comments."""
    if name == "api/models":
        source[0] = with_summaries(source[0])
        app.env.note_dependency(str(Path(__file__).parents[2] / "src" / "hedgerow" / "catalogue.py"))
    elif PROOFS in source[0]:
        table = Path(app.srcdir) / "systems.md"
        source[0] = source[0].replace(PROOFS, proofs(table.read_text()))
        app.env.note_dependency(str(table))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write pages before the others are found, and fill in lists as pages are read."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
