"""What an audit says of a model's file, and the page that it writes for a reviewer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow import __version__
from hedgerow.archive import read_archive
from hedgerow.audit.findings import Finding
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.exact import decimal_text
from hedgerow.systems import list_systems

if TYPE_CHECKING:
    from hedgerow.plots import Page

__all__ = ["about_model", "model_verdict", "write_page"]

SUMMARY = "What was attacked, what it claims, and the least that any epsilon can be."
MODEL_SUMMARY = "Whether a saved model holds anything that its privacy certificate does not explain."


def about_model(path: Path) -> dict[str, str]:
    """Return which file was checked, by which version, and what it claims."""
    certificate = Certificate.from_dict(read_archive(path)[0]["certificate"])
    names = {info.class_name: info.name for info in list_systems()}
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "file": str(path),
        "sha256": digest,
        "system": names.get(certificate.system, certificate.system),
        "variant": certificate.variant,
        "claim": f"epsilon {decimal_text(certificate.epsilon)}, delta {decimal_text(certificate.delta)}, "
        f"{certificate.adjacency}",
        "checked by": f"hedgerow {__version__}",
    }


def model_verdict(findings: Sequence[Finding]) -> str:
    """Return what the check of a model comes to."""
    refuted = sum(found.refuted for found in findings)
    if refuted:
        return f"{refuted} unexplained"
    return "nothing unexplained found" + ("; its own certificate says that no guarantee holds" if findings else "")


def write_page(
    findings: Sequence[Finding], path: Path, about: Mapping[str, str] | None = None, *, force: bool = False
) -> None:
    """Write the findings as a page: of attacks with a plot, of a model with what was checked."""
    from hedgerow.plots import Page

    page = Page("Audit" if about is None else f"Audit of {about['file']}")
    if about is None:
        _attacks(page, findings)
    else:
        page.text(MODEL_SUMMARY)
        page.table(["what", "value"], [*about.items(), ("verdict", model_verdict(findings))])
        if findings:
            page.table(["verdict", "finding"], [[found.verdict, found.words] for found in findings])
    page.write(path, replace=force)


def _attacks(page: Page, findings: Sequence[Finding]) -> None:
    from hedgerow.plots import AuditDisplay

    page.text(SUMMARY)
    if not findings:
        page.text("Nothing was attacked.")
        return
    page.figure(AuditDisplay.from_findings(findings).plot(), "The worst bound of each claim.")
    headers = ["subject", "adjacency", "claim", "at least", "would be seen", "verdict", "pair", "event"]
    page.table(
        headers,
        [
            [
                found.subject,
                found.adjacency,
                found.claim.removeprefix("epsilon "),
                f"{found.loss:.3g}",
                f"{found.power:.3g}",
                found.verdict,
                found.pair,
                found.words,
            ]
            for found in findings
        ],
    )
    page.text(
        "Bounds hold together with the probability "
        + " or ".join(sorted({found.certainty for found in findings}))
        + "."
    )
