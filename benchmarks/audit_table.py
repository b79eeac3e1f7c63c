"""Turn the findings of audits into the table of docs/audit.md.

hedgerow audit --all --pair one-leaf --runs 1200 --json > build/audit-private.json
hedgerow audit --all --variant published --runs 600 --json > build/audit-published.json
python benchmarks/audit_table.py build/audit-private.json build/audit-published.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hedgerow.systems import list_systems

HEADER = (
    "| system | private form: largest bound / claim | on the pair | published form: largest bound / claim | on the pair |\n"
    "| -- | -- | -- | -- | -- |"
)


def read(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [found for path in paths for found in json.loads(path.read_text(encoding="utf-8"))["findings"]]


def worst(findings: Iterable[dict[str, Any]], system: str, variant: str) -> tuple[str, str]:
    """Return the bound that is the largest share of its claim, and its pair."""
    own = [found for found in findings if found["subject"].startswith(f"{system}, {variant}")]
    if not own:
        return "", ""
    top = max(own, key=lambda found: float(found["loss"]) / found["epsilon"])
    verdict = ", refuted" if top["refuted"] else ""
    adjacency = ", replaced" if top["adjacency"] == "replace-one" else ""
    return f"{float(top['loss']):.2f} / {top['epsilon']:g}{verdict}", top["pair"].partition(":")[0] + adjacency


def table(findings: list[dict[str, Any]]) -> str:
    rows = [
        (f"`{info.name}`", *worst(findings, info.name, "private"), *worst(findings, info.name, "published"))
        for info in list_systems()
    ]
    return "\n".join([HEADER, *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("findings", type=Path, nargs="+", help="what `hedgerow audit --json` wrote")
    print(table(read(parser.parse_args().findings)))


if __name__ == "__main__":
    main()
