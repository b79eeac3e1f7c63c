"""``hedgerow budget create | raise | close | show | list | verify | report``: manage ledgers."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from hedgerow.cli.inputs import write_json
from hedgerow.cli.options import delta_option, options, out_option, refuse_overwriting, required, store_of
from hedgerow.ledgers.ledger import LedgerEntry
from hedgerow.ledgers.store import StoredLedger
from hedgerow.privacy.exact import decimal_text
from hedgerow.texts import counted

reason_option = click.option("--reason", required=True, help="The reason, which is recorded permanently.")


def _name(dataset: str | None) -> str:
    return required(dataset, "--dataset", "HEDGEROW_DATASET")


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
    store, name = store_of(address), _name(dataset)
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
    store, name = store_of(address), _name(dataset)
    store.raise_ceiling(name, **ceiling)
    click.echo(f"raised {name} in {store.address}", err=True)


@click.command()
@options("ledger", "dataset")
@reason_option
def close(address: str | None, dataset: str | None, reason: str) -> None:
    """Close a ledger for good: neither it nor its shares accept further charges."""
    store, name = store_of(address), _name(dataset)
    store.close_ledger(name, reason=reason)
    click.echo(f"closed {name} in {store.address}", err=True)


def _amount(epsilon: Fraction, delta: Fraction, rho: Fraction | None, draws: int) -> str:
    """Return an amount in the unit of a ledger, which has no ``rho`` if it adds up epsilons."""
    if rho is None:
        return f"epsilon {decimal_text(epsilon)}, delta {decimal_text(delta)}"
    thresholds = f", delta {decimal_text(delta)} of thresholds" if delta else ""
    return f"rho {decimal_text(rho, 4)}, {counted(draws, 'normal draw')}{thresholds}"


def _entry_amount(entry: LedgerEntry, ledger: StoredLedger) -> str:
    return _amount(entry.epsilon, entry.delta, None if ledger.rho is None else entry.rho, entry.draws)


def _facts(ledger: StoredLedger) -> dict[str, str]:
    left, delta = ledger.remaining, ledger.delta - ledger.spent_delta
    draws = ledger.draws - ledger.spent_draws
    share = {} if ledger.parent is None else {"a share of": f"{ledger.parent}, which may have less left"}
    return {
        "ceiling": str(ledger.ceiling),
        **share,
        "spent": f"{_unit(ledger)} {decimal_text(ledger.spent)}, delta {decimal_text(ledger.spent_delta)}",
        "left": _amount(left, delta, None if ledger.rho is None else left, draws),
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
        "entries": [_entry_values(entry) for entry in ledger.entries],
        "changes": [
            {name: change[name] for name in ("kind", "time", "who", "reason")} | {"ceiling": change["after"]["ceiling"]}
            for change in _changes(ledger)
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
@options("ledger", "dataset", "json")
def show(address: str | None, dataset: str | None, as_json: bool) -> None:
    """Show a ledger: its ceiling, what is left, and every entry. The whole chain is checked."""
    ledger = store_of(address).ledger(_name(dataset))
    if as_json:
        write_json(ledger_values(ledger))
        return
    click.echo(f"{ledger.name} in {ledger.store.address}")
    for name, fact in _facts(ledger).items():
        click.echo(f"  {name:<10} {fact}")
    for change in _changes(ledger):
        click.echo(f"  {change['kind']:<10} {change['time'][:19]} by {change['who']}: {change['reason']}")
    entries = ledger.entries
    click.echo(f"  entries    {len(entries)}")
    for entry in entries:
        amount = _entry_amount(entry, ledger)
        click.echo(f"    {entry.time:%Y-%m-%d %H:%M} {entry.state:<10} {entry.label}  {amount}  {entry.who}")
        if entry.state == "unfinished":
            age = timedelta(seconds=int(entry.age.total_seconds()))
            click.echo(f"{'':<21} began {age} ago in process {entry.process}; it is charged, however it ended")


@click.command("list")
@options("ledger", "json")
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
            f"{each.name}  {each.ceiling}; left {decimal_text(each.remaining)}" + (", closed" if each.closed else "")
        )


@click.command()
@options("ledger", "dataset")
@click.option("--head", help="An earlier head of the ledger, kept elsewhere.")
def verify(address: str | None, dataset: str | None, head: str | None) -> None:
    """Check every link of a ledger's chain. If a link is broken, it is named and the exit code is 1."""
    store, name = store_of(address), _name(dataset)
    store.verify(name, head)
    click.echo(f"{name} is as it was written; its head is {store.ledger(name).head}")


@click.command()
@options("ledger", "dataset", "force")
@out_option("The HTML file to write, completely or not at all.", required=True)
def report(address: str | None, dataset: str | None, out: Path, force: bool) -> None:
    """Write a page about a ledger: ceiling, what is left, every entry with its certificate, and spending over time.

    Pictures need the extra "plot". The page contains no records, no web addresses and no scripts.
    """
    from hedgerow.plots.card import Page, plot_spending

    refuse_overwriting(out, force)
    ledger = store_of(address).ledger(_name(dataset))
    entries, unit = ledger.entries, _unit(ledger)
    page = Page(f"Budget of {ledger.name}")
    page.text(
        "The limit on what all fits on these records may reveal together, and what they have spent. Nothing is ever refunded."
    )
    page.table(["what", "value"], _facts(ledger).items())
    if unit == "rho":
        page.text("The rho that was spent is no guarantee by itself; the ceiling is.")
    if entries:
        times, amounts = [entry.time for entry in entries], [float(getattr(entry, unit)) for entry in entries]
        figure = plot_spending(times, amounts, float(ledger.ceiling.limit), unit)
        page.figure(figure, f"The sum of {unit} over time, and the present ceiling.")
    if changes := _changes(ledger):
        page.heading("Raised and closed")
        page.text(
            "If a ceiling was raised after results were seen, the guarantee is that of the largest ceiling to which any "
            "results could have led."
        )
        keys = ("kind", "time", "who", "reason")
        page.table(["what", "when", "who", "why"], [[change[key] for key in keys] for change in changes])
    page.heading("Entries")
    if unfinished := sum(entry.state == "unfinished" for entry in entries):
        page.text(f"{unfinished} not finished: they are running, or were interrupted. They are charged in either case.")
    page.table(
        ["when", "state", "system", "counts", "who", "process", "through"],
        [
            [
                f"{entry.time:%Y-%m-%d %H:%M:%S} UTC",
                entry.state,
                entry.label,
                _entry_amount(entry, ledger),
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
    click.echo(f"wrote {out}", err=True)
