"""``hedgerow budget create | raise | close | show | list | verify | report``: manage ledgers."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from hedgerow.cli.inputs import write_json
from hedgerow.cli.options import delta_option, options, out_option, refuse_overwriting, required, store_of
from hedgerow.ledgers.store import LedgerStore, StoredLedger
from hedgerow.plots.card import Page
from hedgerow.privacy.exact import decimal_text
from hedgerow.texts import counted

reason_option = click.option("--reason", required=True, help="The reason, which is recorded permanently.")


def _named(address: str | None, dataset: str | None) -> tuple[LedgerStore, str]:
    return store_of(address), required(dataset, "--dataset", "HEDGEROW_DATASET")


@click.command()
@options("ledger", "dataset", "adjacency")
@click.option("--epsilon", type=float, help="The ceiling on the sum of the fits' epsilons.")
@click.option("--rho", type=float, help="In place of --epsilon: the ceiling on the sum of rho (zero-concentrated DP).")
@delta_option("The ceiling on the sum of deltas. [default: 0]", default=0.0)
@click.option("--draws", type=int, help="With --rho: the ceiling on normal draws. [default: 2**30]")
@click.option("--person", metavar="COLUMN", help="The column that identifies persons. Other fits are refused.")
@click.option("--records-per-person", type=int, default=1, show_default=True, help="The unit of protection.")
@click.option("--parent", help="The ledger of which this one is a share.")
def create(address: str | None, dataset: str | None, **settings: Any) -> None:
    """Create a ledger with a ceiling, and its store if there is none."""
    store, name = _named(address, dataset)
    store.create(name, **settings)
    click.echo(f"created {name} in {store.address}", err=True)


@click.command("raise")
@options("ledger", "dataset")
@click.option("--epsilon", type=float, help="The new ceiling on epsilon.")
@delta_option("The new ceiling on delta.")
@click.option("--rho", type=float, help="The new ceiling on rho.")
@click.option("--draws", type=int, help="The new ceiling on normal draws.")
@reason_option
def raise_(address: str | None, dataset: str | None, **ceiling: Any) -> None:
    """Raise a ledger's ceiling. Earlier guarantees then hold for the raised ceiling only."""
    store, name = _named(address, dataset)
    store.raise_ceiling(name, **ceiling)
    click.echo(f"raised {name} in {store.address}", err=True)


@click.command()
@options("ledger", "dataset")
@reason_option
def close(address: str | None, dataset: str | None, reason: str) -> None:
    """Close a ledger for good: neither it nor its shares accept further charges."""
    store, name = _named(address, dataset)
    store.close_ledger(name, reason=reason)
    click.echo(f"closed {name} in {store.address}", err=True)


def _amount(ledger: StoredLedger, epsilon: Fraction, delta: Fraction, rho: Fraction, draws: int) -> str:
    """Return an amount in the unit of a ledger."""
    if ledger.rho is None:
        return f"epsilon {decimal_text(epsilon)}, delta {decimal_text(delta)}"
    thresholds = f", delta {decimal_text(delta)} of thresholds" if delta else ""
    return f"rho {decimal_text(rho, 4)}, {counted(draws, 'normal draw')}{thresholds}"


def _facts(ledger: StoredLedger) -> dict[str, str]:
    left, delta = ledger.remaining, ledger.delta - ledger.spent_delta
    share = {} if ledger.parent is None else {"a share of": f"{ledger.parent}, which may have less left"}
    return {
        "ceiling": str(ledger.ceiling),
        **share,
        "spent": f"{_unit(ledger)} {decimal_text(ledger.spent)}, delta {decimal_text(ledger.spent_delta)}",
        "left": _amount(ledger, left, delta, left, ledger.draws - ledger.spent_draws),
        "state": "closed" if ledger.closed else "open",
        "guarantee": "holds" if ledger.holds else "void: a seeded fit was charged",
        "head": ledger.head,
    }


def _unit(ledger: StoredLedger) -> str:
    return "epsilon" if ledger.rho is None else "rho"


def _changes(ledger: StoredLedger) -> list[dict[str, Any]]:
    """Return the links that raised or closed a ledger."""
    return [change for change in ledger.history if change["kind"] in ("raised", "closed")]


