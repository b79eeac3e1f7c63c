"""Sphinx: a map of each paper, from every numbered item to the line that implements it, and back.

A comment beside code (in docs/proofs, of Markdown) marks what it implements: ``# eDPRF: equations 7, 8 and 11; algorithm 2, lines
3 to 9``. A page with ``<!-- map: eDPRF -->`` gets the table of all items of ``reproductions/items.toml`` there. Its links lead to
pages of the marked sources, whose marks lead back. Without the site: ``python docs/extensions/paper_map.py [PAPER]``.
"""

from __future__ import annotations

import ast
import html
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
KINDS = ("algorithm", "equation", "definition", "theorem", "property", "table", "figure")
PLURALS = {"propertie": "property"}
MARK = re.compile(r"(?:#|<!--) (?P<paper>eDPRF|DPAda|CART-DPsAdaBoost): (?P<items>[a-z][^\n]*?)(?: -->)?$")
ITEMS = re.compile(rf"(?P<kind>{'|'.join(KINDS)}|properties)s? (?P<numbers>\d+(?:(?:, | and | to )\d+)*)")
HERE = re.compile(r"<!-- map: (?P<paper>[\w-]+) -->")
COLUMNS = ("as printed", "private form", "proof", "run and judged")
BOTH = ", in both forms"


@dataclass(frozen=True)
class Place:
    """Where an item stands: a file, the line of its mark, what the mark says, and the name of the code below it."""

    file: str
    line: int
    items: str
    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """In which columns of the map it stands."""
        if self.items.endswith(BOTH):
            return COLUMNS[:2]
        if self.file.startswith("docs/"):
            return ("proof",)
        if "/reproduce/" in self.file:
            return ("run and judged",)
        return ("as printed",) if "/papers/" in self.file and not self.name.endswith("_private") else ("private form",)

    @property
    def page(self) -> str:
        """The page of the site that shows the file, without its suffix; a proof has one of its own."""
        name = self.file.removeprefix("docs/").removeprefix("src/hedgerow/")
        return name.removesuffix(".md") if self.file.startswith("docs/") else f"source/{name.replace('.', '-')}"


def numbered(items: str) -> Iterator[str]:
    """Yield the items that a mark names, such as "equation 7"; what stands behind a number, such as lines, is left out."""
    for found in ITEMS.finditer(items):
        numbers = found["numbers"]
        chosen = [int(number) for number in re.findall(r"\d+", numbers)]
        if " to " in numbers:
            chosen = list(range(chosen[0], chosen[-1] + 1))
        kind = "property" if found["kind"] == "properties" else found["kind"]
        yield from (f"{kind} {number}" for number in chosen)


def name_below(lines: list[str], line: int, suffix: str, names: Mapping[int, str]) -> str:
    """Return what the code below a mark is called."""
    if suffix == ".py":
        below = min((number for number in names if number >= line), default=0)
        within = re.match(
            r"\s*(\w+) = ", "".join(one for one in lines[line - 1 : line + 1] if not one.lstrip().startswith("#"))
        )
        return within[1] if within else names.get(below, "")
    text = next((one for one in lines[line:] if one.strip()), "")
    named = re.search(r'name = "([^"]*)"', text) or re.match(r"\*\*(.+?)\*\*", text)
    return named[1] if named else ""


def qualified(tree: ast.AST, before: str = "") -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every function and class, and of every annotated table."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.lineno, f"{before}{node.name}"
            yield from qualified(node, f"{before}{node.name}.")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id.isupper():
            yield node.lineno, f"{before}{node.target.id}"


@cache
def places() -> tuple[tuple[str, Place], ...]:
    """Return each marked place with its paper."""
    found = []
    files = [
        *ROOT.glob("src/hedgerow/**/*.py"),
        *ROOT.glob("src/hedgerow/papers/reproduce/*.toml"),
        *ROOT.glob("docs/proofs/*.md"),
    ]
    for path in sorted(files):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        marks = [(number, mark) for number, line in enumerate(lines, start=1) if (mark := MARK.search(line))]
        names = dict(qualified(ast.parse(text))) if marks and path.suffix == ".py" else {}
        for number, mark in marks:
            name = name_below(lines, number, path.suffix, names)
            found.append((mark["paper"], Place(str(path.relative_to(ROOT)), number, mark["items"], name)))
    return tuple(found)


