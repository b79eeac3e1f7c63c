"""Ledgers that outlive the process: kept in a file or a database, shared by everyone who can write there."""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from operator import attrgetter
from typing import Any

from hedgerow.errors import BudgetExceeded, ConfigurationError, HedgerowError, shown
from hedgerow.ledgers.ceiling import Ceiling, Standing
from hedgerow.ledgers.chain import LONGEST_NAME, Books, Head, compare, damaged, entries_of, is_line, unknown, verify
from hedgerow.ledgers.database import Address, Database, identify
from hedgerow.ledgers.ledger import Ledger, LedgerEntry
from hedgerow.privacy.certificate import Certificate, warn_of_claim
from hedgerow.privacy.filter import began

LONGEST_REASON = 2000


class LedgerStore:
    """Ledgers in a SQLite file or a PostgreSQL database, shared by all processes that use it.

    Parameters
    ----------
    address : path or str
        The path of a SQLite file, which the first ``create`` makes; or ``postgresql+psycopg://user@host/database`` (the extra
        ``postgres``); or ``env:NAME``, an environment variable that contains one of them. A password in a URL is never shown.
        A ledger is pickled as its address, so a password must come from an environment variable, ``~/.pgpass`` or a service
        file.

    Raises
    ------
    LedgerUnavailable
        If the store cannot be read. Any method may raise it. Nothing is then charged or drawn.
    FileFormatError
        If a newer version wrote the store, or the file is not a store.

    Notes
    -----
    A reservation is on disk before ``reserve`` returns. Nothing is ever changed or taken back: the history of a ledger is a
    chain of links, each with the hash of the one before (docs/proofs/ledgers.md). A copy of the file is a second budget, and
    whoever may write the file can write another chain. To detect this, keep ``ledger.head`` elsewhere and pass it to
    ``verify``. SQLite needs a local disk, not a network share.

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
        self._database = Database(Address.of(address))
        self._id: str | None = None
        self._found()

    @property
    def address(self) -> str:
        """The address of the store, without a password."""
        return str(self._database.address)

    @property
    def id(self) -> str | None:
        """The unique id of this store; None before the first ledger was created."""
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
            The ledger's name. It is permanent, and a name is never used again.
        epsilon, delta, rho, adjacency, draws
            The ceiling, as for ``hr.Ledger``.
        records_per_person, person
            The unit of protection, as for ``hr.Ledger``. Fits that protect another unit are refused.
        parent : str or None
            The ledger of which this one is a share. Every charge is made in both or in neither.

        Raises
        ------
        ConfigurationError
            If the ceiling or the name is wrong, the name is taken, or the parent is closed, missing or of another unit.
        """
        name = _text(name, "name", LONGEST_NAME)
        ceiling = Ceiling.of(
            epsilon, delta, adjacency, rho=rho, draws=draws, records_per_person=records_per_person, person=person
        )
        warn_of_claim(2, ceiling.delta)
        with self._books(writing=True, create=True) as books:
            books.create(name, parent, ceiling)
        self._id = books.store
        return StoredLedger(self, name)

    def ledger(self, name: str) -> StoredLedger:
        """Return a ledger, or raise ConfigurationError if there is no ledger of this name."""
        with self._books(name) as books:
            books.head(name)
        return StoredLedger(self, name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all ledgers, sorted."""
        if not self._found():
            return ()
        with self._books() as books:
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
        """Raise a ceiling and record the reason. Parts of the ceiling that are not passed stay.

        If a ceiling is raised after results were seen, the guarantee is that of the largest ceiling to which any results could
        have led (docs/proofs/ledgers.md), so every page lists raises.

        Raises
        ------
        ConfigurationError
            If the ceiling would be lower or of another kind, or the ledger is closed.
        """
        given = {"epsilon": epsilon, "delta": delta, "rho": rho, "draws": draws}

        def raised(standing: Standing) -> Standing:
            before = standing.ceiling
            kept = {**vars(before), "draws": before.draws or None}
            ceiling = Ceiling.of(**{**kept, **{part: value for part, value in given.items() if value is not None}})
            warn_of_claim(4, ceiling.delta)
            return replace(standing, ceiling=before.raised_to(ceiling))

        self._administer(name, "raised", reason, raised)

    def close_ledger(self, name: str, *, reason: str) -> None:
        """Close a ledger for good and record the reason. Neither it nor its sub-ledgers accept further charges."""
        self._administer(name, "closed", reason, lambda standing: replace(standing, closed=True))

    def verify(self, name: str, head: str | None = None) -> None:
        """Return None if a ledger is as it was written.

        Every link is read and checked: its hash, the sums after it, recomputed from the certificates, and its counterpart in the
        ledgers above and below.

        Parameters
        ----------
        name : str
            The ledger.
        head : str or None
            An earlier value of ``ledger.head``, kept elsewhere. The chain must contain it.

        Raises
        ------
        LedgerDamaged
            If a link is broken; the message names the first one.
        """
        with self._books(name) as books:
            parents, chains = books.related(name)
        own = verify(chains[name])
        if head is not None and head not in [link.hash for link in chains[name].links]:
            raise damaged(name, len(own) - 1, f"no link has the hash {shown(head)} that was kept elsewhere")
        for other, written_there in chains.items():
            if other != name:
                pair = (other, verify(written_there)), (name, own)
                compare(*(pair if other == parents[name] else pair[::-1]), parents)

    def __repr__(self) -> str:
        return f"LedgerStore({self.address!r})"

    def __reduce__(self) -> Any:
        return _reopened, (self._database.address.for_pickle(), self._id)

    @contextmanager
    def _books(self, name: str | None = None, *, writing: bool = False, create: bool = False) -> Iterator[Books]:
        """Yield the ledgers. Changes are on disk if this ends without an error, and are undone otherwise.

        ``name`` is a ledger that is not there unless a store is; only a new store has no id before.
        """
        if name is not None and not self._found():
            raise unknown(name, self.address)
        with self._database.transaction(writing=writing, create=create) as connection:
            store = identify(connection, self.address, self._id, create=create)
            assert store is not None
            yield Books(connection, self.address, store)

    def _administer(self, name: str, kind: str, reason: str, change: Callable[[Standing], Standing]) -> None:
        reason = _text(reason, "reason", LONGEST_REASON)
        with self._books(name, writing=True) as books:
            head = books.head(name, lock=True)
            if head.standing.closed:
                raise ConfigurationError(f"ledger {name!r} is closed for good.")
            books.append(head, kind, {"reason": reason}, change(head.standing))

    def _found(self) -> bool:
        """Return whether there is a store. Once it was found, another one in its place is refused."""
        if self._id is None and self._database.exists():
            with self._database.transaction() as connection:
                self._id = identify(connection, self.address, None)
        return self._id is not None


def _reopened(address: str, known: str | None) -> LedgerStore:
    opened = LedgerStore(address)
    if known is not None:
        opened._id = known
        with opened._books():
            pass
    return opened


def _text(value: object, what: str, longest: int) -> str:
    if not is_line(value, longest):
        raise ConfigurationError(
            f"{what} is {shown(value)}; pass a stripped line of 1 to {longest} printable characters."
        )
    return str(value)


class StoredLedger(Ledger):
    """A ledger of an ``hr.LedgerStore``, returned by ``store.create`` and ``store.ledger``; it behaves as an ``hr.Ledger``.

    Every property reads the current state of the store. A pickle contains the store's address and id and the ledger's name, so
    all processes share one sum. After a fork it is the same ledger.
    """

    def __init__(self, store: LedgerStore, name: str) -> None:
        self.store, self.name = store, name

    def reserve(self, certificate: Certificate) -> ExitStack:
        """Charge a plan by its certificate, here and in the ledgers above, or raise BudgetExceeded and charge nothing.

        When this returns, the reservation is on disk. The result is a context in which the plan runs. Leaving it records whether
        the plan finished or failed.

        Raises
        ------
        BudgetExceeded
            If a ledger refuses. Nothing was drawn.
        LedgerUnavailable, LedgerDamaged
            If the store cannot be written, or was changed by other means. Nothing was drawn.
        """
        label, reservation, plan = certificate.system, secrets.token_hex(16), written(certificate)
        with self.store._books(writing=True) as books:
            for head in books.lineage(self.name):
                ceiling, spent = head.standing.ceiling, head.standing.spent
                if head.standing.closed:
                    raise BudgetExceeded(f"{label} was refused: ledger {head.name!r} is closed; nothing was drawn.")
                amount = ceiling.amount(certificate)
                after = Standing(ceiling, ceiling.check(label, amount, spent, f"ledger {head.name!r}"))
                values = {
                    "reservation": reservation,
                    "label": label,
                    "certificate": plan,
                    "charge": amount.to_dict(),
                    "records_per_person": certificate.records_per_person,
                    "through": None if head.name == self.name else self.name,
                }
                began()
                books.append(head, "reserved", values, after)

        def end(kind: object, error: object, trace: object) -> None:
            state = "finished" if kind is None else "failed"
            try:
                with self.store._books(writing=True) as books:
                    for head in books.lineage(self.name):
                        books.append(head, state, {"reservation": reservation}, head.standing)
            except HedgerowError as problem:  # the plan stays charged; only how it ended is not recorded
                text = f"that {label} {state} could not be noted, so its entry stays unfinished and its charge stands: {problem}"
                warnings.warn(text, UserWarning, stacklevel=3)

        charged = ExitStack()
        charged.push(end)
        return charged

    _standing = property(attrgetter("_last.standing"))
    parent = property(attrgetter("_last.parent"), doc="The name of the ledger of which this one is a share.")
    head = property(
        attrgetter("_last.hash"),
        doc="The hash of the last link. If you keep it elsewhere, it can prove later that no earlier link was changed.",
    )
    closed = property(attrgetter("_standing.closed"), doc="Whether the ledger accepts no further charges.")

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every charged fit, in order. The whole chain is checked."""
        return entries_of(self._contents())

    @property
    def history(self) -> tuple[dict[str, Any], ...]:
        """The contents of every link, in order, as plain values. The whole chain is checked."""
        return tuple(json.loads(json.dumps(self._contents())))  # a copy, because links share their certificates

    @property
    def _last(self) -> Head:
        with self.store._books() as books:
            return books.head(self.name)

    def _contents(self) -> list[dict[str, Any]]:
        with self.store._books() as books:
            chain = books.written(self.name)
        return verify(chain)  # takes longer, so it is no part of the transaction

    def __repr__(self) -> str:
        try:
            facts = f": {self._standing}"
        except HedgerowError:
            facts = ", which cannot be read now"
        return f"<ledger {self.name!r} in {self.store.address!r}{facts}>"

    def __reduce__(self) -> Any:
        return LedgerStore.ledger, (self.store, self.name)


def written(certificate: Certificate) -> dict[str, Any]:
    try:
        plain = certificate.to_dict()
        same = Certificate.from_dict(json.loads(json.dumps(plain))) == certificate
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise BudgetExceeded(f"{shown(certificate.system)} has a plan that cannot be stored; nothing was drawn.")
    return plain
