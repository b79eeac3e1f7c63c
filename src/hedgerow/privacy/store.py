"""Ledgers that outlive the process: kept in a file or a database, shared by everyone who can write there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from hedgerow.errors import ConfigurationError, LedgerUnavailable, shown
from hedgerow.privacy.address import Address
from hedgerow.privacy.books import LONGEST_NAME, Books, unknown, verify
from hedgerow.privacy.ceiling import Ceiling
from hedgerow.privacy.certificate import warn_of_delta
from hedgerow.privacy.chain import Standing
from hedgerow.privacy.database import Database
from hedgerow.privacy.stored import StoredLedger
from hedgerow.privacy.tables import identify, make, migrate

__all__ = ["LedgerStore"]

LONGEST_REASON = 2000


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
        self._reopened()

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
        person: str | None = None,
    ) -> StoredLedger:
        """Create a ledger, and the store if there is none, and return it.

        Parameters
        ----------
        name : str
            The ledger's name, once and for all: names are never used again.
        epsilon, delta, rho, adjacency, draws
            The ceiling, as of ``hr.Ledger``.
        records_per_person, person
            The unit of protection, as of ``hr.Ledger``. Fits that protect another one are refused.
        parent : str or None
            The ledger of which this one is a share: what is booked here is booked there, too, or in neither.

        Raises
        ------
        ConfigurationError
            If the ceiling or the name is wrong, the name is taken, or the parent is closed, missing or of another unit.
        """
        name = _text(name, "name", LONGEST_NAME)
        unit = {"records_per_person": records_per_person, "person": person}
        ceiling = Ceiling.of(epsilon, delta, adjacency, rho=rho, draws=draws, **unit)
        warn_of_delta(ceiling.delta, stacklevel=2)
        with self._writing(create=True) as books:
            books.create(name, parent, ceiling)
        self._id = books.store
        return StoredLedger(self, name)

    def ledger(self, name: str) -> StoredLedger:
        """Return a ledger, or raise ConfigurationError where there is none of this name."""
        self._expect(name)
        with self._reading() as books:
            books.head(name)
        return StoredLedger(self, name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all ledgers, sorted."""
        if self._id is None and not self._reopened():
            return ()
        with self._reading() as books:
            return tuple(sorted(books.parents()))

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

        def raised(standing: Standing) -> Standing:
            before = standing.ceiling
            ceiling = Ceiling.of(
                before.epsilon if epsilon is None else epsilon,
                before.delta if delta is None else delta,
                before.adjacency,
                rho=before.rho if rho is None else rho,
                draws=draws if before.rho is None else before.draws if draws is None else draws,
                records_per_person=before.records_per_person,
                person=before.person,
            )
            warn_of_delta(ceiling.delta, stacklevel=4)
            return Standing(before.raised_to(ceiling), standing.spent)

        self._administer(name, "raised", reason, raised)

    def close_ledger(self, name: str, *, reason: str) -> None:
        """Close a ledger for good, and keep the reason: nothing more is booked in it or in its sub-ledgers."""
        reason = _text(reason, "reason", LONGEST_REASON)
        self._administer(name, "closed", reason, lambda standing: replace(standing, closed=True))

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
        with self._reading() as books:
            parents, found = books.related(name)
        verify(name, head, parents, found)

    def __repr__(self) -> str:
        return f"LedgerStore({self.address!r})"

    def __reduce__(self) -> Any:
        return _reopened, (self._address.for_pickle(), self._id)

    @contextmanager
    def _reading(self) -> Iterator[Books]:
        """Yield the ledgers as they stand."""
        with self._database.reading() as connection:
            yield Books(connection, self.address, identify(connection, self.address, self._id))

    @contextmanager
    def _writing(self, *, create: bool = False) -> Iterator[Books]:
        """Yield the ledgers; what is done to them is on disk when this ends without an error, and otherwise never was."""
        with self._database.writing(create=create) as connection:
            found = make if create else identify
            yield Books(connection, self.address, found(connection, self.address, self._id))

    def _administer(self, name: str, kind: str, reason: str, change: Callable[[Standing], Standing]) -> None:
        self._expect(name)
        with self._writing() as books:
            head = books.head(name, lock=True)
            if head.standing.closed:
                raise ConfigurationError(f"ledger {name!r} is closed for good.")
            books.append(head, kind, {"reason": reason}, change(head.standing))

    def _expect(self, name: str) -> None:
        """Raise ConfigurationError where there is no store yet, and so no ledger."""
        if self._id is None and not self._reopened():
            raise unknown(name, self.address)

    def _reopened(self) -> bool:
        """Say whether there is a store by now."""
        if self._database.exists:
            self._id = migrate(self._database, self._id)
        return self._id is not None


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


def _text(value: object, what: str, longest: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= longest or value != value.strip() or not value.isprintable():
        raise ConfigurationError(
            f"{what} is {shown(value)}, and must be a line of 1 to {longest} printable characters, without spaces around it."
        )
    return value
