"""Ledgers that outlive the process: kept in a file or a database, shared by everyone who can write there."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.errors import (
    BudgetExceeded,
    ConfigurationError,
    FileFormatError,
    HedgerowError,
    LedgerDamaged,
    LedgerUnavailable,
    shown,
)
from hedgerow.privacy import chain, database
from hedgerow.privacy.ceiling import Amount, Ceiling
from hedgerow.privacy.certificate import Certificate, warn_of_delta
from hedgerow.privacy.chain import Link, Standing
from hedgerow.privacy.database import Address, Database, heads, links
from hedgerow.privacy.ledger import Ledger, LedgerEntry, Reservation, State, who_am_i

__all__ = ["LedgerStore", "StoredLedger"]

FORMAT = 1  # of the tables
# What makes the tables of a version those of the next; links are never changed.
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
LONGEST_NAME, LONGEST_REASON = 200, 2000
CREATION_LOCK = 0x6865_6467  # any number, the same everywhere
SKEW = timedelta(minutes=1)  # clocks of several machines may differ by so much


class _Head(NamedTuple):
    """A ledger's last link: its place and hash, what it says, and where the ledger stands after it."""

    name: str
    parent: str | None
    number: int
    hash: str
    values: dict[str, Any]
    standing: Standing


class LedgerStore:
    """Ledgers in a SQLite file or a PostgreSQL database, which all processes that use it share.

    Parameters
    ----------
    address : path or str
        The path of a SQLite file, which the first ``create`` makes; or ``postgresql+psycopg://user@host/database`` (the extra
        ``postgres``); or ``env:NAME``, an environment variable that holds one of them. A password in a URL is never shown;
        a ledger is pickled as its address, so one with a password must come from an environment variable, ``~/.pgpass`` or a
        service file.

    Raises
    ------
    LedgerUnavailable
        If the store cannot be read. Any method may raise it; nothing is then booked and nothing drawn.
    FileFormatError
        If a newer version wrote the store, or the file is none.

    Notes
    -----
    A reservation is on disk before ``reserve`` returns, and nothing is ever changed or taken back: what happens to a ledger is
    a chain of links, each with the hash of the one before (docs/proofs/ledgers.md). A copy of the file is a second budget, and
    whoever may write it can write a chain of their own: keep ``ledger.head`` elsewhere, and pass it to ``verify``. SQLite needs
    a local disk, not a network share.

    Examples
    --------
    >>> import hedgerow as hr, tempfile, os
    >>> store = hr.LedgerStore(os.path.join(tempfile.mkdtemp(), "budgets.db"))
    >>> ledger = store.create("patients-2026", epsilon=3)
    >>> store.names()
    ('patients-2026',)
    >>> store.ledger("patients-2026").remaining
    Fraction(3, 1)
    """

    def __init__(self, address: str | os.PathLike[str]) -> None:
        self._address = Address.of(address)
        self._database = Database(self._address)
        self._id: str | None = None
        if self._database.exists:
            self._migrate()

    @property
    def address(self) -> str:
        """Where the store is, without a password."""
        return str(self._address)

    @property
    def id(self) -> str | None:
        """What tells this store from every other one; None before the first ledger was created."""
        return self._id

    def create(
        self,
        name: str,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        adjacency: str = "add-remove",
        records_per_person: int = 1,
        parent: str | None = None,
        *,
        draws: int | None = None,
    ) -> StoredLedger:
        """Create a ledger, and the store if there is none, and return it.

        Parameters
        ----------
        name : str
            The ledger's name, once and for all: names are never used again.
        epsilon, delta, rho, adjacency, draws
            The ceiling, as of ``hr.Ledger``.
        records_per_person : int, default 1
            The unit of protection. Fits that protect another one are refused.
        parent : str or None
            The ledger of which this one is a share: what is booked here is booked there, too, or in neither.

        Raises
        ------
        ConfigurationError
            If the ceiling or the name is wrong, the name is taken, or the parent is closed, missing or of another unit.
        """
        name = _text(name, "name", LONGEST_NAME)
        ceiling = Ceiling.of(epsilon, delta, adjacency, rho=rho, draws=draws, records_per_person=records_per_person)
        warn_of_delta(ceiling.delta, stacklevel=2)
        with self._database.writing(create=True) as connection:
            found = self._found_or_made(connection)
            if self._row(connection, name) is not None:
                raise ConfigurationError(f"there is a ledger {name!r} in {self.address} already; choose another name.")
            if parent is not None:
                above = self._head(connection, parent, found)
                if above.standing.closed:
                    raise ConfigurationError(f"ledger {parent!r} is closed, so it has nothing to share.")
                if above.standing.ceiling.records_per_person != ceiling.records_per_person:
                    raise ConfigurationError(
                        f"ledger {parent!r} protects {above.standing.ceiling.records_per_person} records of a person; its "
                        "sub-ledgers protect the same. Pass records_per_person accordingly."
                    )
            values = {**_signed("created"), "parent": parent, "after": Standing(ceiling).to_dict()}
            first = Link.after(found, name, 0, chain.BEGINNING, values)
            connection.execute(sa.insert(heads).values(name=name, parent=parent, number=0, hash=first.hash))
            connection.execute(sa.insert(links).values(**vars(first)))
        self._id = found
        return StoredLedger(self, name)

    def ledger(self, name: str) -> StoredLedger:
        """Return a ledger, or raise ConfigurationError where there is none of this name."""
        self._expect(name)
        self._standing(name)
        return StoredLedger(self, name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all ledgers, sorted."""
        if self._id is None and not self._reopened():
            return ()
        with self._database.reading() as connection:
            self._check(connection)
            return tuple(sorted(connection.execute(sa.select(heads.c.name)).scalars()))

    def raise_ceiling(
        self,
        name: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        draws: int | None = None,
        reason: str,
    ) -> None:
        """Raise a ceiling, and keep the reason; what is not named stays.

        A ceiling that is raised after results were seen holds for the largest one that any results could have led to
        (docs/proofs/ledgers.md), so every page lists raises.

        Raises
        ------
        ConfigurationError
            If the ceiling would be lower or of another kind, or the ledger is closed.
        """
        reason = _text(reason, "reason", LONGEST_REASON)

        def raised(head: _Head) -> Standing:
            before = head.standing.ceiling
            ceiling = Ceiling.of(
                before.epsilon if epsilon is None else epsilon,
                before.delta if delta is None else delta,
                before.adjacency,
                rho=before.rho if rho is None else rho,
                draws=draws if before.rho is None else before.draws if draws is None else draws,
                records_per_person=before.records_per_person,
            )
            return Standing(before.raised_to(ceiling), head.standing.spent)

        self._administer(name, "raised", reason, raised)

    def close_ledger(self, name: str, *, reason: str) -> None:
        """Close a ledger for good, and keep the reason: nothing more is booked in it or in its sub-ledgers."""
        reason = _text(reason, "reason", LONGEST_REASON)
        self._administer(name, "closed", reason, lambda head: replace(head.standing, closed=True))

    def verify(self, name: str, head: str | None = None) -> None:
        """Return None where a ledger is as it was written.

        Every link is read: its hash, the sums after it, made again from the certificates, and its counterpart in the ledgers
        above and below.

        Parameters
        ----------
        name : str
            The ledger.
        head : str or None
            What ``ledger.head`` was at some time, kept elsewhere: the chain must contain it.

        Raises
        ------
        LedgerDamaged
            Naming the first link that is broken.
        """
        self._expect(name)
        with self._database.reading() as connection:
            found = self._check(connection)
            families = {row.name: row.parent for row in connection.execute(sa.select(heads.c.name, heads.c.parent))}
            if name not in families:
                if connection.execute(sa.select(links.c.ledger).where(links.c.ledger == name)).first() is not None:
                    raise chain.damaged(name, 0, "its row among the ledgers is missing")
                raise self._unknown(name)
            own = self._verified(connection, name, found)
            if own[0]["parent"] != families[name]:
                raise chain.damaged(name, 0, "it names another parent than its row among the ledgers")
            hashes = connection.execute(sa.select(links.c.hash).where(links.c.ledger == name)).scalars().all()
            if head is not None and head not in hashes:
                raise chain.damaged(name, len(own) - 1, f"no link has the hash {shown(head)} that was kept elsewhere")
            relatives = [child for child, parent in families.items() if parent == name]
            above = families[name]
            pairs = [(name, child, own, self._verified(connection, child, found)) for child in relatives]
            if above is not None:
                if above not in families:
                    raise chain.damaged(name, 0, f"its parent {above!r} is missing")
                pairs.append((above, name, self._verified(connection, above, found), own))
        for parent, child, whole, part in pairs:
            _compare(parent, child, whole, part, families)

    def __repr__(self) -> str:
        return f"LedgerStore({self.address!r})"

    def __reduce__(self) -> Any:
        return _reopened, (self._address.for_pickle(), self._id)

    # What follows is for StoredLedger and for pages.

    def _standing(self, name: str) -> _Head:
        with self._database.reading() as connection:
            return self._head(connection, name, self._check(connection))

    def _said(self, name: str) -> list[dict[str, Any]]:
        """Return what all links of a ledger say, in order."""
        with self._database.reading() as connection:
            return self._verified(connection, name, self._check(connection))

    def _reserve(self, name: str, certificate: Certificate) -> str:
        """Book a plan in a ledger and in those above it, or in none, and return the reservation's name."""
        label, reservation, unit = certificate.system, secrets.token_hex(16), 1  # estimators protect one record each
        with self._database.writing() as connection:
            found = self._check(connection)
            for head in self._lineage(connection, name, found):
                ceiling, spent = head.standing.ceiling, head.standing.spent
                if head.standing.closed:
                    raise BudgetExceeded(
                        f"{label} was refused, since ledger {head.name!r} is closed; nothing was drawn."
                    )
                amount = ceiling.amount(certificate, records_per_person=unit)
                after = Standing(ceiling, ceiling.check(label, amount, spent, f"ledger {head.name!r}"))
                values = {
                    "reservation": reservation,
                    "label": label,
                    "certificate": certificate.to_dict(),
                    "charge": amount.to_dict(),
                    "records_per_person": unit,
                    "through": None if head.name == name else name,
                }
                self._append(connection, found, head, "reserved", values, after)
        return reservation

    def _end(self, name: str, reservation: str, state: State) -> None:
        with self._database.writing() as connection:
            found = self._check(connection)
            for head in self._lineage(connection, name, found):
                self._append(connection, found, head, state, {"reservation": reservation}, head.standing)

    def _administer(self, name: str, kind: str, reason: str, change: Callable[[_Head], Standing]) -> None:
        self._expect(name)
        with self._database.writing() as connection:
            found = self._check(connection)
            head = self._head(connection, name, found, lock=True)
            if head.standing.closed:
                raise ConfigurationError(f"ledger {name!r} is closed for good.")
            self._append(connection, found, head, kind, {"reason": reason}, change(head))

    def _append(
        self, connection: Connection, found: str, head: _Head, kind: str, values: dict[str, Any], after: Standing
    ) -> None:
        """Append a link behind the head, which is locked."""
        body = {**_signed(kind, head), **values, "after": after.to_dict()}
        link = Link.after(found, head.name, head.number + 1, head.hash, body)
        if connection.execute(_at(link.ledger, link.number)).first() is not None:
            raise chain.damaged(link.ledger, link.number, "it stands behind the last link that was booked")
        connection.execute(sa.insert(links).values(**vars(link)))
        mine = heads.c.name == head.name
        connection.execute(sa.update(heads).where(mine).values(number=link.number, hash=link.hash))

    def _lineage(self, connection: Connection, name: str, found: str) -> list[_Head]:
        """Return a ledger and those above it, locked, the uppermost first: everyone locks in this order."""
        names: list[str] = []
        above: str | None = name
        while above is not None and above not in names:
            names.append(above)
            row = self._row(connection, above)
            above = None if row is None else row.parent
        return [self._head(connection, each, found, lock=True) for each in reversed(names)]

    def _row(self, connection: Connection, name: str, *, lock: bool = False) -> Any:
        asked = sa.select(heads).where(heads.c.name == name)
        return connection.execute(asked.with_for_update() if lock else asked).first()

    def _head(self, connection: Connection, name: str, found: str, *, lock: bool = False) -> _Head:
        """Return a ledger's last link, or raise ConfigurationError where there is no such ledger."""
        row = self._row(connection, name, lock=lock)
        if row is None:
            raise self._unknown(name)
        last = connection.execute(_at(name, row.number)).first()
        if last is None or last.hash != row.hash:
            raise chain.damaged(name, row.number, "the last link is not the one that was booked")
        values = Link(*last).check(found, row.number)
        return _Head(name, row.parent, row.number, row.hash, values, Standing.from_dict(values["after"]))

    def _verified(self, connection: Connection, name: str, found: str) -> list[dict[str, Any]]:
        row = self._row(connection, name)
        if row is None:
            raise self._unknown(name)
        rows = connection.execute(sa.select(links).where(links.c.ledger == name).order_by(links.c.number)).all()
        return chain.verify(found, name, (Link(*row) for row in rows), (row.number, row.hash))

    def _unknown(self, name: str) -> ConfigurationError:
        return ConfigurationError(
            f"there is no ledger {shown(name)} in {self.address}; create it with store.create(name, epsilon=...) or "
            "`hedgerow budget create`."
        )

    def _check(self, connection: Connection) -> str:
        """Return the store's id, or raise where it is another store, or of another version."""
        if self._id is None and not sa.inspect(connection).has_table(database.store.name):
            raise ConfigurationError(f"there is no ledger store at {self.address} yet; the first create makes it.")
        rows = connection.execute(sa.select(database.store)).all()
        if len(rows) != 1:
            raise LedgerDamaged(f"{self.address} does not say which ledger store it is; nothing was booked.")
        [(found, version)] = rows
        if version > FORMAT:
            raise FileFormatError(
                f"{self.address} was written by a newer hedgerow (format {version}, and this one knows {FORMAT}); update "
                "hedgerow. Nothing was booked."
            )
        if self._id not in (None, found):
            raise ConfigurationError(
                f"{self.address} holds another ledger store than the one that was opened, so its budget is another one; "
                "nothing was booked."
            )
        return str(found)

    def _expect(self, name: str) -> None:
        """Raise ConfigurationError where there is no store yet, and so no ledger."""
        if self._id is None and not self._reopened():
            raise self._unknown(name)

    def _reopened(self) -> bool:
        """Say whether there is a store by now."""
        if self._database.exists:
            self._migrate()
        return self._id is not None

    def _migrate(self) -> None:
        """Note the store's id, if there is a store, and bring its tables to this version."""
        with self._database.reading() as connection:
            if not sa.inspect(connection).has_table(database.store.name):
                return
            self._id = self._check(connection)
            current = connection.execute(sa.select(database.store.c.format)).scalar_one() == FORMAT
        if current:
            return
        with self._database.writing() as connection:
            version = connection.execute(sa.select(database.store.c.format).with_for_update()).scalar_one()
            for step in range(version, FORMAT):
                MIGRATIONS[step](connection)
            connection.execute(sa.update(database.store).values(format=FORMAT))

    def _found_or_made(self, connection: Connection) -> str:
        """Return the store's id; where there is no store, make one."""
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
        if not sa.inspect(connection).has_table(database.store.name):
            if self._id is not None:
                raise ConfigurationError(f"{self.address} no longer holds the ledger store that was opened.")
            database.tables.create_all(connection)
            connection.execute(sa.insert(database.store).values(id=secrets.token_hex(16), format=FORMAT))
        return self._check(connection)


class StoredLedger(Ledger):
    """A ledger of an ``hr.LedgerStore``, which ``store.create`` and ``store.ledger`` return: an ``hr.Ledger`` in every way.

    Every property reads the store as it is at that moment. A pickle of it holds the store's address and id and the ledger's
    name, so all processes share one sum. After a fork it is the same ledger.
    """

    def __init__(self, store: LedgerStore, name: str) -> None:
        self._store, self._name = store, name

    def reserve(self, certificate: Certificate) -> Reservation:
        """Book a plan by its certificate, here and in the ledgers above, or raise BudgetExceeded with nothing booked.

        When this returns the reservation is on disk. What is returned is a context in which the plan runs; leaving it notes
        whether the plan finished or failed.

        Raises
        ------
        BudgetExceeded
            If a ledger refuses; nothing was drawn.
        LedgerUnavailable, LedgerDamaged
            If the store cannot be written, or was changed by other means; nothing was drawn.
        """
        reservation = self._store._reserve(self._name, certificate)

        def end(state: State) -> None:
            try:
                self._store._end(self._name, reservation, state)
            except HedgerowError as error:  # what was drawn is paid for; only how it ended is not noted
                warnings.warn(
                    f"that {certificate.system} {state} could not be noted, so its entry stays unfinished and its charge stands: "
                    f"{error}",
                    UserWarning,
                    stacklevel=3,
                )

        return Reservation(end)

    @property
    def name(self) -> str:
        """The ledger's name in its store."""
        return self._name

    @property
    def store(self) -> LedgerStore:
        """The store that keeps it."""
        return self._store

    @property
    def ceiling(self) -> Ceiling:
        """All that may be spent, as one value."""
        return self._ceiling

    @property
    def parent(self) -> str | None:
        """The name of the ledger of which this one is a share."""
        return self._store._standing(self._name).parent

    @property
    def head(self) -> str:
        """The hash of the last link: kept elsewhere, it proves later that nothing before it was changed."""
        return self._store._standing(self._name).hash

    @property
    def closed(self) -> bool:
        """Whether nothing more is booked."""
        return self._store._standing(self._name).standing.closed

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything booked so far, in order; the whole chain is checked."""
        return chain.entries_of(self._store._said(self._name))

    @property
    def history(self) -> tuple[dict[str, Any], ...]:
        """What every link says, in order, as plain values; the whole chain is checked."""
        return tuple(self._store._said(self._name))

    @property
    def _ceiling(self) -> Ceiling:
        return self._store._standing(self._name).standing.ceiling

    @property
    def _spent(self) -> Amount:
        return self._store._standing(self._name).standing.spent

    @property
    def remaining(self) -> Fraction:
        """The epsilon left, exact; the rho where the ceiling is one. Ledgers above this one may have less."""
        standing = self._store._standing(self._name).standing
        return standing.ceiling.left(standing.spent)

    def __repr__(self) -> str:
        where = f"{self._name!r} in {self._store.address!r}"
        try:
            standing = self._store._standing(self._name).standing
        except HedgerowError:
            return f"<ledger {where}, which cannot be read now>"
        parts = [*self._shown(standing.ceiling, standing.spent), *(["closed"] if standing.closed else [])]
        return f"<ledger {where}: {', '.join(parts)}>"

    def __reduce__(self) -> Any:
        return _ledger_of, (self._store, self._name)


def _reopened(address: str, known: str | None) -> LedgerStore:
    """Return the store that was pickled, or raise where there is none or another one; it is never created."""
    opened = LedgerStore(address)
    if known is not None and opened.id is None:
        raise LedgerUnavailable(f"there is no ledger store at {opened.address} any more; nothing was booked.")
    if known is not None and opened.id != known:
        raise ConfigurationError(
            f"{opened.address} holds another ledger store than the one that was pickled, so its budget is another one."
        )
    return opened


def _ledger_of(store: LedgerStore, name: str) -> StoredLedger:
    return store.ledger(name)


def _now() -> datetime:
    return datetime.now(UTC)


def _signed(kind: str, head: _Head | None = None) -> dict[str, Any]:
    """Return the beginning of a link: what, when, by whom."""
    now = _now()
    if head is not None and now < (before := datetime.fromisoformat(head.values["time"])) - SKEW:
        warnings.warn(
            f"this machine's clock reads {now:%Y-%m-%d %H:%M:%S} UTC, but ledger {head.name!r} was last written at "
            f"{before:%Y-%m-%d %H:%M:%S}: set the clock. Entries keep their order, and nothing is lost.",
            UserWarning,
            stacklevel=6,
        )
    return {"kind": kind, "time": now.isoformat(), "who": who_am_i(), "process": os.getpid()}


def _at(name: str, number: int) -> sa.Select[Any]:
    return sa.select(links).where(links.c.ledger == name, links.c.number == number)


def _text(value: object, what: str, longest: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= longest or value != value.strip() or not value.isprintable():
        raise ConfigurationError(
            f"{what} is {shown(value)}, and must be a line of 1 to {longest} printable characters, without spaces around it."
        )
    return value


def _compare(
    parent: str,
    child: str,
    whole: list[dict[str, Any]],
    part: list[dict[str, Any]],
    families: Mapping[str, str | None],
) -> None:
    """Raise LedgerDamaged unless a ledger and the one above it have booked the same of the ledger's plans."""

    def is_below(name: str | None) -> bool:
        seen: set[str] = set()
        while name is not None and name != child and name not in seen:
            seen.add(name)
            name = families.get(name)
        return name == child

    booked = {values["reservation"]: values for values in part if values["kind"] == "reserved"}
    passed = {
        values["reservation"]: values
        for values in whole
        if values["kind"] == "reserved" and is_below(values["through"])
    }
    for said, other, name, missing in ((part, passed, child, parent), (whole, booked, parent, child)):
        for number, values in enumerate(said):
            if values["kind"] != "reserved" or (name == parent and values["reservation"] not in passed):
                continue
            match = other.get(values["reservation"])
            if match is None or match["certificate"] != values["certificate"]:
                raise chain.damaged(name, number, f"ledger {missing!r} does not have the same entry")
