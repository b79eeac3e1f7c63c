"""The maps of the papers: every numbered item has an entry, each mark an item, and links lead there and back."""

import re

import pytest

import paper_map
from page_blocks import blocks_of

PAPERS = sorted(paper_map.papers())
COUNTS = {"eDPRF": (6, 19, 6, 5, 1, 3, 9), "DPAda": (6, 29, 7, 2, 0, 2, 6), "CART-DPsAdaBoost": (4, 11, 4, 0, 3, 4, 5)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_numbered_item_is_listed(paper):
    items = [one["item"] for one in paper_map.papers()[paper]["items"]]
    assert sorted(items) == sorted(
        f"{kind} {number}"
        for kind, count in zip(paper_map.KINDS, COUNTS[paper], strict=True)
        for number in range(1, count + 1)
    )


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_has_a_place_or_a_reason_and_every_mark_an_item(paper):
    because = {one["item"]: one.get("because", "") for one in paper_map.papers()[paper]["items"]}
    places = paper_map.map_of(paper)
    assert set(places) == set(because)
    assert [item for item in because if bool(places[item]) == bool(because[item])] == []


@pytest.mark.parametrize("kind", ["algorithm", "equation"])
@pytest.mark.parametrize("paper", PAPERS)
def test_algorithms_are_there_as_printed(paper, kind):
    because = {one["item"] for one in paper_map.papers()[paper]["items"] if "because" in one}
    columns = {
        item: {column for place in found for column in place.columns}
        for item, found in paper_map.map_of(paper).items()
        if item.startswith(kind) and item not in because
    }
    assert all(columns.values())
    if kind == "algorithm":
        assert [item for item, found in columns.items() if "as printed" not in found] == []


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("equations 7, 8 and 11", ["equation 7", "equation 8", "equation 11"]),
        ("equations 12 to 14; theorem 3", ["equation 12", "equation 13", "equation 14", "theorem 3"]),
        ("algorithm 2, lines 3 to 9", ["algorithm 2"]),
        ("properties 1 and 2; figure 5", ["property 1", "property 2", "figure 5"]),
    ],
)
def test_what_a_mark_names(items, found):
    assert list(paper_map.numbered(items)) == found


@pytest.mark.parametrize("paper", PAPERS)
def test_from_an_item_to_its_line_and_back(paper):
    table = paper_map.table_of(paper)
    for item, places in paper_map.map_of(paper).items():
        row = re.search(rf'<tr id="{item.replace(" ", "-")}">.*?</tr>', table)[0]
        for place in places:
            if place.file.startswith("src/"):
                assert f'href="../{place.page}.html#L{place.line}"' in row
    shown = {
        place.file: place for marked, place in paper_map.places() if marked == paper and place.file.startswith("src/")
    }
    for file, place in shown.items():
        page = paper_map.source_page(file, "../" * place.page.count("/"))
        [line] = re.findall(rf'<span id="L{place.line}">.*', page)
        for item in paper_map.numbered(place.items):
            assert f"reproductions/{paper_map.papers()[paper]['page']}.html#{item.replace(' ', '-')}" in line
        assert page.count('<span id="L') == len((paper_map.ROOT / file).read_text().splitlines())


def test_a_proof_leads_back():
    source = ["# Proof\n\n<!-- eDPRF: theorems 3 and 4 -->\n\n**Guarantee.**"]
    paper_map.read(None, "proofs/edprf", source)
    assert [f'edprf-map.html#theorem-{number}">theorem {number}</a>' in source[0] for number in (3, 4)] == [True, True]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_map_begins_with_six_lines_of_code(paper):
    page = paper_map.ROOT / f"docs/reproductions/{paper_map.papers()[paper]['page']}.md"
    text = page.read_text()
    [block] = blocks_of(text)
    assert len([line for line in block.code.splitlines() if line]) == 6
    assert 'variant="published"' in block.code
    assert text.index(block.code) < 200
    assert f"<!-- map: {paper} -->" in text
