"""How many tests each file has at least, in ``manifest.txt``: a green run with fewer is red.

A line has a file, its quick tests and those marked ``full``. Runs of all files are held against the numbers that their marker
expression takes. More tests than that are no error. After tests were added, or taken away on purpose::

    python tests/manifest.py --write
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

__all__ = ["FULL", "QUICK", "kind_of", "least_of", "lost", "read"]

MANIFEST = Path(__file__).with_name("manifest.txt")
QUICK, FULL = "quick", "full"  # the kinds of test that are counted
KINDS = frozenset({FULL, "slow", "engines", "site"})  # the markers that take tests out of `make test`
NARROWED = ("keyword", "ignore", "ignore_glob", "deselect", "collectonly")


def kind_of(item: pytest.Item) -> str:
    """Return the marker that takes a test out of the quick ones; expressions could not count one that has two."""
    found = sorted(KINDS.intersection(mark.name for mark in item.iter_markers()))
    if len(found) > 1:
        raise pytest.UsageError(f"{item.nodeid} is marked {' and '.join(found)}: a test has one of these markers")
    return found[0] if found else QUICK


def read(path: Path = MANIFEST) -> dict[str, Counter[str]]:
    """Return the numbers of tests of each file, by kind."""
    found = {}
    for line in path.read_text().splitlines():
        file, quick, full = line.split()
        found[file] = Counter({QUICK: int(quick), FULL: int(full)})
    return found


def least_of(config: pytest.Config, manifest: Mapping[str, Counter[str]]) -> dict[str, int]:
    """Return the least number of tests that each file must run; empty for a run that was given only some files."""
    option = config.option
    if config.args != config.getini("testpaths") or any(getattr(option, name) for name in NARROWED):
        return {}
    kinds = [kind for kind in (QUICK, FULL) if _takes(option.markexpr, kind)]
    return {file: sum(counts[kind] for kind in kinds) for file, counts in manifest.items()}


def _takes(expression: str, kind: str) -> bool:
    """Say whether a marker expression, which is one of Python's, takes tests of this kind."""
    return not expression or bool(eval(expression, {}, defaultdict(bool, {kind: True})))


def lost(least: Mapping[str, int], ran: Iterable[str], skipped: Iterable[str]) -> list[str]:
    """Say of which files too few tests ran, from the ids of tests and the files that were skipped as a whole."""
    counts, whole = Counter(name.partition("::")[0] for name in set(ran)), set(skipped)
    return [
        f"{file}: {counts[file]} tests ran, and there were {number}"
        for file, number in least.items()
        if counts[file] < number and file not in whole
    ]


class _Collected:
    """Takes the numbers of tests, and the files that are skipped as a whole, from a run that collects them."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.skipped: set[str] = set()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.counts[item.nodeid.partition("::")[0]][kind_of(item)] += 1


def write() -> None:
    """Write the manifest of the tests that there are; a file that is skipped here keeps its numbers."""
    found = _Collected()
    if pytest.main(["-m", "", "--collect-only", "-p", "no:terminal"], plugins=[found]):
        sys.exit("pytest cannot collect the tests: `pytest --collect-only` says why")
    before = read() if MANIFEST.exists() else {}
    kept = {file: before[file] for file in found.skipped & before.keys()}
    lines = [f"{file} {of[QUICK]} {of[FULL]}\n" for file, of in sorted((found.counts | kept).items())]
    MANIFEST.write_text("".join(lines))
    if kept:
        sys.exit(f"not counted, for want of a package: {', '.join(sorted(kept))}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
