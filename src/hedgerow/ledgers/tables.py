"""The tables of a ledger store, their version, and the id of the store."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.errors import ConfigurationError, FileFormatError, LedgerDamaged
from hedgerow.ledgers.database import KEEP, Database

__all__ = ["heads", "identify", "links", "make", "migrate"]

FORMAT = 1  # version of the tables
# Migrations of the tables from one version to the next. Links are never changed.
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
CREATION_LOCK = 0x6865_6467  # an arbitrary number, the same everywhere

tables = sa.MetaData()
# One row: the store's id and the version of its tables.
store = sa.Table(
    "hedgerow_store",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("format", sa.Integer, nullable=False),
)
# One row for each ledger: the number and the hash of its last link. Writers lock this row.
heads = sa.Table(
    "hedgerow_ledgers",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("parent", sa.Text),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
# Appended only.
links = sa.Table(
    "hedgerow_links",
    tables,
    sa.Column("ledger", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)


def identify(connection: Connection, address: object, known: str | None) -> str:
    """Return the id of the open store, or raise an error if it is not the known one or is of another version."""
    if known is None and not sa.inspect(connection).has_table(store.name):
        raise ConfigurationError(f"there is no ledger store at {address} yet; the first create makes it.")
    rows = connection.execute(sa.select(store)).all()
    if len(rows) != 1:
        raise LedgerDamaged(f"{address} does not say which ledger store it is; nothing was charged.")
    [(found, version)] = rows
    if not isinstance(found, str) or type(version) is not int or version < 1:
        raise LedgerDamaged(f"{address} does not say which ledger store of which version it is; {KEEP}")
    if version > FORMAT:
        raise FileFormatError(
            f"{address} was written by a newer hedgerow (format {version}, and this one knows {FORMAT}); update "
            "hedgerow. Nothing was charged."
        )
    if known not in (None, found):
        raise ConfigurationError(
            f"{address} holds another ledger store than the one that was opened, so its budget is another one; "
            "nothing was charged."
        )
    return str(found)


def make(connection: Connection, address: object, known: str | None) -> str:
    """Return the store's id. If there is no store, create one."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
    if not sa.inspect(connection).has_table(store.name):
        if known is not None:
            raise ConfigurationError(f"{address} no longer holds the ledger store that was opened.")
        tables.create_all(connection)
        connection.execute(sa.insert(store).values(id=secrets.token_hex(16), format=FORMAT))
    return identify(connection, address, known)


def migrate(database: Database, known: str | None) -> str | None:
    """Return the store's id after bringing its tables to this version; None if there is no store."""
    with database.reading() as connection:
        if not sa.inspect(connection).has_table(store.name):
            return None
        found = identify(connection, database.address, known)
        current = connection.execute(sa.select(store.c.format)).scalar_one() == FORMAT
    if not current:
        with database.writing() as connection:
            version = connection.execute(sa.select(store.c.format).with_for_update()).scalar_one()
            identify(connection, database.address, found)  # a newer version may have been first
            for step in range(version, FORMAT):
                MIGRATIONS[step](connection)
            connection.execute(sa.update(store).values(format=FORMAT))
    return found
