"""Write the bill of materials of a wheel (CycloneDX 1.6, JSON): the wheel and everything that it needs, with versions and hashes.

    python release/sbom.py dist/hedgerow-0.4.0-py3-none-any.whl build/dist/newest/bin/python > dist/hedgerow-0.4.0.cdx.json

The second argument is a Python in whose environment the wheel is installed. The output follows from both alone, without a time.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

# Runs in the environment that is listed: its installed distributions, and what each requires there.
LIST = """
import json, re
from importlib.metadata import distributions
try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement
found = {}
for one in distributions():
    needs = [Requirement(text) for text in one.requires or []]
    found[one.metadata["Name"]] = {
        "version": one.version,
        "license": one.metadata.get("License-Expression") or "",
        "needs": [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})],
    }
print(json.dumps(found))
"""


def key(name: str) -> str:
    """Return the name by which an index compares packages."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(installed: dict[str, Any], root: str) -> list[str]:
    """Return the packages that one needs, and that these need, sorted."""
    known = {key(name): name for name in installed}
    found, open_names = set(), [key(root)]
    while open_names:
        name = open_names.pop()
        if name in known and name not in found:
            found.add(name)
            open_names += map(key, installed[known[name]]["needs"])
    return sorted(found)


def bill(wheel: Path, installed: dict[str, Any], root: str = "hedgerow") -> dict[str, Any]:
    """Return the bill of materials of a wheel that is installed among other packages."""
    known = {key(name): entry for name, entry in installed.items()}
    digest, names = hashlib.sha256(wheel.read_bytes()).hexdigest(), needed(installed, root)
    purl = {name: f"pkg:pypi/{name}@{known[name]['version']}" for name in names}

    def component(name: str) -> dict[str, Any]:
        entry = known[name]
        license_ = {"licenses": [{"expression": entry["license"]}]} if entry["license"] else {}
        return {
            "type": "library",
            "bom-ref": purl[name],
            "name": name,
            "version": entry["version"],
            "purl": purl[name],
        } | license_

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32])}",
        "version": 1,
        "metadata": {"component": component(root) | {"hashes": [{"alg": "SHA-256", "content": digest}]}},
        "components": [component(name) for name in names if name != root],
        "dependencies": [
            {
                "ref": purl[name],
                "dependsOn": sorted({purl[need] for need in map(key, known[name]["needs"]) if need in purl}),
            }
            for name in names
        ],
    }


if __name__ == "__main__":
    wheel, python = Path(sys.argv[1]), sys.argv[2]
    listed = subprocess.run([python, "-c", LIST], check=True, capture_output=True, text=True).stdout
    print(json.dumps(bill(wheel, json.loads(listed)), indent=1))
