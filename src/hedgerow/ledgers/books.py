"""The ledgers of a store within one transaction: their last links, new links, and checks of their chains."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.errors import ConfigurationError, HedgerowError, shown
from hedgerow.ledgers import chain
from hedgerow.ledgers.ceiling import Ceiling
from hedgerow.ledgers.chain import ChainLink, Standing
from hedgerow.ledgers.database import heads, links
from hedgerow.ledgers.ledger import who_am_i

LONGEST_NAME = 200
UNSOUND = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)  # what odd values may raise

SKEW = timedelta(minutes=1)  # allowed difference between the clocks of several machines


class Head(NamedTuple):
    """The last link of a ledger: its number and hash, when it was written, and the ledger's state after it."""

    name: str
    parent: str | None
    number: int
    hash: str
    time: datetime
    standing: Standing


@dataclass(frozen=True)
class StoredChain:
    """The stored data of one ledger: the store's id, the row in the table of ledgers, and all links."""

    store: str
    name: str
    parent: str | None
    head: tuple[int, str]
    links: list[ChainLink]

    def said(self) -> list[dict[str, Any]]:
        said = chain.verify(self.store, self.name, self.links, self.head)
        if said[0]["parent"] != self.parent:
            raise chain.damaged(self.name, 0, "it names another parent than its row among the ledgers")
        return said


def verify(name: str, head: str | None, parents: dict[str, str | None], found: dict[str, StoredChain]) -> None:
    """Raise LedgerDamaged unless a ledger's chain is intact, has this hash, and agrees with its parent's and its shares'."""
    own = found[name].said()
    if head is not None and head not in [link.hash for link in found[name].links]:
        raise chain.damaged(name, len(own) - 1, f"no link has the hash {shown(head)} that was kept elsewhere")
    for other, written in found.items():
        if other == parents[name]:
            chain.compare((other, written.said()), (name, own), parents)
        elif other != name:
            chain.compare((name, own), (other, written.said()), parents)


