"""Each proof page begins with its guarantee, its code, its tests, and by whom or what it was checked."""

from __future__ import annotations

import pytest

import proof_heads
from proof_heads import HEAD, LINK, PAGES, ROOT, checked, paragraph, with_head

NAMES = sorted(page.stem for page in PAGES.glob("*.md"))


def faults(text):
    """Say what is wrong with the head of a page."""
    places = [text.find(f"\n{start}") for start in HEAD]
    found = [start for start, place in zip(HEAD, places, strict=True) if place < 0]
    if not found and places != sorted(places):
        found.append("another order")
    if not found and "\n## " in text[: places[-1]]:
        found.append("not at the top")
    for start in HEAD[1:3]:
        part = paragraph(text, start)
        links = LINK.findall(part)
        found += [f"{start} links nothing"] * (not links and "those of [" not in " ".join(part.lower().split()))
        found += [link for link in links if not (ROOT / link).exists()]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_its_head(name):
    page = PAGES / f"{name}.md"
    assert faults(page.read_text()) == []
    assert paragraph(page.read_text(), HEAD[3]).strip() == checked(page)


def test_what_a_page_lacks_is_noticed():
    text = (PAGES / "edprf.md").read_text()
    assert faults(text.replace("**Code.**", "Code")) != []
    assert faults(text.replace("papers/edprf.py)", "papers/no_such_file.py)")) == [
        "src/hedgerow/papers/no_such_file.py"
    ]
    assert faults("# Title\n\n## Section\n" + text) == ["not at the top"]
    code, tests = paragraph(text, HEAD[1]), paragraph(text, HEAD[2])
    assert faults(text.replace(code, "").replace(tests, f"{tests}\n\n{code}")) == ["another order"]


def test_the_line_on_checks_names_outside_readers(monkeypatch):
    table = proof_heads._table
    reading = {"who": "A. Reader", "when": "2027-01-15", "result": "no fault found"}
    with monkeypatch.context() as patch:
        patch.setattr(
            proof_heads, "_table", lambda file: {"edprf": [reading]} if file.endswith("readers.toml") else table(file)
        )
        assert checked(PAGES / "edprf.md").endswith("Outside readers: A. Reader, 2027-01-15: no fault found.")
        assert with_head(PAGES / "edprf.md") != (PAGES / "edprf.md").read_text()
    assert with_head(PAGES / "edprf.md") == (PAGES / "edprf.md").read_text()
