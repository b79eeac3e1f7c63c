"""``hedgerow budget create | raise | close``: what changes a ledger's ceiling."""

from __future__ import annotations

from typing import get_args

import click

from hedgerow.cli.ledgers import ledger_options, required, store_of
from hedgerow.cli.options import checked_delta
from hedgerow.privacy.accounting import Adjacency

__all__ = ["close", "create", "raise_"]

reason_option = click.option("--reason", required=True, help="Why; it is kept for good.")


def _name(dataset: str | None) -> str:
    return required(dataset, "--dataset", "HEDGEROW_DATASET")


@click.command()
@ledger_options
@click.option("--epsilon", type=float, help="The ceiling on the sum of the fits' epsilons.")
@click.option("--rho", type=float, help="In place of --epsilon: the ceiling on the fits' sum in zero-concentrated DP.")
@click.option(
    "--delta", type=float, default=0.0, callback=checked_delta, help="The ceiling on the sum of deltas. [default: 0]"
)
@click.option("--draws", type=int, help="Beside --rho: the ceiling on normal draws. [default: 2**30]")
@click.option(
    "--adjacency",
    type=click.Choice(get_args(Adjacency)),
    default="add-remove",
    show_default=True,
    help="What neighboring data sets are.",
)
@click.option("--person", metavar="COLUMN", help="The column that tells persons apart: only fits by it are booked.")
@click.option("--records-per-person", type=int, default=1, show_default=True, help="The unit of protection.")
@click.option("--parent", help="The ledger of which this one is a share.")
def create(
    address: str | None,
    dataset: str | None,
    epsilon: float | None,
    rho: float | None,
    delta: float,
    draws: int | None,
    adjacency: str,
    person: str | None,
    records_per_person: int,
    parent: str | None,
) -> None:
    """Create a ledger with a ceiling, and its store if there is none."""
    store, name = store_of(address), _name(dataset)
    store.create(name, epsilon, delta, rho, adjacency, records_per_person, parent, draws=draws, person=person)
    click.echo(f"created {name} in {store.address}", err=True)


@click.command("raise")
@ledger_options
@click.option("--epsilon", type=float, help="The new ceiling on epsilon.")
@click.option("--delta", type=float, callback=checked_delta, help="The new ceiling on delta.")
@click.option("--rho", type=float, help="The new ceiling on rho.")
@click.option("--draws", type=int, help="The new ceiling on normal draws.")
@reason_option
def raise_(
    address: str | None,
    dataset: str | None,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    draws: int | None,
    reason: str,
) -> None:
    """Raise a ledger's ceiling. What was promised before then holds for the raised one only."""
    store, name = store_of(address), _name(dataset)
    store.raise_ceiling(name, epsilon=epsilon, delta=delta, rho=rho, draws=draws, reason=reason)
    click.echo(f"raised {name} in {store.address}", err=True)


@click.command()
@ledger_options
@reason_option
def close(address: str | None, dataset: str | None, reason: str) -> None:
    """Close a ledger for good: nothing more is booked in it or in its shares."""
    store, name = store_of(address), _name(dataset)
    store.close_ledger(name, reason=reason)
    click.echo(f"closed {name} in {store.address}", err=True)
