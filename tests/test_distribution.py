"""What a release consists of: a description without dead links, and a bill of materials."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import readme
import sbom

ROOT = Path(__file__).parents[1]
INSTALLED = {
    "hedgerow": {"version": "1.0", "license": "Apache-2.0", "needs": ["NumPy", "scikit_learn"]},
    "numpy": {"version": "2.0", "license": "BSD-3-Clause", "needs": []},
    "scikit-learn": {"version": "1.9", "license": "", "needs": ["numpy", "not-there"]},
    "pytest": {"version": "8.3", "license": "MIT", "needs": []},
}


def test_a_bill_of_materials_names_what_a_wheel_needs_and_nothing_else(tmp_path):
    wheel = tmp_path / "hedgerow-1.0-py3-none-any.whl"
    wheel.write_bytes(b"content")
    bill = sbom.bill(wheel, INSTALLED)
    assert [one["name"] for one in bill["components"]] == ["numpy", "scikit-learn"]
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/hedgerow@1.0"
    digest = bill["metadata"]["component"]["hashes"][0]["content"]
    assert (len(digest), bill) == (64, sbom.bill(wheel, INSTALLED))
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert needs["pkg:pypi/hedgerow@1.0"] == ["pkg:pypi/numpy@2.0", "pkg:pypi/scikit-learn@1.9"]
    assert needs["pkg:pypi/scikit-learn@1.9"] == ["pkg:pypi/numpy@2.0"]


def test_the_packages_of_an_environment_are_listed():
    listed = json.loads(
        subprocess.run([sys.executable, "-c", sbom.LIST], check=True, capture_output=True, text=True).stdout
    )
    assert {"numpy", "scipy", "scikit-learn", "numba", "llvmlite"} <= set(sbom.needed(listed, "hedgerow"))
    assert "pytest" not in sbom.needed(listed, "hedgerow")


def test_the_description_of_a_wheel_leads_nowhere():
    text = readme.without_links((ROOT / "README.md").read_text())
    assert re.findall(r"\]\((?!https?://)", text) == []
    assert "attack model says who may learn what" in text
    assert readme.without_links("[a](b.md) and [c](https://d)") == "a and [c](https://d)"
