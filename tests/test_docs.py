"""What the documents and the code say of each other's files is true."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import hedgerow as hr
import systems_listed

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCES = sorted(ROOT.glob("src/**/*.py"))
NAMED = re.compile(r"\b(?:docs|tests|benchmarks)/[\w./-]*\w(?:::\w+)*")
LINK = re.compile(r"\]\(([^()\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([\w-]+)` \| (?:\[`|`)(\w+)`", re.MULTILINE)  # a row of a table of systems


def name_of(path):
    return str(path.relative_to(ROOT))


@cache
def names_in(path):
    """The functions and classes of a module, those in classes as "Class::function"."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        found.add(getattr(node, "name", None))
        for inner in getattr(node, "body", []):
            found.add(f"{getattr(node, 'name', '')}::{getattr(inner, 'name', '')}")
    return found


def missing(mention):
    """Say whether a mentioned file, or what is named in it, does not exist."""
    path, _, inner = mention.partition("::")
    if not (ROOT / path).exists():
        return True
    return bool(inner) and inner not in names_in(ROOT / path)


def is_generated(mention):
    return mention.startswith("benchmarks/results")  # written by a command that the page names


def test_every_file_that_is_mentioned_exists():
    assert len(PAGES) > 100
    assert len(SOURCES) > 150
    broken = [
        (name_of(path), mention)
        for path in [*PAGES, *SOURCES]
        for mention in sorted(set(NAMED.findall(path.read_text())))
        if not is_generated(mention) and missing(mention)
    ]
    assert broken == []


def test_a_name_that_does_not_exist_is_noticed():
    assert not missing("tests/test_docs.py::missing")
    assert missing("tests/test_docs.py::nothing")
    assert missing("tests/no_such_file.py")
    text = "`tests/a_b/c.py::test_d`, docs/x-y.md. See (docs/z.md)"
    assert NAMED.findall(text) == ["tests/a_b/c.py::test_d", "docs/x-y.md", "docs/z.md"]


@cache
def anchors(path):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_anchors_are_githubs():
    assert "tuning-is-not-free-even-under-a-ledger" in anchors(ROOT / "docs/pitfalls.md")


def leads_somewhere(page, link):
    if link.startswith(("http://", "https://", "mailto:")):
        return True
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return target.exists() and (not anchor or anchor in anchors(target))


def test_messages_name_packages_that_an_index_has():
    """The library is on no index, so nobody can install an extra of it by name."""
    assert [name_of(path) for path in SOURCES if 'install "hedgerow[' in path.read_text()] == []


def test_every_link_leads_somewhere():
    links = [(page, link) for page in PAGES for link in LINK.findall(FENCED.sub("", page.read_text()))]
    assert len(links) > 300
    assert [(name_of(page), link) for page, link in links if not leads_somewhere(page, link)] == []


def test_a_link_that_leads_nowhere_is_noticed():
    page = ROOT / "docs/pitfalls.md"
    assert leads_somewhere(page, "../README.md")
    assert leads_somewhere(page, "#tuning-is-not-free-even-under-a-ledger")
    assert not leads_somewhere(page, "no_such_page.md")
    assert not leads_somewhere(page, "../README.md#no-such-heading")


def test_the_table_of_systems_lists_the_registry_with_a_proof_page_of_each():
    assert systems_listed.TABLE in (ROOT / "docs/systems.md").read_text()
    rows = systems_listed.table().splitlines()[2:]
    assert [ROW.match(row)[1] for row in rows] == [info.name for info in hr.list_systems()]
    assert all((ROOT / f"docs/{systems_listed.proof(info)}.md").exists() for info in hr.list_systems())


def test_the_glossary_defines_each_term_once_in_order():
    terms = re.findall(r"^- \*\*(.+?)\*\*:", (ROOT / "docs/develop/glossary.md").read_text(), re.MULTILINE)
    assert len(terms) >= 40
    assert terms == sorted(set(terms))


def test_the_architecture_names_what_its_files_define():
    page = (ROOT / "docs/architecture.md").read_text().partition("## Where to look")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| [A-Z].*\. \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) >= 10
    for files, names in rows:
        text = "".join((ROOT / "src/hedgerow" / file).read_text() for file in re.findall(r"`(.+?)`", files))
        for name in re.findall(r"`(.+?)`", names):
            assert re.search(rf"^\s*(?:def|class) {name}\b", text, re.MULTILINE), (files, name)


def test_every_proof_page_is_in_the_list_of_proofs():
    page = (ROOT / "docs/privacy/proofs.md").read_text()
    assert "<!-- proofs of systems -->" in page
    listed = re.findall(r"^\.\./proofs/([\w-]+)$", page, re.MULTILINE)
    listed += re.findall(r"^\.\./proofs/([\w-]+)$", systems_listed.proofs(), re.MULTILINE)  # put there by the build
    assert sorted(listed) == sorted(page.stem for page in (ROOT / "docs/proofs").glob("*.md"))


def last_cells(page):
    """The last cell of each row of the tables of a page."""
    rows = [re.split(r" *\| *", line.strip("| ")) for line in page.read_text().splitlines() if line.startswith("| ")]
    return [row[-1] for row in rows if row[-1] != "test" and not set(row[-1]) <= set("- ")]


def test_each_line_of_the_attack_model_names_its_tests_or_says_that_there_is_none():
    lines = last_cells(ROOT / "docs/privacy/attack-model.md")
    assert len(lines) > 20
    for line in lines:
        assert NAMED.findall(line) or line.startswith("none"), line
        assert not any(map(missing, NAMED.findall(line))), line


def test_the_promises_point_to_the_attack_model():
    for page in ("README.md", "docs/pitfalls.md"):
        assert "attack-model.md" in (ROOT / page).read_text()


def test_the_first_pages_stay_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 90


def test_the_readme_shows_what_its_code_prints(capsys):
    code, printed = re.findall(
        r"^```(?:python|text)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == printed


def test_every_proof_page_is_linked_or_mentioned():
    text = "".join([systems_listed.table(), *(path.read_text() for path in [*PAGES, *SOURCES])])
    assert [page.name for page in sorted((ROOT / "docs/proofs").glob("*.md")) if page.name not in text] == []
