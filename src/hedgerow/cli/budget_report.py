"""``hedgerow budget report``: one page about a ledger, for the officer."""

from __future__ import annotations

from pathlib import Path

import click

from hedgerow.cli.budget_show import amount_text, ceiling_text
from hedgerow.cli.ledgers import ledger_options, required, store_of
from hedgerow.cli.options import OutputFile, force_option, refuse_overwriting
from hedgerow.ledgers.store import StoredLedger
from hedgerow.privacy.exact import decimal_text

__all__ = ["report", "write_report"]


@click.command()
@ledger_options
@click.option("--out", type=OutputFile(), required=True, help="The HTML file to write, whole or not at all.")
@force_option
def report(address: str | None, dataset: str | None, out: Path, force: bool) -> None:
    """Write a page about a ledger: ceiling, what is left, every entry with its certificate, spending over time.

    Pictures need the extra "plot". The page holds no record, no address on the web and no script.
    """
    refuse_overwriting(out, force)
    ledger = store_of(address).ledger(required(dataset, "--dataset", "HEDGEROW_DATASET"))
    write_report(ledger, out, force=force)
    click.echo(f"wrote {out}", err=True)


def write_report(ledger: StoredLedger, out: Path, *, force: bool) -> None:
    """Write the page of a ledger."""
    from hedgerow.plots import Page
    from hedgerow.plots.spending import plot_spending

    entries, rho = ledger.entries, ledger.rho is not None
    unit = "rho" if rho else "epsilon"
    facts = [
        ("ceiling", ceiling_text(ledger)),
        (f"{unit} spent", decimal_text(ledger.spent)),
        (f"{unit} left", decimal_text(ledger.remaining)),
        ("delta spent", decimal_text(ledger.spent_delta)),
        ("state", "closed" if ledger.closed else "open"),
        ("a share of", ledger.parent or "no other ledger"),
        ("guarantee", "holds" if ledger.holds else "void: a seeded fit was booked"),
        ("head of the chain", ledger.head),
    ]
    page = Page(f"Budget of {ledger.name}")
    page.text("What all fits on these records may reveal together, and what they have spent. Nothing is ever refunded.")
    page.table(["what", "value"], facts)
    if rho:
        page.text("The rho that was spent is no guarantee by itself; the ceiling is.")
    times = [entry.time for entry in entries]
    amounts = [float(entry.rho if rho else entry.epsilon) for entry in entries]
    if entries:
        figure = plot_spending(times, amounts, float(ledger.ceiling.limit), unit)
        page.figure(figure, f"The sum of {unit} over time, and the ceiling of today.")
    changes = [said for said in ledger.history if said["kind"] in ("raised", "closed")]
    if changes:
        page.heading("Raised and closed")
        page.text(
            "A ceiling that was raised after results were seen holds for the largest one that any results could have led to."
        )
        page.table(
            ["what", "when", "who", "why"],
            [[said[key] for key in ("kind", "time", "who", "reason")] for said in changes],
        )
    page.heading("Entries")
    unfinished = [entry for entry in entries if entry.state == "unfinished"]
    if unfinished:
        page.text(f"{len(unfinished)} not finished: they run, or were broken off. They count all the same.")
    page.table(
        ["when", "state", "system", "counts", "who", "process", "through"],
        [
            [
                f"{entry.time:%Y-%m-%d %H:%M:%S} UTC",
                entry.state,
                entry.label,
                amount_text(entry, rho=rho),
                entry.who,
                entry.process,
                entry.through or "",
            ]
            for entry in entries
        ],
    )
    for number, entry in enumerate(entries, 1):
        page.heading(f"Certificate {number}: {entry.label}", 3)
        page.lines(entry.certificate.details())
    page.write(out, replace=force)
