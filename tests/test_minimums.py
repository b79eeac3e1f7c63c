"""A version that pyproject.toml declares to be enough is the one that constraints-oldest.txt installs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from hedgerow.errors import PACKAGES

ROOT = Path(__file__).parents[1]
# Flower wants an older protobuf than the newest versions of other extras
NOT_RUN_BY_THE_SUITE = {"lint", "bench", "mutants", "docs", "browser", "federated"}


def declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    yield from project["dependencies"]
    for extra, requirements in project["optional-dependencies"].items():
        if extra not in NOT_RUN_BY_THE_SUITE:
            yield from requirements


def pinned(name):
    lines = (ROOT / name).read_text("utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    versions = {}
    for requirement in requirements:
        (only,) = requirement.specifier
        assert only.operator == "=="
        versions.setdefault(normal(requirement.name), set()).add(Version(only.version))
    return versions


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("line", sorted(set(declared())))
def test_the_oldest_version_is_the_declared_one_and_the_newest_is_newer(line):
    requirement = Requirement(line)
    (only,) = requirement.specifier
    name, least = normal(requirement.name), Version(only.version)
    assert only.operator == ">="
    assert pinned("constraints-oldest.txt")[name] == {least}
    assert min(pinned("constraints.txt")[name]) > least


def test_what_a_message_tells_to_install_is_in_its_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra, packages in PACKAGES.items():
        named = {normal(Requirement(text.strip('"')).name) for text in packages.split()}
        assert named <= {normal(Requirement(text).name) for text in extras[extra]}, extra
    elsewhere = [path for path in (ROOT / "src").rglob("*.py") if path.name != "errors.py"]
    assert "pip install " not in "".join(path.read_text("utf-8") for path in elsewhere), "use install_words"
