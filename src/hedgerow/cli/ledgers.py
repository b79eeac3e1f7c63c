"""The ledger of a command: named by --ledger and --dataset, or by the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from hedgerow.ledgers.ledger import Ledger
    from hedgerow.ledgers.store import LedgerStore

__all__ = ["dataset_option", "ledger_option", "ledger_options", "ledger_or_none", "required", "store_of"]

Command = TypeVar("Command", bound=Callable[..., Any])

ledger_option = click.option(
    "--ledger",
    "address",
    envvar="HEDGEROW_LEDGER",
    metavar="PATH_OR_URL",
    help="The ledger store: a file, or postgresql+psycopg://user@host/database.  [env: HEDGEROW_LEDGER]",
)
dataset_option = click.option(
    "--dataset",
    envvar="HEDGEROW_DATASET",
    metavar="NAME",
    help="The ledger's name in the store.  [env: HEDGEROW_DATASET]",
)


def ledger_options(command: Command) -> Command:
    """Add --ledger and --dataset to a command that spends."""
    return ledger_option(dataset_option(command))


def required(value: str | None, option: str, variable: str) -> str:
    """Return an option's value, or raise UsageError where neither it nor its variable is given."""
    if not value:
        raise click.UsageError(f"{option} is missing; pass it, or set {variable}.")
    return value


def store_of(address: str | None) -> LedgerStore:
    """Return the store of a command that needs one."""
    from hedgerow.ledgers.store import LedgerStore

    return LedgerStore(required(address, "--ledger", "HEDGEROW_LEDGER"))


def ledger_or_none(address: str | None, dataset: str | None) -> Ledger | None:
    """Return the ledger that a command books in, or None where neither option is given; one alone is a mistake."""
    if not address and not dataset:
        return None
    name = required(dataset, "--dataset", "HEDGEROW_DATASET")
    return store_of(address).ledger(name)