@cache
def papers() -> dict[str, dict[str, Any]]:
    """Return the page and the items of each paper."""
    return tomllib.loads((ROOT / "docs/reproductions/items.toml").read_text("utf-8"))


def map_of(paper: str) -> dict[str, list[Place]]:
    """Return where each item of a paper stands, those that stand nowhere too."""
    found: dict[str, list[Place]] = defaultdict(list)
    for marked, place in places():
        if marked == paper:
            for item in numbered(place.items):
                found[item].append(place)
    return {one["item"]: found.pop(one["item"], []) for one in papers()[paper]["items"]} | found


def table_of(paper: str) -> str:
    """Return the map of a paper as HTML, whose rows are anchors."""
    rows = []
    for one in papers()[paper]["items"]:
        item, cells = one["item"], {column: [] for column in COLUMNS}
        for place in map_of(paper)[item]:
            line = f"#L{place.line}" if not place.file.startswith("docs/") else ""
            words = f"{Path(place.file).name} {place.name}" if place.name else Path(place.file).name
            for column in place.columns:
                cells[column].append(f'<a href="../{place.page}.html{line}">{html.escape(words)}</a>')
        whole = [", ".join(cells[column]) for column in COLUMNS]
        if "because" in one:
            whole = [f"not implemented, because {html.escape(one['because'])}", *[""] * (len(COLUMNS) - 1)]
        entries = "".join(f"<td>{cell}</td>" for cell in (item, html.escape(one["what"]), *whole))
        rows.append(f'<tr id="{item.replace(" ", "-")}">{entries}</tr>')
    head = "".join(f"<th>{words}</th>" for words in ("item", "what it is", *COLUMNS))
    return (
        f'<table class="table">\n<thead><tr>{head}</tr></thead>\n<tbody>\n' + "\n".join(rows) + "\n</tbody>\n</table>"
    )


def back_from(mark: re.Match[str], up: str) -> str:
    """Return links from a mark to each of its items in the map of the paper."""
    page = f"{up}reproductions/{papers()[mark['paper']]['page']}.html"
    links = [f'<a href="{page}#{item.replace(" ", "-")}">{item}</a>' for item in numbered(mark["items"])]
    return f"{mark['paper']}: {', '.join(links)}"


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the map of a paper in the place of the comment that asks for it, and links to it in the place of a proof's marks."""
    text = HERE.sub(lambda found: table_of(found["paper"]), source[0])
    if name.startswith("proofs/"):
        text = re.sub(MARK.pattern, lambda mark: f"<small>{back_from(mark, '../')}</small>", text, flags=re.MULTILINE)
    source[0] = text


def source_page(file: str, up: str) -> str:
    """Return a source file as HTML, each line an anchor; behind a mark are links to its items."""
    text = (ROOT / file).read_text("utf-8")
    lexer = get_lexer_for_filename(file, stripnl=False)
    shown = []
    for number, line in enumerate(highlight(text, lexer, HtmlFormatter(nowrap=True)).splitlines(), start=1):
        mark = MARK.search(text.splitlines()[number - 1])
        back = f"  &larr; {back_from(mark, up)}" if mark else ""
        shown.append(f'<span id="L{number}"><a class="linenos" href="#L{number}">{number:4}</a>  {line}{back}</span>')
    return f"<h1>{file}</h1>\n" + '<div class="highlight"><pre>' + "\n".join(shown) + "</pre></div>"


def sources(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each marked source file."""
    for file, page in dict.fromkeys((place.file, place.page) for _, place in places() if place.file.startswith("src/")):
        yield page, {"title": file, "body": source_page(file, "../" * page.count("/")), "parents": []}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Fill in maps as pages are read, and add the pages of the sources to the site."""
    app.connect("source-read", read)
    app.connect("html-collect-pages", sources)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    for paper in sys.argv[1:] or papers():
        for item, found in map_of(paper).items():
            print(f"{paper}: {item}")
            for place in found:
                print(f"    {place.file}:{place.line} {place.name} ({', '.join(place.columns)})")
