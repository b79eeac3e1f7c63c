"""``hedgerow card``: a page about a saved model, for whoever is to trust it."""

from __future__ import annotations

from pathlib import Path

import click

from hedgerow.cli.ledgers import ledger_options, ledger_or_none
from hedgerow.cli.options import InputFile, OutputFile, force_option, refuse_overwriting
from hedgerow.cli.report_files import read_report
from hedgerow.systems import load

__all__ = ["card"]

MARKDOWN = (".md", ".markdown")


@click.command()
@click.argument("model", type=InputFile())
@click.option(
    "--out", type=OutputFile(), required=True, help="The file to write: Markdown if its name ends in .md, else HTML."
)
@click.option("--title", help="The card's heading. [default: the model file's name]")
@click.option(
    "--report",
    "report_path",
    type=InputFile(),
    help="A report card of this model, as `hedgerow evaluate --out` writes it.",
)
@ledger_options
@force_option
def card(
    model: Path,
    out: Path,
    title: str | None,
    report_path: Path | None,
    address: str | None,
    dataset: str | None,
    force: bool,
) -> None:
    """Write the card of the model file MODEL: its guarantee, what it reads, what it learned, and its limits.

    With --report, also how good the model is; with --ledger and --dataset, what was spent on the records, and by whom. The page
    opens from disk: pictures, which need the extra "plot", are in it, and no address on the web and no script. All of it was
    released; it costs nothing.
    """
    from hedgerow.plots import MarkdownPage, Page
    from hedgerow.plots.card import write_card

    refuse_overwriting(out, force, model, *([report_path] if report_path else []))
    estimator = load(model)
    report = None if report_path is None else read_report(report_path, model)
    heading = title or f"Model card: {model.name}"
    page = MarkdownPage(heading) if out.suffix.lower() in MARKDOWN else Page(heading)
    write_card(estimator, page, ledger_or_none(address, dataset), report)
    page.write(out, replace=force)
    click.echo(f"wrote {out}", err=True)
