"""A ledger that a store keeps: what every fit takes, in place of one in memory."""

from __future__ import annotations

import json
import secrets
import warnings
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BudgetExceeded, HedgerowError, shown
from hedgerow.privacy import chain
from hedgerow.privacy.began import began
from hedgerow.privacy.books import Head
from hedgerow.privacy.ceiling import Amount, Ceiling
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.chain import Standing
from hedgerow.privacy.ledger import Ledger, LedgerEntry, Reservation, State

if TYPE_CHECKING:
    from hedgerow.privacy.store import LedgerStore

__all__ = ["StoredLedger"]


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
        reservation = self._book(certificate)

        def end(state: State) -> None:
            try:
                with self._store._writing() as books:
                    for head in books.lineage(self._name):
                        books.append(head, state, {"reservation": reservation}, head.standing)
            except HedgerowError as error:  # what was drawn is paid for; only how it ended is not noted
                warnings.warn(
                    f"that {certificate.system} {state} could not be noted, so its entry stays unfinished and its charge stands: "
                    f"{error}",
                    UserWarning,
                    stacklevel=3,
                )

        return Reservation(end)

    def _book(self, certificate: Certificate) -> str:
        """Book a plan in this ledger and in those above it, or in none, and return the reservation's name."""
        label, reservation, plan = certificate.system, secrets.token_hex(16), written(certificate)
        with self._store._writing() as books:
            for head in books.lineage(self._name):
                ceiling, spent = head.standing.ceiling, head.standing.spent
                if head.standing.closed:
                    raise BudgetExceeded(
                        f"{label} was refused, since ledger {head.name!r} is closed; nothing was drawn."
                    )
                amount = ceiling.amount(certificate)
                after = Standing(ceiling, ceiling.check(label, amount, spent, f"ledger {head.name!r}"))
                values = {
                    "reservation": reservation,
                    "label": label,
                    "certificate": plan,
                    "charge": amount.to_dict(),
                    "records_per_person": certificate.records_per_person,
                    "through": None if head.name == self._name else self._name,
                }
                began()
                books.append(head, "reserved", values, after)
        return reservation

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
        return self._here().parent

    @property
    def head(self) -> str:
        """The hash of the last link: kept elsewhere, it proves later that nothing before it was changed."""
        return self._here().hash

    @property
    def closed(self) -> bool:
        """Whether nothing more is booked."""
        return self._here().standing.closed

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything booked so far, in order; the whole chain is checked."""
        return chain.entries_of(self._said())

    @property
    def history(self) -> tuple[dict[str, Any], ...]:
        """What every link says, in order, as plain values; the whole chain is checked."""
        return tuple({**values, **_plain_plan(values)} for values in self._said())

    def _here(self) -> Head:
        with self._store._reading() as books:
            return books.head(self._name)

    def _said(self) -> list[dict[str, Any]]:
        with self._store._reading() as books:
            written = books.written(self._name)
        return written.said()

    @property
    def _ceiling(self) -> Ceiling:
        return self._here().standing.ceiling

    @property
    def _spent(self) -> Amount:
        return self._here().standing.spent

    @property
    def remaining(self) -> Fraction:
        """The epsilon left, exact; the rho where the ceiling is one. Ledgers above this one may have less."""
        standing = self._here().standing
        return standing.ceiling.left(standing.spent)

    @property
    def _title(self) -> str:
        return f"Ledger {self._name!r} in {self._store.address!r}"

    def __repr__(self) -> str:
        where = f"{self._name!r} in {self._store.address!r}"
        try:
            standing = self._here().standing
        except HedgerowError:
            return f"<ledger {where}, which cannot be read now>"
        parts = [*self._shown(standing.ceiling, standing.spent), *(["closed"] if standing.closed else [])]
        return f"<ledger {where}: {', '.join(parts)}>"

    def __reduce__(self) -> Any:
        return _ledger_of, (self._store, self._name)


def written(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as a link holds it, or raise BudgetExceeded where it would not be read back as it is."""
    try:
        plain = certificate.to_dict()
        same = Certificate.from_dict(json.loads(json.dumps(plain))) == certificate
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise BudgetExceeded(
            f"{shown(certificate.system)} has a plan that cannot be written down and read again as it is, so no stored ledger "
            "could be checked after it; nothing was drawn."
        )
    return plain


def _plain_plan(values: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate of a link as plain values of its own: links share theirs."""
    return {"certificate": json.loads(json.dumps(values["certificate"]))} if "certificate" in values else {}


def _ledger_of(store: LedgerStore, name: str) -> StoredLedger:
    return store.ledger(name)
