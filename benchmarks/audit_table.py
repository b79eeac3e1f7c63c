"""Turn the findings of audits into the table of docs/audit.md.

hedgerow audit --all --pair one-leaf --runs 1200 --json > build/audit-private.json
hedgerow audit --all --variant published --runs 600 --json > build/audit-published.json
python benchmarks/audit_table.py build/audit-private.json build/audit-published.json

and the losses of private forms by the tool that sees most of them, the attacks or the exact law, into a second one:

hedgerow audit --all --minutes 50 --jobs 2 --json > build/audit.json
python benchmarks/audit_table.py --seen build/audit.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hedgerow.audit import exact_loss
from hedgerow.audit.attack import settings_of
from hedgerow.audit.cases import cases_of
from hedgerow.audit.findings import Finding
from hedgerow.errors import ConfigurationError
from hedgerow.systems import list_systems, system_class

SEEN_HEADER = (
    "| system | an attack sees, of its claim | on the pair | its power there | the exact law sees | on the pair |\n"
    "| -- | -- | -- | -- | -- | -- |"
)
BY_HISTOGRAMS = ("pinq-id3", "sulq-id3")  # all counts of a node are drawn before its test: too many outcomes
EXACT_PAIRS = ("one-leaf", "tied-tests", "one-feature", "first-count")  # small enough for all outcomes of their draws
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


def seen(findings: list[dict[str, Any]]) -> str:
    """Return the table of what is seen of private forms, without a delta."""
    rows = []
    for name in (info.name for info in list_systems() if "private" in info.variants):
        own = [found for found in findings if found["subject"].startswith(f"{name}, private") and not found["delta"]]
        top = max(own, key=lambda found: share(found["loss"], found["epsilon"]), default=None)
        exact = exactly(name)
        rows.append(
            (
                f"`{name}`",
                *(("", "", "") if top is None else (*told(top), f"{float(top['power']):.2f}".replace("inf", "none"))),
                *(("too many outcomes", "") if exact is None else told(exact.to_dict())),
            )
        )
    return "\n".join([SEEN_HEADER, *(f"| {' | '.join(row)} |" for row in rows)])


def share(loss: float | str, epsilon: float) -> float:
    return float(loss) / epsilon


def told(found: dict[str, Any]) -> tuple[str, str]:
    adjacency = ", replaced" if found["adjacency"] == "replace-one" else ""
    return (
        f"{share(found['loss'], found['epsilon']):.0%} of {found['epsilon']:g}"
        + (", refuted" if found["refuted"] else ""),
        found["pair"].partition(":")[0] + adjacency,
    )


def exactly(name: str) -> Finding | None:
    """Return the largest exact loss, as a share of the claim, on the pairs that are small enough; None where none is."""
    kind, found = system_class(name), []
    for case in cases_of(name, "private"):
        if case.name not in EXACT_PAIRS or (name in BY_HISTOGRAMS and case.settings["max_depth"]):
            continue
        estimator = kind(epsilon=case.epsilon, schema=case.schema, **settings_of(name, case))
        try:
            found.append(exact_loss(estimator, case.base, (*case.base, case.record)))
        except ConfigurationError:  # more outcomes than can be told
            continue
    return max(found, key=lambda one: share(one.loss, one.epsilon), default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("findings", type=Path, nargs="+", help="what `hedgerow audit --json` wrote")
    parser.add_argument("--seen", action="store_true", help="the table of private forms, with what the exact law sees")
    given = parser.parse_args()
    print((seen if given.seen else table)(read(given.findings)))


if __name__ == "__main__":
    main()