def ledger_values(ledger: StoredLedger) -> dict[str, Any]:
    """Return a ledger as plain values for JSON; amounts are exact fractions as text."""
    return {
        "name": ledger.name,
        "store": ledger.store.address,
        "parent": ledger.parent,
        "closed": ledger.closed,
        "holds": ledger.holds,
        "ceiling": ledger.ceiling.to_dict(),
        "unit": _unit(ledger),
        "spent": str(ledger.spent),
        "spent_delta": str(ledger.spent_delta),
        "remaining": str(ledger.remaining),
        "head": ledger.head,
        "entries": [
            {
                **{name: getattr(entry, name) for name in ("label", "state", "who", "process", "through", "draws")},
                **{name: str(getattr(entry, name)) for name in ("epsilon", "delta", "rho")},
                "time": entry.time.isoformat(),
                "age_seconds": int(entry.age.total_seconds()),
                "certificate": entry.certificate.to_dict(),
            }
            for entry in ledger.entries
        ],
        "changes": [
            {name: change[name] for name in ("kind", "time", "who", "reason")} | {"ceiling": change["after"]["ceiling"]}
            for change in _changes(ledger)
        ],
    }


@click.command()
@options("ledger", "dataset", "json")
def show(address: str | None, dataset: str | None, as_json: bool) -> None:
    """Show a ledger: its ceiling, what is left, and every entry. The whole chain is checked."""
    store, name = _named(address, dataset)
    ledger = store.ledger(name)
    if as_json:
        write_json(ledger_values(ledger))
        return
    click.echo(f"{ledger.name} in {ledger.store.address}")
    for what, fact in _facts(ledger).items():
        click.echo(f"  {what:<10} {fact}")
    for change in _changes(ledger):
        click.echo(f"  {change['kind']:<10} {change['time'][:19]} by {change['who']}: {change['reason']}")
    entries = ledger.entries
    click.echo(f"  entries    {len(entries)}")
    for entry in entries:
        amount = _amount(ledger, entry.epsilon, entry.delta, entry.rho, entry.draws)
        click.echo(f"    {entry.time:%Y-%m-%d %H:%M} {entry.state:<10} {entry.label}  {amount}  {entry.who}")
        if entry.state == "unfinished":
            age = timedelta(seconds=int(entry.age.total_seconds()))
            click.echo(f"{'':<21} began {age} ago in process {entry.process}; it is charged, however it ended")


@click.command("list")
@options("ledger")
def list_(address: str | None) -> None:
    """List the ledgers of a store."""
    store = store_of(address)
    for each in map(store.ledger, store.names()):
        click.echo(
            f"{each.name}  {each.ceiling}; left {decimal_text(each.remaining)}" + (", closed" if each.closed else "")
        )


@click.command()
@options("ledger", "dataset")
@click.option("--head", help="An earlier head of the ledger, kept elsewhere.")
def verify(address: str | None, dataset: str | None, head: str | None) -> None:
    """Check every link of a ledger's chain. If a link is broken, it is named and the exit code is 1."""
    store, name = _named(address, dataset)
    store.verify(name, head)
    click.echo(f"{name} is as it was written; its head is {store.ledger(name).head}")


@click.command()
@options("ledger", "dataset", "force")
@out_option("The HTML file to write, completely or not at all.", required=True)
def report(address: str | None, dataset: str | None, out: Path, force: bool) -> None:
    """Write a page about a ledger: ceiling, what is left, and every entry with its certificate.

    The page contains no records, no web addresses and no scripts.
    """
    refuse_overwriting(out, force)
    store, name = _named(address, dataset)
    ledger = store.ledger(name)
    page = Page(f"Budget of {ledger.name}")
    page.text(
        "The limit on what all fits on these records may reveal together, and what they have spent. Nothing is ever refunded."
    )
    page.table(["what", "value"], _facts(ledger).items())
    if ledger.rho is not None:
        page.text("The rho that was spent is no guarantee by itself; the ceiling is.")
    if changes := _changes(ledger):
        page.heading("Raised and closed")
        page.text(
            "If a ceiling was raised after results were seen, the guarantee is that of the largest ceiling to which any "
            "results could have led."
        )
        keys = ("kind", "time", "who", "reason")
        page.table(["what", "when", "who", "why"], [[change[key] for key in keys] for change in changes])
    page.heading("Entries")
    entries, rows = ledger.entries, []
    if unfinished := sum(entry.state == "unfinished" for entry in entries):
        page.text(f"{unfinished} not finished: they are running, or were interrupted. They are charged in either case.")
    for entry in entries:
        amount = _amount(ledger, entry.epsilon, entry.delta, entry.rho, entry.draws)
        who = [entry.who, entry.process, entry.through or ""]
        rows.append([f"{entry.time:%Y-%m-%d %H:%M:%S} UTC", entry.state, entry.label, amount, *who])
    page.table(["when", "state", "system", "counts", "who", "process", "through"], rows)
    for number, entry in enumerate(entries, 1):
        page.heading(f"Certificate {number}: {entry.label}", 3)
        page.lines(entry.certificate.details())
    page.write(out, replace=force)
    click.echo(f"wrote {out}", err=True)
