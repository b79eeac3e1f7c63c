"""What says which version this is agrees, and what is declared is what is tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import hedgerow

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIREMENT = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)$")


def test_one_version():
    assert PROJECT["version"] == hedgerow.__version__
    assert f"version: {hedgerow.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_version_has_its_notes():
    notes = ROOT / "docs" / "releases" / f"{hedgerow.__version__.removesuffix('.dev0')}.md"
    assert notes.exists()
    tested = notes.read_text()
    for classifier in PROJECT["classifiers"]:
        number = re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", classifier)
        assert number is None or number[1] in tested, classifier


def pinned(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    pairs = [line.partition(";")[0].strip().split("==") for line in lines if "==" in line]
    return {package.lower().replace("_", "-"): number for package, number in pairs}


def test_the_oldest_versions_that_are_tested_are_those_that_are_admitted():
    oldest, newest = pinned("constraints-oldest.txt"), pinned("constraints.txt")
    for requirement in PROJECT["dependencies"]:
        found = REQUIREMENT.match(requirement)
        assert found is not None, requirement
        name, least = found[1].lower(), found[2].split(".")
        assert oldest[name].split(".")[: len(least)] == least, requirement
        assert name in newest
