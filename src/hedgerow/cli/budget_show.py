"""``hedgerow budget show | list | verify``: what a store holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from hedgerow.cli.ledgers import ledger_option, ledger_options, required, store_of
from hedgerow.cli.options import json_option
from hedgerow.cli.output import write_json
from hedgerow.ledgers.ledger import LedgerEntry
from hedgerow.ledgers.store import StoredLedger
from hedgerow.privacy.exact import decimal_text
from hedgerow.texts import counted

__all__ = ["amount_text", "ceiling_text", "ledger_values", "list_", "show", "verify"]


def ceiling_text(ledger: StoredLedger) -> str:
    """Return a ledger's ceiling in words."""
    return str(ledger.ceiling)


def amount_text(entry: LedgerEntry, *, rho: bool) -> str:
    """Return what an entry counts in words."""
    if rho:
        thresholds = f", delta {decimal_text(entry.delta)} of thresholds" if entry.delta else ""
        return f"rho {decimal_text(entry.rho, 4)}, {counted(entry.draws, 'normal draw')}{thresholds}"
    return f"epsilon {decimal_text(entry.epsilon)}, delta {decimal_text(entry.delta)}"


def ledger_values(ledger: StoredLedger) -> dict[str, Any]:
    """Return a ledger as plain values for JSON; amounts are exact fractions as text."""
    unit = "epsilon" if ledger.rho is None else "rho"
    return {
        "name": ledger.name,
        "store": ledger.store.address,
        "parent": ledger.parent,
        "closed": ledger.closed,
        "holds": ledger.holds,
        "ceiling": ledger.ceiling.to_dict(),
        "unit": unit,
        "spent": str(ledger.spent),
        "spent_delta": str(ledger.spent_delta),
        "remaining": str(ledger.remaining),
        "head": ledger.head,
        "entries": [_entry_values(entry) for entry in ledger.entries],
        "changes": [
            {name: said[name] for name in ("kind", "time", "who", "reason")} | {"ceiling": said["after"]["ceiling"]}
            for said in ledger.history
            if said["kind"] in ("raised", "closed")
        ],
    }


def _entry_values(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "label": entry.label,
        "state": entry.state,
        "time": entry.time.isoformat(),
        "age_seconds": int(entry.age.total_seconds()),
        "who": entry.who,
        "process": entry.process,
        "through": entry.through,
        "epsilon": str(entry.epsilon),
        "delta": str(entry.delta),
        "rho": str(entry.rho),
        "draws": entry.draws,
        "certificate": entry.certificate.to_dict(),
    }


@click.command()
@ledger_options
@json_option
def show(address: str | None, dataset: str | None, as_json: bool) -> None:
    """Show a ledger: its ceiling, what is left, and every entry. The whole chain is checked."""
    ledger = store_of(address).ledger(required(dataset, "--dataset", "HEDGEROW_DATASET"))
    if as_json:
        write_json(ledger_values(ledger))
        return
    rho = ledger.rho is not None
    click.echo(f"{ledger.name} in {ledger.store.address}" + (", closed" if ledger.closed else ""))
    click.echo(f"  ceiling    {ceiling_text(ledger)}")
    if ledger.parent is not None:
        click.echo(f"  a share of {ledger.parent}, which may have less left")
    click.echo(f"  left       {'rho' if rho else 'epsilon'} {decimal_text(ledger.remaining)}")
    click.echo(
        f"             delta {decimal_text(ledger.delta - ledger.spent_delta)}" + (" of thresholds" if rho else "")
    )
    if rho:
        click.echo(f"             {counted(ledger.draws - ledger.spent_draws, 'normal draw')}")
    if not ledger.holds:
        click.echo("  note       a seeded fit voids the guarantee")
    click.echo(f"  head       {ledger.head}")
    for said in ledger.history:
        if said["kind"] in ("raised", "closed"):
            click.echo(f"  {said['kind']:<10} {said['time'][:19]} by {said['who']}: {said['reason']}")
    entries = ledger.entries
    click.echo(f"  entries    {len(entries)}")
    for entry in entries:
        click.echo(
            f"    {entry.time:%Y-%m-%d %H:%M} {entry.state:<10} {entry.label}  {amount_text(entry, rho=rho)}  {entry.who}"
        )
        if entry.state == "unfinished":
            age = timedelta(seconds=int(entry.age.total_seconds()))
            click.echo(f"{'':<21} began {age} ago in process {entry.process}; it counts, whatever became of it")


@click.command("list")
@ledger_option
@json_option
def list_(address: str | None, as_json: bool) -> None:
    """List the ledgers of a store."""
    store = store_of(address)
    ledgers = [store.ledger(name) for name in store.names()]
    if as_json:
        write_json(
            [
                {"name": each.name, "ceiling": each.ceiling.to_dict(), "remaining": str(each.remaining)}
                for each in ledgers
            ]
        )
        return
    for each in ledgers:
        click.echo(
            f"{each.name}  {ceiling_text(each)}; left {decimal_text(each.remaining)}"
            + (", closed" if each.closed else "")
        )


@click.command()
@ledger_options
@click.option("--head", help="What the ledger's head was at some time, kept elsewhere.")
def verify(address: str | None, dataset: str | None, head: str | None) -> None:
    """Check every link of a ledger's chain; exit code 1 where one is broken, which is named."""
    store, name = store_of(address), required(dataset, "--dataset", "HEDGEROW_DATASET")
    store.verify(name, head)
    click.echo(f"{name} is as it was written; its head is {store.ledger(name).head}")
