"""The links of a stored ledger: their contents, how each is bound to the one before, and their total."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, get_args

from hedgerow.errors import BudgetExceeded, LedgerDamaged
from hedgerow.lazy_values import lazy
from hedgerow.ledgers.ceiling import Amount, Ceiling
from hedgerow.ledgers.ledger import LedgerEntry, State
from hedgerow.privacy.certificate import Certificate

BEFORE, BEHIND = '"certificate":', ',"charge":'
PLANS = 256  # certificates that are cached
BEGINNING = "0" * 64  # the previous hash of the first link
Amounts = dict[tuple[Ceiling, int], tuple[Amount, Certificate]]
ENDS = tuple(state for state in get_args(State) if state != "unfinished")


@dataclass(frozen=True)
class Standing:
    """The state of a ledger after a link. Every link contains it, so a reservation reads only the last link."""

    ceiling: Ceiling
    spent: Amount = Amount()  # noqa: RUF009 - frozen, so all instances can share it
    closed: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"ceiling": self.ceiling.to_dict(), "spent": self.spent.to_dict(), "closed": self.closed}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Standing:
        return cls(Ceiling.from_dict(data["ceiling"]), Amount.from_dict(data["spent"]), data["closed"] is True)


@dataclass(frozen=True)
class ChainLink:
    """One link of a ledger's chain.

    Parameters
    ----------
    ledger : str
        The ledger's name.
    number : int
        Its number in the chain, from 0.
    previous, hash : str
        The hash of the previous link, and its own: SHA-256 over the store's id, the ledger, the number, the previous hash and
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
    def after(cls, store: str, ledger: str, number: int, previous: str, values: dict[str, Any]) -> ChainLink:
        body = _canonical(values)
        return cls(ledger, number, previous, _digest(store, ledger, number, previous, body), body)

    def check(self, store: str, number: int, previous: str | None = None) -> dict[str, Any]:
        """Return the contents of the link, or raise LedgerDamaged if it is not what was written there."""
        texts = isinstance(self.body, str) and isinstance(self.previous, str)  # a database may return any type
        sound = texts and type(self.number) is int and self.number == number
        sound = sound and self.hash == _digest(store, self.ledger, number, self.previous, self.body)
        if not sound or (previous is not None and self.previous != previous):
            raise damaged(self.ledger, number, "its hash is not that of what it says behind the link before")
        try:
            values = _read(self.body)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            raise damaged(self.ledger, number, "it does not say what a link says")
        return values


def damaged(ledger: str, number: int, what: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"ledger {ledger!r} is damaged at link {number}: {what}. Nothing was charged; keep the store as it is, and compare it "
        "with a copy."
    )


def entries_of(links: Iterable[dict[str, Any]]) -> tuple[LedgerEntry, ...]:
    """Return one entry for each reservation, with its state. If a reservation ended several times, the first end counts."""
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
    charge, certificate = Amount.from_dict(values["charge"]), certificate_in(values)
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


def verify(store: str, ledger: str, links: Iterable[ChainLink], head: tuple[int, str]) -> list[dict[str, Any]]:
    """Return the contents of all links, or raise LedgerDamaged, which names the first broken link.

    Besides the hashes, every sum is recomputed from the certificates and compared with the ceiling at its time.
    """
    said: list[dict[str, Any]] = []
    previous, standing, reserved = BEGINNING, None, set()
    amounts: Amounts = {}
    for number, link in enumerate(links):
        values = link.check(store, number, previous)
        try:
            standing = _next(standing, values, amounts)
            # As it is written, which is quick, or as it is read.
            sound = values["after"] == standing.to_dict() or standing == Standing.from_dict(values["after"])
            sound = sound and values["parent"] == (said or [values])[0]["parent"]
            datetime.fromisoformat(values["time"])
        except (BudgetExceeded, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
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
        raise damaged(ledger, first, f"the chain ends at link {len(said) - 1}, and the ledger has written {head[0]}")
    return said


def compare(
    above: tuple[str, list[dict[str, Any]]],
    below: tuple[str, list[dict[str, Any]]],
    parents: Mapping[str, str | None],
) -> None:
    """Raise LedgerDamaged unless a ledger and one of its shares have the same entries for the share's plans.

    Parameters
    ----------
    above, below : tuple of str and list of dict
        The name of the ledger and the contents of its links, and those of the share.
    parents : mapping
        For every ledger of the store, the ledger of which it is a share.
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


def _next(before: Standing | None, values: dict[str, Any], amounts: Amounts) -> Standing:
    """Return the state of the ledger after a link, from the link's contents; ``amounts`` caches the costs of plans."""
    kind = values["kind"]
    if before is None:
        if kind != "created":
            raise ValueError(kind)
        return Standing(Standing.from_dict(values["after"]).ceiling)
    if kind == "reserved" and not before.closed:
        certificate = certificate_in(values)
        key = before.ceiling, id(certificate)
        if key not in amounts:
            amounts[key] = before.ceiling.amount(certificate), certificate  # kept alive, so that its id stays unique
        amount = amounts[key][0]
        charge = Amount.from_dict(
            values["charge"]
        )  # at its time: accountants may give smaller bounds later, but never below the truth
        if values["records_per_person"] != certificate.records_per_person:
            raise ValueError(kind)
        if not charge.covers(amount) or certificate.system != values["label"]:
            raise ValueError(kind)
        return replace(before, spent=before.ceiling.check(certificate.system, charge, before.spent))
    if kind == "raised":
        return replace(before, ceiling=before.ceiling.raised_to(Standing.from_dict(values["after"]).ceiling))
    if kind == "closed":
        return replace(before, closed=True)
    if kind in ENDS:
        return before
    raise ValueError(kind)


class BookedPlan(dict[str, Any]):
    """A certificate as stored in a link. Links of equal text share it."""

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))

    @lazy
    def certificate(self) -> Certificate:
        return Certificate.from_dict(self)


def certificate_in(values: dict[str, Any]) -> Certificate:
    plan = values["certificate"]
    return plan.certificate if isinstance(plan, BookedPlan) else Certificate.from_dict(plan)


# Fits of one kind have the same certificate, which is most of a link's text.
_plan = lru_cache(maxsize=PLANS)(BookedPlan)


def _read(body: str) -> Any:
    """Return what ``json.loads`` returns, without parsing a certificate again that another link contained.

    In canonical JSON the certificate is between two names. If the text between them is a valid value, and the rest is a valid
    object whose ``certificate`` was cut out, the two parts together have the content of the whole.
    """
    start, end = body.find(BEFORE), body.rfind(BEHIND)
    if 0 <= start < end:
        try:
            rest = json.loads(f"{body[: start + len(BEFORE)]}null{body[end:]}")
            if isinstance(rest, dict) and rest.get("certificate", "") is None and body.count(BEFORE) == 1:
                return {**rest, "certificate": _plan(body[start + len(BEFORE) : end])}
        except (ValueError, TypeError):
            pass
    return json.loads(body)


def _canonical(values: Any) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(store: str, ledger: str, number: int, previous: str, body: str) -> str:
    return hashlib.sha256(_canonical([store, ledger, number, previous, body]).encode()).hexdigest()
