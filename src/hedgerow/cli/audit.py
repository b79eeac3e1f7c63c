"""``hedgerow audit | reproduce``: attack a claim of privacy, check a saved model, or test the claims of the papers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hedgerow import __version__
from hedgerow.audit.findings import CONFIDENCE, Finding, system_name
from hedgerow.cli import AUDIT_REFUTED
from hedgerow.cli.inputs import file_digest, read_parameters, write_json
from hedgerow.cli.options import command, refuse_overwriting
from hedgerow.export.archive import read_archive
from hedgerow.export.signature import Signature, signature_of
from hedgerow.plots import Page
from hedgerow.plots.axes import new_figure
from hedgerow.plots.utility import AuditDisplay
from hedgerow.privacy.accounting import check_adjacency
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.exact import decimal_text
from hedgerow.systems import system_class
from hedgerow.texts import counted, printable

NEITHER = ("model", "system", "everything", "page", "force", "key", "as_json")  # every other option is for attacks
SUMMARY = "What was attacked, its claim, and a lower bound on epsilon."
MODEL_SUMMARY = "Whether a saved model contains anything that its privacy certificate does not explain."


@command("audit", confidence={"default": CONFIDENCE})
def audit(
    model: Path | None,
    system: str | None,
    everything: bool,
    page: Path | None,
    force: bool,
    key: Path | None,
    as_json: bool,
    **request: Any,
) -> None:
    if sum((model is not None, system is not None, everything)) != 1:
        raise click.UsageError("name what to audit: a MODEL file, --system NAME, or --all.")
    context = click.get_current_context()
    # Options that would have no effect are refused.
    given = {
        name for name in context.params if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
    }
    if model is not None and given.difference(NEITHER):
        raise click.UsageError("a MODEL file is checked as it is; the options of an attack require --system or --all.")
    if everything and given.intersection(("epsilon", "delta", "pairs", "adjacencies")):
        raise click.UsageError("--all attacks every system as it is; claims, --adjacency and --param require --system.")
    if key is not None and model is None:
        raise click.UsageError("--key checks the signature of a MODEL file; pass MODEL, too.")
    if "force" in given and "page" not in given:
        raise click.UsageError("--force replaces the file of --page; pass --page FILE, too.")
    if page is not None:  # before any work
        if model is not None and page.exists() and page.samefile(model):
            raise click.UsageError(f"--page {page} is the MODEL under audit; choose another name.")
        refuse_overwriting(page, force)
        if model is None:
            new_figure(1, 1)  # raises ConfigurationError if matplotlib is not installed
    from hedgerow.audit.contents import check_model

    findings = _attacked(system, request) if model is None else check_model(model)
    signature = None if model is None else signature_of(model, key)
    about = None if model is None or signature is None else _about(model, findings, signature)
    refuted = sum(finding.refuted for finding in findings)
    if as_json:
        document = {} if about is None else {"model": about}
        write_json({**document, "findings": [finding.to_dict() for finding in findings], "refuted": refuted})
    elif about is None:
        for finding in findings:
            click.echo(str(finding))
        click.echo(f"{refuted} of {counted(len(findings), 'attack')} refuted a claim")
    else:
        for finding in findings:
            verdict = "REFUTED: " if finding.refuted else ""
            click.echo(f"{printable(finding.subject)}: {verdict}{printable(finding.words)}")
        click.echo(f"{about['file']}: {about['verdict']}; {about['signature']}")
        click.echo(f"note: {about['not told']}", err=True)
    if page is not None:
        write_page(findings, page, about, force=force)
        click.echo(f"wrote {page}", err=True)
    if refuted or (signature is not None and signature.refuted):
        context.exit(AUDIT_REFUTED)


def _attacked(system: str | None, request: dict[str, Any]) -> list[Finding]:
    from hedgerow.audit.attack import attack, private_trials, published_trials, system_trial
    from hedgerow.audit.cases import case, cases_of

    variant, named = request["variant"], [case(name) for name in request["names"]]
    if system is None:
        wanted = {pair.name for pair in named}
        trials = private_trials() if variant == "private" else published_trials()
        trials = [trial for trial in trials if not wanted or trial.pair.name in wanted]
    else:
        kind = system_class(system)
        settings = read_parameters(kind, request["pairs"], request["delta"])
        if variant != "private" and "variant" not in inspect.signature(kind).parameters:
            raise click.UsageError(f"{kind.__name__} has no variant {variant!r}; it has only the private one.")
        claim = {"variant": variant, "epsilon": request["epsilon"], "delta": settings.pop("delta", 0.0)}
        trials = [
            system_trial(system, pair, adjacency, **claim, settings=settings)
            for adjacency in map(check_adjacency, request["adjacencies"] or ("add-remove",))
            for pair in named or cases_of(system, variant)
        ]
    limits = {name: request[name] for name in ("runs", "minutes", "confidence")}
    return attack(trials, **limits, n_jobs=request["jobs"], progress=True)


def _about(path: Path, findings: Sequence[Finding], signature: Signature) -> dict[str, str]:
    from hedgerow.audit.contents import UNTOLD

    certificate = Certificate.from_dict(read_archive(path)[0]["certificate"])
    delta, refuted = decimal_text(certificate.delta), sum(finding.refuted for finding in findings)
    none = "nothing unexplained found" + ("; its own certificate says that no guarantee holds" if findings else "")
    return {
        "file": str(path),
        "sha256": file_digest(path),
        "system": system_name(certificate.system),
        "variant": certificate.variant,
        "claim": f"epsilon {decimal_text(certificate.epsilon)}, delta {delta}, {certificate.adjacency}",
        "protected": str(certificate.unit),
        "signature": str(signature),
        "checked by": f"hedgerow {__version__}",
        "verdict": f"{refuted} unexplained" if refuted else none,
        "not told": UNTOLD,
    }


def write_page(
    findings: Sequence[Finding], path: Path, about: Mapping[str, str] | None = None, *, force: bool = False
) -> None:
    page = Page("Audit" if about is None else f"Audit of {about['file']}")
    if about is not None:
        page.text(MODEL_SUMMARY).table(["what", "value"], about.items())
        if findings:
            page.table(["verdict", "finding"], [[finding.verdict, finding.words] for finding in findings])
    elif findings:
        page.text(SUMMARY).figure(AuditDisplay.from_findings(findings).plot(), "The worst bound of each claim.")
        headers = ["subject", "adjacency", "claim", "at least", "would be seen", "verdict", "pair", "event"]
        rows = []
        for one in findings:
            claim, bounds = one.claim.removeprefix("epsilon "), [f"{one.loss:.3g}", f"{one.power:.3g}"]
            rows.append([one.subject, one.adjacency, claim, *bounds, one.verdict, one.pair, one.words])
        page.table(headers, rows)
        certainties = sorted({finding.certainty for finding in findings})
        page.text(f"Bounds hold together with the probability {' or '.join(certainties)}.")
    else:
        page.text(SUMMARY).text("Nothing was attacked.")
    page.write(path, replace=force)


@command("reproduce")
def reproduce(names: tuple[str, ...], seeds: int | None, jobs: int, out: Path, rows: Path | None) -> None:
    from hedgerow.papers.reproduce.run import reproduce as run
    from hedgerow.papers.reproduce.statements import PAPERS

    if names == ("list",):
        width = max(len(experiment.name) for paper in PAPERS for experiment in paper.experiments)
        for paper in PAPERS:
            click.echo(f"{paper.title}: {paper.reference}")
            for experiment in paper.experiments:
                click.echo(f"  {experiment.name:<{width}}  {experiment.title}")
        return
    for path in run(names, out, rows or out / "rows", seeds=seeds, jobs=jobs):
        click.echo(path)
