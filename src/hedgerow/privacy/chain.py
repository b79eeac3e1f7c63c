"""The links of a stored ledger: what each says, how each is bound to the one before, and what all of them come to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, get_args

from hedgerow.errors import BudgetExceeded, ConfigurationError, FileFormatError, LedgerDamaged
from hedgerow.privacy.ceiling import Amount, Ceiling
from hedgerow.privacy.certificate import Certificate
from hedgerow.privacy.ledger import LedgerEntry, State

__all__ = ["BEGINNING", "Link", "Standing", "compare", "damaged", "entries_of", "verify"]

BEGINNING = "0" * 64  # stands for the hash before the first link
ENDS = tuple(state for state in get_args(State) if state != "unfinished")


@dataclass(frozen=True)
class Standing:
    """Where a ledger stands after a link: every link carries it, so the last one is all that a reservation reads."""

    ceiling: Ceiling
    spent: Amount = Amount()  # noqa: RUF009 - frozen, so one serves all
    closed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the standing as plain values for JSON."""
        return {"ceiling": self.ceiling.to_dict(), "spent": self.spent.to_dict(), "closed": self.closed}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Standing:
        """Return the standing that ``to_dict`` wrote."""
        return cls(Ceiling.from_dict(data["ceiling"]), Amount.from_dict(data["spent"]), data["closed"] is True)


@dataclass(frozen=True)
class Link:
    """One link of a ledger's chain.

    Parameters
    ----------
    ledger : str
        The ledger's name.
    number : int
        Its place in the chain, from 0.
    previous, hash : str
        The hash of the link before, and its own: SHA-256 over the store's id, the ledger, the number, the previous hash and
        the body.
    body : str
        What happened, as canonical JSON.
    """

    ledger: str
    number: int
    previous: str
    hash: str
    body: str

    @classmethod
    def after(cls, store: str, ledger: str, number: int, previous: str, values: dict[str, Any]) -> Link:
        """Return the link that says so, behind another one."""
        body = _canonical(values)
        return cls(ledger, number, previous, _digest(store, ledger, number, previous, body), body)

    def check(self, store: str, number: int, previous: str | None = None) -> dict[str, Any]:
        """Return what the link says, or raise LedgerDamaged where it is not what was written there."""
        sound = self.number == number and self.hash == _digest(store, self.ledger, number, self.previous, self.body)
        if not sound or (previous is not None and self.previous != previous):
            raise damaged(self.ledger, number, "its hash is not that of what it says behind the link before")
        values: dict[str, Any] = json.loads(self.body)
        return values


def damaged(ledger: str, number: int, what: str) -> LedgerDamaged:
    """Return the error that names the first broken link."""
    return LedgerDamaged(
        f"ledger {ledger!r} is damaged at link {number}: {what}. Nothing was booked; keep the store as it is, and compare it "
        "with a copy."
    )


def entries_of(links: Iterable[dict[str, Any]]) -> tuple[LedgerEntry, ...]:
    """Return one entry for each reservation, with its state; a first end counts."""
    found: dict[str, LedgerEntry] = {}
    for values in links:
        if values["kind"] == "reserved":
            found[values["reservation"]] = _entry(values)
        elif values["kind"] in ENDS:
            entry = found[values["reservation"]]
            if entry.state == "unfinished":
                found[values["reservation"]] = replace(entry, state=values["kind"])
    return tuple(found.values())


def _entry(values: dict[str, Any]) -> LedgerEntry:
    charge, certificate = Amount.from_dict(values["charge"]), Certificate.from_dict(values["certificate"])
    return LedgerEntry(
        values["label"],
        charge.epsilon,
        charge.delta,
        certificate,
        charge.rho,
        charge.draws,
        "unfinished",
        datetime.fromisoformat(values["time"]),
        values["who"],
        values["process"],
        values["through"],
    )