class Books:
    """The ledgers of a store, read and changed in one transaction.

    ``store`` is the store's id, to which every link is bound.
    """

    def __init__(self, connection: Connection, address: str, store: str) -> None:
        self._connection, self._address, self.store = connection, address, store

    def parents(self) -> dict[str, str | None]:
        """Return for each ledger's name the name of the ledger of which it is a share, or None."""
        rows = self._connection.execute(sa.select(heads.c.name, heads.c.parent).order_by(heads.c.name))
        found = {row.name: row.parent for row in rows}
        for name, parent in found.items():
            if not isinstance(name, str) or not isinstance(parent, str | None):
                raise chain.damaged(str(name), 0, "its row among the ledgers is not what was written")
        return found

    def create(self, name: str, parent: str | None, ceiling: Ceiling) -> None:
        if self._row(name) is not None:
            raise ConfigurationError(f"there is a ledger {name!r} in {self._address} already; choose another name.")
        if parent is not None:
            above = self.head(parent).standing
            if above.closed:
                raise ConfigurationError(f"ledger {parent!r} is closed, so it has nothing to share.")
            if above.ceiling.unit != ceiling.unit:
                raise ConfigurationError(
                    f"ledger {parent!r} protects {above.ceiling.unit}; its sub-ledgers protect the same. Pass records_per_person "
                    "and person accordingly."
                )
        values = {**_signed("created", parent), "after": Standing(ceiling).to_dict()}
        first = ChainLink.after(self.store, name, 0, chain.BEGINNING, values)
        self._connection.execute(sa.insert(heads).values(name=name, parent=parent, number=0, hash=first.hash))
        self._connection.execute(sa.insert(links).values(**vars(first)))

    def append(self, head: Head, kind: str, values: dict[str, Any], after: Standing) -> None:
        """Write a link after a head, which is locked."""
        body = {**_signed(kind, head.parent, head), **values, "after": after.to_dict()}
        link = ChainLink.after(self.store, head.name, head.number + 1, head.hash, body)
        if self._link(link.ledger, link.number) is not None:
            raise chain.damaged(link.ledger, link.number, "it stands behind the last link of the ledger")
        self._connection.execute(sa.insert(links).values(**vars(link)))
        mine = heads.c.name == head.name
        self._connection.execute(sa.update(heads).where(mine).values(number=link.number, hash=link.hash))

    def head(self, name: str, *, lock: bool = False) -> Head:
        """Return the last link of a ledger, or raise ConfigurationError if there is no such ledger."""
        row = self._row(name, lock=lock)
        if row is None:
            raise self._missing(name)
        last = self._link(name, row.number)
        if last is None or last.hash != row.hash:
            raise chain.damaged(name, row.number, "the last link is not the one that was written")
        values = ChainLink(*last).check(self.store, row.number)
        try:
            parent, time, standing = values["parent"], datetime.fromisoformat(values["time"]), values["after"]
            found = Head(name, row.parent, row.number, row.hash, time, Standing.from_dict(standing))
        except UNSOUND:
            raise chain.damaged(name, row.number, "it does not say what a link says") from None
        if parent != row.parent:
            raise chain.damaged(name, row.number, "it names another parent than its row among the ledgers")
        return found

    def lineage(self, name: str) -> list[Head]:
        """Return a ledger and those above it, locked, the uppermost first. All transactions lock in this order."""
        names: list[str] = []
        above: str | None = name
        while above is not None and above not in names:
            names.append(above)
            row = self._row(above)
            above = None if row is None else row.parent
        return [self.head(each, lock=True) for each in reversed(names)]

    def written(self, name: str) -> StoredChain:
        """Return a ledger's row and links unchecked. Checks take longer and are made after the transaction."""
        row = self._row(name)
        if row is None:
            raise self._missing(name)
        rows = self._connection.execute(sa.select(links).where(links.c.ledger == name).order_by(links.c.number))
        return StoredChain(self.store, name, row.parent, (row.number, row.hash), [ChainLink(*each) for each in rows])

    def related(self, name: str) -> tuple[dict[str, str | None], dict[str, StoredChain]]:
        """Return the parents of all ledgers, and the stored data of one ledger, its parent and its shares."""
        own, parents = self.written(name), self.parents()
        above = parents[name]
        if above is not None and above not in parents:
            raise chain.damaged(name, 0, f"its parent {above!r} is missing")
        others = [other for other, parent in parents.items() if parent == name or other == above]
        return parents, {name: own, **{other: self.written(other) for other in others}}

    def _row(self, name: str, *, lock: bool = False) -> Any:
        """Return a ledger's row in the table of ledgers; None if there is none, or if no ledger can have the name."""
        if not is_name(name):
            return None
        asked = sa.select(heads).where(heads.c.name == name)
        row = self._connection.execute(asked.with_for_update() if lock else asked).first()
        if row is None:
            return None
        if type(row.number) is not int or row.number < 0 or not isinstance(row.parent, str | None):
            raise chain.damaged(name, 0, "its row among the ledgers is not what was written")
        return row

    def _missing(self, name: str) -> HedgerowError:
        """Return the error of a ledger without a row in the table of ledgers."""
        if is_name(name) and self._link(name, 0) is not None:
            return chain.damaged(name, 0, "its row among the ledgers is missing")
        return unknown(name, self._address)

    def _link(self, name: str, number: int) -> Any:
        asked = sa.select(links).where(links.c.ledger == name, links.c.number == number)
        return self._connection.execute(asked).first()


def is_name(name: object) -> bool:
    """Return whether this may be the name of a ledger. Other values are never sent to a database."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name == name.strip() and name.isprintable()


def unknown(name: str, address: str) -> ConfigurationError:
    return ConfigurationError(
        f"there is no ledger {shown(name)} in {address}; create it with store.create(name, epsilon=...) or "
        "`hedgerow budget create`."
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _signed(kind: str, parent: str | None, head: Head | None = None) -> dict[str, Any]:
    """Return the first values of a link: its kind, the ledger whose share this is, the time, and the user."""
    now = _now()
    if head is not None and now < head.time - SKEW:
        warnings.warn(
            f"this machine's clock reads {now:%Y-%m-%d %H:%M:%S} UTC, but ledger {head.name!r} was last written at "
            f"{head.time:%Y-%m-%d %H:%M:%S}, so one of two clocks is wrong. Entries keep their order, and nothing is lost.",
            UserWarning,
            stacklevel=6,
        )
    return {"kind": kind, "parent": parent, "time": now.isoformat(), "who": who_am_i(), "process": os.getpid()}
