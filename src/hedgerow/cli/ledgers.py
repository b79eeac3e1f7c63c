"""``hedgerow budget create | raise | close | show | list | verify``: manage ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hedgerow.cli.inputs import write_json
from hedgerow.cli.options import command, required, store_of

if TYPE_CHECKING:
    from hedgerow.ledgers.store import LedgerStore


def _named(address: str | None, dataset: str | None) -> tuple[LedgerStore, str]:
    return store_of(address), required(dataset, "--dataset", "HEDGEROW_DATASET")


def _change(name: str, method: str, done: str) -> click.Command:
    @command(f"budget {name}")
    def change(address: str | None, dataset: str | None, **settings: Any) -> None:
        store, ledger = _named(address, dataset)
        getattr(store, method)(ledger, **settings)
        click.echo(f"{done} {ledger} in {store.address}", err=True)

    return change


create, raise_ = _change("create", "create", "created"), _change("raise", "raise_ceiling", "raised")
close = _change("close", "close_ledger", "closed")


@command("budget show")
def show(address: str | None, dataset: str | None, as_json: bool) -> None:
    store, name = _named(address, dataset)
    ledger = store.ledger(name)
    ceiling, total, entries = ledger.ceiling, ledger.total, ledger.entries
    changes = [change for change in ledger.history if change["kind"] in ("raised", "closed")]
    if as_json:  # amounts are exact fractions as text
        said = ("kind", "time", "who", "reason")
        write_json(
            {
                "name": ledger.name,
                "store": ledger.store.address,
                "parent": ledger.parent,
                "closed": ledger.closed,
                "holds": ledger.holds,
                "ceiling": ceiling.to_dict(),
                "unit": ceiling.kind,
                "spent": str(ledger.spent),
                "spent_delta": str(total.delta),
                "remaining": str(ledger.remaining),
                "head": ledger.head,
                "entries": [
                    {name: getattr(entry, name) for name in ("label", "state", "who", "process", "through", "draws")}
                    | {name: str(getattr(entry, name)) for name in ("epsilon", "delta", "rho")}
                    | {"time": entry.time.isoformat(), "certificate": entry.certificate.to_dict()}
                    for entry in entries
                ],
                "changes": [
                    {name: change[name] for name in said} | {"ceiling": change["after"]["ceiling"]}
                    for change in changes
                ],
            }
        )
        return
    facts = {
        "ceiling": ceiling,
        "a share of": None if ledger.parent is None else f"{ledger.parent}, which may have less left",
        "spent": ceiling.in_words(total),
        "left": ceiling.in_words(ceiling.left(total)),
        "state": "closed" if ledger.closed else "open",
        "guarantee": "holds" if ledger.holds else "void: a seeded fit was charged",
        "head": ledger.head,
    }
    click.echo(f"{ledger.name} in {ledger.store.address}")
    for what, fact in facts.items():
        if fact is not None:
            click.echo(f"  {what:<10} {fact}")
    for change in changes:
        click.echo(f"  {change['kind']:<10} {change['time'][:19]} by {change['who']}: {change['reason']}")
    click.echo(f"  entries    {len(entries)}")
    for entry in entries:
        amount = ceiling.in_words(entry)
        click.echo(f"    {entry.time:%Y-%m-%d %H:%M} {entry.state:<10} {entry.label}  {amount}  {entry.who}")
        if entry.state == "unfinished":
            click.echo(f"{'':<21} began in process {entry.process}; it is charged, however it ended")


@command("budget list")
def list_(address: str | None) -> None:
    store = store_of(address)
    for each in map(store.ledger, store.names()):
        left = each.ceiling.in_words(each.ceiling.left(each.total))
        click.echo(f"{each.name}  {each.ceiling}; left {left}{', closed' if each.closed else ''}")


@command("budget verify")
def verify(address: str | None, dataset: str | None, head: str | None) -> None:
    store, name = _named(address, dataset)
    store.verify(name, head)
    click.echo(f"{name} is as it was written; its head is {store.ledger(name).head}")