def verify(store: str, ledger: str, links: Iterable[Link], head: tuple[int, str]) -> list[dict[str, Any]]:
    """Return what all links say, or raise LedgerDamaged, naming the first that is broken.

    Beside the hashes every sum is made again from the certificates, and compared with the ceiling of its time.
    """
    said: list[dict[str, Any]] = []
    previous, standing, reserved = BEGINNING, None, set()
    for number, link in enumerate(links):
        values = link.check(store, number, previous)
        try:
            standing = _next(standing, values)
            sound = (
                standing == Standing.from_dict(values["after"]) and values["parent"] == (said or [values])[0]["parent"]
            )
        except (BudgetExceeded, ConfigurationError, FileFormatError, KeyError, TypeError, ValueError):
            sound = False
        if sound and values["kind"] in ENDS:
            sound = values["reservation"] in reserved
        if sound and values["kind"] == "reserved":
            sound = values["reservation"] not in reserved
            reserved.add(values["reservation"])
        if not sound:
            raise damaged(ledger, number, "its sums do not follow from the links before and its certificate")
        previous = link.hash
        said.append(values)
    if (len(said) - 1, previous) != head:
        first = min(len(said), head[0])
        raise damaged(ledger, first, f"the chain ends at link {len(said) - 1}, and the ledger has booked {head[0]}")
    return said


def compare(
    above: tuple[str, list[dict[str, Any]]],
    below: tuple[str, list[dict[str, Any]]],
    parents: Mapping[str, str | None],
) -> None:
    """Raise LedgerDamaged unless a ledger and one of its shares have booked the same of the share's plans.

    Parameters
    ----------
    above, below : tuple of str and list of dict
        The ledger's name and what its links say, and the share's.
    parents : mapping
        For every ledger of the store, of which one it is a share.
    """
    (parent, whole), (share, part) = above, below

    def is_of_share(name: str | None) -> bool:
        seen: set[str] = set()
        while name is not None and name != share and name not in seen:
            seen.add(name)
            name = parents.get(name)
        return name == share

    booked = {values["reservation"]: values["certificate"] for values in part if values["kind"] == "reserved"}
    passed = {
        values["reservation"]: values["certificate"]
        for values in whole
        if values["kind"] == "reserved" and is_of_share(values["through"])
    }
    for name, own, other, said in ((share, booked, passed, part), (parent, passed, booked, whole)):
        for number, values in enumerate(said):
            plan = own.get(values["reservation"]) if values["kind"] == "reserved" else None
            if plan is not None and other.get(values["reservation"]) != plan:
                missing = parent if name == share else share
                raise damaged(name, number, f"ledger {missing!r} does not have the same entry")


def _next(before: Standing | None, values: dict[str, Any]) -> Standing:
    """Return where the ledger stands after a link, by what the link says happened."""
    after, kind = Standing.from_dict(values["after"]), values["kind"]
    if before is None:
        if kind != "created":
            raise ValueError(kind)
        return Standing(after.ceiling)
    if kind == "reserved" and not before.closed:
        certificate = Certificate.from_dict(values["certificate"])
        amount = before.ceiling.amount(certificate)
        charge = Amount.from_dict(
            values["charge"]
        )  # of its time: accountants become sharper, never less than the truth
        if values["records_per_person"] != certificate.records_per_person:
            raise ValueError(kind)
        if not charge.covers(amount) or certificate.system != values["label"]:
            raise ValueError(kind)
        return replace(before, spent=before.ceiling.check(certificate.system, charge, before.spent))
    if kind == "raised":
        return replace(before, ceiling=before.ceiling.raised_to(after.ceiling))
    if kind == "closed":
        return replace(before, closed=True)
    if kind in ENDS:
        return before
    raise ValueError(kind)


def _canonical(values: Any) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(store: str, ledger: str, number: int, previous: str, body: str) -> str:
    return hashlib.sha256(_canonical([store, ledger, number, previous, body]).encode()).hexdigest()
