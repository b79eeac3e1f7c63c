"""Sphinx: what the site lists of systems, from the catalogue and the docstrings of their classes.

A comment ``.. systems: ours`` or ``.. systems: of papers`` becomes a summary of the classes of these systems, each with its page;
``<!-- table of systems -->`` a table of all, and ``<!-- proofs of systems -->`` the entries of their proof pages.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hedgerow.catalogue import REGRESSORS, SYSTEMS, SystemInfo

if TYPE_CHECKING:
    from sphinx.application import Sphinx  # tests read the lists without Sphinx

SUMMARY = ".. currentmodule:: hedgerow\n\n.. autosummary::\n   :toctree: generated/\n   :nosignatures:\n\n"
PROOFS = "<!-- proofs of systems -->"
TABLE = "<!-- table of systems -->"
MENTIONED = re.compile(r"docs/(proofs/[\w-]+)\.md")
DOCS = Path(__file__).parents[1]


def with_summaries(text: str) -> str:
    """Return a page in reStructuredText with summaries in place of their comments."""
    for group, published in (("ours", False), ("of papers", True)):
        infos = [info for info in (*SYSTEMS, *REGRESSORS) if ("published" in info.variants) == published]
        names = "".join(f"   {info.class_name}\n" for info in infos)
        text = text.replace(f".. systems: {group}\n", SUMMARY + names)
    return text


def proof(info: SystemInfo) -> str:
    """Return a system's proof page, without its ending: that of its name, or else the one that its class mentions first."""
    own = f"proofs/{info.name}"
    return own if (DOCS / f"{own}.md").exists() else MENTIONED.findall(_docstring(info))[0]


def _docstring(info: SystemInfo) -> str:
    return str(getattr(import_module(info.module), info.class_name).__doc__)


def table() -> str:
    """Return the table of systems, in Markdown."""
    rows = ["| name | class | what it is | forms | guarantee of the private form | paper |", "|" + " -- |" * 6]
    for info in SYSTEMS:
        what = _docstring(info).partition("\n")[0].rstrip(".")
        paper = "" if info.paper.startswith("ours") else info.paper
        link = f"[`{info.class_name}`]({proof(info)}.md)"
        rows.append(f"| `{info.name}` | {link} | {what} | {', '.join(info.variants)} | {info.guarantee} | {paper} |")
    return "\n".join(rows)


def proofs() -> str:
    """Return a list of the proof pages of systems, in Markdown."""
    pages = dict.fromkeys(map(proof, SYSTEMS))
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
        app.env.note_dependency(str(Path(__file__).parents[2] / "src" / "hedgerow" / "catalogue.md"))
    else:
        for mark, text in ((PROOFS, proofs), (TABLE, table)):
            if mark in source[0]:
                source[0] = source[0].replace(mark, text())


def setup(app: Sphinx) -> dict[str, bool]:
    """Write pages before the others are found, and fill in lists as pages are read."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
