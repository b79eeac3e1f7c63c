"""The head of each proof page: the guarantee, its code, its tests, and by whom or what it was checked.

``python docs/extensions/proof_heads.py --write`` writes the last line, which ``tests/test_proof_heads.py`` compares. Readers from
outside are listed in ``docs/proofs/readers.toml``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from hedgerow.catalogue import REGRESSORS, SYSTEMS
from systems_listed import proof

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "proofs"
HEAD = ("**Guarantee.**", "**Code.**", "**Tests.**", "**Checked.**")
LINK = re.compile(r"\]\(\.\./\.\./((?:src|tests)[\w/.-]*)")
EXACT = re.compile(r"tests/audit(?!/test_(?:attack|replay|contents|pairs))|test_privacy_of_laws|_audit\.py")


def paragraph(text: str, start: str) -> str:
    """Return the paragraph of a page that begins so, or nothing."""
    return next((part for part in text.split("\n\n") if part.startswith(start)), "")


def checked(page: Path) -> str:
    """Return the line that says by whom and by what a page was checked, and when."""
    code, tests = (LINK.findall(paragraph(page.read_text("utf-8"), start)) for start in HEAD[1:3])
    every = ["its tests"]
    if any(map(EXACT.search, tests)):
        every.append("the [exact audit](../audit.md)")
    if page.stem == "regression" or f"proofs/{page.stem}" in map(proof, (*SYSTEMS, *REGRESSORS)):
        every.append("the [replay audit](../../tests/audit/test_replay.py)")
    planted = {f"src/hedgerow/{bug['file']}" for bug in _table("mutation/bugs.toml").values()}
    release = ["[planted bugs](../mutants.md#planted-bugs) in its code"] * bool(planted & set(code))
    release.append("a sample of its [mutants](../mutants.md)")
    readers = _table("docs/proofs/readers.toml").get(page.stem, [])
    outside = "; ".join(f"{one['who']}, {one['when']}: {one['result']}" for one in readers) or "nobody yet"
    by = ["by its author", f"at every change by {_listed(every)}"]
    by.append(f"before a release by {_listed(release)}")
    return f"{HEAD[3]} B{'; '.join(by)[1:]}. Outside readers: {outside}."


def _table(file: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / file).read_text("utf-8"))


def _listed(things: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(things[:-1]), things[-1]]))


def with_head(page: Path) -> str:
    """Return the text of a page whose line on checks is up to date."""
    text = page.read_text("utf-8")
    old, tests = paragraph(text, HEAD[3]), paragraph(text, HEAD[2])
    if not tests:  # which the test reports
        return text
    return text.replace(old, checked(page)) if old else text.replace(tests, f"{tests.rstrip()}\n\n{checked(page)}", 1)


if __name__ == "__main__" and "--write" in sys.argv:
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(with_head(page), "utf-8")
